//! Expand, the third step: finds the chunks that the graph leads to.
//!
//! In: a plan and the recalled candidates. Out: [`Expanded`]: how relations (the hops of S4 §14),
//! names in the question and names in the best candidates (`bridge.rs`) lead to each chunk, and all
//! candidates with their text and vector scores. `neighbors.rs` reads each chunk, entity and
//! document once per question.

pub(crate) mod bridge;
pub(crate) mod neighbors;

use std::collections::BTreeSet;

use config::settings::{Formula, Weights};
use index::read::Chunk;
use rustc_hash::FxHashMap;

use self::bridge::{Reaches, best, bridges, named};
use self::neighbors::Neighbors;
use crate::graph::{Statement, statements_about};
use crate::plan::Plan;
use crate::recall::fuse::fused;
use crate::recall::naming::Seed;
use crate::recall::{Candidates, Recalled, complete, copies};
use crate::{AskError, QueryContext};

/// Most entities followed at each hop, the surest ones.
const MAX_FRONTIER: usize = 24;

/// Most statements followed from one entity.
const MAX_BRANCHES: usize = 24;

/// Most chunks that statements add to the candidates.
const MAX_GRAPH_CHUNKS: usize = 40;

/// How an entity was reached.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Reached {
    pub hop: u32,
    /// Confidence along the way, in [0, 1].
    pub confidence: f32,
    /// The last statement on the way; `None` for an entity of the question itself.
    pub by: Option<Statement>,
}

/// The signals of relations for one chunk.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct RelationSignal {
    /// The hop score (S4 §14) of the nearest entity, times the confidence of the way there.
    pub hop: f32,
    /// Weight of the relation that led there.
    pub relation: f32,
    /// The nearest entity.
    pub entity: Option<i64>,
}

/// The neighborhood of the question.
#[derive(Debug, Default)]
pub(crate) struct Expanded {
    /// Entities within the hops of the plan.
    pub reached: FxHashMap<i64, Reached>,
    /// The same entities, in the order in which they were reached.
    pub order: Vec<i64>,
    pub relations: FxHashMap<i64, RelationSignal>,
    /// Chunks reached by an entity of the question.
    pub names: Reaches,
    /// Chunks reached by an entity of a best candidate.
    pub bridges: Reaches,
    /// All candidates, including those that only the graph leads to.
    pub candidates: Candidates,
}

impl Expanded {
    /// Returns every chunk that has a graph signal.
    pub(crate) fn chunks(&self) -> impl Iterator<Item = i64> {
        let reached = self.names.keys().chain(self.bridges.keys());
        self.relations.keys().chain(reached).copied()
    }
}

/// S4 §14: 1, .7, .4, then .4^(h−1).
fn hop_score(hop: u32) -> f32 {
    match hop {
        0 => 1.0,
        1 => 0.7,
        2 => 0.4,
        h => 0.4f32.powi(h as i32 - 1),
    }
}

/// Follows relations and names from the question and from the best candidates.
pub(crate) fn expand(
    ctx: &QueryContext<'_>,
    plan: &Plan,
    recalled: &Recalled,
) -> Result<Expanded, AskError> {
    let mut expanded = stage!("walk", walk(ctx, plan, &recalled.seeds))?;
    let mut neighbors = Neighbors::new(ctx, &plan.within);
    if uses_graph(plan, recalled) {
        expanded.relations =
            stage!("hop", relations(ctx, plan, recalled, &expanded, &mut neighbors))?;
    }
    if uses_graph(plan, recalled) && plan.is_fused() {
        let fused = fused(plan, &recalled.candidates, &recalled.trust);
        let chunks = fused.iter().map(|(chunk, _)| *chunk);
        let candidates: BTreeSet<i64> = chunks.chain(expanded.relations.keys().copied()).collect();
        neighbors.read(&candidates)?;
        let candidates: Vec<i64> = candidates.into_iter().collect();
        if plan.weights.names * recalled.trust.words > 0.0 {
            expanded.names = stage!("reach", named(&mut neighbors, &recalled.seeds, &candidates))?;
        }
        if plan.weights.bridge * recalled.trust.words > 0.0 {
            expanded.bridges =
                stage!("reach", bridges(&mut neighbors, &best(&fused), &candidates))?;
        }
    }
    let more: Vec<i64> = expanded.chunks().collect();
    expanded.candidates = stage!("complete", complete(ctx, plan, recalled, &more))?;
    Ok(expanded)
}

/// Returns whether the graph contributes to the score.
fn uses_graph(plan: &Plan, recalled: &Recalled) -> bool {
    let Weights { graph, names, bridge, .. } = plan.weights;
    let has_weight = [graph, names, bridge].iter().any(|it| it * recalled.trust.words > 0.0);
    plan.formula == Formula::S4 || plan.is_fused() && has_weight
}

