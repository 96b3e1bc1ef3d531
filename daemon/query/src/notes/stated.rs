//! Stated: the facts and relations that notes state, without those that a person rejected.
//!
//! In: a document or a path, review decisions. Out: rows; undecided facts as items of a review.
//! Invariants: a rejected fact is skipped; a rejected relation becomes a plain link; the notes are
//! not changed.
//! Not here: what counts as a fact (the crate `notes`).

use std::collections::BTreeMap;

use proto::shape::{EvidenceView, SourceView};
use proto::tool::core::ReviewItem;
use rusqlite::{OptionalExtension, params};

use super::{LinkRow, ObservationRow, observations};
use crate::graph::KnownRelation;
use crate::{AskError, QueryContext};
use index::store::{Snapshot, Verdict, observation_key};
use model::terms::norm_of;

/// The relation of a link without a type.
const PLAIN: &str = "links_to";

/// Returns the facts of a note that nobody rejected, in the order of its text.
pub fn accepted(ctx: &QueryContext<'_>, doc: i64) -> Result<Vec<ObservationRow>, AskError> {
    let mut rows = observations(ctx.snapshot, doc)?;
    if ctx.decisions.is_empty() {
        return Ok(rows);
    }
    let uid: Option<String> = ctx
        .snapshot
        .prepare_cached("SELECT uid FROM docs WHERE id = ?1")?
        .query_row([doc], |row| row.get(0))?;
    rows.retain(|it| {
        verdict(ctx, uid.as_deref(), &it.category, &it.content) != Some(Verdict::Rejected)
    });
    Ok(rows)
}

/// Returns the decision about the fact in this note, else about all facts with these words.
fn verdict(
    ctx: &QueryContext<'_>,
    uid: Option<&str>,
    category: &str,
    content: &str,
) -> Option<Verdict> {
    let of = |uid| ctx.decisions.get(&observation_key(uid, category, content));
    uid.and_then(|uid| of(Some(uid))).or_else(|| of(None))
}

/// Returns the relations of a note (see [`super::relations`]); a rejected one becomes a plain link.
pub fn relations(ctx: &QueryContext<'_>, doc: i64) -> Result<Vec<LinkRow>, AskError> {
    Ok(super::distinct(doc, undone(ctx, super::links(ctx.snapshot, doc)?)?))
}

/// Returns the links of other notes to a document (see [`super::backlinks`]); a rejected relation
/// becomes a plain link.
pub fn backlinks(
    ctx: &QueryContext<'_>,
    doc: i64,
    skip: usize,
    most: usize,
) -> Result<Vec<LinkRow>, AskError> {
    undone(ctx, super::backlinks(ctx.snapshot, doc, skip, most)?)
}

fn undone(ctx: &QueryContext<'_>, mut links: Vec<LinkRow>) -> Result<Vec<LinkRow>, AskError> {
    if ctx.decisions.is_empty() {
        return Ok(links);
    }
    for link in links.iter_mut().filter(|it| it.is_typed) {
        if is_rejected(ctx, link)? {
            link.relation = Some(PLAIN.into());
            link.is_typed = false;
        }
    }
    Ok(links)
}

/// Returns whether a person rejected the relation that the graph derives from a typed link.
fn is_rejected(ctx: &QueryContext<'_>, link: &LinkRow) -> Result<bool, AskError> {
    let mut statement = ctx.snapshot.prepare_cached(
        "SELECT f.entity_id, e.predicate, coalesce(n.entity_id, d.entity_id)
         FROM docs f JOIN evidence e ON e.doc_id = f.id
           LEFT JOIN names n ON n.id = e.object LEFT JOIN docs d ON d.id = -e.object
         WHERE f.path = ?1 AND e.pattern = 'link:typed' AND e.raw_start >= ?2 AND e.raw_start < ?3 LIMIT 1",
    )?;
    let (start, end) = (link.span.0 as i64, link.span.1 as i64);
    type Relation = (Option<i64>, String, Option<i64>);
    let relation: Option<Relation> = statement
        .query_row(params![link.from_path, start, end], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })
        .optional()?;
    let Some((Some(subject), predicate, Some(object))) = relation else { return Ok(false) };
    let known = KnownRelation::of(ctx, subject, &predicate, object)?;
    Ok(known.and_then(|it| it.verdict(ctx)) == Some(Verdict::Rejected))
}

/// Returns the undecided facts of a document or a folder, by path and line.
pub(crate) fn undecided(
    ctx: &QueryContext<'_>,
    place: &str,
    limit: u32,
) -> Result<Vec<ReviewItem>, AskError> {
    let mut statement = ctx.snapshot.prepare_cached(
        "SELECT o.category, o.content, d.path, d.title, o.line, o.start, o.end, d.uid, d.day
         FROM observations o JOIN docs d ON d.id = o.doc_id
         WHERE ?1 = '' OR d.path = ?1 OR (d.path >= ?1 || '/' AND d.path < ?1 || '0')
         ORDER BY d.path, o.seq",
    )?;
    let mut rows = statement.query([place])?;
    let mut items: Vec<ReviewItem> = Vec::new();
    while let Some(row) = rows.next()? {
        let (category, content): (String, String) = (row.get(0)?, row.get(1)?);
        let uid: Option<String> = row.get(7)?;
        let key = observation_key(uid.as_deref(), &category, &content);
        let is_decided = verdict(ctx, uid.as_deref(), &category, &content).is_some();
        if is_decided || items.iter().any(|known| known.key == key) {
            continue;
        }
        let (path, title): (String, String) = (row.get(2)?, row.get(3)?);
        let source = SourceView {
            path,
            line: row.get(4)?,
            text: format!("[{category}] {content}"),
            ..SourceView::default()
        };
        let span = [row.get::<_, i64>(5)? as u64, row.get::<_, i64>(6)? as u64];
        items.push(ReviewItem {
            key,
            kind: "observation".into(),
            claim: format!("`{title}` states the {category} \"{content}\""),
            confidence: 1.0,
            evidence: Some(EvidenceView {
                source,
                span,
                pattern: "observation".into(),
                confidence: 1.0,
                date: Some(row.get(8)?),
            }),
            features: BTreeMap::new(),
        });
        if items.len() >= limit as usize {
            break;
        }
    }
    Ok(items)
}

/// Returns whether a fact has this key, given without the prefix `observation:`.
pub(crate) fn is_known(snapshot: &Snapshot, key: &str) -> Result<bool, AskError> {
    let (uid, fact) = match key.strip_prefix('@').and_then(|it| it.split_once('>')) {
        Some((uid, fact)) => (Some(uid), fact),
        None => (None, key),
    };
    let Some((category, _)) = fact.split_once('>') else { return Ok(false) };
    let mut statement = snapshot.prepare_cached(
        "SELECT DISTINCT o.category, o.content FROM observations o JOIN docs d ON d.id = o.doc_id
         WHERE ?1 IS NULL OR d.uid = ?1",
    )?;
    let mut rows = statement.query([uid])?;
    while let Some(row) = rows.next()? {
        let stated: String = row.get(0)?;
        if norm_of(&stated) == category {
            let content: String = row.get(1)?;
            let own = observation_key(uid, &stated, &content);
            if own.split_once(':').is_some_and(|it| it.1 == key) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}
