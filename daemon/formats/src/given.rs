//! Given: the table of names that a user provides (`recognize.given`), and their places in a document.
//!
//! In: the table; a file's bytes, its text and the map between them. Out: the names of a document with their places, as
//! part of it.
//! Invariants: in each file.
//! Places are searched here, because only here are file, map and text available together.

mod place;
mod table;

pub(super) use place::Ground;
pub use table::{GivenError, GivenNames};
