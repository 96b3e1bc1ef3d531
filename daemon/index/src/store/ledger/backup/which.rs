//! Which: how much a ledger holds, which backup to go back to, and which ones stay.
//!
//! In: the folder of backups. Out: the measure by which ledgers are compared; the choice.
//! Invariants: one measure serves both; a backup that holds more than all younger ones is never removed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::super::migrate::{VERSION, difference, version_of};
use super::{Backup, count, folder_of};
use crate::store::open;

/// Backups with generated names that are kept, besides the one that holds most.
const KEPT: usize = 7;

/// The tables whose rows nothing else holds. The others fill again by themselves, `documents` but for the uids, which
/// count where these are equal.
const STATED: [&str; 9] = [
    "decisions",
    "ingested",
    "kb_accesses",
    "kb_enriched",
    "kb_ingested",
    "kb_versions",
    "memory_events",
    "memory_ordinals",
    "removals",
];

/// Number of rows by table.
pub(super) type Rows = BTreeMap<String, u64>;

/// Returns how much a ledger holds that would be lost with it: rows that people and tools stated, then documents. The
/// one measure by which ledgers are compared.
pub(super) fn holdings(rows: &Rows) -> (u64, u64) {
    let n = |table: &str| rows.get(table).copied().unwrap_or(0);
    (STATED.iter().copied().map(n).sum(), n("documents"))
}

/// Returns whether a backup holds something of the tables that a ledger has lost, and not less in all: what the ledger
/// holds beyond the backup would be lost by restoring it.
pub(super) fn holds_more(backup: &Rows, left: &Rows) -> bool {
    let has_lost = |table: &str| backup.get(table) > Some(&0) && !left.contains_key(table);
    holdings(backup).0 >= holdings(left).0
        && STATED.iter().chain(&["documents"]).any(|it| has_lost(it))
}

/// Returns whether a ledger holds nothing that would be lost with it.
pub(in crate::store::ledger) fn holds_nothing(db: &Connection) -> rusqlite::Result<bool> {
    let is_empty = |table: &&str| {
        let sql = format!("SELECT NOT EXISTS (SELECT 1 FROM {table})");
        db.query_row(&sql, [], |row| row.get::<_, bool>(0))
    };
    let mut tables = STATED.iter().chain(&["documents"]);
    tables.try_fold(true, |nothing, table| Ok(nothing && is_empty(table)?))
}

/// Returns whether a ledger holds less than half of another: more than people usually take back between two backups,
/// so that something was lost in between.
fn is_poor_beside(one: &Rows, other: &Rows) -> bool {
    let (one, other) = (holdings(one), holdings(other));
    other.0 > 2 * one.0 || (other.0 >= one.0 && other.1 > 2 * one.1)
}

/// Returns the backup to go back to, of those in the folder beside a ledger: the newest one that can be read, unless
/// an older one shows that most had been lost by then.
pub(in crate::store::ledger) fn best(ledger: &Path) -> Option<PathBuf> {
    Some(best_of(&readable(&folder_of(ledger)))?.path.clone())
}

pub(super) fn best_of(backups: &[Backup]) -> Option<&Backup> {
    let fuller = |best: &'_ Backup, older: &'_ Backup| is_poor_beside(&best.rows, &older.rows);
    backups.iter().rev().reduce(|best, older| if fuller(best, older) { older } else { best })
}

/// The backups with generated names that are ledgers, oldest first, with what they hold. Not checked for damage, which
/// takes long: a restore does that.
pub(super) fn readable(folder: &Path) -> Vec<Backup> {
    let read = |path: PathBuf| {
        let n_bytes = path.metadata().ok()?.len();
        let db = open::plain_reader(&path).ok()?;
        let version = version_of(&db).ok()?;
        let is_ours = version <= VERSION && difference(&db, version).ok()?.is_none();
        is_ours.then_some(Backup { rows: count(&db).ok()?, path, n_bytes, version })
    };
    own_backups(folder).into_iter().filter_map(read).collect()
}

/// The backups with generated names, oldest first: names sort by age.
fn own_backups(folder: &Path) -> Vec<PathBuf> {
    let is_ours = |name: &str| name.starts_with("ledger-") && name.ends_with(".sqlite");
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries
        .filter(|entry| entry.file_name().to_str().is_some_and(is_ours))
        .map(|entry| entry.path())
        .collect();
    found.sort();
    found
}

pub(super) fn prune(folder: &Path) {
    let fullest = readable(folder).into_iter().max_by_key(|it| holdings(&it.rows));
    let found = own_backups(folder);
    let old = found.iter().take(found.len().saturating_sub(KEPT));
    for old in old.filter(|it| fullest.as_ref().is_none_or(|fullest| fullest.path != **it)) {
        if let Err(error) = fs::remove_file(old) {
            tracing::warn!(file = %old.display(), %error, "cannot remove an old backup");
        }
    }
}
