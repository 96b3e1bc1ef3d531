//! Message: parses the body of a POST, and classifies the lines of a session.
//!
//! In: bytes. Out: messages with their ids as JSON text, so that `1` and `"1"` differ, ready to be sent as lines.
//! Invariants: a forwarded line has the same content as the body, without line breaks, which JSON allows only between
//! tokens.

use std::borrow::Cow;

use bytes::Bytes;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

/// Most messages of one body; revision 2025-03-26 has such batches.
const MAX_BATCH: usize = config::limits::MAX_IN_FLIGHT;

/// The contents of a POST.
#[derive(Debug)]
pub(crate) struct Posted {
    pub(crate) messages: Vec<Message>,
    pub(crate) is_batch: bool,
}

/// One message of a client.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) kind: Kind,
    /// The parsed message, to inspect its parameters.
    pub(crate) value: Value,
    /// The line to forward, without its end.
    pub(crate) line: Bytes,
}

/// The kind of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It expects a reply.
    Request {
        /// As JSON.
        id: String,
        /// What it asks for.
        method: String,
    },
    /// It expects no reply.
    Notification {
        /// What happened.
        method: String,
    },
    /// It replies to a request of the server.
    Answer,
}

/// What is wrong with a body.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unreadable {
    /// JSON-RPC's own code.
    pub(crate) code: i64,
    /// The id of the message, if it has one.
    pub(crate) id: Value,
    pub(crate) why: String,
}

impl Message {
    /// Returns the request's id, as JSON.
    pub(crate) fn id(&self) -> Value {
        self.value.get("id").cloned().unwrap_or_default()
    }

    pub(crate) fn params(&self) -> Option<&Value> {
        self.value.get("params")
    }

    pub(crate) fn meta(&self) -> Option<&Value> {
        self.params()?.get("_meta")
    }

    pub(crate) fn is_request(&self) -> bool {
        matches!(self.kind, Kind::Request { .. })
    }

    /// Returns the method of a request or notification.
    pub(crate) fn method(&self) -> Option<&str> {
        match &self.kind {
            Kind::Request { method, .. } | Kind::Notification { method } => Some(method),
            Kind::Answer => None,
        }
    }

    /// Returns the token of its progress notifications, as JSON.
    pub(crate) fn progress_token(&self) -> Option<String> {
        self.meta()?.get("progressToken").map(Value::to_string)
    }

    fn of(value: Value, line: Bytes) -> Result<Self, Unreadable> {
        let invalid = |value: &Value, why: &str| {
            // An error repeats the id only if it is a valid one; otherwise it is null, as JSON-RPC demands.
            let id = value.get("id").filter(|id| is_id(id)).cloned().unwrap_or_default();
            Unreadable { code: -32_600, id, why: why.to_string() }
        };
        if value.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
            return Err(invalid(&value, "this is JSON, but not a JSON-RPC 2.0 message"));
        }
        let method = value.get("method").and_then(Value::as_str).map(str::to_string);
        let is_answer = value.get("result").is_some() || value.get("error").is_some();
        let kind = match (method, value.get("id")) {
            (Some(method), Some(id)) if is_id(id) => Kind::Request { id: id.to_string(), method },
            (Some(method), None) => Kind::Notification { method },
            (None, Some(id)) if is_answer && is_id(id) => Kind::Answer,
            (Some(_), Some(_)) => return Err(invalid(&value, "an `id` is a number or a string")),
            _ => return Err(invalid(&value, "the message has neither `method` nor `result`")),
        };
        Ok(Message { kind, value, line })
    }
}

fn is_id(id: &Value) -> bool {
    id.is_string() || id.is_number()
}

/// Parses a body.
///
/// # Errors
/// What is wrong with it, in JSON-RPC's terms.
pub(crate) fn read(body: &[u8]) -> Result<Posted, Unreadable> {
    // Some clients send a byte order mark.
    let body = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body);
    let invalid = |code, why: String| Unreadable { code, id: Value::Null, why };
    let value: Value = serde_json::from_slice(body)
        .map_err(|error| invalid(-32_700, format!("not JSON: {error}")))?;
    match value {
        Value::Array(items) if !(1..=MAX_BATCH).contains(&items.len()) => {
            let n = items.len();
            Err(invalid(-32_600, format!("a batch holds 1 to {MAX_BATCH} messages, not {n}")))
        }
        Value::Array(items) => {
            let message = |item: Value| {
                let line = item.to_string().into();
                Message::of(item, line)
            };
            let messages = items.into_iter().map(message).collect::<Result<_, _>>()?;
            Ok(Posted { messages, is_batch: true })
        }
        single => {
            // A single message is forwarded as it was written, except for its line breaks, which are only white space.
            let is_break = |byte: &u8| matches!(byte, b'\n' | b'\r');
            let line = body.iter().map(|byte| if is_break(byte) { b' ' } else { *byte }).collect();
            Ok(Posted { messages: vec![Message::of(single, line)?], is_batch: false })
        }
    }
}

