//! Scan: walks a document's words once and looks up the runs that may be names.
//!
//! In: a gazetteer and a document. Out: its matches, in order of place.
//! Invariants: a word is what `norm_of` keeps together (letters, digits, `.` between them, `+ #` at their end), so
//! the hash of a run equals the hash of its norm. Each byte is hashed once, plus once for each longer run tried.
//! Not here: whether a run that has an entry's norm is accepted (`accept.rs`).

use super::accept::Surroundings;
use super::{EXACT_SCORE, Entry, Gazetteer, PLURAL_SCORE};
use crate::pipeline::parcel::{
    Block, BlockKind, Mention, NormalDoc, PlaceFeatures, RecognizerKind,
};
use crate::terms::{Confidence, Norm, Span, norm_of};

/// FNV-1a, the 64-bit variant: byte by byte, so the hash of a run goes on from the hash of its beginning.
const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;

/// Most words of one run; a longer title is matched by its link or not at all.
const MAX_RUN_WORDS: usize = 12;

/// The lowercase of a byte that a word holds; 0 for the others, 1 for what needs a closer look.
const LOWER: [u8; 256] = {
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

/// The hash of a norm.
pub(super) fn hash_of(norm: &[u8]) -> u64 {
    norm.iter().fold(FNV_START, |hash, byte| step(hash, *byte))
}

fn step(hash: u64, byte: u8) -> u64 {
    (hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME)
}

/// A hash as an index below `size`, a power of two.
pub(super) fn fold(hash: u64, size: usize) -> usize {
    ((hash ^ (hash >> 31)) as usize) & (size - 1)
}

/// The hashes of a surface's beginnings, one for each word or hump end, the whole included.
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

/// The hashes at the humps inside one word of ASCII: `KeyRotationJob` may be written `key-rotation job`.
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
    /// One past its last byte; equal to the start for a sign outside ASCII.
    pub(super) end: usize,
    /// Where the next word may begin.
    next: usize,
    /// The hash of the run with this word.
    hash: u64,
    /// The hash without the word's last byte, for plurals.
    hash_before_last: u64,
}

/// Reads the word that begins at `start`, its hash going on from `hash`.
fn read_token(text: &str, start: usize, end: usize, hash: u64) -> Token {
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
    Token { end: at, next: if at == start { at + 1 } else { at }, hash: now, hash_before_last: before }
}

/// True when the sign at `at` belongs to the word: a dot between its letters, a `+` or `#` at its end.
fn belongs(bytes: &[u8], start: usize, at: usize, end: usize) -> bool {
    let is_name = |b: &u8| b.is_ascii_alphanumeric();
    let previous = at.checked_sub(1).filter(|p| *p >= start).and_then(|p| bytes.get(p));
    let after_name = previous.is_some_and(|b| is_name(b) || matches!(b, b'+' | b'#'));
    let next_is_name = bytes.get(at + 1).filter(|_| at + 1 < end).is_some_and(is_name);
    after_name && (bytes[at] == b'.') == next_is_name
}

/// The same for a word with letters outside ASCII, by way of `norm_of`.
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

/// A run that is a mention.
struct Hit<'g> {
    end: usize,
    entry: &'g Entry,
    is_plural: bool,
}

/// One walk through one document.
pub(super) struct Scan<'d, 'g> {
    gazetteer: &'g Gazetteer,
    doc: &'d NormalDoc,
    surroundings: Surroundings<'d>,
}

impl<'d, 'g> Scan<'d, 'g> {
    pub(super) fn new(
        gazetteer: &'g Gazetteer,
        doc: &'d NormalDoc,
        sentences: &'d [Span<Norm>],
    ) -> Self {
        Scan { gazetteer, doc, surroundings: Surroundings { doc, sentences } }
    }

    pub(super) fn run(&self, out: &mut Vec<Mention>) {
        for block in &self.doc.blocks {
            if matches!(block.kind, BlockKind::Code { .. }) {
                self.code(block, out);
            } else {
                self.prose(block, out);
            }
        }
    }

    fn prose(&self, block: &Block, out: &mut Vec<Mention>) {
        let text = &self.doc.text;
        let bytes = text.as_bytes();
        let end = block.span.end().min(bytes.len());
        let mut at = block.span.start();
        while at < end {
            if LOWER[bytes[at] as usize] == 0 {
                at += 1;
                continue;
            }
            let token = read_token(text, at, end, FNV_START);
            if let Some(past) = past_url(bytes, at, &token, end) {
                at = past;
                continue;
            }
            let hit = if self.begins(&token, bytes) { self.longest(at, &token, end) } else { None };
            match hit {
                Some(hit) => {
                    out.push(mention(at, &hit));
                    at = hit.end;
                }
                None => at = token.next,
            }
        }
    }

    fn begins(&self, token: &Token, bytes: &[u8]) -> bool {
        self.gazetteer.may_begin(token.hash)
            || (ends_with_s(bytes, token.end) && self.gazetteer.may_begin(token.hash_before_last))
    }

