//! Stated: the facts that notes state, but for those that somebody rejected.
//!
//! In: a document or a place, decisions. Out: rows; facts that nobody has decided yet, as items of a review.
//! Invariant: a rejected fact is none, in every note that words it so; the notes stay as they are.
//! Not here: what is read as a fact (the crate `notes`).

use std::collections::BTreeMap;

use proto::shape::{EvidenceView, SourceView};
use proto::tool::core::ReviewItem;
use rusqlite::params;

use super::notes::{ObservationRow, observations};
use super::{AskError, Desk};
use crate::store::{Snapshot, Verdict, observation_key};
use crate::terms::norm_of;

/// The facts of a note that nobody rejected, in the order in which they stand.
pub fn accepted(desk: &Desk<'_>, doc: i64) -> Result<Vec<ObservationRow>, AskError> {
    let mut rows = observations(desk.snapshot, doc)?;
    rows.retain(|it| {
        desk.decisions.get(&observation_key(&it.category, &it.content)) != Some(Verdict::Rejected)
    });
    Ok(rows)
}

/// Facts stated in a document, or below a folder, that nobody has decided, by path and line.
pub(super) fn undecided(
    desk: &Desk<'_>,
    place: &str,
    limit: u32,
) -> Result<Vec<ReviewItem>, AskError> {
    let mut statement = desk.snapshot.prepare_cached(
        "SELECT o.category, o.content, d.path, d.title, o.line, o.start, o.end
         FROM observations o JOIN docs d ON d.id = o.doc_id
         WHERE ?1 = '' OR d.path = ?1 OR (d.path >= ?1 || '/' AND d.path < ?1 || '0')
         ORDER BY d.path, o.seq",
    )?;
    let mut rows = statement.query([place])?;
    let mut items: Vec<ReviewItem> = Vec::new();
    while let Some(row) = rows.next()? {
        let (category, content): (String, String) = (row.get(0)?, row.get(1)?);
        let key = observation_key(&category, &content);
        if desk.decisions.get(&key).is_some() || items.iter().any(|told| told.key == key) {
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

/// Whether a note states a fact of this key, but for its beginning `observation:`.
pub(super) fn is_known(snapshot: &Snapshot, key: &str) -> Result<bool, AskError> {
    let Some((category, _)) = key.split_once('>') else { return Ok(false) };
    let mut statement =
        snapshot.prepare_cached("SELECT DISTINCT category, content FROM observations")?;
    let mut rows = statement.query(params![])?;
    while let Some(row) = rows.next()? {
        let stated: String = row.get(0)?;
        if norm_of(&stated) == category {
            let content: String = row.get(1)?;
            if observation_key(&stated, &content).split_once(':').is_some_and(|it| it.1 == key) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}
