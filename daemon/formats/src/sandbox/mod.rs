//! Worker: parses documents of complex formats in processes without privileges.
//!
//! In: a document's bytes or text, and its lane. Out: the document as returned by its format, or its fault. `pool.rs`
//! is the daemon's side: a fixed number of processes (`process.rs`), each of which handles one document at a time
//! (`message.rs`) and whose replies are checked before they are used (`check.rs`). `child.rs` runs inside the
//! process: it drops all privileges (`restrict.rs`, `calls.rs`), then reads documents until its socket is closed.
//! Invariants: a document that crashes, hangs or uses too much memory affects itself and its worker, never the daemon
//! or another document; messages about it never quote it.

#[cfg(target_os = "linux")]
mod calls;
mod check;
mod child;
mod message;
mod misdeed;
mod pool;
mod process;
mod restrict;
#[cfg(test)]
mod tests;

pub use child::run;
pub(crate) use pool::Request;
pub use pool::{Workers, WorkersNow};
pub use restrict::Sandbox;
#[cfg(test)]
pub(crate) use tests::assert_passes;
