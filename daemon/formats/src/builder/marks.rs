//! Inline marks and links: they begin at their first visible character and end with their block.

use super::TextBuilder;
use crate::target::Target;
use model::document::{Inline, InlineKind};
use model::terms::Span;

/// An open inline mark or link, and where its text begins in the open block.
pub(super) enum Mark {
    Inline {
        kind: InlineKind,
        start: usize,
    },
    /// The first block takes `target`, so that a link over several blocks is recorded once.
    Link {
        target: Option<Target>,
        start: usize,
    },
}

impl TextBuilder<'_> {
    /// Opens an inline mark; pair it with [`TextBuilder::end_mark`].
    pub(crate) fn begin_inline(&mut self, kind: InlineKind) {
        self.marks.push(Mark::Inline { kind, start: 0 });
    }

    /// Opens a link; pair it with [`TextBuilder::end_mark`]. `None` for a target that is not kept.
    pub(crate) fn begin_link(&mut self, target: Option<Target>) {
        self.marks.push(Mark::Link { target, start: 0 });
    }

    /// Ends the innermost mark or link. A link without visible text keeps an empty span.
    pub(crate) fn end_mark(&mut self) {
        // The mark has visible text in this block.
        let is_started = self.marks.len() <= self.n_started;
        let end = self.text.len();
        match self.marks.pop() {
            Some(mut mark) if is_started => self.record_mark(&mut mark),
            Some(Mark::Link { target: Some(target), .. }) => {
                self.links.push(target.into_link(Span::new(end, end)));
            }
            _ => {}
        }
        self.n_started = self.n_started.min(self.marks.len());
    }

    /// Records a link without visible text of its own (`![[Target]]`, an image) at the current place.
    pub(crate) fn embed(&mut self, target: Target) {
        let here = self.text.len();
        self.links.push(target.into_embed().into_link(Span::new(here, here)));
    }

    /// Begins the marks that have no text yet at the current place.
    pub(super) fn start_marks(&mut self) {
        let here = self.text.len();
        for mark in self.marks.iter_mut().skip(self.n_started) {
            match mark {
                Mark::Inline { start, .. } | Mark::Link { start, .. } => *start = here,
            }
        }
        self.n_started = self.marks.len();
    }

    /// Ends the marks that have text in this block; they continue in the next one.
    pub(super) fn end_marks_in_block(&mut self) {
        let mut marks = std::mem::take(&mut self.marks);
        marks.iter_mut().take(self.n_started).for_each(|mark| self.record_mark(mark));
        self.marks = marks;
        self.n_started = 0;
    }

    /// Records that a mark ends here.
    fn record_mark(&mut self, mark: &mut Mark) {
        let end = self.text.len();
        match mark {
            Mark::Inline { kind, start } => {
                self.inlines.push(Inline { kind: *kind, span: Span::new(*start, end) });
            }
            Mark::Link { target, start } => {
                let target = target.take();
                self.links.extend(target.map(|t| t.into_link(Span::new(*start, end))));
            }
        }
    }
}
