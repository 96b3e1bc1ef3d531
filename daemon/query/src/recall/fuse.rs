//! Fuse: brings full text and vectors to one scale, as each formula requires.
//!
//! In: candidates. Out: a value in [0, 1] for each signal and chunk, or the weighted sum of both.

use std::collections::BTreeSet;

use config::settings::Formula;
use rustc_hash::FxHashMap;

use super::{Candidates, Trust};
use crate::plan::Plan;

/// The constant of reciprocal ranks, from the paper that proposes them (Cormack, Clarke, Büttcher 2009).
const RANKS: f32 = 60.0;

/// A signal's value by chunk.
pub(crate) type Values = FxHashMap<i64, f32>;

/// Returns the candidates by text and vectors alone, best first.
pub(crate) fn fused(plan: &Plan, candidates: &Candidates, trust: &Trust) -> Vec<(i64, f32)> {
    let (text, vector) = text_and_vector(plan, candidates);
    let chunks: BTreeSet<i64> = text.keys().chain(vector.keys()).copied().collect();
    let of = |values: &Values, chunk| values.get(&chunk).copied().unwrap_or(0.0);
    let score = |chunk| trust.text * of(&text, chunk) + trust.vector * of(&vector, chunk);
    let mut out: Vec<(i64, f32)> = chunks.into_iter().map(|chunk| (chunk, score(chunk))).collect();
    out.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    out
}

/// Returns the values of text and of vectors, each scaled to [0, 1] as the formula requires.
pub(crate) fn text_and_vector(plan: &Plan, candidates: &Candidates) -> (Values, Values) {
    let (text, vector) = (&candidates.text, &candidates.vector);
    let similar = || {
        let least = plan.min_similarity.unwrap_or(plan.floor.similar);
        vector.iter().copied().filter(|(_, near)| *near >= least).collect()
    };
    match plan.formula {
        Formula::S0 => (stretched(text), similar()),
        Formula::Vector if plan.min_similarity.is_some() => (Values::default(), similar()),
        Formula::Hybrid => (over_best(text), over_best(vector)),
        Formula::Rrf => (by_rank(text), by_rank(vector)),
        Formula::MinMax => (stretched(text), stretched(vector)),
        Formula::S4 | Formula::Text | Formula::Vector => {
            (over_best(text), vector.iter().copied().collect())
        }
    }
}

/// Divides each score by the best one. That need not be the first: if a question demands something,
/// the signal may have found none of the chunks by itself.
pub(super) fn over_best(list: &[(i64, f32)]) -> Values {
    let best = list.iter().map(|(_, score)| *score).fold(1e-6, f32::max);
    list.iter().map(|(chunk, score)| (*chunk, score / best)).collect()
}

/// Converts scores to reciprocal ranks; the first one is 1.
fn by_rank(list: &[(i64, f32)]) -> Values {
    let mut order: Vec<&(i64, f32)> = list.iter().collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let value = |rank: usize| (RANKS + 1.0) / (RANKS + 1.0 + rank as f32);
    order.into_iter().enumerate().map(|(rank, (chunk, _))| (*chunk, value(rank))).collect()
}

/// Stretches scores so that the lowest is 0 and the best is 1; if all are equal, they are 1.
fn stretched(list: &[(i64, f32)]) -> Values {
    let scores = || list.iter().map(|(_, score)| *score);
    let (least, most) = (scores().fold(f32::INFINITY, f32::min), scores().fold(0.0, f32::max));
    let room = most - least;
    let value = |score: f32| if room > 1e-6 { (score - least) / room } else { 1.0 };
    list.iter().map(|(chunk, score)| (*chunk, value(*score))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_counts_as_one_wherever_it_stands() {
        let values = over_best(&[(1, 0.2), (2, 0.8)]);
        assert!((values[&2] - 1.0).abs() < 1e-6 && (values[&1] - 0.25).abs() < 1e-6);
    }
}