    /// The longest accepted run that begins with `token` at `start`.
    fn longest(&self, start: usize, token: &Token, end: usize) -> Option<Hit<'g>> {
        let text = &self.doc.text;
        let bytes = text.as_bytes();
        let mut best = self.hit(start, token);
        let (mut run_end, mut hash) = (token.end, token.hash);
        for _ in 1..MAX_RUN_WORDS {
            if !self.gazetteer.table.get(&hash).is_some_and(|slot| slot.goes_on) {
                break;
            }
            let Some(next) = after_joint(bytes, run_end, end) else { break };
            let token = read_token(text, next, end, hash);
            if token.end == next {
                break;
            }
            (run_end, hash) = (token.end, token.hash);
            best = self.hit(start, &token).or(best);
        }
        best
    }

    fn hit(&self, start: usize, token: &Token) -> Option<Hit<'g>> {
        let as_written = self.accepted(start, token.end, token.hash, false);
        if as_written.is_some() || !ends_with_s(self.doc.text.as_bytes(), token.end) {
            return as_written;
        }
        self.accepted(start, token.end, token.hash_before_last, true)
    }

    fn accepted(&self, start: usize, end: usize, hash: u64, is_plural: bool) -> Option<Hit<'g>> {
        let slot = self.gazetteer.table.get(&hash)?;
        let entry = self.gazetteer.entry_of(*slot)?;
        let surface = self.doc.text.get(start..end)?;
        let is_match = super::has_norm(surface, entry, is_plural)
            && self.surroundings.accepts(entry, start..end, is_plural);
        is_match.then_some(Hit { end, entry, is_plural })
    }

    /// In fenced code only identifiers count (`KeyRotationJob`, `rotate_keys`), equal to an entry to the letter.
    fn code(&self, block: &Block, out: &mut Vec<Mention>) {
        let text = &self.doc.text;
        let bytes = text.as_bytes();
        let end = block.span.end().min(bytes.len());
        let mut at = block.span.start();
        while at < end {
            let start = at;
            let (mut has_joint, mut has_hump, mut hash) = (false, false, FNV_START);
            while at < end && (bytes[at].is_ascii_alphanumeric() || bytes[at] == b'_') {
                has_joint |= bytes[at] == b'_';
                has_hump |=
                    at > start && bytes[at].is_ascii_uppercase() && bytes[at - 1].is_ascii_lowercase();
                if bytes[at] != b'_' {
                    hash = step(hash, LOWER[bytes[at] as usize]);
                }
                at += 1;
            }
            if has_joint || has_hump {
                let entry = self.gazetteer.table.get(&hash).and_then(|s| self.gazetteer.entry_of(*s));
                if let Some(entry) = entry.filter(|e| text.get(start..at) == Some(&*e.surface)) {
                    out.push(mention(start, &Hit { end: at, entry, is_plural: false }));
                }
            }
            at += usize::from(at == start);
        }
    }
}

fn ends_with_s(bytes: &[u8], end: usize) -> bool {
    end.checked_sub(1).and_then(|last| bytes.get(last)) == Some(&b's')
}

/// Where the next word of a run begins, when what follows `at` joins words: one space, hyphen, underscore, slash or
/// line break, `::`, ` & `, or nothing but a sign that the norm drops.
fn after_joint(bytes: &[u8], at: usize, end: usize) -> Option<usize> {
    let rest = bytes.get(at..end)?;
    let width = match rest {
        [b':', b':', ..] => 2,
        [b' ', b'&', b' ', ..] => 3,
        [b' ' | b'-' | b'_' | b'/' | b'\n' | b'\'', ..] => 1,
        _ => return None,
    };
    rest.get(width).filter(|b| LOWER[**b as usize] != 0).map(|_| at + width)
}

/// Where the text goes on after a URL, host or mail address that begins with this word.
fn past_url(bytes: &[u8], start: usize, token: &Token, end: usize) -> Option<usize> {
    let rest = bytes.get(token.end..end)?;
    let is_url = match rest {
        [b':', b'/', b'/', ..] => true,
        [b'@', next, ..] => next.is_ascii_alphanumeric(),
        _ => bytes.get(start..token.end).is_some_and(|word| word.starts_with(b"www.")),
    };
    let stops = |b: &u8| b.is_ascii_whitespace() || matches!(b, b'>' | b'"' | b'|' | b')' | b']');
    is_url.then(|| token.end + rest.iter().position(stops).unwrap_or(rest.len()))
}

fn mention(start: usize, hit: &Hit<'_>) -> Mention {
    Mention {
        span: Span::new(start, hit.end),
        name: hit.entry.surface.to_string(),
        entity_type: hit.entry.entity_type,
        recognizer: RecognizerKind::Gazetteer,
        score: Confidence::new(if hit.is_plural { PLURAL_SCORE } else { EXACT_SCORE }),
        place: PlaceFeatures::default(),
    }
}
