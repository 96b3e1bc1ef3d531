//! The read path: how a question becomes a ranked, explained, cited answer.
//!
//! plan → recall → expand → rank → explain. Everything reads one snapshot; nothing here writes.

/// Runs a stage under its name, by which `tests/benches/questions.rs` tells how long it took.
macro_rules! stage {
    ($name:literal, $work:expr) => {
        tracing::trace_span!(target: "kgd::ask", $name).in_scope(|| $work)
    };
}

mod bridge;
mod contradict;
mod copies;
mod cursor;
mod definition;
mod entity;
mod error;
mod expand;
mod explain;
mod expression;
mod floor;
mod graph;
mod lookup;
mod naming;
mod nearness;
mod neighborhood;
pub mod notes;
mod pagerank;
mod passage;
mod plan;
mod question;
mod rank;
mod recall;
mod recency;
mod review;
mod snippet;
mod source;
mod text;
mod timeline;
mod web;
mod why;

use proto::error::ErrorView;
use proto::tool::core::{HybridQuery, HybridReply};

pub use entity::explain_entity;
pub use error::AskError;
pub use lookup::entity_lookup;
pub use neighborhood::neighborhood;
pub use passage::read_passage;
pub use question::{is_stop_word, text_query};
pub use review::{list_doubtful, norm_keys_exist};

use crate::embedder::Embedder;
use crate::store::{DecisionsAt, Snapshot};

/// What answering needs beside a snapshot.
pub struct Desk<'a> {
    /// One view of the index.
    pub snapshot: &'a Snapshot,
    /// The project's settings.
    pub settings: &'a config::Settings,
    /// The model that embeds questions.
    pub embedder: &'a dyn Embedder,
    /// Relations that contradict themselves when stated both ways.
    pub one_way: &'a [&'static str],
    /// Review decisions: what a person rejected is not told.
    pub decisions: DecisionsAt<'a>,
}

/// Answers a question: the whole read path.
pub fn hybrid_query(desk: &Desk<'_>, request: &HybridQuery) -> Result<HybridReply, ErrorView> {
    let mut plan = plan::plan(request, &desk.settings.retrieval)?;
    plan.filter.entity = entity_of(desk, request)?;
    check_relations(desk, &plan.rels)?;
    let mut recalled = stage!("recall", recall::recall(desk, &plan))?;
    stage!("complete", recall::complete(desk, &plan, &mut recalled, std::iter::empty()))?;
    plan.weigh(recalled.better_share());
    let expanded = stage!("expand", expand::expand(desk, &plan, &recalled))?;
    stage!("complete", recall::complete(desk, &plan, &mut recalled, expanded.chunks()))?;
    let mut ranked = stage!("rank", rank::rank(&plan, &recalled, &expanded));
    ranked.retain(|candidate| recalled.allows(candidate.chunk));
    if let Some(entity) = plan.filter.entity {
        ranked = about(desk, ranked, entity)?;
    }
    let told = explain::explain((desk, &plan), &recalled, &expanded, ranked);
    let mut reply = stage!("explain", told)?;
    recalled.name_spaces(desk, &mut reply);
    recalled.tell_reading(&mut reply);
    Ok(reply)
}

/// The entity that hits must mention, by name or id.
fn entity_of(desk: &Desk<'_>, request: &HybridQuery) -> Result<Option<i64>, ErrorView> {
    let Some(given) = &request.entity else { return Ok(None) };
    match given.trim().parse::<i64>() {
        Ok(id) if explain::entity_view(desk, id, None)?.is_some() => Ok(Some(id)),
        _ => lookup::find_one(desk, (None, Some(given))).map(Some),
    }
}

/// Those candidates that mention the entity, or stand in the note that it is.
fn about(
    desk: &Desk<'_>,
    ranked: Vec<rank::Ranked>,
    entity: i64,
) -> Result<Vec<rank::Ranked>, AskError> {
    let mut statement = desk.snapshot.prepare_cached(
        "SELECT 1 FROM chunks c JOIN docs d ON d.id = c.doc_id WHERE c.id = ?1 AND (d.entity_id = ?2 OR EXISTS (
           SELECT 1 FROM mentions m JOIN names n ON n.id = m.name_id
           WHERE m.doc_id = c.doc_id AND m.at >= c.start AND m.at < c.end AND n.entity_id = ?2))",
    )?;
    let mut kept = Vec::with_capacity(ranked.len());
    for candidate in ranked {
        if statement.exists([candidate.chunk, entity])? {
            kept.push(candidate);
        }
    }
    Ok(kept)
}

/// Refuses relations that no rule gives and no document states: a typing error would silently find nothing.
fn check_relations(desk: &Desk<'_>, rels: &[String]) -> Result<(), ErrorView> {
    for rel in rels {
        let is_stated: bool = desk
            .snapshot
            .prepare_cached("SELECT EXISTS (SELECT 1 FROM evidence WHERE predicate = ?1)")
            .and_then(|mut statement| statement.query_row([rel], |row| row.get(0)))
            .map_err(AskError::from)?;
        if !is_stated && !VOCABULARY.contains(&rel.as_str()) {
            let hint = format!("use some of {}", known_relations(desk)?.join(", "));
            return Err(error::invalid(format!("no relation `{rel}`"), &hint));
        }
    }
    Ok(())
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
