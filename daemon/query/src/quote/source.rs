//! Source: a place in a document in the form that readers use: line, page or heading, depending on
//! the format.
//!
//! In: a document and an offset in its normalized text. Out: [`SourceView`].

use proto::shape::{EvidenceView, PlaceView, SourceView};

use super::outline::Outline;
use super::snippet;
use crate::graph::Statement;
use crate::{AskError, QueryContext};
use index::read::{Document, Places, Whole};
use index::store::lines::{HeadingMap, LineMap, PageMap};

/// Longest quotation, characters.
const MAX_QUOTE_CHARS: usize = 240;

/// A document to quote from.
pub(crate) struct Source {
    path: String,
    pub(crate) title: String,
    /// The day that the document states, else the day it was modified.
    pub(crate) day: String,
    /// The normalized text.
    pub(crate) text: String,
    lines: LineMap,
    pages: PageMap,
    headings: Option<HeadingMap>,
}

impl Source {
    /// Reads a document; `None` if it is gone.
    pub(crate) fn load(ctx: &QueryContext<'_>, doc: i64) -> Result<Option<Self>, AskError> {
        let Some(Whole { document, text, places }) = ctx.snapshot.documents().whole(doc)? else {
            return Ok(None);
        };
        let Document { path, title, day, .. } = document;
        let Places { lines, pages, headings } = places;
        Ok(Some(Source { path, title, day, text, lines, pages, headings }))
    }

    /// Returns the place at a byte of the text, with the given quotation.
    pub(crate) fn view(&self, at: usize, text: String) -> SourceView {
        let section = self.headings.as_ref().map(|it| it.path_at(&self.text, at));
        SourceView {
            path: self.path.clone(),
            line: self.lines.line_at(at),
            page: self.pages.page_at(at),
            section: section.unwrap_or_default(),
            text,
        }
    }

    /// Returns the headings of the document, which has this id.
    pub(crate) fn outline(&self, ctx: &QueryContext<'_>, doc: i64) -> Result<Outline, AskError> {
        Outline::read(ctx, doc, &self.text, &self.lines, self.headings.as_ref())
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
            date: Some(self.day.clone()),
        }
    }
}

/// Returns where a document first mentions an entity; `None` if it does not.
pub(crate) fn first_place(
    ctx: &QueryContext<'_>,
    entity: i64,
    doc: i64,
) -> Result<Option<PlaceView>, AskError> {
    let Some(mention) = ctx.snapshot.mentions().first_in(doc, entity)? else { return Ok(None) };
    let documents = ctx.snapshot.documents();
    let place = documents.path(doc)?.zip(documents.places(doc)?);
    Ok(place.map(|(path, places)| {
        let page = places.pages.page_at(mention.at);
        PlaceView { path, line: mention.line, page }
    }))
}
