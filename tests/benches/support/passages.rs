//! Passages: paragraphs written by people, from Markdown files; without duplicates, in an order
//! that depends only on their content.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, ensure};

/// Range of paragraph lengths, characters: shorter ones are captions and badges, longer ones tables
/// and code.
const CHARS: std::ops::RangeInclusive<usize> = 60..=900;

/// Words in a title.
const TITLE_WORDS: usize = 6;

/// A paragraph, and its origin.
#[derive(Debug, Clone)]
pub(crate) struct Passage {
    /// The folder of its file.
    pub(crate) of: String,
    /// Its first words, without markup.
    pub(crate) title: String,
    /// The whole paragraph on one line.
    pub(crate) text: String,
}

/// Returns the first `wanted` paragraphs below some folders.
pub(crate) fn passages(folders: &[String], wanted: usize) -> Result<Vec<Passage>> {
    let mut found = BTreeMap::new();
    for folder in folders {
        let files = super::files_below(Path::new(folder));
        for (path, _) in files.with_context(|| format!("cannot read {folder}"))? {
            if path.extension().is_none_or(|it| it != "md") {
                continue;
            }
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            let of = path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
            for paragraph in text.split("\n\n") {
                found.extend(passage(&of, paragraph));
            }
        }
    }
    ensure!(found.len() >= wanted, "only {} paragraphs below {folders:?}", found.len());
    Ok(found.into_values().take(wanted).collect())
}

fn passage(of: &str, paragraph: &str) -> Option<(u64, Passage)> {
    let text = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = text.trim_start_matches(['#', '-', '*', '>', ' ']).to_string();
    let begins_well = text.chars().next().is_some_and(char::is_alphabetic);
    if !begins_well || !CHARS.contains(&text.chars().count()) || text.contains("kb-") {
        return None;
    }
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|it| !it.is_empty());
    let title = words.take(TITLE_WORDS).collect::<Vec<_>>().join(" ");
    let hash = xxhash_rust::xxh3::xxh3_64(text.as_bytes());
    Some((hash, Passage { of: of.to_string(), title, text }))
}
