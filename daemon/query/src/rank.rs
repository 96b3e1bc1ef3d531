//! Rank: one score for each candidate, as a sum of weighted components that are all kept.
//!
//! `hybrid`, `rrf`, `minmax`: text and vectors, each brought to [0, 1] in its way, and what the graph adds; less for a
//! further hit of the same document.
//! `s0`: S0 §14.5's 0.5 · text, stretched, + 0.5 · cosine; what is below the least similarity counts by its text alone.
//! `s4`: S4 §14's 0.7 · semantic + 0.2 · hop + 0.1 · relation. `text`, `vector`: one signal alone.

use std::collections::{BTreeMap, BTreeSet};

use config::settings::Formula;
use rustc_hash::FxHashMap;

use super::AskError;
use super::bridge::Reach;
use super::expand::{Expanded, GraphSignal};
use super::plan::Plan;
use super::recall::Recalled;

/// Reciprocal rank's constant, from the paper that proposes it (Cormack, Clarke, Büttcher 2009).
const RANKS: f32 = 60.0;

/// What text and vectors count each in S0's formula.
pub(super) const S0_HALF: f32 = 0.5;

/// A candidate with its score.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Ranked {
    pub chunk: i64,
    pub score: f32,
    /// Weighted; they sum to the score.
    pub components: BTreeMap<&'static str, f32>,
    /// The cosine of its best window, and whether the better model tells it.
    pub near: Option<(f32, bool)>,
    pub graph: GraphSignal,
    /// By a name of the question.
    pub named: Reach,
    /// By a name in a best candidate.
    pub bridge: Reach,
}

/// A signal's value by chunk.
type Signal = FxHashMap<i64, f32>;

/// Where a chunk stands, for the order of equal ones: path and place. Rows depend on the run of indexing.
pub(super) type Place = (String, i64);

/// Every candidate, best first; equal ones in the order of their places, which are asked for of these alone.
pub(super) fn rank(
    plan: &Plan,
    (recalled, expanded): (&Recalled, &Expanded),
    place: impl FnMut(i64) -> Result<Place, AskError>,
) -> Result<Vec<Ranked>, AskError> {
    let (text, vector) = signals(plan, recalled);
    let near: Signal = recalled.vector.iter().copied().collect();
    let near = |chunk| Some((*near.get(&chunk)?, recalled.better.contains(&chunk)));
    let mut chunks: BTreeSet<i64> = text.keys().chain(vector.keys()).copied().collect();
    chunks.extend(expanded.chunks());
    // Before they are spread: what is no hit takes nothing from the others of its document.
    chunks.retain(|chunk| recalled.allows(*chunk));
    let mut out: Vec<Ranked> = chunks
        .into_iter()
        .map(|chunk| {
            let of = |signal: &Signal| signal.get(&chunk).copied().unwrap_or(0.0);
            let mut ranked = Ranked {
                chunk,
                near: near(chunk),
                graph: expanded.signals.get(&chunk).cloned().unwrap_or_default(),
                named: expanded.names.get(&chunk).cloned().unwrap_or_default(),
                bridge: expanded.bridges.get(&chunk).cloned().unwrap_or_default(),
                ..Ranked::default()
            };
            let found = [of(&text), of(&vector)];
            ranked.components = components(plan, &ranked, found);
            ranked.score = ranked.components.values().sum();
            ranked
        })
        // S0 tells the last match by words, too, whose stretched score is 0. Of an entity also that is told which only
        // mentions it.
        .filter(|ranked| {
            ranked.score > 0.0 || plan.formula == Formula::S0 || plan.filter.entity.is_some()
        })
        .collect();
    out.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.chunk.cmp(&b.chunk)));
    by_place_where_equal(&mut out, place)?;
    let weight = plan.weights.same_document;
    Ok(if expanded.docs.is_empty() { out } else { spread(out, expanded, weight) })
}

/// Puts candidates of equal scores, which stand side by side, in the order of their places.
fn by_place_where_equal(
    ranked: &mut [Ranked],
    mut place: impl FnMut(i64) -> Result<Place, AskError>,
) -> Result<(), AskError> {
    for equal in ranked.chunk_by_mut(|a, b| a.score == b.score).filter(|equal| equal.len() > 1) {
        let mut places = FxHashMap::default();
        for one in equal.iter() {
            places.insert(one.chunk, place(one.chunk)?);
        }
        equal.sort_by(|a, b| places.get(&a.chunk).cmp(&places.get(&b.chunk)));
    }
    Ok(())
}

