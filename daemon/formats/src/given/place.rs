//! The places of given names: from `surface`, `nth` in the file to a span of the normalized text.
//!
//! In: the bytes of a file, its normalized text and the map between them. Out: the names found in the text, and a
//! warning with the number of the others.
//! Invariants: occurrences are counted in the file as it is, including markup, code and front matter, from left to
//! right and without overlap; for a file whose bytes are not text (PDF, DOCX), in the extracted text. A name is found
//! only if its pieces are contiguous in the text; text that the format drops (front matter, a link's target) has no
//! place.
//! Time: one scan of the file for each distinct surface.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::GivenNames;
use super::table::GivenRow;
use model::document::GivenName;
use model::terms::{Norm, RelPath, Segment, Span, SpanMap};

/// Most bytes that normalizing inserts between two pieces of one name: a blank for a line break.
const MAX_JOINT_BYTES: usize = 1;

/// A document in which given names are looked up.
pub(crate) struct Ground<'a> {
    /// The bytes of the file, if they are text.
    pub file: Option<&'a [u8]>,
    /// The normalized text.
    pub text: &'a str,
    /// From the text back to the file.
    pub map: &'a SpanMap,
}

impl GivenNames {
    /// Returns the names of a document in order of place, and a warning; `None` for a document that is not in the
    /// table.
    pub(crate) fn places_in(
        &self,
        path: &RelPath,
        ground: &Ground<'_>,
    ) -> Option<(Vec<GivenName>, Option<String>)> {
        let rows = self.by_path.get(path.as_str())?;
        let whole = SpanMap::identity(ground.text.len(), 0);
        let (source, map) = match ground.file {
            // The table is UTF-8. A file in another encoding has no text to count in, so none of its names is found.
            Some(bytes) => (std::str::from_utf8(bytes).unwrap_or_default(), ground.map),
            None => (ground.text, &whole),
        };
        // The map is ordered by its text; names are looked up by their place in the file.
        let mut way = map.segments().to_vec();
        way.sort_unstable_by_key(|segment| (segment.from, segment.to));
        let mut names = Vec::with_capacity(rows.len());
        let mut missing: Option<&GivenRow> = None;
        for (row, found) in rows.iter().zip(appearances(source, rows)) {
            match found.and_then(|range| text_span(&way, ground.text, range)) {
                Some(span) => names.push(GivenName {
                    span,
                    entity_type: row.entity_type,
                    entity: row.entity.clone(),
                }),
                None => missing = missing.or(Some(row)),
            }
        }
        let n_missing = rows.len() - names.len();
        names.sort_unstable_by_key(|name| name.span);
        let warning = missing.map(|row| {
            format!(
                "recognize.given: {n_missing} of {} names are not in the text, such as `{}` number {}",
                rows.len(),
                row.surface,
                row.nth
            )
        });
        Some((names, warning))
    }
}

/// Returns where each row's surface occurs for the `nth` time.
fn appearances(source: &str, rows: &[GivenRow]) -> Vec<Option<Range<usize>>> {
    let mut wanted: FxHashMap<&str, Vec<(usize, usize)>> = FxHashMap::default();
    for (idx, row) in rows.iter().enumerate() {
        wanted.entry(row.surface.as_str()).or_default().push((row.nth, idx));
    }
    let mut found = vec![None; rows.len()];
    for (surface, mut places) in wanted {
        // In order of `nth`, so that one scan finds all occurrences of a surface.
        places.sort_unstable();
        let mut starts = source.match_indices(surface).map(|(at, _)| at).enumerate();
        for (nth, idx) in places {
            let start = starts.by_ref().find(|(before, _)| before + 1 == nth);
            if let (Some((_, start)), Some(slot)) = (start, found.get_mut(idx)) {
                *slot = Some(start..start + surface.len());
            }
        }
    }
    found
}

/// Returns the span in the text for a range of the file, without blanks at its ends. `way`: the segments of the map,
/// ordered by their place in the file.
fn text_span(way: &[Segment], text: &str, range: Range<usize>) -> Option<Span<Norm>> {
    let end_of = |segment: &Segment| (segment.from + segment.from_len) as usize;
    let first = way.partition_point(|segment| end_of(segment) <= range.start);
    let mut span: Option<(usize, usize)> = None;
    for segment in way.get(first..)?.iter().take_while(|it| (it.from as usize) < range.end) {
        let (to, from) = (segment.to as usize, segment.from as usize);
        // A verbatim piece is cut to the range; a replaced one (an entity) is taken as a whole.
        let piece = if segment.to_len == segment.from_len {
            let start = range.start.max(from) - from;
            (to + start, to + range.end.min(end_of(segment)) - from)
        } else {
            (to, to + segment.to_len as usize)
        };
        span = match span {
            None => Some(piece),
            Some((start, end)) if (end..=end + MAX_JOINT_BYTES).contains(&piece.0) => {
                Some((start, piece.1))
            }
            // It continues in another place, such as the next cell: no name is read across that.
            Some(_) => return None,
        };
    }
    let (start, end) = span?;
    let surface = text.get(start..end)?;
    let start = start + surface.len() - surface.trim_start().len();
    let surface = surface.trim();
    (!surface.is_empty()).then(|| Span::new(start, start + surface.len()))
}
