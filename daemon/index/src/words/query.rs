//! Query: expressions of FTS5 for a word, a name or a part of a text.
//!
//! Invariant: every index word is in quotation marks, so that nothing in a question is an operator.

use std::collections::BTreeSet;

use super::{Run, Stemmer, grams, humps, is_acronym, segments};
use crate::words::fold::folded;
use model::terms::gram_length;

/// One of the things a question searches for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term {
    /// FTS5 expression.
    pub fts: String,
    /// The words to look for in a text when a snippet is cut: folded, not stemmed.
    pub shown: String,
}

/// Adjacent words, in the form of the text index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phrase {
    /// In order; empty if nothing can match.
    pub words: Vec<String>,
    /// True if the last word is only a prefix.
    pub is_prefix: bool,
}

/// Parses the phrases of an expression that [`terms_of`] or [`phrase_of`] made, in order.
pub fn phrases_in(expression: &str) -> Vec<Phrase> {
    let mut parts = expression.split('"').skip(1).peekable();
    let mut phrases = Vec::new();
    while let Some(words) = parts.next() {
        let behind = parts.next().unwrap_or("");
        let words = words.split(' ').filter(|word| !word.is_empty()).map(String::from).collect();
        phrases.push(Phrase { words, is_prefix: behind.starts_with('*') });
    }
    phrases
}

/// Returns the terms of one word or compound, as typed. A compound (`rotate_keys`, `v1.2`) is a phrase of its parts;
/// in scripts without spaces, each gram is a term.
pub fn terms_of(compound: &str) -> Vec<Term> {
    let mut terms: Vec<Term> = Vec::new();
    let mut add = |fts: String, shown: String| {
        if !terms.iter().any(|term| term.fts == fts) {
            terms.push(Term { fts, shown });
        }
    };
    let mut words: Vec<Run<'_>> = Vec::new();
    for segment in segments(compound) {
        match gram_length(segment.text) {
            Some(n) => {
                word_term(&words, &mut add);
                words.clear();
                gram_terms(segment.text, n, &mut add);
            }
            None => words.push(segment),
        }
    }
    word_term(&words, &mut add);
    terms
}

