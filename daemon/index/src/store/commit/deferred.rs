//! Deferred: writes to the text index, and counts, deferred to the end of the transaction.

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

/// Writes to the text index, deferred to the end of the transaction: every ordinary statement that may fail halfway
/// opens a savepoint, and FTS5 flushes its whole hash table at each (measured: a third of the writer's time).
#[derive(Default)]
pub(in crate::store) struct Deferred {
    deleted_chunks: Vec<i64>,
    texts: BTreeMap<i64, IndexedWords>,
    /// Vectors that are searched from now on, and windows whose vector is no longer.
    shown: BTreeMap<i64, Vec<u8>>,
    hidden: Vec<i64>,
    n_bare: usize,
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

    /// Adds a path whose row went to another document; it is checked after the commit.
    pub(super) fn look_again(&mut self, path: RelPath) {
        self.look_again.push(path);
    }

    /// Returns the paths added so far.
    pub(in crate::store) fn take_look_again(&mut self) -> Vec<RelPath> {
        std::mem::take(&mut self.look_again)
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

    /// Records that a window is searched from now on. One without a vector is only counted.
    pub(in crate::store) fn show_vector(&mut self, id: i64, vector: Option<Vec<u8>>) {
        match vector {
            None => self.n_bare += 1,
            Some(vector) => drop(self.shown.insert(id, vector)),
        }
    }

    /// Deletes a chunk's text. One that is only deferred (two versions of a document in one batch) is dropped.
    pub(in crate::store) fn delete_text(&mut self, chunk: i64) {
        if self.texts.remove(&chunk).is_none() {
            self.deleted_chunks.push(chunk);
        }
    }

    /// Records that a window is no longer searched.
    pub(in crate::store) fn hide_vector(&mut self, id: i64) {
        if self.shown.remove(&id).is_none() {
            self.hidden.push(id);
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
        let born = self.shown.into_iter().collect();
        let change = VectorChange { gone: self.hidden, born, n_bare: self.n_bare };
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
