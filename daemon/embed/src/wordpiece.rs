//! WordPiece: splits text into the token ids of a BERT vocabulary, with the place of each word.
//!
//! In: text, and a `tokenizer.json`. Out: ids, counts, or words with their spans; no special tokens are added.
//! Invariants: ids equal those of the reference tokenizer of the same file for every text, literal special tokens
//! such as `[MASK]` included; time is linear in the text; the cache changes speed, never results, and its memory is
//! fixed.

mod cache;
mod categories;
mod vocabulary;

use std::sync::Arc;

use unicode_normalization::UnicodeNormalization;

use cache::{WordCache, WordKey};
use categories::{CharClass, class_of, is_dropped, is_mark};
use vocabulary::Vocabulary;

/// The tokenizer of the built-in static model.
const BUILTIN_JSON: &[u8] = include_bytes!("../../models/potion-base-8M/tokenizer.json");

/// A `tokenizer.json` that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum VocabularyError {
    /// Not JSON, or not of the expected shape.
    #[error("tokenizer is not a readable WordPiece file: {0}")]
    Json(#[from] serde_json::Error),
    /// Readable, but of a kind this module does not implement.
    #[error("tokenizer is not supported: {0}")]
    Unsupported(String),
}

/// A vocabulary and its rules: immutable, shared by every stage through an `Arc`.
#[derive(Debug)]
pub struct WordPiece {
    vocabulary: Vocabulary,
}

/// One word of a text: an unbroken run of letters and digits, or a single symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word {
    /// First byte in the text.
    pub start: u32,
    /// One past its last byte.
    pub end: u32,
    /// Its pieces, 1 to 100.
    pub n_pieces: u32,
}

impl WordPiece {
    /// Returns the tokenizer shipped with the daemon. Takes a few milliseconds; create it once and share it.
    pub fn builtin() -> Arc<Self> {
        Arc::new(Self::load(BUILTIN_JSON).expect("the committed tokenizer.json is tested to load"))
    }

    /// Parses a `tokenizer.json`: WordPiece over the BERT normalizer (lowercase, accents stripped). Pieces are borrowed
    /// from it.
    pub fn load(json: &'static [u8]) -> Result<Self, VocabularyError> {
        Ok(WordPiece { vocabulary: Vocabulary::load(json)? })
    }

    /// Returns the id of unknown words.
    pub fn unknown_id(&self) -> u32 {
        u32::from(self.vocabulary.unknown)
    }

    /// Returns the number of ids; every id is smaller.
    pub fn n_ids(&self) -> usize {
        self.vocabulary.n_ids
    }

    /// Appends the ids of `text`. For a few short texts; for many use a [`CachedWordPiece`].
    pub fn ids(&self, text: &str, ids: &mut Vec<u32>) {
        let mut uncached = Uncached { scratch: Scratch::default() };
        let mut emit = |_, _, pieces: &[u16]| ids.extend(pieces.iter().map(|&id| u32::from(id)));
        scan(&self.vocabulary, &mut uncached, text, &mut emit);
    }

    /// Returns the number of ids of `text`. For a few short texts; for many use a [`CachedWordPiece`].
    pub fn count_tokens(&self, text: &str) -> usize {
        let mut uncached = Uncached { scratch: Scratch::default() };
        let mut n_tokens = 0;
        scan(&self.vocabulary, &mut uncached, text, &mut |_, _, pieces: &[u16]| {
            n_tokens += pieces.len()
        });
        n_tokens
    }
}

/// A tokenizer with a cache of words: words repeat, so most are looked up by their raw bytes and neither normalized
/// nor split again. Each thread has its own; about 0.4 MB.
#[derive(Debug)]
pub struct CachedWordPiece {
    wordpiece: Arc<WordPiece>,
    cached: Cached,
}

impl CachedWordPiece {
    /// Creates an empty cache for a shared tokenizer.
    pub fn new(wordpiece: Arc<WordPiece>) -> Self {
        CachedWordPiece {
            wordpiece,
            cached: Cached { words: WordCache::default(), scratch: Scratch::default() },
        }
    }

    /// Appends the ids of `text`.
    pub fn ids(&mut self, text: &str, ids: &mut Vec<u32>) {
        self.each(text, |_, pieces| ids.extend(pieces.iter().map(|&id| u32::from(id))));
    }

    /// Returns the number of ids of `text`.
    pub fn count_tokens(&mut self, text: &str) -> usize {
        let mut n_tokens = 0;
        self.each(text, |_, pieces| n_tokens += pieces.len());
        n_tokens
    }

    /// Appends the words of `text` that have pieces, in order; their pieces together are the ids of `text`.
    pub fn words(&mut self, text: &str, words: &mut Vec<Word>) {
        self.each(text, |word, _| words.push(word));
    }

    /// Calls `visit` with each word and its ids, in order: for callers that need both from one pass.
    pub fn each(&mut self, text: &str, mut visit: impl FnMut(Word, &[u16])) {
        let mut emit = |start: usize, end: usize, pieces: &[u16]| {
            let at = |offset: usize| u32::try_from(offset).unwrap_or(u32::MAX);
            let word = Word { start: at(start), end: at(end), n_pieces: at(pieces.len()) };
            visit(word, pieces);
        };
        scan(&self.wordpiece.vocabulary, &mut self.cached, text, &mut emit);
    }
}

