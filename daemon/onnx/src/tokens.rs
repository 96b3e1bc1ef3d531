//! Tokens: splits a text into the ids that a model knows, and into windows.
//!
//! In: `tokenizer.json`; a text. Out: words with their ids and places; windows.
//! Invariants: ids are those of the `tokenizers` library, which reads every kind of `tokenizer.json`; places are byte
//! ranges at character boundaries; every word is kept by exactly one window.

use std::ops::Range;
use std::path::PathBuf;

use tokenizers::Tokenizer;

use crate::ModelError;
use crate::error::caught;
use crate::folder::Folder;

const UNREADABLE: &str =
    "it must be a `tokenizer.json` as the `tokenizers` library of Hugging Face writes it";

/// Longest window in tokens. Models trained on no more do badly on longer texts, and attention costs the square of the
/// length.
pub(crate) const MAX_WINDOW_TOKENS: usize = 512;

/// A tokenizer.
pub(crate) struct Tokens {
    path: PathBuf,
    tokenizer: Tokenizer,
    /// Special ids before a text (`[CLS]`).
    before: Vec<u32>,
    /// Special ids after a text (`[SEP]`).
    after: Vec<u32>,
}

/// One token of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) id: u32,
    /// Its place in the text, in bytes, without surrounding white space.
    pub(crate) span: Range<usize>,
    /// True if it is a word or begins one. A piece without letters and digits is a word of its own, so that
    /// vocabularies that keep `Porto,` together give the place's name without the comma.
    pub(crate) begins_word: bool,
}

/// One window over pieces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Window {
    /// The pieces that the model reads.
    pub(crate) read: Range<usize>,
    /// Those of them whose results count: the others are closer to the middle of a neighboring window.
    pub(crate) kept: Range<usize>,
}

impl Tokens {
    /// Reads the tokenizer of a folder.
    pub(crate) fn load(folder: &Folder<'_>) -> Result<Self, ModelError> {
        let (path, bytes) = folder.tokenizer()?;
        Self::read(path, &bytes)
    }

    /// Reads a tokenizer from memory; errors name it `path`.
    pub(crate) fn read(path: PathBuf, bytes: &[u8]) -> Result<Self, ModelError> {
        let wrong =
            |why: String| ModelError::new(&path, format!("is no tokenizer: {why}"), UNREADABLE);
        let read = || {
            let mut tokenizer = Tokenizer::from_bytes(bytes).map_err(|error| error.to_string())?;
            // Windows are our own: the library must neither cut nor pad.
            tokenizer.with_truncation(None).map_err(|error| error.to_string())?;
            tokenizer.with_padding(None);
            let sample = tokenizer.encode_fast("a", true).map_err(|error| error.to_string())?;
            Ok((tokenizer, sample))
        };
        let (tokenizer, sample) = caught(read).map_err(wrong)?;
        let special: Vec<bool> =
            sample.get_special_tokens_mask().iter().map(|&mask| mask == 1).collect();
        // The special tokens around a sample are those around every text.
        let n_before = special.iter().take_while(|&&special| special).count();
        let n_after = special.iter().skip(n_before).rev().take_while(|&&special| special).count();
        let ids = sample.get_ids();
        let before = ids.get(..n_before).unwrap_or_default().to_vec();
        let after = ids.get(ids.len() - n_after..).unwrap_or_default().to_vec();
        Ok(Tokens { path, tokenizer, before, after })
    }

    /// Returns the pieces of a text in order, without special ones.
    pub(crate) fn pieces(&self, text: &str) -> Result<Vec<Piece>, ModelError> {
        let encode = || self.tokenizer.encode(text, false).map_err(|error| error.to_string());
        let encoding = caught(encode).map_err(|why| {
            ModelError::new(&self.path, format!("could not split a text: {why}"), UNREADABLE)
        })?;
        let mut pieces: Vec<Piece> = Vec::with_capacity(encoding.len());
        let (mut last_word, mut is_open) = (None, false);
        let words =
            encoding.get_ids().iter().zip(encoding.get_offsets()).zip(encoding.get_word_ids());
        for ((&id, &(start, end)), &word) in words {
            let span = trimmed(text, start..end);
            let surface = text.get(span.clone()).unwrap_or_default();
            let is_symbol = !surface.is_empty() && !surface.chars().any(char::is_alphanumeric);
            let begins_word = is_symbol || !is_open || word.is_none() || word != last_word;
            pieces.push(Piece { id, span, begins_word });
            (last_word, is_open) = (word, !is_symbol);
        }
        Ok(pieces)
    }

    /// Returns the ids of two texts as the model reads them together, and for each token 1 if it belongs to the second
    /// text. The second is cut if both take more than `max_tokens`; the first gets at most half of them.
    pub(crate) fn pair(
        &self,
        first: &str,
        second: &str,
        max_tokens: usize,
    ) -> Result<(Vec<u32>, Vec<u32>), ModelError> {
        let first = self.beginning(first, max_tokens / 2)?;
        let (ids, kinds) = self.joined(first, second)?;
        if ids.len() <= max_tokens {
            return Ok((ids, kinds));
        }
        // Special tokens are not known in advance, so the excess is measured on the joined texts.
        let n_second = self.pieces(second)?.len();
        let n_kept = n_second.saturating_sub(ids.len() - max_tokens);
        self.joined(first, self.beginning(second, n_kept)?)
    }

