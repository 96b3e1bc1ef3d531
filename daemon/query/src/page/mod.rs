//! Page: documents and passages for people, and the decisions that they can make about an entity.
//!
//! In: a document, chunks, or an entity. Out: HTML with the entities marked (`html.rs`); the keys
//! of decisions (`decisions.rs`).
//! Invariants: everything shown comes from the index, so it is redacted and from one commit; if the
//! file's Markdown is not kept, the normalized text is shown, and the reply says so.
//! Not here: serving the page (`mcp_http`, `serve/http.rs`), its scripts (`server/page/`).

use std::ops::Range;
use std::sync::Arc;

use proto::error::ErrorView;
use proto::shape::Freshness;
use proto::tool::admin::{DocumentView, MentionedEntity, PassageHtml, RenderReply};
use rusqlite::{OptionalExtension, params};
use rustc_hash::FxHashMap;

use crate::error::invalid;
use crate::{AskError, QueryContext};
use html::{Mark, markdown, plain};
use index::store::written;
use model::terms::{EntityType, norm_of};

mod decisions;
mod html;

pub use decisions::entity_decisions;

/// Most passages per call.
const MAX_PASSAGES: usize = 100;

/// Most entities listed next to a document.
const MAX_LISTED: i64 = 200;

/// The text of a document to show.
struct Text {
    text: String,
    /// Whether it is the file's Markdown rather than the normalized text.
    is_markdown: bool,
    /// Whether its line breaks are to be kept.
    is_laid_out: bool,
    marks: Vec<Mark>,
    /// The targets of links, by their place.
    links: FxHashMap<usize, String>,
}