/// The weighted components that are not 0.
fn components(
    plan: &Plan,
    ranked: &Ranked,
    [text, vector]: [f32; 2],
) -> BTreeMap<&'static str, f32> {
    let weights = &plan.weights;
    let parts: Vec<(&'static str, f32)> = match plan.formula {
        Formula::Text => vec![("text", text)],
        Formula::Vector => vec![("vector", vector)],
        Formula::S0 => vec![("text", S0_HALF * text), ("vector", S0_HALF * vector)],
        Formula::S4 => vec![
            ("semantic", weights.semantic * vector),
            ("hop", weights.hop * ranked.graph.hop),
            ("relation", weights.relation * ranked.graph.relation),
        ],
        Formula::Hybrid | Formula::Rrf | Formula::MinMax => vec![
            ("text", weights.text * text),
            ("vector", weights.vector * vector),
            ("graph", weights.graph * ranked.graph.hop),
            ("stated", weights.stated * ranked.graph.stated),
            ("names", weights.names * ranked.named.value),
            ("bridge", weights.bridge * ranked.bridge.value),
        ],
    };
    parts.into_iter().filter(|(_, value)| *value > 0.0).collect()
}

/// Candidates by text and vectors alone, best first.
pub(super) fn fused(plan: &Plan, recalled: &Recalled) -> Vec<(i64, f32)> {
    let (text, vector) = signals(plan, recalled);
    let chunks: BTreeSet<i64> = text.keys().chain(vector.keys()).copied().collect();
    let of = |signal: &Signal, chunk| signal.get(&chunk).copied().unwrap_or(0.0);
    let score =
        |chunk| plan.weights.text * of(&text, chunk) + plan.weights.vector * of(&vector, chunk);
    let mut out: Vec<(i64, f32)> = chunks.into_iter().map(|chunk| (chunk, score(chunk))).collect();
    out.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    out
}

/// Text and vectors as the formula takes them.
fn signals(plan: &Plan, recalled: &Recalled) -> (Signal, Signal) {
    let (text, vector) = (&recalled.text, &recalled.vector);
    let similar = || {
        let least = |chunk: i64| {
            let is_better = recalled.better.contains(&chunk);
            let floor = if is_better { plan.floor.better_similar } else { plan.floor.similar };
            plan.min_similarity.unwrap_or(floor)
        };
        vector.iter().copied().filter(|(chunk, cosine)| *cosine >= least(*chunk)).collect()
    };
    match plan.formula {
        Formula::S0 => (stretched(text), similar()),
        Formula::Vector if plan.min_similarity.is_some() => (Signal::default(), similar()),
        Formula::Hybrid => (over_best(text), over_best(vector)),
        Formula::Rrf => (by_rank(text), by_rank(vector)),
        Formula::MinMax => (stretched(text), stretched(vector)),
        Formula::S4 | Formula::Text | Formula::Vector => {
            (over_best(text), vector.iter().copied().collect())
        }
    }
}

/// Each score divided by the best one, which need not be the first: where a question demands something, chunks that the
/// signal did not find by itself may be all there is.
fn over_best(list: &[(i64, f32)]) -> Signal {
    let best = list.iter().map(|(_, score)| *score).fold(1e-6, f32::max);
    list.iter().map(|(chunk, score)| (*chunk, score / best)).collect()
}

/// Reciprocal ranks, the first one as 1.
fn by_rank(list: &[(i64, f32)]) -> Signal {
    let mut order: Vec<&(i64, f32)> = list.iter().collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let value = |rank: usize| (RANKS + 1.0) / (RANKS + 1.0 + rank as f32);
    order.into_iter().enumerate().map(|(rank, (chunk, _))| (*chunk, value(rank))).collect()
}

/// The least score as 0, the best one as 1; scores that are all the same as 1.
fn stretched(list: &[(i64, f32)]) -> Signal {
    let scores = || list.iter().map(|(_, score)| *score);
    let (least, most) = (scores().fold(f32::INFINITY, f32::min), scores().fold(0.0, f32::max));
    let room = most - least;
    let value = |score: f32| if room > 1e-6 { (score - least) / room } else { 1.0 };
    list.iter().map(|(chunk, score)| (*chunk, value(*score))).collect()
}

