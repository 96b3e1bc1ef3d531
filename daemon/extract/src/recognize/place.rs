//! Place: the surroundings of each mention (heading, bold, code, link text).
//!
//! In: mentions in order of place. Out: their `PlaceFeatures`.
//! Invariants: one merge pass; a mention is inside a mark only if the mark contains all of it.

use model::document::{BlockKind, Document, InlineKind, Mention};
use model::terms::{Norm, Span};

/// Fills [`Mention::place`].
pub(super) fn fill(doc: &Document, mentions: &mut [Mention]) {
    let of_kind = |kind: InlineKind| {
        Reach::new(doc.inlines.iter().filter(move |i| i.kind == kind).map(|i| i.span))
    };
    let (mut bold, mut code) = (of_kind(InlineKind::Bold), of_kind(InlineKind::Code));
    let mut link = Reach::new(doc.links.iter().map(|l| l.span));
    let mut heading = Reach::new(blocks(doc, |kind| matches!(kind, BlockKind::Heading(_))));
    let mut fenced = Reach::new(blocks(doc, |kind| matches!(kind, BlockKind::Code { .. })));
    for mention in mentions {
        mention.place.in_bold = bold.holds(mention.span);
        mention.place.in_link = link.holds(mention.span);
        mention.place.in_heading = heading.holds(mention.span);
        // Both are called, without short-circuiting, so that both walks advance.
        let (in_span, in_block) = (code.holds(mention.span), fenced.holds(mention.span));
        mention.place.in_code = in_span || in_block;
    }
}

fn blocks(
    doc: &Document,
    is_wanted: impl Fn(&BlockKind) -> bool,
) -> impl Iterator<Item = Span<Norm>> {
    doc.blocks.iter().filter(move |b| is_wanted(&b.kind)).map(|b| b.span)
}

/// How far the marks that have begun reach. Spans must be passed in order of place.
struct Reach<I: Iterator<Item = Span<Norm>>> {
    marks: std::iter::Peekable<I>,
    end: usize,
}

impl<I: Iterator<Item = Span<Norm>>> Reach<I> {
    fn new(marks: I) -> Self {
        Reach { marks: marks.peekable(), end: 0 }
    }

    /// Returns whether a mark that begins at or before `span` ends at or after it.
    fn holds(&mut self, span: Span<Norm>) -> bool {
        while let Some(mark) = self.marks.next_if(|mark| mark.start() <= span.start()) {
            self.end = self.end.max(mark.end());
        }
        span.end() <= self.end
    }
}
