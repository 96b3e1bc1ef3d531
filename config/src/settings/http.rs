//! Settings of MCP over HTTP.

use serde::{Deserialize, Serialize};

/// MCP over HTTP, beside the socket. User only: it is reachable by more than you.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Http {
    /// Where the daemon serves it, such as `127.0.0.1:8765`; empty: nowhere. An address has one daemon: with several
    /// projects leave this empty, and start `kg-mcp --http`.
    pub listen: String,
    /// Sets of tools that the daemon offers there: `core`, `notes`, `memory`.
    pub tools: Vec<String>,
    /// A file with a token of at least 16 characters that every request must bring; an absolute path. Needed where
    /// other machines can reach the address; on loopback it keeps other users of this machine out. Empty: none.
    pub token_file: String,
    /// Names by which the server is called beside `localhost` and its address, such as that of a proxy before it;
    /// with or without port.
    pub hosts: Vec<String>,
    /// Web pages that may ask, such as `https://app.example.org`, beside those of this machine and of `hosts`.
    pub origins: Vec<String>,
}

impl Default for Http {
    fn default() -> Self {
        Http {
            listen: String::new(),
            tools: vec!["core".to_string()],
            token_file: String::new(),
            hosts: Vec::new(),
            origins: Vec::new(),
        }
    }
}
