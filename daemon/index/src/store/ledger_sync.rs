//! Ledger sync: keeps ledger and index consistent, although they are two files, for people's decisions, data given at
//! ingestion, and vanished documents.
//!
//! In: decisions, records, the time. Out: both databases written, the index marked first: after a crash in between,
//! the next start does the rest.

use rusqlite::OptionalExtension;

use super::journal::Journal;
use super::ledger::{IngestRecord, KbRecord, MemoryEvent, Verdict};
use super::work::Work;
use super::writer::{IndexWriter, set_meta_number};
use super::{StoreError, commit};
use crate::vectors::VectorChange;
use model::terms::{ContentHash, RelPath, Tick};

impl IndexWriter {
    /// Writes or revokes review decisions and resolves the names they concern; returns the tick that shows them.
    pub fn decide(
        &mut self,
        decisions: &[(String, Option<Verdict>)],
        now_ms: i64,
    ) -> Result<Tick, StoreError> {
        sys::fail::point("decide.before");
        // Marked first: after a crash before they are resolved, the next start resolves them.
        let names = self.mark_decided(decisions)?;
        sys::fail::point("decide.marked");
        self.ledger.decide(decisions, now_ms, Tick(self.tick.0 + 1))?;
        sys::fail::point("decide.ledger");
        self.resolve(&names)?;
        sys::fail::point("decide.after");
        Ok(self.tick)
    }

    /// Marks the names that decisions are about as dirty; returns their rows.
    fn mark_decided(
        &mut self,
        decisions: &[(String, Option<Verdict>)],
    ) -> Result<Vec<i64>, StoreError> {
        let tx = self.db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        let mut names = Vec::new();
        for (key, _) in decisions {
            // Both names: the direction of the link may have changed since the key was made.
            for norm in key.strip_prefix("link:").into_iter().flat_map(|rest| rest.split('>')) {
                let name: Option<i64> = tx
                    .prepare_cached("SELECT id FROM names WHERE norm = ?1 AND sense = 0")?
                    .query_row([norm], |row| row.get(0))
                    .optional()?;
                if let Some(name) = name {
                    Work::Gather.add(&tx, [name])?;
                    names.push(name);
                }
            }
        }
        tx.commit()?;
        Ok(names)
    }

    /// Returns a number for a new entry, greater than `floor`.
    pub fn next_entry(&self, floor: u64) -> Result<u64, StoreError> {
        self.ledger.next_entry(floor)
    }

    /// Records what tools did to entries; returns the number of each version.
    pub fn record_kb(&self, records: &[KbRecord], now_ms: i64) -> Result<Vec<u64>, StoreError> {
        self.ledger.record_kb(records, now_ms)
    }

    /// Records what tools did to entities.
    pub fn record_memory(&self, events: &[MemoryEvent], now_ms: i64) -> Result<(), StoreError> {
        self.ledger.record_memory(events, now_ms)
    }

    /// Records that a client has seen all changes up to `tick`.
    pub fn keep_mark(&self, client: &str, tick: Tick, now_ms: i64) -> Result<(), StoreError> {
        self.ledger.keep_mark(client, tick, now_ms)
    }

    /// Stores what a caller said about documents. The next commit of each shows it; after a crash before that, the
    /// next start reads them again.
    pub fn record_ingest(
        &self,
        paths: &[RelPath],
        record: &IngestRecord,
    ) -> Result<(), StoreError> {
        sys::fail::point("record.before");
        for path in paths {
            let document = "SELECT id FROM docs WHERE path = ?1";
            Work::Reload.add_selected(&self.db, document, [path.as_str()])?;
        }
        self.ledger.record_ingest(paths, record)?;
        sys::fail::point("record.after");
        Ok(())
    }

    /// Counts the time that the daemon has run, by which the age of what is kept is measured. Due at the start and
    /// every [`OBSERVED_EVERY`](super::OBSERVED_EVERY).
    pub fn observe(&self, now_ms: i64) -> Result<(), StoreError> {
        self.ledger.observe(now_ms)
    }

    /// Resets the failure counts of these files.
    pub fn close_breakers(&self, paths: &[RelPath]) -> Result<(), StoreError> {
        self.ledger.close_breakers(&self.db, paths)
    }

    /// Returns the documents that an incomplete index may lack, with the hash of their content, by path; none if the
    /// index is complete.
    pub fn lost(&self) -> Result<Vec<(RelPath, ContentHash)>, StoreError> {
        if self.is_whole { Ok(Vec::new()) } else { self.ledger.present() }
    }

    /// Marks in the ledger which documents have vanished, once after the start, when everything is settled: a crash
    /// between the two databases, or the loss of an index, may have made them differ. From here on the journal knows
    /// every change.
    pub fn mark_vanished(&mut self, now_ms: i64) -> Result<(), StoreError> {
        if self.is_reconciled {
            return Ok(());
        }
        let tick = self.next_tick()?;
        self.ledger.begin()?;
        let marked = self.mark_in_ledger(tick, now_ms);
        let marked = marked.and_then(|has_changes| self.ledger.commit().map(|()| has_changes));
        if marked.is_err() {
            self.ledger.roll_back();
        }
        let has_changes = marked?;
        super::permalinks::know_gone(&self.db, &self.ledger)?;
        // The ledger has committed. After a crash here the index is not marked as complete, and the next start does
        // all of this again.
        if !self.is_whole {
            let tx = self.db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
            super::journal::mark_whole(&tx)?;
            if has_changes {
                set_meta_number(&tx, "tick", tick.0)?;
                let none = VectorChange::default();
                commit::commit(tx, &self.vectors, &self.changes, tick, none)?;
                self.tick = tick;
            } else {
                tx.commit()?;
            }
            self.is_whole = true;
        }
        self.is_reconciled = true;
        Ok(())
    }

    /// Writes the ledger's part; returns whether the commit `tick` has changes.
    fn mark_in_ledger(&self, tick: Tick, now_ms: i64) -> Result<bool, StoreError> {
        let mut statement = self.db.prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM docs WHERE path = ?1)
                 OR EXISTS (SELECT 1 FROM quarantine WHERE path = ?1)",
        )?;
        // A quarantined file exists, though no row of `docs` says so.
        let is_indexed = |path: &str| Ok(statement.query_row([path], |row| row.get(0))?);
        let (n_wrong, vanished) = self.ledger.mark_vanished(is_indexed, now_ms)?;
        if n_wrong > 0 {
            tracing::info!(n_wrong, "the ledger was brought in line with the index");
        }
        let Some(mut journal) = Journal::begin(&self.db, &self.ledger, tick, now_ms)? else {
            // A first index: everything in it is the baseline.
            self.ledger.begin_journal(self.tick, now_ms)?;
            return Ok(false);
        };
        // Of a complete index, `removed` has recorded every deletion.
        if self.is_whole || vanished.is_empty() {
            return Ok(false);
        }
        journal.vanished(vanished)?;
        journal.end()?;
        Ok(true)
    }
}
