//! Budget: limits the bytes of source files between reading and commit.
//!
//! In: the sizes of files, by lane. Out: whether more may be read now.
//! Invariants: each lane has its own share, so a save never waits behind bulk; the bytes of an item are released with
//! the item, whatever happens to it. A lane may read while its share is not used up, so it holds at most its share
//! and one more file per reader, and a file larger than the share still passes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Notify;

use model::Weight;
use model::terms::Lane;

/// One part in this many of the budget is reserved for the interactive lane.
const INTERACTIVE_PART: u64 = 4;

/// The bytes that may be on the belt, by lane.
#[derive(Debug)]
pub struct Budget {
    interactive: Arc<Share>,
    bulk: Arc<Share>,
}

#[derive(Debug)]
struct Share {
    limit: u64,
    used: AtomicU64,
    freed: Notify,
}

struct ShareInUse {
    n_bytes: u64,
    share: Arc<Share>,
}

impl Budget {
    /// Creates a budget of about `max_bytes`, both lanes together.
    pub fn new(max_bytes: u64) -> Arc<Self> {
        let share =
            |limit| Arc::new(Share { limit, used: AtomicU64::new(0), freed: Notify::new() });
        let interactive = max_bytes / INTERACTIVE_PART;
        Arc::new(Budget { interactive: share(interactive), bulk: share(max_bytes - interactive) })
    }

    fn share(&self, lane: Lane) -> &Arc<Share> {
        match lane {
            Lane::Interactive => &self.interactive,
            Lane::Bulk => &self.bulk,
        }
    }

    /// Returns whether a lane may read one more file.
    pub fn has_room(&self, lane: Lane) -> bool {
        let share = self.share(lane);
        let used = share.used.load(Ordering::SeqCst);
        // An empty lane may always read, so that a share of 0 does not block it.
        used == 0 || used < share.limit
    }

    /// Waits until a lane may read one more file. Cancel-safe.
    pub async fn room(&self, lane: Lane) {
        loop {
            let freed = self.share(lane).freed.notified();
            tokio::pin!(freed);
            // Registered before the check, so that a release in between is not missed.
            freed.as_mut().enable();
            if self.has_room(lane) {
                return;
            }
            freed.await;
        }
    }

    /// Counts bytes that were read as in use until the returned weight is dropped.
    pub fn take(&self, lane: Lane, n_bytes: usize) -> Weight {
        let share = self.share(lane).clone();
        let n_bytes = n_bytes as u64;
        share.used.fetch_add(n_bytes, Ordering::SeqCst);
        Weight::new(n_bytes, ShareInUse { n_bytes, share })
    }

    /// Returns the bytes between reading and commit.
    pub fn in_flight(&self) -> u64 {
        [Lane::Interactive, Lane::Bulk]
            .map(|lane| self.share(lane).used.load(Ordering::SeqCst))
            .iter()
            .sum()
    }
}

impl Drop for ShareInUse {
    fn drop(&mut self) {
        self.share.used.fetch_sub(self.n_bytes, Ordering::SeqCst);
        self.share.freed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_lane_stops_reading_at_its_share_and_goes_on_when_bytes_are_given_back() {
        let budget = Budget::new(400);
        let first = budget.take(Lane::Bulk, 299);
        assert!(budget.has_room(Lane::Bulk));
        let second = budget.take(Lane::Bulk, 1);
        assert!(!budget.has_room(Lane::Bulk));
        assert_eq!(budget.in_flight(), 300);
        let copy = first.clone();
        drop(first);
        assert!(!budget.has_room(Lane::Bulk), "a copy is still on the belt");
        let waiting = budget.room(Lane::Bulk);
        tokio::pin!(waiting);
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(waiting.as_mut().poll(&mut context).is_pending());
        drop(copy);
        waiting.await;
        drop(second);
        assert_eq!(budget.in_flight(), 0);
    }

    #[test]
    fn a_file_larger_than_the_budget_passes_alone() {
        let budget = Budget::new(400);
        assert!(budget.has_room(Lane::Bulk));
        let huge = budget.take(Lane::Bulk, 1 << 30);
        assert!(!budget.has_room(Lane::Bulk));
        drop(huge);
        assert!(budget.has_room(Lane::Bulk));
        let none = Budget::new(0);
        assert!(none.has_room(Lane::Bulk), "even a budget of nothing lets one file pass");
    }

    #[test]
    fn a_save_finds_room_while_bulk_has_none() {
        let budget = Budget::new(400);
        let _bulk = budget.take(Lane::Bulk, 1_000);
        assert!(!budget.has_room(Lane::Bulk));
        assert!(budget.has_room(Lane::Interactive));
    }
}
