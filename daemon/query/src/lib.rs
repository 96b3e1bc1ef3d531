//! Query: the layer that answers. It lies on `index` and reads snapshots only; it never sees the engine.
//!
//! The read path: how a question becomes a ranked, explained, cited answer.
//!
//! plan → recall → expand → rank → explain. Everything reads one snapshot; nothing here writes.

/// Runs a stage under its name, by which `tests/benches/questions.rs` tells how long it took.
macro_rules! stage {
    ($name:literal, $work:expr) => {
        tracing::trace_span!(target: "kgd::ask", $name).in_scope(|| $work)
    };
}

mod abbreviation;
pub mod address;
mod asked_words;
mod bridge;
pub mod browse;
mod cited;
mod condition;
mod contradict;
mod copies;
mod cursor;
mod definition;
mod demand;
mod eligible;
mod entity;
mod error;
mod expand;
mod explain;
mod expression;
mod fit;
mod floor;
mod graph;
mod hint;
pub mod kb;
mod listing;
mod lookup;
pub mod memory;
mod metadata;
mod naming;
mod nearness;
mod neighborhood;
pub mod notes;
mod passage;
mod plan;
mod question;
mod rank;
mod recall;
mod rerank;
mod review;
mod search_notes;
mod snippet;
mod source;
pub mod stated;
mod text;
mod thin;
mod timeline;
mod trust;
mod unmet;
mod web;
mod why;
mod within;

use proto::error::ErrorView;
use proto::tool::core::{HybridQuery, HybridReply};
use rustc_hash::FxHashSet;

pub use entity::explain_entity;
pub use error::AskError;
pub use lookup::entity_lookup;
pub use neighborhood::{LIMIT as MAX_DRAWN, neighborhood, node_at};
pub use passage::read_passage;
pub use question::{is_stop_word, text_query};
pub use review::{list_doubtful, norm_keys_exist};
pub use search_notes::search_notes;

use embed::Embedder;
use embed::reranker::Reranker;
use index::store::{DecisionsAt, Snapshot};

/// What answering needs beside a snapshot.
pub struct Desk<'a> {
    /// One view of the index.
    pub snapshot: &'a Snapshot,
    /// The project's settings.
    pub settings: &'a config::Settings,
    /// The model that embeds questions.
    pub embedder: &'a dyn Embedder,
    /// A model that orders the best passages anew.
    pub reranker: Option<&'a Reranker>,
    /// Relations that contradict themselves when stated both ways.
    pub one_way: &'a [&'static str],
    /// Review decisions: what a person rejected is not told.
    pub decisions: DecisionsAt<'a>,
}

/// Answers a question: the whole read path.
pub fn hybrid_query(desk: &Desk<'_>, request: &HybridQuery) -> Result<HybridReply, ErrorView> {
    let mut plan = plan::plan(request, &desk.settings.retrieval)?;
    if plan.question.is_empty() {
        return Ok(hint::nothing_asked(&plan));
    }
    let mut hints = condition::resolve(desk, &mut plan)?;
    plan.filter.entity = entity_of(desk, request)?;
    // Those of the settings are told of in `status`: a wrong one there must not cost every question.
    check_relations(desk, request.rels.as_deref().unwrap_or_default())?;
    // Before it is copied: each copy knows then.
    plan.mentioning(desk)?;
    plan.docs(desk)?;
    let mut found = find(desk, &mut plan.clone())?;
    if plan.question.is_of_documents() {
        found.ranked = listing::listed(desk, &plan, &found.recalled, plan::MAX_RECALL)?;
    } else {
        go_deeper(desk, &plan, &mut found)?;
        stage!("thin", thin::exchange(desk, &plan, &mut found))?;
        found.ranked = stage!("rerank", rerank::rerank(desk, &plan, found.ranked))?;
        cited::put_first(desk, &plan, &mut found.ranked)?;
    }
    let Found { recalled, expanded, ranked } = found;
    hint::add(desk, (&plan, request), !ranked.is_empty(), &mut hints)?;
    let told = hint::told(&plan, &recalled, hints);
    let explained = explain::explain((desk, &plan), (&recalled, &expanded), ranked, told);
    let mut reply = stage!("explain", explained)?;
    recalled.tell_reading(&mut reply);
    Ok(reply)
}

/// What was found to one depth.
struct Found {
    recalled: recall::Recalled,
    expanded: expand::Expanded,
    ranked: Vec<rank::Ranked>,
}

