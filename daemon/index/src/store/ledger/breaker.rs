//! Breaker: counts failures of a file, so that one that keeps failing is skipped (S0 §4.3).
//!
//! In: each fault and each success as it is committed. Out: whether crawls should skip a version of a file.
//! Invariants: only consecutive failures of the same version count (checksum; mode and time while it cannot be read);
//! a change, a success and `retry` reset the count. A permanent fault is a row of the index and is deleted with it,
//! since another extractor may succeed; a transient fault is a row of the ledger.

use std::sync::{Arc, PoisonError, RwLock};

use config::limits::MAX_FAILURES;
use rusqlite::{Connection, params};
use rustc_hash::FxHashMap;

use super::{Ledger, StoreError};
use model::Item;
use model::terms::{ContentHash, FileVersion, RelPath};

/// Time after which a crawl retries a file that was given up for a transient fault, milliseconds: a network file
/// system that was away must not leave files stale for good.
const PROBE_AFTER_MS: i64 = 3_600_000;

/// A file whose last reading failed, and how often in a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failing {
    /// The file as it failed.
    pub version: FileVersion,
    /// Failures in a row of this version; 0 after `retry` cleared it.
    pub n_failures: u32,
    /// The stage that gave up.
    pub stage: String,
    /// The reason.
    pub reason: String,
    /// Last failure, milliseconds since 1970.
    pub last_ms: i64,
    /// True when the fault may pass by itself.
    pub is_transient: bool,
}

impl Failing {
    /// Returns whether crawls skip the file.
    pub fn is_open(&self) -> bool {
        self.n_failures >= MAX_FAILURES
    }

    fn covers(&self, now: &FileVersion, now_ms: i64) -> bool {
        let is_probe = self.is_transient && now_ms.saturating_sub(self.last_ms) >= PROBE_AFTER_MS;
        self.is_open() && self.version.is_unchanged(now) && !is_probe
    }

    /// The version as text, for the ledger.
    fn key(&self) -> String {
        let FileVersion { hash, mode, mtime_ms, n_bytes } = self.version;
        let hash = hash.map_or_else(|| "-".to_string(), ContentHash::to_hex);
        format!("{hash} {mode:o} {mtime_ms} {n_bytes}")
    }
}

/// Parses the text of [`Failing::key`]; `None` for any other form.
fn version_of(key: &str) -> Option<FileVersion> {
    let mut words = key.split(' ');
    let hash = words.next()?;
    Some(FileVersion {
        hash: if hash == "-" { None } else { Some(ContentHash::from_hex(hash)?) },
        mode: u32::from_str_radix(words.next()?, 8).ok()?,
        mtime_ms: words.next()?.parse().ok()?,
        n_bytes: words.next()?.parse().ok()?,
    })
}

/// Every file whose last reading failed, shared with the watcher and the tools that list it.
#[derive(Clone, Default)]
pub struct Breakers(Arc<RwLock<FxHashMap<RelPath, Failing>>>);

impl Breakers {
    /// Returns the failure of a file, if its last reading failed.
    pub fn get(&self, path: &RelPath) -> Option<Failing> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(path).cloned()
    }

    /// Returns whether a crawl should skip this version of the file.
    pub fn is_given_up(&self, path: &RelPath, now: &FileVersion, now_ms: i64) -> bool {
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        all.get(path).is_some_and(|trouble| trouble.covers(now, now_ms))
    }

    /// Returns every file whose last reading failed, by path.
    pub fn list(&self) -> Vec<(RelPath, Failing)> {
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let mut list: Vec<_> = all.iter().map(|(path, it)| (path.clone(), it.clone())).collect();
        list.sort_by(|a, b| a.0.cmp(&b.0));
        list
    }

    /// Returns the count after an item: none unless it is a fault. Records nothing.
    pub(in crate::store) fn after<T>(&self, item: &Item<T>, now_ms: i64) -> Option<Failing> {
        let Item::Faulted(ticket, fault) = item else { return None };
        // A different version starts a new count.
        let before = self.get(&ticket.path).filter(|it| it.version.is_unchanged(&ticket.version));
        Some(Failing {
            version: ticket.version,
            n_failures: before.map_or(0, |it| it.n_failures).saturating_add(1),
            stage: fault.stage.to_string(),
            reason: fault.reason.clone(),
            last_ms: now_ms,
            is_transient: fault.is_transient,
        })
    }

    /// Records what was committed: a failure, or `None` for a success.
    pub(in crate::store) fn note(&self, path: &RelPath, trouble: Option<Failing>) {
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let Some(trouble) = trouble else {
            all.remove(path);
            return;
        };
        // Logged once, when the limit is reached.
        if trouble.n_failures == MAX_FAILURES {
            let Failing { n_failures, stage, reason, .. } = &trouble;
            tracing::warn!(%path, n_failures, stage, reason, "skipped from now on, until it changes");
        }
        all.insert(path.clone(), trouble);
    }
}