/// Puts off further hits of a document: each loses `weight` for each better one, as a component of its own.
fn spread(ranked: Vec<Ranked>, expanded: &Expanded, weight: f32) -> Vec<Ranked> {
    let mut waiting: Vec<Option<Ranked>> = ranked.into_iter().map(Some).collect();
    let mut n_taken: FxHashMap<i64, f32> = FxHashMap::default();
    let doc = |chunk: i64| expanded.docs.get(&chunk).copied().unwrap_or(-chunk);
    let mut out = Vec::with_capacity(waiting.len());
    loop {
        let score = |one: &Ranked| {
            one.score - weight * n_taken.get(&doc(one.chunk)).copied().unwrap_or(0.0)
        };
        let mut best: Option<(usize, f32)> = None;
        for (at, one) in waiting.iter().enumerate() {
            let Some(one) = one else { continue };
            let score = score(one);
            if best.is_none_or(|(_, most)| score > most) {
                best = Some((at, score));
            }
        }
        let Some(mut next) = best.and_then(|(at, _)| waiting.get_mut(at)?.take()) else {
            return out;
        };
        let n = n_taken.entry(doc(next.chunk)).or_default();
        if *n > 0.0 {
            next.components.insert("same_document", -weight * *n);
            next.score -= weight * *n;
        }
        *n += 1.0;
        out.push(next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use config::settings::Retrieval;
    use proto::tool::core::HybridQuery;

    fn plan(formula: &str) -> Plan {
        let request =
            HybridQuery { q: "x".into(), formula: Some(formula.into()), ..HybridQuery::default() };
        super::super::plan::plan(&request, &Retrieval::default()).expect("planned")
    }

    fn recalled() -> Recalled {
        Recalled {
            text: vec![(1, 8.0), (2, 4.0)],
            vector: vec![(2, 0.6), (3, 0.3)],
            ..Recalled::default()
        }
    }

    fn expanded() -> Expanded {
        let mut expanded = Expanded::default();
        expanded
            .signals
            .insert(3, GraphSignal { hop: 0.7, relation: 0.8, stated: 0.7, entity: Some(9) });
        expanded
    }

    /// Later rows stand in earlier files.
    fn ranked(formula: &str, recalled: &Recalled, expanded: &Expanded) -> Vec<Ranked> {
        let place = |chunk: i64| Ok((format!("{}.md", 9 - chunk), 0));
        rank(&plan(formula), (recalled, expanded), place).expect("ranked")
    }

    #[test]
    fn s4_is_as_written_there() {
        let ranked = ranked("s4", &Recalled { text: vec![], ..recalled() }, &expanded());
        let third = ranked.iter().find(|r| r.chunk == 3).expect("ranked");
        assert!((third.score - (0.7 * 0.3 + 0.2 * 0.7 + 0.1 * 0.8)).abs() < 1e-6);
    }

    #[test]
    fn a_chunk_that_both_signals_find_comes_first_and_components_sum_to_the_score() {
        let ranked = ranked("hybrid", &recalled(), &expanded());
        assert_eq!(ranked[0].chunk, 2);
        for r in &ranked {
            assert!((r.components.values().sum::<f32>() - r.score).abs() < 1e-6);
        }
    }

    #[test]
    fn the_best_counts_as_one_wherever_it_stands() {
        let values = over_best(&[(1, 0.2), (2, 0.8)]);
        assert!((values[&2] - 1.0).abs() < 1e-6 && (values[&1] - 0.25).abs() < 1e-6);
    }

    #[test]
    fn a_single_hit_by_words_keeps_its_signal() {
        let recalled = Recalled { text: vec![(1, 8.0)], ..recalled() };
        let ranked = ranked("minmax", &recalled, &Expanded::default());
        let first = ranked.iter().find(|it| it.chunk == 1).expect("found by words");
        assert!(first.components.contains_key("text"));
    }

    #[test]
    fn one_signal_alone_keeps_its_order() {
        let order = |formula| -> Vec<i64> {
            ranked(formula, &recalled(), &Expanded::default()).iter().map(|r| r.chunk).collect()
        };
        assert_eq!(order("text"), [1, 2]);
        assert_eq!(order("vector"), [2, 3]);
    }

    #[test]
    fn what_does_not_meet_a_demand_takes_nothing_from_its_document() {
        let expanded =
            Expanded { docs: [(1, 7), (2, 7), (3, 7)].into_iter().collect(), ..expanded() };
        let all = ranked("hybrid", &recalled(), &expanded);
        assert!(all.iter().any(|it| it.components.contains_key("same_document")));
        let matching = Some([3].into_iter().collect());
        let ranked = ranked("hybrid", &Recalled { matching, ..recalled() }, &expanded);
        assert_eq!(ranked.iter().map(|it| it.chunk).collect::<Vec<_>>(), [3]);
        assert!(!ranked[0].components.contains_key("same_document"), "{ranked:?}");
    }

    #[test]
    fn equal_scores_are_in_the_order_of_their_places() {
        let text = vec![(5, 8.0), (1, 4.0), (2, 4.0), (3, 4.0), (4, 2.0)];
        let recalled = Recalled { text, ..Recalled::default() };
        let ranked = ranked("text", &recalled, &Expanded::default());
        let order: Vec<i64> = ranked.iter().map(|r| r.chunk).collect();
        assert_eq!(order, [5, 3, 2, 1, 4]);
    }
}
