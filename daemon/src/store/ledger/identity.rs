//! Identity: which uid a document has.
//!
//! A uid follows the path, a rename that was seen, then equal content; one of a vanished document waits 30 days.
//! Not here: finding out that a file was renamed (`pipeline/watch/`).

use rusqlite::{OptionalExtension, params};

use super::{Ledger, StoreError};
use crate::terms::{ContentHash, RelPath};

/// How long a vanished document's uid waits for its return, milliseconds (design.md: 30 days).
const UID_KEPT_MS: i64 = 30 * 24 * 3600 * 1000;

impl Ledger {
    /// The uid of the document at `path`: the one it has, the one it had under `moved_from`, the one of a vanished
    /// document of equal content (ties by path), or a new one.
    pub(in crate::store) fn uid_for(
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
            .prepare_cached(
                "INSERT INTO documents(path, uid, hash, first_seen_ms) VALUES(?1, ?2, ?3, ?4)",
            )?
            .execute(params![path.as_str(), uid, hash, now_ms])?;
        Ok(())
    }

    /// Notes that the document at `path` is gone; its uid waits.
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
}
