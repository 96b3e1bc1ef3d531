//! Set: a judged set: documents, queries and judgments in BEIR's format, and its documents as a
//! folder of Markdown files.
//!
//! A set of notes instead (`anchors.tsv`) asks with the words of links in other notes, where the
//! links themselves were removed from the notes: which note do these words name? A set of related
//! notes asks with the beginning of a note for the notes that it was linked with; and `corpus` is
//! the sample corpus of this repository.
//! Invariants: an id becomes a file name and can be recovered, whatever characters it has; notes
//! keep their paths.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;

#[path = "keywords.rs"]
mod keywords;

/// Folders in the sets over four folders, and the folders of the data that they come from.
const PARAPHRASED: [(&str, &str); 4] = [
    ("rustbook", "docs_rustbook"),
    ("prometheus", "docs_prometheus"),
    ("foam", "vault_foam"),
    ("tasks", "vault_obsidian_tasks"),
];

/// One question of the set.
#[derive(Default)]
pub(crate) struct Query {
    pub(crate) id: String,
    pub(crate) text: String,
    /// Its index among the queries.
    pub(crate) place: usize,
    /// The document of which it is the beginning, and which is not an answer.
    pub(crate) is_of: Option<String>,
    /// The kind of question, if the set has several.
    pub(crate) kind: String,
    /// Words, some of which are in the answering passage; empty if only documents are judged.
    pub(crate) answers: Vec<String>,
}

/// A set, in memory: the largest has 8 MB.
pub(crate) struct Set {
    pub(crate) name: String,
    /// The id, or the path of a note, and its Markdown.
    pub(crate) documents: Vec<(String, String)>,
    /// The documents in each joined file, one every second line.
    joined: BTreeMap<String, Vec<String>>,
    /// Whether these are notes, whose files keep their paths.
    is_of_notes: bool,
    /// The queries that have a judgment.
    pub(crate) queries: Vec<Query>,
    /// Query, document, gain.
    pub(crate) judgments: Vec<(String, String, String)>,
}

impl Set {
    /// Reads `data/name`, with the queries of one part (`train`, `dev`).
    pub(crate) fn read(data: &Path, name: &str, part: &str) -> Result<Set> {
        let vault = match name {
            "corpus" => return Set::of_corpus(),
            "paraphrased" => return Set::of_paraphrased(data),
            "newcomers" => return Set::of_newcomers(data),
            "keywords" => return keywords::set(data),
            "titles" => return Set::of_titles(&data.join("docs_prometheus")),
            "foam_related" => Some("vault_foam"),
            "tasks_related" => Some("vault_obsidian_tasks"),
            "prometheus_related" => Some("docs_prometheus"),
            _ => None,
        };
        if let Some(vault) = vault {
            return Set::of_related(name, &data.join(vault), part);
        }
        let folder = data.join(name);
        if folder.join("anchors.tsv").is_file() {
            return Set::of_notes(name, &folder);
        }
        let judgments = read_judgments(&folder.join(format!("qrels.{part}.tsv")))?;
        let judged: BTreeSet<&str> = judgments.iter().map(|(query, _, _)| query.as_str()).collect();
        let text = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_string();
        let queries = read_lines(&folder.join(format!("queries.{part}.jsonl")))?;
        let queries = queries.iter().filter(|row| judged.contains(text(row, "_id").as_str()));
        let queries = queries
            .enumerate()
            .map(|(place, row)| {
                let (id, text) = (text(row, "_id"), text(row, "text"));
                Query { id, text, place, ..Query::default() }
            })
            .collect();
        let documents = read_lines(&folder.join("corpus.jsonl"))?
            .iter()
            .map(|row| {
                let markdown = format!("# {}\n\n{}\n", text(row, "title"), text(row, "text"));
                (text(row, "_id"), markdown)
            })
            .collect();
        let (name, joined) = (name.to_string(), BTreeMap::new());
        Ok(Set { name, documents, joined, is_of_notes: false, queries, judgments })
    }

