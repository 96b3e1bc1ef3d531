//! Reconcile: writes documents that only the index knows back to the ledger.
//!
//! In: the index as it was opened. Out: a ledger that has each of its documents, with the same uid.
//! Invariants: the ledger wins: it is written first, so where both have a document the index is older; a document is
//! written back only if the ledger has neither its path nor its uid (after a power failure, or when it was lost).

use rusqlite::{Connection, OptionalExtension, params};

use super::{Ledger, StoreError};

impl Ledger {
    /// Compares with the documents of `index`; returns how many were written back.
    pub(in crate::store) fn reconcile(&self, index: &Connection) -> Result<usize, StoreError> {
        let missing = self.missing(index)?;
        if missing.is_empty() {
            return Ok(0);
        }
        let mut n_written = 0;
        self.durably(|tx| {
            for path in &missing {
                n_written += write_back(tx, index, path)?;
            }
            Ok(())
        })?;
        if n_written > 0 {
            tracing::warn!(
                n_documents = n_written,
                "the ledger had lost documents; their uids are written back"
            );
        }
        Ok(n_written)
    }

    /// Returns the paths that only the index has. Merges two sorted lists instead of looking paths up one by one.
    fn missing(&self, index: &Connection) -> Result<Vec<String>, StoreError> {
        let mut ours = self.db.prepare("SELECT path FROM documents ORDER BY path")?;
        let mut ours = ours.query_map([], |row| row.get::<_, String>(0))?;
        let mut theirs = index.prepare("SELECT path FROM docs ORDER BY path")?;
        let theirs = theirs.query_map([], |row| row.get::<_, String>(0))?;
        let mut at = ours.next().transpose()?;
        let mut missing = Vec::new();
        for path in theirs {
            let path = path?;
            while at.as_ref().is_some_and(|ours| *ours < path) {
                at = ours.next().transpose()?;
            }
            if at.as_ref() != Some(&path) {
                missing.push(path);
            }
        }
        Ok(missing)
    }
}

fn write_back(tx: &Connection, index: &Connection, path: &str) -> rusqlite::Result<usize> {
    let row: Option<(String, Vec<u8>, i64)> = index
        .prepare_cached("SELECT uid, hash, mtime_ms FROM docs WHERE path = ?1")?
        .query_row([path], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    let Some((uid, hash, mtime_ms)) = row else { return Ok(0) };
    // `OR IGNORE`: the uid may be at another path of the ledger, which wins. The file's time stands in for the lost
    // first sight.
    tx.prepare_cached(
        "INSERT OR IGNORE INTO documents(path, uid, hash, first_seen_ms) VALUES(?1, ?2, ?3, ?4)",
    )?
    .execute(params![path, uid, hash, mtime_ms])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_ledger_lost_is_written_back() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let ledger = Ledger::open(&folder.path().join("ledger.sqlite")).expect("opens");
        let rows = "INSERT INTO documents(path, uid, hash, first_seen_ms) VALUES
                    ('both.md', 'u-ledger', x'00', 1), ('moved-to.md', 'u-moved', x'00', 1), ('z.md', 'uz', x'00', 1);";
        ledger.db.execute_batch(rows).expect("written");
        let index = Connection::open_in_memory().expect("opens");
        index
            .execute_batch(
                "CREATE TABLE docs(path TEXT, uid TEXT, hash BLOB, mtime_ms INTEGER);
                 INSERT INTO docs VALUES('a.md', 'ua', x'01', 7), ('both.md', 'u-index', x'02', 8),
                   ('moved-from.md', 'u-moved', x'03', 9);",
            )
            .expect("made");
        assert_eq!(ledger.reconcile(&index).expect("reconciled"), 1);
        let mut statement =
            ledger.db.prepare("SELECT path || ' ' || uid FROM documents").expect("sound");
        let rows = statement.query_map([], |row| row.get::<_, String>(0)).expect("rows");
        let rows: Vec<String> = rows.map(|row| row.expect("a row")).collect();
        assert_eq!(rows, ["a.md ua", "both.md u-ledger", "moved-to.md u-moved", "z.md uz"]);
        assert_eq!(ledger.reconcile(&index).expect("reconciled"), 0, "nothing is left to do");
    }
}