/// Adds the term of adjacent words.
fn word_term(words: &[Run<'_>], add: &mut impl FnMut(String, String)) {
    let parts: Vec<&str> = words.iter().map(|segment| segment.text).collect();
    let shown = parts.iter().map(|part| folded(part)).collect::<Vec<_>>().join(" ");
    match words {
        [] => {}
        [Run { sign: Some(sign), .. }] => add(quoted(&[sign.attach(&shown)]), shown),
        [one] => {
            // A CamelCase word is searched as one word and as its parts.
            let mut forms = spellings(&parts);
            let humps: Vec<&str> = humps(one.text).collect();
            if !humps.is_empty() {
                forms.extend(spellings(&humps));
            }
            add(any_of(forms), shown);
        }
        _ => add(any_of(spellings(&parts)), shown),
    }
}

/// Returns an expression that finds every text with `surface`, however its words are joined (`Signing Service`,
/// `signing-service`, `SigningService`), whatever the language; `None` if it has no word.
pub fn phrase_of(surface: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for segment in segments(surface) {
        let before = parts.len();
        parts.extend(humps(segment.text));
        if parts.len() == before {
            parts.push(segment.text);
        }
    }
    if parts.is_empty() {
        return None;
    }
    let mut forms = spellings(&parts);
    let joined: String = parts.concat();
    forms.extend(spellings(&[joined.as_str()]));
    forms.sort();
    forms.dedup();
    Some(any_of(forms))
}

/// Returns an expression that finds every text in which these words are adjacent, as typed; `None` if there is no
/// word.
pub fn quoted_phrase(words: &str) -> Option<String> {
    let parts: Vec<&str> = segments(words).map(|segment| segment.text).collect();
    (!parts.is_empty()).then(|| any_of(spellings(&parts)))
}

/// Endings that may complete the prefix of an English word, of which the index has only the stem.
pub const ENDINGS: [&str; 16] = [
    "", "e", "s", "es", "d", "ed", "n", "on", "ion", "ing", "ng", "ly", "al", "er", "ment", "ation",
];

/// Suffixes that a stemmer removes, the longest of each kind: a prefix may end anywhere inside one.
const SUFFIXES: [&str; 36] = [
    "ations", "ational", "izations", "izing", "izer", "ements", "ments", "ability", "ibility",
    "iveness", "fulness", "ousness", "ities", "ances", "ences", "ings", "ies", "ied", "ers", "ors",
    "able", "ible", "ally", "ously", "ively", "isms", "ists", "ical", "ative", "ators", "ated",
    "ates", "ions", "ly", "ness", "ing",
];

/// Returns whole words that may start with `start`: it may end inside a suffix, which is then completed.
fn completed(start: &str) -> BTreeSet<String> {
    let mut whole: BTreeSet<String> =
        ENDINGS.iter().map(|ending| format!("{start}{ending}")).collect();
    for suffix in SUFFIXES {
        for (at, _) in suffix.char_indices().skip(1) {
            let (begun, rest) = suffix.split_at(at);
            if start.ends_with(begun) {
                whole.insert(format!("{start}{rest}"));
            }
        }
    }
    whole
}

/// Returns alternative expressions that find every text with a word that starts with `start`.
pub fn beginnings(start: &str) -> Vec<String> {
    let start = folded(start);
    // The word itself once more, so that `node2*` finds `node2` before `node20`.
    let word = quoted(std::slice::from_ref(&start));
    let mut found = vec![format!("{word}*"), word];
    let stemmer = Stemmer::default();
    // The prefix `rotatio*` misses `rotation`, whose stem `rotat` is shorter, and `policy*` its own word, whose stem
    // is `polici`.
    for whole in completed(&start) {
        let stem = stemmer.stem(&whole).filter(|stem| !stem.starts_with(&start));
        let stem = stem.map(|stem| quoted(&[stem]));
        if let Some(stem) = stem.filter(|stem| !found.contains(stem)) {
            found.push(stem);
        }
    }
    found
}

/// Returns the phrases of a sequence of words: stemmed, as in English text, and unstemmed.
fn spellings(parts: &[&str]) -> Vec<String> {
    let stemmer = Stemmer::default();
    let (mut stems, mut plain) = (Vec::new(), Vec::new());
    for part in parts {
        if let Some(n) = gram_length(part) {
            let mut all = Vec::new();
            grams(part, n, |gram| all.push(gram.to_string()));
            // The last, shorter grams occur only at the end of a run.
            all.truncate(all.len().saturating_sub(n - 1).max(1));
            stems.extend(all.iter().cloned());
            plain.extend(all);
            continue;
        }
        let word = folded(part);
        let stem = stemmer.stem(&word).filter(|_| !is_acronym(part));
        stems.push(stem.unwrap_or_else(|| word.clone()));
        plain.push(word);
    }
    let mut forms = vec![quoted(&stems)];
    // In English text an acronym is not stemmed in capitals, but is in lowercase.
    let all_stems: Vec<String> =
        plain.iter().map(|word| stemmer.stem(word).unwrap_or_else(|| word.clone())).collect();
    for other in [quoted(&plain), quoted(&all_stems)] {
        if !forms.contains(&other) {
            forms.push(other);
        }
    }
    forms
}

/// Adds the grams of a run. A run that is shorter than a gram becomes a prefix.
fn gram_terms(run: &str, n: usize, add: &mut impl FnMut(String, String)) {
    let n_signs = folded(run).chars().count();
    if n_signs < n {
        let run = folded(run);
        add(format!("{}*", quoted(std::slice::from_ref(&run))), run);
        return;
    }
    // Without the shorter grams at the end.
    let mut left = n_signs + 1 - n;
    grams(run, n, |gram| {
        if left > 0 {
            left -= 1;
            add(quoted(&[gram.to_string()]), gram.to_string());
        }
    });
}

fn quoted(words: &[String]) -> String {
    format!("\"{}\"", words.join(" "))
}

fn any_of(forms: Vec<String>) -> String {
    match forms.as_slice() {
        [one] => one.clone(),
        several => format!("({})", several.join(" OR ")),
    }
}
