//! Decoding: from the bytes of a file to text.
//!
//! In: bytes. Out: [`Decoded`]: UTF-8 text with `\n` as its only line end, and the map back to the bytes.
//! Invariants: valid UTF-8 is never read as anything else; bytes that are not text are a fault, not mojibake.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8};

use model::DocFault;
use model::bytes::count;
use model::terms::SpanMap;

/// Share of control characters above which bytes are not text, in percent.
const MAX_CONTROL_PERCENT: usize = 10;
/// Share of NUL bytes above which bytes are not text, per thousand; fewer are dropped.
const MAX_NUL_PER_THOUSAND: usize = 1;
/// Number of NUL bytes that are dropped even from a short text.
const MAX_STRAY_NULS: usize = 3;

/// A file as text.
#[derive(Debug, Default)]
pub(super) struct Decoded {
    /// The text.
    pub(super) text: String,
    /// From the text to the bytes of the file.
    pub(super) map: SpanMap,
    /// Byte offset in the file at which each line starts; the first is 0.
    pub(super) line_starts: Vec<u32>,
    /// Warnings about unusual content.
    pub(super) warnings: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    Little,
    Big,
}

/// Decodes a file.
///
/// # Errors
/// A lasting [`DocFault`] when the file is not text.
pub(super) fn decode(bytes: &[u8]) -> Result<Decoded, DocFault> {
    // UTF-16 first: it has too many NULs for the checks below.
    if let Some(order) = utf16_order(bytes) {
        return decode_utf16(bytes, order);
    }
    let start = if bytes.starts_with(&[0xef, 0xbb, 0xbf]) { 3 } else { 0 };
    let body = bytes.get(start..).unwrap_or(&[]);
    let n_nuls = memchr::memchr_iter(0, body).count();
    if n_nuls > (body.len() * MAX_NUL_PER_THOUSAND / 1_000).max(MAX_STRAY_NULS) {
        return Err(binary());
    }
    let mut decoded = match std::str::from_utf8(body) {
        Ok(text) => {
            let mut decoded = Decoded::with_capacity(text.len());
            decoded.lines(text, start);
            decoded
        }
        Err(_) => decode_legacy(body, start),
    };
    check_controls(&decoded.text)?;
    if n_nuls > 0 {
        decoded.warnings.push(format!("{n_nuls} NUL bytes were dropped"));
    }
    decoded.line_starts = line_starts(bytes);
    Ok(decoded)
}

fn binary() -> DocFault {
    DocFault::lasting(
        "normalize",
        "binary content in a text file; hint: rename it or list it in `.kgignore`",
    )
}

/// Returns a fault when too many characters are control characters (not counting white space, form feed and the
/// escape character of terminals).
fn check_controls(text: &str) -> Result<(), DocFault> {
    // Without short-circuits, so that the compiler can vectorize the loop.
    let is_white = |byte: u8| (byte == b'\t') | (byte == b'\n') | (byte == b'\r') | (byte == 0x0c);
    let is_control = |byte: u8| ((byte < 0x20) & !is_white(byte) & (byte != 0x1b)) | (byte == 0x7f);
    let n_controls = count(text.as_bytes(), is_control);
    if n_controls * 100 > text.len() * MAX_CONTROL_PERCENT { Err(binary()) } else { Ok(()) }
}

/// Returns where lines start; a line ends with `\n`, `\r\n` or a lone `\r`.
fn line_starts(bytes: &[u8]) -> Vec<u32> {
    let mut starts = vec![0];
    for at in memchr::memchr2_iter(b'\n', b'\r', bytes) {
        let is_first_half = bytes.get(at) == Some(&b'\r') && bytes.get(at + 1) == Some(&b'\n');
        if !is_first_half {
            starts.push(u32::try_from(at + 1).unwrap_or(u32::MAX));
        }
    }
    starts
}

/// Decodes bytes that are neither UTF-8 nor UTF-16 in the likeliest legacy encoding, one character at a time for the
/// map.
fn decode_legacy(body: &[u8], start: usize) -> Decoded {
    let encoding = guess(body);
    let mut decoded = Decoded::with_capacity(body.len() + body.len() / 8);
    let mut n_bad = 0_u32;
    let mut at = 0;
    while at < body.len() {
        let rest = body.get(at..).unwrap_or(&[]);
        // In every encoding that `guess` returns, bytes below 0x80 outside multi-byte characters are ASCII.
        let n_ascii = Encoding::ascii_valid_up_to(rest);
        if n_ascii > 0 {
            let ascii = rest.get(..n_ascii).and_then(|it| std::str::from_utf8(it).ok());
            decoded.lines(ascii.unwrap_or(""), start + at);
            at += n_ascii;
            continue;
        }
        let (character, n_bytes) = next_character(encoding, rest);
        n_bad += u32::from(character.contains('\u{fffd}'));
        decoded.replaced(&character, start + at, n_bytes);
        at += n_bytes;
    }
    decoded.warnings.push(format!("not UTF-8: read as {}", encoding.name()));
    if n_bad > 0 {
        decoded.warnings.push(format!("{n_bad} characters could not be read"));
    }
    decoded
}

