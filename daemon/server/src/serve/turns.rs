//! Turns: fairness between clients, and the limit of one client's reads.
//!
//! In: requests that arrive and are answered. Out: permission to read.
//! Invariants: a client has at most `max_reads_of_one` reads running or answers not yet queued, so
//! that nobody waits behind more than that of another client; a request is counted until its answer
//! is queued, it is cancelled, or its connection ends.
//! Not here: reading (`routes.rs`), or queueing answers (`wire.rs`).

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use config::limits::{MAX_IN_FLIGHT, max_reads_of_one};
use rmcp::model::RequestId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

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

#[cfg(test)]
mod tests {
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
}