    fn of_notes(name: &str, folder: &Path) -> Result<Set> {
        let documents = notes_below(&folder.join("vault_nolinks"))?;
        let mut named: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (_, words, note) in read_judgments(&folder.join("anchors.tsv"))? {
            named.entry(words).or_default().insert(note);
        }
        let (mut queries, mut judgments) = (Vec::new(), Vec::new());
        for (place, (words, notes)) in named.into_iter().enumerate() {
            let id = place.to_string();
            let of_note = |note: String| (id.clone(), escaped(&note), "1".to_string());
            judgments.extend(notes.into_iter().map(of_note));
            queries.push(Query { id, text: words, place, ..Query::default() });
        }
        let (name, joined) = (name.to_string(), BTreeMap::new());
        Ok(Set { name, documents, joined, is_of_notes: true, queries, judgments })
    }

    /// Notes that were linked with a note, searched with its beginning, as long as a question may
    /// be.
    fn of_related(name: &str, folder: &Path, part: &str) -> Result<Set> {
        let documents = notes_below(&folder.join("vault_nolinks"))?;
        let rows = read_judgments(&folder.join(format!("related.{part}.tsv")))?;
        let asking: BTreeSet<&str> = rows.iter().map(|(note, _, _)| note.as_str()).collect();
        let is_asking = |(path, _): &&(String, String)| asking.contains(path.as_str());
        let query = |(place, (path, text)): (usize, &(String, String))| {
            let id = escaped(path);
            Query { is_of: Some(id.clone()), id, text: text.clone(), place, ..Query::default() }
        };
        let queries = documents.iter().filter(is_asking).enumerate().map(query).collect();
        let judgment = |(note, other, gain): &(String, String, String)| {
            (escaped(note), escaped(other), gain.clone())
        };
        let judgments = rows.iter().map(judgment).collect();
        let (name, joined) = (name.to_string(), BTreeMap::new());
        Ok(Set { name, documents, joined, is_of_notes: true, queries, judgments })
    }

