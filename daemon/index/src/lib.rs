//! Index: what kgd stores. `store` has the two databases and the one writer, `read` the typed readers of a commit,
//! `vectors` nearest-neighbor search, `postings` and `words` the full-text side, `erase` the search for forgotten
//! strings.
//!
//! Depends on `extract` (how names are grouped), `embed` and `model`; the engine writes through it, `query` reads
//! snapshots.
//! Invariants: one connection writes; a commit is atomic; what files determine is derived again, never migrated; only
//! the ledger is durable.

pub mod erase;
pub mod postings;
pub mod read;
pub mod store;
pub mod vectors;
pub mod words;
