//! Seen: a text as a reader sees it: without invisible characters, with full-width letters as ASCII, and without
//! line ends inside words that are too long for a line.
//!
//! Copying from pages leaves soft hyphens and zero-width spaces inside tokens; a PDF breaks them over lines.
//! In: a text. Out: pieces around such characters, without them, with a map back to the text.
//! Invariant: the pieces are short, and at most a dozen overlap, so that searching them costs about as much as the
//! text.

use std::ops::Range;

/// How much text before and after a hidden character is in its piece, in bytes: a long token and the name before it.
const ROOM_BYTES: usize = 400;

/// Length from which a word may fill a line, so that it continues on the next, in bytes.
const LONG_LINE_BYTES: usize = 40;

/// Most line ends over which a token is followed.
const MAX_LINES: usize = 12;

/// A piece of a text without its hidden characters.
pub(super) struct Seen {
    /// The text without them.
    pub(super) text: String,
    /// Where the text comes from, in order.
    parts: Vec<SeenPart>,
}

/// A part of a piece: its start in the piece, its start in the whole text, and its length there.
struct SeenPart {
    seen: usize,
    start: usize,
    len: usize,
}

/// A character that a reader sees differently: its place, its length, and what is seen.
type Odd = (usize, usize, Option<char>);

impl Seen {
    /// Returns the pieces of a text with such characters; usually there are none.
    pub(super) fn pieces_of(text: &str) -> Vec<Seen> {
        let places = names::places(text, |_, c, _| names::is_ignorable(c) || narrow(c).is_some());
        let mut pieces: Vec<(Range<usize>, Vec<Odd>)> = Vec::new();
        for (at, c) in places {
            let (n, seen) = (c.len_utf8(), narrow(c));
            let end = text.ceil_char_boundary(at + n + ROOM_BYTES);
            match pieces.last_mut() {
                Some((range, odd)) if at <= range.end => {
                    range.end = end;
                    odd.push((at, n, seen));
                }
                // Full-width punctuation is normal in some languages, so it does not begin a piece.
                _ if seen.is_some_and(|seen| !seen.is_ascii_alphanumeric()) => {}
                last => {
                    let least = last.map_or(0, |(range, _)| range.end);
                    let start = text.floor_char_boundary(at.saturating_sub(ROOM_BYTES)).max(least);
                    pieces.push((start..end, vec![(at, n, seen)]));
                }
            }
        }
        pieces.into_iter().map(|(range, odd)| Seen::without(text, range, odd)).collect()
    }

    /// Calls `look` with each word that continues after a line end, if `may_begin` accepts the part before it. One by
    /// one, since each line end may give a dozen that overlap.
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
            let least = text.floor_char_boundary(at.saturating_sub(ROOM_BYTES));
            let before = bytes.get(least..at).unwrap_or(&[]);
            let start =
                before.iter().rposition(|byte| *byte <= b' ').map_or(least, |n| least + n + 1);
            if !text.get(start..at).is_some_and(&may_begin) {
                continue;
            }
            Seen::each_longer(text, start, at, &mut look);
        }
    }

    /// Calls `look` with the word from `start` on that continues after the blank at `at`, and after further ones, as
    /// formats join lines. The token may end with any of the parts, since what follows may be another word.
    pub(super) fn each_longer(text: &str, start: usize, at: usize, look: &mut impl FnMut(Seen)) {
        let bytes = text.as_bytes();
        let Some(blank) = bytes.get(at).filter(|byte| matches!(byte, b' ' | b'\n')) else { return };
        let (mut ends, end_of_first) = (vec![(at, 1, None)], at);
        let mut end = at;
        while ends.len() <= MAX_LINES {
            let next = end + 1;
            let rest = bytes.get(next..).unwrap_or(&[]).iter().take(ROOM_BYTES);
            end = text.floor_char_boundary(next + rest.take_while(|byte| **byte > b' ').count());
            let part = bytes.get(next..end).unwrap_or(&[]);
            // Two words on one line may be one only by their looks, so the test is stricter there.
            if !is_random(part) || (*blank == b' ' && !is_part_of_token(part, end_of_first - start))
            {
                break;
            }
            look(Seen::without(text, start..end, ends.clone()));
            if bytes.get(end) != Some(blank) || bytes.get(end + 1).is_none_or(|byte| *byte <= b' ')
            {
                break;
            }
            ends.push((end, 1, None));
        }
    }

    fn without(text: &str, range: Range<usize>, odd: Vec<Odd>) -> Seen {
        let mut seen = Seen { text: String::new(), parts: Vec::new() };
        let mut from = range.start;
        for (at, n, shown) in odd {
            seen.push(text.get(from..at).unwrap_or(""), from, at - from);
            if let Some(shown) = shown {
                seen.push(shown.encode_utf8(&mut [0; 4]), at, n);
            }
            from = at + n;
        }
        seen.push(text.get(from..range.end).unwrap_or(""), from, range.end - from);
        seen
    }

    fn push(&mut self, shown: &str, start: usize, len: usize) {
        if !shown.is_empty() {
            self.parts.push(SeenPart { seen: self.text.len(), start, len });
            self.text.push_str(shown);
        }
    }

    /// Maps a range to the whole text.
    pub(super) fn place(&self, range: &Range<usize>) -> Range<usize> {
        let part = |place: usize| {
            let n = self.parts.partition_point(|part| part.seen <= place);
            n.checked_sub(1).and_then(|i| Some((self.parts.get(i)?, self.parts.get(n))))
        };
        let within = |part: &SeenPart, next: Option<&SeenPart>, place: usize| {
            let n_seen = next.map_or(self.text.len(), |next| next.seen) - part.seen;
            // A character that stands for a longer one is mapped as a whole.
            if n_seen == part.len { part.start + place - part.seen } else { part.start }
        };
        let start = part(range.start).map_or(0, |(it, next)| within(it, next, range.start));
        let last = range.end.saturating_sub(1);
        let end = part(last).map_or(start, |(it, next)| {
            let n_seen = next.map_or(self.text.len(), |next| next.seen) - it.seen;
            if n_seen == it.len { it.start + range.end - it.seen } else { it.start + it.len }
        });
        start..end
    }
}

/// True for a likely rest of a token of which `n_before` bytes precede a blank: a long mixed word, or the end of a
/// long line. An assignment is not one.
fn is_part_of_token(part: &[u8], n_before: usize) -> bool {
    let is_inside = |byte: &&u8| !b"\"'`<>()[]{}|;,".contains(byte);
    let n = part.iter().take_while(is_inside).count();
    let body = part.get(..n).unwrap_or(&[]);
    let n_name =
        body.iter().take_while(|byte| byte.is_ascii_alphabetic() || **byte == b'_').count();
    let is_set = body.get(n_name) == Some(&b'=') && body.get(n_name + 1).is_some();
    let is_mixed = body.iter().any(u8::is_ascii_digit) && body.iter().any(u8::is_ascii_alphabetic);
    let is_rest = n_before >= LONG_LINE_BYTES && is_random(body);
    (is_rest || (body.len() >= 8 && is_mixed)) && !is_set
}

/// True when this looks like a part of a token rather than the next word.
fn is_random(part: &[u8]) -> bool {
    part.iter().any(u8::is_ascii_digit)
        || part.get(1..).is_some_and(|rest| rest.iter().any(u8::is_ascii_uppercase))
}

/// Returns the ASCII character of a full-width one.
fn narrow(c: char) -> Option<char> {
    let is_wide = ('\u{ff01}'..='\u{ff5e}').contains(&c);
    is_wide.then(|| char::from_u32(u32::from(c) - 0xfee0)).flatten()
}
