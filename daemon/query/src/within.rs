//! Within: the documents that a filter lets through, and their passages, read once for a question.
//!
//! In: a filter. Out: rows of documents, of passages and of windows; of a filter by an entity the passages that mention
//! it.
//! Invariant: what one of these costs grows with the smaller of what the filter lets through and the whole index.
//! Not here: what a filter says (`plan.rs`), and what stands in several documents (`copies.rs`).

use std::sync::{Arc, OnceLock};

use rusqlite::params_from_iter;
use rustc_hash::{FxHashMap, FxHashSet};

use super::plan::Filter;
use super::{AskError, Desk};

/// Up to so many are looked up one by one; for more, an index is read from one end to the other.
const MAX_LOOKUPS: usize = 1_000;

/// Rows that may answer; all where there is no set.
pub(super) type Rows = Option<Arc<FxHashSet<i64>>>;

/// What may answer.
#[derive(Debug, Clone, Default)]
pub(super) struct Within {
    docs: OnceLock<Rows>,
    mentioning: OnceLock<Rows>,
}

impl Within {
    /// The documents that a filter lets through, read at the first call.
    pub(super) fn of(&self, desk: &Desk<'_>, filter: &Filter) -> Result<Rows, AskError> {
        if let Some(docs) = self.docs.get() {
            return Ok(docs.clone());
        }
        let docs = read(desk, filter)?.map(Arc::new);
        Ok(self.docs.get_or_init(|| docs).clone())
    }

    /// The passages that mention the entity that a filter asks for, in the documents that it lets through; no set where
    /// it asks for none.
    pub(super) fn mentioning(&self, desk: &Desk<'_>, filter: &Filter) -> Result<Rows, AskError> {
        if let Some(chunks) = self.mentioning.get() {
            return Ok(chunks.clone());
        }
        let chunks = match (filter.entity, self.of(desk, filter)?) {
            (Some(entity), Some(docs)) => Some(Arc::new(chunks_about(desk, entity, &docs)?)),
            _ => None,
        };
        Ok(self.mentioning.get_or_init(|| chunks).clone())
    }
}

/// The chunks of documents that mention an entity, or stand in the note that it is.
fn chunks_about(
    desk: &Desk<'_>,
    entity: i64,
    docs: &FxHashSet<i64>,
) -> Result<FxHashSet<i64>, AskError> {
    let mut own = desk.snapshot.prepare_cached("SELECT id FROM docs WHERE entity_id = ?1")?;
    let own: FxHashSet<i64> =
        own.query_map([entity], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut places: FxHashMap<i64, Vec<i64>> = FxHashMap::default();
    let mut mentions = desk.snapshot.prepare_cached(
        "SELECT m.doc_id, m.at FROM names n JOIN mentions m ON m.name_id = n.id WHERE n.entity_id = ?1",
    )?;
    let mut rows = mentions.query([entity])?;
    while let Some(row) = rows.next()? {
        places.entry(row.get(0)?).or_default().push(row.get(1)?);
    }
    let mut found = FxHashSet::default();
    let mut chunks =
        desk.snapshot.prepare_cached("SELECT id, start, end FROM chunks WHERE doc_id = ?1")?;
    for doc in docs {
        let mut places = places.remove(doc).unwrap_or_default();
        places.sort_unstable();
        let is_own = own.contains(doc);
        let mut rows = chunks.query([doc])?;
        while let Some(row) = rows.next()? {
            let (start, end): (i64, i64) = (row.get(1)?, row.get(2)?);
            let first = places.get(places.partition_point(|at| *at < start));
            if is_own || first.is_some_and(|at| *at < end) {
                found.insert(row.get(0)?);
            }
        }
    }
    Ok(found)
}

fn read(desk: &Desk<'_>, filter: &Filter) -> Result<Option<FxHashSet<i64>>, AskError> {
    let Some((condition, values)) = filter.sql_beside_docs() else {
        return Ok(filter.of_notes.docs.as_ref().map(|docs| docs.iter().copied().collect()));
    };
    let sql = format!("SELECT d.id FROM docs d WHERE {condition}");
    let mut statement = desk.snapshot.prepare_cached(&sql)?;
    let mut rows = statement.query(params_from_iter(values))?;
    let mut docs = FxHashSet::default();
    while let Some(row) = rows.next()? {
        docs.extend(Some(row.get(0)?).filter(|doc| filter.of_notes.means(*doc)));
    }
    Ok(Some(docs))
}

/// The chunks of documents.
pub(super) fn chunks(desk: &Desk<'_>, docs: &FxHashSet<i64>) -> Result<FxHashSet<i64>, AskError> {
    let one = "SELECT id FROM chunks WHERE doc_id = ?1";
    rows_of(desk, docs, (one, "SELECT doc_id, id FROM chunks"))
}

/// The windows of chunks.
pub(super) fn windows(
    desk: &Desk<'_>,
    chunks: &FxHashSet<i64>,
) -> Result<FxHashSet<i64>, AskError> {
    let one = "SELECT id FROM chunk_vec_map WHERE chunk_id = ?1";
    rows_of(desk, chunks, (one, "SELECT chunk_id, id FROM chunk_vec_map"))
}

/// What belongs to some owners: `one` gives what belongs to one, `all` the owner of each.
pub(super) fn rows_of(
    desk: &Desk<'_>,
    owners: &FxHashSet<i64>,
    (one, all): (&str, &str),
) -> Result<FxHashSet<i64>, AskError> {
    let mut found = FxHashSet::default();
    if owners.len() <= MAX_LOOKUPS {
        let mut statement = desk.snapshot.prepare_cached(one)?;
        for owner in owners {
            let mut rows = statement.query([owner])?;
            while let Some(row) = rows.next()? {
                found.insert(row.get(0)?);
            }
        }
        return Ok(found);
    }
    let mut statement = desk.snapshot.prepare_cached(all)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        if owners.contains(&row.get(0)?) {
            found.insert(row.get(1)?);
        }
    }
    Ok(found)
}
