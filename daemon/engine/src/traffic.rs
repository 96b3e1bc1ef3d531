//! Traffic: what was noticed and is not committed yet.
//!
//! Invariant: read in the order in which work flows (watcher, documents to be read again, then each queue), so that a
//! document which moves meanwhile is counted at least once.

use std::sync::Arc;

use crate::belt::{Depth, Gauge};
use crate::reread::Waiting;
use crate::watch::WatchState;

/// The watcher's count, documents to be read again, and the gauge of each queue, first to last; the last is the
/// writer's.
#[derive(Clone)]
pub struct Traffic {
    watch: Arc<WatchState>,
    waiting: Arc<Waiting>,
    gauges: Arc<[Gauge]>,
}

impl Traffic {
    pub(crate) fn new(watch: Arc<WatchState>, waiting: Arc<Waiting>, gauges: Vec<Gauge>) -> Self {
        Traffic { watch, waiting, gauges: gauges.into() }
    }

    /// Returns the gauge of each queue, first to last.
    pub fn gauges(&self) -> &[Gauge] {
        &self.gauges
    }

    /// Returns the number of items on the belt, and of those that wait to be read again.
    pub fn depth(&self) -> Depth {
        let waiting = self.waiting.n();
        let depth = Depth::sum(&self.gauges);
        Depth { bulk: depth.bulk + waiting, ..depth }
    }

    /// Returns whether no document is on its way.
    pub fn is_quiet(&self) -> bool {
        self.watch.is_settled() && self.depth().total() == 0
    }

    /// Returns whether a document may still reach the writer.
    pub(crate) fn is_more_coming(&self) -> bool {
        let before = self.gauges.split_last().map_or(&[][..], |(_, before)| before);
        !self.watch.is_settled() || self.waiting.n() + Depth::sum(before).total() > 0
    }

    /// Returns the watcher's count of news.
    pub(crate) fn n_news(&self) -> u64 {
        self.watch.n_news()
    }
}
