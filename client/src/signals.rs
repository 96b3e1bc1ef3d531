//! Signals: waits for a request to end.
//!
//! Invariant: a signal after [`stop_requested`] has returned is not lost, and does not end the
//! process by itself.

use std::future::Future;
use std::io;

use tokio::signal::unix::{SignalKind, signal};

/// Resolves when the process should end: on Ctrl-C, on `SIGTERM`, or when its terminal is gone.
///
/// # Errors
/// When the system refuses.
pub fn stop_requested() -> io::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            _ = hang_up.recv() => {}
        }
    })
}
