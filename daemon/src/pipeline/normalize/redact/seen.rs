//! Seen: a text as a reader sees it, without the characters that have no width.
//!
//! Copying from pages leaves soft hyphens and zero-width spaces inside of tokens. In: a text. Out: pieces around such
//! characters, without them, with the way back to the text.
//! Invariant: the pieces are short and do not overlap, so that looking at them costs no more than the text did.

use std::ops::Range;

/// How much before and after a hidden character belongs to its piece, bytes: a long token, and the name before it.
const ROOM_BYTES: usize = 400;

/// A piece of a text without its hidden characters.
pub(super) struct Seen {
    /// What is left.
    pub(super) text: String,
    /// Where the piece begins in the whole text.
    start: usize,
    /// Places in `text` before which something is left out, and how much was left out up to there.
    gaps: Vec<(usize, usize)>,
}

/// A piece of the whole text, with places and lengths of what is hidden in it.
type Piece = (Range<usize>, Vec<(usize, usize)>);

impl Seen {
    /// The pieces of a text that hold hidden characters; as a rule none.
    pub(super) fn pieces_of(text: &str) -> Vec<Seen> {
        let bytes = text.as_bytes();
        let places = memchr::memchr3_iter(0xc2, 0xe2, 0xef, bytes);
        let mut pieces: Vec<Piece> = Vec::new();
        for (at, n) in places.filter_map(|at| Some((at, n_hidden(bytes.get(at..)?)?))) {
            let end = ceil(text, at + n + ROOM_BYTES);
            match pieces.last_mut() {
                Some((range, hidden)) if at <= range.end => {
                    range.end = end;
                    hidden.push((at, n));
                }
                last => {
                    let least = last.map_or(0, |(range, _)| range.end);
                    let start = floor(text, at.saturating_sub(ROOM_BYTES)).max(least);
                    pieces.push((start..end, vec![(at, n)]));
                }
            }
        }
        pieces.into_iter().map(|(range, hidden)| Seen::without(text, range, hidden)).collect()
    }

    fn without(text: &str, range: Range<usize>, hidden: Vec<(usize, usize)>) -> Seen {
        let mut seen = Seen { text: String::new(), start: range.start, gaps: Vec::new() };
        let (mut n_hidden, mut from) = (0, range.start);
        for (at, n) in hidden {
            seen.text.push_str(text.get(from..at).unwrap_or(""));
            n_hidden += n;
            seen.gaps.push((seen.text.len(), n_hidden));
            from = at + n;
        }
        seen.text.push_str(text.get(from..range.end).unwrap_or(""));
        seen
    }

    /// The range in the whole text.
    pub(super) fn place(&self, range: &Range<usize>) -> Range<usize> {
        let hidden_before = |place: usize, is_end: bool| {
            let n = self
                .gaps
                .partition_point(|(at, _)| if is_end { *at < place } else { *at <= place });
            n.checked_sub(1).and_then(|i| self.gaps.get(i)).map_or(0, |(_, n)| *n)
        };
        self.start + range.start + hidden_before(range.start, false)
            ..self.start + range.end + hidden_before(range.end, true)
    }
}

/// The length of the hidden character that a text begins with, bytes.
fn n_hidden(bytes: &[u8]) -> Option<usize> {
    match bytes {
        [0xc2, 0xad, ..] => Some(2),
        [0xe2, 0x80, 0x8b..=0x8f, ..] | [0xe2, 0x81, 0xa0..=0xa4, ..] | [0xef, 0xbb, 0xbf, ..] => {
            Some(3)
        }
        _ => None,
    }
}

fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn ceil(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}
