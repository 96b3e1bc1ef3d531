//! Doer: for whom notes are written, so that each kept version says so.
//!
//! In: the tool and the client of a call, around its work. Out: the same, wherever that work keeps a version.
//! Invariants: it goes with the work as a span of a log does, also to the threads that block, so no write can forget
//! it; work of nobody's call, such as `kgctl restore`, has none.
//! Not here: the names of files (`kept.rs`).

use std::future::Future;
use std::sync::Arc;

tokio::task_local! {
    static DOER: Arc<str>;
}

/// Most characters of a client's name.
const MAX_CHARS: usize = 40;

/// Does work for a client that calls a tool.
pub(crate) async fn acting<F: Future>(tool: &str, client: &str, work: F) -> F::Output {
    DOER.scope(label(tool, client).into(), work).await
}

/// For whom the present work is done: `edit_note@claude-code`.
pub(crate) fn doer() -> Option<Arc<str>> {
    DOER.try_with(Arc::clone).ok()
}

/// Work for a thread that blocks, done for whom the present work is done.
pub(crate) fn carried<T>(work: impl FnOnce() -> T) -> impl FnOnce() -> T {
    let doer = doer();
    move || match doer {
        Some(doer) => DOER.sync_scope(doer, work),
        None => work(),
    }
}

/// Work for a task of its own, done for whom the present work is done.
pub(crate) async fn carrying<F: Future>(doer: Option<Arc<str>>, work: F) -> F::Output {
    match doer {
        Some(doer) => DOER.scope(doer, work).await,
        None => work.await,
    }
}

/// What the name of a file may hold of both: letters, digits, `-` and `_`.
fn label(tool: &str, client: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() || "-_".contains(c) { c } else { '_' };
    let client: String = client.trim().chars().take(MAX_CHARS).map(plain).collect();
    if client.is_empty() { tool.to_string() } else { format!("{tool}@{client}") }
}