/// Finds the pieces of a run: a word in its raw form.
trait Pieces {
    fn of(&mut self, vocabulary: &Vocabulary, text: &str, start: usize, end: usize) -> &[u16];
}

#[derive(Debug)]
struct Uncached {
    scratch: Scratch,
}

impl Pieces for Uncached {
    fn of(&mut self, vocabulary: &Vocabulary, text: &str, start: usize, end: usize) -> &[u16] {
        self.scratch.split(vocabulary, text.get(start..end).unwrap_or(""))
    }
}

#[derive(Debug)]
struct Cached {
    words: WordCache,
    scratch: Scratch,
}

impl Pieces for Cached {
    #[inline]
    fn of(&mut self, vocabulary: &Vocabulary, text: &str, start: usize, end: usize) -> &[u16] {
        // Words that are too long for a key are split each time.
        let Some(key) = WordKey::of(text.as_bytes(), start, end) else {
            return self.scratch.split(vocabulary, text.get(start..end).unwrap_or(""));
        };
        let slot = WordCache::slot_of(key);
        if !self.words.holds(slot, key) {
            let pieces = self.scratch.split(vocabulary, text.get(start..end).unwrap_or(""));
            if !self.words.put(slot, key, pieces) {
                return &self.scratch.pieces;
            }
        }
        self.words.pieces(slot)
    }
}

/// Buffers for one word at a time.
#[derive(Debug, Default)]
struct Scratch {
    normal: String,
    pieces: Vec<u16>,
}

impl Scratch {
    /// Normalizes one run and splits it into pieces.
    fn split(&mut self, vocabulary: &Vocabulary, run: &str) -> &[u16] {
        self.normal.clear();
        self.pieces.clear();
        if run.is_ascii() {
            let kept = run.bytes().filter(|byte| !byte.is_ascii_control());
            self.normal.extend(kept.map(|byte| char::from(byte.to_ascii_lowercase())));
        } else {
            let bare = run.chars().filter(|&c| !is_dropped(c)).nfd().filter(|&c| !is_mark(c));
            self.normal.extend(bare.flat_map(char::to_lowercase));
        }
        vocabulary.split(&self.normal, &mut self.pieces);
        &self.pieces
    }
}

/// The role of a byte in finding words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ByteClass {
    Space,
    Symbol,
    Letter,
    /// Beyond ASCII, or a control character inside a word.
    Other,
}

static BYTE_CLASSES: [ByteClass; 256] = byte_classes();

const fn byte_classes() -> [ByteClass; 256] {
    let mut classes = [ByteClass::Other; 256];
    let mut byte = 0u8;
    while byte < 128 {
        classes[byte as usize] = match byte {
            b' ' | b'\t' | b'\n' | b'\r' => ByteClass::Space,
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => ByteClass::Letter,
            _ if byte.is_ascii_punctuation() => ByteClass::Symbol,
            _ => ByteClass::Other,
        };
        byte += 1;
    }
    classes
}

/// Finds the words of `text` and passes each, with its ids, to `emit`.
///
/// A run of letters can be looked up as a whole because normalization never crosses its ends: symbols, spaces and
/// ideographs are starters, and marks are removed anyway.
fn scan<P: Pieces>(
    vocabulary: &Vocabulary,
    pieces: &mut P,
    text: &str,
    emit: &mut impl FnMut(usize, usize, &[u16]),
) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let start = at;
        match BYTE_CLASSES[usize::from(byte)] {
            ByteClass::Space => {
                at += 1;
                continue;
            }
            ByteClass::Symbol => {
                let (id, len) = vocabulary.symbol(byte, &bytes[at..]);
                at += len;
                emit(start, at, std::slice::from_ref(&id));
                continue;
            }
            ByteClass::Letter => at = ascii_run_end(bytes, at),
            ByteClass::Other => {}
        }
        // A letter beyond ASCII continues the run; only then are characters decoded.
        if bytes.get(at).is_some_and(|&b| BYTE_CLASSES[usize::from(b)] == ByteClass::Other) {
            at = run_end(text, start, at);
        }
        let ids = if at > start { pieces.of(vocabulary, text, start, at) } else { &[] };
        if !ids.is_empty() {
            emit(start, at, ids);
        }
        // A run of length 0 is a space beyond ASCII.
        if at == start {
            at += text[start..].chars().next().map_or(1, char::len_utf8);
        }
    }
}

fn ascii_run_end(bytes: &[u8], from: usize) -> usize {
    let rest = &bytes[from..];
    let is_end = |&byte: &u8| BYTE_CLASSES[usize::from(byte)] != ByteClass::Letter;
    rest.iter().position(is_end).map_or(bytes.len(), |n| from + n)
}

/// Returns the end of the run that started at `start` and has reached a byte beyond ASCII at `from`.
fn run_end(text: &str, start: usize, from: usize) -> usize {
    for (offset, character) in text[from..].char_indices() {
        let at = from + offset;
        let class = match BYTE_CLASSES[usize::from(text.as_bytes()[at])] {
            ByteClass::Space => CharClass::Space,
            ByteClass::Symbol => CharClass::Alone,
            ByteClass::Letter => CharClass::Letter,
            ByteClass::Other if character.is_ascii() => CharClass::Letter,
            ByteClass::Other => class_of(character),
        };
        match class {
            CharClass::Letter => {}
            CharClass::Alone if at == start => return at + character.len_utf8(),
            CharClass::Alone | CharClass::Space => return at,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests;
