//! Client: a raw MCP client: JSON lines over a Unix socket, so that tests see the exact messages.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

/// Longest wait for a reply before a test fails. Only a bug takes this long.
const PATIENCE: Duration = Duration::from_secs(90);

/// How a conversation is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Revision {
    /// `initialize` with this protocol version.
    Initialize(&'static str),
    /// The newest: no handshake, `_meta` in every request.
    Stateless,
}

/// One connection.
#[derive(Debug)]
pub struct Client {
    reader: BufReader<UnixStream>,
    writer: UnixStream,
    next_id: i64,
    meta: Option<Value>,
    /// Notifications received while waiting for replies, oldest first.
    pub notifications: Vec<Value>,
}

impl Client {
    /// Connects without sending anything.
    ///
    /// # Errors
    /// When nobody listens at `socket`.
    pub fn connect(socket: &Path) -> io::Result<Self> {
        let writer = UnixStream::connect(socket)?;
        writer.set_read_timeout(Some(PATIENCE))?;
        writer.set_write_timeout(Some(PATIENCE))?;
        let reader = BufReader::new(writer.try_clone()?);
        Ok(Client { reader, writer, next_id: 1, meta: None, notifications: Vec::new() })
    }

    /// Gives up on a write that takes longer than this.
    ///
    /// # Errors
    /// System errors.
    pub fn set_write_timeout(&self, limit: Duration) -> io::Result<()> {
        self.writer.set_write_timeout(Some(limit))
    }

    /// Connects as an agent does: no preamble, the given revision.
    ///
    /// # Panics
    /// When nobody listens, or the handshake fails.
    pub fn agent(socket: &Path, revision: Revision) -> Self {
        let mut client = Client::connect(socket).expect("a daemon listens");
        client.send(&json!({"kgd": 1, "tools": ["core"], "form": "whole", "client": "tests"}));
        client.open(revision);
        client
    }

    /// Connects as an unknown agent: no preamble, so text only.
    ///
    /// # Panics
    /// When nobody listens, or the handshake fails.
    pub fn stranger(socket: &Path) -> Self {
        let mut client = Client::connect(socket).expect("a daemon listens");
        client.open(Revision::Initialize("2025-11-25"));
        client
    }

    /// Connects as `kgctl` does: with every set of tools.
    ///
    /// # Panics
    /// When nobody listens, or the handshake fails.
    pub fn admin(socket: &Path) -> Self {
        let mut client = Client::connect(socket).expect("a daemon listens");
        client.send(
            &json!({"kgd": 1, "tools": ["core", "notes", "memory", "kb", "admin"], "form": "whole", "client": "tests"}),
        );
        client.open(Revision::Initialize("2025-06-18"));
        client
    }

