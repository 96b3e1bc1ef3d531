//! Within: the documents that pass a filter, and their passages.
//!
//! In: a filter. Out: row ids of documents, passages and windows; for a filter by entity, the
//! passages that mention it.
//! Invariant: reading costs no more than the smaller of the filtered documents and the whole index.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::{AskError, QueryContext};
use index::read::{Chunk, Filter};

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
        let docs = ctx.snapshot.documents().matching(filter)?;
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
        self.mentioning = both(self.chunks(ctx)?, Some(only));
        Ok(())
    }

    /// Returns the passages that may answer.
    pub(crate) fn chunks(&self, ctx: &QueryContext<'_>) -> Result<Among, AskError> {
        match (&self.mentioning, &self.docs) {
            (None, Some(docs)) => Ok(Some(ctx.snapshot.chunks().of_docs(docs)?)),
            (mentioning, _) => Ok(mentioning.clone()),
        }
    }

    /// Returns whether a chunk may answer.
    pub(crate) fn lets_through(&self, chunk: &Chunk) -> bool {
        match &self.mentioning {
            Some(mentioning) => mentioning.contains(&chunk.id),
            None => self.holds(chunk.doc),
        }
    }

    /// Returns whether a document passes the filter.
    pub(crate) fn holds(&self, doc: i64) -> bool {
        self.docs.as_ref().is_none_or(|docs| docs.contains(&doc))
    }
}

/// Returns the chunks of documents that mention an entity, or belong to its own note.
fn chunks_about(
    ctx: &QueryContext<'_>,
    entity: i64,
    docs: &FxHashSet<i64>,
) -> Result<FxHashSet<i64>, AskError> {
    let own = ctx.snapshot.documents().about(entity)?;
    let mut places: FxHashMap<i64, Vec<usize>> = FxHashMap::default();
    for (doc, at) in ctx.snapshot.mentions().places(entity)? {
        places.entry(doc).or_default().push(at);
    }
    let mut found = FxHashSet::default();
    for doc in docs {
        let places = places.remove(doc).unwrap_or_default();
        let is_own = own.contains(doc);
        for chunk in ctx.snapshot.chunks().of(*doc)? {
            let first = places.get(places.partition_point(|at| *at < chunk.start));
            if is_own || first.is_some_and(|at| *at < chunk.end) {
                found.insert(chunk.id);
            }
        }
    }
    Ok(found)
}
