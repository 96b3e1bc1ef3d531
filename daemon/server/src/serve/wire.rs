//! Wire: JSON-RPC over one connection, one message per line; `rmcp` sees it as a transport.
//!
//! In: lines. Out: messages for the MCP service, and its answers as lines.
//! Invariants: at most `MAX_IN_FLIGHT` requests and `MAX_QUEUED_LINES` lines wait for one client; a
//! line that is not a message is answered with an error, and a client that sends nothing else is
//! disconnected, as is a client that does not read; a dropped `receive` loses nothing.
//!
//! `rmcp`'s own line transport is not enough: it neither answers garbage, nor bounds what waits for
//! a slow reader, nor ends a session whose writes fail, nor supports the batches of revision
//! 2025-03-26.

use std::collections::VecDeque;
use std::future::Future;
use std::io;

use config::limits::{MAX_BAD_LINES, MAX_IN_FLIGHT, MAX_QUEUED_LINES};
use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorCode, GetMeta,
    ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::client_reader::HangUp;
use super::leaving::clean_text;
use super::lines::{Line, Lines};
use super::turns::InFlight;

mod lenient;
mod outbox;

pub(crate) use outbox::refusal_line;
use outbox::{enqueue, error_line, write_lines};

/// One connection as a transport.
pub(crate) struct Wire<R> {
    lines: Lines<R>,
    outbox: Option<mpsc::Sender<Vec<u8>>>,
    writer: Option<JoinHandle<()>>,
    /// The rest of a batch.
    batch: VecDeque<Value>,
    /// An error to send before anything else is read.
    refusal: Option<Vec<u8>>,
    in_flight: InFlight,
    n_bad_lines: u32,
    /// Whether the client has opened its lifecycle. Before that, `rmcp` closes the connection on a
    /// stray notification.
    is_open: bool,
}

impl<R: AsyncRead + Unpin + Send> Wire<R> {
    /// Speaks over `lines` and `writer`; the writer gets a task of its own, which signals when the
    /// client is `gone`.
    pub(super) fn new(
        lines: Lines<R>,
        writer: impl AsyncWrite + Unpin + Send + 'static,
        gone: HangUp,
    ) -> Self {
        let (outbox, queue) = mpsc::channel(MAX_QUEUED_LINES);
        Wire {
            lines,
            outbox: Some(outbox),
            writer: Some(tokio::spawn(write_lines(writer, queue, gone))),
            batch: VecDeque::new(),
            refusal: None,
            in_flight: InFlight::default(),
            n_bad_lines: 0,
            is_open: false,
        }
    }

    /// Returns the client's unanswered requests.
    pub(crate) fn in_flight(&self) -> InFlight {
        self.in_flight.clone()
    }

    fn read(&mut self, line: &[u8]) -> Option<ClientJsonRpcMessage> {
        // Some Windows tools start a stream with a byte order mark; JSON allows skipping it.
        let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
        if line.iter().all(u8::is_ascii_whitespace) {
            return None;
        }
        if line.trim_ascii_start().starts_with(b"[") {
            self.read_batch(line);
            return None;
        }
        match serde_json::from_slice(line) {
            Ok(message) => self.admit(message),
            Err(error) => {
                self.refuse_line(line, &error);
                None
            }
        }
    }

    /// Reads a batch of revision 2025-03-26. Each message in it is answered on its own line.
    fn read_batch(&mut self, line: &[u8]) {
        match serde_json::from_slice::<VecDeque<Value>>(line) {
            Ok(batch) if (1..=MAX_IN_FLIGHT).contains(&batch.len()) => self.batch = batch,
            Ok(batch) => {
                let why =
                    format!("a batch holds 1 to {MAX_IN_FLIGHT} messages, not {}", batch.len());
                self.refuse_bad(ErrorCode::INVALID_REQUEST, Value::Null, &why);
            }
            Err(error) => self.refuse_line(line, &error),
        }
    }

    fn read_value(&mut self, value: Value) -> Option<ClientJsonRpcMessage> {
        let id = id_of(&value);
        match serde_json::from_value(value) {
            Ok(message) => self.admit(message),
            Err(error) => {
                self.refuse_bad(ErrorCode::INVALID_REQUEST, id, &error.to_string());
                None
            }
        }
    }

