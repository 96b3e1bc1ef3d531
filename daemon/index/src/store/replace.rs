//! Replace: exchanges the writer's file for one that was built beside it, or for an empty one.
//!
//! In: a writer without open readers (see `Readers::alone`). Out: the same writer, on another file, at the next tick.
//! Invariant: whatever fails, the writer has a file open, and the next start finds the old index or the new one.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::Connection;

use super::writer::{IndexWriter, heed, meta_number, set_meta_number};
use super::{Counts, Gone, Part, Readers, Removal, StoreError, gazetteer, open};
use crate::store::Rewrite;
use model::terms::Tick;

impl IndexWriter {
    /// Replaces the live index by the one at `rebuilt`, which nobody has open; keeps the old one as `.old` if
    /// `keeps_old`.
    pub fn adopt(&mut self, rebuilt: &Path, keeps_old: bool) -> Result<PathBuf, StoreError> {
        let live = self.live();
        // If a crash comes in between, the next start takes the file with this name for the live index.
        let next = live.with_file_name(open::NEXT);
        self.while_closed(|_| {
            open::rename(rebuilt, &next)?;
            if keeps_old {
                open::set_aside(&live)?;
            }
            open::rename(&next, &live)?;
            Ok(live.clone())
        })
    }

    /// Moves the complete index that was written beside the old one to the old one's place.
    pub fn take_place(&mut self) -> Result<PathBuf, StoreError> {
        let (live, written) = (self.live(), self.path.clone());
        if live == written {
            return Ok(live);
        }
        self.while_closed(|_| {
            open::rename(&written, &live)?;
            Ok(live.clone())
        })
    }

    /// Rewrites the index without deleted content, and replaces the old file: words of the text index, free pages and
    /// the log are gone then. No other index may be built meanwhile.
    ///
    /// # Errors
    /// When the disk is full, or a reader does not finish; then the index is unchanged.
    pub fn compact(&mut self, readers: &Readers) -> Result<(), StoreError> {
        let live = self.live();
        // A file with this name is removed at the next start if a crash leaves it.
        let next = live.with_file_name(open::NEXT);
        open::remove(&next)?;
        // Merges the segments of the text index, which drops words of deleted rows.
        self.db.execute_batch("INSERT INTO chunk_fts(chunk_fts) VALUES('optimize')")?;
        self.db.execute("VACUUM INTO ?1", [next.to_string_lossy()])?;
        // On disk before it replaces the old file.
        let on_disk = File::options().write(true).open(&next).and_then(|file| file.sync_all());
        on_disk.map_err(|why| StoreError::Open { path: next.clone(), why: why.to_string() })?;
        sys::fail::point("forget.index");
        readers.alone(|| {
            let path = self.while_closed(|_| open::rename(&next, &live).map(|()| live.clone()))?;
            Ok((path, ()))
        })
    }

    /// Deletes from the ledger what is to be forgotten, see [`Gone`]. Returns the number of rows and texts by table.
    pub fn erase(
        &mut self,
        gone: &Gone,
        rewrite: &dyn Rewrite,
        now_ms: i64,
    ) -> Result<Counts, StoreError> {
        let keys = self.ledger().decisions_meant(gone, rewrite);
        let taken_back: Vec<_> = keys.into_iter().map(|key| (key, None)).collect();
        if !taken_back.is_empty() {
            // As if a person had revoked them, so that the names are resolved again.
            self.decide(&taken_back, now_ms)?;
        }
        let mut counts = self.ledger().erase(gone, rewrite)?;
        super::permalinks::know_gone(&self.db, self.ledger())?;
        if !taken_back.is_empty() {
            *counts.entry("decisions".to_string()).or_default() += taken_back.len() as u64;
        }
        Ok(counts)
    }

    /// Records in the ledger that something was forgotten.
    pub fn record_removal(&self, removal: &Removal, now_ms: i64) -> Result<(), StoreError> {
        self.ledger().record_removal(removal, now_ms)
    }

    /// Records in the ledger that the current detectors have checked all stored texts.
    pub fn mark_scrubbed(&self) -> Result<(), StoreError> {
        self.ledger().mark_scrubbed()
    }

    /// Starts over with an empty index; keeps the old one as `.old`. The caller must make the watcher forget what it
    /// sent.
    pub fn begin_again(&mut self) -> Result<PathBuf, StoreError> {
        let live = self.path.clone();
        let tick = self.tick();
        self.while_closed(|made_by| {
            open::set_aside(&live)?;
            drop(open::create(&live, made_by, tick.0)?);
            Ok(live.clone())
        })
    }

