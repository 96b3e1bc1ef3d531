//! Shelves: the shelf of the last commit that was asked for, kept in step with the index.
//!
//! In: snapshots. Out: the [`Shelf`] of each. A later commit costs the notes that it changed; the first one, one that
//! is too many commits later, and a new reading of a model cost all entries.
//! Invariants: a shelf is what its snapshot says, however it was made; one that could not be brought up to date is not
//! kept.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::shelf::Shelf;
use crate::AskError;
use index::store::{KbLedger, Snapshot};
use model::terms::Tick;

/// A shelf, the commit that it is of, and the number of readings until then.
struct Kept {
    tick: Tick,
    n_readings: u64,
    shelf: Arc<Shelf>,
}

/// The shelf of the last commit and readings that were asked for.
pub struct Shelves {
    state_dir: PathBuf,
    n_readings: AtomicU64,
    last: Mutex<Option<Kept>>,
}

impl Shelves {
    /// For the project with a folder of state.
    pub fn new(state_dir: &Path) -> Self {
        let (n_readings, last) = (AtomicU64::new(0), Mutex::new(None));
        Shelves { state_dir: state_dir.to_path_buf(), n_readings, last }
    }

    /// Invalidates the shelf after a new reading, or when one was forgotten.
    pub fn read_anew(&self) {
        self.n_readings.fetch_add(1, Ordering::AcqRel);
    }

    /// The number of readings so far: with the commit, it says which shelf there is.
    pub fn n_readings(&self) -> u64 {
        self.n_readings.load(Ordering::Acquire)
    }

    /// The shelf of a snapshot.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn at(&self, snapshot: &Snapshot, folder: &str) -> Result<Arc<Shelf>, AskError> {
        // Before the ledger is read: a reading in between then causes another read.
        let (tick, n_readings) = (snapshot.tick(), self.n_readings());
        // Held while it is read: whoever waits would read the same.
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.as_ref().is_some_and(|kept| kept.tick > tick) {
            // Whoever comes next wants the newer one.
            return self.read(snapshot, folder);
        }
        let kept = last.take().filter(|kept| kept.n_readings == n_readings);
        let shelf = match kept {
            Some(kept) if kept.tick == tick => kept.shelf,
            Some(kept) => match snapshot.changed_since(kept.tick) {
                Some(docs) => {
                    let mut shelf = kept.shelf;
                    if !docs.is_empty() {
                        // Copied if somebody still reads the older one.
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
