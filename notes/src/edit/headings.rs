//! Headings: finds a heading by its name, with the section below it.
//!
//! In: a text and the name of a heading. Out: its section.
//! Invariants: headings are those of Markdown, underlined ones included, outside code, lists and quotations; if
//! several match equally, the error lists their lines instead of guessing.

use std::ops::Range;

use names::Look;

use super::EditError;
use super::find::nearest;
use super::lines::{line_end, line_number, line_start};
use crate::parse::parse;

/// A heading and the text below it.
#[derive(Debug, Clone)]
pub(super) struct Section {
    pub(super) level: u8,
    /// Its text without markup, and its text as written.
    names: [String; 2],
    /// Its lines, without the last line end.
    pub(super) head: Range<usize>,
    /// Where its lines end, and the text below begins.
    pub(super) body: usize,
    /// Where the next heading begins, whatever its level.
    pub(super) own_end: usize,
    /// Where the next heading of its level or above begins.
    pub(super) end: usize,
    /// The headings above it, outermost first, as indexes.
    above: Vec<usize>,
}

#[cfg(test)]
impl Section {
    pub(super) fn name(&self) -> &str {
        &self.names[0]
    }
}

/// Returns all sections of a text.
pub(super) fn sections(text: &str) -> Vec<Section> {
    let note = parse(text);
    let mut out: Vec<Section> = Vec::new();
    for heading in note.headings.iter().filter(|heading| heading.is_outer) {
        let start = line_start(text, heading.place.span.start);
        let written = text.get(heading.place.span.clone()).unwrap_or("");
        let written = written.lines().next().unwrap_or("").trim();
        let written = written.trim_start_matches('#').trim_end_matches('#').trim();
        // The ancestors are the previous heading and its ancestors, without those of the same or a lower level.
        let mut above: Vec<usize> = out.last().map(|last| last.above.clone()).unwrap_or_default();
        above.extend(out.len().checked_sub(1));
        above.retain(|i| out.get(*i).is_some_and(|it| it.level < heading.level));
        out.push(Section {
            level: heading.level,
            names: [heading.text.trim().to_string(), written.to_string()],
            head: start..heading.place.span.end,
            body: line_end(text, heading.place.span.end),
            own_end: text.len(),
            end: text.len(),
            above,
        });
    }
    for i in 0..out.len() {
        let start = |it: &Section| it.head.start;
        let own_end = out.get(i + 1).map_or(text.len(), start);
        let level = out[i].level;
        let end = out.iter().skip(i + 1).find(|it| it.level <= level).map_or(text.len(), start);
        (out[i].own_end, out[i].end) = (own_end, end);
    }
    out
}

/// Finds the section with this name.
pub(super) fn section(text: &str, name: &str) -> Result<Section, EditError> {
    let name = name.trim();
    if name.trim_matches('#').trim().is_empty() {
        return Err(EditError::Empty("the heading"));
    }
    let all = sections(text);
    // Literal names first, since a heading may look like our syntax (`A > B`); as written before any spelling, and
    // the same case before any case.
    for is_same in [same as fn(&str, &str) -> bool, looks_same, names::is_same] {
        for called in [Called::literally(name), Called::by_rules(name)] {
            let fits: Vec<&Section> =
                all.iter().filter(|it| called.fits(it, &all, is_same)).collect();
            if let Some(one) = called.choose(&fits) {
                return Ok(one.clone());
            }
            if fits.len() > 1 {
                let lines = fits.iter().map(|it| line_number(text, it.head.start)).collect();
                return Err(EditError::AmbiguousHeading { section: name.to_string(), lines });
            }
        }
    }
    let names = all.iter().map(|it| it.names[0].as_str());
    let nearest = nearest(name.trim_start_matches('#').trim(), names).map(|(_, it)| it.to_string());
    Err(EditError::NoHeading { section: name.to_string(), nearest })
}

/// Returns whether a line repeats a section's heading, as texts for its content often do.
pub(super) fn is_heading_of(line: &str, section: &Section) -> bool {
    let bare = line.trim_start_matches('#');
    let level = line.len() - bare.len();
    level == usize::from(section.level)
        && section
            .names
            .iter()
            .any(|name| names::is_same(name, bare.trim().trim_end_matches('#').trim()))
}

/// One interpretation of a heading's name.
struct Called<'a> {
    level: Option<u8>,
    above: Vec<&'a str>,
    name: &'a str,
    nth: Option<usize>,
}

impl<'a> Called<'a> {
    fn literally(name: &'a str) -> Self {
        Called { level: None, above: vec![], name, nth: None }
    }

    /// Parses `## A > B#2`.
    fn by_rules(name: &'a str) -> Self {
        let bare = name.trim_start_matches('#');
        let n = name.len() - bare.len();
        let level =
            u8::try_from(n).ok().filter(|level| (1..=6).contains(level) && bare.starts_with(' '));
        let bare = if level.is_some() { bare.trim() } else { name };
        let mut parts: Vec<&str> = bare.split(" > ").map(str::trim).collect();
        let last = parts.pop().unwrap_or(bare);
        let nth = last
            .rsplit_once('#')
            .and_then(|(name, n)| Some((name.trim(), n.parse::<usize>().ok()?)));
        let nth = nth.filter(|(name, n)| *n > 0 && !name.is_empty());
        let (name, nth) = nth.map_or((last, None), |(name, n)| (name, Some(n)));
        Called { level, above: parts, name, nth }
    }

    fn fits(&self, section: &Section, all: &[Section], is_same: fn(&str, &str) -> bool) -> bool {
        let is_called = |it: &Section, name: &str| it.names.iter().any(|own| is_same(own, name));
        let mut above = section.above.iter().filter_map(|i| all.get(*i));
        self.level.is_none_or(|level| level == section.level)
            && is_called(section, self.name)
            && self.above.iter().all(|name| above.any(|it| is_called(it, name)))
    }

    fn choose<'s>(&self, fits: &[&'s Section]) -> Option<&'s Section> {
        match self.nth {
            Some(n) => fits.get(n - 1).copied(),
            None if fits.len() == 1 => fits.first().copied(),
            None => None,
        }
    }
}

fn same(one: &str, other: &str) -> bool {
    one == other
}

fn looks_same(one: &str, other: &str) -> bool {
    Look::of(one).text() == Look::of(other).text()
}