    /// The sample corpus with its questions.
    fn of_corpus() -> Result<Set> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus");
        let documents = notes_below(&folder.join("docs"))?;
        let (mut queries, mut judgments) = (Vec::new(), Vec::new());
        let rows = read_judgments(&folder.join("questions/questions.tsv"))?;
        for (place, (id, text, paths)) in rows.into_iter().enumerate() {
            let judgment = |path: &str| (id.clone(), escaped(path), "1".to_string());
            judgments.extend(paths.split(',').map(judgment));
            queries.push(Query { id, text, place, ..Query::default() });
        }
        let (name, joined) = ("corpus".to_string(), BTreeMap::new());
        Ok(Set { name, documents, joined, is_of_notes: true, queries, judgments })
    }

    /// Questions that avoid the words of their answers, over four folders side by side.
    fn of_paraphrased(data: &Path) -> Result<Set> {
        let documents = four_folders(data, "vault_nolinks")?;
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/retrieval/paraphrased.tsv");
        let text = std::fs::read_to_string(file)?;
        let (mut queries, mut judgments) = (Vec::new(), Vec::new());
        let rows = text.lines().filter(|line| !line.starts_with('#'));
        for (place, row) in rows.filter_map(|line| line.split_once('\t')).enumerate() {
            let id = place.to_string();
            let judgment = |path: &str| (id.clone(), escaped(path), "1".to_string());
            judgments.extend(row.1.split(',').map(judgment));
            queries.push(Query { id, text: row.0.to_string(), place, ..Query::default() });
        }
        let (name, joined) = ("paraphrased".to_string(), BTreeMap::new());
        Ok(Set { name, documents, joined, is_of_notes: true, queries, judgments })
    }

    /// Questions of newcomers, with words of the answering passages, over the same folders with
    /// their links.
    fn of_newcomers(data: &Path) -> Result<Set> {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/retrieval/newcomers.tsv");
        let text = std::fs::read_to_string(file)?;
        let (mut queries, mut judgments) = (Vec::new(), Vec::new());
        for row in text.lines().filter(|line| !line.starts_with('#')) {
            let row: Vec<&str> = row.split('\t').collect();
            let [half, steps, question, paths, answers] = row[..] else { bail!("{row:?}") };
            let (place, kind) = (queries.len(), format!("{half}, {steps} steps"));
            let id = place.to_string();
            let judgment = |path: &str| (id.clone(), escaped(path), "1".to_string());
            judgments.extend(paths.split(',').map(judgment));
            let (text, answers) = (question.into(), answers.split('|').map(Into::into).collect());
            queries.push(Query { id, text, place, kind, answers, ..Query::default() });
        }
        let (name, joined) = ("newcomers".to_string(), BTreeMap::new());
        let documents = four_folders(data, "vault")?;
        Ok(Set { name, documents, joined, is_of_notes: true, queries, judgments })
    }

    /// Notes searched by title, and by the last word of each: the named note is wanted.
    fn of_titles(folder: &Path) -> Result<Set> {
        let documents = notes_below(&folder.join("vault_nolinks"))?;
        let mut named: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (path, text) in documents.iter().filter(|(path, _)| path.ends_with(".md")) {
            let title = text.lines().find_map(|line| line.strip_prefix("title:"));
            let title = title.unwrap_or_default().trim().trim_matches('"');
            for words in [Some(title), title.split_whitespace().last()].into_iter().flatten() {
                named.entry(words).or_default().insert(path);
            }
        }
        named.remove("");
        let (mut queries, mut judgments) = (Vec::new(), Vec::new());
        for (place, (words, notes)) in named.into_iter().enumerate() {
            let id = place.to_string();
            let of_note = |note: &str| (id.clone(), escaped(note), "1".to_string());
            judgments.extend(notes.into_iter().map(of_note));
            queries.push(Query { id, text: words.to_string(), place, ..Query::default() });
        }
        let (name, joined) = ("titles".to_string(), BTreeMap::new());
        Ok(Set { name, documents, joined, is_of_notes: true, queries, judgments })
    }

    /// Returns the documents that answer a question.
    pub(crate) fn judged(&self, query: &str) -> impl Iterator<Item = &str> {
        let rows = self.judgments.iter().filter(move |(of, _, gain)| of == query && gain != "0");
        rows.map(|(_, document, _)| document.as_str())
    }

    /// Removes the documents that answer one half of the questions and none of the other half;
    /// returns the questions that have lost all answers. Questions of the first half that keep an
    /// answer are dropped.
    pub(crate) fn without_half(&mut self, half: usize) -> Vec<Query> {
        let is_out = |query: &Query| query.place % 2 == half;
        let answers = |of: &dyn Fn(&Query) -> bool| -> BTreeSet<String> {
            let asked = self.queries.iter().filter(|it| of(it));
            asked.flat_map(|it| self.judged(&it.id)).map(str::to_string).collect()
        };
        let kept = answers(&|query| !is_out(query));
        let gone: BTreeSet<String> = answers(&is_out).difference(&kept).cloned().collect();
        let is_of_notes = self.is_of_notes;
        let id = |id: &str| if is_of_notes { escaped(id) } else { id.to_string() };
        self.documents.retain(|(path, _)| !gone.contains(&id(path)));
        let (out, rest) = std::mem::take(&mut self.queries).into_iter().partition(is_out);
        self.queries = rest;
        let out: Vec<Query> = out;
        let is_bare = |it: &Query| self.judged(&it.id).all(|document| gone.contains(document));
        let out = out.into_iter().filter(is_bare).collect();
        self.name = format!("{}-without-{half}", self.name);
        out
    }

    /// Puts `n` documents into each file, in an order unrelated to their topics.
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

    /// Returns the documents that a hit shows.
    pub(crate) fn found(&self, path: &str, [first, last]: [u32; 2]) -> Result<Vec<String>> {
        if self.is_of_notes {
            return Ok(vec![escaped(path)]);
        }
        let id = id_of(path)?;
        let Some(group) = self.joined.get(&id) else { return Ok(vec![id]) };
        let shown = |line: u32| (line as usize).saturating_sub(1) / 2;
        Ok((shown(first)..=shown(last)).filter_map(|at| group.get(at).cloned()).collect())
    }

    /// Writes one memory node per document, one observation per sentence.
    pub(crate) fn write_memory(&self, folder: &Path) -> Result<()> {
        std::fs::create_dir_all(folder.join("memory"))?;
        for (id, markdown) in &self.documents {
            let (title, text) = markdown.split_once('\n').unwrap_or((markdown, ""));
            let title = title.trim_start_matches("# ").replace('"', "'");
            let mut node = format!("---\ntitle: \"{title}\"\ntype: subject\n---\n\n# {title}\n\n");
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ").replace("[[", "");
            for (at, sentence) in text.split_inclusive(". ").enumerate() {
                writeln!(node, "- {} ^o{}", sentence.trim(), at + 1)?;
            }
            std::fs::write(folder.join("memory").join(escaped(id) + ".md"), node)?;
        }
        Ok(())
    }

    /// Writes one file per document.
    pub(crate) fn write_files(&self, folder: &Path) -> Result<()> {
        std::fs::create_dir_all(folder)?;
        for (id, markdown) in &self.documents {
            let file = match self.is_of_notes {
                true => folder.join(id),
                false => folder.join(escaped(id) + ".md"),
            };
            std::fs::create_dir_all(file.parent().context("a file in a folder")?)?;
            std::fs::write(file, markdown)?;
        }
        Ok(())
    }
}

/// Returns the notes of four folders side by side.
fn four_folders(data: &Path, kind: &str) -> Result<Vec<(String, String)>> {
    let mut documents = Vec::new();
    for (folder, of) in PARAPHRASED {
        let notes = notes_below(&data.join(of).join(kind))?.into_iter();
        documents.extend(notes.map(|(path, text)| (format!("{folder}/{path}"), text)));
    }
    Ok(documents)
}

/// Returns every text file below a folder, by its relative path.
fn notes_below(top: &Path) -> Result<Vec<(String, String)>> {
    let mut documents = Vec::new();
    let mut open = vec![top.to_path_buf()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder)?.collect::<Result<Vec<_>, _>>()? {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else if let Ok(text) = std::fs::read_to_string(&path) {
                documents.push((path.strip_prefix(top)?.display().to_string(), text));
            }
        }
    }
    documents.sort();
    Ok(documents)
}

fn read_lines(path: &PathBuf) -> Result<Vec<Value>> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let rows = text.lines().filter(|line| !line.trim().is_empty()).map(serde_json::from_str);
    rows.collect::<Result<_, _>>().with_context(|| path.display().to_string())
}

/// Reads lines of `query TAB document TAB gain` after a header.
fn read_judgments(path: &PathBuf) -> Result<Vec<(String, String, String)>> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let row = |line: &str| {
        let mut fields = line.split('\t').map(str::to_string);
        Some((fields.next()?, fields.next()?, fields.next()?))
    };
    Ok(text.lines().skip(1).filter_map(row).collect())
}

/// Escapes an id: every byte except letters, digits and `-` becomes `_` and two hexadecimal digits.
fn escaped(id: &str) -> String {
    let mut name = String::new();
    for byte in id.bytes() {
        match byte.is_ascii_alphanumeric() || byte == b'-' {
            true => name.push(char::from(byte)),
            false => write!(name, "_{byte:02x}").expect("writing to a string cannot fail"),
        }
    }
    name
}

/// Recovers the id from the name of a file.
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
