//! Turns: fairness between clients, and the limit of one client's reads.
//!
//! In: requests that arrive and are answered. Out: permission to read.
//! Invariants: a client has at most `max_reads_of_one` reads running or answers not yet queued, so
//! that nobody waits behind more than that of another client; a request is counted until its answer
//! is queued, it is cancelled, or its connection ends; at most `max_readers` reads run, and of those
//! that wait, one of a client with few unanswered requests goes first, yet none waits for ever.
//! Not here: reading (`routes.rs`), or queueing answers (`wire.rs`).

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use config::limits::{MAX_IN_FLIGHT, max_readers, max_reads_of_one};
use rmcp::model::RequestId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

/// How much later a read counts as having arrived for each other unanswered request of its client. With the most that
/// a client may have, its reads let those pass that arrive within 1.3 s.
const BEHIND: Duration = Duration::from_millis(20);

/// Why a request is refused, with a hint.
type Refusal = &'static str;

/// One client's unanswered requests. Clones share one state.
#[derive(Debug, Clone)]
pub(crate) struct InFlight {
    requests: Arc<Requests>,
    turns: Arc<Semaphore>,
}

type Requests = Mutex<HashMap<RequestId, Option<Turn>>>;

/// One client's permission to read, until it is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    _permit: OwnedSemaphorePermit,
    /// Weak, because the requests keep their turns.
    requests: Weak<Requests>,
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
        Some(Turn { _permit: permit, requests: Arc::downgrade(&self.requests) })
    }

    /// Keeps a turn until the request is removed; drops it if that has happened already.
    pub(crate) fn keep(&self, id: &RequestId, turn: Option<Turn>) {
        if let Some(place) = self.locked().get_mut(id) {
            *place = turn;
        }
    }

    fn locked(&self) -> MutexGuard<'_, HashMap<RequestId, Option<Turn>>> {
        locked(&self.requests)
    }
}

fn locked<T>(it: &Mutex<T>) -> MutexGuard<'_, T> {
    it.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The reads of all clients: some run, the others wait. Clones share one state.
#[derive(Debug, Clone)]
pub(crate) struct ReadQueue(Arc<Mutex<Reads>>);

#[derive(Debug)]
struct Reads {
    n_free: usize,
    /// In the order in which they arrived.
    waiting: Vec<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    since: Instant,
    requests: Weak<Requests>,
    sender: oneshot::Sender<Place>,
}

impl Waiting {
    /// Returns the time from which it counts as waiting. It depends on what its client has sent since, so it is
    /// computed when a place is free: a client that floods begins with one request, too.
    fn counts_from(&self) -> Instant {
        let n_requests = self.requests.upgrade().map_or(0, |it| locked(&it).len());
        self.since + BEHIND * u32::try_from(n_requests.saturating_sub(1)).unwrap_or(u32::MAX)
    }
}

/// Permission to run one read, until it is dropped: then the next one runs.
#[derive(Debug)]
pub(crate) struct Place(ReadQueue);

impl Default for ReadQueue {
    fn default() -> Self {
        ReadQueue(Arc::new(Mutex::new(Reads { n_free: max_readers(), waiting: Vec::new() })))
    }
}

impl ReadQueue {
    /// Waits until a read of the client that has this turn may run. Cancel-safe; never returns `None`, because no
    /// read that somebody waits for is dropped.
    pub(crate) async fn place(&self, turn: &Turn) -> Option<Place> {
        let next = {
            let mut reads = self.locked();
            if reads.n_free > 0 {
                reads.n_free -= 1;
                return Some(Place(self.clone()));
            }
            let (sender, next) = oneshot::channel();
            let requests = turn.requests.clone();
            reads.waiting.push(Waiting { since: Instant::now(), requests, sender });
            next
        };
        next.await.ok()
    }

    fn locked(&self) -> MutexGuard<'_, Reads> {
        locked(&self.0)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut reads = self.0.locked();
        // Their callers have left.
        reads.waiting.retain(|it| !it.sender.is_closed());
        let next = (0..reads.waiting.len()).min_by_key(|at| reads.waiting[*at].counts_from());
        let Some(next) = next else {
            reads.n_free += 1;
            return;
        };
        let next = reads.waiting.remove(next);
        drop(reads);
        // If its caller leaves at this moment, what was sent is dropped, and the one after it runs.
        let _ = next.sender.send(Place(self.0.clone()));
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

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

    fn poll<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
        Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
    }

    /// Starts as many reads as may run.
    async fn full(queue: &ReadQueue, turn: &Turn) -> Vec<Place> {
        let mut running = Vec::new();
        for _ in 0..max_readers() {
            running.extend(queue.place(turn).await);
        }
        running
    }

    async fn client() -> (InFlight, Turn) {
        let client = InFlight::default();
        client.count_in(&RequestId::Number(0)).expect("new");
        let turn = client.turn().await.expect("a turn");
        (client, turn)
    }

    #[tokio::test]
    async fn a_client_with_one_request_goes_before_one_with_many() {
        let queue = ReadQueue::default();
        let ((many, first), (_one, second)) = (client().await, client().await);
        let mut running = full(&queue, &second).await;
        let mut of_many = Box::pin(queue.place(&first));
        let mut of_one = Box::pin(queue.place(&second));
        assert!(poll(&mut of_many).is_pending() && poll(&mut of_one).is_pending());
        // Sent after its first one began to wait.
        (1..60).for_each(|id| many.count_in(&RequestId::Number(id)).expect("new"));
        running.pop();
        assert!(poll(&mut of_many).is_pending());
        let Poll::Ready(place) = poll(&mut of_one) else { panic!("it waits") };
        drop(place);
        assert!(poll(&mut of_many).is_ready());
    }

    #[tokio::test]
    async fn a_read_whose_caller_left_takes_no_place() {
        let queue = ReadQueue::default();
        let (_client, turn) = client().await;
        let running = full(&queue, &turn).await;
        let mut gone = Box::pin(queue.place(&turn));
        assert!(poll(&mut gone).is_pending());
        drop(gone);
        drop(running);
        assert_eq!(queue.locked().n_free, max_readers());
    }
}
