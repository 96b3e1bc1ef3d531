//! Stated: the facts and relations that notes state, but for those that somebody rejected.
//!
//! In: a document or a place, decisions. Out: rows; facts that nobody has decided yet, as items of a review.
//! Invariants: a rejected fact is none of its note; a rejected relation is a plain link; the notes stay as they are.
//! Not here: what is read as a fact (the crate `notes`).

use std::collections::BTreeMap;

use proto::shape::{EvidenceView, SourceView};
use proto::tool::core::ReviewItem;
use rusqlite::{OptionalExtension, params};

use super::graph::Known;
use super::notes::{self, LinkRow, ObservationRow, observations};
use super::{AskError, Desk};
use index::store::{Snapshot, Verdict, observation_key};
use model::terms::norm_of;

/// What a link is that its author gave no relation.
const PLAIN: &str = "links_to";

/// The facts of a note that nobody rejected, in the order in which they stand.
pub fn accepted(desk: &Desk<'_>, doc: i64) -> Result<Vec<ObservationRow>, AskError> {
    let mut rows = observations(desk.snapshot, doc)?;
    if desk.decisions.is_empty() {
        return Ok(rows);
    }
    let uid: Option<String> = desk
        .snapshot
        .prepare_cached("SELECT uid FROM docs WHERE id = ?1")?
        .query_row([doc], |row| row.get(0))?;
    rows.retain(|it| {
        verdict(desk, uid.as_deref(), (&it.category, &it.content)) != Some(Verdict::Rejected)
    });
    Ok(rows)
}

/// What was decided about the fact of this note, else about all that are worded so.
fn verdict(
    desk: &Desk<'_>,
    uid: Option<&str>,
    (category, content): (&str, &str),
) -> Option<Verdict> {
    let of = |uid| desk.decisions.get(&observation_key(uid, category, content));
    uid.and_then(|uid| of(Some(uid))).or_else(|| of(None))
}

/// The relations of a note (see [`notes::relations`]); one that somebody rejected is a plain link.
pub fn relations(desk: &Desk<'_>, doc: i64) -> Result<Vec<LinkRow>, AskError> {
    Ok(notes::distinct(doc, undone(desk, notes::links(desk.snapshot, doc)?)?))
}

/// Links of other notes to a document (see [`notes::backlinks`]); a relation that somebody rejected is a plain link.
pub fn backlinks(
    desk: &Desk<'_>,
    doc: i64,
    range: (usize, usize),
) -> Result<Vec<LinkRow>, AskError> {
    undone(desk, notes::backlinks(desk.snapshot, doc, range)?)
}

fn undone(desk: &Desk<'_>, mut links: Vec<LinkRow>) -> Result<Vec<LinkRow>, AskError> {
    if desk.decisions.is_empty() {
        return Ok(links);
    }
    for link in links.iter_mut().filter(|it| it.is_typed) {
        if is_rejected(desk, link)? {
            link.relation = Some(PLAIN.into());
            link.is_typed = false;
        }
    }
    Ok(links)
}

/// Whether the relation was rejected that the graph reads from a typed link.
fn is_rejected(desk: &Desk<'_>, link: &LinkRow) -> Result<bool, AskError> {
    let mut statement = desk.snapshot.prepare_cached(
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
    let known = Known::of(desk, (subject, &predicate, object))?;
    Ok(known.and_then(|it| it.verdict(desk)) == Some(Verdict::Rejected))
}

/// Facts stated in a document, or below a folder, that nobody has decided, by path and line.
pub(super) fn undecided(
    desk: &Desk<'_>,
    place: &str,
    limit: u32,
) -> Result<Vec<ReviewItem>, AskError> {
    let mut statement = desk.snapshot.prepare_cached(
        "SELECT o.category, o.content, d.path, d.title, o.line, o.start, o.end, d.uid
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
        let is_decided = verdict(desk, uid.as_deref(), (&category, &content)).is_some();
        if is_decided || items.iter().any(|told| told.key == key) {
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
            }),
            features: BTreeMap::new(),
        });
        if items.len() >= limit as usize {
            break;
        }
    }
    Ok(items)
}

/// Whether there is a fact of this key, here without its beginning `observation:`.
pub(super) fn is_known(snapshot: &Snapshot, key: &str) -> Result<bool, AskError> {
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
