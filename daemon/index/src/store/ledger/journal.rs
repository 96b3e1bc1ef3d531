//! Journal: which documents each commit added, changed, moved or removed.
//!
//! In: the changes of a batch, in the ledger's transaction before the index's commit; how far a client has read. Out:
//! the changes of committed ticks.
//! Invariants: no tick is assigned twice, even if the index is lost (`reserve_ticks`); a change whose commit failed
//! is never shown, because readers pass the last tick of a snapshot; at most [`MAX_CHANGES`] rows, at most
//! [`KEPT_DAYS`] old; no text of a removed document is kept.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::{Deserialize, Serialize};

use super::Ledger;
use crate::store::{StoreError, open};
use model::terms::Tick;

/// Most changes kept: some weeks of a busy folder. Their texts take 40 MB at worst, usually 5.
const MAX_CHANGES: i64 = 10_000;

/// Changes that pruning leaves: fewer than the maximum, so that not every commit prunes.
const LEFT_CHANGES: i64 = MAX_CHANGES / 10 * 9;

/// How long a change is kept, days that a daemon ran (`days.rs`).
const KEPT_DAYS: u16 = 90;

/// Most clients whose position in the journal is kept.
const MAX_MARKS: i64 = 200;

/// Ticks reserved at a time: one write to the ledger per this many commits.
const RESERVED_TICKS: u64 = 100;

/// The kind of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LineKind {
    /// A field of the front matter.
    Field,
    /// `- [category] content`.
    Observation,
    /// `- relation [[Target]]`.
    Relation,
    /// Any other line, or a sentence of a line that has several.
    Text,
}

impl LineKind {
    /// Returns its name in replies.
    pub fn as_str(self) -> &'static str {
        match self {
            LineKind::Field => "field",
            LineKind::Observation => "observation",
            LineKind::Relation => "relation",
            LineKind::Text => "text",
        }
    }
}

/// A line that was added or removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedLine {
    /// True when it was removed.
    pub gone: bool,
    /// Its kind.
    pub kind: LineKind,
    /// Its number in the file, or for a removed line in the version before; 0 where it has none.
    pub line: u32,
    /// Its text, secrets removed.
    pub text: String,
}

/// Path and content of a document at some time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocVersion {
    /// Its path.
    pub path: String,
    /// Hash of its file.
    pub hash: Vec<u8>,
}

/// The change of one document in one commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocChange {
    /// The commit.
    pub tick: Tick,
    /// The document.
    pub uid: String,
    /// Time, milliseconds since 1970.
    pub at_ms: i64,
    /// The version before; `None` for an added document.
    pub before: Option<DocVersion>,
    /// The version after; `None` for a removed document.
    pub after: Option<DocVersion>,
    /// True when the daemon did not see it happen and has lost the version before: its lines are unknown.
    pub is_unseen: bool,
    /// The first lines that were added or removed.
    pub lines: Vec<ChangedLine>,
    /// Number of further lines.
    pub n_more: u32,
}

/// Where the complete part of the journal starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JournalStart {
    /// Every change after this commit is known.
    pub tick: Tick,
    /// Time of that commit, milliseconds since 1970.
    pub at_ms: i64,
}

impl Ledger {
    /// Reserves ticks up to some after `tick`, so that none of them is assigned again; returns the last reserved
    /// tick.
    pub(in crate::store) fn reserve_ticks(&self, tick: Tick) -> Result<Tick, StoreError> {
        let reserved = tick.0 + RESERVED_TICKS;
        self.db
            .prepare_cached(
                "INSERT INTO change_state(id, reserved) VALUES(1, ?1)
                 ON CONFLICT(id) DO UPDATE SET reserved = max(reserved, excluded.reserved)",
            )?
            .execute([reserved as i64])?;
        Ok(self.reserved_tick()?.max(Tick(reserved)))
    }

    /// Returns the last tick that may have been assigned to a commit.
    pub(in crate::store) fn reserved_tick(&self) -> Result<Tick, StoreError> {
        let sql = "SELECT reserved FROM change_state WHERE id = 1";
        let reserved: Option<i64> =
            self.db.prepare_cached(sql)?.query_row([], |row| row.get(0)).optional()?;
        Ok(Tick(reserved.unwrap_or(0) as u64))
    }

    /// Returns whether a first index is complete: what comes before is the baseline, not a change.
    pub(in crate::store) fn has_journal(&self) -> Result<bool, StoreError> {
        Ok(start_of(&self.db)?.is_some())
    }

