//! Changes: which documents the last commits changed, for caches that depend on them.
//!
//! In: each row of `docs` and `notes` that the writer's connection changes, as SQLite reports it; its commits. Out:
//! the documents that may differ between two commits.
//! Invariants: a reader that sees a commit finds its documents here; there may be false positives, never false
//! negatives, so a range that is no longer known is reported as unknown; memory is bounded.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;

use super::StoreError;
use model::terms::Tick;

/// Most documents kept, over all commits: some tens of commits of a first index.
const MAX_KEPT: usize = 4_096;

/// Tables with one row per document, whose row id is the document's id.
const TABLES: [&str; 2] = ["docs", "notes"];

/// The documents of the last commits.
#[derive(Debug, Default)]
pub(super) struct Changes(Mutex<Known>);

#[derive(Debug)]
struct Known {
    /// Everything that was changed after this commit is known.
    since: Tick,
    /// Changed since the last published commit.
    open: Vec<i64>,
    commits: VecDeque<(Tick, Vec<i64>)>,
    n_kept: usize,
}

impl Default for Known {
    /// For an index that nobody writes: nothing is known.
    fn default() -> Self {
        Known { since: Tick(u64::MAX), open: Vec::new(), commits: VecDeque::new(), n_kept: 0 }
    }
}

impl Changes {
    /// Installs the hook by which a connection that writes reports its changes here.
    pub(super) fn follow(self: &Arc<Self>, db: &mut Connection) -> Result<(), StoreError> {
        let changes = self.clone();
        let report = move |_, _: &str, table: &str, id| {
            if TABLES.contains(&table) {
                changes.touched(id);
            }
        };
        Ok(db.update_hook(Some(report))?)
    }

    fn touched(&self, doc: i64) {
        let mut known = self.lock();
        // A document has several rows, which are written one after another.
        if known.open.last() != Some(&doc) {
            known.open.push(doc);
        }
    }

    /// Announces a commit *before* it is made: a reader that sees it must find its documents here. If the commit
    /// fails, the next one names the same documents again.
    pub(super) fn publish(&self, tick: Tick) {
        let mut known = self.lock();
        let mut docs = std::mem::take(&mut known.open);
        docs.sort_unstable();
        docs.dedup();
        known.n_kept += docs.len();
        known.commits.push_back((tick, docs));
        // The number of commits is bounded, too: commits without documents take memory, but do not raise `n_kept`.
        while known.n_kept > MAX_KEPT || known.commits.len() > MAX_KEPT {
            let Some((oldest, docs)) = known.commits.pop_front() else { break };
            known.n_kept -= docs.len();
            known.since = known.since.max(oldest);
        }
    }

    /// Starts over for another index file, whose last commit is `tick`.
    pub(super) fn begin_at(&self, tick: Tick) {
        *self.lock() = Known { since: tick, ..Known::default() };
    }

    /// Returns the documents that may differ between two commits, ascending; `None` when that is not known.
    pub(super) fn between(&self, older: Tick, newer: Tick) -> Option<Vec<i64>> {
        let known = self.lock();
        if older < known.since || newer < older {
            return None;
        }
        let commits = known.commits.iter().filter(|(tick, _)| *tick > older && *tick <= newer);
        let mut docs: Vec<i64> = commits.flat_map(|(_, docs)| docs.iter().copied()).collect();
        docs.sort_unstable();
        docs.dedup();
        Some(docs)
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written() -> (Connection, Arc<Changes>) {
        let mut db = Connection::open_in_memory().expect("opens");
        db.execute_batch(
            "CREATE TABLE docs(id INTEGER PRIMARY KEY, path TEXT);
             CREATE TABLE notes(doc_id INTEGER PRIMARY KEY, metadata TEXT);
             CREATE TABLE chunks(id INTEGER PRIMARY KEY, doc_id INTEGER);",
        )
        .expect("made");
        let changes = Arc::new(Changes::default());
        changes.follow(&mut db).expect("followed");
        changes.begin_at(Tick(10));
        (db, changes)
    }

    #[test]
    fn whoever_knows_a_commit_learns_what_the_later_ones_changed() {
        let (db, changes) = written();
        let commit = |tick, sql: &str| {
            db.execute_batch(sql).expect("written");
            changes.publish(Tick(tick));
        };
        commit(11, "INSERT INTO docs VALUES(1, 'a'), (2, 'b'); INSERT INTO notes VALUES(1, '{}')");
        commit(12, "INSERT INTO chunks VALUES(7, 1)");
        commit(
            13,
            "UPDATE notes SET metadata = '' WHERE doc_id = 1; DELETE FROM docs WHERE id = 2",
        );
        for (older, newer, docs) in [
            (10, 11, Some(vec![1, 2])),
            (11, 12, Some(vec![])),
            (11, 13, Some(vec![1, 2])),
            (13, 13, Some(vec![])),
            (9, 13, None),
            (13, 12, None),
        ] {
            assert_eq!(changes.between(Tick(older), Tick(newer)), docs, "{older} to {newer}");
        }
        changes.begin_at(Tick(20));
        assert_eq!(changes.between(Tick(13), Tick(20)), None);
    }

    #[test]
    fn what_was_rolled_back_belongs_to_the_next_commit() {
        let (db, changes) = written();
        db.execute_batch("BEGIN; INSERT INTO docs VALUES(1, 'a'); ROLLBACK").expect("done");
        db.execute_batch("INSERT INTO docs VALUES(2, 'b')").expect("done");
        changes.publish(Tick(11));
        assert_eq!(changes.between(Tick(10), Tick(11)), Some(vec![1, 2]));
    }

    #[test]
    fn old_commits_are_forgotten() {
        let (db, changes) = written();
        for tick in 11..=20 {
            db.execute_batch(
                "DELETE FROM docs;
                 WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
                 INSERT INTO docs SELECT i, 'x' FROM n",
            )
            .expect("written");
            changes.publish(Tick(tick));
        }
        assert_eq!(changes.between(Tick(10), Tick(20)), None);
        assert_eq!(changes.between(Tick(17), Tick(20)).map(|docs| docs.len()), Some(1_000));
        assert_eq!(Changes::default().between(Tick(1), Tick(1)), None, "of a file nobody writes");
    }
}
