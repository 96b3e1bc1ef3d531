//! Write: puts words, links and pages into the text builder.
//!
//! In: blocks as they are found. Out: the text builder's result, with the start of each page.
//! Invariant: page starts increase with the text.

use super::hyphen::HYPHENS;
use super::links::PageLink;
use crate::builder::TextBuilder;
use crate::format::FormatLimits;
use crate::target::Target;
use model::document::{InlineKind, Parsed};
use model::terms::SpanMap;

/// Writes the text of a document. Words have no places in the file, so the builder has no source.
pub(super) struct PdfText {
    pub(super) builder: TextBuilder<'static>,
    /// The end of the text before each page.
    pages: Vec<usize>,
    open_link: u16,
    open_inline: Option<InlineKind>,
}

impl PdfText {
    pub(super) fn new(limits: &FormatLimits) -> Self {
        let builder = TextBuilder::new("", limits);
        PdfText { builder, pages: Vec::new(), open_link: 0, open_inline: None }
    }

    /// Begins a page here.
    pub(super) fn begin_page(&mut self) {
        self.pages.push(self.builder.len());
    }

    /// Adds running text; `is_joined` if it continues the word before it.
    pub(super) fn flow(&mut self, text: &str, is_joined: bool) {
        for (n, word) in text.split_ascii_whitespace().enumerate() {
            if n > 0 || !is_joined {
                self.builder.space_inserted();
            }
            self.builder.replaced(word, 0..0);
        }
    }

    /// Removes a hyphen from the end of the running text.
    pub(super) fn drop_hyphen(&mut self) {
        self.builder.drop_end(&HYPHENS);
        // A page that began after the hyphen now begins with the rest of the word.
        let end = self.builder.len();
        self.pages.iter_mut().rev().take_while(|page| **page > end).for_each(|page| *page = end);
    }

    /// Closes and opens marks, so that what follows is in `link` (counted from 1; 0 for none) and marked as `inline`.
    pub(super) fn mark(&mut self, link: u16, inline: Option<InlineKind>, links: &[PageLink]) {
        if (link, inline) == (self.open_link, self.open_inline) {
            return;
        }
        self.end_marks();
        let address = usize::from(link).checked_sub(1).and_then(|at| links.get(at));
        if let Some(address) = address {
            self.builder.begin_link(Target::of_address(&address.address));
            self.open_link = link;
        }
        if let Some(kind) = inline {
            self.builder.begin_inline(kind);
            self.open_inline = Some(kind);
        }
    }

    pub(super) fn end_marks(&mut self) {
        // Marks nest: the link was opened first.
        if self.open_inline.take().is_some() {
            self.builder.end_mark();
        }
        if std::mem::take(&mut self.open_link) != 0 {
            self.builder.end_mark();
        }
    }

    /// Returns the text. A page begins with the first text that was written after its beginning.
    pub(super) fn finish(self) -> Parsed {
        let mut parsed = self.builder.finish();
        let start_of = |end: usize| {
            let next = parsed.blocks.partition_point(|block| block.span.end() <= end);
            let next = parsed.blocks.get(next).map(|block| block.span.start());
            u32::try_from(next.map_or(parsed.text.len(), |start| start.max(end)))
        };
        let pages = self.pages.into_iter().map(|end| start_of(end).unwrap_or(u32::MAX));
        parsed.pages = pages.collect();
        parsed.map = SpanMap::identity(parsed.text.len(), 0);
        parsed
    }
}
