//! The tools of memory that search.

use std::collections::HashMap;

use proto::error::ErrorView;
use proto::tool::memory::{
    FoundNode, FoundNodesReply, FoundObservation, MemoryGraphReply, MemoryMode, ObservationsReply,
    QueryObservations, SearchNodes,
};

use super::graph::{Bounds, limit_of, tell};
use super::ledger;
use crate::project::Project;
use crate::serve::tool::invalid;
use index::store::Snapshot;
use query::memory as rows;
use query::memory::NodeRow;
use query::memory::search::{Asked, Found, by_meaning, by_words, nodes_by_meaning, nodes_by_words};

/// Longest question, characters: as the reference server has it.
const MAX_QUESTION: usize = 2_048;

/// Most entities that a search returns whole, observations of each, and relations.
const MAX_WHOLE: usize = 10;
const FACTS_OF_ONE: usize = 20;
const MAX_RELATIONS: usize = 100;

/// Three digits are enough to compare.
fn shown(relevance: f32) -> f32 {
    (relevance * 1000.0).round() / 1000.0
}

fn check(query: &str) -> Result<(), ErrorView> {
    match query.trim().chars().count() {
        0 => Err(invalid("`query` is empty".into(), "say what to search for")),
        n if n > MAX_QUESTION => {
            Err(invalid(format!("`query` has {n} characters"), "give at most 2048"))
        }
        _ => Ok(()),
    }
}

/// Searches within one entity.
pub fn query_observations(
    project: &Project,
    snapshot: &Snapshot,
    request: QueryObservations,
) -> Result<ObservationsReply, ErrorView> {
    check(&request.query)?;
    let limit = limit_of(request.limit, 50, 1_000)?;
    let node = rows::named(snapshot, &request.entity_name)?;
    let desk = project.desk(snapshot);
    let hits = match request.mode.unwrap_or_default() {
        MemoryMode::Embedding => by_meaning(&desk, node.doc, &request.query)?,
        MemoryMode::Text => by_words(snapshot, Some(node.doc), &request.query)?,
    };
    let asked = Asked::of(&desk, &request.query)?;
    let facts = rows::facts(snapshot, &ledger(project)?, &node)?;
    let facts: HashMap<i64, _> = facts.into_iter().map(|it| (it.seq, it)).collect();
    let found = hits.into_iter().take(limit).filter_map(|hit| {
        let fact = facts.get(&hit.seq)?;
        let (ordinal, content) = (fact.ordinal, fact.content.clone());
        let relevance = asked.relevance(&node.name, &content, hit.near());
        let weak = asked.is_weak(relevance);
        let relevance = shown(relevance);
        Some(FoundObservation { ordinal, content, score: hit.score, relevance, weak })
    });
    let results: Vec<FoundObservation> = found.collect();
    Ok(ObservationsReply {
        nothing_relevant: !results.is_empty() && results.iter().all(|it| it.weak),
        results,
        freshness: project.freshness(snapshot),
    })
}

/// Finds entities by what is known of them.
pub fn search_nodes(
    project: &Project,
    snapshot: &Snapshot,
    request: SearchNodes,
) -> Result<FoundNodesReply, ErrorView> {
    check(&request.query)?;
    let limit = limit_of(request.limit, 10, 100)?;
    let mode = request.mode.unwrap_or_default();
    let desk = project.desk(snapshot);
    let found = match mode {
        MemoryMode::Embedding => nodes_by_meaning(&desk, &request.query, limit)?,
        MemoryMode::Text => nodes_by_words(&desk, &request.query, limit)?,
    };
    let is_weak = |it: &Found| it.relevance < desk.settings.retrieval.floor.relevance;
    // As the reference server does: whole entities, as many as fit.
    let fitting: Vec<NodeRow> =
        found.iter().filter(|it| !is_weak(it)).map(|it| it.node.clone()).collect();
    let mut whole = MemoryGraphReply::default();
    let bounds = Bounds {
        n_facts: MAX_WHOLE * FACTS_OF_ONE,
        of_one: FACTS_OF_ONE,
        n_relations: MAX_RELATIONS,
    };
    tell(project, snapshot, fitting.get(..MAX_WHOLE).unwrap_or(&fitting), bounds, &mut whole)?;
    let view = |it: Found| FoundNode {
        weak: is_weak(&it),
        relevance: shown(it.relevance),
        name: it.node.name,
        entity_type: it.node.entity_type,
        summary: it.node.summary,
        matched_observation: it.fact.unwrap_or_default(),
        matched_perspective: (mode == MemoryMode::Embedding).then(|| it.perspective.to_string()),
        score: it.score,
        path: it.node.path,
    };
    let MemoryGraphReply { entities, relations, truncated, freshness, .. } = whole;
    let nothing_relevant = !found.is_empty() && fitting.is_empty();
    let results = found.into_iter().map(view).collect();
    Ok(FoundNodesReply { results, nothing_relevant, entities, relations, truncated, freshness })
}