impl Ledger {
    /// Returns the files whose last reading failed, kept current.
    pub fn breakers(&self) -> &Breakers {
        &self.breakers
    }

    /// Writes the count after a failure. Only transient faults are stored in the ledger.
    pub(in crate::store) fn count_failure(
        &self,
        path: &RelPath,
        it: &Failing,
    ) -> Result<(), StoreError> {
        if !it.is_transient {
            return self.forget_failures(path);
        }
        self.db
            .prepare_cached("INSERT OR REPLACE INTO breakers VALUES(?1, ?2, ?3, ?4, ?5, ?6)")?
            .execute(params![
            path.as_str(),
            it.key(),
            it.n_failures,
            it.stage,
            it.reason,
            it.last_ms
        ])?;
        Ok(())
    }

    /// Deletes the count of a file that was read, removed, or is to be retried.
    pub(in crate::store) fn forget_failures(&self, path: &RelPath) -> Result<(), StoreError> {
        // Hardly any file fails, so the usual case costs no statement.
        if self.breakers.get(path).is_some() {
            self.db
                .prepare_cached("DELETE FROM breakers WHERE path = ?1")?
                .execute([path.as_str()])?;
        }
        Ok(())
    }

    /// Resets the counts of these files in both databases. They stay listed until they are read.
    pub(in crate::store) fn close_breakers(
        &self,
        index: &Connection,
        paths: &[RelPath],
    ) -> Result<(), StoreError> {
        let mut forgive =
            index.prepare_cached("UPDATE quarantine SET n_failures = 0 WHERE path = ?1")?;
        for path in paths {
            let Some(trouble) = self.breakers.get(path) else { continue };
            forgive.execute([path.as_str()])?;
            self.forget_failures(path)?;
            self.breakers.note(path, Some(Failing { n_failures: 0, ..trouble }));
        }
        Ok(())
    }

    /// Replaces the failures in memory by those of both databases.
    pub(in crate::store) fn load_breakers(&self, index: &Connection) -> Result<(), StoreError> {
        self.breakers.0.write().unwrap_or_else(PoisonError::into_inner).clear();
        let mut ours = self
            .db
            .prepare("SELECT path, key, n_failures, stage, reason, last_ms FROM breakers")?;
        let ours = ours.query_map([], |row| {
            // An unreadable key matches no file: the failure is listed, and the next crawl retries.
            let version = version_of(&row.get::<_, String>(1)?).unwrap_or_default();
            Ok((row.get::<_, String>(0)?, trouble(row, version, true)?))
        })?;
        let mut lasting = index.prepare(
            "SELECT path, hash, n_failures, stage, reason, last_ms, mtime_ms, n_bytes FROM quarantine
             WHERE NOT is_transient",
        )?;
        let lasting = lasting.query_map([], |row| {
            let hash: Option<[u8; 16]> = row.get(1)?;
            let hash = hash.map(|bytes| ContentHash(u128::from_le_bytes(bytes)));
            let n_bytes = row.get::<_, i64>(7)? as u64;
            let version = FileVersion { hash, mode: 0, mtime_ms: row.get(6)?, n_bytes };
            Ok((row.get::<_, String>(0)?, trouble(row, version, false)?))
        })?;
        for row in ours.chain(lasting) {
            let (path, trouble) = row?;
            self.breakers.note(&RelPath::new(path), Some(trouble));
        }
        Ok(())
    }
}

