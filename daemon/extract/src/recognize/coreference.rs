//! Coreference, the simple cases: what a pronoun, `the service` or a shortened name refers to.
//!
//! In: a document with its mentions. Out: shortened names become mentions of the full name
//! (`Babbage` after `Charles Babbage`); pronouns and definite descriptions become [`Anaphor`]s,
//! which are not mentions and only take part in relations.
//! Invariants: a reference points back, never forward, and stays in its scope: the document for a
//! shortened name, the section and a few sentences for an anaphor. If two candidates fit equally
//! well, neither is chosen. Linear.

mod anaphor;
mod score;
mod shortened;

pub(super) use anaphor::find;
pub(super) use shortened::lengthen;

#[cfg(test)]
mod tests;
