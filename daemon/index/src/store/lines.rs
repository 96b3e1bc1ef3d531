//! Lines: maps offsets in the normalized text to lines of the file, in a few bytes a line.
//!
//! The normalized text has other line breaks than the file, so a hit's line cannot be counted; this map is stored
//! with the text. It is a list of (offset in the text, line in the file) where the line changes, delta-coded as
//! varints. A format whose bytes are not text (PDF, DOCX) has no lines: the map is empty. Pages are stored the same
//! way: where each starts.

use config::formats::Place;
use model::document::{Block, BlockKind};
use model::terms::SpanMap;
pub use model::terms::line_of;

/// Innermost headings shown with a place.
const MAX_HEADINGS: usize = 2;

/// Encodes the map of one document; empty without `line_starts`.
pub fn encode(map: &SpanMap, line_starts: &[u32]) -> Vec<u8> {
    let mut out = Vec::new();
    if line_starts.is_empty() {
        return out;
    }
    let mut last = (0u32, 0u32);
    let mut push = |place: u32, line: u32| {
        if line != last.1 {
            varint(&mut out, place.wrapping_sub(last.0));
            varint(&mut out, zigzag(line as i64 - last.1 as i64));
            last = (place, line);
        }
    };
    for segment in map.segments() {
        let first = line_of(line_starts, segment.from as usize);
        push(segment.to, first);
        // Only a segment that was copied byte by byte has line breaks at known offsets.
        if segment.to_len != segment.from_len {
            continue;
        }
        let end = segment.from + segment.from_len;
        let inner = line_starts.iter().skip(first as usize).take_while(|start| **start < end);
        for (i, start) in inner.enumerate() {
            push(segment.to + (start - segment.from), first + 1 + i as u32);
        }
    }
    out
}

/// The decoded map.
pub struct LineMap(Vec<(u32, u32)>);

impl LineMap {
    /// Decodes what [`encode`] wrote; stops at the first malformed byte.
    pub fn decode(bytes: &[u8]) -> Self {
        let (mut pairs, mut at, mut last) = (Vec::new(), 0, (0u32, 0i64));
        while let (Some(place), Some(line)) =
            (read_varint(bytes, &mut at), read_varint(bytes, &mut at))
        {
            last = (last.0.wrapping_add(place), last.1 + unzigzag(line));
            pairs.push((last.0, last.1.max(1) as u32));
        }
        LineMap(pairs)
    }

    /// Returns the line of the file, from 1, that contains an offset of the normalized text; 0 if the file has no
    /// lines.
    pub fn line_at(&self, place: usize) -> u32 {
        let after = self.0.partition_point(|(start, _)| *start as usize <= place);
        let line = after.checked_sub(1).and_then(|i| self.0.get(i)).map(|(_, line)| *line);
        // Before the first entry is line 1; an empty map has no lines.
        line.unwrap_or(u32::from(!self.0.is_empty()))
    }

    /// Returns where a line of the file begins in the normalized text, or `None` if none of it is there.
    pub fn place_of(&self, line: u32) -> Option<usize> {
        self.0.iter().find(|(_, known)| *known == line).map(|(start, _)| *start as usize)
    }
}

/// Encodes offset, length and level of each heading; `None` for a format whose places do not show headings.
pub fn encode_headings(format: &str, blocks: &[Block]) -> Option<Vec<u8>> {
    let (mut out, mut last) = (Vec::new(), 0);
    let place = config::formats::of(format).map(|format| format.place);
    if !matches!(place, Some(Place::Page | Place::Headings | Place::LineAndHeadings)) {
        return None;
    }
    for block in blocks {
        let BlockKind::Heading(level) = block.kind else { continue };
        let start = u32::try_from(block.span.start()).unwrap_or(u32::MAX);
        // Blocks may be nested, so an offset may be less than the one before.
        varint(&mut out, start.saturating_sub(last));
        varint(&mut out, u32::try_from(block.span.len()).unwrap_or(0));
        varint(&mut out, u32::from(level));
        last = last.max(start);
    }
    Some(out)
}

/// The headings of a text: start, end, level.
pub struct HeadingMap(Vec<(usize, usize, u32)>);

impl HeadingMap {
    /// Decodes what [`encode_headings`] wrote; stops at the first malformed byte. `None` for a format whose places
    /// are lines alone.
    pub fn decode(bytes: Option<&[u8]>) -> Option<Self> {
        let (bytes, mut headings, mut at, mut last) = (bytes?, Vec::new(), 0, 0usize);
        while let (Some(further), Some(length), Some(level)) =
            (read_varint(bytes, &mut at), read_varint(bytes, &mut at), read_varint(bytes, &mut at))
        {
            last = last.saturating_add(further as usize);
            headings.push((last, last.saturating_add(length as usize), level));
        }
        Some(HeadingMap(headings))
    }

    /// Returns each heading: its start and end in the text, and its level.
    pub fn all(&self) -> impl Iterator<Item = (usize, usize, u32)> {
        self.0.iter().copied()
    }

    /// Returns the start of the next heading after an offset.
    pub fn next_after(&self, place: usize) -> Option<usize> {
        let n_above = self.0.partition_point(|(start, ..)| *start <= place);
        self.0.get(n_above).map(|(start, ..)| *start)
    }

