//! Outbox: sends messages to the client, as lines.
//!
//! In: messages. Out: lines, written in order by one task.
//! Invariants: a message is serialized only when there is room for it; the task ends when nobody
//! can send any more, or when a line cannot be written.

use std::io;

use proto::error::{Code, ErrorView};
use rmcp::model::{ErrorCode, ServerJsonRpcMessage};
use serde_json::{Value, json};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;

use crate::serve::client_reader::HangUp;

/// JSON-RPC code of a refusal that is our own.
const REFUSED: ErrorCode = ErrorCode(-32_000);

/// Longest part of an error about a line that is sent back, bytes.
const MAX_REASON_BYTES: usize = 300;

/// Returns a JSON-RPC error as a line. `rmcp` omits an unknown id; JSON-RPC 2.0 requires `null`.
pub(super) fn error_line(code: ErrorCode, id: &Value, why: &str) -> Vec<u8> {
    let why = why.get(..why.floor_char_boundary(MAX_REASON_BYTES)).unwrap_or(why);
    let error = json!({"jsonrpc": "2.0", "id": id, "error": {"code": code.0, "message": why}});
    let mut line = error.to_string().into_bytes();
    line.push(b'\n');
    line
}

/// Returns the line that refuses a connection before it has a session. Code and hint are in the
/// error's data, where our own clients look.
pub(crate) fn refusal_line(view: &ErrorView) -> Vec<u8> {
    let code = match view.code {
        Code::InvalidParams => ErrorCode::INVALID_PARAMS,
        _ => REFUSED,
    };
    let data = json!({"code": view.code, "hint": view.hint});
    let error = json!({"code": code.0, "message": view.message, "data": data});
    let mut line = json!({"jsonrpc": "2.0", "id": null, "error": error}).to_string().into_bytes();
    line.push(b'\n');
    line
}

/// Writes lines until no more can come, or one cannot be written.
pub(super) async fn write_lines(
    mut writer: impl AsyncWrite + Unpin,
    mut queue: mpsc::Receiver<Vec<u8>>,
    gone: HangUp,
) {
    while let Some(line) = queue.recv().await {
        if let Err(error) = writer.write_all(&line).await {
            tracing::debug!(%error, "a client does not read its replies; it is cut off");
            // Dropping the queue makes `receive` return nothing, which ends the session; the signal
            // cancels its running requests.
            gone.set();
            return;
        }
    }
    let _ = writer.shutdown().await;
}

/// Waits for room, then sends.
///
/// # Errors
/// `NotConnected` if the client has gone.
pub(super) async fn enqueue(
    outbox: Option<mpsc::Sender<Vec<u8>>>,
    message: &ServerJsonRpcMessage,
) -> io::Result<()> {
    let gone = || io::Error::from(io::ErrorKind::NotConnected);
    let outbox = outbox.ok_or_else(gone)?;
    // Room first: a reply that waits is then held once, not twice.
    let room = outbox.reserve().await.map_err(|_| gone())?;
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    room.send(line);
    Ok(())
}
