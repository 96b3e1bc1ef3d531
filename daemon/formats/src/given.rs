//! Given: the table of names that a user states (`recognize.given`), and where they stand in a document.
//!
//! In: the table; a file's bytes, its text and the map between them. Out: the names of a document with their places,
//! which ride with it.
//! Invariants: stated in each file; places are looked for here, because only here are file, map and text at hand.
//! Not here: what the names do to what is recognized (`recognize/given.rs`).

mod place;
mod table;

pub(super) use place::Ground;
pub use table::{GivenError, GivenNames};
