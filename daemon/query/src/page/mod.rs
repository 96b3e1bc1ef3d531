//! Page: documents and passages for people, and the decisions that they can make about an entity.
//!
//! In: a document, chunks, or an entity. Out: HTML with the entities marked (`html.rs`); the keys
//! of decisions (`decisions.rs`).
//! Invariants: everything shown comes from the index, so it is redacted and from one commit; if the
//! file's Markdown is not kept, the normalized text is shown, and the reply says so.

use std::collections::hash_map::Entry;
use std::ops::Range;

use proto::error::ErrorView;
use proto::shape::Freshness;
use proto::tool::admin::{DocumentView, MentionedEntity, PassageHtml, RenderReply};
use rustc_hash::FxHashMap;

use crate::error::invalid;
use crate::{AskError, QueryContext};
use html::{Mark, markdown, plain};
use index::read::{Document, Entity};
use index::store::written;
use model::terms::{EntityType, norm_of};

mod decisions;
mod html;

pub use decisions::entity_decisions;

/// Most passages per call.
const MAX_PASSAGES: usize = 100;

/// Most entities listed next to a document.
const MAX_LISTED: usize = 200;

/// The text of a document to show.
struct Text {
    document: Document,
    text: String,
    /// Whether it is the file's Markdown rather than the normalized text.
    is_markdown: bool,
    marks: Vec<Mark>,
    /// The targets of links, by their place.
    links: FxHashMap<usize, String>,
}

impl Text {
    fn load(ctx: &QueryContext<'_>, doc: i64) -> Result<Option<Self>, AskError> {
        let Some(whole) = ctx.snapshot.documents().whole(doc)? else { return Ok(None) };
        let file = written(ctx.snapshot, doc)?;
        let is_markdown = file.is_some();
        let text = file.unwrap_or(whole.text);
        let marks = marks(ctx, doc, &text, is_markdown)?;
        let links = if is_markdown { links(ctx, doc)? } else { FxHashMap::default() };
        Ok(Some(Text { document: whole.document, text, is_markdown, marks, links }))
    }

    fn html(&self, wanted: &Range<usize>) -> String {
        if self.is_markdown {
            return markdown(&self.text, &self.marks, &|at| self.links.get(&at).cloned(), wanted);
        }
        let Some(part) = self.text.get(wanted.clone()) else { return String::new() };
        let inside = self.marks.iter().filter(|it| it.at.start >= wanted.start);
        let moved = inside.map(|it| Mark {
            at: it.at.start - wanted.start..it.at.end - wanted.start,
            entity: it.entity,
        });
        let format = self.document.format.as_str();
        let is_laid_out = !matches!(format, "md" | "html" | "pdf" | "docx" | "eml" | "txt");
        plain(part, &moved.collect::<Vec<_>>(), is_laid_out)
    }
}

/// Returns the places that name entities, in order. Of two nested places the inner one wins.
fn marks(
    ctx: &QueryContext<'_>,
    doc: i64,
    text: &str,
    is_raw: bool,
) -> Result<Vec<Mark>, AskError> {
    let mut all = Vec::new();
    for mention in ctx.snapshot.mentions().in_doc(doc)? {
        let at = match is_raw {
            true => mention.start as usize..mention.end as usize,
            false => mention.at..mention.at + mention.surface.len(),
        };
        // In a file with another encoding the offsets do not match.
        let is_it = text.get(at.clone()).is_some_and(|it| norm_of(it) == norm_of(&mention.surface));
        let entity = mention.entity.filter(|_| is_it && !at.is_empty());
        all.extend(entity.map(|entity| Mark { at, entity }));
    }
    all.sort_by_key(|it| (it.at.end - it.at.start, it.at.start));
    let mut kept: std::collections::BTreeMap<usize, Mark> = std::collections::BTreeMap::new();
    for mark in all {
        let before = kept.range(..mark.at.end).next_back();
        if before.is_none_or(|(_, it)| it.at.end <= mark.at.start) {
            kept.insert(mark.at.start, mark);
        }
    }
    Ok(kept.into_values().collect())
}

/// Returns the documents that a note's links lead to, by the place of each link.
fn links(ctx: &QueryContext<'_>, doc: i64) -> Result<FxHashMap<usize, String>, AskError> {
    let links = ctx.snapshot.notes().links(doc)?.into_iter();
    Ok(links.filter_map(|link| Some((link.span.0, link.to_path?))).collect())
}

/// Renders a document for people.
///
/// # Errors
/// When the index cannot be read, or no longer has the document.
pub fn document_view(ctx: &QueryContext<'_>, doc: i64) -> Result<DocumentView, ErrorView> {
    let gone = || invalid("the document is gone".into(), "search for it again");
    let text = Text::load(ctx, doc)?.ok_or_else(gone)?;
    let html = text.html(&(0..text.text.len()));
    let document = text.document;
    let is_plain_markdown = document.format == "md" && !text.is_markdown;
    Ok(DocumentView {
        html,
        entities: mentioned(ctx, doc)?,
        plain: is_plain_markdown
            .then(|| "secrets were removed, so the text is shown without its Markdown".to_string()),
        path: document.path,
        title: document.title,
        format: document.format,
        doc_type: document.doc_type,
        day: document.day,
        language: document.language,
        is_note: document.is_note,
        entity_id: document.entity,
        tags: ctx.snapshot.documents().tags(doc).map_err(AskError::from)?,
    })
}

fn mentioned(ctx: &QueryContext<'_>, doc: i64) -> Result<Vec<MentionedEntity>, AskError> {
    let mentioned = ctx.snapshot.entities().mentioned_in(doc, MAX_LISTED)?.into_iter();
    let view = |(entity, n_mentions): (Entity, u64)| MentionedEntity {
        id: entity.id,
        name: entity.name,
        entity_type: EntityType::shown(entity.type_code).into(),
        n_mentions,
    };
    Ok(mentioned.map(view).collect())
}

/// Renders passages for people.
///
/// # Errors
/// `invalid_params` for too many, and when the index cannot be read.
pub fn passages(ctx: &QueryContext<'_>, chunks: &[i64]) -> Result<RenderReply, ErrorView> {
    if chunks.len() > MAX_PASSAGES {
        let n = chunks.len();
        return Err(invalid(format!("`chunks` has {n} items"), "give at most 100"));
    }
    let mut texts: FxHashMap<i64, Option<Text>> = FxHashMap::default();
    let mut passages = Vec::new();
    let places = ctx.snapshot.chunks().many(chunks.iter().copied()).map_err(AskError::from)?;
    for place in chunks.iter().filter_map(|chunk| places.get(chunk)) {
        let text = match texts.entry(place.doc) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(Text::load(ctx, place.doc)?),
        };
        let Some(text) = text else { continue };
        let html = text.html(&match text.is_markdown {
            true => place.raw_start as usize..place.raw_end as usize,
            false => place.start..place.end,
        });
        passages.push(PassageHtml { id: place.id, html });
    }
    Ok(RenderReply { document: None, passages, freshness: Freshness::default() })
}
