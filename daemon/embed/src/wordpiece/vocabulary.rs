//! Vocabulary: the pieces, and how a normalized word is split into them.
//!
//! In: the JSON of a tokenizer file; normalized words. Out: ids.
//! Invariants: ids fit 16 bits; splitting takes time linear in the word.

use std::borrow::Cow;
use std::fmt;

use rustc_hash::{FxBuildHasher, FxHashMap};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};

use super::VocabularyError;

/// Marks a piece that continues a word.
const CONTINUATION: &str = "##";

/// Ids of pieces, which borrow from the file: 30,000 copies would slow each start.
type Pieces = FxHashMap<Cow<'static, str>, u16>;

/// A loaded vocabulary.
pub(super) struct Vocabulary {
    /// Pieces that start a word.
    heads: Pieces,
    /// Pieces that continue one, without their `##`.
    tails: Pieces,
    /// Tokens found literally in a text before anything else, such as `[MASK]`; each starts with `[`.
    literals: Vec<(Box<str>, u16)>,
    /// The id of each ASCII symbol; the unknown id for other bytes.
    symbols: [u16; 128],
    /// The id of a word that cannot be split.
    pub(super) unknown: u16,
    /// Longest piece, bytes.
    longest_bytes: usize,
    /// Longest word that is split, characters; longer ones are unknown.
    max_word_chars: usize,
    /// One more than the largest id.
    pub(super) n_ids: usize,
}

impl fmt::Debug for Vocabulary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Vocabulary").field("n_ids", &self.n_ids).finish_non_exhaustive()
    }
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'static"))]
struct TokenizerFile {
    added_tokens: Vec<AddedToken>,
    normalizer: NormalizerSection,
    model: ModelSection,
}

#[derive(Deserialize)]
struct AddedToken {
    id: u16,
    content: Box<str>,
}

#[derive(Deserialize)]
struct NormalizerSection {
    #[serde(rename = "type")]
    kind: String,
    lowercase: bool,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'static"))]
struct ModelSection {
    #[serde(rename = "type")]
    kind: String,
    unk_token: String,
    continuing_subword_prefix: String,
    max_input_chars_per_word: usize,
    vocab: PieceTable,
}

/// Heads and tails of a vocabulary of English, rounded up: tables of this size need not grow while it is read.
const N_USUAL: [usize; 2] = [25_000, 6_000];

/// The vocabulary object, split into heads and tails while it is parsed.
struct PieceTable {
    heads: Pieces,
    tails: Pieces,
}

/// A piece as the file spells it; owned only if it has an escaped character.
#[derive(Deserialize)]
struct Piece<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de: 'static> Deserialize<'de> for PieceTable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(PieceVisitor)
    }
}

struct PieceVisitor;

impl<'de: 'static> Visitor<'de> for PieceVisitor {
    type Value = PieceTable;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of pieces and ids below 65,536")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<PieceTable, A::Error> {
        let [heads, tails] = N_USUAL.map(|n| Pieces::with_capacity_and_hasher(n, FxBuildHasher));
        let mut table = PieceTable { heads, tails };
        while let Some((Piece(piece), id)) = map.next_entry::<Piece<'static>, u16>()? {
            let tail = match &piece {
                Cow::Borrowed(piece) => piece.strip_prefix(CONTINUATION).map(Cow::Borrowed),
                Cow::Owned(piece) => {
                    piece.strip_prefix(CONTINUATION).map(|tail| Cow::Owned(tail.to_string()))
                }
            };
            match tail {
                Some(tail) => table.tails.insert(tail, id),
                None => table.heads.insert(piece, id),
            };
        }
        Ok(table)
    }
}

impl Vocabulary {
    /// Parses a tokenizer file; an error names the part that is not implemented.
    pub(super) fn load(json: &'static [u8]) -> Result<Self, VocabularyError> {
        let file: TokenizerFile = serde_json::from_slice(json)?;
        check_kind(&file)?;
        let PieceTable { heads, tails } = file.model.vocab;
        let unknown = *heads.get(file.model.unk_token.as_str()).ok_or_else(|| {
            VocabularyError::Unsupported(format!("`{}` has no id", file.model.unk_token))
        })?;
        let all_ids = heads.values().chain(tails.values()).copied();
        let n_ids = all_ids.max().map_or(0, |id| usize::from(id) + 1);
        let longest_bytes =
            heads.keys().chain(tails.keys()).map(|piece| piece.len()).max().unwrap_or(0);
        let literals =
            file.added_tokens.into_iter().map(|token| (token.content, token.id)).collect();
        let symbols = std::array::from_fn(|byte| {
            let mut buffer = [0; 4];
            let symbol: &str = char::from(byte as u8).encode_utf8(&mut buffer);
            heads.get(symbol).copied().unwrap_or(unknown)
        });
        let max_word_chars = file.model.max_input_chars_per_word;
        Ok(Vocabulary {
            heads,
            tails,
            literals,
            symbols,
            unknown,
            longest_bytes,
            max_word_chars,
            n_ids,
        })
    }

    /// Returns id and length in bytes of the symbol `byte` at the start of `rest`, or of the literal token there.
    #[inline]
    pub(super) fn symbol(&self, byte: u8, rest: &[u8]) -> (u16, usize) {
        if byte == b'[' {
            let literal =
                self.literals.iter().find(|(content, _)| rest.starts_with(content.as_bytes()));
            if let Some((content, id)) = literal {
                return (*id, content.len());
            }
        }
        (self.symbols.get(usize::from(byte)).copied().unwrap_or(self.unknown), 1)
    }

    /// Appends the pieces of a normalized word, greedily the longest at each place; one unknown token if some part
    /// has none. Nothing for an empty word.
    pub(super) fn split(&self, word: &str, pieces: &mut Vec<u16>) {
        let first = pieces.len();
        let mut start = 0;
        // A word has at most as many characters as bytes, so most need not be counted.
        if word.len() > self.max_word_chars && word.chars().count() > self.max_word_chars {
            pieces.push(self.unknown);
            return;
        }
        while start < word.len() {
            let table = if start == 0 { &self.heads } else { &self.tails };
            match self.longest_piece(table, &word[start..]) {
                Some((id, len)) => {
                    pieces.push(id);
                    start += len;
                }
                None => {
                    // The whole word is unknown, not just this part, as in the reference tokenizer.
                    pieces.truncate(first);
                    pieces.push(self.unknown);
                    return;
                }
            }
        }
    }

    fn longest_piece(&self, table: &Pieces, rest: &str) -> Option<(u16, usize)> {
        // At most as many lookups as the longest piece has characters, so the time is linear.
        let mut end = rest.floor_char_boundary(self.longest_bytes.min(rest.len()));
        while end > 0 {
            let piece = &rest[..end];
            if let Some(&id) = table.get(piece) {
                return Some((id, end));
            }
            end -= piece.chars().next_back().map_or(end, char::len_utf8);
        }
        None
    }
}

fn check_kind(file: &TokenizerFile) -> Result<(), VocabularyError> {
    let (normalizer, model) = (&file.normalizer, &file.model);
    let wrong = [
        (normalizer.kind != "BertNormalizer" || !normalizer.lowercase, "normalizer"),
        (model.kind != "WordPiece", "model type"),
        (model.continuing_subword_prefix != CONTINUATION, "continuation prefix"),
        (file.added_tokens.iter().any(|token| !token.content.starts_with('[')), "added tokens"),
    ];
    match wrong.iter().find(|(is_wrong, _)| *is_wrong) {
        Some((_, what)) => Err(VocabularyError::Unsupported((*what).to_string())),
        None => Ok(()),
    }
}
