//! Page: the page for people, and the data behind it: tools, called by name.
//!
//! In: `GET /…` for a file of the page; `GET /api/NAME?…` and `POST /api/tool/NAME` for a call. Out: the file; the
//! structured content of the call's result, or an error with code, message and hint under a fitting status.
//! Invariants: files contain no data and need no token, and their headers limit what they may do: scripts and styles of
//! this server alone, no other machine; a call needs a token, which never appears in an address; writes are POSTs of
//! JSON, which foreign pages cannot send without permission; addresses can only request reads.

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::header::{CONTENT_SECURITY_POLICY, HeaderName, HeaderValue, ORIGIN, REFERRER_POLICY};
use hyper::{Method, Request, StatusCode};
use proto::catalog::CATALOG;
use proto::error::{Code, ErrorView};
use serde_json::{Map, Value, json};
use tokio::net::UnixStream;

use crate::access::Denied;
use crate::endpoint::Endpoint;
use crate::message::{self, Message};
use crate::oneshot::{self, FIRST, META_CAPABILITIES, META_VERSION};
use crate::refused::{not_allowed, nothing_at, refusal_of};
use crate::reply::{Refusal, Reply, json as json_reply, over, whole};
use crate::{Caller, metrics};

/// The path of the data.
pub(crate) const API: &str = "/api/";

/// The path under which a tool is called by name.
const TOOL: &str = "/api/tool/";

/// The path of the names of all tools.
const TOOLS: &str = "/api/tools";

/// The path of the numbers of `status` for Prometheus.
pub(crate) const METRICS: &str = "/metrics";

/// What an address alone can request, and the tool that answers.
const READS: [(&str, &str); 6] = [
    ("search", "hybrid_query"),
    ("document", "render_document"),
    ("entity", "explain_entity"),
    ("graph", "graph"),
    ("changes", "changes"),
    ("status", "status"),
];

/// The content security policy: a page may only show what this server gives it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A file of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageFile {
    /// Its media type.
    pub kind: &'static str,
    /// Its content.
    pub content: &'static [u8],
}

impl From<PageFile> for Reply {
    fn from(file: PageFile) -> Reply {
        let mut reply = whole(StatusCode::OK, file.kind, Bytes::from_static(file.content));
        let headers = reply.headers_mut();
        headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
        headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
        for name in ["cross-origin-opener-policy", "cross-origin-resource-policy"] {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static("same-origin"));
        }
        reply
    }
}

/// Returns the names of all tools, so that a page shows only what this daemon can do.
fn tools() -> Reply {
    let names: Vec<_> = CATALOG.iter().map(|it| it.name).collect();
    json_reply(StatusCode::OK, json!({ "tools": names }).to_string())
}

/// Returns the tool for a path.
fn read_at(path: &str) -> Option<&'static str> {
    let name = path.strip_prefix(API)?;
    READS.iter().find(|(known, _)| *known == name).map(|(_, tool)| *tool)
}

/// Parses the parameters of an address. A repeated one becomes a list.
fn parameters(query: &str) -> Map<String, Value> {
    let mut all: Map<String, Value> = Map::new();
    for pair in query.split('&').filter(|it| !it.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (name, value) = (decoded(name), Value::String(decoded(value)));
        match all.get_mut(&name) {
            Some(Value::Array(items)) => items.push(value),
            Some(first) => *first = json!([first.take(), value]),
            None => _ = all.insert(name, value),
        }
    }
    all
}

