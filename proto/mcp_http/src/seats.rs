//! Seats: limits connections, and chooses which one makes room for a newcomer.
//!
//! In: connections as they open, are used and close; the socket's listener uses this, too. Out: a seat for each, or
//! none.
//! Invariants: a seat that was never used is given up before one that was, but for the newest ones, whose clients may
//! be about to use them; a seat in use is never given up. Among equals the peer with the most seats loses its oldest
//! one: so connecting alone cannot lock others out, and a peer with few seats loses none to one with many.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// A seat that could be given up.
#[derive(Debug, Clone)]
pub(crate) struct Candidate<K, P, T> {
    pub(crate) key: K,
    pub(crate) peer: P,
    /// Whether it was ever used.
    pub(crate) is_opened: bool,
    /// The time since which it is not in use, or another measure by which the least leaves first.
    pub(crate) since: T,
}

/// Returns the candidate that makes room. So many that were never used may stay while others were used before.
pub(crate) fn who_leaves<K, P: Eq + Hash + Clone, T: Ord>(
    mut candidates: Vec<Candidate<K, P, T>>,
    n_spared: usize,
) -> Option<K> {
    let n_unopened = candidates.iter().filter(|it| !it.is_opened).count();
    let opened_leave = n_unopened <= n_spared && n_unopened < candidates.len();
    candidates.retain(|it| it.is_opened == opened_leave);
    let mut held: HashMap<P, usize> = HashMap::new();
    for it in &candidates {
        *held.entry(it.peer.clone()).or_default() += 1;
    }
    // The oldest of the peer with the most: the first by (most held, least recent).
    let rank = |it: &Candidate<K, P, T>| std::cmp::Reverse(held.get(&it.peer).copied());
    let first = candidates
        .into_iter()
        .min_by(|one, other| rank(one).cmp(&rank(other)).then_with(|| one.since.cmp(&other.since)));
    first.map(|it| it.key)
}

/// The state of a seat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    /// Never used.
    Unopened,
    /// Used before, but not now.
    Idle,
    /// In use.
    Busy,
}

#[derive(Debug)]
struct Row<P> {
    peer: P,
    now: Use,
    since: u64,
    /// Dropped with the row, which notifies the seat's holder.
    _leave: oneshot::Sender<()>,
}

#[derive(Debug)]
struct Rows<P> {
    rows: HashMap<u64, Row<P>>,
    /// Counts events, and serves as a time that two seats never share.
    clock: u64,
}

/// A bounded number of seats. Clones share them.
#[derive(Debug, Clone)]
pub struct Seats<P>(Arc<Mutex<Rows<P>>>);

/// One seat, held until dropped.
#[derive(Debug)]
pub struct Seat<P> {
    seats: Seats<P>,
    number: u64,
}

/// Resolves once the seat is needed for another connection.
pub type Leave = oneshot::Receiver<()>;

impl<P> Default for Seats<P> {
    fn default() -> Self {
        Seats(Arc::new(Mutex::new(Rows { rows: HashMap::new(), clock: 0 })))
    }
}

impl<P: Eq + Hash + Clone> Seats<P> {
    /// Takes a seat for `peer`, one of `most`. If all are taken, one makes room; returns none if all are in use.
    pub fn take(&self, peer: P, most: usize) -> Option<(Seat<P>, Leave)> {
        let mut rows = self.locked();
        let n_busy = rows.rows.values().filter(|row| row.now == Use::Busy).count();
        if n_busy >= most {
            // Giving up an idle seat would not help.
            return None;
        }
        while rows.rows.len() >= most {
            let unused = rows.rows.iter().filter(|(_, row)| row.now != Use::Busy);
            let candidates = unused.map(|(number, row)| Candidate {
                key: *number,
                peer: row.peer.clone(),
                is_opened: row.now != Use::Unopened,
                since: row.since,
            });
            let leaving = who_leaves(candidates.collect(), 0)?;
            rows.rows.remove(&leaving);
        }
        rows.clock += 1;
        let number = rows.clock;
        let (sender, leave) = oneshot::channel();
        rows.rows.insert(number, Row { peer, now: Use::Unopened, since: number, _leave: sender });
        Some((Seat { seats: self.clone(), number }, leave))
    }
}

impl<P> Seats<P> {
    fn locked(&self) -> MutexGuard<'_, Rows<P>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<P> Seat<P> {
    /// Marks it as in use.
    pub fn occupy(&self) {
        self.is(Use::Busy);
    }

    /// Marks it as no longer in use.
    pub(crate) fn rest(&self) {
        self.is(Use::Idle);
    }

    fn is(&self, now: Use) {
        let mut rows = self.seats.locked();
        rows.clock += 1;
        let since = rows.clock;
        if let Some(row) = rows.rows.get_mut(&self.number) {
            (row.now, row.since) = (now, since);
        }
    }
}

impl<P> Drop for Seat<P> {
    fn drop(&mut self) {
        self.seats.locked().rows.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_evicted(leave: &mut Leave) -> bool {
        leave.try_recv() == Err(oneshot::error::TryRecvError::Closed)
    }

    #[test]
    fn who_only_connects_makes_room_oldest_first_and_who_is_in_use_never_does() {
        let seats = Seats::default();
        let (live, mut live_leave) = seats.take("one", 3).expect("room");
        live.occupy();
        let (_oldest, mut oldest) = seats.take("one", 3).expect("room");
        let (used, mut used_leave) = seats.take("one", 3).expect("room");
        used.occupy();
        used.rest();
        let (third, mut third_leave) = seats.take("one", 3).expect("the oldest makes room");
        assert!(is_evicted(&mut oldest) && !is_evicted(&mut used_leave));
        third.occupy();
        let (fourth, _leave) = seats.take("one", 3).expect("one that rests makes room");
        assert!(is_evicted(&mut used_leave) && !is_evicted(&mut third_leave));
        fourth.occupy();
        assert!(seats.take("one", 3).is_none(), "all are in use");
        assert!(!is_evicted(&mut live_leave));
        drop(live);
        assert!(seats.take("one", 3).is_some());
    }

    #[test]
    fn a_peer_that_holds_few_loses_none_to_one_that_holds_many() {
        let seats = Seats::default();
        let (_few, mut few) = seats.take("few", 10).expect("room");
        let many: Vec<_> = (0..100).map(|_| seats.take("many", 10).expect("room")).collect();
        assert!(!is_evicted(&mut few));
        let mut left = many.into_iter().map(|(_seat, leave)| leave);
        assert!(left.by_ref().take(91).all(|mut leave| is_evicted(&mut leave)));
    }
}
