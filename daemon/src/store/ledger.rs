//! The ledger: document uids, what callers said at ingestion, and review decisions.
//!
//! Small, durable, never rebuilt. It is written before the index, and every write is idempotent, so that a crash
//! between the two costs nothing.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use rusqlite::{Connection, OptionalExtension, params};

use super::StoreError;
use crate::terms::{ContentHash, RelPath};

/// How long a vanished document's uid waits for its return, milliseconds (design.md: 30 days).
const UID_KEPT_MS: i64 = 30 * 24 * 3600 * 1000;

/// A person's decision about a reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is right.
    Accepted,
    /// It is wrong.
    Rejected,
}

/// What was said when a document was ingested by a tool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IngestRecord {
    /// Tags to keep with it.
    pub tags: Vec<String>,
    /// Where it came from.
    pub source_url: Option<String>,
}

/// Every review decision, shared with those who answer questions.
#[derive(Clone, Default)]
pub struct Decisions(Arc<RwLock<HashMap<String, Verdict>>>);

impl Decisions {
    /// What a person decided about the item with this key.
    pub fn get(&self, key: &str) -> Option<Verdict> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(key).copied()
    }

    /// True when nobody decided anything yet.
    pub fn is_empty(&self) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    fn set(&self, key: &str, verdict: Option<Verdict>) {
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        match verdict {
            Some(verdict) => all.insert(key.to_string(), verdict),
            None => all.remove(key),
        };
    }
}

/// The open ledger.
pub struct Ledger {
    db: Connection,
    decisions: Decisions,
}

