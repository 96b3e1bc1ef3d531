//! Replica: an index with the rows of another daemon's index.
//!
//! In: rows of a commit, from a hub. Out: an index with the same tables and row ids, and a ledger beside it, so that
//! its readers answer as that daemon does.
//! Invariants: a commit is atomic; the ledger is written first, and nothing of a later commit is shown; an index that
//! another version made is started over, since all of it can be fetched again.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, params};
use rustc_hash::FxHashSet;

use super::changes::Changes;
use super::ledger::Ledger;
use super::{Decisions, Readers, StoreError, Verdict, commit, open};
use crate::vectors::{VectorChange, Vectors};
use config::settings::Precision;
use model::terms::Tick;

/// The two connections of one commit.
pub struct Draft<'a> {
    /// The index.
    pub(super) index: &'a Connection,
    /// The ledger.
    pub(super) ledger: &'a Connection,
}

/// The one writer of a replica.
pub struct Replica {
    db: Connection,
    ledger: Ledger,
    path: PathBuf,
    tick: Tick,
    vectors: Arc<Vectors>,
    changes: Arc<Changes>,
}

impl Replica {
    /// Opens the replica in `folder`, empty if there is none of this version; `of` identifies the index it copies.
    ///
    /// # Errors
    /// When it can be neither opened nor created.
    pub fn open(folder: &Path, of: &str, precision: Precision) -> Result<Self, StoreError> {
        sys::register_sqlite_vec();
        let (path, made_by) = (folder.join(open::LIVE), open::made_by(of));
        let mut db = match Self::found(&path, &made_by)? {
            Some(db) => db,
            None => {
                for file in [&path, &folder.join(open::LEDGER_FILE)] {
                    open::remove(file)?;
                }
                open::create(&path, &made_by, 0)?
            }
        };
        let ledger = Ledger::open(&folder.join(open::LEDGER_FILE))?;
        let changes = Arc::new(Changes::default());
        changes.follow(&mut db)?;
        let sql = "SELECT value FROM meta WHERE key = 'tick'";
        let tick = Tick(db.query_row(sql, [], |row| row.get::<_, i64>(0))? as u64);
        changes.begin_at(tick);
        let vectors = Arc::new(Vectors::held_as(precision, folder.to_path_buf()));
        Ok(Replica { db, ledger, path, tick, vectors, changes })
    }

    /// Returns the replica at `path`, or `None` if there is no usable one of this version.
    fn found(path: &Path, made_by: &str) -> Result<Option<Connection>, StoreError> {
        Ok(match open::look(path, made_by)? {
            open::Found::Ours(db) => Some(db),
            _ => None,
        })
    }

    /// Returns a new pool of readers. Make one and share it.
    pub fn readers(&self) -> Arc<Readers> {
        Readers::following(self.path.clone(), self.vectors.clone(), self.changes.clone())
    }

    /// Returns the review decisions, kept current.
    pub fn decisions(&self) -> &Decisions {
        self.ledger.decisions()
    }

    /// Returns the last commit.
    pub fn tick(&self) -> Tick {
        self.tick
    }

    /// Returns a note about the source of the rows, as [`Self::commit`] stored it.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn note(&self, key: &str) -> Result<Option<String>, StoreError> {
        let sql = "SELECT value FROM meta WHERE key = ?1";
        Ok(self.db.query_row(sql, [key], |row| row.get(0)).optional()?)
    }

    /// Writes one commit: the rows that `fill` writes, and `notes`. `fill` returns which vectors change, or `None` if
    /// that is unknown and they must be read again.
    ///
    /// # Errors
    /// That of `fill`; then the index is unchanged.
    pub fn commit<E: From<StoreError>>(
        &mut self,
        tick: Tick,
        notes: &[(&str, String)],
        fill: impl FnOnce(&Draft<'_>) -> Result<Option<VectorChange>, E>,
    ) -> Result<(), E> {
        self.ledger.begin()?;
        let done = self.fill(tick, notes, fill);
        if done.is_err() {
            self.ledger.roll_back();
        }
        done
    }

    fn fill<E: From<StoreError>>(
        &mut self,
        tick: Tick,
        notes: &[(&str, String)],
        fill: impl FnOnce(&Draft<'_>) -> Result<Option<VectorChange>, E>,
    ) -> Result<(), E> {
        let sound = |error: rusqlite::Error| StoreError::from(error);
        let tx = self.db.unchecked_transaction().map_err(sound)?;
        let change = fill(&Draft { index: &tx, ledger: self.ledger.db() })?;
        let mut set = tx.prepare("INSERT OR REPLACE INTO meta VALUES(?1, ?2)").map_err(sound)?;
        for (key, value) in notes {
            set.execute(params![key, value]).map_err(sound)?;
        }
        set.execute(params!["tick", tick.0 as i64]).map_err(sound)?;
        drop(set);
        // The ledger first, as in every commit: its rows are filtered by tick until the index has the same one.
        self.ledger.commit()?;
        match change {
            Some(change) if tick > self.tick => {
                commit::commit(tx, &self.vectors, &self.changes, tick, change)?;
            }
            // Only notes changed: what readers have in memory stays valid.
            Some(change) if change == VectorChange::default() && tick == self.tick => {
                tx.commit().map_err(sound)?;
            }
            // The hub went back, or the change of vectors is unknown: caches start over.
            _ => {
                tx.commit().map_err(sound)?;
                self.vectors.forget();
                self.changes.begin_at(tick);
            }
        }
        self.tick = tick;
        Ok(())
    }

    /// Replaces the review decisions.
    ///
    /// # Errors
    /// When they cannot be stored.
    pub fn decide(&self, all: &[(String, Verdict)], now_ms: i64) -> Result<(), StoreError> {
        let known = self.decisions();
        let kept: FxHashSet<&str> = all.iter().map(|(key, _)| key.as_str()).collect();
        // Only the difference is written: every decision keeps the tick from which it is shown.
        let gone = known.keys().into_iter().filter(|key| !kept.contains(key.as_str()));
        let mut changed: Vec<_> = gone.map(|key| (key, None)).collect();
        let is_new = |(key, verdict): &&(String, Verdict)| known.get(key) != Some(*verdict);
        changed.extend(all.iter().filter(is_new).map(|(key, it)| (key.clone(), Some(*it))));
        if changed.is_empty() { Ok(()) } else { self.ledger.decide(&changed, now_ms, self.tick) }
    }
}
