//! The two senders in front of a stage.

use tokio::sync::mpsc;

use model::Item;
use model::terms::Lane;

/// Where the items of one stage are put: what a person just saved, and everything else.
///
/// Invariant: both lanes lead to the same stage, which takes from `interactive` first.
pub struct Lanes<T> {
    /// What a person or agent just saved.
    pub interactive: mpsc::Sender<Item<T>>,
    /// Opening crawl, rescans, ripples.
    pub bulk: mpsc::Sender<Item<T>>,
}

impl<T> Lanes<T> {
    /// The sender of one lane.
    pub fn of(&self, lane: Lane) -> &mpsc::Sender<Item<T>> {
        match lane {
            Lane::Interactive => &self.interactive,
            Lane::Bulk => &self.bulk,
        }
    }
}

// By hand: a derived `Clone` would ask for `T: Clone`, and documents are moved, never copied.
impl<T> Clone for Lanes<T> {
    fn clone(&self) -> Self {
        Lanes { interactive: self.interactive.clone(), bulk: self.bulk.clone() }
    }
}
