//! HTTP: a raw HTTP client over TCP, so that tests see the exact bytes, and can send what no
//! library would.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

/// Longest wait before a test fails. Only a bug takes this long.
const PATIENCE: Duration = Duration::from_secs(90);

/// Sends requests to one server, each over a connection of its own, with these headers.
#[derive(Debug, Clone)]
pub struct Http {
    /// The server's address.
    pub address: SocketAddr,
    headers: Vec<(String, String)>,
}

/// A response; its body is read on demand.
#[derive(Debug)]
pub struct Reply {
    /// Its status.
    pub status: u16,
    headers: Vec<(String, String)>,
    reader: BufReader<TcpStream>,
    is_chunked: bool,
    buffer: Vec<u8>,
}

/// One event of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The id with which a client resumes.
    pub id: Option<String>,
    /// The kind of event.
    pub name: String,
    /// The content.
    pub data: String,
}

impl Event {
    /// Returns the content as JSON.
    ///
    /// # Panics
    /// If it is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.data).unwrap_or_else(|why| panic!("{why}: {self:?}"))
    }
}

impl Http {
    /// Creates a client of the server at an address.
    pub fn at(address: SocketAddr) -> Self {
        Http { address, headers: Vec::new() }
    }

    /// Adds a header to each request.
    #[must_use]
    pub fn with(&self, name: &str, value: &str) -> Self {
        let mut it = self.clone();
        it.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        it.headers.push((name.to_string(), value.to_string()));
        it
    }

    /// Opens a connection without sending anything.
    ///
    /// # Panics
    /// If nobody listens; the same holds for all methods.
    #[expect(clippy::disallowed_methods, reason = "connects to the daemon under test")]
    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("a server listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a limit");
        stream.set_write_timeout(Some(PATIENCE)).expect("a limit");
        stream
    }

    /// Sends a request.
    pub fn send(&self, method: &str, path: &str, body: Option<&[u8]>) -> Reply {
        Reply::read(self.begin(method, path, body))
    }

    /// Sends a message without reading the answer; returns the connection on which it comes.
    pub fn send_only(&self, message: &Value) -> TcpStream {
        self.begin("POST", "/mcp", Some(message.to_string().as_bytes()))
    }

    fn begin(&self, method: &str, path: &str, body: Option<&[u8]>) -> TcpStream {
        let mut stream = self.connect();
        let has =
            |wanted: &str| self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(wanted));
        let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        if !has("host") {
            head += &format!("Host: {}\r\n", self.address);
        }
        if !has("accept") {
            head += "Accept: application/json, text/event-stream\r\n";
        }
        if let Some(body) = body {
            if !has("content-type") {
                head += "Content-Type: application/json\r\n";
            }
            head += &format!("Content-Length: {}\r\n", body.len());
        }
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        let _ = stream.write_all(format!("{head}\r\n").as_bytes());
        // A server that refuses may close the connection before it has read everything.
        let _ = stream.write_all(body.unwrap_or_default());
        stream
    }

    /// Posts a message.
    pub fn post(&self, path: &str, message: &Value) -> Reply {
        self.send("POST", path, Some(message.to_string().as_bytes()))
    }

    /// Returns the same without this header.
    pub fn without(&self, name: &str) -> Self {
        let mut it = self.clone();
        it.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        it
    }

    /// Starts a session of this revision; returns a client in it.
    pub fn open(&self, revision: &str) -> Self {
        let hello = self.post("/mcp", &initialize(revision));
        let id = hello.header("mcp-session-id").unwrap_or_else(|| panic!("no session: {hello:?}"));
        let inside = self.with("Mcp-Session-Id", &id).with("MCP-Protocol-Version", revision);
        let result = hello.json();
        assert_eq!(result["result"]["protocolVersion"], revision, "{result}");
        let reply =
            inside.post("/mcp", &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        assert_eq!(reply.status, 202);
        inside
    }

    /// Calls a tool in a session; returns its structured content.
    ///
    /// # Errors
    /// The error of the result, if it is one.
    pub fn call(&self, tool: &str, arguments: Value) -> Result<Value, Value> {
        let params = json!({"name": tool, "arguments": arguments});
        let reply = self.post("/mcp", &request(own_id(), "tools/call", params));
        content(reply.json())
    }

    /// Calls a tool as in revision 2026-07-28: without a session.
    ///
    /// # Errors
    /// As [`Http::call`].
    pub fn call_once(&self, tool: &str, arguments: Value) -> Result<Value, Value> {
        let reply = self.ask_once("tools/call", json!({"name": tool, "arguments": arguments}));
        content(reply.json())
    }

    /// Sends a request as in revision 2026-07-28.
    pub fn ask_once(&self, method: &str, mut params: Value) -> Reply {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "0"},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let mut client = self.with("MCP-Protocol-Version", "2026-07-28").with("Mcp-Method", method);
        let name = params.get("name").or(params.get("uri")).and_then(Value::as_str);
        if let Some(name) = name {
            client = client.with("Mcp-Name", name);
        }
        client.post("/mcp", &request(own_id(), method, params))
    }
}

fn content(mut reply: Value) -> Result<Value, Value> {
    let Some(result) = reply.get_mut("result") else { return Err(reply["error"].take()) };
    let content = result["structuredContent"].take();
    if result["isError"] == true { Err(content) } else { Ok(content) }
}

