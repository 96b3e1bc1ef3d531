//! Place: follows the tokenizer through the source, so that each text token has a byte range.
//!
//! In: the source and the tokens, in order. Out: for text, a [`Text`] with its place.
//! Invariants: the cursor only moves forward, except for the tail of a shortened character reference; a
//! [`Text::Verbatim`] equals the source at its place; text that cannot be found again is kept, with the cursor as its
//! place.
//! The tokenizer says which token it was: this only finds where it ends.

use std::ops::Range;

use html5ever::tendril::StrTendril;
use memchr::{memchr, memmem};

use super::tree::Text;

/// How far ahead a missing text or tag is searched, in bytes. Only markup without a token (`</>`, a `CDATA` mark) can
/// be between two tokens, so little is enough; it bounds the cost of text that is not there.
const SEARCH_BYTES: usize = 256;

/// The place in the source after the last token.
pub(super) struct Cursor<'a> {
    source: &'a str,
    at: usize,
    /// The last character reference.
    reference: Range<usize>,
}

impl<'a> Cursor<'a> {
    /// Starts at the beginning of a source.
    pub(super) fn new(source: &'a str) -> Self {
        let at = if source.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        Cursor { source, at, reference: 0..0 }
    }

    fn rest(&self) -> &'a [u8] {
        self.source.as_bytes().get(self.at..).unwrap_or(&[])
    }

    /// Skips a start or end tag with this name.
    pub(super) fn pass_tag(&mut self, name: &str) {
        let is_here = |rest: &[u8]| {
            let rest = rest.strip_prefix(b"<").unwrap_or(&[]);
            let rest = rest.strip_prefix(b"/").unwrap_or(rest);
            rest.get(..name.len())
                .is_some_and(|written| written.eq_ignore_ascii_case(name.as_bytes()))
        };
        let rest = self.rest();
        let found = candidates(rest).find(|start| is_here(&rest[*start..]));
        if let Some(start) = found {
            let after_name = self.at + start + 1 + name.len();
            self.at = end_of_tag(self.source.as_bytes(), after_name).0;
        }
    }

    /// Skips a comment, a processing instruction or a doctype.
    pub(super) fn pass_declaration(&mut self) {
        let rest = self.rest();
        let Some(start) = candidates(rest).find(|start| {
            rest.get(start + 1).is_some_and(|next| matches!(next, b'!' | b'?' | b'/'))
        }) else {
            return;
        };
        let body = &rest[start..];
        let length = if body.starts_with(b"<!--") {
            end_of_comment(body)
        } else {
            memchr(b'>', body).map_or(body.len(), |end| end + 1)
        };
        self.at += start + length;
    }

    /// Skips one NUL.
    pub(super) fn pass_nul(&mut self) {
        if self.rest().first() == Some(&0) {
            self.at += 1;
        }
    }

    /// Skips a text token and returns its place.
    pub(super) fn pass_text(&mut self, text: &StrTendril) -> Text {
        let rest = self.rest();
        // A decoded reference is a token of its own.
        if rest.first() == Some(&b'&')
            && let Some(end) = end_of_reference(rest, text)
        {
            self.reference = self.at..self.at + end;
            self.at += end;
            return Text::Replaced(text.clone(), self.reference.clone());
        }
        if rest.starts_with(text.as_bytes()) {
            return self.take(0, text.len());
        }
        // The tokenizer normalizes line ends, and replaces NULs.
        match (rest.first(), &**text) {
            (Some(b'\r'), "\n") => {
                let length = if rest.get(1) == Some(&b'\n') { 2 } else { 1 };
                return self.replace(text, length);
            }
            (Some(0), "\u{fffd}") => return self.replace(text, 1),
            _ => {}
        }
        self.search(text)
    }

    fn take(&mut self, skipped: usize, length: usize) -> Text {
        let start = self.at + skipped;
        self.at = start + length;
        Text::Verbatim(start..self.at)
    }

    fn replace(&mut self, text: &StrTendril, length: usize) -> Text {
        let start = self.at;
        self.at += length;
        Text::Replaced(text.clone(), start..self.at)
    }

    /// Finds text that is not at the cursor: the tail of a reference without `;`, the second character of a
    /// reference, or text after markup without a token.
    fn search(&mut self, text: &StrTendril) -> Text {
        if self.reference.end == self.at && !self.reference.is_empty() {
            // `&notit;` is read as `&not` and `it;`.
            let tail = self.reference.start + 2..self.reference.end;
            let tail_bytes = self.source.as_bytes().get(tail.clone()).unwrap_or(&[]);
            let found = (0..tail_bytes.len()).find(|skipped| {
                self.source.as_bytes()[tail.start + skipped..].starts_with(text.as_bytes())
            });
            if let Some(skipped) = found {
                self.at = tail.start + skipped;
                self.reference = 0..0;
                return self.take(0, text.len());
            }
            if !text.is_ascii() {
                return Text::Replaced(text.clone(), self.reference.clone());
            }
        }
        let rest = self.rest();
        let window = rest.get(..SEARCH_BYTES.saturating_add(text.len())).unwrap_or(rest);
        match memmem::find(window, text.as_bytes()) {
            Some(skipped) => self.take(skipped, text.len()),
            None => Text::Replaced(text.clone(), self.at..self.at),
        }
    }
}

