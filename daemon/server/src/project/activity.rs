//! Activity: who is connected, since when nobody is, and whether the daemon was asked to stop.
//!
//! In: sessions that begin and end; the `shutdown` tool. Out: the facts by which the process decides to exit.
//! Invariants: every session that was counted in is counted out, even when its task panics.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

/// The daemon's clients and whether it should stop. Clones share one state.
#[derive(Debug, Clone)]
pub struct Activity {
    state: Arc<Mutex<State>>,
    stop: Arc<watch::Sender<bool>>,
}

#[derive(Debug)]
struct State {
    n_clients: usize,
    last_client_left: Instant,
    last_asked: Instant,
    /// Calls that are being answered.
    n_asked: usize,
}

impl Default for Activity {
    fn default() -> Self {
        let now = Instant::now();
        let state = State { n_clients: 0, last_client_left: now, last_asked: now, n_asked: 0 };
        Activity { state: Arc::new(Mutex::new(state)), stop: Arc::new(watch::Sender::new(false)) }
    }
}

impl Activity {
    /// Returns the number of clients connected now.
    pub fn n_clients(&self) -> u64 {
        self.locked().n_clients as u64
    }

    /// Returns for how long nobody has been connected at `now`: zero while a client is connected, and counted from the
    /// start until the first one.
    pub fn idle_for(&self, now: Instant) -> Duration {
        let state = self.locked();
        if state.n_clients > 0 {
            return Duration::ZERO;
        }
        now.saturating_duration_since(state.last_client_left)
    }

    /// When a tool was called last; before the first call: the start.
    pub fn last_asked(&self) -> Instant {
        self.locked().last_asked
    }

    /// Whether a call is being answered.
    pub fn is_asked(&self) -> bool {
        self.locked().n_asked > 0
    }

    /// Notes that a tool is called, until the call is dropped.
    pub(crate) fn ask(&self) -> Asking {
        let mut state = self.locked();
        state.last_asked = Instant::now();
        state.n_asked += 1;
        Asking { activity: self.clone() }
    }

    /// Asks the daemon to finish what is on the belt and to end. The caller still gets its reply.
    pub fn request_stop(&self) {
        self.stop.send_replace(true);
    }

    /// Returns true once [`Activity::request_stop`] was called.
    pub fn is_stopping(&self) -> bool {
        *self.stop.borrow()
    }

    /// Returns once [`Activity::request_stop`] was called.
    pub async fn stop_requested(&self) {
        let mut stop = self.stop.subscribe();
        // The sender cannot be gone: this very value holds it.
        let _ = stop.wait_for(|stop| *stop).await;
    }

    /// Counts a client in until the visit is dropped.
    pub(crate) fn enter(&self) -> Visit {
        self.locked().n_clients += 1;
        Visit { activity: self.clone() }
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One client's stay.
#[derive(Debug)]
pub(crate) struct Visit {
    activity: Activity,
}

impl Drop for Visit {
    fn drop(&mut self) {
        let mut state = self.activity.locked();
        state.n_clients = state.n_clients.saturating_sub(1);
        state.last_client_left = Instant::now();
    }
}

/// One call.
#[derive(Debug)]
pub(crate) struct Asking {
    activity: Activity,
}

impl Drop for Asking {
    fn drop(&mut self) {
        let mut state = self.activity.locked();
        state.n_asked = state.n_asked.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn visits_are_counted() {
        let activity = Activity::default();
        let (first, second) = (activity.enter(), activity.enter());
        assert_eq!(activity.n_clients(), 2);
        assert_eq!(activity.idle_for(Instant::now() + Duration::from_secs(60)), Duration::ZERO);
        drop((first, second));
        assert_eq!(activity.n_clients(), 0);
        let idle = activity.idle_for(Instant::now() + Duration::from_secs(60));
        assert!(idle >= Duration::from_secs(60));
    }

    #[test]
    fn calls_are_known_until_they_are_answered() {
        let activity = Activity::default();
        let before = activity.last_asked();
        let calls = (activity.ask(), activity.ask());
        assert!(activity.is_asked() && activity.last_asked() > before);
        drop(calls.0);
        assert!(activity.is_asked());
        drop(calls.1);
        assert!(!activity.is_asked());
    }

    #[tokio::test]
    async fn a_request_to_stop_is_seen_by_every_clone() {
        let activity = Activity::default();
        activity.clone().request_stop();
        activity.stop_requested().await;
        assert!(activity.is_stopping());
    }
}
