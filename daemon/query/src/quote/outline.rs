//! Outline: the headings of a document and the text below them.
//!
//! In: a document. Out: its headings in order; the headings above a place, innermost first.

use index::read::{Place, PlaceKind, Places, Whole};

use super::source::Source;
use crate::{AskError, QueryContext};

/// A heading.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Heading {
    /// Start in the normalized text; `end` likewise.
    start: usize,
    end: usize,
    level: u32,
    name: String,
}

/// The headings of a document.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outline(Vec<Heading>);

impl Outline {
    /// Reads the headings of a Markdown note from its lines, else those of its format's heading
    /// map.
    pub(crate) fn read(ctx: &QueryContext<'_>, source: &Source) -> Result<Outline, AskError> {
        let Whole { document, text, places: Places { lines, headings, .. } } = &**source;
        if let Some(map) = headings {
            let name = |start, end| text.get(start..end).unwrap_or("").replace('\n', " ");
            let of = |(start, end, level)| Heading { start, end, level, name: name(start, end) };
            return Ok(Outline(map.all().map(of).collect()));
        }
        let mut places = ctx.snapshot.notes().places(document.id)?;
        places.retain(|place| place.kind == PlaceKind::Heading);
        places.sort_by_key(|place| place.line);
        let mut headings = Vec::new();
        for Place { line, level, name, .. } in places {
            let Some(start) = lines.place_of(line) else { continue };
            let rest = text.get(start..).unwrap_or("");
            let end = start + rest.find('\n').unwrap_or(rest.len());
            headings.push(Heading { start, end, level, name });
        }
        Ok(Outline(headings))
    }

    /// Returns whether an offset is inside a heading.
    pub(crate) fn is_heading(&self, place: usize) -> bool {
        let above = self.0.iter().rev().find(|it| it.start <= place);
        above.is_some_and(|it| place < it.end)
    }

    /// Returns the headings above or at an offset, innermost first.
    pub(crate) fn above(&self, place: usize) -> impl Iterator<Item = &str> {
        let mut deepest = u32::MAX;
        let above = self.0.iter().rev().filter(move |it| it.start <= place);
        above.filter_map(move |it| {
            let is_above = it.level < deepest;
            deepest = deepest.min(it.level);
            is_above.then_some(it.name.as_str())
        })
    }
}
