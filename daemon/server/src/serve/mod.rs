//! Serve: speaks MCP over one Unix socket, one session per connection.
//!
//! In: connections, and their project. Out: replies. In reading order: `listen` (the socket),
//! `accept` (one task per connection), `ear`, `lines` and `preamble` (the first line), `wire`
//! (JSON-RPC, one message per line), `turns` (whose read is next), `session` (the requests of MCP),
//! `routes` (one line per tool), `tool/` (the handlers), `form` (text or JSON, within a budget),
//! `leaving` (no secrets in replies). Sessions over HTTP (`http`), and those of the page for people
//! (`page`), come in through the same loop.
//! Invariants: a client can only hurt its own connection: whatever it sends or fails to read,
//! memory stays bounded and other clients are answered; only the daemon's own user may connect.

pub mod accept;
mod client_reader;
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
