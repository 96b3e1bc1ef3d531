//! Source: a place in a document in the form that readers use: line, page or heading, depending on
//! the format.
//!
//! In: a document and an offset in its normalized text. Out: [`SourceView`].

use std::ops::Deref;

use proto::shape::{EvidenceView, PlaceView, SourceView};

use super::snippet;
use crate::graph::Statement;
use crate::{AskError, QueryContext};
use index::read::{Occurrences, Places, Whole};

/// Longest quotation, characters.
const MAX_QUOTE_CHARS: usize = 240;

/// A document to quote from.
pub(crate) struct Source(Whole);

impl Deref for Source {
    type Target = Whole;
    fn deref(&self) -> &Whole {
        &self.0
    }
}

impl Source {
    /// Reads a document; `None` if it is gone.
    pub(crate) fn load(ctx: &QueryContext<'_>, doc: i64) -> Result<Option<Self>, AskError> {
        Ok(ctx.snapshot.documents().whole(doc)?.map(Source))
    }

    /// Returns the place at a byte of the text, with the given quotation.
    pub(crate) fn view(&self, at: usize, text: String) -> SourceView {
        let Places { lines, pages, headings } = &self.places;
        let section = headings.as_ref().map(|it| it.path_at(&self.text, at));
        SourceView {
            path: self.document.path.clone(),
            line: lines.line_at(at),
            page: pages.page_at(at),
            section: section.unwrap_or_default(),
            text,
        }
    }

    /// Quotes a span of the text, on one line, with its place.
    pub(crate) fn quote(&self, span: (usize, usize)) -> SourceView {
        let (start, end) = span;
        self.words(start, self.text.get(start..end).unwrap_or(""))
    }

    /// Quotes words that belong to a byte of the text, on one line, with its place.
    pub(crate) fn words(&self, at: usize, words: &str) -> SourceView {
        let range = snippet::choose(words, &[], &[], 0, MAX_QUOTE_CHARS);
        self.view(at, snippet::render(words, range))
    }

    /// Returns a statement of the document as evidence.
    pub(crate) fn evidence(&self, statement: &Statement) -> EvidenceView {
        EvidenceView {
            source: self.quote(statement.span),
            span: [statement.raw.0, statement.raw.1],
            pattern: statement.pattern.clone(),
            confidence: statement.confidence,
            date: Some(self.document.day.clone()),
        }
    }
}

/// Returns where a document first mentions an entity; `None` if it does not.
pub(crate) fn first_place(
    ctx: &QueryContext<'_>,
    entity: i64,
    it: &Occurrences,
) -> Result<Option<PlaceView>, AskError> {
    let Some(mention) = ctx.snapshot.mentions().first_in(it.doc, entity)? else { return Ok(None) };
    let places = ctx.snapshot.documents().places(it.doc)?;
    Ok(places.map(|places| {
        let page = places.pages.page_at(mention.at);
        PlaceView { path: it.path.clone(), line: mention.line, page }
    }))
}
