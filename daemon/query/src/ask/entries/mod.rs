//! Entries: answers from entries and their graph (S2): the views of `ask` behind `kb_ask` and
//! `kb_summarize`.
//!
//! In: a question, optionally a strategy. Out: entries, a path, sentences; from the whole folder
//! where entries have nothing.

mod beside;
mod story;
pub mod strategy;
pub mod summary;
