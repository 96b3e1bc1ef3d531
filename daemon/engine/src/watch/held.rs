//! `HeldPaths`: paths that this daemon itself is writing, many at once, and reads when it has written them all.
//!
//! In: paths, and a guard for as long as they are held. Out: whether one is held.
//! Invariants: a path may be held several times; an event of a held path is postponed by one quiet time, never lost;
//! a caller that asks for a held path by name gets it read at once.

use std::sync::{Arc, Mutex};

use rustc_hash::FxHashMap;

use super::lock;
use model::terms::RelPath;

/// The held paths of one watcher.
#[derive(Debug, Default)]
pub(super) struct HeldPaths {
    by_path: Mutex<FxHashMap<RelPath, usize>>,
}

/// Holds paths until it is dropped.
#[derive(Debug)]
pub struct Hold {
    held: Arc<HeldPaths>,
    paths: Vec<RelPath>,
}

impl HeldPaths {
    pub(super) fn hold(self: &Arc<Self>, paths: Vec<RelPath>) -> Hold {
        let mut by_path = lock(&self.by_path);
        for path in &paths {
            *by_path.entry(path.clone()).or_default() += 1;
        }
        Hold { held: self.clone(), paths }
    }

    pub(super) fn holds(&self, path: &RelPath) -> bool {
        lock(&self.by_path).contains_key(path)
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut by_path = lock(&self.held.by_path);
        for path in &self.paths {
            if let Some(n) = by_path.get_mut(path) {
                *n -= 1;
                if *n == 0 {
                    by_path.remove(path);
                }
            }
        }
    }
}
