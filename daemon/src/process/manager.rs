//! Manager: notifies systemd if it started us (`NOTIFY_SOCKET`).
//!
//! In: the daemon's life. Out: `READY`, `STATUS`, `WATCHDOG` and `STOPPING`; nothing without
//! systemd.
//! Invariants: a message that cannot be sent changes nothing.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use sd_notify::NotifyState;

/// The service manager, if there is one.
#[derive(Debug)]
pub(super) struct Manager {
    watchdog: Option<Duration>,
    last_status: Mutex<String>,
}

impl Manager {
    /// Creates the manager that the environment names.
    pub(super) fn new() -> Self {
        Manager { watchdog: sd_notify::watchdog_enabled(), last_status: Mutex::default() }
    }

    /// Returns the longest interval between calls of [`Manager::alive`]; none without a watchdog.
    pub(super) fn interval(&self) -> Option<Duration> {
        // Half of the watchdog's limit, as sd_watchdog_enabled(3) advises.
        self.watchdog.map(|limit| limit / 2)
    }

    /// Reports that the project is open and the socket listens.
    pub(super) fn ready(&self) {
        send(&[NotifyState::Ready]);
    }

    /// Reports that the daemon is alive; the status line is sent only when it changed.
    pub(super) fn alive(&self, n_clients: u64, n_on_belt: u64) {
        if self.watchdog.is_some() {
            send(&[NotifyState::Watchdog]);
        }
        let status = format!("{n_clients} clients, {n_on_belt} documents on the belt");
        let mut last = self.last_status.lock().unwrap_or_else(PoisonError::into_inner);
        if *last != status {
            send(&[NotifyState::Status(&status)]);
            *last = status;
        }
    }

    /// Reports that no new clients are accepted and the belt is being finished.
    pub(super) fn stopping(&self) {
        send(&[NotifyState::Stopping, NotifyState::Status("finishing the documents in work")]);
    }
}

fn send(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::debug!(%error, "the service manager does not listen");
    }
}
