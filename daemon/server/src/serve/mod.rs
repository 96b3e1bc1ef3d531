//! Serve: speaks MCP over one Unix socket, one session a connection.
//!
//! In: connections, and the project they ask about. Out: replies. In reading order: `listen` (the socket), `accept`
//! (one task a connection), `ear`, `lines` and `preamble` (the first line), `wire` (JSON-RPC, one message a line),
//! `turns` (whose read is next), `session` (the requests of MCP), `routes` (one line a tool), `tool/` (what each tool
//! does), `form` (text or JSON, within a budget), `leaving` (no secrets in replies). Sessions over HTTP (`http`), and
//! those of the page for people (`page`), come in by the same loop.
//! Invariants: a client can only hurt its own connection: whatever it sends or fails to read, memory stays bounded and
//! the others are answered; only the daemon's own user may connect.
//! Not here: how a question is answered (`query/`), or when the daemon ends (`process.rs`).

pub mod accept;
mod ear;
mod form;
pub mod http;
mod leaving;
mod limits;
mod lines;
pub mod listen;
pub mod page;
mod preamble;
pub mod progress;
mod prompts;
mod resources;
pub mod routes;
mod session;
pub mod tool;
mod turns;
mod wire;

#[cfg(test)]
mod tests;

pub use progress::Progress;
