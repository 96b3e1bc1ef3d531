//! Traffic: what was noticed and is not committed yet.
//!
//! Invariant: read in the order in which work flows (watcher, then each queue), so that a document which moves
//! meanwhile is counted at least once.

use std::sync::Arc;

use crate::belt::{Depth, Gauge};
use crate::watch::WatchState;

/// The watcher's count and the gauge of each queue, first to last; the last is the writer's.
#[derive(Clone)]
pub struct Traffic {
    watch: Arc<WatchState>,
    gauges: Arc<[Gauge]>,
}

impl Traffic {
    pub(crate) fn new(watch: Arc<WatchState>, gauges: Vec<Gauge>) -> Self {
        Traffic { watch, gauges: gauges.into() }
    }

    /// Returns the gauge of each queue, first to last.
    pub fn gauges(&self) -> &[Gauge] {
        &self.gauges
    }

    /// Returns the number of items on the belt.
    pub fn depth(&self) -> Depth {
        Depth::sum(&self.gauges)
    }

    /// Returns whether no document is on its way.
    pub fn is_quiet(&self) -> bool {
        self.watch.is_settled() && self.depth().total() == 0
    }

    /// Returns whether a document may still reach the writer.
    pub(crate) fn is_more_coming(&self) -> bool {
        let before = self.gauges.split_last().map_or(&[][..], |(_, before)| before);
        !self.watch.is_settled() || Depth::sum(before).total() > 0
    }

    /// Returns the watcher's count of news.
    pub(crate) fn n_news(&self) -> u64 {
        self.watch.n_news()
    }
}
