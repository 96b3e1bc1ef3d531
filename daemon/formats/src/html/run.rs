//! Run: measures a run of text between the bounds of blocks.
//!
//! In: its pieces, one after the other. Out: how much of it is prose, and what its first words announce.
//! Invariant: keeps a bounded part of the text.

use super::label::{Label, label_of};

/// Shortest sentence, in bytes without white space; shorter runs are labels, names and dates.
const MIN_SENTENCE_BYTES: usize = 45;
/// Shortest run that counts as prose without any punctuation, in the same bytes.
const MIN_UNMARKED_BYTES: usize = 110;
/// Shortest link that may be a headline, in the same bytes.
const MIN_LINK_BYTES: usize = 12;
/// How much of the beginning is kept, in bytes; it may be a little more.
const START_BYTES: usize = 80;

/// A run of text.
#[derive(Debug, Default)]
pub(super) struct Run {
    start: String,
    own: usize,
    linked: usize,
    n_marks: usize,
}

impl Run {
    /// Adds a piece; `n_bytes` is its length without white space.
    pub(super) fn push(&mut self, text: &str, n_bytes: usize, is_linked: bool) {
        if self.start.len() < START_BYTES {
            self.start.extend(text.chars().take(START_BYTES));
        }
        if is_linked {
            self.linked += n_bytes;
            return;
        }
        self.own += n_bytes;
        // Punctuation of Latin, Chinese, Arabic and Hindi; other scripts use the same signs.
        self.n_marks += text.matches(['.', ',', '!', '?', ';', '。', '、', '，', '،', '।']).count();
    }

    /// True when it has no visible text.
    pub(super) fn is_blank(&self) -> bool {
        self.own + self.linked == 0
    }

    /// Returns how much of it is prose, in bytes: everything outside links, or nothing.
    pub(super) fn prose(&self, is_code: bool) -> usize {
        let is_sentence =
            self.own >= MIN_SENTENCE_BYTES && self.n_marks > 0 || self.own >= MIN_UNMARKED_BYTES;
        if is_code || is_sentence && self.linked <= self.own { self.own } else { 0 }
    }

    /// True for only a link, of more than a word or two.
    pub(super) fn is_link(&self) -> bool {
        self.own == 0 && self.linked >= MIN_LINK_BYTES
    }

    /// Returns what its first words announce.
    pub(super) fn label(&self) -> Label {
        label_of(&self.start, self.own + self.linked)
    }

    /// Begins the next run.
    pub(super) fn clear(&mut self) {
        self.start.clear();
        (self.own, self.linked, self.n_marks) = (0, 0, 0);
    }
}
