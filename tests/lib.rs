//! Shared by the integration tests: a real daemon on a scratch folder, asked over its real socket.
//!
//! In: files. Out: a running `kgd` ([`TestProject`]), MCP conversations ([`Client`]), and the whole
//! graph as text without row ids ([`Graph`]), so that two graphs can be compared by eye.
//! Invariants: nothing outside a temporary folder is touched; every process ends with its test;
//! everything waits for replies or ticks, never for a fixed time.

mod binary;
pub mod browser;
mod client;
pub mod crowd;
mod graph;
pub mod hostile;
pub mod house;
pub mod http;
mod index;
mod kills;
mod marked;
pub mod papers;
pub mod planted;
mod project;
pub mod score;
mod shared_home;
mod small_disk;
mod sound;

pub use self::index::index_text;
pub use binary::{kgctl, kgd};
pub use client::{Client, Revision, all};
pub use graph::Graph;
pub use kills::{Figures, Kills};
pub use marked::{Faults, Marked};
pub use project::{Ended, TestProject};
pub use shared_home::{Agent, SharedHome};
pub use small_disk::SmallDisk;
pub use sound::unsound_rows;
