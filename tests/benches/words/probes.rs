//! Probes: sentences in many languages, written for this bench, each with searches that must find
//! it among all the others.
//!
//! `probes.tsv`: language, kind of search, search, sentence. Kinds: `word` (verbatim), `part` (a
//! part of a word in a script without spaces), `accent` (typed without or with other accents),
//! `case`, `question` (a sentence whose words overlap), `typed` and `piece` (a whole identifier,
//! and a part of one).

use std::collections::BTreeMap;

use anyhow::{Context, Result};

use super::index::{Index, Tokenizer};

const PROBES: &str = include_str!("probes.tsv");

/// Returns, for each kind, how often the sentence was first, and how often among the first three.
pub(crate) fn lines(tokenizer: Tokenizer) -> Result<Vec<String>> {
    let mut rows: Vec<[&str; 4]> = Vec::new();
    for line in PROBES.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let fields: Vec<&str> = line.split('\t').collect();
        rows.push(fields.try_into().ok().with_context(|| format!("no four fields in `{line}`"))?);
    }
    let mut sentences: Vec<(&str, &str)> =
        rows.iter().map(|[language, _, _, sentence]| (*sentence, *language)).collect();
    sentences.sort_unstable();
    sentences.dedup();
    let index = Index::build(
        tokenizer,
        sentences.iter().map(|(text, language)| (*text, *text, *language == "en")),
    )?;
    let mut by_kind: BTreeMap<&str, (usize, usize, usize)> = BTreeMap::new();
    let mut missed = Vec::new();
    for [language, kind, search, sentence] in rows.iter().filter(|row| row[1] != "other") {
        let found = index.ask(search, 3)?;
        let is_first = found.first() == Some(sentence);
        if !is_first {
            missed.push(format!("{language} {search}"));
        }
        for key in [*kind, "all"] {
            let counts = by_kind.entry(key).or_default();
            counts.0 += 1;
            counts.1 += usize::from(is_first);
            counts.2 += usize::from(found.contains(sentence));
        }
    }
    let mut lines: Vec<String> = by_kind
        .iter()
        .map(|(kind, (n, first, top))| {
            format!("probes {kind:<9} n {n:<3} first {first:<3} among three {top}")
        })
        .collect();
    lines.push(format!("not first: {}", missed.join("; ")));
    Ok(lines)
}