impl Ledger {
    /// Opens or creates it.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let ledger = Ledger { db: super::open::ledger(path)?, decisions: Decisions::default() };
        ledger.load_decisions()?;
        Ok(ledger)
    }

    fn load_decisions(&self) -> Result<(), StoreError> {
        let mut statement = self.db.prepare("SELECT key, verdict FROM decisions")?;
        let rows =
            statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?)))?;
        for row in rows {
            let (key, number) = row?;
            let verdict = if number > 0 { Verdict::Accepted } else { Verdict::Rejected };
            self.decisions.set(&key, Some(verdict));
        }
        Ok(())
    }

    /// Begins a batch of writes.
    pub(super) fn begin(&self) -> Result<(), StoreError> {
        Ok(self.db.execute_batch("BEGIN IMMEDIATE")?)
    }

    /// Makes the batch durable.
    pub(super) fn commit(&self) -> Result<(), StoreError> {
        Ok(self.db.execute_batch("COMMIT")?)
    }

    /// The uid of the document at `path`: the one it has, the one it had under `moved_from`, the one of a vanished
    /// document of equal content (ties by path), or a new one.
    pub(super) fn uid_for(
        &self,
        path: &RelPath,
        hash: ContentHash,
        moved_from: Option<&RelPath>,
        now_ms: i64,
    ) -> Result<String, StoreError> {
        let hash_bytes = hash.0.to_le_bytes();
        let known: Option<String> = self
            .db
            .prepare_cached("SELECT uid FROM documents WHERE path = ?1")?
            .query_row([path.as_str()], |row| row.get(0))
            .optional()?;
        if let (Some(uid), None) = (&known, moved_from) {
            self.db
                .prepare_cached("UPDATE documents SET hash = ?2, gone_ms = NULL WHERE path = ?1")?
                .execute(params![path.as_str(), hash_bytes])?;
            return Ok(uid.clone());
        }
        let inherited = match moved_from {
            Some(from) => self.uid_at(from)?,
            None => self.vanished_like(&hash_bytes, now_ms)?,
        };
        if let Some((old_path, uid)) = inherited {
            self.db.execute(
                "DELETE FROM documents WHERE path IN (?1, ?2)",
                [&old_path, path.as_str()],
            )?;
            self.insert(path, &uid, &hash_bytes, now_ms)?;
            return Ok(uid);
        }
        if let Some(uid) = known {
            return Ok(uid);
        }
        let uid = new_uid(path, now_ms);
        self.insert(path, &uid, &hash_bytes, now_ms)?;
        Ok(uid)
    }

    fn uid_at(&self, path: &RelPath) -> Result<Option<(String, String)>, StoreError> {
        Ok(self
            .db
            .prepare_cached("SELECT path, uid FROM documents WHERE path = ?1")?
            .query_row([path.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?)
    }

    fn vanished_like(
        &self,
        hash: &[u8],
        now_ms: i64,
    ) -> Result<Option<(String, String)>, StoreError> {
        Ok(self
            .db
            .prepare_cached(
                "SELECT path, uid FROM documents WHERE hash = ?1 AND gone_ms > ?2 ORDER BY path LIMIT 1",
            )?
            .query_row(params![hash, now_ms - UID_KEPT_MS], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?)
    }

    fn insert(
        &self,
        path: &RelPath,
        uid: &str,
        hash: &[u8],
        now_ms: i64,
    ) -> Result<(), StoreError> {
        self.db
            .prepare_cached("INSERT INTO documents VALUES(?1, ?2, ?3, ?4, NULL)")?
            .execute(params![path.as_str(), uid, hash, now_ms])?;
        Ok(())
    }

    /// Notes that the document at `path` is gone; its uid waits.
    pub(super) fn mark_gone(&self, path: &RelPath, now_ms: i64) -> Result<(), StoreError> {
        self.db
            .prepare_cached(
                "UPDATE documents SET gone_ms = ?2 WHERE path = ?1 AND gone_ms IS NULL",
            )?
            .execute(params![path.as_str(), now_ms])?;
        Ok(())
    }

    /// Remembers what a caller said about a document.
    pub fn record_ingest(&self, path: &RelPath, record: &IngestRecord) -> Result<(), StoreError> {
        let tags = serde_json::to_string(&record.tags).unwrap_or_default();
        self.db.execute(
            "INSERT INTO ingested SELECT uid, ?2, ?3 FROM documents WHERE path = ?1
             ON CONFLICT(uid) DO UPDATE SET tags = excluded.tags, source_url = excluded.source_url",
            params![path.as_str(), tags, record.source_url],
        )?;
        Ok(())
    }

    /// What a caller said about the document with this uid.
    pub(super) fn ingest_record(&self, uid: &str) -> Result<IngestRecord, StoreError> {
        let row: Option<(String, Option<String>)> = self
            .db
            .prepare_cached("SELECT tags, source_url FROM ingested WHERE uid = ?1")?
            .query_row([uid], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        let (tags, source_url) = row.unwrap_or_default();
        Ok(IngestRecord { tags: serde_json::from_str(&tags).unwrap_or_default(), source_url })
    }

    /// Every decision, kept current.
    pub fn decisions(&self) -> &Decisions {
        &self.decisions
    }

    /// Writes or takes back a decision.
    pub fn decide(
        &self,
        key: &str,
        verdict: Option<Verdict>,
        now_ms: i64,
    ) -> Result<(), StoreError> {
        match verdict {
            None => {
                self.db.execute("DELETE FROM decisions WHERE key = ?1", [key])?;
            }
            Some(verdict) => {
                let number = if verdict == Verdict::Accepted { 1 } else { -1 };
                self.db.execute(
                    "INSERT INTO decisions VALUES(?1, ?2, ?3)
                     ON CONFLICT(key) DO UPDATE SET verdict = excluded.verdict, decided_ms = excluded.decided_ms",
                    params![key, number, now_ms],
                )?;
            }
        }
        self.decisions.set(key, verdict);
        Ok(())
    }
}

/// The key under which a decision about linking one name to another is kept: by norm, so that it survives rebuilds.
pub fn link_key(norm: &str, to_norm: &str) -> String {
    format!("link:{norm}>{to_norm}")
}

/// The key under which a decision about a relation is kept: by norms, so that it survives rebuilds.
pub fn relation_key(subject_norm: &str, predicate: &str, object_norm: &str) -> String {
    format!("relation:{subject_norm}>{predicate}>{object_norm}")
}

/// A uid nobody has: 16 hexadecimal digits from path, time, process and a counter.
fn new_uid(path: &RelPath, now_ms: i64) -> String {
    static COUNTER: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    let n = COUNTER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let seed = format!("{path}\0{now_ms}\0{}\0{n}", std::process::id());
    format!("{:016x}", xxhash_rust::xxh3::xxh3_64(seed.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open() -> (tempfile::TempDir, Ledger) {
        let folder = tempfile::tempdir().expect("temporary folder");
        let ledger = Ledger::open(&folder.path().join("ledger.sqlite")).expect("opens");
        (folder, ledger)
    }

    fn path(text: &str) -> RelPath {
        RelPath::new(text)
    }

    #[test]
    fn a_document_keeps_its_uid_when_edited_and_renamed() {
        let (_folder, ledger) = open();
        let first = ledger.uid_for(&path("a.md"), ContentHash(1), None, 10).expect("uid");
        assert_eq!(ledger.uid_for(&path("a.md"), ContentHash(2), None, 20).expect("uid"), first);
        let moved = ledger.uid_for(&path("b.md"), ContentHash(2), Some(&path("a.md")), 30);
        assert_eq!(moved.expect("uid"), first);
        assert_ne!(ledger.uid_for(&path("a.md"), ContentHash(3), None, 40).expect("uid"), first);
    }

    #[test]
    fn a_vanished_document_of_equal_content_comes_back_as_itself_for_30_days() {
        let (_folder, ledger) = open();
        let first = ledger.uid_for(&path("a.md"), ContentHash(1), None, 10).expect("uid");
        ledger.mark_gone(&path("a.md"), 20).expect("marked");
        assert_eq!(ledger.uid_for(&path("c.md"), ContentHash(1), None, 30).expect("uid"), first);
        ledger.mark_gone(&path("c.md"), 40).expect("marked");
        let late = ledger.uid_for(&path("d.md"), ContentHash(1), None, 50 + UID_KEPT_MS);
        assert_ne!(late.expect("uid"), first);
    }

    #[test]
    fn decisions_last_and_can_be_taken_back() {
        let (folder, ledger) = open();
        ledger.decide("link:a>b", Some(Verdict::Rejected), 1).expect("written");
        drop(ledger);
        let again = Ledger::open(&folder.path().join("ledger.sqlite")).expect("opens");
        assert_eq!(again.decisions().get("link:a>b"), Some(Verdict::Rejected));
        again.decide("link:a>b", None, 2).expect("written");
        assert_eq!(again.decisions().get("link:a>b"), None);
    }
}
