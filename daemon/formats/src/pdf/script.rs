//! Script: the text and structure to be written, collected before they are written.
//!
//! In: blocks as they are found. Out: the text builder's result, with the start of each page. The builder takes
//! ranges of a text that must be complete before it starts. The script is that text, and the list of calls to make.
//! Invariant: page starts increase with the text.

use std::ops::Range;

use super::links::PageLink;
use crate::builder::TextBuilder;
use crate::format::FormatLimits;
use crate::target::Target;
use model::document::{InlineKind, Parsed};
use model::terms::SpanMap;

/// One call to the builder.
#[derive(Debug)]
pub(super) enum Step {
    BeginHeading(u8),
    BeginText,
    BeginCode,
    EndBlock,
    BeginList(Option<u32>),
    EndList,
    BeginItem,
    EndItem,
    BeginTable,
    EndTable,
    BeginRow {
        is_header: bool,
    },
    BeginCell,
    EndRow,
    BeginInline(InlineKind),
    /// An address.
    BeginLink(Box<str>),
    EndMark,
    Flow(Range<usize>),
    Code(Range<usize>),
}

/// The text, and the calls that write it.
#[derive(Debug, Default)]
pub(super) struct Script {
    pub(super) text: String,
    steps: Vec<Step>,
    /// The start of each page in `text`.
    pages: Vec<usize>,
    open_link: u16,
    open_inline: Option<InlineKind>,
}

impl Script {
    pub(super) fn step(&mut self, step: Step) {
        self.steps.push(step);
    }

    /// Begins a page here.
    pub(super) fn begin_page(&mut self) {
        self.pages.push(self.text.len());
    }

    /// Adds running text; `is_joined` if it continues the word before it.
    pub(super) fn flow(&mut self, text: &str, is_joined: bool) {
        if !is_joined && !self.text.is_empty() {
            self.text.push(' ');
        }
        let start = self.text.len();
        self.text.push_str(text);
        // The space is part of the piece, so that the builder sees it.
        let start = if is_joined { start } else { start.saturating_sub(1) };
        // Adjacent pieces become one call.
        match self.steps.last_mut() {
            Some(Step::Flow(range)) if range.end == start => range.end = self.text.len(),
            _ => self.steps.push(Step::Flow(start..self.text.len())),
        }
    }

    /// Removes the last bytes of the running text, such as a hyphen.
    pub(super) fn drop_end(&mut self, n_bytes: usize) {
        let end = self.text.len().saturating_sub(n_bytes);
        if self.text.is_char_boundary(end) {
            self.text.truncate(end);
            // A page that began after the removed bytes now begins with the rest of the word.
            self.pages
                .iter_mut()
                .rev()
                .take_while(|page| **page > end)
                .for_each(|page| *page = end);
            if let Some(Step::Flow(range)) =
                self.steps.iter_mut().rev().find(|step| matches!(step, Step::Flow(_)))
            {
                range.end = end.max(range.start);
            }
        }
    }

    /// Adds a line of code, with its indentation.
    pub(super) fn code_line(&mut self, line: &str) {
        let start = self.text.len();
        self.text.push_str(line);
        self.text.push('\n');
        match self.steps.last_mut() {
            Some(Step::Code(range)) if range.end == start => range.end = self.text.len(),
            _ => self.steps.push(Step::Code(start..self.text.len())),
        }
    }

    /// Closes and opens marks, so that what follows is in `link` (counted from 1; 0 for none) and marked as `inline`.
    pub(super) fn mark(&mut self, link: u16, inline: Option<InlineKind>, links: &[PageLink]) {
        if (link, inline) == (self.open_link, self.open_inline) {
            return;
        }
        self.end_marks();
        let address = usize::from(link).checked_sub(1).and_then(|at| links.get(at));
        if let Some(address) = address {
            self.steps.push(Step::BeginLink(address.address.as_str().into()));
            self.open_link = link;
        }
        if let Some(kind) = inline {
            self.steps.push(Step::BeginInline(kind));
            self.open_inline = Some(kind);
        }
    }

    pub(super) fn end_marks(&mut self) {
        // Marks nest: the link was opened first.
        if self.open_inline.take().is_some() {
            self.steps.push(Step::EndMark);
        }
        if std::mem::take(&mut self.open_link) != 0 {
            self.steps.push(Step::EndMark);
        }
    }

    /// Writes everything to a builder.
    pub(super) fn write(self, limits: &FormatLimits) -> Parsed {
        let mut out = TextBuilder::new(&self.text, limits);
        for step in self.steps {
            match step {
                Step::BeginHeading(level) => out.begin_heading(level),
                Step::BeginText => out.begin_text(),
                Step::BeginCode => out.begin_code(""),
                Step::EndBlock => out.end_block(),
                Step::BeginList(first) => out.begin_list(first),
                Step::EndList => out.end_list(),
                Step::BeginItem => out.begin_item(),
                Step::EndItem => out.end_item(),
                Step::BeginTable => out.begin_table(),
                Step::EndTable => out.end_table(),
                Step::BeginRow { is_header } => out.begin_row(is_header),
                Step::BeginCell => out.begin_cell(),
                Step::EndRow => out.end_row(),
                Step::BeginInline(kind) => out.begin_inline(kind),
                Step::BeginLink(address) => out.begin_link(Target::of_address(&address)),
                Step::EndMark => out.end_mark(),
                Step::Flow(range) => out.flow(range),
                Step::Code(range) => out.code(range),
            }
        }
        let mut parsed = out.finish();
        // Page starts are places of the script's text; the builder's map converts them.
        parsed.pages = self
            .pages
            .iter()
            .map(|place| place_in(&parsed.map, *place, parsed.text.len()))
            .collect();
        // The text has no places in the file, so the map is the identity.
        parsed.map = SpanMap::identity(parsed.text.len(), 0);
        parsed
    }
}

/// Returns the place in the output of a place of the script's text: that of the first text written at or after it.
fn place_in(map: &SpanMap, place: usize, end: usize) -> u32 {
    let segments = map.segments();
    let first =
        segments.partition_point(|segment| (segment.from + segment.from_len) as usize <= place);
    let place = match segments.get(first) {
        Some(segment) => {
            segment.to as usize
                + place.saturating_sub(segment.from as usize).min(segment.to_len as usize)
        }
        None => end,
    };
    u32::try_from(place).unwrap_or(u32::MAX)
}
