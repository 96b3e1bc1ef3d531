//! Turns: one check of a path at a time.
//!
//! Two checks of one path could otherwise read it in one order and be numbered in the other.

use std::sync::{Condvar, Mutex, PoisonError};

use rustc_hash::FxHashSet;

use super::state::lock;
use model::terms::RelPath;

/// Allows one check at a time for each path.
#[derive(Debug, Default)]
pub(super) struct Turns {
    busy: Mutex<FxHashSet<RelPath>>,
    freed: Condvar,
}

/// The right to check a path; released when dropped.
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