    fn joined(&self, first: &str, second: &str) -> Result<(Vec<u32>, Vec<u32>), ModelError> {
        let encode =
            || self.tokenizer.encode_fast((first, second), true).map_err(|error| error.to_string());
        let encoding = caught(encode).map_err(|why| {
            ModelError::new(&self.path, format!("could not split two texts: {why}"), UNREADABLE)
        })?;
        Ok((encoding.get_ids().to_vec(), encoding.get_type_ids().to_vec()))
    }

    /// Returns the part of a text that its first `n_pieces` pieces cover.
    fn beginning<'t>(&self, text: &'t str, n_pieces: usize) -> Result<&'t str, ModelError> {
        let pieces = self.pieces(text)?;
        match pieces.get(n_pieces) {
            None => Ok(text),
            Some(_) => {
                let end = n_pieces.checked_sub(1).and_then(|last| pieces.get(last));
                Ok(end.and_then(|piece| text.get(..piece.span.end)).unwrap_or(""))
            }
        }
    }

    /// Returns the number of pieces of a window, for a model of at most `max_positions` tokens, if it states that.
    pub(crate) fn window_pieces(&self, max_positions: Option<usize>) -> usize {
        let most = max_positions.unwrap_or(MAX_WINDOW_TOKENS).min(MAX_WINDOW_TOKENS);
        most.saturating_sub(self.before.len() + self.after.len()).max(1)
    }

    /// Returns the number of special tokens around every text.
    pub(crate) fn n_special(&self) -> usize {
        self.before.len() + self.after.len()
    }

    /// Returns the ids of a window with special ones around them, and the number of those before.
    pub(crate) fn with_specials(&self, pieces: &[Piece]) -> (Vec<u32>, usize) {
        let inner = pieces.iter().map(|piece| piece.id);
        let ids = self.before.iter().copied().chain(inner).chain(self.after.iter().copied());
        (ids.collect(), self.before.len())
    }
}

/// Returns the range without white space at its ends, at character boundaries; empty if nothing else is there.
fn trimmed(text: &str, span: Range<usize>) -> Range<usize> {
    let Some(inside) = text.get(span.clone()) else { return span.start..span.start };
    let start = span.start + (inside.len() - inside.trim_start().len());
    start..start + inside.trim().len()
}

/// Returns windows of at most `size` pieces over `n_pieces`. Neighbors share a quarter of their size, and each keeps
/// the pieces closer to its middle, so that no piece is judged with less than an eighth of a window of context on
/// either side, except at the ends of the text. The last window is as long as the others if the text is long enough.
pub(crate) fn windows(n_pieces: usize, size: usize) -> Vec<Window> {
    let size = size.max(1);
    let step = (size - size / 4).max(1);
    let mut reads: Vec<Range<usize>> = Vec::new();
    let mut start = 0;
    while start + size < n_pieces {
        reads.push(start..start + size);
        start += step;
    }
    if n_pieces > 0 {
        reads.push(n_pieces.saturating_sub(size)..n_pieces);
    }
    let mut kept_from = 0;
    let next_starts: Vec<Option<usize>> =
        reads.iter().skip(1).map(|next| Some(next.start)).chain([None]).collect();
    let keep = |(read, next): (Range<usize>, Option<usize>)| {
        // The middle of the part that two neighbors share.
        let kept_to = next.map_or(n_pieces, |next| (next + read.end) / 2);
        let kept = kept_from..kept_to;
        kept_from = kept_to;
        Window { read, kept }
    };
    reads.into_iter().zip(next_starts).map(keep).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn windows_by_eye() {
        let table =
            |n, size| windows(n, size).into_iter().map(|w| (w.read, w.kept)).collect::<Vec<_>>();
        assert_eq!(table(0, 8), []);
        assert_eq!(table(5, 8), [(0..5, 0..5)]);
        assert_eq!(table(8, 8), [(0..8, 0..8)]);
        assert_eq!(table(9, 8), [(0..8, 0..4), (1..9, 4..9)]);
        assert_eq!(table(20, 8), [(0..8, 0..7), (6..14, 7..13), (12..20, 13..20)]);
    }

    proptest! {
        #[test]
        fn every_piece_is_kept_once_with_context_around(n in 0usize..3000, size in 1usize..600) {
            let windows = windows(n, size);
            let mut next = 0;
            for window in &windows {
                prop_assert_eq!(window.kept.start, next);
                prop_assert!(window.read.start <= window.kept.start && window.kept.end <= window.read.end);
                prop_assert!(window.read.len() <= size && window.read.end <= n);
                prop_assert!(window.kept.start == 0 || window.kept.start - window.read.start >= size / 8);
                prop_assert!(window.kept.end == n || window.read.end - window.kept.end >= size / 8);
                next = window.kept.end;
            }
            prop_assert_eq!(next, n);
            prop_assert!(windows.len() <= n / (size - size / 4).max(1) + 1);
        }
    }
}