/// Returns the likeliest encoding. Mostly valid UTF-8 with a few broken bytes counts as UTF-8: a guess by frequency
/// would ruin all of its other characters.
fn guess(body: &[u8]) -> &'static Encoding {
    let lossy = String::from_utf8_lossy(body);
    let n_good = lossy.chars().filter(|c| !c.is_ascii() && *c != '\u{fffd}').count();
    let n_bad = lossy.chars().filter(|c| *c == '\u{fffd}').count();
    // More than four good characters for each bad one.
    if n_good > 4 * n_bad {
        return UTF_8;
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(body, true);
    detector.guess(None, Utf8Detection::Deny)
}

/// Returns the first character of `rest` and its length in bytes: the shortest prefix of up to four bytes that
/// decodes without error, otherwise one byte as `U+FFFD`.
fn next_character(encoding: &'static Encoding, rest: &[u8]) -> (String, usize) {
    for n_bytes in 1..=rest.len().min(4) {
        let piece = rest.get(..n_bytes).unwrap_or(&[]);
        if let Some(text) = encoding.decode_without_bom_handling_and_without_replacement(piece) {
            return (Cow::into_owned(text), n_bytes);
        }
    }
    ('\u{fffd}'.to_string(), 1)
}

/// Returns the byte order of UTF-16: by its mark, or by NULs on one side of most pairs.
fn utf16_order(bytes: &[u8]) -> Option<Order> {
    match bytes {
        [0xff, 0xfe, ..] => return Some(Order::Little),
        [0xfe, 0xff, ..] => return Some(Order::Big),
        _ => {}
    }
    let sample = bytes.get(..bytes.len().min(4_096) & !1)?;
    let n_pairs = sample.len() / 2;
    let nuls = |side: usize| sample.iter().skip(side).step_by(2).filter(|byte| **byte == 0).count();
    let (even, odd) = (nuls(0), nuls(1));
    match n_pairs {
        0 | 1 => None,
        // NULs in over 70 % of the high bytes and under 5 % of the low ones: mostly ASCII in UTF-16.
        _ if odd * 10 > n_pairs * 7 && even * 20 < n_pairs => Some(Order::Little),
        _ if even * 10 > n_pairs * 7 && odd * 20 < n_pairs => Some(Order::Big),
        _ => None,
    }
}

fn decode_utf16(bytes: &[u8], order: Order) -> Result<Decoded, DocFault> {
    let has_mark = matches!(bytes, [0xff, 0xfe, ..] | [0xfe, 0xff, ..]);
    let start = if has_mark { 2 } else { 0 };
    let units = bytes.get(start..).unwrap_or(&[]).chunks_exact(2).map(|pair| {
        let pair = [pair.first().copied().unwrap_or(0), pair.get(1).copied().unwrap_or(0)];
        if order == Order::Little { u16::from_le_bytes(pair) } else { u16::from_be_bytes(pair) }
    });
    let mut decoded = Decoded::with_capacity(bytes.len() / 2);
    decoded.line_starts.push(0);
    let (mut at, mut n_bad, mut n_nuls) = (start, 0_usize, 0_usize);
    let mut characters = char::decode_utf16(units).peekable();
    while let Some(character) = characters.next() {
        n_bad += usize::from(character.is_err());
        let c = character.unwrap_or('\u{fffd}');
        // A lone surrogate is one unit of two bytes.
        let n_bytes = if c == '\u{fffd}' { 2 } else { 2 * c.len_utf16() };
        let is_line_end = c == '\n' || (c == '\r' && !matches!(characters.peek(), Some(Ok('\n'))));
        if is_line_end {
            decoded.line_starts.push(u32::try_from(at + n_bytes).unwrap_or(u32::MAX));
            decoded.replaced("\n", at, n_bytes);
        } else if c == '\0' {
            n_nuls += 1;
        } else if c != '\r' {
            decoded.replaced(c.encode_utf8(&mut [0; 4]), at, n_bytes);
        }
        at += n_bytes;
    }
    if n_nuls > MAX_STRAY_NULS || n_bad * 100 > (bytes.len() / 2) * MAX_CONTROL_PERCENT {
        return Err(binary());
    }
    check_controls(&decoded.text)?;
    let name = if order == Order::Little { "UTF-16LE" } else { "UTF-16BE" };
    decoded.warnings.push(format!("not UTF-8: read as {name}"));
    Ok(decoded)
}

impl Decoded {
    fn with_capacity(n_bytes: usize) -> Self {
        Decoded { text: String::with_capacity(n_bytes), ..Decoded::default() }
    }

    fn verbatim(&mut self, piece: &str, from: usize) {
        self.map.push(self.text.len(), piece.len(), from, piece.len());
        self.text.push_str(piece);
    }

    fn replaced(&mut self, text: &str, from: usize, n_bytes: usize) {
        self.map.push_replaced(self.text.len(), text.len(), from..from + n_bytes);
        self.text.push_str(text);
    }

    /// Writes text with all line ends as `\n` and without NULs.
    fn lines(&mut self, text: &str, from: usize) {
        let mut last = 0;
        for at in memchr::memchr2_iter(b'\r', 0, text.as_bytes()) {
            self.verbatim(text.get(last..at).unwrap_or(""), from + last);
            last = at + 1;
            let is_line_end = text.as_bytes().get(at) == Some(&b'\r');
            if is_line_end && text.as_bytes().get(at + 1) != Some(&b'\n') {
                self.verbatim("\n", from + at);
            }
        }
        self.verbatim(text.get(last..).unwrap_or(""), from + last);
    }
}

#[cfg(test)]
mod tests;
