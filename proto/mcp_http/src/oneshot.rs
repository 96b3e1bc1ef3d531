//! Oneshot: requests of revision 2026-07-28, which has no sessions: each contains all its context.
//!
//! In: a POST's head and its one message. Out: what is wrong with them, else a stream with the reply.
//! Invariants: headers that repeat parts of the body for proxies must match it (otherwise a proxy would route by one,
//! and we would act by the other); each request has a session of its own behind it, so that two clients may use the
//! same ids; when the client disconnects, the request is cancelled.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use hyper::StatusCode;
use hyper::header::HeaderMap;
use proto::error::Code;
use serde_json::{Value, json};
use tokio::net::UnixStream;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use crate::board::Event;
use crate::link::{Outgoing, split};
use crate::message::{LineKind, Message, Posted};
use crate::reply::{Refusal, brief};

/// The header that names the revision.
pub(crate) const VERSION: &str = "mcp-protocol-version";

/// The first revision without sessions. Revisions are dates, and compare as such.
pub(crate) const FIRST: &str = "2026-07-28";

pub(crate) const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub(crate) const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// MCP's code for a head that contradicts the body.
const HEADER_MISMATCH: i64 = -32_020;

/// Methods that existed up to revision 2025-11-25.
const REMOVED: [&str; 5] =
    ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"];

/// Most unread events of one reply.
const MAX_WAITING: usize = 64;

/// Returns true if the posted message is of this revision.
pub(crate) fn is_meant(headers: &HeaderMap, posted: &Posted) -> bool {
    let [message] = posted.messages.as_slice() else { return false };
    let in_meta = meta_version(message).is_some();
    let in_head = text(headers, VERSION).is_some_and(|version| version.as_str() >= FIRST);
    let method = message.method().unwrap_or_default();
    !posted.is_batch
        && (in_meta || (in_head && method != "initialize") || method == "server/discover")
}

fn meta_version(message: &Message) -> Option<&str> {
    message.meta()?.get(META_VERSION)?.as_str()
}

fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    let value = headers.get(name)?;
    Some(String::from_utf8_lossy(value.as_bytes()).trim().to_string())
}

/// Checks the head of a request against its body.
///
/// # Errors
/// The contradiction, in the terms of MCP.
pub(crate) fn check(headers: &HeaderMap, message: &Message) -> Result<(), Refusal> {
    let refuse = |status, rpc_code, why: String| {
        Refusal::new(status, Code::InvalidParams, why).of_request(message.id()).rpc(rpc_code)
    };
    let bad = |rpc_code, why: String| Err(refuse(StatusCode::BAD_REQUEST, rpc_code, why));
    let has_capabilities =
        message.meta().and_then(|it| it.get(META_CAPABILITIES)).is_some_and(Value::is_object);
    let version = meta_version(message);
    let given = [(META_VERSION, version.is_some()), (META_CAPABILITIES, has_capabilities)];
    let missing: Vec<_> = given.iter().filter(|(_, is_there)| !is_there).map(|it| it.0).collect();
    let Some(version) = version.filter(|_| missing.is_empty()) else {
        return bad(-32_602, format!("`_meta` lacks {}", missing.join(", ")));
    };
    // Proxies and we might read different ones of several headers.
    for name in [VERSION, "mcp-method", "mcp-name"] {
        if headers.get_all(name).iter().count() > 1 {
            return bad(HEADER_MISMATCH, format!("there are several headers `{name}`"));
        }
    }
    match text(headers, VERSION) {
        None => return bad(HEADER_MISMATCH, "the header `MCP-Protocol-Version` is missing".into()),
        Some(named) if named != version => {
            let named = brief(&named);
            let why = format!("the header `MCP-Protocol-Version` says `{named}`, `_meta` another");
            return bad(HEADER_MISMATCH, why);
        }
        Some(_) => {}
    }
    let method = message.method().unwrap_or_default();
    // Older versions get their error behind the line, and need not send these headers.
    if version >= FIRST {
        check_header(headers, "Mcp-Method", method).or_else(|why| bad(HEADER_MISMATCH, why))?;
        if let Some(name) = name_of(method, message) {
            check_header(headers, "Mcp-Name", name).or_else(|why| bad(HEADER_MISMATCH, why))?;
        }
    }
    match REMOVED.contains(&method) {
        true => {
            let why = format!("revision {FIRST} has no `{method}`");
            Err(refuse(StatusCode::NOT_FOUND, -32_601, why))
        }
        false => Ok(()),
    }
}

