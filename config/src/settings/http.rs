//! Settings of MCP over HTTP.

use serde::{Deserialize, Serialize};

use crate::limits;

/// MCP over HTTP, beside the socket. User only, because it can be reached by others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Http {
    /// The address at which the daemon serves it, such as `127.0.0.1:8765`; empty: it does not. Only one daemon can
    /// have an address: for several projects leave this empty, and start `kg-mcp --http`.
    pub listen: String,
    /// Tool sets that the daemon offers there: `default`, `core`, `notes`, `memory`, `kb`.
    pub tools: Vec<String>,
    /// Whether every request needs a token: `required`, or `none`, which admits every program and user of this machine
    /// and is refused for addresses that other machines can reach. `kgctl http token` prints the token.
    pub token: HttpToken,
    /// A file with your own token of at least 16 characters; an absolute path. Anyone who can read the file gets
    /// access; a file that others can read causes a warning. Empty: the first start generates a token in the state
    /// folder.
    pub token_file: String,
    /// Further names of the server beside `localhost` and its address, such as that of a proxy; with or without a port.
    pub hosts: Vec<String>,
    /// Web pages that may send requests and read the answers (CORS), such as `https://app.example.org` or
    /// `http://localhost:6274`; all others are refused, even pages on this machine.
    pub origins: Vec<String>,
    /// Most connections, 1 to 10000; another one replaces an unused one, or is answered 503.
    pub max_connections: u32,
    /// Most sessions of each transport, 1 to 10000.
    pub max_sessions: u32,
    /// Requests per second from one address, 1 to 100000, on average; further ones are answered 429. Behind a proxy all
    /// clients share one address.
    pub requests_per_second: u32,
    /// Requests from one address in a burst, 1 to 100000.
    pub burst: u32,
    /// Largest request body, bytes, 1024 to 1048576; larger ones are answered 413.
    pub max_body_bytes: u32,
}

/// Whether HTTP requires a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HttpToken {
    /// Every request needs it.
    Required,
    /// No request needs one.
    None,
}

impl Default for Http {
    fn default() -> Self {
        Http {
            listen: String::new(),
            tools: vec!["default".to_string()],
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
