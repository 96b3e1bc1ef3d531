//! The ledger: document uids, data given at ingestion, review decisions, and files that cannot be read.
//!
//! Small, durable, never rebuilt. It is written before the index, and every write is idempotent, so that a crash
//! between the two costs nothing. Statements by a person or an agent are on disk before they are confirmed; uids are
//! synced with the next checkpoint, and those lost in a power failure are written back from the index.

mod backup;
mod breaker;
mod days;
mod enriched;
mod error;
mod identity;
mod journal;
mod kb;
mod memory;
mod migrate;
mod reconcile;
mod removal;
mod vanished;

use std::cell::Cell;
use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use rusqlite::{Connection, OptionalExtension, params};
use sha2::{Digest, Sha256};

use super::StoreError;
use model::terms::{RelPath, Tick, norm_of};

pub(crate) use backup::read_copy;
pub use backup::{
    Backup, Checkup, Restored, back_up, bring_back, check as check_backup, check_up, restore,
};
pub use backup::{is_sound, rewrite_copy};
pub use breaker::{Breakers, Failing};
pub use days::{OBSERVED_EVERY, written_before};
pub use enriched::{Enriched, Reading};
pub use error::LedgerError;
pub use identity::uid_of;
pub use journal::{ChangeLedger, ChangedLine, DocChange, DocVersion, JournalStart, LineKind};
pub use kb::{IngestedFile, KbFacts, KbLedger, KbRecord, KbVersion, NewVersion};
pub use memory::{EventCounts, LastWrites, MemoryEvent, MemoryLedger, Operation};
pub(super) use migrate::check as check_file;
pub use removal::{Removal, detectors, removed_ms, scrubbed_by};

/// Bytes of a content hash in the key of a decision.
const KEY_BYTES: usize = 8;

/// A person's decision about an extracted fact or link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is right.
    Accepted,
    /// It is wrong.
    Rejected,
}

/// Data given when a tool ingested a document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IngestRecord {
    /// Tags to add to it.
    pub tags: Vec<String>,
    /// Its source.
    pub source_url: Option<String>,
}

/// Versions of one decision that are kept for readers of older commits.
const MAX_VERSIONS: usize = 16;

/// The decisions about one item, oldest first, each with the first tick that shows it; `None` where one was revoked.
type Versions = Vec<(Tick, Option<Verdict>)>;

/// Every review decision, shared with the read path.
#[derive(Clone, Default)]
pub struct Decisions {
    by_key: Arc<RwLock<HashMap<String, Versions>>>,
    /// For each norm in a decision about two names, the other norms.
    compared: Arc<RwLock<HashMap<String, BTreeSet<String>>>>,
}

/// The decisions visible at one commit.
#[derive(Clone, Copy)]
pub struct DecisionsAt<'a> {
    all: &'a Decisions,
    tick: Tick,
}

impl Decisions {
    /// Returns the last decision about the item with this key.
    pub fn get(&self, key: &str) -> Option<Verdict> {
        self.at(Tick(u64::MAX)).get(key)
    }

    /// Returns the decisions as of `tick`: a reply must not show one that is newer than the commit it reads.
    pub fn at(&self, tick: Tick) -> DecisionsAt<'_> {
        DecisionsAt { all: self, tick }
    }

    fn set(&self, key: &str, verdict: Option<Verdict>, since: Tick) {
        let mut all = self.by_key.write().unwrap_or_else(PoisonError::into_inner);
        let versions = all.entry(key.to_string()).or_default();
        versions.push((since, verdict));
        let n_old = versions.len().saturating_sub(MAX_VERSIONS);
        versions.drain(..n_old);
        if let Some((a, b)) = key.strip_prefix("link:").and_then(|norms| norms.split_once('>')) {
            let mut compared = self.compared.write().unwrap_or_else(PoisonError::into_inner);
            compared.entry(a.to_string()).or_default().insert(b.to_string());
            compared.entry(b.to_string()).or_default().insert(a.to_string());
        }
    }

    /// Returns the keys of all decisions in force.
    pub(in crate::store) fn keys(&self) -> Vec<String> {
        let all = self.by_key.read().unwrap_or_else(PoisonError::into_inner);
        let is_in_force = |versions: &Versions| versions.last().is_some_and(|it| it.1.is_some());
        all.iter().filter(|(_, it)| is_in_force(it)).map(|(key, _)| key.clone()).collect()
    }

    /// Returns the norms that a person has ever compared with this one.
    pub fn compared_with(&self, norm: &str) -> Vec<String> {
        let compared = self.compared.read().unwrap_or_else(PoisonError::into_inner);
        compared.get(norm).into_iter().flatten().cloned().collect()
    }
}

