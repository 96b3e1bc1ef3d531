//! Quote: which words of a text are shown, and their place.
//!
//! `matched.rs` finds the words of a question in a text, `snippet.rs` chooses the range around
//! them, `source.rs` returns its place: line, page or heading; `outline.rs` reads headings;
//! `statement.rs` compares sentences; `written.rs` shows lines of a file.

pub(crate) mod claim;
pub(crate) mod matched;
pub(crate) mod outline;
pub(crate) mod snippet;
pub(crate) mod source;
pub(crate) mod statement;
pub(crate) mod written;
