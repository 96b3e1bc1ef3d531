//! What `kgctl` and `kg-mcp` share: finding a project, starting its daemon, speaking to it, showing answers.
//!
//! Not here: the daemon. This crate knows `proto` and `config` only, and reaches the daemon by its socket.

pub mod call;
pub mod connect;
pub mod consolidate;
pub mod gateway;
pub mod http;
pub mod interchange;
pub mod launch;
pub mod model;
pub mod page;
pub mod pick;
pub mod render;
pub mod score;
pub mod shim;
pub mod signals;
