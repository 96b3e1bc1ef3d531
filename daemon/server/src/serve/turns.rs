//! Turns: whose read goes next, and what one client may have under way.
//!
//! In: requests that come and are answered. Out: permission to read.
//! Invariants: a client has at most `max_reads_of_one` reads in work or answers not yet queued for it, so that
//! nobody waits behind more than that of another; a request is counted until its answer is queued, it is
//! cancelled, or its connection ends.
//! Not here: reading (`routes.rs`), or queueing answers (`wire.rs`).

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use config::limits::{MAX_IN_FLIGHT, max_reads_of_one};
use rmcp::model::RequestId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Why a request is not let in, with a hint.
type Refusal = &'static str;

/// One client's requests that wait for an answer. Clones share one state.
#[derive(Debug, Clone)]
pub(crate) struct InFlight {
    requests: Arc<Mutex<HashMap<RequestId, Option<Turn>>>>,
    turns: Arc<Semaphore>,
}

/// The right to read for one client, until it is dropped.
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
    /// Counts a request in.
    ///
    /// # Errors
    /// Its id is in use, or it is one too many.
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

    /// Its answer is queued, or it needs none any more.
    pub(crate) fn count_out(&self, id: &RequestId) {
        self.locked().remove(id);
    }

    /// Waits for this client's turn. Cancel-safe; `None` never happens, because nobody closes the turns.
    pub(crate) async fn turn(&self) -> Option<Turn> {
        let permit = Arc::clone(&self.turns).acquire_owned().await.ok()?;
        Some(Turn { _permit: permit })
    }

    /// Keeps a turn until the request is counted out; drops it when that has happened already.
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
        // Cancelled before it was answered: there is nothing left to keep its turn for.
        let turn = ours.turn().await;
        ours.keep(&ids[0], turn);
        assert_eq!(ours.turns.available_permits(), max_reads_of_one() - 1);
    }
}
