//! Lexemes: the features of a word for the models: 64-bit ids of its normal form, first letter, last three and shape.
//!
//! In: a word, or the parts of a tokenizer exception. Out: a [`Lexeme`].
//! Invariants: ids are spaCy's: the number of one of its symbols, otherwise MurmurHash 64A of the UTF-8 bytes.

use rustc_hash::FxHashMap;

use super::characters::{is_digit, is_letter, is_space};
use super::data::Shipped;

/// Length in characters from which all words have the same shape.
const LONG_CHARS: usize = 100;

/// Longest run of one kind of character that a shape keeps.
const MAX_REPEATS: usize = 4;

/// The features of a word. Equal words have equal lexemes, except that the parts of a tokenizer exception may have a
/// normal form of their own ("n't" is "not").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Lexeme {
    /// Id of its characters as written.
    pub(super) exact: u64,
    /// Id of the normal form.
    pub(super) norm: u64,
    /// Id of the first character.
    pub(super) prefix: u64,
    /// Id of the last three characters.
    pub(super) suffix: u64,
    /// Id of the shape: "Xxxx", "dd.d".
    pub(super) shape: u64,
    /// True when all of it is white space.
    pub(super) is_space: bool,
    /// True for a mark that ends a sentence.
    pub(super) ends_sentence: bool,
}

impl Lexeme {
    /// Returns whether the token is white space.
    pub fn is_space(&self) -> bool {
        self.is_space
    }
}

/// Makes lexemes.
#[derive(Debug)]
pub(super) struct Lexicon {
    /// Numbers of spaCy's own symbols, which are used instead of a hash.
    symbols: FxHashMap<&'static str, u64>,
    /// Normal forms that are not simply the lowercase word, by the word's id.
    norms: FxHashMap<u64, u64>,
}

impl Lexicon {
    pub(super) fn new(shipped: &Shipped) -> Self {
        let mut lexicon = Lexicon { symbols: shipped.symbols.clone(), norms: FxHashMap::default() };
        // The vocabulary's table comes second, so it overwrites the language's.
        let tables = [&shipped.norms.base_norms, &shipped.norms.lexeme_norm];
        for (word, norm) in tables.into_iter().flatten() {
            let id = match word.strip_prefix('#').map(str::parse) {
                Some(Ok(id)) => id,
                _ => lexicon.id(word),
            };
            lexicon.norms.insert(id, lexicon.id(norm));
        }
        lexicon
    }

    /// Returns spaCy's id of a string; 0 for the empty one.
    pub(super) fn id(&self, text: &str) -> u64 {
        match self.symbols.get(text) {
            Some(number) => *number,
            None if text.is_empty() => 0,
            None => murmur_64a(text.as_bytes()),
        }
    }

    /// Returns the lexeme of a nonempty word. `norm` is given for a part of an exception.
    pub(super) fn lexeme(&self, word: &str, norm: Option<&str>) -> Lexeme {
        let exact = self.id(word);
        let after_first = word.char_indices().nth(1).map_or(word.len(), |(at, _)| at);
        let last_three = word.char_indices().rev().take(3).last().map_or(0, |(at, _)| at);
        let norm = match norm {
            Some(norm) => self.id(norm),
            None => {
                self.norms.get(&exact).copied().unwrap_or_else(|| self.id(&word.to_lowercase()))
            }
        };
        Lexeme {
            exact,
            norm,
            prefix: self.id(word.get(..after_first).unwrap_or_default()),
            suffix: self.id(word.get(last_three..).unwrap_or_default()),
            shape: self.id(&shape(word)),
            is_space: word.chars().all(is_space),
            ends_sentence: matches!(word, "." | "!" | "?"),
        }
    }
}

/// Returns the shape: letters as `X` and `x`, digits as `d`, others unchanged; runs are cut to four.
fn shape(word: &str) -> String {
    if word.chars().nth(LONG_CHARS - 1).is_some() {
        return "LONG".to_owned();
    }
    let (mut shape, mut last, mut n_same) = (String::new(), None, 0);
    for character in word.chars() {
        let kind = match character {
            _ if is_letter(character) && character.is_uppercase() => 'X',
            _ if is_letter(character) => 'x',
            _ if is_digit(character) => 'd',
            _ => character,
        };
        n_same = if last == Some(kind) { n_same + 1 } else { 0 };
        last = Some(kind);
        if n_same < MAX_REPEATS {
            shape.push(kind);
        }
    }
    shape
}

/// MurmurHash 64A with seed 1, as spaCy's string store computes it.
pub(super) fn murmur_64a(bytes: &[u8]) -> u64 {
    const FACTOR: u64 = 0xc6a4_a793_5bd1_e995;
    let mut hash = 1 ^ (bytes.len() as u64).wrapping_mul(FACTOR);
    let (words, tail) = bytes.as_chunks::<8>();
    for word in words {
        let mut key = u64::from_le_bytes(*word).wrapping_mul(FACTOR);
        key ^= key >> 47;
        hash = (hash ^ key.wrapping_mul(FACTOR)).wrapping_mul(FACTOR);
    }
    if !tail.is_empty() {
        let rest = tail.iter().rev().fold(0, |rest, byte| rest << 8 | u64::from(*byte));
        hash = (hash ^ rest).wrapping_mul(FACTOR);
    }
    hash = (hash ^ hash >> 47).wrapping_mul(FACTOR);
    hash ^ hash >> 47
}
