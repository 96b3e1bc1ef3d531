//! Unigram: the token ids of SentencePiece's unigram models, such as XLM-R's.
//!
//! In: `tokenizer.json` of that kind; a text. Out: the ids of its most likely pieces.
//! The `tokenizers` library gives the same ids, but takes 80 MB for 100,000 pieces: a map for each node of its trie.
//! Here the pieces are sorted, and the candidates for the next byte of a text are a range that each byte narrows: 3 MB.
//! Invariant: ids are those of the library, except that names of special tokens in a text are ordinary text.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use tokenizers::{NormalizedString, Normalizer, NormalizerWrapper};

use crate::ModelError;
use crate::error::caught;

const UNREADABLE: &str = "it must be the `tokenizer.json` of a unigram model, as XLM-R has it";

/// The letter for the blank before a word.
const BLANK: char = '▁';

/// Log-probability below that of the rarest piece for a letter that no piece has; as in SentencePiece.
const UNKNOWN: f64 = 10.0;

/// The pieces of a model.
pub(crate) struct Unigram {
    path: PathBuf,
    normalizer: NormalizerWrapper,
    /// All pieces, sorted and concatenated.
    text: Vec<u8>,
    /// The end of each piece in `text`.
    ends: Vec<u32>,
    ids: Vec<u32>,
    scores: Vec<f64>,
    least_score: f64,
    unknown: u32,
    /// The ids before and after every text.
    around: [u32; 2],
}

/// The used part of `tokenizer.json`.
#[derive(Deserialize)]
struct File<'a> {
    normalizer: NormalizerWrapper,
    #[serde(borrow)]
    model: Vocabulary<'a>,
}

#[derive(Deserialize)]
struct Vocabulary<'a> {
    unk_id: u32,
    #[serde(borrow)]
    vocab: Vec<(Cow<'a, str>, f64)>,
}

/// The best path to an offset in a word: its score, the start of its last piece, and that piece.
type Step = (f64, usize, u32);

impl Unigram {
    /// Reads a tokenizer from memory; errors name it `path`.
    pub(crate) fn read(path: &Path, bytes: &[u8]) -> Result<Self, ModelError> {
        let wrong =
            |why: String| ModelError::new(path, format!("is no tokenizer: {why}"), UNREADABLE);
        let file: File<'_> =
            serde_json::from_slice(bytes).map_err(|error| wrong(error.to_string()))?;
        let vocabulary = file.model.vocab;
        let special = |name: &str| {
            let found = vocabulary.iter().position(|(piece, _)| piece == name);
            found.map(|id| id as u32).ok_or_else(|| wrong(format!("it has no `{name}`")))
        };
        let around = [special("<s>")?, special("</s>")?];
        let least_score = vocabulary.iter().map(|(_, score)| *score).fold(f64::INFINITY, f64::min);
        let mut sorted: Vec<(&[u8], u32, f64)> = (0..)
            .zip(&vocabulary)
            .map(|(id, (piece, score))| (piece.as_bytes(), id, *score))
            .collect();
        sorted.sort_unstable_by_key(|(piece, ..)| *piece);
        let mut read = Unigram {
            path: path.to_path_buf(),
            normalizer: file.normalizer,
            text: Vec::with_capacity(sorted.iter().map(|(piece, ..)| piece.len()).sum()),
            ends: Vec::with_capacity(sorted.len()),
            ids: sorted.iter().map(|(_, id, _)| *id).collect(),
            scores: sorted.iter().map(|(.., score)| *score).collect(),
            least_score,
            unknown: file.model.unk_id,
            around,
        };
        for (piece, ..) in &sorted {
            read.text.extend_from_slice(piece);
            read.ends.push(read.text.len() as u32);
        }
        Ok(read)
    }

    /// Returns the ids of a text with special ones around them, at most `most` of them.
    pub(crate) fn ids(&self, text: &str, most: usize) -> Result<Vec<u32>, ModelError> {
        let normalize = || {
            let mut normalized = NormalizedString::from(text);
            self.normalizer.normalize(&mut normalized).map_err(|error| error.to_string())?;
            Ok(normalized.get().to_string())
        };
        let normalized = caught(normalize).map_err(|why| {
            ModelError::new(&self.path, format!("could not split a text: {why}"), UNREADABLE)
        })?;
        let [before, after] = self.around;
        let mut ids = vec![before];
        for word in normalized.split_whitespace() {
            let word = word.strip_prefix(BLANK).unwrap_or(word);
            // A text that contains this letter itself begins a word there, too.
            word.split(BLANK).for_each(|part| self.split(&format!("{BLANK}{part}"), &mut ids));
            // The rest would be cut off.
            if ids.len() >= most {
                break;
            }
        }
        ids.truncate(most.saturating_sub(1));
        ids.push(after);
        Ok(ids)
    }

