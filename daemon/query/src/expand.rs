//! Expand: from the entities of the question and of the best candidates along the graph, and the chunks that lie there.
//!
//! In: what was recalled. Out: for each chunk that the graph leads to, how: along relations (S4 §14's hops), by a name
//! that the question has, by one that a best candidate has (`bridge.rs`).
//! Not here: what each of these counts (`rank.rs`).

use std::collections::BTreeSet;

use rusqlite::OptionalExtension;
use rustc_hash::FxHashMap;

use super::bridge::{Reaches, best, bridges, named};
use super::graph::{Statement, statements_about};
use super::plan::Plan;
use super::recall::Recalled;
use super::web::Web;
use super::{AskError, Desk, copies, rank};

/// Entities followed further at each hop; the surest ones.
const MAX_FRONTIER: usize = 24;

/// Statements followed from one entity.
const MAX_BRANCHES: usize = 24;

/// Chunks the graph may bring into the answer by itself.
const MAX_GRAPH_CHUNKS: usize = 40;

/// How an entity was reached.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Reached {
    pub hop: u32,
    /// Confidence along the way, in [0, 1].
    pub confidence: f32,
    /// The last statement on the way; none for an entity of the question itself.
    pub by: Option<Statement>,
}

/// What the graph says of one chunk.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct GraphSignal {
    /// S4 §14's hop score of the nearest entity, times the confidence of the way there.
    pub hop: f32,
    /// Weight of the relation that led there.
    pub relation: f32,
    /// `hop`, where what led there is stated by the author's own structure (a link, a list, a field), not read from
    /// a sentence.
    pub stated: f32,
    /// That entity.
    pub entity: Option<i64>,
}

/// The neighborhood of the question.
#[derive(Debug, Default)]
pub(super) struct Expanded {
    pub reached: FxHashMap<i64, Reached>,
    /// In the order they were reached.
    pub order: Vec<i64>,
    pub signals: FxHashMap<i64, GraphSignal>,
    /// By an entity of the question.
    pub names: Reaches,
    /// By an entity of a best candidate.
    pub bridges: Reaches,
    /// The document of each candidate, where it matters.
    pub docs: FxHashMap<i64, i64>,
}

impl Expanded {
    /// Every chunk that the graph says something of.
    pub(super) fn chunks(&self) -> impl Iterator<Item = i64> {
        let reached = self.names.keys().chain(self.bridges.keys());
        self.signals.keys().chain(reached).copied()
    }
}

/// S4 §14: 1, .7, .4, then .4^(h−1).
pub(super) fn hop_score(hop: u32) -> f32 {
    match hop {
        0 => 1.0,
        1 => 0.7,
        2 => 0.4,
        h => 0.4f32.powi(h as i32 - 1),
    }
}

pub(super) fn expand(
    desk: &Desk<'_>,
    plan: &Plan,
    recalled: &Recalled,
) -> Result<Expanded, AskError> {
    let mut expanded = Expanded::default();
    for seed in &recalled.seeds {
        expanded.order.push(seed.entity);
        expanded.reached.insert(seed.entity, Reached { hop: 0, confidence: seed.link, by: None });
    }
    stage!("walk", walk(desk, plan, &mut expanded))?;
    let mut web = Web::new(desk, plan);
    if plan.uses_graph() {
        stage!("hop", hop(&mut web, (desk, plan, recalled), &mut expanded))?;
        if plan.is_fused() {
            stage!("reach", reach(&mut web, (plan, recalled), &mut expanded))?;
        }
    }
    if plan.is_fused() && plan.weights.same_document > 0.0 {
        let found = recalled.text.iter().chain(&recalled.vector).map(|(chunk, _)| *chunk);
        for chunk in found.chain(expanded.chunks()).collect::<BTreeSet<i64>>() {
            expanded.docs.insert(chunk, web.doc(chunk)?);
        }
    }
    Ok(expanded)
}

