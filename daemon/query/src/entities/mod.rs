//! Entities: what is known about one, its neighborhood, and the readings that a person should
//! review.
//!
//! `explain.rs` collects everything for `explain_entity`: definition, timeline, relations with
//! their evidence and contradictions (`contradict.rs`), and why each name denotes it
//! (`link_reasons.rs`). `neighborhood.rs` and `overview.rs` return a graph to draw, `review.rs` the
//! doubtful links and relations, `steps.rs` the evidence for a relation on a path.

mod contradict;
mod definition;
pub(crate) mod explain;
mod link_reasons;
pub(crate) mod neighborhood;
mod overview;
pub(crate) mod review;
pub(crate) mod steps;
mod timeline;