/// Finds the entities within the plan's hops of those that the question names.
fn walk(ctx: &QueryContext<'_>, plan: &Plan, seeds: &[Seed]) -> Result<Expanded, AskError> {
    let mut found = Expanded::default();
    for seed in seeds {
        found.order.push(seed.entity);
        found.reached.insert(seed.entity, Reached { hop: 0, confidence: seed.link, by: None });
    }
    let mut frontier: Vec<i64> = found.order.clone();
    for hop in 1..=plan.hops {
        let mut next: Vec<(f32, i64)> = Vec::new();
        for entity in frontier {
            let so_far = found.reached.get(&entity).map_or(0.0, |r| r.confidence);
            let statements = statements_about(ctx, entity, &plan.rels)?;
            for statement in statements.into_iter().take(MAX_BRANCHES) {
                let other =
                    if statement.subject == entity { statement.object } else { statement.subject };
                let confidence = so_far * statement.confidence;
                if found.reached.contains_key(&other) {
                    continue;
                }
                found.reached.insert(other, Reached { hop, confidence, by: Some(statement) });
                found.order.push(other);
                next.push((confidence, other));
            }
        }
        next.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        frontier = next.into_iter().take(MAX_FRONTIER).map(|(_, entity)| entity).collect();
        if frontier.is_empty() {
            break;
        }
    }
    Ok(found)
}

/// Returns the relation signals of the candidates, and of the chunks in which the relations are
/// stated.
fn relations(
    ctx: &QueryContext<'_>,
    plan: &Plan,
    recalled: &Recalled,
    walked: &Expanded,
    neighbors: &mut Neighbors<'_>,
) -> Result<FxHashMap<i64, RelationSignal>, AskError> {
    let mut signals = FxHashMap::default();
    if recalled.seeds.is_empty() {
        return Ok(signals);
    }
    let mut chunks: BTreeSet<i64> = recalled.candidates.chunks().collect();
    for chunk in chunks_of_statements(ctx, plan, walked)? {
        let home = copies::indexed_at(ctx, &plan.within, chunk)?;
        chunks.extend(plan.within.lets_through(&home).then_some(home.id));
    }
    neighbors.read(&chunks)?;
    neighbors.read_entities(chunks.iter().copied())?;
    for chunk in chunks {
        let signal = signal_of(neighbors, plan, walked, chunk);
        if signal.hop > 0.0 {
            signals.insert(chunk, signal);
        }
    }
    Ok(signals)
}

/// Returns the chunks with the statements on the way, surest way first.
fn chunks_of_statements(
    ctx: &QueryContext<'_>,
    plan: &Plan,
    walked: &Expanded,
) -> Result<Vec<Chunk>, AskError> {
    let mut ways: Vec<(f32, &Statement)> =
        walked.reached.values().filter_map(|r| Some((r.confidence, r.by.as_ref()?))).collect();
    ways.sort_by(|a, b| {
        b.0.total_cmp(&a.0).then_with(|| (a.1.doc, a.1.span).cmp(&(b.1.doc, b.1.span)))
    });
    let mut chunks = Vec::new();
    for (_, statement) in ways.into_iter().take(MAX_GRAPH_CHUNKS) {
        if !plan.within.holds(statement.doc) {
            continue;
        }
        chunks.extend(ctx.snapshot.chunks().at(statement.doc, statement.span.0)?);
    }
    Ok(chunks)
}

/// Returns the strongest signal among the entities that a chunk mentions, or whose note it belongs
/// to.
fn signal_of(
    neighbors: &Neighbors<'_>,
    plan: &Plan,
    walked: &Expanded,
    chunk: i64,
) -> RelationSignal {
    let mut best = RelationSignal::default();
    for entity in neighbors.entities(chunk).iter() {
        let Some(reached) = walked.reached.get(entity) else { continue };
        let hop = hop_score(reached.hop) * reached.confidence;
        let relation = reached.by.as_ref().map_or(0.0, |s| plan.relation_weight(&s.predicate));
        if (hop, relation) > (best.hop, best.relation) {
            best = RelationSignal { hop, relation, entity: Some(*entity) };
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::hop_score;

    #[test]
    fn hops_count_as_s4_says() {
        let scores = [0, 1, 2, 3, 4].map(hop_score);
        for (score, expected) in scores.into_iter().zip([1.0, 0.7, 0.4, 0.16, 0.064]) {
            assert!((score - expected).abs() < 1e-6, "{score}");
        }
    }
}
