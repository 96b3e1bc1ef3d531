//! A judged set: documents, queries and judgments in BEIR's form, and its documents as a folder of
//! Markdown files.
//!
//! Invariants: an id becomes a file name and comes back whole, whatever characters it has.
//! Not here: what is asked of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;

/// One question of the set.
pub(crate) struct Query {
    pub(crate) id: String,
    pub(crate) text: String,
    /// Its place among the queries.
    pub(crate) place: usize,
}

/// A set, read whole: the largest has 8 MB.
pub(crate) struct Set {
    pub(crate) name: String,
    /// Id and Markdown.
    pub(crate) documents: Vec<(String, String)>,
    /// For each joined file, the documents in it, one every second line.
    joined: BTreeMap<String, Vec<String>>,
    /// Those that have a judgment.
    pub(crate) queries: Vec<Query>,
    /// Query, document, gain.
    pub(crate) judgments: Vec<(String, String, String)>,
}

impl Set {
    /// Reads `data/name`, with the queries of one part (`train`, `dev`).
    pub(crate) fn read(data: &Path, name: &str, part: &str) -> Result<Set> {
        let folder = data.join(name);
        let judgments = read_judgments(&folder.join(format!("qrels.{part}.tsv")))?;
        let judged: BTreeSet<&str> = judgments.iter().map(|(query, _, _)| query.as_str()).collect();
        let text = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_string();
        let queries = read_lines(&folder.join(format!("queries.{part}.jsonl")))?;
        let queries = queries.iter().filter(|row| judged.contains(text(row, "_id").as_str()));
        let queries = queries
            .enumerate()
            .map(|(place, row)| Query { id: text(row, "_id"), text: text(row, "text"), place })
            .collect();
        let documents = read_lines(&folder.join("corpus.jsonl"))?
            .iter()
            .map(|row| {
                let markdown = format!("# {}\n\n{}\n", text(row, "title"), text(row, "text"));
                (text(row, "_id"), markdown)
            })
            .collect();
        Ok(Set { name: name.to_string(), documents, joined: BTreeMap::new(), queries, judgments })
    }

    /// Puts `n` documents into each file, in an order that has nothing to do with what they are about.
    pub(crate) fn join(&mut self, n: usize) {
        if n < 2 {
            return;
        }
        self.documents.sort_by_key(|(id, _)| xxhash_rust::xxh3::xxh3_64(id.as_bytes()));
        let mut files = Vec::new();
        for (number, group) in self.documents.chunks(n).enumerate() {
            let file = format!("joined-{number}");
            let line = |text: &str| {
                text.trim_start_matches("# ").split_whitespace().collect::<Vec<_>>().join(" ")
            };
            let text: String = group.iter().map(|(_, text)| line(text) + "\n\n").collect();
            self.joined.insert(file.clone(), group.iter().map(|(id, _)| id.clone()).collect());
            files.push((file, text));
        }
        self.documents = files;
    }

    /// The documents that a hit shows.
    pub(crate) fn found(&self, path: &str, [first, last]: [u32; 2]) -> Result<Vec<String>> {
        let id = id_of(path)?;
        let Some(group) = self.joined.get(&id) else { return Ok(vec![id]) };
        let shown = |line: u32| (line as usize).saturating_sub(1) / 2;
        Ok((shown(first)..=shown(last)).filter_map(|at| group.get(at).cloned()).collect())
    }

    /// Writes one file a document.
    pub(crate) fn write_files(&self, folder: &Path) -> Result<()> {
        std::fs::create_dir_all(folder)?;
        for (id, markdown) in &self.documents {
            std::fs::write(folder.join(file_name(id)), markdown)?;
        }
        Ok(())
    }
}

fn read_lines(path: &PathBuf) -> Result<Vec<Value>> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let rows = text.lines().filter(|line| !line.trim().is_empty()).map(serde_json::from_str);
    rows.collect::<Result<_, _>>().with_context(|| path.display().to_string())
}

/// Lines of `query TAB document TAB gain` under a header.
fn read_judgments(path: &PathBuf) -> Result<Vec<(String, String, String)>> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let row = |line: &str| {
        let mut fields = line.split('\t').map(str::to_string);
        Some((fields.next()?, fields.next()?, fields.next()?))
    };
    Ok(text.lines().skip(1).filter_map(row).collect())
}

/// The id with every byte but letters, digits and `-` as `_` and two hexadecimal digits.
fn file_name(id: &str) -> String {
    let mut name = String::new();
    for byte in id.bytes() {
        match byte.is_ascii_alphanumeric() || byte == b'-' {
            true => name.push(char::from(byte)),
            false => write!(name, "_{byte:02x}").expect("writing to a string cannot fail"),
        }
    }
    name + ".md"
}

/// The id that [`file_name`] made a name of.
pub(crate) fn id_of(path: &str) -> Result<String> {
    let stem = path.strip_suffix(".md").with_context(|| format!("`{path}` is none of ours"))?;
    let mut bytes = Vec::new();
    let mut rest = stem.as_bytes();
    while let [byte, tail @ ..] = rest {
        rest = tail;
        if *byte != b'_' {
            bytes.push(*byte);
            continue;
        }
        let (digits, tail) = rest.split_at_checked(2).context("half an escape")?;
        bytes.push(u8::from_str_radix(std::str::from_utf8(digits)?, 16)?);
        rest = tail;
    }
    Ok(String::from_utf8(bytes)?)
}
