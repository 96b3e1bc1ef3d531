//! Turns: fairness between clients, and the limit of one client's reads.
//!
//! In: requests that arrive and are answered. Out: permission to read.
//! Invariants: a client has at most `max_reads_of_one` reads running or answers not yet queued; of all
//! clients, who has few requests open reads before who has many, and those who have many never take all
//! places, so that who sends without reading the answers delays nobody else; a request is counted until
//! its answer is queued, it is cancelled, or its connection ends.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use config::limits::{MAX_IN_FLIGHT, max_reads_of_one};
use rmcp::model::RequestId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::Instant;

/// How much later a read comes for each open request of its client: about the time of one read, so
/// that sixty of them wait as long as if they stood in line. Nobody waits forever.
const DELAY_A_REQUEST: Duration = Duration::from_millis(50);

/// Open requests of a client above which it counts as one that has many. An agent has a handful.
const MANY_REQUESTS: u32 = 8;

/// Why a request is refused, with a hint.
type Refusal = &'static str;

/// One client's unanswered requests. Clones share one state.
#[derive(Debug, Clone)]
pub(crate) struct InFlight {
    requests: Arc<Mutex<HashMap<RequestId, Option<Turn>>>>,
    turns: Arc<Semaphore>,
}

/// One client's permission to read, until it is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    _permit: OwnedSemaphorePermit,
}

impl Default for InFlight {
    fn default() -> Self {
        InFlight { requests: Arc::default(), turns: Arc::new(Semaphore::new(max_reads_of_one())) }
    }
}

impl InFlight {
    /// Registers a request.
    ///
    /// # Errors
    /// If its id is in use, or there are too many.
    pub(crate) fn count_in(&self, id: &RequestId) -> Result<(), Refusal> {
        let mut requests = self.locked();
        let n_requests = requests.len();
        match requests.entry(id.clone()) {
            Entry::Occupied(_) => {
                Err("a request with this id is being answered\nhint: give every request its own id")
            }
            Entry::Vacant(_) if n_requests >= MAX_IN_FLIGHT => {
                Err("too many requests at once\nhint: wait for replies before sending more")
            }
            Entry::Vacant(place) => {
                place.insert(None);
                Ok(())
            }
        }
    }

    /// Removes a request whose answer is queued, or that needs none any more.
    pub(crate) fn count_out(&self, id: &RequestId) {
        self.locked().remove(id);
    }

    /// Waits for this client's turn. Cancel-safe; never returns `None`, because the semaphore is
    /// never closed.
    pub(crate) async fn turn(&self) -> Option<Turn> {
        let permit = Arc::clone(&self.turns).acquire_owned().await.ok()?;
        Some(Turn { _permit: permit })
    }

    /// Returns the number of unanswered requests.
    pub(crate) fn n_open(&self) -> u32 {
        u32::try_from(self.locked().len()).unwrap_or(u32::MAX)
    }

    /// Keeps a turn until the request is removed; drops it if that has happened already.
    pub(crate) fn keep(&self, id: &RequestId, turn: Option<Turn>) {
        if let Some(place) = self.locked().get_mut(id) {
            *place = turn;
        }
    }

    fn locked(&self) -> MutexGuard<'_, HashMap<RequestId, Option<Turn>>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A bounded number of readers over all clients.
#[derive(Debug)]
pub(crate) struct Readers(Mutex<Line>);

#[derive(Debug)]
struct Line {
    n_free: usize,
    /// Of the free places, those that clients with many open requests may take.
    n_free_for_many: usize,
    /// Who waits, with few open requests and with many, by the time at which they are due; the
    /// number tells two of one time apart.
    waiting: [BTreeMap<(Instant, u64), oneshot::Sender<Reading>>; 2],
    n_waited: u64,
}

/// The place of one reader, until it is dropped; the next in line gets it then.
#[derive(Debug)]
pub(crate) struct Reading {
    readers: Option<Arc<Readers>>,
    has_many: bool,
}

impl Line {
    /// Takes a place, if there is one.
    fn enter(&mut self, has_many: bool) -> bool {
        let is_free = self.n_free > 0 && (!has_many || self.n_free_for_many > 0);
        self.n_free -= usize::from(is_free);
        self.n_free_for_many -= usize::from(is_free && has_many);
        is_free
    }

    fn leave(&mut self, has_many: bool) {
        self.n_free += 1;
        self.n_free_for_many += usize::from(has_many);
    }

