//! MCP over HTTP: Streamable HTTP at `/mcp` and the older SSE at `/sse`, in front of sessions that speak one message
//! a line, as the daemon's socket does.
//!
//! In: a TCP address, who may ask ([`Access`]), and a way to open sessions ([`Workspaces`]). Out: HTTP replies.
//! In reading order: `listen` (connections), `endpoint` (which path does what), `head`, `access` and `rate` (who is
//! let in), `message` (what a body says), `link` (one session, line by line), `oneshot` (revision 2026-07-28: a
//! request is all there is), `session` and `board` (the revisions before it: what came is sent to the stream that
//! waits for it), `page` (the page for people, and tools as its data; `metrics`), `table` (all sessions), `seats` (who
//! makes room for whom), `legacy` (`/sse`), `reply` (HTTP's side of an answer).
//! Invariants: nothing that is asked reaches a session before Host, Origin, token and rate were looked at; every
//! session is about one workspace, which the header `X-Memory-Workspace` names where there are several; what waits
//! for a client that does not read is bounded, and holds up nobody else; what belongs to a session ends with it.
//! Not here: what MCP's messages mean, tools and their limits (they hold behind the line), TLS (a proxy's affair).

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
    /// The names of all, for a client that has to choose.
    fn names(&self) -> Vec<String>;

    /// The name under which the workspace is served that a client calls `named`.
    fn find(&self, named: &str) -> Option<String>;

    /// Opens a session with the workspace of that name. It speaks JSON-RPC, one message a line, and knows already
    /// which tools it has; it ends when the stream does.
    ///
    /// # Errors
    /// Why there is none; said to the client.
    fn open(&self, name: &str) -> io::Result<UnixStream>;

    /// A file of the page for people, by its path on the server; none where no page is served.
    fn page_file(&self, _: &str) -> Option<PageFile> {
        None
    }

    /// Opens a session in which the page, or a program with the token of MCP, calls this tool; none where that may not
    /// be. Results have structured content of any length.
    fn open_for_api(&self, _tool: &str, _caller: Caller) -> Option<io::Result<UnixStream>> {
        None
    }

    /// How the server is: all that anybody may ask without a token.
    fn health(&self) -> Health {
        Health::Ok
    }
}

/// Whose token a request brings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caller {
    /// The page's own: the person at this machine.
    Person,
    /// That of MCP over HTTP.
    Program,
}

/// How a server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Health {
    /// It answers.
    Ok,
    /// It answers, from an index that is still being built.
    Starting,
    /// Something is wrong that a person should look at.
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

/// The path at which anybody may ask how the server is.
pub const HEALTH_PATH: &str = "/health";

/// The path of the older SSE transport.
pub const SSE_PATH: &str = "/sse";

/// Where clients of the older transport send messages.
pub const SSE_MESSAGES_PATH: &str = "/sse/messages/";

/// The header that names a workspace.
pub const WORKSPACE_HEADER: &str = "x-memory-workspace";
