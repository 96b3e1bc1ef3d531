//! Identity: decides which uid a document has.
//!
//! A uid follows a document that moved, then the path, then equal content; the uid of a vanished document is kept for
//! 30 days that a daemon ran. When a document arrives at the path of another, the two exchange places: the other is
//! recorded at the old path, as vanished until a file is read there. So no uid is lost, and asking twice (after a
//! crash) gives the same answer.

use std::path::Path;

use rusqlite::{OptionalExtension, params};

use super::{DocVersion, Ledger, StoreError};
use crate::store::open;
use model::terms::{ContentHash, RelPath};

/// How long a vanished document's uid is kept for its return, days that a daemon ran (`days.rs`).
const UID_DAYS: u16 = 30;

/// One document in the ledger.
struct LedgerDocument {
    path: String,
    uid: String,
    hash: Vec<u8>,
    first_seen_ms: i64,
    is_gone: bool,
}

impl LedgerDocument {
    fn version(&self) -> Option<DocVersion> {
        let version = || DocVersion { path: self.path.clone(), hash: self.hash.clone() };
        (!self.is_gone).then(version)
    }
}

impl Ledger {
    /// Returns the uid of the document at `path`: that of the document that was at `moved_from`, else the one the
    /// path has, else that of a vanished document with equal content (ties by path), else a new one. A vanished
    /// document that was at the path returns there, unless another one vanished with exactly this content. Also
    /// returns the last known version of the document, unless it had vanished.
    pub(in crate::store) fn identify(
        &self,
        path: &RelPath,
        hash: ContentHash,
        moved_from: Option<&RelPath>,
        now_ms: i64,
    ) -> Result<(String, Option<DocVersion>), StoreError> {
        let hash = hash.0.to_le_bytes();
        let here = self.entry_at(path.as_str())?;
        let is_same = |entry: &LedgerDocument| entry.hash == hash;
        // Asked before (a crash in between, or no change): a move that was reported then must not be applied twice.
        let is_settled = here.as_ref().is_some_and(|entry| !entry.is_gone && is_same(entry));
        let came = match moved_from {
            _ if is_settled => None,
            // A document that vanished there with other content is not the one that moved.
            Some(from) => {
                self.entry_at(from.as_str())?.filter(|entry| !entry.is_gone || is_same(entry))
            }
            None if here.as_ref().is_some_and(|entry| !entry.is_gone || is_same(entry)) => None,
            None => self.vanished_like(&hash)?,
        };
        // A document comes from elsewhere.
        if let Some(came) = came.filter(|came| came.path != path.as_str()) {
            let known = (came.uid.clone(), came.version());
            self.exchange(path, came, here, &hash, now_ms)?;
            return Ok(known);
        }
        if let Some(here) = here {
            self.db
                .prepare_cached("UPDATE documents SET hash = ?2, gone_ms = NULL WHERE path = ?1")?
                .execute(params![path.as_str(), hash])?;
            let version = here.version();
            return Ok((here.uid, version));
        }
        let uid = new_uid(path, now_ms);
        self.insert(path.as_str(), &uid, &hash, now_ms, None)?;
        Ok((uid, None))
    }

    /// Returns the uid alone.
    #[cfg(test)]
    pub(in crate::store) fn uid_for(
        &self,
        path: &RelPath,
        hash: ContentHash,
        moved_from: Option<&RelPath>,
        now_ms: i64,
    ) -> Result<String, StoreError> {
        Ok(self.identify(path, hash, moved_from, now_ms)?.0)
    }

    /// Returns the uid and last known version of the document at `path`; `None` if there is no document.
    pub(in crate::store) fn version_at(
        &self,
        path: &RelPath,
    ) -> Result<Option<(String, DocVersion)>, StoreError> {
        let entry = self.entry_at(path.as_str())?;
        Ok(entry.and_then(|it| it.version().map(|version| (it.uid, version))))
    }

    /// Returns when the document at `path` was first seen, milliseconds since 1970; `None` if there is no document.
    pub(in crate::store) fn first_seen_ms(
        &self,
        path: &RelPath,
    ) -> Result<Option<i64>, StoreError> {
        let entry = self.entry_at(path.as_str())?;
        Ok(entry.filter(|entry| !entry.is_gone).map(|entry| entry.first_seen_ms))
    }

    /// Records that the document `came` is at `path` now; the one that was there gets the old path, as vanished.
    fn exchange(
        &self,
        path: &RelPath,
        came: LedgerDocument,
        here: Option<LedgerDocument>,
        hash: &[u8],
        now_ms: i64,
    ) -> Result<(), StoreError> {
        // Both rows first: paths and uids are unique.
        self.db
            .prepare_cached("DELETE FROM documents WHERE path IN (?1, ?2)")?
            .execute([came.path.as_str(), path.as_str()])?;
        self.insert(path.as_str(), &came.uid, hash, came.first_seen_ms, None)?;
        if let Some(here) = here {
            let LedgerDocument { uid, hash, first_seen_ms, .. } = &here;
            self.insert(&came.path, uid, hash, *first_seen_ms, Some(now_ms))?;
        }
        Ok(())
    }

