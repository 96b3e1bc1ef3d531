//! Span: half-open places in text, and the map from normalized text back to the file.
//!
//! Invariants: `start <= end`; spans in `Norm` lie on UTF-8 boundaries; a `SpanMap`'s segments are sorted by their
//! place in the normalized text and do not overlap there.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Marks a place in the bytes of the file on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Raw {}

/// Marks a place in the normalized text of a document (UTF-8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Norm {}

/// A half-open byte range `[start, end)` in one text.
pub struct Span<Text> {
    start: u32,
    end: u32,
    text: PhantomData<fn() -> Text>,
}

impl<Text> Span<Text> {
    /// Creates a span from `start` to `end` in bytes; the ends are swapped if given the wrong way round.
    pub fn new(start: usize, end: usize) -> Self {
        let (start, end) = if start <= end { (start, end) } else { (end, start) };
        let clamp = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Span { start: clamp(start), end: clamp(end), text: PhantomData }
    }

    /// Returns the first byte.
    pub fn start(self) -> usize {
        self.start as usize
    }

    /// Returns the place after the last byte.
    pub fn end(self) -> usize {
        self.end as usize
    }

    /// Returns the length in bytes.
    pub fn len(self) -> usize {
        (self.end - self.start) as usize
    }

    /// Returns whether the span has no bytes.
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// Returns the same place as a range, for slicing.
    pub fn range(self) -> Range<usize> {
        self.start()..self.end()
    }

    /// Returns whether `other` lies entirely inside.
    pub fn contains(self, other: Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    /// Returns whether the two share at least one byte.
    pub fn overlaps(self, other: Self) -> bool {
        self.start < other.end && other.start < self.end
    }
}

impl Span<Norm> {
    /// Returns the text at this place; empty if the span does not fit `text`.
    pub fn of(self, text: &str) -> &str {
        text.get(self.range()).unwrap_or("")
    }
}

impl<Text> Clone for Span<Text> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<Text> Copy for Span<Text> {}
impl<Text> PartialEq for Span<Text> {
    fn eq(&self, other: &Self) -> bool {
        (self.start, self.end) == (other.start, other.end)
    }
}
impl<Text> Eq for Span<Text> {}
impl<Text> std::hash::Hash for Span<Text> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (self.start, self.end).hash(state);
    }
}
impl<Text> PartialOrd for Span<Text> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<Text> Ord for Span<Text> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.start, self.end).cmp(&(other.start, other.end))
    }
}
impl<Text> fmt::Debug for Span<Text> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.start, self.end)
    }
}

impl<Text> Serialize for Span<Text> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.start, self.end - self.start).serialize(serializer)
    }
}

impl<'de, Text> Deserialize<'de> for Span<Text> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (start, len) = <(u32, u32)>::deserialize(deserializer)?;
        Ok(Span { start, end: start.saturating_add(len), text: PhantomData })
    }
}

/// One piece of a [`SpanMap`]: `to_len` bytes of the target text that stand for `from_len` bytes of the source. If
/// the lengths are equal, the piece is verbatim and maps byte for byte; otherwise (an entity such as `&amp;`, a
/// redaction mark, a re-encoded character) every place inside maps to the whole source piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Start of the piece in the target (for example normalized) text.
    pub to: u32,
    /// Its length in the target.
    pub to_len: u32,
    /// Start of the piece in the source (for example the file).
    pub from: u32,
    /// Its length in the source.
    pub from_len: u32,
}

impl Segment {
    fn is_verbatim(self) -> bool {
        self.to_len == self.from_len
    }
    fn to_end(self) -> u32 {
        self.to + self.to_len
    }
    /// Returns the source place of one target offset; with `end`, the place after it.
    fn source(self, offset: u32, end: bool) -> u32 {
        if self.is_verbatim() {
            self.from + offset.saturating_sub(self.to).min(self.to_len)
        } else if end {
            self.from + self.from_len
        } else {
            self.from
        }
    }
}

/// Maps places in a derived text back to places in the text it was made from.
///
/// Text that was inserted (a separator, a marker) belongs to no segment and maps to the edge of its neighbors.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SpanMap {
    segments: Vec<Segment>,
}

impl SpanMap {
    /// Returns the map of a text of `len` bytes onto itself, shifted by `offset` bytes in the source.
    pub fn identity(len: usize, offset: usize) -> Self {
        let mut map = SpanMap::default();
        map.push(0, len, offset, len);
        map
    }

