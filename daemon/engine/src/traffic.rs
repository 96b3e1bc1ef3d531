//! Traffic: what was noticed and is not committed yet.
//!
//! Invariant: it is read in the order in which work flows (watcher, then each queue), so that a document which moves
//! meanwhile is counted in at least one place.
//! Not here: what a commit leaves to be done (`Health::has_ripple`).

use std::sync::Arc;

use crate::belt::{Depth, Gauge};
use crate::watch::WatchState;

/// The watcher's count and the gauge of each queue, first to last; the writer's is the last.
#[derive(Clone)]
pub struct Traffic {
    watch: Arc<WatchState>,
    gauges: Arc<[Gauge]>,
}

impl Traffic {
    pub(crate) fn new(watch: Arc<WatchState>, gauges: Vec<Gauge>) -> Self {
        Traffic { watch, gauges: gauges.into() }
    }

    /// The gauge of each queue, first to last.
    pub fn gauges(&self) -> &[Gauge] {
        &self.gauges
    }

    /// Everything on the belt.
    pub fn depth(&self) -> Depth {
        Depth::sum(&self.gauges)
    }

    /// True when no document is on its way.
    pub fn is_quiet(&self) -> bool {
        self.watch.is_settled() && self.depth().total() == 0
    }

    /// True while a document may still come to the writer.
    pub(crate) fn is_more_coming(&self) -> bool {
        let before = self.gauges.split_last().map_or(&[][..], |(_, before)| before);
        !self.watch.is_settled() || Depth::sum(before).total() > 0
    }

    /// The watcher's count of news.
    pub(crate) fn n_news(&self) -> u64 {
        self.watch.n_news()
    }
}
