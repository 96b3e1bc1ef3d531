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
use super::format::Parsed;
use crate::terms::{Norm, Segment, Span, SpanMap};
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

/// Replaces every secret in what a format extracted, and moves blocks, marks, links and pages along. The map
/// goes on leading to the text as it was extracted.
pub(super) fn redact_parsed(parsed: &mut Parsed) -> BTreeMap<&'static str, u32> {
    let mut counts = BTreeMap::new();
    let mut clean = |text: &mut String| {
        let redacted = redact(std::mem::take(text));
        *text = redacted.text;
        for (kind, n) in redacted.counts {
            *counts.entry(kind).or_insert(0) += n;
        }
        redacted.map
    };
    let meta = &mut parsed.meta;
    let stated = [&mut meta.doc_type, &mut meta.author, &mut meta.date, &mut meta.source_url];
    for text in stated.into_iter().chain([&mut parsed.title]).flatten() {
        clean(text);
    }
    for text in meta.aliases.iter_mut().chain(&mut meta.tags) {
        clean(text);
    }
    for link in &mut parsed.links {
        clean(&mut link.target);
        link.fragment.as_mut().map(&mut clean);
    }
    let Some(to_extracted) = clean(&mut parsed.text) else { return counts };
    let places = Moved::new(&to_extracted);
    parsed.map = to_extracted.then(&parsed.map);
    for block in &mut parsed.blocks {
        block.span = places.span(block.span);
    }
    for inline in &mut parsed.inlines {
        inline.span = places.span(inline.span);
    }
    for link in &mut parsed.links {
        link.span = places.span(link.span);
    }
    for page in &mut parsed.pages {
        *page = u32::try_from(places.place(*page as usize, false)).unwrap_or(u32::MAX);
    }
    counts
}

/// Leads from places in a text to places in the text that was made from it by a map.
struct Moved<'a> {
    segments: &'a [Segment],
}

impl<'a> Moved<'a> {
    fn new(map: &'a SpanMap) -> Self {
        Moved { segments: map.segments() }
    }

    fn span(&self, span: Span<Norm>) -> Span<Norm> {
        let start = self.place(span.start(), false);
        let end = if span.is_empty() { start } else { self.place(span.end(), true) };
        Span::new(start, end.max(start))
    }

    /// What lies inside a mark goes to its beginning, or to its `end`.
    fn place(&self, place: usize, end: bool) -> usize {
        let reaches = |segment: &Segment| {
            let stop = (segment.from + segment.from_len) as usize;
            if end { stop < place } else { stop <= place }
        };
        let first = self.segments.partition_point(reaches);
        let Some(segment) = self.segments.get(first) else {
            return self.segments.last().map_or(place, |last| (last.to + last.to_len) as usize);
        };
        let (to, from) = (segment.to as usize, segment.from as usize);
        match segment.to_len == segment.from_len {
            true => to + place.saturating_sub(from),
            false if end && place > from => to + segment.to_len as usize,
            false => to,
        }
    }
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