/// The columns that both tables have.
fn trouble(
    row: &rusqlite::Row<'_>,
    version: FileVersion,
    is_transient: bool,
) -> rusqlite::Result<Failing> {
    let (n_failures, stage, reason, last_ms) = (row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?);
    Ok(Failing { version, n_failures, stage, reason, last_ms, is_transient })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::terms::{Generation, Lane};
    use model::{DocFault, Ticket};

    fn content(text: &str, mtime_ms: i64) -> FileVersion {
        let hash = Some(ContentHash::of(text.as_bytes()));
        FileVersion { hash, mode: 0, mtime_ms, n_bytes: text.len() as u64 }
    }

    fn unread(mode: u32, mtime_ms: i64) -> FileVersion {
        FileVersion { hash: None, mode, mtime_ms, n_bytes: 3 }
    }

    fn fault(version: FileVersion, is_transient: bool) -> Item<()> {
        let path = RelPath::new("a.md");
        let ticket = Ticket {
            path,
            generation: Generation(1),
            lane: Lane::Bulk,
            moved_from: None,
            n_behind: 0,
            weight: Default::default(),
            is_exchange: false,
            is_forced: false,
            version,
        };
        Item::Faulted(
            ticket,
            DocFault { stage: "normalize", reason: "too deep".into(), is_transient },
        )
    }

    /// An event of one file: it fails in this version, or is read.
    enum Event {
        Fails(FileVersion),
        IsRead,
    }
    use Event::{Fails, IsRead};

    #[test]
    fn three_failures_in_a_row_of_one_version_open_it() {
        let rows: [(&str, Vec<Event>, FileVersion, bool); 9] = [
            (
                "two failures",
                vec![Fails(content("x", 1)), Fails(content("x", 1))],
                content("x", 1),
                false,
            ),
            ("three", (0..3).map(|_| Fails(content("x", 1))).collect(), content("x", 1), true),
            (
                "touched each time",
                (0..3).map(|i| Fails(content("x", i))).collect(),
                content("x", 9),
                true,
            ),
            (
                "changed since",
                (0..3).map(|_| Fails(content("x", 1))).collect(),
                content("y", 2),
                false,
            ),
            (
                "changed between",
                vec![Fails(content("x", 1)), Fails(content("y", 1)), Fails(content("x", 1))],
                content("x", 1),
                false,
            ),
            (
                "read between",
                vec![
                    Fails(content("x", 1)),
                    Fails(content("x", 1)),
                    IsRead,
                    Fails(content("x", 1)),
                ],
                content("x", 1),
                false,
            ),
            (
                "unreadable",
                (0..3).map(|_| Fails(unread(0o100_000, 1))).collect(),
                unread(0o100_000, 1),
                true,
            ),
            (
                "another mode",
                (0..3).map(|_| Fails(unread(0o100_000, 1))).collect(),
                unread(0o100_644, 1),
                false,
            ),
            (
                "another time",
                (0..3).map(|_| Fails(unread(0o100_000, 1))).collect(),
                unread(0o100_000, 2),
                false,
            ),
        ];
        for (name, events, now, expected) in rows {
            for is_transient in [false, true] {
                let breakers = Breakers::default();
                for event in &events {
                    let trouble = match event {
                        Fails(version) => breakers.after(&fault(*version, is_transient), 0),
                        IsRead => None,
                    };
                    breakers.note(&RelPath::new("a.md"), trouble);
                }
                let is_given_up = breakers.is_given_up(&RelPath::new("a.md"), &now, 1);
                assert_eq!(is_given_up, expected, "{name}, transient {is_transient}");
            }
        }
    }

    #[test]
    fn a_crawl_that_has_not_read_a_file_compares_its_size_and_time() {
        let breakers = Breakers::default();
        for _ in 0..3 {
            let trouble = breakers.after(&fault(content("xyz", 5), false), 0);
            breakers.note(&RelPath::new("a.md"), trouble);
        }
        assert!(breakers.is_given_up(&RelPath::new("a.md"), &unread(0o100_644, 5), 1));
        assert!(!breakers.is_given_up(&RelPath::new("a.md"), &unread(0o100_644, 6), 1));
    }

    #[test]
    fn what_may_pass_is_probed_each_hour_and_what_lasts_never_is() {
        for (is_transient, expected) in [(true, [true, false, true]), (false, [true; 3])] {
            let (breakers, path) = (Breakers::default(), RelPath::new("a.md"));
            let version = unread(0, 1);
            let fail = |now_ms| {
                breakers.note(&path, breakers.after(&fault(version, is_transient), now_ms));
            };
            (0..3).for_each(fail);
            let early = breakers.is_given_up(&path, &version, PROBE_AFTER_MS);
            let late = breakers.is_given_up(&path, &version, PROBE_AFTER_MS + 2);
            fail(PROBE_AFTER_MS + 2);
            let again = breakers.is_given_up(&path, &version, PROBE_AFTER_MS + 3);
            assert_eq!([early, late, again], expected, "transient {is_transient}");
        }
    }

    #[test]
    fn counts_of_what_may_pass_survive_in_the_ledger() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let path = folder.path().join("ledger.sqlite");
        let index = Connection::open_in_memory().expect("opens");
        let columns =
            "path, hash, n_failures, stage, reason, last_ms, mtime_ms, n_bytes, is_transient";
        index.execute_batch(&format!("CREATE TABLE quarantine({columns})")).expect("made");
        let file = RelPath::new("a.md");
        for (n, version) in [unread(0o100_000, 7), content("x", 7)].into_iter().enumerate() {
            let ledger = Ledger::open(&path).expect("opens");
            let trouble = ledger.breakers().after(&fault(version, true), 9).expect("a fault");
            let trouble = Failing { n_failures: 2 + n as u32, ..trouble };
            ledger.count_failure(&file, &trouble).expect("written");
            drop(ledger);
            let ledger = Ledger::open(&path).expect("opens");
            ledger.load_breakers(&index).expect("read");
            assert_eq!(ledger.breakers().get(&file), Some(trouble));
        }
    }
}