    /// Admits a message, unless there are too many or it cannot be answered.
    fn admit(&mut self, mut message: ClientJsonRpcMessage) -> Option<ClientJsonRpcMessage> {
        self.n_bad_lines = 0;
        match &mut message {
            ClientJsonRpcMessage::Request(request) => {
                let id = || request.id.clone().into_json_value();
                if let Err(why) = self.in_flight.count_in(&request.id) {
                    self.refuse(ErrorCode::INVALID_REQUEST, id(), why);
                    return None;
                }
                if let Err(why) = lenient::repair(&mut request.request) {
                    self.in_flight.count_out(&request.id);
                    self.refuse(ErrorCode::INVALID_PARAMS, id(), &why);
                    return None;
                }
                self.is_open |= opens(&request.request);
            }
            _ if !self.is_open => return None,
            ClientJsonRpcMessage::Notification(notification) => {
                // A cancelled request is never answered, so it is removed here.
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.in_flight.count_out(id);
                }
            }
            _ => {}
        }
        Some(message)
    }

    fn refuse_line(&mut self, line: &[u8], error: &serde_json::Error) {
        match serde_json::from_slice::<Value>(line) {
            Ok(value) => {
                let why = "this is JSON, but not a JSON-RPC 2.0 message";
                self.refuse_bad(ErrorCode::INVALID_REQUEST, id_of(&value), why);
            }
            Err(_) => {
                // The error may be far after an id that can be read.
                let head = serde_json::from_slice::<Head>(line).ok();
                let hint = match head {
                    Some(_) => {
                        "\nhint: a string in it is not valid text, such as half a surrogate pair; send whole characters"
                    }
                    None => "",
                };
                let id = head.map_or(Value::Null, |head| head.id.into());
                self.refuse_bad(ErrorCode::PARSE_ERROR, id, &format!("not JSON: {error}{hint}"));
            }
        }
    }

    fn refuse_bad(&mut self, code: ErrorCode, id: Value, why: &str) {
        self.n_bad_lines += 1;
        self.refuse(code, id, why);
    }

    fn refuse(&mut self, code: ErrorCode, id: Value, why: &str) {
        self.refusal = Some(error_line(code, &id, &clean_text(why)));
    }
}

/// The id of a line whose other fields are ignored.
#[derive(serde::Deserialize)]
struct Head {
    id: HeadId,
}

#[derive(serde::Deserialize)]
#[serde(untagged)]
enum HeadId {
    Number(serde_json::Number),
    Text(String),
}

impl From<HeadId> for Value {
    fn from(id: HeadId) -> Value {
        match id {
            HeadId::Number(number) => Value::Number(number),
            HeadId::Text(text) => Value::String(text),
        }
    }
}

/// Returns whether a request ends `rmcp`'s opening phase: `initialize`, or one with its own
/// metadata.
fn opens(request: &ClientRequest) -> bool {
    match request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => false,
        other => other.get_meta().protocol_version().is_some(),
    }
}

/// Returns the id of something that is not a message, if a reply can name it.
fn id_of(value: &Value) -> Value {
    match value.get("id") {
        Some(id @ (Value::String(_) | Value::Number(_))) => id.clone(),
        _ => Value::Null,
    }
}

impl<R: AsyncRead + Unpin + Send + 'static> Transport<RoleServer> for Wire<R> {
    type Error = io::Error;

    fn send(
        &mut self,
        mut message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let outbox = self.outbox.clone();
        let in_flight = self.in_flight.clone();
        async move {
            // The library's own refusals repeat the request.
            if let ServerJsonRpcMessage::Error(refused) = &mut message {
                refused.error.message = clean_text(&refused.error.message).into();
            }
            let answered = match &message {
                ServerJsonRpcMessage::Response(response) => Some(response.id.clone()),
                ServerJsonRpcMessage::Error(error) => error.id.clone(),
                _ => None,
            };
            let sent = enqueue(outbox, &message).await;
            if let Some(id) = answered {
                in_flight.count_out(&id);
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            let outbox = self.outbox.clone()?;
            if self.refusal.is_some() {
                // Taken only once there is room, because this future may be dropped while it waits.
                let room = outbox.reserve().await.ok()?;
                room.send(self.refusal.take()?);
            }
            if self.n_bad_lines >= MAX_BAD_LINES {
                tracing::debug!("a client sends nothing but garbage; it is cut off");
                return None;
            }
            let message = if let Some(value) = self.batch.pop_front() {
                self.read_value(value)
            } else {
                let line = tokio::select! {
                    line = self.lines.next() => line.ok()?,
                    () = outbox.closed() => return None,
                };
                match line {
                    Line::Whole(line) => self.read(&line),
                    Line::TooLong => {
                        let why = "the line is too long: at most 1 MiB a message";
                        self.refuse_bad(ErrorCode::INVALID_REQUEST, Value::Null, why);
                        None
                    }
                    Line::End => return None,
                }
            };
            if message.is_some() {
                return message;
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.outbox = None;
        if let Some(writer) = self.writer.take() {
            // Ends on its own: every line is written, or the writer's limit is exceeded.
            let _ = writer.await;
        }
        Ok(())
    }
}
