//! Server: one project and its clients. `project` joins the engine and the index; `serve` speaks MCP; `notes`
//! alone changes files; `llm` asks language models where the user configured one.
//!
//! It lies on `engine` and `query`; the program `kgd` starts it.
//! Invariants: only here is the MCP library named; a tool that reads sees a snapshot, a tool that writes writes notes
//! and waits for the engine.

mod errand;
pub mod llm;
pub mod notes;
pub mod project;
pub mod serve;
