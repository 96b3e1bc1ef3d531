//! Doer: the tool and client for which notes are written, to be recorded with each kept version.
//!
//! In: the tool and the client of a call, around its work. Out: the same, wherever that work keeps
//! a version.
//! Invariants: the value follows the work like a tracing span, into blocking threads as well, so no
//! write can lose it; work outside a call, such as `kgctl restore`, has none.
//! Not here: the names of files (`kept.rs`).

use std::future::Future;
use std::sync::Arc;

tokio::task_local! {
    static DOER: Arc<str>;
}

/// Most characters of a client's name that are recorded.
const MAX_CHARS: usize = 40;

/// Runs work on behalf of a client that calls a tool.
pub(crate) async fn acting<F: Future>(tool: &str, client: &str, work: F) -> F::Output {
    DOER.scope(label(tool, client).into(), work).await
}

/// Returns for whom the current work is done: `edit_note@claude-code`.
pub(crate) fn doer() -> Option<Arc<str>> {
    DOER.try_with(Arc::clone).ok()
}

/// Wraps work for a blocking thread, on behalf of the current client.
pub(crate) fn carried<T>(work: impl FnOnce() -> T) -> impl FnOnce() -> T {
    let doer = doer();
    move || match doer {
        Some(doer) => DOER.sync_scope(doer, work),
        None => work(),
    }
}

/// Wraps work for a task of its own, on behalf of a client.
pub(crate) async fn carrying<F: Future>(doer: Option<Arc<str>>, work: F) -> F::Output {
    match doer {
        Some(doer) => DOER.scope(doer, work).await,
        None => work.await,
    }
}

/// Replaces characters that a file name may not contain: only letters, digits, `-` and `_` stay.
fn label(tool: &str, client: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() || "-_".contains(c) { c } else { '_' };
    let client: String = client.trim().chars().take(MAX_CHARS).map(plain).collect();
    if client.is_empty() { tool.to_string() } else { format!("{tool}@{client}") }
}
