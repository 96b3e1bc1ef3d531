//! Changes: spans of a text, each with its replacement.
//!
//! In: a text and its changes. Out: the text with the changes; or two successive lists of changes combined, as spans
//! of the first text.
//! Invariants: changes are in order and disjoint; spans are on UTF-8 boundaries.

use std::ops::Range;

/// A span of bytes and its replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Bytes of the original text.
    pub span: Range<usize>,
    /// The replacement.
    pub replacement: String,
}

impl Change {
    pub(super) fn new(span: Range<usize>, replacement: impl Into<String>) -> Self {
        Change { span, replacement: replacement.into() }
    }

    pub(super) fn insert(at: usize, text: impl Into<String>) -> Self {
        Change::new(at..at, text)
    }

    /// Returns whether it changes the text.
    pub(super) fn is_needed(&self, text: &str) -> bool {
        text.get(self.span.clone()).is_none_or(|before| before != self.replacement)
    }
}

/// Returns the text with the changes applied.
pub fn apply(text: &str, changes: &[Change]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut last = 0;
    for Change { span, replacement } in changes {
        out.push_str(text.get(last..span.start).unwrap_or(""));
        out.push_str(replacement);
        last = span.end;
    }
    out.push_str(text.get(last..).unwrap_or(""));
    out
}

/// A piece of a text being edited: bytes of the original, or new ones.
#[derive(Debug, Clone)]
enum Piece {
    Kept(Range<usize>),
    New(String),
}

impl Piece {
    fn len(&self) -> usize {
        match self {
            Piece::Kept(range) => range.len(),
            Piece::New(text) => text.len(),
        }
    }

    fn part(&self, range: Range<usize>) -> Piece {
        match self {
            Piece::Kept(kept) => Piece::Kept(kept.start + range.start..kept.start + range.end),
            Piece::New(text) => Piece::New(text.get(range).unwrap_or("").to_string()),
        }
    }
}

/// Combines `first` with `second`, which applies to the result of `first`, into changes of the original text.
pub fn compose(first: &[Change], second: &[Change]) -> Vec<Change> {
    let mut pieces = vec![];
    let mut last = 0;
    for Change { span, replacement } in first {
        pieces.push(Piece::Kept(last..span.start));
        pieces.push(Piece::New(replacement.clone()));
        last = span.end;
    }
    // The original's length is not known here. Any end beyond it will do; half of the maximum, so that sums do not
    // overflow.
    pieces.push(Piece::Kept(last..usize::MAX / 2));
    let end = pieces.last().map_or(0, |piece| match piece {
        Piece::Kept(range) => range.end,
        Piece::New(_) => 0,
    });
    // From the end, so that the spans of earlier changes stay valid.
    for change in second.iter().rev() {
        pieces = replaced(pieces, change);
    }
    gathered(pieces, end)
}

/// Applies one change to the text that the pieces make.
fn replaced(pieces: Vec<Piece>, change: &Change) -> Vec<Piece> {
    let mut out = Vec::with_capacity(pieces.len() + 2);
    let mut at = 0;
    let mut is_placed = false;
    for piece in pieces {
        let (start, end) = (at, at + piece.len());
        at = end;
        // The part of the piece before the change, the replacement once, the part after it.
        if start < change.span.start {
            out.push(piece.part(0..piece.len().min(change.span.start - start)));
        }
        if !is_placed && end >= change.span.start {
            out.push(Piece::New(change.replacement.clone()));
            is_placed = true;
        }
        if end > change.span.end {
            let from = change.span.end.saturating_sub(start);
            out.push(piece.part(from..piece.len()));
        }
    }
    out
}

/// Returns the gaps between kept pieces as changes. All new text in one gap is one change.
fn gathered(pieces: Vec<Piece>, end: usize) -> Vec<Change> {
    let mut out = Vec::new();
    let mut last = 0;
    let mut new = String::new();
    let mut close = |until: usize, last: &mut usize, new: &mut String, next: usize| {
        if until > *last || !new.is_empty() {
            out.push(Change { span: *last..until, replacement: std::mem::take(new) });
        }
        *last = next;
    };
    for piece in pieces {
        match piece {
            Piece::New(text) => new.push_str(&text),
            Piece::Kept(range) if range.is_empty() => {}
            Piece::Kept(range) => close(range.start, &mut last, &mut new, range.end),
        }
    }
    close(end.max(last), &mut last, &mut new, end);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn changes_of_a_changed_text_are_changes_of_the_first() {
        let text = "one two three";
        let first = vec![Change::new(0..3, "1"), Change::insert(13, "!")];
        let then = apply(text, &first);
        let second =
            vec![Change::new(0..1, "first"), Change::new(2..5, "2"), Change::insert(11, "?")];
        let both = compose(&first, &second);
        assert_eq!(apply(text, &both), apply(&then, &second));
        assert_eq!(
            both,
            [Change::new(0..3, "first"), Change::new(4..7, "2"), Change::insert(13, "?!")]
        );
    }

    fn changes(len: usize) -> impl Strategy<Value = Vec<Change>> {
        prop::collection::vec((0..=len, 0..4usize, "[xyz]{0,3}"), 0..5).prop_map(move |raw| {
            let mut raw = raw;
            raw.sort();
            let mut last = 0;
            let mut out = Vec::new();
            for (start, n, text) in raw {
                let end = (start + n).min(len);
                if start >= last && (start > last || out.is_empty()) {
                    out.push(Change::new(start..end, text));
                    last = end;
                }
            }
            out
        })
    }

    proptest! {
        #[test]
        fn both_at_once_are_one_after_the_other(
            first in changes(20),
            (seed, second) in changes(40).prop_map(|it| (it.len(), it)),
        ) {
            let _ = seed;
            let text = "abcdefghijklmnopqrst";
            let then = apply(text, &first);
            let second: Vec<_> = second.into_iter().filter(|it| it.span.end <= then.len()).collect();
            let both = compose(&first, &second);
            prop_assert_eq!(apply(text, &both), apply(&then, &second));
            prop_assert!(both.windows(2).all(|pair| pair[0].span.end <= pair[1].span.start));
        }
    }
}
