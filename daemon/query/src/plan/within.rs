//! Within: the documents that pass a filter, and their passages.
//!
//! In: a filter. Out: row ids of documents, passages and windows; for a filter by entity, the
//! passages that mention it.
//! Invariant: reading costs no more than the smaller of the filtered documents and the whole index.
//! Not here: the conditions of a filter (`filter.rs`), repeated texts (`recall/copies.rs`).

use rusqlite::{OptionalExtension, params_from_iter};
use rustc_hash::{FxHashMap, FxHashSet};

use super::filter::Filter;
use crate::{AskError, QueryContext};

/// Up to this many rows are looked up one by one; for more, an index is scanned.
const MAX_LOOKUPS: usize = 1_000;

/// Rows that may answer; `None` for all.
pub(crate) type Among = Option<FxHashSet<i64>>;

/// Intersects two sets of rows.
pub(crate) fn both(one: Among, other: Among) -> Among {
    match (one, other) {
        (Some(mut one), Some(other)) => {
            one.retain(|row| other.contains(row));
            Some(one)
        }
        (one, other) => one.or(other),
    }
}

/// The rows that may answer, read once per question.
#[derive(Debug, Default)]
pub(crate) struct Within {
    /// The documents.
    pub docs: Among,
    /// If given, only these passages: those about an entity, or facts of some days or categories.
    pub mentioning: Among,
}

impl Within {
    /// Reads the documents that pass a filter.
    pub(crate) fn read(ctx: &QueryContext<'_>, filter: &Filter) -> Result<Within, AskError> {
        let docs = documents(ctx, filter)?;
        let mentioning = match (filter.entity, &docs) {
            (Some(entity), Some(docs)) => Some(chunks_about(ctx, entity, docs)?),
            _ => None,
        };
        Ok(Within { docs, mentioning })
    }

    /// Restricts the passages that may answer to these.
    pub(crate) fn narrow(
        &mut self,
        ctx: &QueryContext<'_>,
        only: FxHashSet<i64>,
    ) -> Result<(), AskError> {
        let known = match (self.mentioning.take(), &self.docs) {
            (None, Some(docs)) => Some(chunks(ctx, docs)?),
            (known, _) => known,
        };
        self.mentioning = both(known, Some(only));
        Ok(())
    }

    /// Returns whether a chunk may answer.
    pub(crate) fn lets_through(
        &self,
        ctx: &QueryContext<'_>,
        chunk: i64,
    ) -> Result<bool, AskError> {
        if let Some(mentioning) = &self.mentioning {
            return Ok(mentioning.contains(&chunk));
        }
        let Some(docs) = &self.docs else { return Ok(true) };
        let mut statement =
            ctx.snapshot.prepare_cached("SELECT doc_id FROM chunks WHERE id = ?1")?;
        let doc: Option<i64> = statement.query_row([chunk], |row| row.get(0)).optional()?;
        Ok(doc.is_some_and(|doc| docs.contains(&doc)))
    }
}

/// Returns the chunks of documents that mention an entity, or belong to its own note.
fn chunks_about(
    ctx: &QueryContext<'_>,
    entity: i64,
    docs: &FxHashSet<i64>,
) -> Result<FxHashSet<i64>, AskError> {
    let mut own = ctx.snapshot.prepare_cached("SELECT id FROM docs WHERE entity_id = ?1")?;
    let own: FxHashSet<i64> =
        own.query_map([entity], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut places: FxHashMap<i64, Vec<i64>> = FxHashMap::default();
    let mut mentions = ctx.snapshot.prepare_cached(
        "SELECT m.doc_id, m.at FROM names n JOIN mentions m ON m.name_id = n.id WHERE n.entity_id = ?1",
    )?;
    let mut rows = mentions.query([entity])?;
    while let Some(row) = rows.next()? {
        places.entry(row.get(0)?).or_default().push(row.get(1)?);
    }
    let mut found = FxHashSet::default();
    let mut chunks =
        ctx.snapshot.prepare_cached("SELECT id, start, end FROM chunks WHERE doc_id = ?1")?;
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

/// Returns the documents that pass a filter.
pub(super) fn documents(ctx: &QueryContext<'_>, filter: &Filter) -> Result<Among, AskError> {
    let Some((condition, values)) = filter.sql_beside_docs() else {
        return Ok(filter.of_notes.docs.as_ref().map(|docs| docs.iter().copied().collect()));
    };
    let sql = format!("SELECT d.id FROM docs d WHERE {condition}");
    let mut statement = ctx.snapshot.prepare_cached(&sql)?;
    let mut rows = statement.query(params_from_iter(values))?;
    let mut docs = FxHashSet::default();
    while let Some(row) = rows.next()? {
        docs.extend(Some(row.get(0)?).filter(|doc| filter.of_notes.means(*doc)));
    }
    Ok(Some(docs))
}

/// Returns the chunks of documents.
pub(crate) fn chunks(
    ctx: &QueryContext<'_>,
    docs: &FxHashSet<i64>,
) -> Result<FxHashSet<i64>, AskError> {
    let one = "SELECT id FROM chunks WHERE doc_id = ?1";
    rows_of(ctx, docs, one, "SELECT doc_id, id FROM chunks")
}

/// Returns the windows of chunks.
pub(crate) fn windows(
    ctx: &QueryContext<'_>,
    chunks: &FxHashSet<i64>,
) -> Result<FxHashSet<i64>, AskError> {
    let one = "SELECT id FROM chunk_vec_map WHERE chunk_id = ?1";
    rows_of(ctx, chunks, one, "SELECT chunk_id, id FROM chunk_vec_map")
}

/// Returns the rows of some owners by one of two statements: `one` selects the rows of one owner,
/// `all` selects every owner with its row.
pub(crate) fn rows_of(
    ctx: &QueryContext<'_>,
    owners: &FxHashSet<i64>,
    one: &str,
    all: &str,
) -> Result<FxHashSet<i64>, AskError> {
    let mut found = FxHashSet::default();
    if owners.len() <= MAX_LOOKUPS {
        let mut statement = ctx.snapshot.prepare_cached(one)?;
        for owner in owners {
            let mut rows = statement.query([owner])?;
            while let Some(row) = rows.next()? {
                found.insert(row.get(0)?);
            }
        }
        return Ok(found);
    }
    let mut statement = ctx.snapshot.prepare_cached(all)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        if owners.contains(&row.get(0)?) {
            found.insert(row.get(1)?);
        }
    }
    Ok(found)
}
