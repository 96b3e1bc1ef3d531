//! Seen: a text as a reader sees it, without the characters that have no width, and without the line ends inside of
//! words that are too long for a line.
//!
//! Copying from pages leaves soft hyphens and zero-width spaces inside of tokens; a PDF breaks them over lines. In: a
//! text. Out: pieces around such characters, without them, with the way back to the text.
//! Invariant: the pieces are short, and at most a dozen overlap, so that looking at them costs about what the text did.

use std::ops::Range;

/// How much before and after a hidden character belongs to its piece, bytes: a long token, and the name before it.
const ROOM_BYTES: usize = 400;

/// Lines after its first that a token is followed over.
const MAX_LINES: usize = 12;

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

    /// Words that go on after a line end, where `may_begin` says of what stands before it that it may begin a token.
    /// They are handed out one by one: each line end may give a dozen that overlap.
    pub(super) fn each_wrapped(
        text: &str,
        may_begin: impl Fn(&str) -> bool,
        mut look: impl FnMut(Seen),
    ) {
        let bytes = text.as_bytes();
        let is_inside = |at: usize| bytes.get(at).is_some_and(|byte| *byte > b' ');
        for at in memchr::memchr_iter(b'\n', bytes) {
            if at == 0 || !is_inside(at - 1) || !is_inside(at + 1) {
                continue;
            }
            let least = floor(text, at.saturating_sub(ROOM_BYTES));
            let before = bytes.get(least..at).unwrap_or(&[]);
            let start =
                before.iter().rposition(|byte| *byte <= b' ').map_or(least, |n| least + n + 1);
            if !text.get(start..at).is_some_and(&may_begin) {
                continue;
            }
            // The token may end with any of the lines: what follows it may be another word.
            let mut ends = vec![(at, 1)];
            let mut end = at;
            while ends.len() <= MAX_LINES {
                let next = end + 1;
                let rest = bytes.get(next..).unwrap_or(&[]).iter().take(ROOM_BYTES);
                end = floor(text, next + rest.take_while(|byte| **byte > b' ').count());
                if !is_random(bytes.get(next..end).unwrap_or(&[])) {
                    break;
                }
                look(Seen::without(text, start..end, ends.clone()));
                if bytes.get(end) != Some(&b'\n') || !is_inside(end + 1) {
                    break;
                }
                ends.push((end, 1));
            }
        }
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

/// True when this looks like a part of a token, and not like the next word.
fn is_random(part: &[u8]) -> bool {
    part.iter().any(u8::is_ascii_digit)
        || part.get(1..).is_some_and(|rest| rest.iter().any(u8::is_ascii_uppercase))
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
