//! Settings of MCP over HTTP.

use serde::{Deserialize, Serialize};

use crate::limits;

/// MCP over HTTP, beside the socket. User only: it is reachable by more than you.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Http {
    /// Where the daemon serves it, such as `127.0.0.1:8765`; empty: nowhere. An address has one daemon: with several
    /// projects leave this empty, and start `kg-mcp --http`.
    pub listen: String,
    /// Sets of tools that the daemon offers there: `core`, `notes`, `memory`, `kb`.
    pub tools: Vec<String>,
    /// Whether every request must bring a token: `required`, or `none`, which lets every program and user of this
    /// machine in and is refused where other machines can reach the address. `kgctl http token` prints the token.
    pub token: HttpToken,
    /// A file with a token of your own, of at least 16 characters; an absolute path. Whoever can read that file is let
    /// in: one that others can read is warned of. Empty: the first start makes a token in the state folder.
    pub token_file: String,
    /// Names by which the server is called beside `localhost` and its address, such as that of a proxy before it;
    /// with or without port.
    pub hosts: Vec<String>,
    /// Web pages that may ask and read the answers (CORS), such as `https://app.example.org` or
    /// `http://localhost:6274`; no others may, not even pages of this machine.
    pub origins: Vec<String>,
    /// Connections at once, 1 to 10000; one more takes the place of one that was not used, else it is answered 503.
    pub max_connections: u32,
    /// Sessions at once, of each transport, 1 to 10000.
    pub max_sessions: u32,
    /// Requests of one address a second, 1 to 100000, in the long run; further ones are answered 429. Behind a proxy
    /// all clients share one address.
    pub requests_per_second: u32,
    /// Requests of one address at once, 1 to 100000.
    pub burst: u32,
    /// Largest body of a request, bytes, 1024 to 1048576; larger ones are answered 413.
    pub max_body_bytes: u32,
}

/// Whether HTTP asks for a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HttpToken {
    /// Every request brings it.
    Required,
    /// Nobody needs one.
    None,
}

impl Default for Http {
    fn default() -> Self {
        Http {
            listen: String::new(),
            tools: vec!["core".to_string()],
            token: HttpToken::Required,
            token_file: String::new(),
            hosts: Vec::new(),
            origins: Vec::new(),
            max_connections: limits::MAX_HTTP_CONNECTIONS as u32,
            max_sessions: limits::MAX_HTTP_SESSIONS as u32,
            requests_per_second: limits::HTTP_REQUESTS_PER_SECOND,
            burst: limits::HTTP_BURST,
            max_body_bytes: limits::MAX_FRAME_BYTES as u32,
        }
    }
}