/// Returns where a tag or declaration could begin, nearest first.
fn candidates(rest: &[u8]) -> impl Iterator<Item = usize> {
    let window = rest.get(..SEARCH_BYTES).unwrap_or(rest);
    // The usual case first: at the cursor.
    let here = (window.first() == Some(&b'<')).then_some(0);
    here.into_iter()
        .chain(memchr::memchr_iter(b'<', window).filter(move |at| *at > 0 || here.is_none()))
}

/// Returns the length of the comment at the start of `body`.
pub(super) fn end_of_comment(body: &[u8]) -> usize {
    for short in [&b"<!-->"[..], b"<!--->"] {
        if body.starts_with(short) {
            return short.len();
        }
    }
    let inner = body.get(4..).unwrap_or(&[]);
    // `-->` or `--!>`, whichever comes first.
    let closes = |end: &usize| inner[..*end].ends_with(b"--") || inner[..*end].ends_with(b"--!");
    memchr::memchr_iter(b'>', inner).find(closes).map_or(body.len(), |end| 4 + end + 1)
}

/// Returns where a tag ends, and its number of attributes. `at` is after the tag's name or inside it.
pub(super) fn end_of_tag(source: &[u8], mut at: usize) -> (usize, usize) {
    let mut n_attributes = 0;
    let skip = |from: usize, is_skipped: fn(u8) -> bool| {
        let rest = source.get(from..).unwrap_or(&[]);
        from + rest.iter().position(|byte| !is_skipped(*byte)).unwrap_or(rest.len())
    };
    // The rest of the name.
    at = skip(at, |byte| !byte.is_ascii_whitespace() && byte != b'>' && byte != b'/');
    loop {
        at = skip(at, |byte| byte.is_ascii_whitespace() || byte == b'/');
        match source.get(at) {
            None => return (source.len(), n_attributes),
            Some(b'>') => return (at + 1, n_attributes),
            Some(_) => n_attributes += 1,
        }
        // The first byte belongs to the name, even if it is `=`.
        at =
            skip(at + 1, |byte| !byte.is_ascii_whitespace() && !matches!(byte, b'/' | b'>' | b'='));
        let value = skip(at, |byte| byte.is_ascii_whitespace());
        if source.get(value) != Some(&b'=') {
            continue;
        }
        at = skip(value + 1, |byte| byte.is_ascii_whitespace());
        at = match source.get(at) {
            Some(&quote @ (b'"' | b'\'')) => {
                let inner = source.get(at + 1..).unwrap_or(&[]);
                memchr(quote, inner).map_or(source.len(), |end| at + 1 + end + 1)
            }
            Some(b'>') | None => at,
            Some(_) => skip(at, |byte| !byte.is_ascii_whitespace() && byte != b'>'),
        };
    }
}

/// Returns the length of the character reference at the start of `rest`, if `text` can be its value.
fn end_of_reference(rest: &[u8], text: &str) -> Option<usize> {
    if rest.get(1) == Some(&b'#') {
        return end_of_number(rest, text);
    }
    let name = rest.get(1..)?;
    let name_len = name.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
    let name = &name[..name_len];
    let is_closed = rest.get(1 + name_len) == Some(&b';');
    if text == "&" {
        // A bare ampersand is a token of its own, like a decoded one.
        let is_decoded = name.starts_with(b"amp") || name.starts_with(b"AMP");
        return is_decoded.then_some(if is_closed && name_len == 3 { 5 } else { 4 });
    }
    // A reference gives a token of its own, which never begins as the reference does.
    (name_len > 0 && !text.starts_with('&')).then_some(1 + name_len + usize::from(is_closed))
}

/// Returns the length of the numeric reference at the start of `rest`.
fn end_of_number(rest: &[u8], text: &str) -> Option<usize> {
    let is_hex = matches!(rest.get(2), Some(b'x' | b'X'));
    let (start, radix) = if is_hex { (3, 16) } else { (2, 10) };
    let digits = rest.get(start..)?;
    let n_digits = digits.iter().take_while(|byte| (**byte as char).is_digit(radix)).count();
    let number = std::str::from_utf8(&digits[..n_digits]).unwrap_or("");
    if text == "&" && u32::from_str_radix(number, radix) != Ok(u32::from(b'&')) {
        return None;
    }
    let end = start + n_digits;
    (n_digits > 0).then_some(end + usize::from(rest.get(end) == Some(&b';')))
}
