//! The two senders in front of a stage.

use tokio::sync::mpsc;

use model::Item;
use model::terms::Lane;

/// The senders for the items of one stage: what a person just saved, and everything else.
///
/// Invariant: both lanes lead to the same stage, which takes from `interactive` first.
pub struct Lanes<T> {
    /// What a person or agent just saved.
    pub interactive: mpsc::Sender<Item<T>>,
    /// Opening crawl, rescans, ripples.
    pub bulk: mpsc::Sender<Item<T>>,
}

impl<T> Lanes<T> {
    /// Returns the sender of one lane.
    pub fn of(&self, lane: Lane) -> &mpsc::Sender<Item<T>> {
        match lane {
            Lane::Interactive => &self.interactive,
            Lane::Bulk => &self.bulk,
        }
    }
}

// Not derived: that would require `T: Clone`, and documents are moved, never copied.
impl<T> Clone for Lanes<T> {
    fn clone(&self) -> Self {
        Lanes { interactive: self.interactive.clone(), bulk: self.bulk.clone() }
    }
}
