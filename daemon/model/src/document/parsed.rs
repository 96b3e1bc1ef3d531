//! Parsed: a document between its format and the stage that normalizes it, which removes secrets.

use super::{Block, DocMeta, Inline, Link};
use crate::terms::{Norm, Segment, Span, SpanMap};

/// The result of parsing a text in some format.
#[derive(Debug, Clone, Default)]
pub struct Parsed {
    /// The title the document states (frontmatter, `<title>`), if any.
    pub title: Option<String>,
    /// Metadata that the document states.
    pub meta: DocMeta,
    /// The normalized text; see [`Document::text`](super::Document::text).
    pub text: String,
    /// From the normalized text to the text that was read; for a format over bytes, to the text that it extracted
    /// (usually the identity).
    pub map: SpanMap,
    /// The outline, in order of place, without overlap.
    pub blocks: Vec<Block>,
    /// Inline marks, in order of place, each inside one block.
    pub inlines: Vec<Inline>,
    /// Links, in order of place. A target that begins with `./`, `../` or `/` is a path still to be resolved against
    /// the document's folder.
    pub links: Vec<Link>,
    /// Offset in the normalized text at which each page starts, first page first, ascending; empty if the format has
    /// no pages. A page without text starts where the next one does.
    pub pages: Vec<u32>,
    /// Problems that did not stop the document.
    pub warnings: Vec<String>,
}

impl Parsed {
    /// Adjusts all places to a new text, given the map from it to the text before.
    pub fn move_places(&mut self, to_earlier: &SpanMap) {
        let places = Moved { segments: to_earlier.segments() };
        self.map = to_earlier.then(&self.map);
        for block in &mut self.blocks {
            block.span = places.span(block.span);
        }
        for inline in &mut self.inlines {
            inline.span = places.span(inline.span);
        }
        for link in &mut self.links {
            link.span = places.span(link.span);
        }
        for page in &mut self.pages {
            *page = u32::try_from(places.place(*page as usize, false)).unwrap_or(u32::MAX);
        }
    }
}

/// Maps places of a text to places of the text in which parts of it were replaced.
struct Moved<'a> {
    segments: &'a [Segment],
}

impl Moved<'_> {
    fn span(&self, span: Span<Norm>) -> Span<Norm> {
        let start = self.place(span.start(), false);
        let end = if span.is_empty() { start } else { self.place(span.end(), true) };
        Span::new(start, end.max(start))
    }

    /// Maps a place. One inside a replaced part goes to the beginning of the mark, or to its end if `end`.
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