/// Recall, expand and rank.
fn find(desk: &Desk<'_>, plan: &mut plan::Plan) -> Result<Found, ErrorView> {
    let mut recalled = stage!("recall", recall::recall(desk, plan))?;
    stage!("complete", recall::complete(desk, plan, &mut recalled, std::iter::empty()))?;
    plan.weigh(recalled.better_share());
    trust::weigh(plan, &recalled);
    let expanded = stage!("expand", expand::expand(desk, plan, &recalled))?;
    stage!("complete", recall::complete(desk, plan, &mut recalled, expanded.chunks()))?;
    let place = |chunk| place_of(desk, chunk);
    let ranked = stage!("rank", rank::rank(plan, (&recalled, &expanded), place))?;
    Ok(Found { recalled, expanded, ranked })
}

/// The path of a chunk's document and its place there.
fn place_of(desk: &Desk<'_>, chunk: i64) -> Result<rank::Place, AskError> {
    let mut statement = desk.snapshot.prepare_cached(
        "SELECT d.path, c.idx FROM chunks c JOIN docs d ON d.id = c.doc_id WHERE c.id = ?1",
    )?;
    Ok(statement.query_row([chunk], |row| Ok((row.get(0)?, row.get(1)?)))?)
}

/// Where more hits are wanted than the usual depth gives, adds those of the greatest behind them. The order of what is
/// told first must not depend on how much is told, and what a signal recalls decides how the others count.
fn go_deeper(desk: &Desk<'_>, plan: &plan::Plan, found: &mut Found) -> Result<(), ErrorView> {
    let is_enough = found.ranked.len() > plan.k + plan.cursor.n_told();
    if is_enough || !found.recalled.is_cut(plan) {
        return Ok(());
    }
    let mut deeper = plan::Plan { recall_k: plan::MAX_RECALL, ..plan.clone() };
    let more = find(desk, &mut deeper)?;
    let known: FxHashSet<i64> = found.ranked.iter().map(|it| it.chunk).collect();
    found.ranked.extend(more.ranked.into_iter().filter(|it| !known.contains(&it.chunk)));
    found.recalled.better.extend(more.recalled.better);
    found.recalled.is_ended = more.recalled.is_ended;
    Ok(())
}

/// The entity that hits must mention, by name or id.
fn entity_of(desk: &Desk<'_>, request: &HybridQuery) -> Result<Option<i64>, ErrorView> {
    let Some(given) = &request.entity else { return Ok(None) };
    match given.trim().parse::<i64>() {
        Ok(id) if explain::entity_view(desk, id, None)?.is_some() => Ok(Some(id)),
        _ => lookup::find_one(desk, (None, Some(given))).map(Some).map_err(|error| ErrorView {
            hint: error.hint.map(|hint| hint.replace("`entity_id`", "`entity`")),
            ..error
        }),
    }
}

/// Refuses relations that no rule gives and no document states: a typing error would silently find nothing.
fn check_relations(desk: &Desk<'_>, rels: &[String]) -> Result<(), ErrorView> {
    match unknown_relations(desk, rels)?.first() {
        Some(rel) => {
            let hint = format!("use some of {}", known_relations(desk)?.join(", "));
            Err(error::invalid(format!("no relation `{rel}`"), &hint))
        }
        None => Ok(()),
    }
}

/// Those relations that no rule gives and no document states.
///
/// # Errors
/// When the index cannot be read.
pub fn unknown_relations<'r>(
    desk: &Desk<'_>,
    rels: &'r [String],
) -> Result<Vec<&'r str>, AskError> {
    let mut stated = desk
        .snapshot
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM evidence WHERE predicate = ?1)")?;
    let mut unknown = Vec::new();
    for rel in rels.iter().filter(|rel| !VOCABULARY.contains(&rel.as_str())) {
        if !stated.query_row([rel], |row| row.get::<_, bool>(0))? {
            unknown.push(rel.as_str());
        }
    }
    Ok(unknown)
}

/// The relations that may be asked for: ours, then those that a user added and some document states.
fn known_relations(desk: &Desk<'_>) -> Result<Vec<String>, AskError> {
    let mut statement = desk.snapshot.prepare_cached(
        "SELECT DISTINCT predicate FROM evidence WHERE predicate NOT LIKE 'not %' ORDER BY predicate",
    )?;
    let stated = statement.query_map([], |row| row.get::<_, String>(0))?;
    let stated: Vec<String> = stated.collect::<Result<_, _>>()?;
    let own = stated.into_iter().filter(|it| !VOCABULARY.contains(&it.as_str()));
    Ok(VOCABULARY.iter().map(|it| (*it).to_string()).chain(own).collect())
}

/// S4 §8's relations, and the two of features.md.
const VOCABULARY: [&str; 12] = [
    "defines",
    "refers_to",
    "part_of",
    "uses",
    "depends_on",
    "precedes",
    "owned_by",
    "located_in",
    "cites",
    "same_as",
    "related_to",
    "links_to",
];