    /// Adds a piece at the end. Pieces come in ascending order of `to`; empty target pieces are ignored, and a
    /// verbatim piece that continues the last one is merged into it.
    pub fn push(&mut self, to: usize, to_len: usize, from: usize, from_len: usize) {
        if to_len == 0 {
            return;
        }
        let n = |v: usize| u32::try_from(v).unwrap_or(u32::MAX);
        let next = Segment { to: n(to), to_len: n(to_len), from: n(from), from_len: n(from_len) };
        if let Some(last) = self.segments.last_mut() {
            let joins = last.is_verbatim()
                && next.is_verbatim()
                && last.to_end() == next.to
                && last.from + last.from_len == next.from;
            if joins {
                last.to_len += next.to_len;
                last.from_len += next.from_len;
                return;
            }
        }
        self.segments.push(next);
    }

    /// Maps `to_len` bytes at `to` to the whole of `from`. If both have the same length, the piece is split in two,
    /// since it would be taken for verbatim text.
    pub fn push_replaced(&mut self, to: usize, to_len: usize, from: Range<usize>) {
        if to_len == from.len() && to_len > 1 {
            self.push(to, to_len - 1, from.start, from.len());
            self.push(to + to_len - 1, 1, from.start, from.len());
        } else {
            self.push(to, to_len, from.start, from.len());
        }
    }

    /// Returns a text with parts of it replaced, in order, and the map from it to the text.
    pub fn replacing<Mark: AsRef<str>>(
        text: &str,
        parts: impl IntoIterator<Item = (Range<usize>, Mark)>,
    ) -> (String, SpanMap) {
        let (mut out, mut map) = (String::with_capacity(text.len()), SpanMap::default());
        let mut last = 0;
        for (part, mark) in parts
            .into_iter()
            .map(|(part, mark)| (part, Some(mark)))
            .chain([(text.len()..text.len(), None)])
        {
            let before = text.get(last..part.start).unwrap_or("");
            map.push(out.len(), before.len(), last, before.len());
            out.push_str(before);
            let mark = mark.as_ref().map_or("", AsRef::as_ref);
            map.push_replaced(out.len(), mark.len(), part.clone());
            out.push_str(mark);
            last = part.end;
        }
        (out, map)
    }

    /// Returns the pieces, in order.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Returns the source range that the target range `[start, end)` came from.
    pub fn source_range(&self, start: usize, end: usize) -> Range<usize> {
        let (start, end) = (start as u32, end.max(start) as u32);
        let first = self.segments.partition_point(|s| s.to_end() <= start);
        // The first segment that ends behind `start`; inserted text before it maps to its beginning.
        let source_start = match self.segments.get(first) {
            Some(segment) => segment.source(start.max(segment.to), false),
            None => self.segments.last().map_or(0, |s| s.from + s.from_len),
        };
        // An empty range must stay empty, even inside a replaced piece.
        if end == start {
            return source_start as usize..source_start as usize;
        }
        let after_last = self.segments.partition_point(|s| s.to < end);
        let source_end = match after_last.checked_sub(1).and_then(|i| self.segments.get(i)) {
            Some(segment) => segment.source(end.min(segment.to_end()), true),
            None => source_start,
        };
        source_start as usize..source_end.max(source_start) as usize
    }

    /// Returns the place in the file of a place in the normalized text.
    pub fn to_raw(&self, span: Span<Norm>) -> Span<Raw> {
        let range = self.source_range(span.start(), span.end());
        Span::new(range.start, range.end)
    }

    /// Returns the place in the normalized text of what came from a range of the file, whose order the text keeps;
    /// empty if nothing did.
    pub fn to_norm(&self, source: &Range<usize>) -> Span<Norm> {
        let from_end = |it: &Segment| (it.from + it.from_len) as usize;
        let first = self.segments.partition_point(|it| from_end(it) <= source.start);
        let after = self.segments.partition_point(|it| (it.from as usize) < source.end);
        let inside = self.segments.get(first..after).unwrap_or_default();
        let Some((head, tail)) = inside.first().zip(inside.last()) else {
            let before = first.checked_sub(1).and_then(|it| self.segments.get(it));
            let at = before.map_or(0, |it| it.to_end() as usize);
            return Span::new(at, at);
        };
        let cut = |it: &Segment, n: usize| if it.is_verbatim() { n } else { 0 };
        let start = head.to as usize + cut(head, source.start.saturating_sub(head.from as usize));
        let end = tail.to_end() as usize - cut(tail, from_end(tail).saturating_sub(source.end));
        Span::new(start, end.max(start))
    }

    /// Returns the map from this map's target straight to `earlier`'s source, where `earlier` made this map's source.
    pub fn then(&self, earlier: &SpanMap) -> SpanMap {
        let mut out = SpanMap::default();
        for segment in &self.segments {
            if !segment.is_verbatim() {
                let range = earlier.source_range(
                    segment.from as usize,
                    (segment.from + segment.from_len) as usize,
                );
                out.push(segment.to as usize, segment.to_len as usize, range.start, range.len());
                continue;
            }
            compose_verbatim(*segment, earlier, &mut out);
        }
        out
    }
}