/// What relations say of the candidates, and of chunks where they stand.
fn hop(
    web: &mut Web<'_>,
    (desk, plan, recalled): (&Desk<'_>, &Plan, &Recalled),
    expanded: &mut Expanded,
) -> Result<(), AskError> {
    if recalled.seeds.is_empty() {
        return Ok(());
    }
    let mut chunks: BTreeSet<i64> =
        recalled.text.iter().chain(&recalled.vector).map(|(chunk, _)| *chunk).collect();
    for chunk in chunks_of_statements(desk, plan, expanded)? {
        let told = copies::told_by(desk, plan, chunk)?;
        if copies::passes(desk, plan, told)? {
            chunks.insert(told);
        }
    }
    for chunk in chunks {
        let signal = signal_of(web, plan, expanded, chunk)?;
        if signal.hop > 0.0 {
            expanded.signals.insert(chunk, signal);
        }
    }
    Ok(())
}

/// What shared names say of the candidates, and of chunks that only they lead to.
fn reach(
    web: &mut Web<'_>,
    (plan, recalled): (&Plan, &Recalled),
    expanded: &mut Expanded,
) -> Result<(), AskError> {
    let fused = rank::fused(plan, recalled);
    let best = best(&fused);
    let candidates: BTreeSet<i64> =
        fused.iter().map(|(chunk, _)| *chunk).chain(expanded.signals.keys().copied()).collect();
    let candidates: Vec<i64> = candidates.into_iter().collect();
    if plan.weights.names > 0.0 {
        expanded.names = named(web, &recalled.seeds, &candidates)?;
    }
    if plan.weights.bridge > 0.0 {
        expanded.bridges = bridges(web, &best, &candidates)?;
    }
    Ok(())
}

fn walk(desk: &Desk<'_>, plan: &Plan, expanded: &mut Expanded) -> Result<(), AskError> {
    let mut frontier: Vec<i64> = expanded.order.clone();
    for hop in 1..=plan.hops {
        let mut next: Vec<(f32, i64)> = Vec::new();
        for entity in frontier {
            let so_far = expanded.reached.get(&entity).map_or(0.0, |r| r.confidence);
            let statements = statements_about(desk, entity, &plan.rels)?;
            for statement in statements.into_iter().take(MAX_BRANCHES) {
                let other =
                    if statement.subject == entity { statement.object } else { statement.subject };
                let confidence = so_far * statement.confidence;
                if expanded.reached.contains_key(&other) {
                    continue;
                }
                expanded.reached.insert(other, Reached { hop, confidence, by: Some(statement) });
                expanded.order.push(other);
                next.push((confidence, other));
            }
        }
        next.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        frontier = next.into_iter().take(MAX_FRONTIER).map(|(_, entity)| entity).collect();
        if frontier.is_empty() {
            break;
        }
    }
    Ok(())
}

/// The chunks where the statements on the way stand, surest way first.
fn chunks_of_statements(
    desk: &Desk<'_>,
    plan: &Plan,
    expanded: &Expanded,
) -> Result<Vec<i64>, AskError> {
    let docs = plan.docs(desk)?;
    let mut by_place = desk.snapshot.prepare_cached(
        "SELECT id FROM chunks WHERE doc_id = ?1 AND start <= ?2 AND end > ?2 ORDER BY idx LIMIT 1",
    )?;
    let mut ways: Vec<(f32, &Statement)> =
        expanded.reached.values().filter_map(|r| Some((r.confidence, r.by.as_ref()?))).collect();
    ways.sort_by(|a, b| {
        b.0.total_cmp(&a.0).then_with(|| (a.1.doc, a.1.span).cmp(&(b.1.doc, b.1.span)))
    });
    let mut chunks = Vec::new();
    for (_, statement) in ways.into_iter().take(MAX_GRAPH_CHUNKS) {
        if docs.as_ref().is_some_and(|docs| !docs.contains(&statement.doc)) {
            continue;
        }
        let place = [statement.doc, statement.span.0 as i64];
        chunks.extend(by_place.query_row(place, |row| row.get::<_, i64>(0)).optional()?);
    }
    Ok(chunks)
}

/// The strongest graph signal among the entities that a chunk mentions, or that its document is the home of.
fn signal_of(
    web: &mut Web<'_>,
    plan: &Plan,
    expanded: &Expanded,
    chunk: i64,
) -> Result<GraphSignal, AskError> {
    let mut best = GraphSignal::default();
    for entity in web.entities(chunk)?.iter() {
        let Some(reached) = expanded.reached.get(entity) else { continue };
        let hop = hop_score(reached.hop) * reached.confidence;
        let relation = reached.by.as_ref().map_or(0.0, |s| plan.relation_weight(&s.predicate));
        if (hop, relation) > (best.hop, best.relation) {
            let is_stated = reached.by.as_ref().is_some_and(|by| is_stated(&by.pattern));
            let stated = if is_stated { hop } else { 0.0 };
            best = GraphSignal { hop, relation, stated, entity: Some(*entity) };
        }
    }
    Ok(best)
}

/// True for what an author's structure states; words and grammar of sentences are read by rules that may be wrong.
fn is_stated(pattern: &str) -> bool {
    !matches!(pattern.split(':').next(), Some("sentence" | "depend"))
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
