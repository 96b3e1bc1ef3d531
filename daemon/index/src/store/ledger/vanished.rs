//! Vanished: makes the ledger agree with the index on which documents exist, and keeps the addresses of those that do
//! not.
//!
//! In: which documents are indexed, once everything is settled after a start. Out: rows marked as vanished, or as
//! present.
//! Invariant: no row is deleted; a document that is marked by mistake gets its uid back when its file is read.

use rusqlite::{Connection, OptionalExtension, params};

use super::{DocVersion, Ledger, StoreError};
use crate::store::permalinks::GoneDocument;
use model::terms::{ContentHash, RelPath};

impl Ledger {
    /// Records the permalink of a document that is about to be marked as vanished: no other may state it for 30 days.
    pub(in crate::store) fn keep_permalink(
        &self,
        index: &Connection,
        path: &RelPath,
    ) -> Result<(), StoreError> {
        let sql =
            "SELECT n.permalink FROM notes n JOIN docs d ON d.id = n.doc_id WHERE d.path = ?1";
        let mut statement = index.prepare_cached(sql)?;
        let permalink: Option<Option<String>> =
            statement.query_row([path.as_str()], |row| row.get(0)).optional()?;
        self.db
            .prepare_cached("UPDATE documents SET permalink = ?2 WHERE path = ?1")?
            .execute(params![path.as_str(), permalink.flatten()])?;
        Ok(())
    }

    /// Returns the documents that vanished, or moved away from where nothing is now, later than this, milliseconds
    /// since 1970; of one path the last one comes last.
    pub(in crate::store) fn gone_since(
        &self,
        since_ms: i64,
    ) -> Result<Vec<GoneDocument>, StoreError> {
        let sql = "SELECT path, uid, permalink, gone_ms FROM documents WHERE gone_ms > ?1
                   UNION ALL SELECT was_path, uid, NULL, at_ms FROM changes
                     WHERE at_ms > ?1 AND was_path <> ifnull(path, '')
                       AND was_path NOT IN (SELECT path FROM documents)
                   ORDER BY 4";
        let mut statement = self.db.prepare_cached(sql)?;
        let rows = statement.query_map([since_ms], |row| {
            Ok(GoneDocument {
                path: row.get(0)?,
                uid: row.get(1)?,
                permalink: row.get(2)?,
                gone_ms: row.get(3)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Returns the documents that have not vanished, by path.
    pub(in crate::store) fn present(&self) -> Result<Vec<(RelPath, ContentHash)>, StoreError> {
        let sql = "SELECT path, hash FROM documents WHERE gone_ms IS NULL ORDER BY path";
        let mut statement = self.db.prepare(sql)?;
        let rows = statement.query_map([], |row| {
            let hash = ContentHash(u128::from_le_bytes(row.get(1)?));
            Ok((RelPath::new(row.get::<_, String>(0)?), hash))
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Marks documents that are not indexed as vanished (their files were removed while no index had them), and
    /// indexed ones as present. Returns how many rows were wrong, and the documents that vanished.
    pub(in crate::store) fn mark_vanished(
        &self,
        mut is_indexed: impl FnMut(&str) -> Result<bool, StoreError>,
        now_ms: i64,
    ) -> Result<(usize, Vec<(String, DocVersion)>), StoreError> {
        let mut statement =
            self.db.prepare("SELECT path, gone_ms IS NOT NULL, uid, hash FROM documents")?;
        let mut rows = statement.query([])?;
        let mut wrong: Vec<(String, Option<i64>)> = Vec::new();
        let mut vanished = Vec::new();
        while let Some(row) = rows.next()? {
            let (path, is_gone): (String, bool) = (row.get(0)?, row.get(1)?);
            // Indexed and vanished, or neither: the row is wrong.
            if is_indexed(&path)? == is_gone {
                if !is_gone {
                    let version = DocVersion { path: path.clone(), hash: row.get(3)? };
                    vanished.push((row.get(2)?, version));
                }
                wrong.push((path, (!is_gone).then_some(now_ms)));
            }
        }
        drop(rows);
        let mut update = self.db.prepare("UPDATE documents SET gone_ms = ?2 WHERE path = ?1")?;
        for (path, gone_ms) in &wrong {
            update.execute(params![path, gone_ms])?;
        }
        Ok((wrong.len(), vanished))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::terms::{ContentHash, RelPath};

    #[test]
    fn what_a_crash_parted_is_joined() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let ledger = Ledger::open(&folder.path().join("ledger.sqlite")).expect("opens");
        for (n, path) in ["here.md", "lost.md", "back.md"].iter().enumerate() {
            let hash = ContentHash(n as u128);
            ledger.uid_for(&RelPath::new(*path), hash, None, 10).expect("a uid");
        }
        ledger.mark_gone(&RelPath::new("back.md"), 20).expect("marked");
        let is_indexed = |path: &str| Ok(path != "lost.md");
        let (n_wrong, vanished) = ledger.mark_vanished(is_indexed, 30).expect("marked");
        let paths: Vec<&str> = vanished.iter().map(|(_, it)| it.path.as_str()).collect();
        assert_eq!((n_wrong, paths), (2, vec!["lost.md"]));
        assert_eq!(ledger.mark_vanished(is_indexed, 40).expect("marked"), (0, vec![]));
    }
}
