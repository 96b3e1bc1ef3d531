//! Deep: chooses the documents that the deep pass reads next.
//!
//! In: the rows of `docs` that were read swiftly. Out: some paths at a time, marked to be read deeply from now on.
//! Invariants: a document once marked is read deeply; few enough are handed out at once that a
//! pause or a save need not wait long; what cannot be read is reported as stuck and not tried for ever.
//! Not here: when (`engine/write/`), how (`recognize/`, `relate/`).

use rusqlite::params;

use super::StoreError;
use super::schema::PASS_ASKED;
use super::writer::{IndexWriter, Round};
use model::terms::RelPath;

/// Documents and bytes of files that the deep pass hands out at once, but for a single larger file.
const DEEP_AT_ONCE: (i64, u64) = (32, 256 * 1024);

/// The next documents of the deep pass.
#[derive(Debug, Default)]
pub struct NextDeep {
    /// These documents, now; none while it is paused or done.
    pub paths: Vec<RelPath>,
    /// The bytes of their files.
    pub n_bytes: u64,
    /// Documents that wait, those among them, and the bytes of their files.
    pub left: (u64, u64),
    /// Documents that cannot be read now.
    pub n_stuck: u64,
}

impl IndexWriter {
    /// Returns some documents that wait for the deep pass, marked to be read deeply from now on, and how many wait,
    /// with the bytes of their files. Goes round until a whole round has moved none: those cannot be read now and are
    /// reported as stuck.
    pub fn next_deep(&mut self, is_paused: bool) -> Result<NextDeep, StoreError> {
        let mut next = NextDeep::default();
        if !self.settings.recognize.deep {
            return Ok(next);
        }
        let (n, n_bytes, sum): (i64, i64, i64) = self.db.query_row(
            "SELECT count(*), coalesce(sum(n_bytes), 0), coalesce(sum(id), 0) FROM docs WHERE pass < 2",
            [],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )?;
        next.left = (n as u64, n_bytes as u64);
        if n == 0 || is_paused {
            return Ok(next);
        }
        let mut found = self.deep_after(self.deepened.last_id)?;
        if found.is_empty() {
            if self.deepened.left == Some(sum) {
                return Ok(NextDeep { n_stuck: n as u64, ..NextDeep::default() });
            }
            self.deepened = Round { last_id: 0, left: Some(sum) };
            found = self.deep_after(0)?;
        }
        let tx = self.db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        for (id, path, n_bytes) in found {
            tx.prepare_cached("UPDATE docs SET pass = ?2 WHERE id = ?1")?
                .execute([id, PASS_ASKED])?;
            self.deepened.last_id = id;
            next.paths.push(path);
            next.n_bytes += n_bytes;
        }
        tx.commit()?;
        Ok(next)
    }

    /// The next documents of the deep pass, of few enough bytes that a pause or a save need not wait long.
    fn deep_after(&self, last_id: i64) -> Result<Vec<(i64, RelPath, u64)>, StoreError> {
        let mut statement = self.db.prepare_cached(
            "SELECT id, path, n_bytes FROM docs WHERE pass < 2 AND id > ?1 ORDER BY id LIMIT ?2",
        )?;
        let rows = statement.query_map(params![last_id, DEEP_AT_ONCE.0], |row| {
            Ok((row.get(0)?, RelPath::new(row.get::<_, String>(1)?), row.get::<_, i64>(2)? as u64))
        })?;
        let mut n_bytes = 0;
        let mut out: Vec<(i64, RelPath, u64)> = Vec::new();
        for row in rows {
            let row = row?;
            n_bytes += row.2;
            if !out.is_empty() && n_bytes > DEEP_AT_ONCE.1 {
                break;
            }
            out.push(row);
        }
        Ok(out)
    }
}
