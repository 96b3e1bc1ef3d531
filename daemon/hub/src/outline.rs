//! Outline: a summary of a project, small enough to keep in memory for all projects.
//!
//! In: an index. Out: three published rows (word counts, name counts, signs of window vectors), and the reverse: how
//! many chunks contain a word.
//! Invariant: an outline is a function of the commit.

use std::collections::{BTreeMap, BTreeSet};

use index::postings::Unread;
use index::store::Snapshot;
use index::words::{phrases_in, terms_of};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::HubError;

/// Keys of the three rows of a project.
pub(crate) const WORDS: i64 = 0;
const NAMES: i64 = 1;
const WINDOWS: i64 = 2;

/// Seeds of the hashes, so that a word of the text and the same word of a name get different numbers.
pub(crate) const OF_TEXT: u64 = 0;
const OF_NAMES: u64 = 1;
pub(crate) const WHOLE_NAME: u64 = 2;

/// Most windows in an outline: 128 kB. A larger project keeps every n-th window.
const MAX_WINDOWS: usize = 4_096;

/// Bits of a byte, and of the words that signs are compared in.
const BITS: usize = 8;
pub(crate) const BITS_A_WORD: usize = 64;

/// How often each word occurs, sorted by number.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Packed {
    /// Number of chunks, or of names.
    n: u64,
    /// The difference to the number before, and the count.
    counts: Vec<(u32, u32)>,
}

/// Hashes a word to four bytes. In a project with 15,000 words, one unknown word in 280,000 collides.
pub(crate) fn number_of(kind: u64, word: &str) -> u32 {
    xxh3_64_with_seed(word.as_bytes(), kind) as u32
}

/// Calls `show` with each row of an index.
pub(crate) fn each(
    index: &Snapshot,
    show: &mut dyn FnMut(i64, Vec<u8>) -> Result<(), HubError>,
) -> Result<(), HubError> {
    let mut counts: FxHashMap<u32, u32> = FxHashMap::default();
    let unread = |error: Unread| match error {
        Unread::Sql(error) => HubError::Store(error.into()),
        Unread::Shape(_) => HubError::Torn("postings"),
    };
    let postings = index.full_text().postings().map_err(unread)?;
    postings
        .each_word(&mut |word, n| {
            *counts.entry(number_of(OF_TEXT, &String::from_utf8_lossy(word))).or_default() += n;
        })
        .map_err(unread)?;
    show(WORDS, packed(postings.n_rows(), counts))?;
    let (mut n, mut counts) = (0, FxHashMap::default());
    index.names().each_spelling(|norm, surface| {
        let words = name_words(surface).into_iter();
        let whole = std::iter::once(number_of(WHOLE_NAME, norm));
        words.flatten().chain(whole).for_each(|it| *counts.entry(it).or_default() += 1);
        n += 1;
    })?;
    show(NAMES, packed(n, counts))?;
    show(WINDOWS, signs_of_windows(index)?)
}

/// Returns one bit for each component of each window's vector: whether it is positive.
fn signs_of_windows(index: &Snapshot) -> Result<Vec<u8>, HubError> {
    let mut windows: BTreeMap<i64, Vec<u8>> = BTreeMap::new();
    index.each_vector(|key, bytes| {
        let byte = |eight: &[u8]| {
            let positive = eight.iter().map(|it| u8::from(it.cast_signed() > 0));
            positive.fold(0, |byte, bit| byte << 1 | bit)
        };
        windows.insert(key, bytes.chunks(BITS).map(byte).collect());
        true
    })?;
    let step = windows.len().div_ceil(MAX_WINDOWS).max(1);
    Ok(windows.into_values().step_by(step).flatten().collect())
}

pub(crate) fn packed(n: u64, counts: FxHashMap<u32, u32>) -> Vec<u8> {
    let sorted: BTreeMap<u32, u32> = counts.into_iter().collect();
    let mut before = 0;
    let counts =
        sorted.into_iter().map(|(word, n)| (word - std::mem::replace(&mut before, word), n));
    let packed = Packed { n, counts: counts.collect() };
    postcard::to_allocvec(&packed).expect("numbers have a form in bytes")
}

/// Returns the words of a name, each with all its spellings.
pub(crate) fn name_words(surface: &str) -> Vec<BTreeSet<u32>> {
    let spellings = |fts: &str| {
        let words = phrases_in(fts).into_iter().flat_map(|phrase| phrase.words);
        words.map(|word| number_of(OF_NAMES, &word)).collect()
    };
    terms_of(surface).iter().map(|term| spellings(&term.fts)).collect()
}

/// Numbers with their counts.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub n: u64,
    numbers: Vec<u32>,
    counts: Vec<u32>,
}

impl Counts {
    fn read(block: &[u8]) -> Result<Self, HubError> {
        let packed: Packed = postcard::from_bytes(block).map_err(|_| HubError::Torn("outline"))?;
        let mut last = 0_u32;
        let numbers = packed.counts.iter().map(|(more, _)| {
            last = last.wrapping_add(*more);
            last
        });
        let numbers = numbers.collect();
        Ok(Counts { n: packed.n, numbers, counts: packed.counts.iter().map(|it| it.1).collect() })
    }

    pub(crate) fn of(&self, number: u32) -> u32 {
        let at = self.numbers.binary_search(&number);
        at.ok().and_then(|at| self.counts.get(at)).copied().unwrap_or(0)
    }
}

/// The outline of one project.
#[derive(Debug, Default)]
pub struct Outline {
    pub(crate) words: Counts,
    pub(crate) names: Counts,
    /// Signs of windows, four words each; the first component is the highest bit.
    pub(crate) windows: Vec<u64>,
}

impl Outline {
    /// Reads one row.
    pub(crate) fn read(&mut self, key: i64, block: &[u8]) -> Result<(), HubError> {
        match key {
            WORDS => self.words = Counts::read(block)?,
            NAMES => self.names = Counts::read(block)?,
            WINDOWS => {
                let (words, _) = block.as_chunks();
                self.windows = words.iter().map(|word| u64::from_be_bytes(*word)).collect();
            }
            // A row of a later version.
            _ => {}
        }
        Ok(())
    }

    /// Returns the outline of a local index.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn of(index: &Snapshot) -> Result<Self, HubError> {
        let mut outline = Outline::default();
        each(index, &mut |key, block| outline.read(key, &block))?;
        Ok(outline)
    }

    /// Returns its size in memory, in bytes.
    pub fn n_bytes(&self) -> usize {
        8 * (self.words.numbers.len() + self.names.numbers.len()) + 8 * self.windows.len()
    }
}
