//! Entities: what is known about one, what is around it, and which readings a person should review.
//!
//! `explain.rs` gathers everything for `explain_entity`: its definition, its timeline, its relations with evidence and
//! with what contradicts them (`contradict.rs`), and why each name denotes it (`link_reasons.rs`). `neighborhood.rs`
//! and `overview.rs` return a graph to draw, `review.rs` the doubtful links and relations, `steps.rs` what
//! states a relation of a path.
//! Not here: finding an entity by name (`graph/lookup.rs`).

mod contradict;
mod definition;
pub(crate) mod explain;
mod link_reasons;
pub(crate) mod neighborhood;
mod overview;
pub(crate) mod review;
mod says;
pub(crate) mod steps;
mod timeline;