/// Decodes the encoding of forms: `+`, and `%` with two digits. Anything else stays as it is.
fn decoded(text: &str) -> String {
    let mut bytes = text.as_bytes();
    let mut out = Vec::with_capacity(text.len());
    while let Some((byte, rest)) = bytes.split_first() {
        let digits = rest.get(..2).and_then(|it| std::str::from_utf8(it).ok());
        let meant = digits.and_then(|it| u8::from_str_radix(it, 16).ok());
        bytes = rest;
        match (byte, meant) {
            (b'+', _) => out.push(b' '),
            (b'%', Some(meant)) => {
                bytes = rest.get(2..).unwrap_or_default();
                out.push(meant);
            }
            (byte, _) => out.push(*byte),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

impl Endpoint {
    /// Answers a call for data. A page of another host is refused even if MCP allows it.
    pub(crate) async fn api(
        &self,
        request: Request<Incoming>,
        is_foreign: bool,
    ) -> Result<Reply, Refusal> {
        let caller = self.access.caller(request.headers()).map_err(|it| refusal_of(&it))?;
        let origin = request.headers().get(ORIGIN).filter(|_| is_foreign);
        if let Some(origin) = origin {
            let origin = String::from_utf8_lossy(origin.as_bytes()).into_owned();
            return Err(refusal_of(&Denied::Origin(origin)));
        }
        let (path, method) = (request.uri().path().to_string(), request.method().clone());
        if (path.as_str(), &method) == (TOOLS, &Method::GET) {
            return Ok(tools());
        }
        let named = path.strip_prefix(TOOL);
        let tool = named.or_else(|| read_at(&path)).ok_or_else(|| nothing_at(&path))?;
        let arguments = match (named, &method) {
            // A browser sends JSON by POST to another origin only after a preflight, which is refused.
            (Some(_), &Method::POST) => self.arguments(request).await?,
            (None, &Method::GET) => parameters(request.uri().query().unwrap_or_default()),
            (Some(_), _) => return Err(not_allowed(&method, "POST")),
            (None, _) => return Err(not_allowed(&method, "GET")),
        };
        let stream = self.session_for(tool, caller, &path)?;
        Ok(reply_to(call(stream, tool, arguments).await?))
    }

    /// Returns the numbers of `status`. The caller has checked the token.
    pub(crate) async fn metrics(&self) -> Result<Reply, Refusal> {
        let stream = self.session_for("status", Caller::Person, METRICS)?;
        let mut answer = call(stream, "status", Map::new()).await?;
        let status = answer["result"]["structuredContent"].take();
        Ok(whole(StatusCode::OK, metrics::KIND, metrics::text(&status).into()))
    }

    fn session_for(&self, tool: &str, caller: Caller, path: &str) -> Result<UnixStream, Refusal> {
        let opened = self.workspaces.open_for_api(tool, caller).ok_or_else(|| nothing_at(path))?;
        opened.map_err(|error| {
            let message = format!("the project cannot be reached: {error}");
            Refusal::new(StatusCode::SERVICE_UNAVAILABLE, Code::Unavailable, message)
                .hint("try again, or run `kgctl doctor`")
        })
    }

    /// Parses the body of a call as arguments; an empty one has none.
    async fn arguments(&self, request: Request<Incoming>) -> Result<Map<String, Value>, Refusal> {
        let bytes = self.bytes(request).await?;
        let read = if bytes.is_empty() { Ok(Map::new()) } else { serde_json::from_slice(&bytes) };
        read.map_err(|error| {
            let message = format!("the body is no object of arguments: {error}");
            Refusal::new(StatusCode::BAD_REQUEST, Code::InvalidParams, message)
        })
    }
}

/// Calls a tool over a session of its own, and waits for its reply. Dropping this cancels the call.
async fn call(
    stream: UnixStream,
    tool: &str,
    arguments: Map<String, Value>,
) -> Result<Value, Refusal> {
    let meta = json!({ META_VERSION: FIRST, META_CAPABILITIES: {} });
    let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
    let asked = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let posted = message::read(asked.to_string().as_bytes()).ok();
    let message = posted.and_then(|it| it.messages.into_iter().next()).ok_or_else(over)?;
    answer_of(stream, &message).await
}

async fn answer_of(stream: UnixStream, message: &Message) -> Result<Value, Refusal> {
    // Named, so that it lives until the reply: dropping it cancels the call.
    let (mut coming, _call) = oneshot::ask(stream, message);
    while let Some(event) = coming.recv().await {
        if event.is_last {
            return serde_json::from_slice(&event.line).map_err(|_| over());
        }
    }
    Err(over())
}

/// Returns the structured content of a reply under the status that fits it.
fn reply_to(mut answer: Value) -> Reply {
    let is_error = answer["error"].is_object() || answer["result"]["isError"] == true;
    let content = answer["result"]["structuredContent"].take();
    if !is_error {
        return json_reply(StatusCode::OK, content.to_string());
    }
    let error: ErrorView = serde_json::from_value(content).unwrap_or_else(|_| {
        // An error of the protocol: an unknown tool, or a session that was refused.
        let error = &answer["error"];
        let text = error["message"].as_str().unwrap_or("the call failed");
        let (message, hint) = match text.split_once("\nhint: ") {
            Some((message, hint)) => (message, Some(hint)),
            None => (text, error["data"]["hint"].as_str()),
        };
        let code = serde_json::from_value(error["data"]["code"].clone());
        ErrorView {
            code: code.unwrap_or(Code::InvalidParams),
            message: message.to_string(),
            hint: hint.map(str::to_string),
            conflict: None,
        }
    });
    json_reply(status_of(error.code), json!({ "error": error }).to_string())
}

fn status_of(code: Code) -> StatusCode {
    match code {
        Code::InvalidParams | Code::Ambiguous | Code::OutsideProject => StatusCode::BAD_REQUEST,
        Code::NotFound => StatusCode::NOT_FOUND,
        Code::Exists | Code::Conflict => StatusCode::CONFLICT,
        Code::ReadOnly | Code::Refused => StatusCode::FORBIDDEN,
        Code::DeadlineExceeded | Code::Cancelled => StatusCode::GATEWAY_TIMEOUT,
        Code::Unavailable | Code::VersionMismatch => StatusCode::SERVICE_UNAVAILABLE,
        Code::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_like_a_form() {
        let read = |query: &str| Value::Object(parameters(query)).to_string();
        assert_eq!(read("q=key+vault%21&k=5"), r#"{"q":"key vault!","k":"5"}"#);
        assert_eq!(read("tags=a&tags=b%2Fc&tags=d"), r#"{"tags":["a","b/c","d"]}"#);
        assert_eq!(read("q=100%&&x"), r#"{"q":"100%","x":""}"#);
        assert_eq!(read("q=%C3%A4%zz%"), r#"{"q":"ä%zz%"}"#);
    }

    #[test]
    fn an_address_asks_for_reads_only() {
        assert_eq!(read_at("/api/search"), Some("hybrid_query"));
        assert_eq!(read_at("/api/write_note").or(read_at("/api/tool/status")), None);
        for (_, tool) in READS {
            let entry = CATALOG.iter().find(|it| it.name == tool).expect("a tool");
            assert_eq!(entry.effect, proto::tool::Effect::Reads, "{tool}");
        }
    }
}