    /// Reads a row, as a test whether the index can be used.
    ///
    /// # Errors
    /// When the writer has no index open.
    pub fn check(&self) -> Result<(), StoreError> {
        meta_number(&self.db, "tick").map(|_| ())
    }

    /// Checks the ledger. SQLite's errors do not say which database they are about.
    ///
    /// # Errors
    /// That it is damaged, with the newest backup.
    pub fn check_ledger(&self) -> Result<(), StoreError> {
        if self.held.check_ledger().is_err() {
            // The ledger is lost; its stand-in is sound, or was never opened.
            return Ok(());
        }
        super::ledger::check_file(&self.path.with_file_name(open::LEDGER_FILE)).map(|_| ())
    }

    /// Replaces a lost ledger by a stand-in until the daemon ends, so that indexing and reading continue. It is a
    /// copy of the lost one if that can still be read through the open file, which then serves as a backup, too; else
    /// of the newest backup. Returns true the first time.
    pub fn stand_in(&mut self, why: &str) -> Result<bool, StoreError> {
        let lost = self.path.with_file_name(open::LEDGER_FILE);
        if !self.held.lose_ledger(&lost, why) {
            return Ok(false);
        }
        self.ledger.stand_in(&lost, &lost.with_file_name(open::STAND_IN))?;
        // The index may be lost as well; then there are no uids to recover.
        if let Err(error) = self.ledger.reconcile(&self.db) {
            tracing::warn!(%error, "cannot read uids from the index");
        }
        Ok(true)
    }

    fn live(&self) -> PathBuf {
        self.path.with_file_name(open::LIVE)
    }

    /// Closes the file, runs `replace`, and opens the file whose path it returns, or the old one if it fails.
    fn while_closed(
        &mut self,
        replace: impl FnOnce(&str) -> Result<PathBuf, StoreError>,
    ) -> Result<PathBuf, StoreError> {
        // The field needs a connection in the meantime.
        let db = std::mem::replace(&mut self.db, Connection::open_in_memory()?);
        self.held.release(Part::Index);
        // Merges the log, so that the file alone is the database. A damaged one may refuse.
        let _ = db.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)");
        drop(db);
        sys::fail::point("replace.closed");
        let replaced = replace(&self.made_by);
        let path = replaced.as_ref().map_or_else(|_| self.path.clone(), Clone::clone);
        sys::fail::point("replace.renamed");
        self.reopen(path)?;
        sys::fail::point("replace.done");
        replaced
    }

    fn reopen(&mut self, path: PathBuf) -> Result<(), StoreError> {
        let mut db = open::connect(&path)?;
        heed(&mut db, &self.interruption, &self.is_shielded)?;
        self.changes.follow(&mut db)?;
        // Ticks never go back, even if the new file has a lower one.
        let tick = Tick(meta_number(&db, "tick")?.max(self.tick().0) + 1);
        set_meta_number(&db, "tick", tick.0)?;
        self.changes.begin_at(tick);
        let version = meta_number(&db, "gazetteer")?;
        self.gazetteer().store(Arc::new(gazetteer::load(&db, version)?));
        self.ledger().load_breakers(&db)?;
        super::permalinks::know_gone(&db, self.ledger())?;
        self.held.hold(Part::Index, &path);
        self.is_whole = super::journal::is_whole(&db)?;
        // Documents that the ledger has and this index lacks are looked for once it is complete.
        self.is_reconciled &= self.is_whole;
        self.db = db;
        self.all_names = None;
        self.tick = tick;
        self.answers = path.clone();
        self.path = path;
        Ok(())
    }
}

/// Copies the ledger in `state_dir`, as of one commit, to another folder.
///
/// # Errors
/// When it cannot be read, or the copy cannot be written.
pub fn copy_ledger(state_dir: &Path, to: &Path) -> Result<(), StoreError> {
    let db = open::reader(&open::ledger_to_read(state_dir))?;
    let copy = to.join(open::LEDGER_FILE);
    db.execute("VACUUM INTO ?1", [copy.to_string_lossy()])?;
    // Failures are not copied: the user of the copy tries every file once.
    Ok(open::plain(&copy)?.execute_batch("DELETE FROM breakers")?)
}
