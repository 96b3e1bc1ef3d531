//! Entry indexes: caches the one of the last requested commit and updates it with the index.
//!
//! In: snapshots. Out: the [`EntryIndex`] of each. A later commit reads only the notes that it changed;
//! the first one, one that is too many commits later, and a new model reading read all entries.
//! Invariants: an entry index matches its snapshot, however it was built; one that could not be updated is
//! dropped.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::entry_index::EntryIndex;
use crate::AskError;
use index::store::{KbLedger, Snapshot};
use model::terms::Tick;

/// An entry index, its commit, and the number of model readings at that time.
struct Kept {
    tick: Tick,
    n_readings: u64,
    entry_index: Arc<EntryIndex>,
}

/// The entry index of the last requested commit and readings.
pub struct EntryIndexes {
    state_dir: PathBuf,
    n_readings: AtomicU64,
    last: Mutex<Option<Kept>>,
}

impl EntryIndexes {
    /// Creates the cache for a project, given its state folder.
    pub fn new(state_dir: &Path) -> Self {
        let (n_readings, last) = (AtomicU64::new(0), Mutex::new(None));
        EntryIndexes { state_dir: state_dir.to_path_buf(), n_readings, last }
    }

    /// Invalidates the entry index after a model reading was added or forgotten.
    pub fn read_anew(&self) {
        self.n_readings.fetch_add(1, Ordering::AcqRel);
    }

    /// Returns the number of model readings so far; together with the commit it identifies an entry index.
    pub fn n_readings(&self) -> u64 {
        self.n_readings.load(Ordering::Acquire)
    }

    /// Returns the entry index of a snapshot.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn at(&self, snapshot: &Snapshot, folder: &str) -> Result<Arc<EntryIndex>, AskError> {
        // Before the ledger is read, so that a reading stored in between invalidates this entry index.
        let (tick, n_readings) = (snapshot.tick(), self.n_readings());
        // Locked while reading: a waiting caller would read the same.
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.as_ref().is_some_and(|kept| kept.tick > tick) {
            // Keep the newer entry index for later callers.
            return self.read(snapshot, folder);
        }
        let kept = last.take().filter(|kept| kept.n_readings == n_readings);
        let entry_index = match kept {
            Some(kept) if kept.tick == tick => kept.entry_index,
            Some(kept) => match snapshot.changed_since(kept.tick) {
                Some(docs) => {
                    let mut entry_index = kept.entry_index;
                    if !docs.is_empty() {
                        // Clones the entry index if a reader still holds the older one.
                        Arc::make_mut(&mut entry_index).follow(snapshot, folder, &docs)?;
                    }
                    entry_index
                }
                None => self.read(snapshot, folder)?,
            },
            None => self.read(snapshot, folder)?,
        };
        *last = Some(Kept { tick, n_readings, entry_index: entry_index.clone() });
        Ok(entry_index)
    }

    fn read(&self, snapshot: &Snapshot, folder: &str) -> Result<Arc<EntryIndex>, AskError> {
        let enriched = KbLedger::open(&self.state_dir)?.enriched()?;
        Ok(Arc::new(EntryIndex::read(snapshot, folder, enriched)?))
    }
}
