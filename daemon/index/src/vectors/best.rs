//! Best: collects a fixed number of the greatest cosines.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// A window that is near to a question.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Nearest {
    /// Row of `windows`.
    pub id: i64,
    /// The cosine, -1 to 1, as defined by [`embed::cosine`].
    pub cosine: f32,
}

impl Eq for Nearest {}

impl Ord for Nearest {
    /// Nearer windows are less; of equally near ones the one with the smaller row is.
    fn cmp(&self, other: &Self) -> Ordering {
        other.cosine.total_cmp(&self.cosine).then(self.id.cmp(&other.id))
    }
}

impl PartialOrd for Nearest {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The nearest windows so far.
pub(super) struct Best {
    wanted: usize,
    /// The furthest of them is on top.
    heap: BinaryHeap<Nearest>,
}

impl Best {
    pub(super) fn new(wanted: usize) -> Self {
        Best { wanted, heap: BinaryHeap::new() }
    }

    /// Returns the cosine that a window must reach to be added.
    pub(super) fn floor(&self) -> f32 {
        match self.heap.peek() {
            Some(furthest) if self.heap.len() >= self.wanted => furthest.cosine,
            _ => f32::NEG_INFINITY,
        }
    }

    pub(super) fn meet(&mut self, one: Nearest) {
        if self.heap.len() < self.wanted {
            self.heap.push(one);
        } else if let Some(mut furthest) = self.heap.peek_mut()
            && one < *furthest
        {
            *furthest = one;
        }
    }

    /// Returns them, nearest first.
    pub(super) fn sorted(self) -> Vec<Nearest> {
        self.heap.into_sorted_vec()
    }
}