    /// Adds the ids of a word: the most likely way to split it (Viterbi).
    fn split(&self, word: &str, ids: &mut Vec<u32>) {
        let mut steps: Vec<Option<Step>> = vec![None; word.len() + 1];
        steps[0] = Some((0.0, 0, self.unknown));
        for (start, letter) in word.char_indices() {
            // No piece ends here, so no path begins here.
            let Some((before, ..)) = steps[start] else { continue };
            let mut reach = |length: usize, score: f64, id: u32| {
                let step = &mut steps[start + length];
                if step.is_none_or(|(known, ..)| before + score > known) {
                    *step = Some((before + score, start, id));
                }
            };
            // A letter that is a piece of its own needs no unknown one: any path can pass it.
            let mut has_letter = false;
            self.each_piece(&word.as_bytes()[start..], |length, at| {
                has_letter |= length == letter.len_utf8();
                reach(length, self.scores[at], self.ids[at]);
            });
            if !has_letter {
                reach(letter.len_utf8(), self.least_score - UNKNOWN, self.unknown);
            }
        }
        // Back from the end along the best path, then reversed.
        let (first, mut end) = (ids.len(), word.len());
        while let Some((_, start, id)) = steps[end].filter(|_| end > 0) {
            // Unknown letters side by side are one token.
            if id != self.unknown || ids.len() == first || ids.last() != Some(&id) {
                ids.push(id);
            }
            end = start;
        }
        ids[first..].reverse();
    }

    /// Calls `each` with the length and index of every piece that these bytes start with.
    fn each_piece(&self, bytes: &[u8], mut each: impl FnMut(usize, usize)) {
        let (mut low, mut high) = (0, self.ends.len());
        for (at, byte) in bytes.iter().enumerate() {
            // All pieces in the range start with the bytes before this one; the shortest is first.
            let of = |place: usize| self.piece(place).get(at).copied();
            low += partition(high - low, |n| of(low + n) < Some(*byte));
            high = low + partition(high - low, |n| of(low + n) == Some(*byte));
            if low == high {
                return;
            }
            if self.piece(low).len() == at + 1 {
                each(at + 1, low);
            }
        }
    }

    fn piece(&self, place: usize) -> &[u8] {
        let start = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start as usize..self.ends[place] as usize]
    }
}

/// Returns how many of the first `n` numbers satisfy `is_so`, which holds for a prefix of them (binary search).
fn partition(n: usize, is_so: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, n);
    while low < high {
        let middle = low + (high - low) / 2;
        match is_so(middle) {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use proptest::prelude::*;
    use tokenizers::Tokenizer;

    use super::*;

    const FILE: &[u8] = include_bytes!("../../models/e5-small/tokenizer.json");

    static OURS: LazyLock<Unigram> =
        LazyLock::new(|| Unigram::read(Path::new("e5"), FILE).expect("it is read"));
    static LIBRARY: LazyLock<Tokenizer> =
        LazyLock::new(|| Tokenizer::from_bytes(FILE).expect("it is read"));

    fn of_library(text: &str) -> Vec<u32> {
        LIBRARY.encode_fast(text, true).expect("split").get_ids().to_vec()
    }

    #[test]
    fn ids_are_those_of_the_reference() {
        for line in include_str!("../../embed/src/builtin/reference.tsv").lines().skip(1) {
            let fields: Vec<&str> = line.split('\t').collect();
            let ids: Vec<u32> = fields[2].split(' ').map(|id| id.parse().expect("an id")).collect();
            let text = format!("{}: {}", fields[0], fields[1]);
            assert_eq!(OURS.ids(&text, 512).expect("ids"), ids, "{text}");
        }
    }

    #[test]
    fn a_long_text_is_cut_and_an_empty_one_has_its_ends() {
        let ids = OURS.ids(&"Schlüssel ".repeat(600), 16).expect("ids");
        assert_eq!((ids.len(), ids[0], ids[15]), (16, 0, 2));
        assert_eq!(OURS.ids(" \n", 16).expect("ids"), [0, 2]);
        assert!(Unigram::read(Path::new("x"), b"{}").is_err());
    }

    proptest! {
        /// Letters of several scripts, blanks, marks, and what no vocabulary has.
        #[test]
        fn ids_are_those_of_the_library(
            text in "([a-zA-Zäßé .,0-9'▁\u{301}]|[а-я]|[ぁ-ん]|[一-龠]|[가-힣]|[ء-ي]|[ก-๛]|😀|\u{10ffff}|ﬁ|㎏|\
                     \u{200b}|\n){0,60}"
        ) {
            prop_assert_eq!(OURS.ids(&text, usize::MAX).expect("ids"), of_library(&text));
        }
    }
}
