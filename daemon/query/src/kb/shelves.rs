//! Shelves: caches the shelf of the last requested commit and updates it with the index.
//!
//! In: snapshots. Out: the [`Shelf`] of each. A later commit reads only the notes that it changed;
//! the first one, one that is too many commits later, and a new model reading read all entries.
//! Invariants: a shelf matches its snapshot, however it was built; one that could not be updated is
//! dropped.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::shelf::Shelf;
use crate::AskError;
use index::store::{KbLedger, Snapshot};
use model::terms::Tick;

/// A shelf, its commit, and the number of model readings at that time.
struct Kept {
    tick: Tick,
    n_readings: u64,
    shelf: Arc<Shelf>,
}

/// The shelf of the last requested commit and readings.
pub struct Shelves {
    state_dir: PathBuf,
    n_readings: AtomicU64,
    last: Mutex<Option<Kept>>,
}

impl Shelves {
    /// Creates the cache for a project, given its state folder.
    pub fn new(state_dir: &Path) -> Self {
        let (n_readings, last) = (AtomicU64::new(0), Mutex::new(None));
        Shelves { state_dir: state_dir.to_path_buf(), n_readings, last }
    }

    /// Invalidates the shelf after a model reading was added or forgotten.
    pub fn read_anew(&self) {
        self.n_readings.fetch_add(1, Ordering::AcqRel);
    }

    /// Returns the number of model readings so far; together with the commit it identifies a shelf.
    pub fn n_readings(&self) -> u64 {
        self.n_readings.load(Ordering::Acquire)
    }

    /// Returns the shelf of a snapshot.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn at(&self, snapshot: &Snapshot, folder: &str) -> Result<Arc<Shelf>, AskError> {
        // Before the ledger is read, so that a reading stored in between invalidates this shelf.
        let (tick, n_readings) = (snapshot.tick(), self.n_readings());
        // Locked while reading: a waiting caller would read the same.
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.as_ref().is_some_and(|kept| kept.tick > tick) {
            // Keep the newer shelf for later callers.
            return self.read(snapshot, folder);
        }
        let kept = last.take().filter(|kept| kept.n_readings == n_readings);
        let shelf = match kept {
            Some(kept) if kept.tick == tick => kept.shelf,
            Some(kept) => match snapshot.changed_since(kept.tick) {
                Some(docs) => {
                    let mut shelf = kept.shelf;
                    if !docs.is_empty() {
                        // Clones the shelf if a reader still holds the older one.
                        Arc::make_mut(&mut shelf).follow(snapshot, folder, &docs)?;
                    }
                    shelf
                }
                None => self.read(snapshot, folder)?,
            },
            None => self.read(snapshot, folder)?,
        };
        *last = Some(Kept { tick, n_readings, shelf: shelf.clone() });
        Ok(shelf)
    }

    fn read(&self, snapshot: &Snapshot, folder: &str) -> Result<Arc<Shelf>, AskError> {
        let enriched = KbLedger::open(&self.state_dir)?.enriched()?;
        Ok(Arc::new(Shelf::read(snapshot, folder, enriched)?))
    }
}