/// As the distances of each piece from the end of the one before, which take few bytes, and its lengths.
impl Serialize for SpanMap {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut last = (0, 0);
        serializer.collect_seq(self.segments.iter().map(|it| {
            let gaps = (it.to.wrapping_sub(last.0), it.from.wrapping_sub(last.1) as i32);
            last = (it.to + it.to_len, it.from + it.from_len);
            (gaps.0, it.to_len, gaps.1, it.from_len)
        }))
    }
}

impl<'de> Deserialize<'de> for SpanMap {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let pieces = Vec::<(u32, u32, i32, u32)>::deserialize(deserializer)?;
        let mut last = (0u32, 0u32);
        let segments = pieces.into_iter().map(|(to, to_len, from, from_len)| {
            let (to, from) = (last.0.wrapping_add(to), last.1.wrapping_add(from as u32));
            last = (to.wrapping_add(to_len), from.wrapping_add(from_len));
            Segment { to, to_len, from, from_len }
        });
        Ok(SpanMap { segments: segments.collect() })
    }
}

/// Returns the line, from 1, of a byte of a file whose lines start at `line_starts`; 0 if it has no lines.
pub fn line_of(line_starts: &[u32], raw_offset: usize) -> u32 {
    if line_starts.is_empty() {
        return 0;
    }
    line_starts.partition_point(|start| *start as usize <= raw_offset).max(1) as u32
}

/// Splits one verbatim piece along the pieces of the earlier map that it crosses.
fn compose_verbatim(segment: Segment, earlier: &SpanMap, out: &mut SpanMap) {
    let end = segment.from + segment.from_len;
    let first = earlier.segments.partition_point(|s| s.to_end() <= segment.from);
    for piece in earlier.segments[first..].iter().take_while(|s| s.to < end) {
        let (start, stop) = (piece.to.max(segment.from), piece.to_end().min(end));
        let to = (segment.to + (start - segment.from)) as usize;
        let len = (stop - start) as usize;
        if piece.is_verbatim() {
            out.push(to, len, (piece.from + (start - piece.to)) as usize, len);
        } else {
            out.push(to, len, piece.from as usize, piece.from_len as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn verbatim_text_maps_byte_for_byte() {
        let map = SpanMap::identity(10, 3);
        assert_eq!(map.source_range(2, 5), 5..8);
    }

    #[test]
    fn an_entity_maps_to_all_of_its_source() {
        // `a &amp; b` became `a & b`.
        let mut map = SpanMap::default();
        map.push(0, 2, 0, 2);
        map.push(2, 1, 2, 5);
        map.push(3, 2, 7, 2);
        assert_eq!(map.source_range(2, 3), 2..7);
        assert_eq!(map.source_range(0, 5), 0..9);
        assert_eq!(map.source_range(4, 5), 8..9);
    }

    #[test]
    fn inserted_text_maps_to_the_edge_of_its_neighbor() {
        let mut map = SpanMap::default();
        map.push(0, 3, 0, 3);
        map.push(5, 3, 10, 3);
        assert_eq!(map.source_range(3, 4), 10..10);
        assert_eq!(map.source_range(1, 6), 1..11);
    }

    #[test]
    fn maps_compose_through_a_redaction() {
        // file `key=SECRET end` → `key=[x] end` → normalized text that dropped `key=`.
        let mut redacted = SpanMap::default();
        redacted.push(0, 4, 0, 4);
        redacted.push(4, 3, 4, 6);
        redacted.push(7, 4, 10, 4);
        let mut normalized = SpanMap::default();
        normalized.push(0, 7, 4, 7);
        let whole = normalized.then(&redacted);
        assert_eq!(whole.source_range(0, 3), 4..10);
        assert_eq!(whole.source_range(4, 7), 11..14);
    }

    proptest! {
        #[test]
        fn composition_equals_two_steps(cuts in proptest::collection::vec((1usize..6, 1usize..6, any::<bool>()), 1..12),
                                        start in 0usize..40, len in 1usize..20) {
            let (mut earlier, mut to, mut from) = (SpanMap::default(), 0, 0);
            for (to_len, from_len, verbatim) in cuts {
                let from_len = if verbatim { to_len } else { from_len };
                earlier.push(to, to_len, from, from_len);
                to += to_len;
                from += from_len;
            }
            let later = SpanMap::identity(to, 0);
            let whole = later.then(&earlier);
            let (start, end) = (start.min(to), (start + len).min(to));
            prop_assert_eq!(whole.source_range(start, end), earlier.source_range(start, end));
        }
    }
}
