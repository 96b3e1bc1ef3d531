//! Deep: chooses the documents that the deep pass reads next.
//!
//! In: the rows of `docs` that were read swiftly. Out: some of them at a time, marked to be read deeply from now on.
//! Invariants: a marked document is read deeply; batches are small, so that a pause or a save need not wait long;
//! documents that cannot be read are reported as stuck and not retried for ever.

use rusqlite::params;

use super::StoreError;
use super::schema::PASS_ASKED;
use super::writer::{IndexWriter, Round};

/// Most documents, and bytes of their files, in one batch; a larger file is a batch of its own.
const DEEP_AT_ONCE: (i64, u64) = (32, 256 * 1024);

/// The next batch of the deep pass.
#[derive(Debug, Default)]
pub struct NextDeep {
    /// The rows of the documents to read now; empty while the pass is paused or done.
    pub documents: Vec<i64>,
    /// Size of their files, bytes.
    pub n_bytes: u64,
    /// Documents that wait, this batch included, and the bytes of their files.
    pub left: (u64, u64),
    /// Documents that cannot be read now.
    pub n_stuck: u64,
}

impl IndexWriter {
    /// Returns the next documents that wait for the deep pass, marks them to be read deeply, and counts what waits.
    /// Goes through all documents in order of row, again and again; if a whole round completes none, those that
    /// remain cannot be read now and are reported as stuck.
    pub fn next_deep(&mut self, is_paused: bool) -> Result<NextDeep, StoreError> {
        let mut next = NextDeep::default();
        if !self.settings.recognize.deep {
            return Ok(next);
        }
        let (n, n_bytes, sum): (i64, i64, i64) = self.db.query_row(
            "SELECT count(*), coalesce(sum(n_bytes), 0), coalesce(sum(id), 0) FROM docs WHERE pass < 4",
            [],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )?;
        next.left = (n as u64, n_bytes as u64);
        if n == 0 || is_paused {
            return Ok(next);
        }
        let mut found = self.deep_after(self.deepened.last_id)?;
        if found.is_empty() {
            // The sum of ids stands for the set of waiting documents: if it equals that of the last round, none was
            // completed.
            if self.deepened.left == Some(sum) {
                return Ok(NextDeep { n_stuck: n as u64, ..NextDeep::default() });
            }
            self.deepened = Round { last_id: 0, left: Some(sum) };
            found = self.deep_after(0)?;
        }
        let tx = self.db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        for (id, n_bytes) in found {
            // Marked before it is read: a save in between is then read deeply, too.
            tx.prepare_cached("UPDATE docs SET pass = ?2 WHERE id = ?1")?
                .execute([id, PASS_ASKED])?;
            self.deepened.last_id = id;
            next.documents.push(id);
            next.n_bytes += n_bytes;
        }
        tx.commit()?;
        Ok(next)
    }

    /// Returns the documents after `last_id`, up to the size of a batch.
    fn deep_after(&self, last_id: i64) -> Result<Vec<(i64, u64)>, StoreError> {
        let mut statement = self.db.prepare_cached(
            "SELECT id, n_bytes FROM docs WHERE pass < 4 AND id > ?1 ORDER BY id LIMIT ?2",
        )?;
        let rows = statement.query_map(params![last_id, DEEP_AT_ONCE.0], |row| {
            Ok((row.get(0)?, row.get::<_, i64>(1)? as u64))
        })?;
        let mut n_bytes = 0;
        let mut out: Vec<(i64, u64)> = Vec::new();
        for row in rows {
            let row = row?;
            n_bytes += row.1;
            if !out.is_empty() && n_bytes > DEEP_AT_ONCE.1 {
                break;
            }
            out.push(row);
        }
        Ok(out)
    }
}
