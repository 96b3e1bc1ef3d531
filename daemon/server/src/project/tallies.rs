//! Tallies: the number of rows of each kind, as `status` reports them.
//!
//! In: a snapshot. Out: counts of one commit.
//! Invariant: each commit is counted once, however many callers ask: counting takes a second on a large index.

use std::sync::{Arc, Mutex, PoisonError};

use index::read::{Read, Tally};
use index::store::Snapshot;
use model::terms::Tick;

/// The counts of the last commit that was asked about.
#[derive(Debug, Default)]
pub(crate) struct Tallies(Mutex<Option<(Tick, Arc<Tally>)>>);

impl Tallies {
    /// Returns the counts of a snapshot.
    pub(crate) fn at(&self, snapshot: &Snapshot) -> Read<Arc<Tally>> {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((tick, tally)) = last
            && tick == snapshot.tick()
        {
            return Ok(tally);
        }
        // Counted outside of the lock: a caller that waited for it would block a reader meanwhile.
        let tally = Arc::new(snapshot.counts().all()?);
        let counted = Some((snapshot.tick(), tally.clone()));
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = counted;
        Ok(tally)
    }
}