    /// As [`Client::admin`], for a daemon that may die at any time; `None` if it does.
    pub fn try_admin(socket: &Path) -> Option<Self> {
        let mut client = Client::connect(socket).ok()?;
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "tests", "version": "0"},
        }});
        client.try_send(
            &json!({"kgd": 1, "tools": ["core", "notes", "memory", "kb", "admin"], "form": "whole", "client": "tests"}),
        )?;
        client.try_send(&hello)?;
        client.try_reply_to(0)?;
        client.try_send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        Some(client)
    }

    /// As [`Client::call`], for a daemon that may die at any time; `None` if it does.
    pub fn attempt(&mut self, tool: &str, arguments: Value) -> Option<Result<Value, Value>> {
        let id = self.next_id;
        self.next_id += 1;
        let params = json!({"name": tool, "arguments": arguments});
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        self.try_send(&call)?;
        let mut reply = self.try_reply_to(id)?;
        let Some(result) = reply.get_mut("result") else { return Some(Err(reply["error"].take())) };
        let content = result["structuredContent"].take();
        Some(if result["isError"] == true { Err(content) } else { Ok(content) })
    }

    fn try_send(&mut self, message: &Value) -> Option<()> {
        self.send_bytes(format!("{message}\n").as_bytes()).ok()
    }

    /// Returns the reply to request `id`; a truncated message counts as none.
    fn try_reply_to(&mut self, id: i64) -> Option<Value> {
        loop {
            let mut line = String::new();
            self.reader.read_line(&mut line).ok().filter(|n| *n > 0)?;
            let message: Value = serde_json::from_str(&line).ok()?;
            if message["id"] == id {
                return Some(message);
            }
        }
    }

    /// Performs the handshake, after a preamble that the caller sent.
    ///
    /// # Panics
    /// When it fails.
    pub fn open(&mut self, revision: Revision) {
        let version = match revision {
            Revision::Initialize(version) => version,
            Revision::Stateless => {
                self.meta = Some(json!({
                    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                    "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "0"},
                    "io.modelcontextprotocol/clientCapabilities": {},
                }));
                return;
            }
        };
        let hello = self.ask(
            "initialize",
            json!({
                "protocolVersion": version, "capabilities": {},
                "clientInfo": {"name": "tests", "version": "0"},
            }),
        );
        assert_eq!(hello["result"]["protocolVersion"], version, "{hello}");
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    }

    /// Sends bytes unchanged.
    ///
    /// # Errors
    /// If the daemon has closed the connection.
    pub fn send_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.writer.write_all(bytes)
    }

    /// Sends as many of these bytes as there is room for, and returns how many those are.
    ///
    /// # Errors
    /// If the connection is closed, or there is no room within the limit of a write.
    pub fn send_some(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    /// Sends one message.
    ///
    /// # Panics
    /// If the daemon has closed the connection.
    pub fn send(&mut self, message: &Value) {
        let line = format!("{message}\n");
        self.send_bytes(line.as_bytes()).expect("the daemon reads");
    }

    /// Closes the sending direction; messages can still be received.
    pub fn finish_sending(&mut self) {
        // An error means that the daemon closed the connection first, which has the same effect.
        let _ = self.writer.shutdown(std::net::Shutdown::Write);
    }

    /// Returns the next message; `None` if the daemon closed the connection.
    ///
    /// # Panics
    /// If nothing arrives, or something that is not JSON.
    pub fn next_message(&mut self) -> Option<Value> {
        let mut line = String::new();
        match self.reader.read_line(&mut line) {
            Ok(0) => None,
            Ok(_) => Some(serde_json::from_str(&line).expect("the daemon speaks JSON")),
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => None,
            Err(error) => panic!("no reply: {error}"),
        }
    }

    /// Sends a request without waiting; returns its id.
    pub fn request(&mut self, method: &str, mut params: Value) -> i64 {
        let id = self.next_id;
        self.next_id += 1;
        if let (Some(meta), Some(params)) = (&self.meta, params.as_object_mut()) {
            params.insert("_meta".into(), meta.clone());
        }
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Returns the reply to request `id`; keeps notifications on the way, drops other replies.
    ///
    /// # Panics
    /// If the daemon closes the connection first.
    pub fn reply_to(&mut self, id: i64) -> Value {
        loop {
            let message = self.next_message().expect("a reply before the daemon hangs up");
            if message["id"] == id {
                return message;
            }
            if message.get("method").is_some() {
                self.notifications.push(message);
            }
        }
    }

    /// Sends a request and waits for the whole reply message.
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        self.reply_to(id)
    }

    /// Calls a tool and returns the whole result: `content`, `structuredContent`, `isError`.
    ///
    /// # Errors
    /// The protocol's own error, `{"code", "message"}`.
    pub fn call_whole(&mut self, tool: &str, arguments: Value) -> Result<Value, Value> {
        let mut reply = self.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        match reply.get_mut("result") {
            Some(result) => Ok(result.take()),
            None => Err(reply["error"].take()),
        }
    }

    /// Calls a tool and returns its structured content.
    ///
    /// # Errors
    /// `{"code", "message", "hint"}` of a refused request, or the protocol's own error.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Result<Value, Value> {
        let mut result = self.call_whole(tool, arguments)?;
        let is_error = result["isError"] == true;
        let content = result["structuredContent"].take();
        if is_error { Err(content) } else { Ok(content) }
    }
}

/// Returns the values of one field in all rows of a reply; empty for a row without it.
///
/// # Panics
/// If these are no rows.
pub fn all<'v>(rows: &'v Value, field: &str) -> Vec<&'v str> {
    let rows = rows.as_array().unwrap_or_else(|| panic!("no rows: {rows}"));
    rows.iter().map(|row| row[field].as_str().unwrap_or_default()).collect()
}
