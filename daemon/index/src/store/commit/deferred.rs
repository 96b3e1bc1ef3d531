//! Deferred: writes to the virtual tables, and counts, deferred to the end of the transaction.

use std::collections::BTreeMap;

use rusqlite::{Transaction, params};

use super::TermCounts;
use crate::store::StoreError;
use crate::store::changes::Changes;
use crate::vectors::{VectorChange, Vectors};
use crate::words::Indexer;
use model::terms::{RelPath, Tick};

/// The index words of a chunk's title, headings and body.
type IndexedWords = [String; 3];

/// Writes to the virtual tables, deferred to the end of the transaction: every ordinary statement that may fail
/// halfway opens a savepoint, and FTS5 flushes its whole hash table at each (measured: a third of the writer's time).
#[derive(Default)]
pub(in crate::store) struct Deferred {
    deleted_chunks: Vec<i64>,
    deleted_vectors: Vec<i64>,
    texts: BTreeMap<i64, IndexedWords>,
    vectors: BTreeMap<i64, Vec<u8>>,
    n_bare: usize,
    next_vector: Option<i64>,
    look_again: Vec<RelPath>,
    indexer: Indexer,
    /// Changes of the counts of terms.
    pub(in crate::store) terms: TermCounts,
}

impl Deferred {
    /// An empty list; `indexer` has cached the words of earlier transactions.
    pub(in crate::store) fn with(indexer: Indexer) -> Self {
        Deferred { indexer, ..Deferred::default() }
    }

    /// Returns a row id for the next vector, counted here because `RETURNING` would open a savepoint.
    pub(super) fn vector_id(&mut self, tx: &Transaction<'_>) -> Result<i64, StoreError> {
        let id = match self.next_vector {
            Some(id) => id,
            None => {
                tx.query_row("SELECT coalesce(max(id), 0) + 1 FROM chunk_vec_map", [], |r| {
                    r.get(0)
                })?
            }
        };
        self.next_vector = Some(id + 1);
        Ok(id)
    }

    /// Adds a path whose row went to another document; it is checked after the commit.
    pub(super) fn look_again(&mut self, path: RelPath) {
        self.look_again.push(path);
    }

    /// Returns the paths added so far.
    pub(in crate::store) fn take_look_again(&mut self) -> Vec<RelPath> {
        std::mem::take(&mut self.look_again)
    }

    /// Removes and returns a vector that is not written yet.
    pub(in crate::store) fn take_vector(&mut self, id: i64) -> Option<Vec<u8>> {
        self.vectors.remove(&id)
    }

    /// Defers the index words of a chunk's title, headings and body.
    pub(in crate::store) fn insert_text(
        &mut self,
        chunk: i64,
        title: String,
        headings: String,
        body: String,
        is_english: bool,
    ) {
        let row = [title, headings, body].map(|text| {
            let mut words = String::new();
            self.indexer.index(&text, is_english, &mut words);
            words
        });
        self.texts.insert(chunk, row);
    }

    /// Defers a window's vector. An empty one is only counted: the window has none.
    pub(in crate::store) fn insert_vector(&mut self, id: i64, bytes: Vec<u8>) {
        match bytes.is_empty() {
            true => self.n_bare += 1,
            false => drop(self.vectors.insert(id, bytes)),
        }
    }

    /// Deletes a chunk's text. One that is only deferred (two versions of a document in one batch) is dropped.
    pub(in crate::store) fn delete_text(&mut self, chunk: i64) {
        if self.texts.remove(&chunk).is_none() {
            self.deleted_chunks.push(chunk);
        }
    }

    /// Deletes a window's vector, like [`Deferred::delete_text`].
    pub(in crate::store) fn delete_vector(&mut self, id: i64) {
        if self.vectors.remove(&id).is_none() {
            self.deleted_vectors.push(id);
        }
    }

    /// Writes everything, deletions first: a row id may be deleted and inserted in one batch. Returns the change of
    /// the vectors, and the indexer.
    pub(in crate::store) fn run(
        self,
        tx: &Transaction<'_>,
    ) -> Result<(VectorChange, Indexer), StoreError> {
        let mut delete_text = tx.prepare_cached("DELETE FROM chunk_fts WHERE rowid = ?1")?;
        for chunk in self.deleted_chunks {
            delete_text.execute([chunk])?;
        }
        let mut insert_text = tx.prepare_cached(
            "INSERT INTO chunk_fts(rowid, title, headings, body) VALUES(?1, ?2, ?3, ?4)",
        )?;
        for (chunk, [title, headings, body]) in self.texts {
            insert_text.execute(params![chunk, title, headings, body])?;
        }
        let mut delete_vector = tx.prepare_cached("DELETE FROM chunk_vec WHERE rowid = ?1")?;
        for id in &self.deleted_vectors {
            delete_vector.execute([id])?;
        }
        let mut insert_vector =
            tx.prepare_cached("INSERT INTO chunk_vec(rowid, embedding) VALUES(?1, vec_int8(?2))")?;
        for (id, bytes) in &self.vectors {
            insert_vector.execute(params![id, bytes])?;
        }
        let born = self.vectors.into_iter().collect();
        let change = VectorChange { gone: self.deleted_vectors, born, n_bare: self.n_bare };
        Ok((change, self.indexer))
    }
}

/// Commits `tick`. The in-memory structures are updated first: a reader that sees the commit must find them current.
pub(in crate::store) fn commit(
    tx: Transaction<'_>,
    vectors: &Vectors,
    changes: &Changes,
    tick: Tick,
    change: VectorChange,
) -> Result<(), StoreError> {
    vectors.publish(tick, change);
    changes.publish(tick);
    Ok(tx.commit().inspect_err(|_| vectors.forget())?)
}
