//! One Markdown note: what its author stated in it, and edits that change only the bytes they mean to.
//!
//! In: the bytes of one file. Out: its parts with their spans ([`parse`]), or the bytes that replace others ([`edit`]).
//! Invariants: pure functions, no input or output; spans are bytes of the file, on UTF-8 boundaries.
//! [`resolve`] decides which of several documents a link means; the caller brings the candidates.

pub mod date;
pub mod edit;
pub mod entry;
pub mod filename;
pub mod lists;
pub mod memory;
pub mod parse;
pub mod plain;
pub mod resolve;
pub mod slug;
pub mod target;
pub mod turn;
pub mod uri;
mod yaml;