/// Checks the head of a notification, which may omit the method.
///
/// # Errors
/// As [`check`].
pub(crate) fn check_notification(headers: &HeaderMap, message: &Message) -> Result<(), Refusal> {
    if !headers.contains_key("mcp-method") {
        return Ok(());
    }
    check_header(headers, "Mcp-Method", message.method().unwrap_or_default()).map_err(|why| {
        Refusal::new(StatusCode::BAD_REQUEST, Code::InvalidParams, why).rpc(HEADER_MISMATCH)
    })
}

/// Returns the part of the body that the header `Mcp-Name` repeats.
fn name_of<'a>(method: &str, message: &'a Message) -> Option<&'a str> {
    let key = match method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        _ => return None,
    };
    message.params()?.get(key)?.as_str()
}

fn check_header(headers: &HeaderMap, name: &str, wanted: &str) -> Result<(), String> {
    let value = text(headers, name).ok_or_else(|| format!("the header `{name}` is missing"))?;
    let encoded = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?="));
    let plain = match encoded {
        // Only names may need encoding: methods are ASCII.
        Some(encoded) if name == "Mcp-Name" => {
            let bytes = STANDARD.decode(encoded).ok().and_then(|it| String::from_utf8(it).ok());
            bytes.ok_or_else(|| format!("the header `{name}` is not base64 of UTF-8"))?
        }
        _ => value,
    };
    match plain == wanted {
        true => Ok(()),
        false => Err(format!("the header `{name}` says `{}`, the body differs", brief(&plain))),
    }
}

/// A request that is being answered. Dropping it before the reply cancels it.
#[derive(Debug)]
pub(crate) struct Call {
    id: Value,
    outgoing: Outgoing,
    is_answered: Arc<AtomicBool>,
    reader: AbortHandle,
}

impl Drop for Call {
    fn drop(&mut self) {
        if !self.is_answered.load(Ordering::Acquire) {
            let params = json!({ "requestId": self.id, "reason": "the client went away" });
            let notice =
                json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
            self.outgoing.try_send(notice.to_string().into());
        }
        self.reader.abort();
    }
}

/// Sends the request over a session of its own.
pub(crate) fn ask(stream: UnixStream, message: &Message) -> (mpsc::Receiver<Event>, Call) {
    let (mut incoming, outgoing) = split(stream);
    // The queue of a new session has room.
    outgoing.try_send(message.line.clone());
    let (sink, events) = mpsc::channel(MAX_WAITING);
    let is_answered = Arc::new(AtomicBool::new(false));
    let (answered, id) = (Arc::clone(&is_answered), message.id());
    let reader = tokio::spawn(async move {
        let mut number = 0;
        while let Some(line) = incoming.next().await {
            let (line, is_last, error) = match LineKind::of(&line) {
                Some(LineKind::Answer { error, .. }) => (line, true, error),
                Some(LineKind::Refusal) => (with_id(&line, &id), true, Some(0)),
                // In this revision a server sends no requests.
                Some(LineKind::Request) | None => continue,
                Some(LineKind::Progress(_) | LineKind::Notification) => (line, false, None),
            };
            number += 1;
            // Set before the event is sent: once the client has the reply, dropping the call must not cancel anything.
            answered.fetch_or(is_last, Ordering::AcqRel);
            let event = Event { stream: 0, number, line, is_last, error };
            // Waits for a slow client, which is the only one that this session serves.
            if sink.send(event).await.is_err() || is_last {
                return;
            }
        }
    });
    let reader = reader.abort_handle();
    (events, Call { id: message.id(), outgoing, is_answered, reader })
}

