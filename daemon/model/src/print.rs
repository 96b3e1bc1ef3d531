//! Prints: what the index compares passages by, to index text that occurs in many places only once.
//!
//! In: one document, cut into chunks. Out: a print for each chunk of enough words.
//! Invariants: a print depends only on the words of its chunk, so equal chunks have equal prints wherever they are;
//! reading is linear in the text.

use std::ops::Range;

use config::settings::Dedup;
use rustc_hash::FxHashSet;
use xxhash_rust::xxh3::xxh3_64;

use super::document::{Chunk, Document, Profile};
use crate::terms::overlap;

/// Bands of a MinHash, each of two rows: texts that share .8 of their pairs of words share a band with probability 1
/// − (1 − .8²)³ = .95, those that share .9 with .993.
pub const N_BANDS: usize = 3;

/// Odd numbers without a pattern (digits of π and e); each defines another order of all pairs of words.
const ORDERS: [u64; 2 * N_BANDS] = [
    0x243f_6a88_85a3_08d3,
    0x1319_8a2e_0370_7345,
    0xa409_3822_299f_31d1,
    0x082e_fa98_ec4e_6c89,
    0xb7e1_5162_8aed_2a6b,
    0xbf71_5880_9cf4_f3c7,
];

/// Bits of a key: SQLite stores integers below 2⁴⁷ in six bytes.
const KEY_BITS: u32 = 47;

/// The print of a chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Print {
    /// Hash of its words in order, lowercase; of code, where signs matter, of its bytes.
    pub text: i64,
    /// Similar texts most likely share one of these; empty if a single changed word has too much weight, or for code.
    pub keys: Vec<i64>,
}

impl Print {
    /// Returns the keys that a text shares with those that it is compared with; the first only with equal ones.
    pub fn compared_by(&self) -> impl Iterator<Item = i64> + '_ {
        std::iter::once(self.text).chain(self.keys.iter().copied())
    }
}

/// Returns the print of each chunk, `None` for one of few words; nothing when `dedup` is off.
pub fn prints_of(doc: &Document, dedup: &Dedup) -> Vec<Option<Print>> {
    if !dedup.enabled {
        return Vec::new();
    }
    let mut words = Words::default();
    let mut print = |chunk: &Chunk| {
        let text = chunk.span.of(&doc.text);
        words.read(text);
        let n_words = words.hashes.len();
        let is_code = chunk.profile == Profile::Code;
        // Short texts are compared for equality only.
        let has_keys = !is_code && n_words >= least_words(dedup.similarity);
        let keys = if has_keys { keys_of(&words.hashes) } else { Vec::new() };
        let bytes = if is_code { text.as_bytes() } else { &words.norm };
        let text = xxhash_rust::xxh3::xxh3_64(bytes) as i64;
        (n_words >= dedup.min_words as usize).then_some(Print { text, keys })
    };
    doc.chunks.iter().map(&mut print).collect()
}

/// Returns the number of words below which one changed word in the middle makes two texts less alike than
/// `similarity`: of the n − 1 pairs of each, the word is in two, so n − 3 of the n + 1 pairs in either are shared.
fn least_words(similarity: f32) -> usize {
    let least = (3.0 + similarity) / (1.0 - similarity).max(1e-6);
    least.ceil() as usize
}

/// The words of one text; reuses its memory from text to text.
#[derive(Debug, Default)]
struct Words {
    /// All words, lowercase, a space after each.
    norm: Vec<u8>,
    hashes: Vec<u64>,
}

impl Words {
    fn read(&mut self, text: &str) {
        self.norm.clear();
        self.hashes.clear();
        each_word(text, |range| {
            let start = self.norm.len();
            lower(text.get(range).unwrap_or(""), &mut self.norm);
            self.hashes.push(xxh3_64(self.norm.get(start..).unwrap_or_default()));
            self.norm.push(b' ');
        });
    }
}

fn lower(word: &str, out: &mut Vec<u8>) {
    if word.is_ascii() {
        out.extend(word.bytes().map(|byte| byte.to_ascii_lowercase()));
    } else {
        out.extend(word.to_lowercase().as_bytes());
    }
}

