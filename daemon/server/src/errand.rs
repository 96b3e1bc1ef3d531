//! Errand: for whom work is done, and until when its caller waits.
//!
//! In: the deadline of a call, its tool, and its client with the number of its open requests, around its work. Out:
//! the same, wherever that work waits or keeps a version.
//! Invariants: the values follow the work like a tracing span, into blocking threads as well, so no wait outlasts its
//! caller and no write can lose its doer; work outside a call, such as `kgctl restore`, has none.

use std::future::Future;
use std::sync::Arc;

use tokio::time::Instant;

tokio::task_local! {
    static ERRAND: Errand;
}

/// Counts the unanswered requests of a client.
type Count = Arc<dyn Fn() -> u32 + Send + Sync>;

/// The call for which work is done.
#[derive(Clone, Default)]
pub(crate) struct Errand {
    until: Option<Instant>,
    n_open: Option<Count>,
    doer: Option<Arc<str>>,
}

/// Most characters of a client's name that are recorded.
const MAX_CHARS: usize = 40;

/// Runs work whose waits end by a moment, early enough to say what was waited for, for a client whose
/// unanswered requests `n_open` counts.
pub(crate) fn within<F: Future>(
    until: Instant,
    n_open: Count,
    work: F,
) -> impl Future<Output = F::Output> {
    ERRAND.scope(Errand { until: Some(until), n_open: Some(n_open), doer: None }, work)
}

/// Runs work on behalf of a client that calls a tool.
pub(crate) fn acting<F: Future>(
    tool: &str,
    client: &str,
    work: F,
) -> impl Future<Output = F::Output> + use<F> {
    ERRAND.scope(Errand { doer: Some(label(tool, client).into()), ..current() }, work)
}

/// Wraps work for a task of its own, on the current errand.
pub(crate) fn carrying<F: Future>(work: F) -> impl Future<Output = F::Output> {
    ERRAND.scope(current(), work)
}

/// Wraps work for a blocking thread, on the current errand.
pub(crate) fn carried<T>(work: impl FnOnce() -> T) -> impl FnOnce() -> T {
    let errand = current();
    move || ERRAND.sync_scope(errand, work)
}

/// Returns for whom the current work is done: `edit_note@claude-code`.
pub(crate) fn doer() -> Option<Arc<str>> {
    current().doer
}

/// Returns when the waits of the current work must end.
pub(crate) fn until() -> Option<Instant> {
    current().until
}

/// Returns how many unanswered requests the client has now.
pub(crate) fn n_open() -> u32 {
    current().n_open.map_or(0, |count| count())
}

fn current() -> Errand {
    ERRAND.try_with(Errand::clone).unwrap_or_default()
}

/// Replaces characters that a file name may not contain: only letters, digits, `-` and `_` stay.
fn label(tool: &str, client: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() || "-_".contains(c) { c } else { '_' };
    let client: String = client.trim().chars().take(MAX_CHARS).map(plain).collect();
    if client.is_empty() { tool.to_string() } else { format!("{tool}@{client}") }
}