fn with_id(line: &[u8], id: &Value) -> Bytes {
    let mut refusal: Value = serde_json::from_slice(line).unwrap_or_default();
    refusal["id"] = id.clone();
    refusal.to_string().into()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use hyper::header::{HeaderName, HeaderValue};

    use super::*;
    use crate::message;

    fn posted(method: &str, params: Value) -> Posted {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        message::read(body.to_string().as_bytes()).expect("a message")
    }

    fn meta() -> Value {
        json!({ META_VERSION: FIRST, META_CAPABILITIES: {} })
    }

    fn head(pairs: &[(&str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&str, &str)| {
            let name: HeaderName = name.parse().expect("a name");
            (name, HeaderValue::from_str(value).expect("a value"))
        };
        let mut headers = HeaderMap::new();
        pairs.iter().map(pair).for_each(|(name, value)| {
            headers.append(name, value);
        });
        headers
    }

    #[test]
    fn what_is_meant_without_a_session() {
        let old = json!({});
        let new = json!({ "_meta": meta() });
        let newest = [("mcp-protocol-version", FIRST)];
        for (headers, method, params, expected) in [
            (&[][..], "tools/list", &new, true),
            (&newest[..], "tools/list", &old, true),
            (&newest[..], "initialize", &old, false),
            (&[], "server/discover", &old, true),
            (&[("mcp-protocol-version", "2025-11-25")], "tools/list", &old, false),
            (&[], "initialize", &old, false),
        ] {
            let posted = posted(method, params.clone());
            assert_eq!(is_meant(&head(headers), &posted), expected, "{method} {headers:?}");
        }
    }

    /// Headers, method, parameters.
    type Row<'a> = (&'a [(&'a str, &'a str)], &'a str, Value);

    #[test]
    fn the_head_says_what_the_body_says() {
        let version = ("MCP-Protocol-Version", FIRST);
        let call = json!({ "name": "grüßen", "_meta": meta() });
        let listed = json!({ "_meta": meta() });
        let encoded = "=?base64?Z3LDvMOfZW4=?=";
        let table: &[Row<'_>] = &[
            (&[version, ("Mcp-Method", "tools/list")], "tools/list", listed.clone()),
            (
                &[version, ("mcp-method", "tools/call"), ("mcp-name", encoded)],
                "tools/call",
                call.clone(),
            ),
            (
                &[version, ("mcp-method", "tools/call"), ("mcp-name", "=?base64?%%?=")],
                "tools/call",
                call.clone(),
            ),
            (
                &[version, ("mcp-method", "tools/call"), ("mcp-name", "x")],
                "tools/call",
                call.clone(),
            ),
            (&[version, ("mcp-method", "tools/call")], "tools/call", call),
            (&[version, ("mcp-method", "TOOLS/LIST")], "tools/list", listed.clone()),
            (&[version], "tools/list", listed.clone()),
            (&[version, version, ("mcp-method", "tools/list")], "tools/list", listed.clone()),
            (&[("mcp-protocol-version", "2027-01-01")], "tools/list", listed.clone()),
            (&[], "tools/list", listed.clone()),
            (&[version], "server/discover", json!({})),
            (&[version], "server/discover", json!({ "_meta": { META_VERSION: FIRST } })),
            (&[version, ("mcp-method", "ping")], "ping", listed),
        ];
        let shown: String = table
            .iter()
            .map(|(headers, method, params)| {
                let posted = posted(method, params.clone());
                match check(&head(headers), &posted.messages[0]) {
                    Ok(()) => "fine\n".to_string(),
                    Err(it) => format!("{} {} {}\n", it.status.as_u16(), it.rpc_code, it.message),
                }
            })
            .collect();
        expect![[r#"
            fine
            fine
            400 -32020 the header `Mcp-Name` is not base64 of UTF-8
            400 -32020 the header `Mcp-Name` says `x`, the body differs
            400 -32020 the header `Mcp-Name` is missing
            400 -32020 the header `Mcp-Method` says `TOOLS/LIST`, the body differs
            400 -32020 the header `Mcp-Method` is missing
            400 -32020 there are several headers `mcp-protocol-version`
            400 -32020 the header `MCP-Protocol-Version` says `2027-01-01`, `_meta` another
            400 -32020 the header `MCP-Protocol-Version` is missing
            400 -32602 `_meta` lacks io.modelcontextprotocol/protocolVersion, io.modelcontextprotocol/clientCapabilities
            400 -32602 `_meta` lacks io.modelcontextprotocol/clientCapabilities
            404 -32601 revision 2026-07-28 has no `ping`
        "#]]
        .assert_eq(&shown);
    }

    #[tokio::test]
    async fn who_goes_away_calls_the_request_off() {
        use tokio::io::AsyncReadExt;
        let (ours, mut theirs) = UnixStream::pair().expect("a pair");
        let posted = posted("tools/call", json!({ "name": "x" }));
        let (events, call) = ask(ours, &posted.messages[0]);
        drop((events, call));
        let mut received = String::new();
        theirs.read_to_string(&mut received).await.expect("the end");
        assert_eq!(received.lines().count(), 2);
        assert!(
            received.contains(r#""method":"notifications/cancelled","params":{"requestId":1,"#),
            "{received}"
        );
    }
}
