//! Quarantine: the rows of files that failed, written in the transaction of the commit that saw the failure.

use rusqlite::{Connection, params};

use super::StoreError;
use super::ledger::Failing;
use model::terms::{RelPath, Tick};

/// Records the failure of a file; replaces an earlier record.
pub(super) fn put(
    tx: &Connection,
    path: &RelPath,
    it: &Failing,
    tick: Tick,
) -> Result<(), StoreError> {
    tx.prepare_cached(
        "INSERT OR REPLACE INTO quarantine(path, stage, reason, is_transient, tick, hash, mtime_ms, n_bytes,
           n_failures, last_ms) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    )?
    .execute(params![
        path.as_str(),
        it.stage,
        it.reason,
        it.is_transient,
        tick.0 as i64,
        it.version.hash.map(|hash| hash.0.to_le_bytes()),
        it.version.mtime_ms,
        it.version.n_bytes as i64,
        it.n_failures,
        it.last_ms,
    ])?;
    Ok(())
}

/// Deletes the record of a file that was read or removed.
pub(super) fn take_out(tx: &Connection, path: &RelPath) -> Result<(), StoreError> {
    tx.prepare_cached("DELETE FROM quarantine WHERE path = ?1")?.execute([path.as_str()])?;
    Ok(())
}
