//! Rank: one score for each candidate, as a sum of weighted components that are all kept.
//!
//! `hybrid`: text and vectors, each divided by its best candidate, plus the graph.
//! `s4`: S4 §14's 0.7 · semantic + 0.2 · hop + 0.1 · relation. `text`, `vector`: one signal alone.

use std::collections::BTreeMap;

use config::settings::Formula;
use rustc_hash::FxHashMap;

use super::expand::{Expanded, GraphSignal};
use super::plan::Plan;
use super::recall::Recalled;

/// A candidate with its score.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ranked {
    pub chunk: i64,
    pub score: f32,
    /// Weighted; they sum to the score.
    pub components: BTreeMap<&'static str, f32>,
    pub graph: GraphSignal,
}

/// Every candidate, best first; ties by chunk, so that the same index gives the same order.
pub(super) fn rank(plan: &Plan, recalled: &Recalled, expanded: &Expanded) -> Vec<Ranked> {
    let text: FxHashMap<i64, f32> = relative(&recalled.text);
    let vector: FxHashMap<i64, f32> = recalled.vector.iter().copied().collect();
    let best_vector = recalled.vector.first().map_or(1.0, |(_, cosine)| cosine.max(1e-6));
    let mut chunks: Vec<i64> =
        text.keys().chain(vector.keys()).chain(expanded.signals.keys()).copied().collect();
    chunks.sort_unstable();
    chunks.dedup();
    let mut out: Vec<Ranked> = chunks
        .into_iter()
        .map(|chunk| {
            let graph = expanded.signals.get(&chunk).cloned().unwrap_or_default();
            let of = |signal: &FxHashMap<i64, f32>| signal.get(&chunk).copied().unwrap_or(0.0);
            let weights = &plan.weights;
            let components: Vec<(&'static str, f32)> = match plan.formula {
                Formula::Hybrid => vec![
                    ("text", weights.text * of(&text)),
                    ("vector", weights.vector * of(&vector) / best_vector),
                    ("graph", weights.graph * graph.hop),
                ],
                Formula::S4 => vec![
                    ("semantic", weights.semantic * of(&vector)),
                    ("hop", weights.hop * graph.hop),
                    ("relation", weights.relation * graph.relation),
                ],
                Formula::Text => vec![("text", of(&text))],
                Formula::Vector => vec![("vector", of(&vector))],
            };
            let score = components.iter().map(|(_, value)| value).sum();
            let components = components.into_iter().filter(|(_, value)| *value > 0.0).collect();
            Ranked { chunk, score, components, graph }
        })
        .filter(|ranked| ranked.score > 0.0)
        .collect();
    out.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.chunk.cmp(&b.chunk)));
    out
}

/// Each score divided by the best one.
fn relative(list: &[(i64, f32)]) -> FxHashMap<i64, f32> {
    let best = list.first().map_or(1.0, |(_, score)| score.max(1e-6));
    list.iter().map(|(chunk, score)| (*chunk, score / best)).collect()
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
        expanded.signals.insert(3, GraphSignal { hop: 0.7, relation: 0.8, entity: Some(9) });
        expanded
    }

    #[test]
    fn s4_is_as_written_there() {
        let ranked = rank(&plan("s4"), &Recalled { text: vec![], ..recalled() }, &expanded());
        let third = ranked.iter().find(|r| r.chunk == 3).expect("ranked");
        assert!((third.score - (0.7 * 0.3 + 0.2 * 0.7 + 0.1 * 0.8)).abs() < 1e-6);
    }

    #[test]
    fn a_chunk_that_both_signals_find_comes_first_and_components_sum_to_the_score() {
        let ranked = rank(&plan("hybrid"), &recalled(), &expanded());
        assert_eq!(ranked[0].chunk, 2);
        for r in &ranked {
            assert!((r.components.values().sum::<f32>() - r.score).abs() < 1e-6);
        }
    }

    #[test]
    fn one_signal_alone_keeps_its_order() {
        let order = |formula| -> Vec<i64> {
            rank(&plan(formula), &recalled(), &Expanded::default())
                .iter()
                .map(|r| r.chunk)
                .collect()
        };
        assert_eq!(order("text"), [1, 2]);
        assert_eq!(order("vector"), [2, 3]);
    }
}
