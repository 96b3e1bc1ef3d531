//! Index: what is kept. `store` has the two databases and the one writer, `vectors` what is nearest, `postings` and
//! `words` what a text index holds of a text, `erase` how what is to be forgotten is found and taken out.
//!
//! It lies on `extract` (how names are grouped), `embed` and `model`; the engine writes through it, `query` reads
//! snapshots.
//! Invariants: one connection writes; a commit is whole or not at all; whatever can be derived from files is derived
//! again rather than migrated, only the ledger is kept.
//! Not here: what is written (the stages decided that), or how answers are ranked (`query`).

pub mod erase;
pub mod postings;
pub mod store;
pub mod vectors;
pub mod words;