/// The kind of a session's line, from its outermost fields.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LineKind {
    /// A result, or an error with its code.
    Answer {
        /// As JSON.
        id: String,
        error: Option<i64>,
    },
    /// An error without a request: the session was refused, or ends.
    Refusal,
    /// Progress of a request, by its token as JSON.
    Progress(String),
    /// A request of the server.
    Request,
    /// Any other notification.
    Notification,
}

#[derive(Deserialize)]
struct Head<'a> {
    #[serde(default)]
    id: Option<Value>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    params: Option<Params>,
    result: Option<IgnoredAny>,
    error: Option<Code>,
}

#[derive(Deserialize)]
struct Params {
    #[serde(rename = "progressToken")]
    progress_token: Option<Value>,
}

#[derive(Deserialize)]
struct Code {
    code: i64,
}

impl LineKind {
    /// Classifies a line; none if it is not a message.
    pub(crate) fn of(line: &[u8]) -> Option<LineKind> {
        let head: Head<'_> = serde_json::from_slice(line).ok()?;
        let id = head.id.filter(is_id).map(|id| id.to_string());
        match (head.method.as_deref(), id) {
            (Some(_), Some(_)) => Some(LineKind::Request),
            (Some("notifications/progress"), None) => {
                let token = head.params.and_then(|it| it.progress_token);
                Some(token.map_or(LineKind::Notification, |it| LineKind::Progress(it.to_string())))
            }
            (Some(_), None) => Some(LineKind::Notification),
            (None, Some(id)) if head.result.is_some() || head.error.is_some() => {
                Some(LineKind::Answer { id, error: head.error.map(|it| it.code) })
            }
            (None, None) if head.error.is_some() => Some(LineKind::Refusal),
            (None, _) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(bodies: &[&str], expected: Expect) {
        let show = |body: &&str| match read(body.as_bytes()) {
            Ok(posted) => {
                let one =
                    |it: &Message| format!("{:?} {}", it.kind, String::from_utf8_lossy(&it.line));
                format!("{}\n", posted.messages.iter().map(one).collect::<Vec<_>>().join(" | "))
            }
            Err(Unreadable { code, id, why }) => format!("{code} {id} {why}\n"),
        };
        expected.assert_eq(&bodies.iter().map(show).collect::<String>());
    }

    #[test]
    fn bodies() {
        check(
            &[
                "{\r\n \"jsonrpc\": \"2.0\", \"id\": \"a\\n\",\n \"method\": \"ping\"}",
                r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
                r#"{"jsonrpc":"2.0","id":7,"result":{}}"#,
                r#"[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","id":"1","method":"b"}]"#,
                "[]",
                "nonsense",
                r#"{"id":3,"method":"ping"}"#,
                r#"{"jsonrpc":"2.0","id":[3],"method":"ping"}"#,
                r#"{"jsonrpc":"2.0","id":3}"#,
                r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            ],
            expect![[r#"
                Request { id: "\"a\\n\"", method: "ping" } {   "jsonrpc": "2.0", "id": "a\n",  "method": "ping"}
                Notification { method: "notifications/initialized" } {"jsonrpc":"2.0","method":"notifications/initialized"}
                Answer {"jsonrpc":"2.0","id":7,"result":{}}
                Request { id: "1", method: "a" } {"jsonrpc":"2.0","id":1,"method":"a"} | Request { id: "\"1\"", method: "b" } {"jsonrpc":"2.0","id":"1","method":"b"}
                -32600 null a batch holds 1 to 64 messages, not 0
                -32700 null not JSON: expected ident at line 1 column 2
                -32600 3 this is JSON, but not a JSON-RPC 2.0 message
                -32600 null an `id` is a number or a string
                -32600 3 the message has neither `method` nor `result`
                -32600 null an `id` is a number or a string
            "#]],
        );
    }

    #[test]
    fn lines() {
        let lines = [
            r#"{"jsonrpc":"2.0","id":1,"result":{"id":2}}"#,
            r#"{"jsonrpc":"2.0","id":"x","error":{"code":-32601,"message":"no"}}"#,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"full"}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}"#,
            r#"{"jsonrpc":"2.0","id":0,"method":"sampling/createMessage","params":{}}"#,
            "nonsense",
        ];
        let shown: String =
            lines.iter().map(|it| format!("{:?}\n", LineKind::of(it.as_bytes()))).collect();
        expect![[r#"
            Some(Answer { id: "1", error: None })
            Some(Answer { id: "\"x\"", error: Some(-32601) })
            Some(Refusal)
            Some(Progress("\"t\""))
            Some(Notification)
            Some(Request)
            None
        "#]]
        .assert_eq(&shown);
    }
}