    fn entry_at(&self, path: &str) -> Result<Option<LedgerDocument>, StoreError> {
        Ok(self
            .db
            .prepare_cached(
                "SELECT path, uid, hash, first_seen_ms, gone_ms IS NOT NULL FROM documents WHERE path = ?1",
            )?
            .query_row([path], read_entry)
            .optional()?)
    }

    fn vanished_like(&self, hash: &[u8]) -> Result<Option<LedgerDocument>, StoreError> {
        let before = self.written_before(UID_DAYS)?.unwrap_or(i64::MIN);
        Ok(self
            .db
            .prepare_cached(
                "SELECT path, uid, hash, first_seen_ms, 1 FROM documents
                 WHERE hash = ?1 AND gone_ms >= ?2 ORDER BY path LIMIT 1",
            )?
            .query_row(params![hash, before], read_entry)
            .optional()?)
    }

    fn insert(
        &self,
        path: &str,
        uid: &str,
        hash: &[u8],
        first_seen_ms: i64,
        gone_ms: Option<i64>,
    ) -> Result<(), StoreError> {
        self.db
            .prepare_cached(
                "INSERT INTO documents(path, uid, hash, first_seen_ms, gone_ms)
                 VALUES(?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(params![path, uid, hash, first_seen_ms, gone_ms])?;
        Ok(())
    }

    /// Marks the document at `path` as vanished; its uid is kept.
    pub(in crate::store) fn mark_gone(
        &self,
        path: &RelPath,
        now_ms: i64,
    ) -> Result<(), StoreError> {
        self.db
            .prepare_cached(
                "UPDATE documents SET gone_ms = ?2 WHERE path = ?1 AND gone_ms IS NULL",
            )?
            .execute(params![path.as_str(), now_ms])?;
        Ok(())
    }
}

/// Returns the uid of the document at `path`, if the ledger in `state_dir` knows it there with exactly this content:
/// otherwise another document may have come to the path, and nobody has read it yet.
pub fn uid_of(state_dir: &Path, path: &str, hash: ContentHash) -> Option<String> {
    let db = open::plain_reader(&open::ledger_to_read(state_dir)).ok()?;
    let sql = "SELECT uid FROM documents WHERE path = ?1 AND hash = ?2 AND gone_ms IS NULL";
    db.query_row(sql, params![path, hash.0.to_le_bytes()], |row| row.get(0)).ok()
}

fn read_entry(row: &rusqlite::Row<'_>) -> rusqlite::Result<LedgerDocument> {
    Ok(LedgerDocument {
        path: row.get(0)?,
        uid: row.get(1)?,
        hash: row.get(2)?,
        first_seen_ms: row.get(3)?,
        is_gone: row.get(4)?,
    })
}

/// Returns a unique uid: 16 hexadecimal digits from path, time, process and a counter.
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
        const DAY_MS: i64 = 24 * 3600 * 1000;
        // A clock that is 60 days ahead is no 60 days.
        ledger.count_days(50, None).expect("counted");
        ledger.count_days(60 * DAY_MS, None).expect("counted");
        assert_eq!(
            ledger.uid_for(&path("c.md"), ContentHash(1), None, 60 * DAY_MS).expect("uid"),
            first
        );
        ledger.mark_gone(&path("c.md"), 60 * DAY_MS).expect("marked");
        ledger.count_days(100 * DAY_MS, Some(40 * DAY_MS)).expect("counted");
        let late = ledger.uid_for(&path("d.md"), ContentHash(1), None, 100 * DAY_MS);
        assert_ne!(late.expect("uid"), first);
    }

    #[test]
    fn documents_that_meet_exchange_places_and_none_is_forgotten() {
        let (_folder, ledger) = open();
        let uid = |to: &str, hash: u128, from: Option<&str>, ms: i64| {
            let from = from.map(path);
            ledger.uid_for(&path(to), ContentHash(hash), from.as_ref(), ms).expect("uid")
        };
        let (a, b) = (uid("a.md", 1, None, 10), uid("b.md", 2, None, 10));
        // Two names are swapped; the second half still finds its document. A repetition after a crash changes nothing.
        assert_eq!(uid("b.md", 1, Some("a.md"), 20), a);
        assert_eq!(uid("b.md", 1, Some("a.md"), 20), a);
        assert_eq!(uid("a.md", 2, None, 20), b);
        // One is renamed over the other: the other waits, and returns with its content. An edit that overtook the
        // rename names its origin again, which changes nothing.
        assert_eq!(uid("a.md", 1, Some("b.md"), 30), a);
        assert_eq!(uid("a.md", 9, Some("b.md"), 30), a);
        assert_eq!(uid("c.md", 2, None, 40), b);
        assert_eq!(ledger.first_seen_ms(&path("c.md")).expect("reads"), Some(10));
        // A path gets its deleted document back, unless another deleted document has this content.
        ledger.mark_gone(&path("a.md"), 50).expect("marked");
        ledger.mark_gone(&path("c.md"), 50).expect("marked");
        assert_eq!(uid("a.md", 2, None, 60), b);
        assert_eq!(uid("c.md", 7, None, 60), a, "it waits where the other was");
    }
}