/// Returns an id that no request of this process has used: one that was just answered may still
/// count as in flight.
fn own_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1_000);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// A request.
pub fn request(id: u64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// Returns the request that starts a session.
pub fn initialize(revision: &str) -> Value {
    let client = json!({"name": "tests", "version": "0"});
    request(
        0,
        "initialize",
        json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": client}),
    )
}

impl Reply {
    /// Reads the head of a response.
    pub fn read(stream: TcpStream) -> Self {
        Self::try_read(stream).expect("a response")
    }

    /// As [`Reply::read`], for a server that may close the connection instead.
    ///
    /// # Errors
    /// If it does.
    pub fn try_read(stream: TcpStream) -> std::io::Result<Self> {
        let mut reader = BufReader::new(stream);
        let mut line = || {
            let mut line = String::new();
            reader.read_line(&mut line).map(|_| line.trim_end().to_string())
        };
        let first = line()?;
        let status = first.split(' ').nth(1).and_then(|it| it.parse().ok());
        let none = || std::io::Error::other(format!("no response: `{first}`"));
        let status = status.ok_or_else(none)?;
        let mut headers = Vec::new();
        loop {
            let header = line()?;
            let Some((name, value)) = header.split_once(':') else { break };
            headers.push((name.to_lowercase(), value.trim().to_string()));
        }
        let is_chunked =
            headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked");
        Ok(Reply { status, headers, reader, is_chunked, buffer: Vec::new() })
    }

    /// Returns whether the other side may still send something.
    pub fn is_open(&self) -> bool {
        let stream = self.reader.get_ref();
        stream.set_nonblocking(true).expect("ours");
        let peeked = stream.peek(&mut [0]);
        stream.set_nonblocking(false).expect("ours");
        !peeked.is_ok_and(|n| n == 0)
    }

    /// Returns a header.
    pub fn header(&self, name: &str) -> Option<String> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
    }

    /// Returns the whole body.
    pub fn text(mut self) -> String {
        if self.is_chunked {
            while self.read_chunk() {}
        } else {
            let n = self.header("content-length").and_then(|it| it.parse().ok()).unwrap_or(0);
            self.buffer.resize(n, 0);
            self.reader.read_exact(&mut self.buffer).expect("a body");
        }
        String::from_utf8(self.buffer).expect("UTF-8")
    }

    /// Returns the whole body as JSON, or the last event of a stream.
    pub fn json(mut self) -> Value {
        if self.header("content-type").as_deref() == Some("text/event-stream") {
            let mut last = None;
            while let Some(event) = self.event() {
                last = Some(event);
            }
            return last.expect("an event").json();
        }
        let text = self.text();
        serde_json::from_str(&text).unwrap_or_else(|why| panic!("{why}: `{text}`"))
    }

    fn read_chunk(&mut self) -> bool {
        let mut size = String::new();
        if self.reader.read_line(&mut size).unwrap_or(0) == 0 {
            return false;
        }
        let size = usize::from_str_radix(size.trim(), 16).expect("the size of a chunk");
        let mut chunk = vec![0; size + 2];
        if self.reader.read_exact(&mut chunk).is_err() {
            return false;
        }
        chunk.truncate(size);
        self.buffer.append(&mut chunk);
        size > 0
    }

    /// Returns the next event of a stream; `None` when it has ended. Comments are skipped.
    pub fn event(&mut self) -> Option<Event> {
        loop {
            let text = String::from_utf8_lossy(&self.buffer).into_owned();
            if let Some((block, rest)) = text.split_once("\n\n") {
                self.buffer = rest.as_bytes().to_vec();
                let field = |name: &str| {
                    let lines =
                        block.lines().filter_map(|it| it.strip_prefix(name)?.strip_prefix(':'));
                    let values: Vec<&str> =
                        lines.map(|it| it.strip_prefix(' ').unwrap_or(it)).collect();
                    (!values.is_empty()).then(|| values.join("\n"))
                };
                let Some(data) = field("data") else { continue };
                let name = field("event").unwrap_or_else(|| "message".to_string());
                return Some(Event { id: field("id"), name, data });
            }
            if !self.read_chunk() {
                return None;
            }
        }
    }
}

/// A server started for a test; it ends with the value.
pub struct Serving {
    child: Child,
    /// A client of it.
    pub http: Http,
}

impl Serving {
    /// Starts a command that prints on standard error where it serves.
    ///
    /// # Panics
    /// If it does not.
    pub fn start(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut errors = BufReader::new(child.stderr.take().expect("piped"));
        let mut line = String::new();
        errors.read_line(&mut line).expect("UTF-8");
        let address = address_in(&line).unwrap_or_else(|| panic!("it serves nowhere: {line}"));
        Serving { child, http: Http::at(address) }
    }

    /// Returns the address of a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.http.address)
    }

    /// Asks it to end; returns its exit code.
    pub fn stop(mut self) -> Option<i32> {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-TERM", &pid]).status().expect("`kill` runs");
        assert!(sent.success(), "it ended before");
        self.child.wait().expect("our own child").code()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the last address in a text that contains `http://ADDRESS/`.
pub fn address_in(text: &str) -> Option<SocketAddr> {
    let (_, rest) = text.rsplit_once("http://")?;
    rest.split_once('/')?.0.parse().ok()
}
