//! Signals: what counts in the score beside text and vectors, one row each.
//!
//! In: a plan, the output of the earlier steps, a chunk. Out: a value in [0, 1].
//! To add a signal: write the function of its value (where it takes more than a line, in a file of its own, declared in
//! `mod.rs`), a row in [`SIGNALS`], and a weight of the same name in `config::settings::Weights`. It then appears in
//! scores, in `components` and in reasons. Measure it first (`tests/benches/retrieval.rs`): a signal that gains nothing
//! is not merged.
//! Not here: text and vectors (`recall/fuse.rs`), corrections that compare hits (`thin.rs`, `rerank.rs`, `cited.rs`).

use config::settings::Weights;

use crate::expand::Expanded;
use crate::plan::Plan;
use crate::recall::Recalled;
use crate::{AskError, QueryContext};

/// What a signal may read beside the index.
pub(crate) struct SignalInput<'a> {
    pub plan: &'a Plan,
    pub recalled: &'a Recalled,
    pub expanded: &'a Expanded,
}

/// Computes the value of a chunk, 0 to 1. Called for each candidate, if the weight is not 0. A chunk that the index
/// lacks, as in unit tests, has the value 0.
type ValueOf = fn(&QueryContext<'_>, &SignalInput<'_>, i64) -> Result<f32, AskError>;

/// A part of the score of the formulas `hybrid`, `rrf` and `minmax`.
pub(crate) struct Signal {
    /// Its name in the components of a hit, and of its setting `retrieval.weights.NAME`.
    pub name: &'static str,
    pub weight: fn(&Weights) -> f32,
    /// Whether it is read from the words of the question; it loses weight where these are not trusted
    /// (`recall/trust.rs`).
    pub is_by_words: bool,
    /// Whether its name is a reason that a reader understands; else `present/reasons.rs` describes it in words.
    pub is_reason: bool,
    pub value: ValueOf,
}

pub(crate) const SIGNALS: &[Signal] = &[
    Signal {
        name: "graph",
        weight: |weights| weights.graph,
        is_by_words: true,
        is_reason: false,
        value: |_, it, chunk| Ok(it.expanded.relations.get(&chunk).map_or(0.0, |it| it.hop)),
    },
    Signal {
        name: "stated",
        weight: |weights| weights.stated,
        is_by_words: true,
        is_reason: false,
        value: |_, it, chunk| Ok(it.expanded.relations.get(&chunk).map_or(0.0, |it| it.stated)),
    },
    Signal {
        name: "names",
        weight: |weights| weights.names,
        is_by_words: true,
        is_reason: false,
        value: |_, it, chunk| Ok(it.expanded.names.get(&chunk).map_or(0.0, |it| it.value)),
    },
    Signal {
        name: "bridge",
        weight: |weights| weights.bridge,
        is_by_words: true,
        is_reason: false,
        value: |_, it, chunk| Ok(it.expanded.bridges.get(&chunk).map_or(0.0, |it| it.value)),
    },
];