impl Text {
    fn load(ctx: &QueryContext<'_>, doc: i64) -> Result<Option<Self>, AskError> {
        let row: Option<(String, String)> = ctx
            .snapshot
            .prepare_cached("SELECT text, format FROM docs WHERE id = ?1")?
            .query_row([doc], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        let Some((normalized, format)) = row else { return Ok(None) };
        let file = written(ctx.snapshot, doc)?;
        let is_markdown = file.is_some();
        let text = file.unwrap_or(normalized);
        let marks = marks(ctx, doc, &text, is_markdown)?;
        let links = if is_markdown { links(ctx, doc)? } else { FxHashMap::default() };
        let is_laid_out =
            !matches!(format.as_str(), "md" | "html" | "pdf" | "docx" | "eml" | "txt");
        Ok(Some(Text { text, is_markdown, is_laid_out, marks, links }))
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
        plain(part, &moved.collect::<Vec<_>>(), self.is_laid_out)
    }
}

/// Returns the places that name entities, in order. Of two nested places the inner one wins.
fn marks(
    ctx: &QueryContext<'_>,
    doc: i64,
    text: &str,
    is_raw: bool,
) -> Result<Vec<Mark>, AskError> {
    let mut statement = ctx.snapshot.prepare_cached(
        "SELECT m.start, m.end, m.at, m.surface, n.entity_id
         FROM mentions m JOIN names n ON n.id = m.name_id WHERE m.doc_id = ?1 AND n.entity_id IS NOT NULL",
    )?;
    let mut rows = statement.query([doc])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        let surface: String = row.get(3)?;
        let byte = |i: usize| row.get::<_, i64>(i).map(|it| it as usize);
        let at = if is_raw { byte(0)?..byte(1)? } else { byte(2)?..byte(2)? + surface.len() };
        // In a file with another encoding the offsets do not match.
        let is_it = text.get(at.clone()).is_some_and(|it| norm_of(it) == norm_of(&surface));
        if is_it && !at.is_empty() {
            all.push(Mark { at, entity: row.get(4)? });
        }
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
    let mut statement = ctx.snapshot.prepare_cached(
        "SELECT l.start, d.path FROM note_links l JOIN docs d ON d.id = l.dst WHERE l.doc_id = ?1",
    )?;
    let rows =
        statement.query_map([doc], |row| Ok((row.get::<_, i64>(0)? as usize, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Renders a document for people.
///
/// # Errors
/// When the index cannot be read, or no longer has the document.
pub fn document_view(ctx: &QueryContext<'_>, doc: i64) -> Result<DocumentView, ErrorView> {
    let gone = || invalid("the document is gone".into(), "search for it again");
    let text = Text::load(ctx, doc)?.ok_or_else(gone)?;
    let mut view = described(ctx, doc)?.ok_or_else(gone)?;
    view.html = text.html(&(0..text.text.len()));
    view.entities = mentioned(ctx, doc)?;
    let is_plain_markdown = view.format == "md" && !text.is_markdown;
    view.plain = is_plain_markdown
        .then(|| "secrets were removed, so the text is shown without its Markdown".to_string());
    Ok(view)
}

fn described(ctx: &QueryContext<'_>, doc: i64) -> Result<Option<DocumentView>, AskError> {
    let mut statement = ctx.snapshot.prepare_cached(
        "SELECT path, title, format, doc_type, day, language, is_note, entity_id FROM docs WHERE id = ?1",
    )?;
    let view = statement
        .query_row([doc], |row| {
            Ok(DocumentView {
                path: row.get(0)?,
                title: row.get(1)?,
                format: row.get(2)?,
                doc_type: row.get(3)?,
                day: row.get(4)?,
                language: row.get(5)?,
                is_note: row.get(6)?,
                entity_id: row.get(7)?,
                ..DocumentView::default()
            })
        })
        .optional()?;
    let Some(mut view) = view else { return Ok(None) };
    let sql = "SELECT tag FROM doc_tags WHERE doc_id = ?1 ORDER BY tag";
    let mut statement = ctx.snapshot.prepare_cached(sql)?;
    view.tags = statement.query_map([doc], |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(Some(view))
}

fn mentioned(ctx: &QueryContext<'_>, doc: i64) -> Result<Vec<MentionedEntity>, AskError> {
    let mut statement = ctx.snapshot.prepare_cached(
        "SELECT e.id, e.name, e.type, count(*) AS n FROM mentions m JOIN names n ON n.id = m.name_id
         JOIN entities e ON e.id = n.entity_id WHERE m.doc_id = ?1
         GROUP BY e.id ORDER BY n DESC, e.name, e.id LIMIT ?2",
    )?;
    let rows = statement.query_map(params![doc, MAX_LISTED], |row| {
        Ok(MentionedEntity {
            id: row.get(0)?,
            name: row.get(1)?,
            entity_type: EntityType::shown(row.get(2)?).into(),
            n_mentions: row.get::<_, i64>(3)? as u64,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
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
    let mut texts: FxHashMap<i64, Option<Arc<Text>>> = FxHashMap::default();
    let mut passages = Vec::new();
    for chunk in chunks {
        let Some((doc, normalized, raw)) = place(ctx, *chunk)? else { continue };
        let text = match texts.get(&doc) {
            Some(text) => text.clone(),
            None => {
                let text = Text::load(ctx, doc)?.map(Arc::new);
                texts.insert(doc, text.clone());
                text
            }
        };
        let Some(text) = text else { continue };
        let html = text.html(if text.is_markdown { &raw } else { &normalized });
        passages.push(PassageHtml { id: *chunk, html });
    }
    Ok(RenderReply { document: None, passages, freshness: Freshness::default() })
}

type Bytes = Range<usize>;

/// Returns a chunk's document, and its bytes in the normalized text and in the file.
fn place(ctx: &QueryContext<'_>, chunk: i64) -> Result<Option<(i64, Bytes, Bytes)>, AskError> {
    let sql = "SELECT doc_id, start, end, raw_start, raw_end FROM chunks WHERE id = ?1";
    let mut statement = ctx.snapshot.prepare_cached(sql)?;
    let found = statement.query_row([chunk], |row| {
        let byte = |i: usize| row.get::<_, i64>(i).map(|it| it as usize);
        Ok((row.get(0)?, byte(1)?..byte(2)?, byte(3)?..byte(4)?))
    });
    Ok(found.optional()?)
}
