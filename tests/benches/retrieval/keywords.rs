//! Keywords: notes searched by a few of their own words, among 1,000 notes: by titles, headings,
//! file names, and the words of links in other notes, where the links themselves were removed.
//!
//! In: four folders of notes, filled up with the Markdown files of a folder of packages
//! (`KG_REGISTRY`, such as the one in which Cargo keeps their sources). Out: a set whose questions
//! have kinds.
//! Invariants: a question that names several notes accepts any of them; headings are used only if a
//! single note has them; the choice depends only on the files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Result;
use xxhash_rust::xxh3::xxh3_64;

use super::{PARAPHRASED, Query, Set, escaped, four_folders, read_judgments};

/// Total number of notes.
const NOTES: usize = 1_000;

/// Most headings that are asked, and the range of sizes of filler files, bytes.
const HEADINGS: usize = 300;
const FILLING: std::ops::Range<usize> = 500..100_000;

type Named = BTreeMap<(&'static str, String), BTreeSet<String>>;

pub(super) fn set(data: &Path) -> Result<Set> {
    let mut documents = four_folders(data, "vault_nolinks")?;
    let mut named = Named::new();
    for (path, text) in documents.iter().filter(|(path, _)| path.ends_with(".md")) {
        let mut add = |kind, words: String| {
            if words.chars().filter(|c| c.is_alphabetic()).count() > 2 {
                named.entry((kind, words.to_lowercase())).or_default().insert(path.clone());
            }
        };
        let mut headings = headings(text);
        let stated = text.lines().find_map(|line| line.strip_prefix("title:"));
        let title = stated.map(|it| it.trim().trim_matches('"').to_string());
        match title.or_else(|| (!headings.is_empty()).then(|| headings.remove(0))) {
            Some(title) => add("title", title),
            None => continue,
        }
        headings.into_iter().for_each(|heading| add("heading", heading));
        add("file", words_of_name(path));
    }
    for (folder, of) in PARAPHRASED {
        for (_, words, note) in read_judgments(&data.join(of).join("anchors.tsv"))? {
            let notes = named.entry(("anchor", words.to_lowercase())).or_default();
            notes.insert(format!("{folder}/{note}"));
        }
    }
    named.retain(|(kind, _), notes| *kind != "heading" || notes.len() == 1);
    let mut chosen: Vec<&(&str, String)> =
        named.keys().filter(|(kind, _)| *kind == "heading").collect();
    chosen.sort_by_key(|(_, words)| xxh3_64(words.as_bytes()));
    let left_out: Vec<_> = chosen.into_iter().skip(HEADINGS).cloned().collect();
    left_out.iter().for_each(|key| drop(named.remove(key)));
    let (mut queries, mut judgments) = (Vec::new(), Vec::new());
    for (place, ((kind, text), notes)) in named.into_iter().enumerate() {
        let (id, kind) = (place.to_string(), kind.to_string());
        judgments.extend(notes.iter().map(|note| (id.clone(), escaped(note), "1".to_string())));
        queries.push(Query { id, text, place, kind, ..Query::default() });
    }
    if let Some(registry) = std::env::var_os("KG_REGISTRY") {
        fill(&mut documents, Path::new(&registry))?;
    }
    let (name, joined) = ("keywords".to_string(), BTreeMap::new());
    Ok(Set { name, documents, joined, is_of_notes: true, queries, judgments })
}

/// Returns the headings of a note, without markers.
fn headings(text: &str) -> Vec<String> {
    let mut is_code = false;
    let mut headings = Vec::new();
    for line in text.lines() {
        is_code ^= line.trim_start().starts_with("```");
        if let Some((marks, words)) = line.split_once(' ').filter(|_| !is_code)
            && !marks.is_empty()
            && marks.bytes().all(|byte| byte == b'#')
        {
            headings.push(words.replace(['`', '*', '_', '#'], "").trim().to_string());
        }
    }
    headings
}

/// Turns `ch04-01-what-is-ownership.md` into `what is ownership`.
fn words_of_name(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or_default().trim_end_matches(".md");
    let words = name.split(['-', '_', ' ']).filter(|it| !it.contains(|c: char| c.is_ascii_digit()));
    words.collect::<Vec<_>>().join(" ")
}

/// Adds the Markdown files of packages, without duplicates, until there are enough notes.
fn fill(documents: &mut Vec<(String, String)>, registry: &Path) -> Result<()> {
    let mut seen = BTreeSet::new();
    let files = crate::support::files_below(registry)?;
    let is_text = |path: &PathBuf| path.extension().is_some_and(|it| it == "md");
    for (path, _) in files.iter().filter(|(path, _)| is_text(path)) {
        let Ok(text) = std::fs::read_to_string(path) else { continue };
        if documents.len() < NOTES
            && FILLING.contains(&text.len())
            && seen.insert(xxh3_64(text.as_bytes()))
        {
            let path = path.strip_prefix(registry)?.display();
            documents.push((format!("packages/{path}"), text));
        }
    }
    Ok(())
}
