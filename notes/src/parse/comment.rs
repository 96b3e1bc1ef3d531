//! Comments of Obsidian (`%% … %%`): hidden, so nothing in them is read.
//!
//! A `%%` alone on its line opens a comment that may span blocks; any other must close in its own block.
//! Invariant: places are requested in order; time is linear.

use std::ops::Range;

/// Opens and closes a comment.
const MARK: &str = "%%";

#[derive(Debug)]
pub(super) struct Comments {
    /// The last comment found.
    hidden: Range<usize>,
    /// True when there may be comments in the text.
    may_be: bool,
    /// The last mark; nothing can open there or after it.
    last: usize,
}

impl Comments {
    pub(super) fn new(text: &str) -> Self {
        let last = text.rfind(MARK);
        Comments { hidden: 0..0, may_be: last.is_some(), last: last.unwrap_or(0) }
    }

    /// True when the last comment found contains this place.
    pub(super) fn hides(&self, at: usize) -> bool {
        self.hidden.contains(&at)
    }

    /// Returns the visible pieces of a range; `found` gets the comments that open in it.
    pub(super) fn shown(
        &mut self,
        text: &str,
        range: Range<usize>,
        block_end: usize,
        mut found: impl FnMut(Range<usize>),
    ) -> Vec<Range<usize>> {
        if !self.may_be {
            return vec![range];
        }
        let mut pieces = Vec::new();
        // The range may begin in a comment that an earlier block opened.
        let mut at = if self.hides(range.start) { self.hidden.end } else { range.start };
        while at < range.end {
            match self.next(text, at..range.end, block_end) {
                Some(comment) => {
                    pieces.push(at..comment.start);
                    at = comment.end;
                    self.hidden = comment.clone();
                    found(comment);
                }
                None => {
                    pieces.push(at..range.end);
                    break;
                }
            }
        }
        pieces.retain(|piece| !piece.is_empty());
        pieces
    }

    fn next(&self, text: &str, range: Range<usize>, block_end: usize) -> Option<Range<usize>> {
        if range.start > self.last {
            return None;
        }
        let open = range.start + text.get(range.clone())?.find(MARK)?;
        let limit =
            if is_alone_on_line(text, open) { text.len() } else { block_end.min(text.len()) };
        let inner = open + MARK.len();
        // No mark follows. Without this check, a search for it would read the rest of the text each time.
        if open >= self.last || inner > limit {
            return None;
        }
        let close = inner + text.get(inner..limit)?.find(MARK)?;
        Some(open..close + MARK.len())
    }
}

fn is_alone_on_line(text: &str, at: usize) -> bool {
    let bytes = text.as_bytes();
    let before = bytes.iter().take(at).rev().take_while(|byte| **byte != b'\n');
    let after = bytes.iter().skip(at + MARK.len()).take_while(|byte| **byte != b'\n');
    before.chain(after).all(u8::is_ascii_whitespace)
}
