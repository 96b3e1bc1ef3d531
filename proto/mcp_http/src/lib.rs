//! MCP over HTTP: Streamable HTTP at `/mcp` and the older SSE at `/sse`, in front of sessions that use one message per
//! line, as the daemon's socket does.
//!
//! In: a TCP address, the rules of access ([`Access`]), and a way to open sessions ([`Workspaces`]). Out: HTTP replies.
//! In reading order: `listen` (connections), `endpoint` (routes), `head`, `access` and `rate` (which requests are
//! allowed), `message` (bodies), `link` (one session, line by line), `oneshot` (revision 2026-07-28, without sessions),
//! `session` and `board` (the revisions before it: each line is sent to the stream that waits for it), `page` (the page
//! for people, and tools as its data; `metrics`), `table` (all sessions), `seats` (which connection makes room for
//! another), `legacy` (`/sse`), `reply` (the HTTP side of a reply).
//! Invariants: no request reaches a session before Host, Origin, token and rate were checked; every session is about
//! one workspace, named by the header `X-Memory-Workspace` if there are several and none stands for all; what waits for
//! a slow client is bounded, and delays no other client; what belongs to a session ends with it.

mod access;
mod board;
mod endpoint;
mod head;
mod legacy;
mod link;
mod listen;
mod message;
mod metrics;
mod oneshot;
mod page;
mod rate;
mod refused;
mod reply;
mod seats;
mod session;
mod table;
pub mod token;

pub use access::{Access, AccessError, read_token, token_file};
pub use listen::{Limits, ListenError, Server, address};
pub use page::PageFile;
pub use seats::{Leave, Seat, Seats};

use std::io;

use tokio::net::UnixStream;

/// The projects behind one address.
pub trait Workspaces: Send + Sync + 'static {
    /// Returns all names, for a client that has to choose.
    fn names(&self) -> Vec<String>;

    /// Returns the name under which the workspace is served that a client calls `named`.
    fn find(&self, named: &str) -> Option<String>;

    /// Returns the workspace of clients that name none: the only one, where the server has no other rule.
    fn unnamed(&self) -> Option<String> {
        let mut names = self.names();
        names.pop().filter(|_| names.is_empty())
    }

    /// Opens a session with the workspace of that name. It uses JSON-RPC, one message per line, and already knows its
    /// tools; it ends when the stream does.
    ///
    /// # Errors
    /// Why it cannot be opened, for the client.
    fn open(&self, name: &str) -> io::Result<UnixStream>;

    /// Returns a file of the page for people, by its path on the server; none if no page is served.
    fn page_file(&self, _: &str) -> Option<PageFile> {
        None
    }

    /// Opens a session in which the page, or a program with the token of MCP, calls this tool; none if that is not
    /// allowed. Results have structured content of any length.
    fn open_for_api(&self, _tool: &str, _caller: Caller) -> Option<io::Result<UnixStream>> {
        None
    }

    /// Returns the state of the server, the only information that needs no token.
    fn health(&self) -> Health {
        Health::Ok
    }
}

/// Whose token a request has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caller {
    /// The page's token: the person at this machine.
    Person,
    /// The token of MCP over HTTP.
    Program,
}

/// The state of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Health {
    /// It answers.
    Ok,
    /// It answers, from an index that is still being built.
    Starting,
    /// It has a problem that needs a person's attention.
    Degraded,
}

impl Health {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Health::Ok => "ok",
            Health::Starting => "starting",
            Health::Degraded => "degraded",
        }
    }
}

/// The path of Streamable HTTP.
pub const MCP_PATH: &str = "/mcp";

/// The path of the server's state, which needs no token.
pub const HEALTH_PATH: &str = "/health";

/// The path of the older SSE transport.
pub const SSE_PATH: &str = "/sse";

/// The path to which clients of the older transport send messages.
pub const SSE_MESSAGES_PATH: &str = "/sse/messages/";

/// The header that names a workspace.
pub const WORKSPACE_HEADER: &str = "x-memory-workspace";
