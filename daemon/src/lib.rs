//! kgd: turns one folder of documents into a knowledge graph and answers questions about it over one socket.
//!
//! Here is only the life of the process, from flags to exit code. Below it, each a crate that names only those after
//! it: `server` (sessions, tools, notes), `engine` (the write path), `query` (the read path), `index` (the databases),
//! `extract`, `formats`, `embed`, `redact`, `model`, `language`, `sys`.
//! It is not: a server for many projects (one daemon a folder), an editor of notes, or a client of any network.

pub mod process;
pub use process::{HubJob, KeptJob, Options, run};
