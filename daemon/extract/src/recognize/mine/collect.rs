//! Collect: groups the surfaces of one document by norm and drops those that are not terms.
//!
//! In: surfaces with the weight of their place. Out: `MinedTerm`s ordered by norm.
//! Invariants: a term has its most frequent surface, the smaller of equals, and its largest weight.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;

use crate::recognize::words;
use model::document::MinedTerm;
use model::terms::{NormKey, norm_of};

/// Longest term in bytes.
const MAX_TERM_BYTES: usize = 60;
/// Longest word of a term, in bytes; longer ones are hashes, keys or base64.
const MAX_WORD_BYTES: usize = 40;
/// Shortest lowercase code token that is a term, in bytes; shorter ones are variables.
const MIN_CODE_BYTES: usize = 3;
/// Weight of a run seen only at the start of sentences.
const NOTED: u8 = 0;

/// The terms of one document.
pub(super) struct Terms<'a> {
    max_words: usize,
    by_norm: FxHashMap<NormKey, Uses<'a>>,
}

#[derive(Default)]
struct Uses<'a> {
    surfaces: Vec<(&'a str, u32)>,
    weight: u8,
    n_noted: u32,
}

impl<'a> Terms<'a> {
    pub(super) fn new(max_words: usize) -> Self {
        Terms { max_words, by_norm: FxHashMap::default() }
    }

    /// Adds a whole title or bold text if it has only the characters of a name and no function word
    /// at either end.
    pub(super) fn add_phrase(&mut self, text: &'a str, weight: u8) {
        let phrase = text.trim().trim_end_matches([':', '.', '!', '?', ',']).trim_end();
        let is_plain = |c: char| {
            c.is_alphanumeric() || matches!(c, ' ' | '-' | '_' | '+' | '#' | '.' | '\'' | '&')
        };
        let edges = [phrase.split(' ').next(), phrase.rsplit(' ').next()];
        let is_bound = edges.into_iter().flatten().any(words::is_function_word);
        if phrase.chars().all(is_plain) && !is_bound {
            self.add(phrase, weight);
        }
    }

    /// Adds a code span of one token. Spans of several tokens are commands, dotted ones files,
    /// fields or hosts.
    pub(super) fn add_code(&mut self, code: &'a str, weight: u8) {
        let token = code.trim().trim_end_matches("()");
        let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':' | '-' | '#');
        let begins = token.starts_with(|c: char| c.is_alphabetic() || c == '_');
        let is_variable = token.len() < MIN_CODE_BYTES && !token.contains(char::is_uppercase);
        let is_key = token.ends_with(':') || token.matches(':').count() % 2 == 1;
        if begins && token.chars().all(is_plain) && !is_variable && !is_key {
            self.add(token, weight);
        }
    }

    /// Adds a surface unless it is ordinary.
    pub(super) fn add(&mut self, surface: &'a str, weight: u8) {
        if self.is_term(surface) && !words::is_ordinary(&norm_of(surface)) {
            self.insert(surface, weight);
        }
    }

    /// Adds a term that the document defines, if it has several words or is not ordinary: an author
    /// who defines `grace window` means it, but `key` alone would be found on every line.
    pub(super) fn add_defined(&mut self, surface: &'a str, weight: u8) {
        let n_words = surface.split_whitespace().count();
        if n_words <= self.max_words && (n_words > 1 || !is_plain_word(surface)) {
            self.insert(surface, weight);
        }
    }

    fn insert(&mut self, surface: &'a str, weight: u8) {
        let norm = norm_of(surface);
        if norm.len() < 2 || is_number(&norm) {
            return;
        }
        let uses = self.by_norm.entry(norm).or_default();
        uses.weight = uses.weight.max(weight);
        uses.n_noted += u32::from(weight == NOTED);
        if let Some((_, n)) = uses.surfaces.iter_mut().find(|(known, _)| *known == surface) {
            *n += 1;
        } else if uses.surfaces.len() < MAX_SURFACES {
            uses.surfaces.push((surface, 1));
        }
    }

    /// Records a run at the start of a sentence. A run of several words becomes a term with a
    /// second such place; a single word needs another kind of place.
    pub(super) fn note(&mut self, surface: &'a str) {
        self.add(surface, NOTED);
    }

    /// Returns the terms, ordered by norm.
    pub(super) fn finish(self) -> Vec<MinedTerm> {
        let mut out: Vec<MinedTerm> =
            self.by_norm.into_iter().filter_map(|(norm, uses)| term(norm, uses)).collect();
        out.sort_unstable_by(|a, b| a.norm.cmp(&b.norm));
        out
    }

    fn is_term(&self, surface: &str) -> bool {
        if surface.is_empty() || surface.len() > MAX_TERM_BYTES {
            return false;
        }
        let mut n_words = 0;
        for word in surface.split([' ', '-', '\n']).filter(|word| !word.is_empty()) {
            n_words += 1;
            if word.len() > MAX_WORD_BYTES {
                return false;
            }
        }
        n_words <= self.max_words && !(n_words == 1 && is_plain_word(surface))
    }
}

/// Returns whether a word is ordinary, or inflected or derived (`Rendering`, `sorted`, `locally`).
fn is_plain_word(word: &str) -> bool {
    let is_inflected = word.len() > 5
        && ["ing", "ed", "ly"].iter().any(|ending| word.ends_with(ending))
        && word.bytes().skip(1).all(|b| b.is_ascii_lowercase());
    is_inflected || words::is_ordinary(word)
}

/// Most surfaces kept for a norm; a name is written in a handful of ways.
const MAX_SURFACES: usize = 8;

/// Returns whether a norm is a number, a version or mostly digits.
fn is_number(norm: &str) -> bool {
    let n_digits = norm.bytes().filter(u8::is_ascii_digit).count();
    let n_letters = norm.chars().filter(|c| c.is_alphabetic()).count();
    let first = norm.trim_start_matches('v').bytes().next();
    n_letters == 0 || n_digits > n_letters || first.is_some_and(|b| b.is_ascii_digit())
}

fn term(norm: NormKey, uses: Uses<'_>) -> Option<MinedTerm> {
    let surface = uses.surfaces.iter().max_by_key(|(surface, n)| (*n, Reverse(*surface)))?.0;
    let repeats = uses.n_noted > 1 && surface.contains(' ');
    let weight = if uses.weight == NOTED && repeats { super::PLAIN_WEIGHT } else { uses.weight };
    (weight > NOTED).then(|| MinedTerm { norm, surface: surface.replace('\n', " "), weight })
}