/// Calls `visit` with the place of each word: a run of letters and digits, or a single character of a script that is
/// written without spaces.
fn each_word(text: &str, mut visit: impl FnMut(Range<usize>)) {
    let mut open: Option<usize> = None;
    for (at, c) in text.char_indices() {
        let is_word = c.is_ascii_alphanumeric() || (!c.is_ascii() && c.is_alphanumeric());
        let is_alone = is_word && is_unspaced(c);
        // A character that is a word by itself ends the word before.
        match open {
            Some(start) if !is_word || is_alone => {
                visit(start..at);
                open = None;
            }
            None if is_word && !is_alone => open = Some(at),
            _ => {}
        }
        if is_alone {
            visit(at..at + c.len_utf8());
        }
    }
    if let Some(start) = open {
        visit(start..text.len());
    }
}

/// Returns true for Han, kana, and the scripts of Southeast Asia that put no space between words.
fn is_unspaced(c: char) -> bool {
    matches!(u32::from(c), 0x0e00..=0x0eff | 0x1000..=0x109f | 0x1780..=0x17ff | 0x3040..=0x30ff
        | 0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xf900..=0xfaff | 0x20000..=0x3ffff)
}

/// Returns the number of words.
pub fn count_words(text: &str) -> usize {
    let mut n = 0;
    each_word(text, |_| n += 1);
    n
}

fn keys_of(hashes: &[u64]) -> Vec<i64> {
    // MinHash: for each order, the least number of any pair; equal minima are likely for texts that share most pairs.
    let mut least = [u64::MAX; 2 * N_BANDS];
    for pair in pairs_of(hashes) {
        for (least, order) in least.iter_mut().zip(ORDERS) {
            *least = (*least).min((pair ^ (pair >> 29)).wrapping_mul(order | 1));
        }
    }
    let band = |(n, rows): (usize, &[u64])| {
        let bytes: Vec<u8> = rows.iter().flat_map(|row| row.to_le_bytes()).collect();
        (xxhash_rust::xxh3::xxh3_64_with_seed(&bytes, n as u64) >> (64 - KEY_BITS)) as i64
    };
    least.chunks(2).enumerate().map(band).collect()
}

/// Returns one number for each pair of adjacent words; the order of the two matters.
fn pairs_of(hashes: &[u64]) -> impl Iterator<Item = u64> + '_ {
    let seconds = hashes.iter().skip(1);
    hashes.iter().zip(seconds).map(|(a, b)| {
        let mixed = a.rotate_left(23).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ b;
        mixed ^ (mixed >> 32)
    })
}

/// A text reduced to what is needed to compare it with others.
#[derive(Debug, Clone, Default)]
pub struct Compared {
    /// One number for each pair of words, sorted.
    pairs: Vec<u64>,
    words: FxHashSet<u64>,
}

impl Compared {
    /// Reduces a text.
    pub fn of(text: &str) -> Self {
        let mut words = Words::default();
        words.read(text);
        let mut pairs: Vec<u64> = pairs_of(&words.hashes).collect();
        pairs.sort_unstable();
        Compared { pairs, words: words.hashes.into_iter().collect() }
    }

    /// Returns the number of pairs of words in both texts over those in either (Jaccard of multisets), in [0, 1].
    pub fn similarity(&self, other: &Compared) -> f64 {
        let (n_union, n_common) = overlap(self.pairs.iter(), other.pairs.iter(), usize::MAX);
        n_common as f64 / n_union.max(1) as f64
    }

    /// Returns the words of `text` that this one lacks, as byte ranges in order; adjacent words are one range, so
    /// that a date stays whole. A character of a script without spaces is returned with its neighbors, with which it
    /// forms a word.
    pub fn missing_from(&self, text: &str) -> Vec<Range<usize>> {
        let mut out: Vec<Range<usize>> = Vec::new();
        let (mut norm, mut was_missing) = (Vec::new(), false);
        let mut last: Option<Range<usize>> = None;
        each_word(text, |range| {
            let word = text.get(range.clone()).unwrap_or("");
            norm.clear();
            lower(word, &mut norm);
            let is_missing = !self.words.contains(&xxh3_64(&norm));
            let is_unspaced = word.chars().next().is_some_and(is_unspaced);
            match out.last_mut() {
                // Extends the open range, also by the neighbor behind a missing character.
                Some(open) if was_missing && (is_missing || is_unspaced) => open.end = range.end,
                _ if is_missing => {
                    let with_last = last.clone().filter(|it| is_unspaced && it.end == range.start);
                    out.push(with_last.map_or(range.start, |it| it.start)..range.end);
                }
                _ => {}
            }
            was_missing = is_missing;
            last = Some(range);
        });
        out
    }
}

#[cfg(test)]
mod tests;
