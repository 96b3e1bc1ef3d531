//! Head: the parts of a request's head that are not about access: the workspace, accepted types, the style of events.

use hyper::StatusCode;
use hyper::header::{
    ACCEPT, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ALLOW, HeaderMap,
    HeaderValue,
};
use proto::error::Code;

use crate::reply::{Refusal, Reply, Style, empty};
use crate::{WORKSPACE_HEADER, oneshot};

/// The first revision in which a stream begins with an event for resuming.
const FIRST_PRIMED: &str = "2025-11-25";

/// Returns the value of `X-Memory-Workspace`, in UTF-8.
pub(crate) fn named_in(headers: &HeaderMap) -> Result<Option<String>, Refusal> {
    let mut values = headers.get_all(WORKSPACE_HEADER).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let named = String::from_utf8_lossy(value.as_bytes()).trim().to_string();
    match values.next() {
        None => Ok(Some(named)),
        Some(_) => {
            let message = "the header `X-Memory-Workspace` is there several times";
            Err(Refusal::new(StatusCode::BAD_REQUEST, Code::InvalidParams, message).about(&named))
        }
    }
}

/// Returns the style of events for the client that sent these headers.
pub(crate) fn style(headers: &HeaderMap) -> Style {
    let version = headers.get(oneshot::VERSION).and_then(|it| it.to_str().ok());
    // Revisions are dates, so they compare as text.
    match version.is_some_and(|it| it >= FIRST_PRIMED) {
        true => Style::Primed,
        false => Style::Numbered,
    }
}

/// Checks `Accept`. A client without the header accepts everything.
pub(crate) fn check_accept(headers: &HeaderMap, with_json: bool) -> Result<(), Refusal> {
    let values: Vec<String> = headers
        .get_all(ACCEPT)
        .iter()
        .map(|it| String::from_utf8_lossy(it.as_bytes()).to_lowercase())
        .collect();
    let accepts = |kind: &str, group: &str| {
        let mut ranges = values.iter().flat_map(|it| it.split(','));
        values.is_empty()
            || ranges.any(|it| {
                let range = it.split(';').next().unwrap_or_default().trim();
                range == kind || range == group || range == "*/*"
            })
    };
    let has_events = accepts("text/event-stream", "text/*");
    if has_events && (!with_json || accepts("application/json", "application/*")) {
        return Ok(());
    }
    let wanted =
        if with_json { "application/json, text/event-stream" } else { "text/event-stream" };
    let message = format!("the header `Accept` must list `{wanted}`");
    Err(Refusal::new(StatusCode::NOT_ACCEPTABLE, Code::InvalidParams, message))
}

pub(crate) fn preflight(methods: &'static str) -> Reply {
    let mut reply = empty(StatusCode::NO_CONTENT);
    let headers = reply.headers_mut();
    headers.insert(ALLOW, HeaderValue::from_static(methods));
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(methods));
    let allowed = "Authorization, Content-Type, Last-Event-ID, MCP-Protocol-Version, Mcp-Method, Mcp-Name, \
        Mcp-Session-Id, X-Memory-Workspace";
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(allowed));
    reply
}
