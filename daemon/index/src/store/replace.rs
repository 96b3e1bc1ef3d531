//! Replace: replaces the file that the writer writes by one that was built beside it, or by an empty one.
//!
//! In: a writer whose readers are all away (see `Readers::alone`). Out: the same writer, on another file, at the next
//! tick. Invariant: whatever fails, the writer has a file open, and the next start finds the old index or the new one.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::Connection;

use super::writer::{IndexWriter, heed, meta_number, set_meta_number};
use super::{Counts, Gone, Part, Readers, Removal, StoreError, gazetteer, open};
use crate::store::Rewrite;
use model::terms::Tick;

impl IndexWriter {
    /// Puts what was built at `rebuilt`, and is not open anywhere, in the place of the live index; the old one is kept
    /// as `.old` when `keeps_old`.
    pub fn adopt(&mut self, rebuilt: &Path, keeps_old: bool) -> Result<PathBuf, StoreError> {
        let live = self.live();
        // Under this name the next start would take it for the live one, should a crash come between.
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

    /// The index that was written beside the old one is whole: it takes the old one's place.
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

    /// Writes the index anew without what was deleted, and puts that in its place: words of the text index, free pages
    /// and the log go. Nobody may be building another one.
    ///
    /// # Errors
    /// When the disk is full, or a reader does not end; the index is as it was then.
    pub fn compact(&mut self, readers: &Readers) -> Result<(), StoreError> {
        let live = self.live();
        // Under this name the next start removes what a crash leaves.
        let next = live.with_file_name(open::NEXT);
        open::remove(&next)?;
        // Until then words of deleted rows lie beside those of present ones.
        self.db.execute_batch("INSERT INTO chunk_fts(chunk_fts) VALUES('optimize')")?;
        self.db.execute("VACUUM INTO ?1", [next.to_string_lossy()])?;
        let on_disk = File::options().write(true).open(&next).and_then(|file| file.sync_all());
        on_disk.map_err(|why| StoreError::Open { path: next.clone(), why: why.to_string() })?;
        sys::fail::point("forget.index");
        readers.alone(|| {
            let path = self.while_closed(|_| open::rename(&next, &live).map(|()| live.clone()))?;
            Ok((path, ()))
        })
    }

    /// Deletes from the ledger what is to be forgotten; see [`Gone`]. Returns how much was deleted, by table.
    pub fn erase(
        &mut self,
        gone: &Gone,
        rewrite: &dyn Rewrite,
        now_ms: i64,
    ) -> Result<Counts, StoreError> {
        let keys = self.ledger().decisions_meant(gone, rewrite);
        let taken_back: Vec<_> = keys.into_iter().map(|key| (key, None)).collect();
        if !taken_back.is_empty() {
            // As if a person had taken them back: what they decided is resolved again.
            self.decide(&taken_back, now_ms)?;
        }
        let mut counts = self.ledger().erase(gone, rewrite)?;
        if !taken_back.is_empty() {
            *counts.entry("decisions".to_string()).or_default() += taken_back.len() as u64;
        }
        Ok(counts)
    }

    /// Notes in the ledger that something was forgotten.
    pub fn record_removal(&self, removal: &Removal, now_ms: i64) -> Result<(), StoreError> {
        self.ledger().record_removal(removal, now_ms)
    }

    /// Notes in the ledger that the present detectors have seen all that is kept.
    pub fn mark_scrubbed(&self) -> Result<(), StoreError> {
        self.ledger().mark_scrubbed()
    }

    /// Begins again with an empty index; the one before is kept as `.old`. The caller must make the watcher forget what
    /// it sent.
    pub fn begin_again(&mut self) -> Result<PathBuf, StoreError> {
        let live = self.path.clone();
        let tick = self.tick();
        self.while_closed(|made_by| {
            open::set_aside(&live)?;
            drop(open::create(&live, made_by, tick.0)?);
            Ok(live.clone())
        })
    }

    /// Reads a row.
    ///
    /// # Errors
    /// When the writer has no index open.
    pub fn check(&self) -> Result<(), StoreError> {
        meta_number(&self.db, "tick").map(|_| ())
    }

    /// Checks the ledger. Its errors look like those of the index, and must not be mistaken for them.
    ///
    /// # Errors
    /// That it is damaged, with the newest backup.
    pub fn check_ledger(&self) -> Result<(), StoreError> {
        if self.held.check_ledger().is_err() {
            // What stands in for it is sound, or was never opened.
            return Ok(());
        }
        super::ledger::check_file(&self.path.with_file_name(open::LEDGER_FILE)).map(|_| ())
    }

    /// The ledger was lost: another one stands in for it until the daemon ends, so that indexing and reading go on. It
    /// is a copy of the lost one where that can still be read through the open file, which is a backup, too; else of
    /// the newest backup. Returns true the first time.
    pub fn stand_in(&mut self, why: &str) -> Result<bool, StoreError> {
        let lost = self.path.with_file_name(open::LEDGER_FILE);
        if !self.held.lose_ledger(&lost, why) {
            return Ok(false);
        }
        self.ledger.stand_in(&lost, &lost.with_file_name(open::STAND_IN))?;
        // A lost index has no uids to give back.
        if let Err(error) = self.ledger.reconcile(&self.db) {
            tracing::warn!(%error, "no uids could be read from the index");
        }
        Ok(true)
    }

    fn live(&self) -> PathBuf {
        self.path.with_file_name(open::LIVE)
    }

    /// Closes the file, lets `replace` work on closed files, and opens the one it gives.
    fn while_closed(
        &mut self,
        replace: impl FnOnce(&str) -> Result<PathBuf, StoreError>,
    ) -> Result<PathBuf, StoreError> {
        let db = std::mem::replace(&mut self.db, Connection::open_in_memory()?);
        self.held.release(Part::Index);
        // So that the file alone is the database; a damaged one may refuse.
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
        let tick = Tick(meta_number(&db, "tick")?.max(self.tick().0) + 1);
        set_meta_number(&db, "tick", tick.0)?;
        self.changes.begin_at(tick);
        let version = meta_number(&db, "gazetteer")?;
        self.gazetteer().store(Arc::new(gazetteer::load(&db, version)?));
        self.ledger().load_breakers(&db)?;
        self.held.hold(Part::Index, &path);
        self.is_whole = super::journal::is_whole(&db)?;
        // What the ledger knows and this index does not is looked for once it is whole.
        self.is_reconciled &= self.is_whole;
        self.db = db;
        self.tick = tick;
        self.answers = path.clone();
        self.path = path;
        Ok(())
    }
}

/// Copies the ledger in `state_dir`, as of one commit, into another folder.
///
/// # Errors
/// When it cannot be read, or the copy be written.
pub fn copy_ledger(state_dir: &Path, to: &Path) -> Result<(), StoreError> {
    let db = open::reader(&open::ledger_to_read(state_dir))?;
    let copy = to.join(open::LEDGER_FILE);
    db.execute("VACUUM INTO ?1", [copy.to_string_lossy()])?;
    // Whoever works with the copy tries every file once.
    Ok(open::plain(&copy)?.execute_batch("DELETE FROM breakers")?)
}