    /// Returns the innermost headings that contain an offset, at most two, as `Terms › Payment`; empty if there is
    /// none.
    pub fn path_at(&self, text: &str, place: usize) -> String {
        let n_above = self.0.partition_point(|(start, ..)| *start <= place);
        let (mut path, mut deepest) = (Vec::new(), u32::MAX);
        // Backwards, taking only headings of a higher level than those taken: their sections contain the offset.
        for (start, end, level) in self.0.iter().take(n_above).rev() {
            if *level < deepest && path.len() < MAX_HEADINGS {
                path.push(text.get(*start..*end).unwrap_or("").replace('\n', " "));
                deepest = *level;
            }
        }
        path.reverse();
        path.join(" › ")
    }
}

/// Encodes the offsets at which pages start; `None` without pages.
pub fn encode_pages(starts: &[u32]) -> Option<Vec<u8>> {
    let (mut out, mut last) = (Vec::new(), 0);
    for start in starts {
        varint(&mut out, start.saturating_sub(last));
        last = last.max(*start);
    }
    (!starts.is_empty()).then_some(out)
}

/// The offsets at which pages start.
pub struct PageMap(Vec<u32>);

impl PageMap {
    /// Decodes what [`encode_pages`] wrote; stops at the first malformed byte.
    pub fn decode(bytes: Option<&[u8]>) -> Self {
        let (bytes, mut starts, mut at, mut last) = (bytes.unwrap_or(&[]), Vec::new(), 0, 0u32);
        while let Some(further) = read_varint(bytes, &mut at) {
            last = last.saturating_add(further);
            starts.push(last);
        }
        PageMap(starts)
    }

    /// Returns whether the text has no pages.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the page, from 1, that contains an offset of the normalized text; `None` without pages.
    pub fn page_at(&self, place: usize) -> Option<u32> {
        let page = self.0.partition_point(|start| *start as usize <= place).max(1);
        (!self.0.is_empty()).then_some(u32::try_from(page).unwrap_or(u32::MAX))
    }
}

fn zigzag(n: i64) -> u32 {
    ((n << 1) ^ (n >> 63)) as u32
}

fn unzigzag(n: u32) -> i64 {
    i64::from(n >> 1) ^ -i64::from(n & 1)
}

fn varint(out: &mut Vec<u8>, mut n: u32) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

fn read_varint(bytes: &[u8], at: &mut usize) -> Option<u32> {
    let (mut value, mut shift) = (0u32, 0);
    loop {
        let byte = *bytes.get(*at)?;
        *at += 1;
        value |= u32::from(byte & 0x7f).checked_shl(shift)?;
        if byte < 0x80 {
            return Some(value);
        }
        shift += 7;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn joined_lines_keep_their_numbers() {
        // `one\ntwo\n\n# Head` became `one two\n\nHead`.
        let mut map = SpanMap::default();
        map.push(0, 3, 0, 3);
        map.push(4, 3, 4, 3);
        map.push(9, 4, 11, 4);
        let lines = LineMap::decode(&encode(&map, &[0, 4, 8, 9]));
        assert_eq!([0, 3, 4, 6, 9, 12].map(|at| lines.line_at(at)), [1, 1, 2, 2, 4, 4]);
    }

    #[test]
    fn lines_inside_code_are_counted() {
        let map = SpanMap::identity(12, 4);
        let lines = LineMap::decode(&encode(&map, &[0, 4, 8, 12]));
        assert_eq!([0, 3, 4, 8, 11].map(|at| lines.line_at(at)), [2, 2, 3, 4, 4]);
    }

    #[test]
    fn a_format_without_lines_has_none() {
        let lines = LineMap::decode(&encode(&SpanMap::identity(12, 0), &[]));
        assert_eq!((lines.line_at(5), line_of(&[], 5)), (0, 0));
    }

    #[test]
    fn places_lead_to_pages() {
        // The second page has no text.
        let pages = PageMap::decode(encode_pages(&[0, 300, 300, 900]).as_deref());
        let at = [0, 299, 300, 899, 900, 5_000].map(|place| pages.page_at(place));
        assert_eq!(at, [1, 1, 3, 3, 4, 4].map(Some));
        assert_eq!(PageMap::decode(encode_pages(&[]).as_deref()).page_at(7), None);
    }

    #[test]
    fn places_lead_to_the_headings_above() {
        let text = "Terms\n\nAll.\n\nPayment\n\nSoon.\n\nSigns\n\nHere.";
        let heading = |level, words: &str| {
            let start = text.find(words).expect("it is there");
            let span = model::terms::Span::new(start, start + words.len());
            Block { kind: BlockKind::Heading(level), span, section: None }
        };
        let blocks = [heading(1, "Terms"), heading(2, "Payment"), heading(1, "Signs")];
        let bytes = encode_headings("docx", &blocks);
        let headings = HeadingMap::decode(bytes.as_deref()).expect("shown by heading");
        let at = |words: &str| headings.path_at(text, text.find(words).expect("it is there"));
        assert_eq!([at("All"), at("Soon"), at("Here")], ["Terms", "Terms › Payment", "Signs"]);
        assert!(encode_headings("md", &blocks).is_none());
    }

    proptest! {
        #[test]
        fn any_bytes_decode(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            LineMap::decode(&bytes).line_at(5);
            PageMap::decode(Some(&bytes)).page_at(5);
            HeadingMap::decode(Some(&bytes)).map(|it| it.path_at("some text", 5));
        }

        #[test]
        fn numbers_survive(n in -1_000_000i64..1_000_000) {
            prop_assert_eq!(unzigzag(zigzag(n)), n);
        }
    }
}
