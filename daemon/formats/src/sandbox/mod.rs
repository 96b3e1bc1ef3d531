//! Worker: parses documents of intricate formats in processes that can do nothing else.
//!
//! In: a document's bytes or text, and which lane it rides in. Out: what its format makes of it, or the document's
//! fault. `pool.rs` holds the daemon's side together: a fixed number of processes (`process.rs`), each of which takes
//! one document at a time (`message.rs`) and whose answers are looked over before they are used (`check.rs`).
//! `child.rs` is what runs inside: it gives up all rights (`restrict.rs`, `calls.rs`), then reads documents until its
//! socket ends.
//! Invariants: a document that crashes, hangs or swells costs itself and its worker, never the daemon or another
//! document; what is written down about it never quotes it.
//! Not here: formats (one module each), secrets, which the daemon removes from what comes back.

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
