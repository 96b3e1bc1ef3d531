//! Entries: answers from entries and their graph (S2): the views of `ask` that `kb_ask` and `kb_summarize` show.
//!
//! In: a question, optionally a strategy. Out: entries, a path, sentences; from the whole folder where entries know
//! nothing.
//! Not here: the entries, their graph, and how a question is read (`kb/`).

mod beside;
mod story;
pub mod strategy;
pub mod summary;
