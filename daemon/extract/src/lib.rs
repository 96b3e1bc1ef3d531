//! Extract: what one document says. Four stages, in the order a document meets them: `chunk`, `recognize`, `link`,
//! `relate`.
//!
//! It depends on `language`, `embed` (which counts tokens) and `model`; the engine runs its stages, and the index
//! groups names with it.
//! Invariants: every stage is a function of its document and of what was given at its construction; no stage sees a
//! database, a file or a clock.

pub mod chunk;
pub mod link;
pub mod net;
pub mod recognize;
pub mod relate;
