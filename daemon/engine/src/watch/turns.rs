//! Turns: one look at a path at a time.
//!
//! Two looks at one path could otherwise read it in one order and be numbered in the other.
//! Not here: what a look does (`intake.rs`).

use std::sync::{Condvar, Mutex, PoisonError};

use rustc_hash::FxHashSet;

use super::state::lock;
use model::terms::RelPath;

/// Lets one look at a time at each path.
#[derive(Debug, Default)]
pub(super) struct Turns {
    busy: Mutex<FxHashSet<RelPath>>,
    freed: Condvar,
}

/// The right to look; given back when dropped.
pub(super) struct Turn<'a> {
    turns: &'a Turns,
    path: RelPath,
}

impl Turns {
    /// Waits for the turn at a path.
    pub(super) fn take(&self, path: &RelPath) -> Turn<'_> {
        let mut busy = lock(&self.busy);
        while !busy.insert(path.clone()) {
            busy = self.freed.wait(busy).unwrap_or_else(PoisonError::into_inner);
        }
        Turn { turns: self, path: path.clone() }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        lock(&self.turns.busy).remove(&self.path);
        self.turns.freed.notify_all();
    }
}