    /// Starts the journal after this commit, unless it has started.
    pub(in crate::store) fn begin_journal(
        &self,
        tick: Tick,
        now_ms: i64,
    ) -> Result<(), StoreError> {
        self.db
            .prepare_cached(
                "INSERT INTO change_state(id, reserved, begun_tick, begun_ms) VALUES(1, 0, ?1, ?2)
                 ON CONFLICT(id) DO UPDATE SET begun_tick = excluded.begun_tick, begun_ms = excluded.begun_ms
                 WHERE begun_tick IS NULL",
            )?
            .execute(params![tick.0 as i64, now_ms])?;
        Ok(())
    }

    /// Writes the change of a document in a commit. Replaces the last change of the document if that starts from the
    /// same version: then its commit failed.
    pub(in crate::store) fn keep_change(&self, change: &DocChange) -> Result<(), StoreError> {
        let before = change.before.as_ref().map(|it| (it.path.as_str(), it.hash.as_slice()));
        let (was_path, was_hash) = before.unzip();
        self.db
            .prepare_cached(
                "DELETE FROM changes WHERE uid = ?1 AND was_path IS ?2 AND was_hash IS ?3
                 AND tick = (SELECT max(tick) FROM changes WHERE uid = ?1)",
            )?
            .execute(params![change.uid, was_path, was_hash])?;
        let after = change.after.as_ref();
        if after.is_none() {
            // Of a removed document only the fact is kept, no text.
            self.db
                .prepare_cached("UPDATE changes SET lines = '[]' WHERE uid = ?1")?
                .execute([&change.uid])?;
        }
        let lines = serde_json::to_string(&change.lines).unwrap_or_default();
        self.db
            .prepare_cached(
                "INSERT OR REPLACE INTO changes(tick, uid, at_ms, was_path, was_hash, path, hash, is_unseen, n_more,
                   lines) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            )?
            .execute(params![
                change.tick.0 as i64,
                change.uid,
                change.at_ms,
                was_path,
                was_hash,
                after.map(|it| &it.path),
                after.map(|it| &it.hash),
                change.is_unseen,
                change.n_more,
                lines
            ])?;
        Ok(())
    }

    /// Deletes the change of a document in one commit.
    pub(in crate::store) fn drop_change(&self, tick: Tick, uid: &str) -> Result<(), StoreError> {
        self.db
            .prepare_cached("DELETE FROM changes WHERE tick = ?1 AND uid = ?2")?
            .execute(params![tick.0 as i64, uid])?;
        Ok(())
    }

    /// Deletes changes after the last commit: theirs failed.
    pub(in crate::store) fn drop_changes_after(&self, tick: Tick) -> Result<(), StoreError> {
        self.db.prepare_cached("DELETE FROM changes WHERE tick > ?1")?.execute([tick.0 as i64])?;
        Ok(())
    }

    /// Deletes the oldest changes if there are too many or they are too old.
    pub(in crate::store) fn prune_changes(&self) -> Result<(), StoreError> {
        let before = self.written_before(KEPT_DAYS)?.unwrap_or(i64::MIN);
        let n: i64 = self
            .db
            .prepare_cached("SELECT count(*) FROM changes")?
            .query_row([], |row| row.get(0))?;
        let n_over = if n > MAX_CHANGES { n - LEFT_CHANGES } else { 0 };
        // The newest change to delete, by either rule.
        let newest: Option<(i64, i64)> = self
            .db
            .prepare_cached(
                "SELECT max(tick), max(at_ms) FROM (
                   SELECT tick, at_ms FROM (SELECT tick, at_ms FROM changes ORDER BY at_ms LIMIT ?1)
                   UNION ALL SELECT tick, at_ms FROM changes WHERE at_ms < ?2)",
            )?
            .query_row(params![n_over, before], |row| {
                Ok(row.get::<_, Option<i64>>(0)?.zip(row.get::<_, Option<i64>>(1)?))
            })?;
        let Some((tick, at_ms)) = newest else { return Ok(()) };
        // Whole commits are deleted, so that the journal is complete from some tick on.
        self.db.prepare_cached("DELETE FROM changes WHERE tick <= ?1")?.execute([tick])?;
        let moved = "UPDATE change_state SET begun_tick = max(begun_tick, ?1), begun_ms = max(begun_ms, ?2)";
        self.db.prepare_cached(moved)?.execute([tick, at_ms])?;
        Ok(())
    }

    /// Records that a client has seen all changes up to `tick`. Not synced: a power failure may undo it.
    pub(in crate::store) fn keep_mark(
        &self,
        client: &str,
        tick: Tick,
        now_ms: i64,
    ) -> Result<(), StoreError> {
        let tx = self.db.unchecked_transaction()?;
        tx.prepare_cached(
            "INSERT INTO change_marks VALUES(?1, ?2, ?3) ON CONFLICT(client)
             DO UPDATE SET tick = excluded.tick, at_ms = excluded.at_ms",
        )?
        .execute(params![client, tick.0 as i64, now_ms])?;
        // The clients that have not asked for the longest time are dropped.
        tx.prepare_cached(
            "DELETE FROM change_marks WHERE client NOT IN (
               SELECT client FROM change_marks ORDER BY at_ms DESC LIMIT ?1)",
        )?
        .execute([MAX_MARKS])?;
        Ok(tx.commit()?)
    }
}

