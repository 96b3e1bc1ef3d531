//! Within: the documents that a filter lets through, and their passages, read once for a question.
//!
//! In: a filter. Out: rows of documents, of passages and of windows.
//! Invariant: what one of these costs grows with the smaller of what the filter lets through and the whole index.
//! Not here: what a filter says (`plan.rs`), and what stands in several documents (`copies.rs`).

use std::sync::{Arc, OnceLock};

use rusqlite::params_from_iter;
use rustc_hash::FxHashSet;

use super::plan::Filter;
use super::{AskError, Desk};

/// Up to so many are looked up one by one; for more, an index is read from one end to the other.
const MAX_LOOKUPS: usize = 1_000;

/// Documents that may answer; all where there is no set.
#[derive(Debug, Clone, Default)]
pub(super) struct Within(OnceLock<Option<Arc<FxHashSet<i64>>>>);

impl Within {
    /// The documents that a filter lets through, read at the first call.
    pub(super) fn of(
        &self,
        desk: &Desk<'_>,
        filter: &Filter,
    ) -> Result<Option<Arc<FxHashSet<i64>>>, AskError> {
        if let Some(docs) = self.0.get() {
            return Ok(docs.clone());
        }
        let docs = read(desk, filter)?.map(Arc::new);
        Ok(self.0.get_or_init(|| docs).clone())
    }
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