impl DecisionsAt<'_> {
    /// Returns the decision about the item with this key.
    pub fn get(&self, key: &str) -> Option<Verdict> {
        let all = self.all.by_key.read().unwrap_or_else(PoisonError::into_inner);
        let (_, verdict) = all.get(key)?.iter().rev().find(|(since, _)| *since <= self.tick)?;
        *verdict
    }

    /// Returns whether no decision was ever made.
    pub fn is_empty(&self) -> bool {
        self.all.by_key.read().unwrap_or_else(PoisonError::into_inner).is_empty()
    }
}

/// The open ledger.
pub struct Ledger {
    db: Connection,
    decisions: Decisions,
    breakers: Breakers,
    observed: Cell<Option<days::Observed>>,
}

impl Ledger {
    /// Opens the ledger; creates or migrates it as needed.
    ///
    /// # Errors
    /// [`LedgerError`] when it is damaged or newer than this program; then nothing was written.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let ledger = Ledger {
            db: migrate::open(path)?,
            decisions: Decisions::default(),
            breakers: Breakers::default(),
            observed: Cell::default(),
        };
        ledger.load_decisions()?;
        Ok(ledger)
    }

    /// Continues in another file, at `to`, because the one at `lost` is lost; decisions in memory stay.
    pub(in crate::store) fn stand_in(&mut self, lost: &Path, to: &Path) -> Result<(), StoreError> {
        // The connection still reads the deleted file: the copy keeps what the newest backup lacks.
        if let Err(error) = backup::rescue(&self.db, lost) {
            tracing::warn!(%error, "the lost ledger could not be copied");
        }
        if let Some(best) = backup::best(lost) {
            backup::copy(&super::open::plain_reader(&best)?, to, true)?;
        }
        self.db = migrate::open(to)?;
        Ok(())
    }

    fn load_decisions(&self) -> Result<(), StoreError> {
        let mut statement = self.db.prepare("SELECT key, verdict FROM decisions")?;
        let rows =
            statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?)))?;
        for row in rows {
            let (key, number) = row?;
            let verdict = if number > 0 { Verdict::Accepted } else { Verdict::Rejected };
            self.decisions.set(&key, Some(verdict), Tick(0));
        }
        Ok(())
    }

    /// Returns the connection, for rows of tables that another module owns.
    pub(in crate::store) fn db(&self) -> &Connection {
        &self.db
    }

    /// Empties the page cache.
    pub(in crate::store) fn release_memory(&self) -> Result<(), StoreError> {
        Ok(self.db.release_memory()?)
    }

    /// Starts a batch of writes.
    pub(in crate::store) fn begin(&self) -> Result<(), StoreError> {
        Ok(self.db.execute_batch("BEGIN IMMEDIATE")?)
    }

    /// Commits the batch.
    pub(in crate::store) fn commit(&self) -> Result<(), StoreError> {
        Ok(self.db.execute_batch("COMMIT")?)
    }

    /// Rolls the batch back after an error.
    pub(in crate::store) fn roll_back(&self) {
        // Some errors have ended the transaction already.
        if !self.db.is_autocommit()
            && let Err(error) = self.db.execute_batch("ROLLBACK")
        {
            tracing::warn!(%error, "cannot roll back the ledger's transaction");
        }
    }

    /// Runs one transaction that is on disk when this returns.
    fn durably(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<()>,
    ) -> Result<(), StoreError> {
        // In WAL mode only `FULL` syncs the log at every commit.
        self.db.execute_batch("PRAGMA synchronous = FULL")?;
        let tx = self.db.unchecked_transaction()?;
        let done = work(&tx).and_then(|()| tx.commit());
        self.db.execute_batch("PRAGMA synchronous = NORMAL")?;
        Ok(done?)
    }

    /// Stores what a caller said about documents; paths without a document are ignored.
    pub fn record_ingest(
        &self,
        paths: &[RelPath],
        record: &IngestRecord,
    ) -> Result<(), StoreError> {
        let tags = serde_json::to_string(&record.tags).unwrap_or_default();
        self.durably(|tx| {
            let mut statement = tx.prepare_cached(
                "INSERT INTO ingested SELECT uid, ?2, ?3 FROM documents WHERE path = ?1
                 ON CONFLICT(uid) DO UPDATE SET tags = excluded.tags, source_url = excluded.source_url",
            )?;
            for path in paths {
                statement.execute(params![path.as_str(), tags, record.source_url])?;
            }
            Ok(())
        })
    }

    /// Returns what a caller said about the document with this uid.
    pub(in crate::store) fn ingest_record(&self, uid: &str) -> Result<IngestRecord, StoreError> {
        let row: Option<(String, Option<String>)> = self
            .db
            .prepare_cached("SELECT tags, source_url FROM ingested WHERE uid = ?1")?
            .query_row([uid], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        let (tags, source_url) = row.unwrap_or_default();
        Ok(IngestRecord { tags: serde_json::from_str(&tags).unwrap_or_default(), source_url })
    }

    /// Returns every decision, kept current.
    pub fn decisions(&self) -> &Decisions {
        &self.decisions
    }

    /// Writes or revokes decisions in one transaction; the commit `since` will show them.
    pub fn decide(
        &self,
        decisions: &[(String, Option<Verdict>)],
        now_ms: i64,
        since: Tick,
    ) -> Result<(), StoreError> {
        self.durably(|tx| {
            for (key, verdict) in decisions {
                match verdict {
                    None => tx.execute("DELETE FROM decisions WHERE key = ?1", [key])?,
                    Some(verdict) => tx.execute(
                        "INSERT INTO decisions VALUES(?1, ?2, ?3) ON CONFLICT(key)
                         DO UPDATE SET verdict = excluded.verdict, decided_ms = excluded.decided_ms",
                        params![key, if *verdict == Verdict::Accepted { 1 } else { -1 }, now_ms],
                    )?,
                };
            }
            Ok(())
        })?;
        decisions.iter().for_each(|(key, verdict)| self.decisions.set(key, *verdict, since));
        Ok(())
    }
}

