//! What two processes must agree on: the tools, their parameters and replies, and the errors.
//!
//! Additions are optional fields; nothing is removed or given a new meaning within a protocol version.
//! Not here: how a tool works (`daemon/src/serve/tool/`), or the MCP library.

pub mod catalog;
pub mod error;
pub mod reference;
pub mod shape;
pub mod tool;

/// Version of the tools' contract, reported by `status`.
pub const PROTOCOL_VERSION: u32 = 1;