    /// Removes the next in line for whom there is a place.
    fn next(&mut self) -> Option<(bool, oneshot::Sender<Reading>)> {
        let [few, many] = &mut self.waiting;
        let of_few = few.first_entry();
        let of_many = many.first_entry().filter(|_| self.n_free_for_many > 0);
        match (of_few, of_many) {
            (Some(few), Some(many)) if many.key() < few.key() => Some((true, many.remove())),
            (Some(few), _) => Some((false, few.remove())),
            (None, many) => Some((true, many?.remove())),
        }
    }
}

impl Readers {
    /// Allows so many readers at once, and half of them for clients with many open requests: about
    /// as many as there are cores, so that these compute as fast as they can, and somebody else
    /// finds a place at once.
    pub(crate) fn new(n_free: usize) -> Arc<Self> {
        let n_free_for_many = n_free.div_ceil(2);
        let waiting = [BTreeMap::new(), BTreeMap::new()];
        Arc::new(Readers(Mutex::new(Line { n_free, n_free_for_many, waiting, n_waited: 0 })))
    }

    /// Waits for a place, on behalf of a client with so many open requests. Cancel-safe.
    pub(crate) async fn take(self: &Arc<Self>, n_open: u32) -> Reading {
        let has_many = n_open > MANY_REQUESTS;
        let reading = |readers| Reading { readers, has_many };
        let (called, coming) = oneshot::channel();
        {
            let mut line = self.locked();
            if line.enter(has_many) {
                return reading(Some(Arc::clone(self)));
            }
            line.n_waited += 1;
            let due = (Instant::now() + DELAY_A_REQUEST * n_open, line.n_waited);
            line.waiting[usize::from(has_many)].insert(due, called);
        }
        // The line lives as long as `self`, so nobody in it is forgotten.
        coming.await.unwrap_or(reading(None))
    }

    fn locked(&self) -> MutexGuard<'_, Line> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        let Some(readers) = self.readers.take() else { return };
        let mut line = readers.locked();
        line.leave(self.has_many);
        while line.n_free > 0
            && let Some((has_many, called)) = line.next()
        {
            let reading = Reading { readers: Some(Arc::clone(&readers)), has_many };
            match called.send(reading) {
                Ok(()) => _ = line.enter(has_many),
                // Who has stopped waiting is passed over.
                Err(mut unwanted) => unwanted.readers = None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_has_few_requests_open_reads_before_who_has_many() {
        let readers = Readers::new(2);
        let order = Arc::new(Mutex::new(Vec::new()));
        let many = readers.take(64).await;
        let few = readers.take(1).await;
        let mut waiting = tokio::task::JoinSet::new();
        for (n_open, leaves) in [(60, false), (59, true), (2, false), (1, true), (1, false)] {
            let (readers, order) = (Arc::clone(&readers), Arc::clone(&order));
            let task = waiting.spawn(async move {
                let _reading = readers.take(n_open).await;
                order.lock().expect("not poisoned").push(n_open);
            });
            tokio::task::yield_now().await;
            if leaves {
                task.abort();
            }
        }
        drop(few);
        for _ in 0..4 {
            waiting.join_next().await;
        }
        assert_eq!(*order.lock().expect("not poisoned"), [1, 2]);
        // The free place is not for those who have many, of whom one reads already.
        assert_eq!(readers.locked().n_free, 1);
        drop(readers.take(1).await);
        drop(many);
        waiting.join_next().await;
        assert_eq!(*order.lock().expect("not poisoned"), [1, 2, 60]);
        let line = readers.locked();
        assert_eq!((line.n_free, line.n_free_for_many), (2, 1), "nobody took a place along");
    }

    #[tokio::test]
    async fn a_turn_lasts_until_its_answer_is_queued() {
        let ours = InFlight::default();
        let ids: Vec<_> = (0..2).map(RequestId::Number).collect();
        for id in &ids {
            ours.count_in(id).expect("new");
            let turn = ours.turn().await;
            ours.keep(id, turn);
        }
        assert_eq!(ours.turns.available_permits(), max_reads_of_one() - 2);
        ours.count_out(&ids[0]);
        assert_eq!(ours.turns.available_permits(), max_reads_of_one() - 1);
        // Cancelled before it was answered, so the turn is not kept.
        let turn = ours.turn().await;
        ours.keep(&ids[0], turn);
        assert_eq!(ours.turns.available_permits(), max_reads_of_one() - 1);
    }
}