/// Returns the key of a decision about linking one name to another: by norm, so that it survives rebuilds.
pub fn link_key(norm: &str, to_norm: &str) -> String {
    format!("link:{norm}>{to_norm}")
}

/// Returns the key of a decision about a relation: each party by its norm, or as [`note_party`] if it is a note, so
/// that it survives rebuilds. A norm in the place of a note, as in older decisions, means all things of that name.
pub fn relation_key(subject: &str, predicate: &str, object: &str) -> String {
    format!("relation:{subject}>{predicate}>{object}")
}

/// Returns a note's form in a [`relation_key`] or an [`observation_key`], which survives moves. No norm contains an
/// `@`.
pub fn note_party(uid: &str) -> String {
    format!("@{uid}")
}

/// Returns the key of a decision about a fact that the note `uid` states: by its words, so that it survives rebuilds
/// and moves. Another wording is another fact. Without a note, as in older decisions, it means the fact in any note.
pub fn observation_key(uid: Option<&str>, category: &str, content: &str) -> String {
    let digest = Sha256::digest(content.as_bytes());
    let hash: String = digest.iter().take(KEY_BYTES).map(|byte| format!("{byte:02x}")).collect();
    let note = uid.map(|uid| note_party(uid) + ">").unwrap_or_default();
    format!("observation:{note}{}>{hash}", norm_of(category))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open() -> (tempfile::TempDir, Ledger) {
        let folder = tempfile::tempdir().expect("temporary folder");
        let ledger = Ledger::open(&folder.path().join("ledger.sqlite")).expect("opens");
        (folder, ledger)
    }

    #[test]
    fn decisions_last_and_can_be_taken_back() {
        let (folder, ledger) = open();
        let key = || "link:a>b".to_string();
        ledger.decide(&[(key(), Some(Verdict::Rejected))], 1, Tick(1)).expect("written");
        drop(ledger);
        let again = Ledger::open(&folder.path().join("ledger.sqlite")).expect("opens");
        assert_eq!(again.decisions().get("link:a>b"), Some(Verdict::Rejected));
        again.decide(&[(key(), None)], 2, Tick(2)).expect("written");
        assert_eq!(again.decisions().get("link:a>b"), None);
    }

    #[test]
    fn a_commit_shows_the_decisions_that_came_before_it() {
        let decisions = Decisions::default();
        for tick in 1..=20 {
            let verdict = [Some(Verdict::Rejected), None][tick as usize % 2];
            decisions.set("link:a>b", verdict, Tick(tick * 10));
        }
        let at = |tick| decisions.at(Tick(tick)).get("link:a>b");
        assert_eq!((at(199), at(200), at(300)), (None, Some(Verdict::Rejected), at(u64::MAX)));
        assert_eq!((at(189), at(190)), (Some(Verdict::Rejected), None));
        assert_eq!(at(5), None);
    }
}
