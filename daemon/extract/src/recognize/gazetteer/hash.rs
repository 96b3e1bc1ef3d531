//! Hash: reads the words of a run and hashes them on the way.
//!
//! In: text. Out: words with the hash of the run so far.
//! Invariants: the hash of a run equals the hash of its norm, because a word here is what `norm_of`
//! keeps together: letters and digits, `.` between them, `+` and `#` at their end. Each byte is
//! read once.

use model::terms::norm_of;

/// FNV-1a, the 64-bit variant. It works byte by byte, so the hash of a run continues that of its
/// beginning.
pub(super) const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;

/// The lowercase of a byte that belongs to a word; 0 for separators, 1 for bytes that need a closer
/// look.
pub(super) const LOWER: [u8; 256] = {
    let mut lower = [0u8; 256];
    let mut b = 0;
    while b < 256 {
        let c = b as u8;
        lower[b] = if c.is_ascii_alphanumeric() {
            c.to_ascii_lowercase()
        } else if c >= 0x80 || c == b'.' || c == b'+' || c == b'#' {
            1
        } else {
            0
        };
        b += 1;
    }
    lower
};

/// Returns the hash of a norm.
pub(super) fn hash_of(norm: &[u8]) -> u64 {
    norm.iter().fold(FNV_START, |hash, byte| step(hash, *byte))
}

pub(super) fn step(hash: u64, byte: u8) -> u64 {
    (hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME)
}

/// Maps a hash to an index below `size`, a power of two.
pub(super) fn fold(hash: u64, size: usize) -> usize {
    ((hash ^ (hash >> 31)) as usize) & (size - 1)
}

/// Returns the hashes of a surface's prefixes, one for each end of a word or hump, the whole
/// included.
pub(super) fn prefix_hashes(surface: &str) -> Vec<u64> {
    let bytes = surface.as_bytes();
    let mut out = Vec::with_capacity(4);
    let (mut at, mut hash) = (0, FNV_START);
    while at < bytes.len() {
        if LOWER[bytes[at] as usize] == 0 {
            at += 1;
            continue;
        }
        let token = read_token(surface, at, bytes.len(), hash);
        hump_hashes(bytes.get(at..token.end).unwrap_or(&[]), hash, &mut out);
        if token.end > at {
            hash = token.hash;
            out.push(hash);
        }
        at = token.next;
    }
    out
}

/// Adds the hashes at the humps inside an ASCII word: `KeyRotationJob` may be written
/// `key-rotation job`.
fn hump_hashes(word: &[u8], mut hash: u64, out: &mut Vec<u64>) {
    if !word.is_ascii() {
        return;
    }
    for (i, byte) in word.iter().enumerate() {
        let previous = i.checked_sub(1).and_then(|p| word.get(p)).copied().unwrap_or(b' ');
        let next_is_lower = word.get(i + 1).is_some_and(u8::is_ascii_lowercase);
        let hump = byte.is_ascii_uppercase()
            && (previous.is_ascii_lowercase() || (previous.is_ascii_uppercase() && next_is_lower));
        if hump {
            out.push(hash);
        }
        hash = step(hash, byte.to_ascii_lowercase());
    }
}

/// One word of a run.
pub(super) struct Token {
    /// One past its last byte; equal to the start if there is no word, only a sign.
    pub(super) end: usize,
    /// Where the next word may begin.
    pub(super) next: usize,
    /// The hash of the run that ends with this word.
    pub(super) hash: u64,
    /// The same hash without the word's last byte, for plurals.
    pub(super) hash_before_last: u64,
}

/// Reads the word at `start` and continues `hash` with it.
pub(super) fn read_token(text: &str, start: usize, end: usize, hash: u64) -> Token {
    let bytes = text.as_bytes();
    let (mut at, mut now, mut before) = (start, hash, hash);
    while at < end {
        let lower = LOWER[bytes[at] as usize];
        if lower > 1 {
            before = now;
            now = step(now, lower);
            at += 1;
            continue;
        }
        if lower == 0 {
            break;
        }
        if bytes[at] >= 0x80 {
            return read_wide_token(text, start, end, hash);
        }
        if !belongs(bytes, start, at, end) {
            break;
        }
        before = now;
        now = step(now, bytes[at]);
        at += 1;
    }
    Token {
        end: at,
        next: if at == start { at + 1 } else { at },
        hash: now,
        hash_before_last: before,
    }
}

/// Returns whether the sign at `at` belongs to the word: a dot inside it, a `+` or `#` at its end.
fn belongs(bytes: &[u8], start: usize, at: usize, end: usize) -> bool {
    let is_name = |b: &u8| b.is_ascii_alphanumeric();
    let previous = at.checked_sub(1).filter(|p| *p >= start).and_then(|p| bytes.get(p));
    let after_name = previous.is_some_and(|b| is_name(b) || matches!(b, b'+' | b'#'));
    let next_is_name = bytes.get(at + 1).filter(|_| at + 1 < end).is_some_and(is_name);
    after_name && (bytes[at] == b'.') == next_is_name
}

/// Reads a word with letters outside ASCII, which `norm_of` has to fold first.
fn read_wide_token(text: &str, start: usize, end: usize, hash: u64) -> Token {
    let rest = text.get(start..end).unwrap_or("");
    let mut len = 0;
    for c in rest.chars() {
        let is_mark = ('\u{300}'..='\u{36f}').contains(&c);
        if !(c.is_alphanumeric() || is_mark) {
            break;
        }
        len += c.len_utf8();
    }
    if len == 0 {
        let width = rest.chars().next().map_or(1, char::len_utf8);
        return Token { end: start, next: start + width, hash, hash_before_last: hash };
    }
    let norm = norm_of(rest.get(..len).unwrap_or(""));
    let (mut now, mut before) = (hash, hash);
    for byte in norm.bytes() {
        before = now;
        now = step(now, byte);
    }
    Token { end: start + len, next: start + len, hash: now, hash_before_last: before }
}
