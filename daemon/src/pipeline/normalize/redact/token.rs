//! Runs of characters: what most tokens are made of.
//!
//! In: a text and the place of a literal in it. Out: the range of the token around it, if it is one.
//! Invariants: a check reads no further than the run it accepts, or than a fixed number of bytes, and a run is
//! checked only from its start, so that many literals in a row cost linear time.
//! Not here: which tokens there are (`shape.rs`), or shapes of several runs (`special.rs`).

use std::ops::{Range, RangeInclusive};

/// Longest run looked at, bytes; the longest token in use (of Google) has half of this.
const MAX_RUN_BYTES: usize = 4_096;

/// A set of ASCII characters.
pub(super) type Set = [bool; 128];

const fn set(letters: &[u8]) -> Set {
    let mut out = [false; 128];
    let mut i = 0;
    while i < letters.len() {
        out[(letters[i] & 0x7f) as usize] = true;
        i += 1;
    }
    out
}

pub(super) static HEX: Set = set(b"0123456789abcdefABCDEF");
pub(super) static UPPER: Set = set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789");
pub(super) static ALNUM: Set =
    set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789");
pub(super) static WORD: Set =
    set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");
pub(super) static URL_SAFE: Set =
    set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-");
pub(super) static URL_SAFE_DOT: Set =
    set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.");
pub(super) static PATH: Set =
    set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-/");
pub(super) static BASE64: Set =
    set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=");
pub(super) static BASE64_ANY: Set =
    set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=_-%.~:");

pub(super) fn is_in(set: &Set, byte: u8) -> bool {
    set.get(byte as usize).copied().unwrap_or(false)
}

/// Length of the run of characters of a set that begins at `from`.
pub(super) fn run(text: &str, from: usize, set: &Set) -> usize {
    run_within(text, from, set, MAX_RUN_BYTES)
}

/// The same, up to `most`.
fn run_within(text: &str, from: usize, set: &Set, most: usize) -> usize {
    let rest = text.as_bytes().get(from..).unwrap_or(&[]);
    rest.iter().take(most).take_while(|byte| is_in(set, **byte)).count()
}

/// True when the literal begins where a token could: not inside a word.
pub(super) fn begins_token(text: &str, place: usize) -> bool {
    let before = place.checked_sub(1).and_then(|i| text.as_bytes().get(i));
    !before.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        || is_after_escape(text, place)
}

/// True right after `\n`, `\t` or `\r` as strings in code write them.
fn is_after_escape(text: &str, place: usize) -> bool {
    let before = text.as_bytes().get(..place).unwrap_or(&[]);
    matches!(before, [.., b'\\', b'n' | b't' | b'r'])
}

/// The literal and a run of `set` after it. A dot at the end belongs to the sentence.
pub(super) fn token(
    text: &str,
    literal: Range<usize>,
    set: &Set,
    lengths: RangeInclusive<usize>,
) -> Option<Range<usize>> {
    if !begins_token(text, literal.start) {
        return None;
    }
    let n = run(text, literal.end, set);
    let end = literal.end + n;
    let n_dots = text.get(literal.end..end)?.bytes().rev().take_while(|byte| *byte == b'.').count();
    // A letter, digit or `_` right after the run means a longer word of another kind.
    let is_cut =
        text.as_bytes().get(end).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    (lengths.contains(&(n - n_dots)) && !is_cut).then_some(literal.start..end - n_dots)
}

/// A token that also has a stretch of 10 letters and digits, mixed: `sk-learn-model-selection` is a name.
pub(super) fn mixed_token(
    text: &str,
    literal: Range<usize>,
    set: &Set,
    lengths: RangeInclusive<usize>,
) -> Option<Range<usize>> {
    let range = token(text, literal.clone(), set, lengths)?;
    let body = text.get(literal.end..range.end)?;
    let is_mixed = body.split(|c: char| !c.is_ascii_alphanumeric()).any(|part| {
        part.len() >= 10
            && part.bytes().any(|byte| byte.is_ascii_digit())
            && part.bytes().any(|byte| byte.is_ascii_alphabetic())
    });
    is_mixed.then_some(range)
}

/// The run of `set` right after the literal, without the literal.
pub(super) fn value(
    text: &str,
    literal: Range<usize>,
    set: &Set,
    lengths: RangeInclusive<usize>,
) -> Option<Range<usize>> {
    // One more than may be: a longer run is no token, however much longer.
    let n = run_within(text, literal.end, set, lengths.end() + 1);
    lengths.contains(&n).then_some(literal.end..literal.end + n)
}

/// True when a token has `before` characters of `set` in front of its literal and `after` behind it.
pub(super) fn around(
    text: &str,
    literal: Range<usize>,
    set: &Set,
    (before, after): (usize, RangeInclusive<usize>),
) -> Option<Range<usize>> {
    let start = literal.start.checked_sub(before)?;
    let head = text.as_bytes().get(start..literal.start)?;
    let n = run(text, literal.end, set);
    (head.iter().all(|byte| is_in(set, *byte)) && begins_token(text, start) && after.contains(&n))
        .then_some(start..literal.end + n)
}

/// Letters, `-` and digits in the groups of a UUID.
pub(super) fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(i, byte)| match i {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}