fn start_of(db: &Connection) -> Result<Option<JournalStart>, StoreError> {
    let sql =
        "SELECT begun_tick, begun_ms FROM change_state WHERE id = 1 AND begun_tick IS NOT NULL";
    let start = |row: &Row<'_>| {
        Ok(JournalStart { tick: Tick(row.get::<_, i64>(0)? as u64), at_ms: row.get(1)? })
    };
    Ok(db.prepare_cached(sql)?.query_row([], start).optional()?)
}

/// The journal of a project, read-only.
pub struct ChangeLedger {
    db: Connection,
}

impl ChangeLedger {
    /// Opens the ledger in a state folder for reading.
    pub fn open(state_dir: &Path) -> Result<Self, StoreError> {
        Ok(ChangeLedger { db: open::plain_reader(&open::ledger_to_read(state_dir))? })
    }

    /// Returns where it starts; `None` while a first index is built.
    pub fn start(&self) -> Result<Option<JournalStart>, StoreError> {
        start_of(&self.db)
    }

    /// Returns the last commit whose changes a client has seen, and when it asked.
    pub fn mark(&self, client: &str) -> Result<Option<(Tick, i64)>, StoreError> {
        let sql = "SELECT tick, at_ms FROM change_marks WHERE client = ?1";
        let mark = |row: &Row<'_>| Ok((Tick(row.get::<_, i64>(0)? as u64), row.get(1)?));
        Ok(self.db.prepare_cached(sql)?.query_row([client], mark).optional()?)
    }

    /// Returns the last commit before `at_ms` that changed a document.
    pub fn tick_before(&self, at_ms: i64) -> Result<Option<Tick>, StoreError> {
        let sql = "SELECT max(tick) FROM changes WHERE at_ms < ?1";
        let tick: Option<i64> =
            self.db.prepare_cached(sql)?.query_row([at_ms], |row| row.get(0))?;
        Ok(tick.map(|it| Tick(it as u64)))
    }

    /// Returns the changes of the commits after `after`, up to and including `until`, oldest first.
    pub fn between(&self, after: Tick, until: Tick) -> Result<Vec<DocChange>, StoreError> {
        self.changes("tick > ?1 AND tick <= ?2", params![as_row(after), as_row(until)])
    }

    /// Returns the changes of all documents that are or were at a path, up to a commit, oldest first.
    pub fn of_path(&self, path: &str, until: Tick) -> Result<Vec<DocChange>, StoreError> {
        let of_uid =
            "tick <= ?1 AND uid IN (SELECT uid FROM changes WHERE path = ?2 OR was_path = ?2)";
        self.changes(of_uid, params![as_row(until), path])
    }

    fn changes(
        &self,
        which: &str,
        values: &[&dyn rusqlite::ToSql],
    ) -> Result<Vec<DocChange>, StoreError> {
        let mut statement = self.db.prepare_cached(&format!(
            "SELECT tick, uid, at_ms, was_path, was_hash, path, hash, is_unseen, n_more, lines FROM changes
             WHERE {which} ORDER BY tick, uid",
        ))?;
        let rows = statement.query_map(values, |row| {
            let version = |path: Option<String>, hash: Option<Vec<u8>>| {
                path.zip(hash).map(|(path, hash)| DocVersion { path, hash })
            };
            let lines: String = row.get(9)?;
            Ok(DocChange {
                tick: Tick(row.get::<_, i64>(0)? as u64),
                uid: row.get(1)?,
                at_ms: row.get(2)?,
                before: version(row.get(3)?, row.get(4)?),
                after: version(row.get(5)?, row.get(6)?),
                is_unseen: row.get(7)?,
                n_more: row.get(8)?,
                lines: serde_json::from_str(&lines).unwrap_or_default(),
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

fn as_row(tick: Tick) -> i64 {
    i64::try_from(tick.0).unwrap_or(i64::MAX)
}
