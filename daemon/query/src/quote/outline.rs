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

    /// Returns the nearest heading above or at an offset.
    pub(crate) fn nearest(&self, place: usize) -> Option<&str> {
        self.0.iter().rfind(|it| it.start <= place).map(|it| it.name.as_str())
    }

    /// Returns the title of the page: its first heading, if that opens the page on the highest level.
    pub(crate) fn title(&self) -> Option<&str> {
        self.0.first().filter(|it| it.start == 0 && it.level == 1).map(|it| it.name.as_str())
    }

    /// Returns where the next heading after an offset starts.
    pub(crate) fn next_after(&self, place: usize) -> Option<usize> {
        self.0.iter().map(|it| it.start).find(|start| *start > place)
    }

    /// Returns the headings with where each ends, in order.
    pub(crate) fn ends(&self) -> impl Iterator<Item = (&str, usize)> {
        self.0.iter().map(|it| (it.name.as_str(), it.end))
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

    /// Makes the outline of a text in which each of some lines, where it is there, is a heading of
    /// one level.
    #[cfg(test)]
    pub(crate) fn of_lines(text: &str, lines: &[&str]) -> Outline {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1));
        let found = starts.zip(text.split('\n')).filter(|(_, line)| lines.contains(line));
        let of = |(start, line): (usize, &str)| Heading {
            start,
            end: start + line.len(),
            level: 1,
            name: line.to_string(),
        };
        Outline(found.map(of).collect())
    }
}
