//! The memory tools that search.

use std::collections::HashMap;

use proto::error::ErrorView;
use proto::tool::memory::{
    FoundNode, FoundNodesReply, FoundObservation, MemoryGraphReply, MemoryMode, ObservationsReply,
    QueryObservations, SearchNodes,
};

use super::graph::{Bounds, add_nodes, limit_of, page_of};
use super::ledger;
use crate::project::Project;
use crate::serve::tool::invalid;
use index::read::{Fact, Node};
use index::store::Snapshot;
use query::memory as rows;
use query::memory::search::{Comparison, FactHit, FactQuery, Found, facts_of, nodes};

/// Longest question, characters: as in the reference server.
const MAX_QUESTION: usize = 2_048;

/// Most entities that a search returns whole, observations of each, and relations.
const MAX_WHOLE: usize = 10;
const FACTS_OF_ONE: usize = 20;
const MAX_RELATIONS: usize = 100;

/// Rounds to three digits, enough to compare.
fn rounded(relevance: f32) -> f32 {
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
    let query = FactQuery {
        question: request.query,
        comparison: comparison_of(request.mode),
        after: request.after,
        before: request.before,
        ..FactQuery::default()
    };
    let hits = facts_of(&project.context(snapshot), node.doc, &query, limit)?;
    let facts = rows::facts(snapshot, &ledger(project)?, &node)?;
    let results: Vec<FoundObservation> = observations_of(&hits, &facts).take(limit).collect();
    Ok(ObservationsReply {
        nothing_relevant: !results.is_empty() && results.iter().all(|it| it.weak),
        results,
        freshness: project.freshness(snapshot),
    })
}

/// Finds entities by their names and facts.
pub fn search_nodes(
    project: &Project,
    snapshot: &Snapshot,
    request: SearchNodes,
) -> Result<FoundNodesReply, ErrorView> {
    check(&request.query)?;
    let limit = limit_of(request.limit, 10, 100)?;
    let page = page_of(request.page)?;
    let wanted = FactQuery {
        question: request.query,
        comparison: comparison_of(request.mode),
        node_type: request.entity_type,
        tags: request.tags.unwrap_or_default(),
        entity: request.entity,
        after: request.after,
        before: request.before,
    };
    let context = project.context(snapshot);
    let skip = (page - 1).saturating_mul(limit);
    // One more shows whether there is a next page.
    let mut found = nodes(&context, &wanted, skip, limit + 1)?;
    let next_page = (found.len() > limit).then(|| u32::try_from(page + 1).unwrap_or(u32::MAX));
    found.truncate(limit);
    query::weak_last(&mut found, |it| (it.is_weak, it.relevance));
    query::descending(found.iter_mut().map(|it| &mut it.score));
    // As the reference server does: whole entities, as many as fit.
    let fitting: Vec<&Found> = found.iter().filter(|it| !it.is_weak).take(MAX_WHOLE).collect();
    let shown: Vec<Node> = fitting.iter().map(|it| it.node.clone()).collect();
    let mut whole = MemoryGraphReply::default();
    let bounds = Bounds {
        n_facts: MAX_WHOLE * FACTS_OF_ONE,
        of_one: FACTS_OF_ONE,
        n_relations: MAX_RELATIONS,
        first: fitting.iter().map(|it| it.facts.iter().map(|it| it.fact.seq).collect()).collect(),
    };
    let nothing_relevant = !found.is_empty() && fitting.is_empty();
    add_nodes(project, snapshot, &shown, &bounds, &mut whole)?;
    let ledger = ledger(project)?;
    let mut results = Vec::with_capacity(found.len());
    for it in found {
        let facts = rows::facts(snapshot, &ledger, &it.node)?;
        let observations: Vec<FoundObservation> = observations_of(&it.facts, &facts).collect();
        results.push(FoundNode {
            name: it.node.name,
            entity_type: it.node.entity_type,
            summary: it.node.summary,
            matched_observation: observations
                .first()
                .map(|it| it.content.clone())
                .unwrap_or_default(),
            matched_perspective: (wanted.comparison == Comparison::Usual)
                .then(|| it.perspective.to_string()),
            observations,
            score: it.score,
            relevance: rounded(it.relevance),
            weak: it.is_weak,
            path: it.node.path,
        });
    }
    let MemoryGraphReply { entities, relations, truncated, freshness, .. } = whole;
    Ok(FoundNodesReply {
        results,
        nothing_relevant,
        entities,
        relations,
        next_page,
        truncated,
        freshness,
    })
}

fn comparison_of(mode: Option<MemoryMode>) -> Comparison {
    match mode.unwrap_or_default() {
        MemoryMode::Embedding => Comparison::Usual,
        MemoryMode::Text => Comparison::Words,
    }
}

/// Returns the found facts with their ordinals.
fn observations_of<'h>(
    hits: &'h [FactHit],
    facts: &[(u64, Fact)],
) -> impl Iterator<Item = FoundObservation> + 'h {
    let ordinals: HashMap<i64, u64> =
        facts.iter().map(|(ordinal, it)| (it.seq, *ordinal)).collect();
    hits.iter().filter_map(move |hit| {
        let fact = &hit.fact;
        let ordinal = *ordinals.get(&fact.seq)?;
        Some(FoundObservation {
            ordinal,
            content: fact.content.clone(),
            score: hit.score,
            relevance: rounded(hit.relevance),
            weak: hit.is_weak,
            line: u64::from(fact.line),
            speaker: fact.speaker.clone(),
            date: fact.day.clone(),
        })
    })
}
