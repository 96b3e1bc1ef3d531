//! Redaction: secrets leave the text before anything else looks at it.
//!
//! In: decoded text. Out: [`Redacted`]: each secret replaced by `[redacted:KIND]`, the map back, counts by
//! kind.
//! Invariants: one pass over the text, and each place verified in time bounded by what it then skips; a
//! line that contains `kg:allow` is left alone; a secret never appears in a warning, a count or a log.
//! Not here: what a secret looks like (`redact/shape.rs`).
//! A new kind is a line in [`shape::SHAPES`]; since it changes what is stored, a rebuild must follow.

mod key;
mod shape;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use memchr::{memchr, memmem, memrchr};

use super::builder::push_replaced;
use crate::terms::SpanMap;
use shape::SHAPES;

/// A line that contains this is left alone.
const ALLOW: &str = "kg:allow";

/// Finds the literals that secrets begin with. `None` cannot happen with a fixed table; a test holds that.
static PREFILTER: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostLongest)
        .kind(Some(AhoCorasickKind::DFA))
        .build(SHAPES.iter().map(|shape| shape.literal))
        .ok()
});

/// A text without its secrets.
#[derive(Debug)]
pub(super) struct Redacted {
    /// The text.
    pub(super) text: String,
    /// From this text to the one it was made from; `None` when nothing was replaced.
    pub(super) map: Option<SpanMap>,
    /// How many secrets of each kind were replaced.
    pub(super) counts: BTreeMap<&'static str, u32>,
}

/// Replaces every secret in a text.
pub(super) fn redact(text: String) -> Redacted {
    let secrets = secrets_in(&text);
    if secrets.is_empty() {
        return Redacted { text, map: None, counts: BTreeMap::new() };
    }
    let mut out = String::with_capacity(text.len());
    let mut map = SpanMap::default();
    let mut counts = BTreeMap::new();
    let mut last = 0;
    for (range, kind) in secrets {
        let before = text.get(last..range.start).unwrap_or("");
        map.push(out.len(), before.len(), last, before.len());
        out.push_str(before);
        let mark = format!("[redacted:{kind}]");
        push_replaced(&mut map, (out.len(), mark.len()), range.clone());
        out.push_str(&mark);
        *counts.entry(kind).or_insert(0) += 1;
        last = range.end;
    }
    let rest = text.get(last..).unwrap_or("");
    map.push(out.len(), rest.len(), last, rest.len());
    out.push_str(rest);
    Redacted { text: out, map: Some(map), counts }
}

/// Places and kinds of the secrets, in order, without overlap.
fn secrets_in(text: &str) -> Vec<(Range<usize>, &'static str)> {
    let Some(prefilter) = PREFILTER.as_ref() else { return Vec::new() };
    let mut found: Vec<(Range<usize>, &'static str)> = Vec::new();
    let mut allowed = AllowedLines::new(text);
    let mut done = 0;
    for hit in prefilter.find_iter(text) {
        let Some(shape) = SHAPES.get(hit.pattern().as_usize()) else { continue };
        if hit.start() < done {
            continue;
        }
        let Some(range) = (shape.verify)(text, hit.start()..hit.end()) else { continue };
        let is_whole =
            range.start >= done && text.get(range.clone()).is_some_and(|s| !s.is_empty());
        if is_whole && !allowed.holds(hit.start()) {
            done = range.end;
            found.push((range, shape.kind));
        }
    }
    found
}

/// Knows whether a place lies on an allowed line; asked in rising order, it looks at each line once.
struct AllowedLines<'a> {
    text: &'a str,
    has_any: bool,
    line: Range<usize>,
    is_allowed: bool,
}

impl<'a> AllowedLines<'a> {
    fn new(text: &'a str) -> Self {
        let has_any = memmem::find(text.as_bytes(), ALLOW.as_bytes()).is_some();
        AllowedLines { text, has_any, line: 0..0, is_allowed: false }
    }

    fn holds(&mut self, place: usize) -> bool {
        if !self.has_any {
            return false;
        }
        if !self.line.contains(&place) {
            let bytes = self.text.as_bytes();
            let before = bytes.get(..place).unwrap_or(&[]);
            let after = bytes.get(place..).unwrap_or(&[]);
            let start = memrchr(b'\n', before).map_or(0, |at| at + 1);
            let end = memchr(b'\n', after).map_or(bytes.len(), |at| place + at);
            let line = bytes.get(start..end).unwrap_or(&[]);
            self.is_allowed = memmem::find(line, ALLOW.as_bytes()).is_some();
            self.line = start..end;
        }
        self.is_allowed
    }
}

#[cfg(test)]
mod tests;
