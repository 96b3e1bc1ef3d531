//! kgd: turns one folder of documents into a knowledge graph and answers questions about it over one socket.
//!
//! The write path is `pipeline/` on the belt of `belt/`; the read path is `ask/`; `store/` holds the databases,
//! `serve/` the socket. `project.rs` joins them, `process.rs` gives them a life.
//! It is not: a server for many projects (one daemon a folder), an editor of notes, or a client of any network.

pub mod process;
pub use process::{KeptJob, Options, run};
