//! Query: answers from the index. It reads snapshots of `index` and never sees the engine.
//!
//! A question passes five steps, one folder each: `plan` → `recall` → `expand` → `rank` → `present`. [`answer`] calls
//! them in order. Beside them, `ask/`, `entities/`, `connect/`, `notes/`, `memory/`, `kb/`, `passage.rs` and
//! `changes.rs` answer the other tools; `graph/`, `quote/` and `address.rs` hold what several of them need.
//! Invariants: a reply comes from one snapshot, and nothing is written; the folders depend on each other in one
//! direction only (`tests/it/layers.rs`).

/// Runs a part of a step in a tracing span of this name, which `tests/benches/questions.rs` times.
macro_rules! stage {
    ($name:literal, $work:expr) => {
        tracing::trace_span!(target: "kgd::ask", $name).in_scope(|| $work)
    };
}

pub mod address;
pub mod ask;
pub mod changes;
pub mod connect;
mod entities;
mod error;
mod expand;
mod graph;
pub mod kb;
pub mod memory;
pub mod notes;
pub mod page;
mod passage;
mod plan;
mod present;
mod quote;
mod rank;
mod recall;
mod relevance;

use embed::Embedder;
use embed::reranker::Reranker;
use index::store::{DecisionsAt, Snapshot};
use proto::error::ErrorView;
use proto::tool::core::{HybridQuery, HybridReply};

pub use entities::explain::{explain_entity, goes_with};
pub use entities::neighborhood::{LIMIT as MAX_DRAWN, neighborhood, node_at};
pub use entities::review::{list_doubtful, norm_keys_exist};
pub use error::AskError;
pub use graph::associations::{AssociationCache, dumped_associations};
pub use graph::lookup::entity_lookup;
pub use graph::projection::{FurtherRelation, Projection};
pub use graph::projections::Projections;
pub use graph::relations::unknown_relations;
pub use notes::search::search_notes;
pub use notes::{browse, stated};
pub use passage::read_passage;
pub use plan::question::{is_stop_word, text_terms};
pub use present::floor::{descending, weak_last};
pub use rank::signals::signals;
pub use recall::means::MeanCache;
pub use relevance::Signals;

/// Everything that answering needs besides the request.
pub struct QueryContext<'a> {
    /// A consistent view of the index.
    pub snapshot: &'a Snapshot,
    /// The project's settings.
    pub settings: &'a config::Settings,
    /// The model that embeds questions.
    pub embedder: &'a dyn Embedder,
    /// A cross-encoder that reorders the best passages.
    pub reranker: Option<&'a Reranker>,
    /// Relations that contradict themselves when stated in both directions.
    pub one_way: &'a [&'static str],
    /// Relations in which one subject has only one object.
    pub functional: &'a [&'static str],
    /// What is mentioned together.
    pub associations: &'a AssociationCache,
    /// The means of the vectors of documents.
    pub means: &'a MeanCache,
    /// Review decisions; answers leave out what a person rejected.
    pub decisions: DecisionsAt<'a>,
}

/// Answers a question in five steps. Each step returns a type of its own and only reads those of the steps before.
///
/// 1. **Plan**: the question, checked against settings and index: words, operators, filters,
///    weights.
/// 2. **Recall**: candidates by full text and by vectors, the entities that the question names, and
///    how much its words can be trusted.
/// 3. **Expand**: the chunks that relations and shared names lead to.
/// 4. **Rank**: one score per chunk, the sum of its weighted signals; then corrections among the
///    best.
/// 5. **Present**: snippets, places and reasons, within the caller's budget.
pub fn answer(ctx: &QueryContext<'_>, request: &HybridQuery) -> Result<HybridReply, ErrorView> {
    let plan = plan::plan(ctx, request)?;
    if plan.question.is_empty() {
        return Ok(present::nothing_asked(&plan));
    }
    let (recalled, expanded, ranked) = found(ctx, &plan)?;
    Ok(stage!("present", present::present(ctx, &plan, &recalled, &expanded, ranked))?)
}

/// Returns the relevance signals of the best hits of a question, to which
/// `tests/benches/retrieval/floor.rs` fits the floor.
///
/// # Errors
/// As [`answer`].
pub fn relevance_signals(
    ctx: &QueryContext<'_>,
    request: &HybridQuery,
) -> Result<Vec<Signals>, ErrorView> {
    let plan = plan::plan(ctx, request)?;
    let (recalled, _, ranked) = found(ctx, &plan)?;
    Ok(present::signals(ctx, &plan, &recalled, &ranked)?)
}

/// The steps between plan and presentation.
fn found(
    ctx: &QueryContext<'_>,
    plan: &plan::Plan,
) -> Result<(recall::Recalled, expand::Expanded, rank::Ranked), AskError> {
    let recalled = stage!("recall", recall::recall(ctx, plan, plan.depth))?;
    let expanded = stage!("expand", expand::expand(ctx, plan, &recalled))?;
    let mut ranked = stage!("rank", rank::rank(ctx, plan, &recalled, &expanded))?;
    if ranked.is_cut && ranked.hits.len() <= plan.k + plan.cursor.n_seen() {
        // A deeper search changes the weight of each signal. Its hits are appended, not merged, so
        // that the first hits and their order do not depend on how many are requested.
        let recalled = stage!("recall", recall::recall(ctx, plan, plan::MAX_RECALL))?;
        let expanded = stage!("expand", expand::expand(ctx, plan, &recalled))?;
        ranked.append(stage!("rank", rank::rank(ctx, plan, &recalled, &expanded))?);
    }
    let ranked = rank::adjust(ctx, plan, &recalled, &expanded, ranked)?;
    Ok((recalled, expanded, ranked))
}
