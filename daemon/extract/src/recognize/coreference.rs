//! Coreference, the simple cases: what a pronoun, `the service` or a shortened name refers to.
//!
//! In: a document with its mentions. Out: shortened names become mentions of the full name (`Babbage` after `Charles
//! Babbage`); pronouns and definite descriptions become [`Anaphor`]s, which are not mentions and count only in
//! relations.
//! Invariants: a reference goes back, never forward, and never leaves its scope: for a shortened name the document, for
//! an anaphor the section and a few sentences; where two candidates fit equally, nothing is guessed.
//! Linear.
//! Not here: acronyms beside their definition (`relate/`: they are two names of one thing everywhere).

mod anaphor;
mod score;
mod shortened;

pub(super) use anaphor::find;
pub(super) use shortened::lengthen;

#[cfg(test)]
mod tests;
