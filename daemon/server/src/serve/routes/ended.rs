//! Ended: why a call ends without an answer.

use std::time::Duration;

use index::store::StoreError;
use proto::error::{Code, ErrorView};
use tokio::task::JoinError;

pub(super) fn error_view(code: Code, message: String, hint: Option<&str>) -> ErrorView {
    ErrorView { code, message, hint: hint.map(str::to_string), conflict: None }
}

pub(super) fn unreadable(error: &StoreError) -> ErrorView {
    let hint = "see the daemon's log, or run `kgctl doctor`";
    error_view(Code::Unavailable, format!("the index cannot be read: {error}"), Some(hint))
}

pub(super) fn stopping() -> ErrorView {
    let hint = Some("try again in a moment");
    error_view(Code::Unavailable, "the daemon is stopping".to_string(), hint)
}

pub(super) fn called_off(tool: &str) -> ErrorView {
    error_view(Code::Cancelled, format!("`{tool}` was cancelled"), None)
}

pub(in crate::serve) fn too_slow(what: &str, limit: Duration) -> ErrorView {
    let hint = "ask for less, try again, or raise `serve.request_deadline_ms`";
    let message = format!("{what} did not finish within {} ms", limit.as_millis());
    error_view(Code::DeadlineExceeded, message, Some(hint))
}

pub(super) fn crashed(tool: &str, error: &JoinError) -> ErrorView {
    if !error.is_panic() {
        return stopping();
    }
    // The panic's message may quote a document, so it goes only to the log.
    tracing::error!(tool, "a handler panicked");
    let hint = "this is a bug in kgd; the daemon's log says where";
    error_view(Code::Internal, format!("`{tool}` crashed"), Some(hint))
}
