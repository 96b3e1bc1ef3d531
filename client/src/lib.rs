//! What `kgctl` and `kg-mcp` share: selecting a project, starting its daemon, talking to it, rendering answers.
//!
//! This crate depends only on `proto` and `config`, and reaches the daemon by its socket.

pub mod agent;
pub mod call;
pub mod connect;
pub mod consolidate;
pub mod gateway;
pub mod http;
pub mod hub;
pub mod input;
pub mod interchange;
pub mod launch;
pub mod model;
pub mod page;
pub mod pick;
pub mod render;
pub mod score;
pub mod shim;
pub mod signals;
pub mod update;
