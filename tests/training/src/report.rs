//! Report: precision and recall of pairs regardless of direction, and the calibration of scores.

use std::collections::{BTreeMap, BTreeSet};

use crate::net::Net;
use crate::pairs::Example;
use crate::sets::Sample;

/// Pairs of held-out documents with their scores, the highest first, each with whether it is gold.
pub(crate) struct Report {
    pairs: Vec<(f32, bool)>,
    n_gold: usize,
}

impl Report {
    pub(crate) fn of(net: &Net, samples: &[Sample], examples: &[Example]) -> Self {
        let mut gold: BTreeSet<(usize, usize, usize)> = BTreeSet::new();
        for (number, sample) in samples.iter().enumerate() {
            gold.extend(sample.relations.iter().map(|(s, o, _)| (number, *s.min(o), *s.max(o))));
        }
        let mut best: BTreeMap<(usize, usize, usize), f32> = BTreeMap::new();
        for example in examples {
            let (number, s, o) = example.place;
            let score = example.scores(net).into_iter().fold(0.0, f32::max);
            let known = best.entry((number, s.min(o), s.max(o))).or_default();
            *known = known.max(score);
        }
        let mut pairs: Vec<(f32, bool)> =
            best.iter().map(|(pair, score)| (*score, gold.contains(pair))).collect();
        pairs.sort_by(|a, b| b.0.total_cmp(&a.0));
        Report { pairs, n_gold: gold.len() }
    }

    /// Prints the best F1, and recall and F1 at some precisions.
    pub(crate) fn print(&self, label: &str) {
        let (mut right, mut best, mut at) = (0usize, (0.0, 0.0, 0.0), BTreeMap::new());
        for (n, (score, is_gold)) in self.pairs.iter().enumerate() {
            right += usize::from(*is_gold);
            let (p, r) = (right as f32 / (n + 1) as f32, right as f32 / self.n_gold as f32);
            let f1 = 2.0 * p * r / (p + r).max(1e-9);
            if f1 > best.0 {
                best = (f1, p, r);
            }
            for percent in [50, 60, 70, 80, 90] {
                if p * 100.0 >= percent as f32 {
                    at.insert(percent, format!("P .{percent} R {r:.3} F1 {f1:.3} ({score:.2})"));
                }
            }
        }
        let at: Vec<String> = at.into_values().collect();
        println!(
            "{label} best F1 {:.3} (P {:.3} R {:.3}); {}",
            best.0,
            best.1,
            best.2,
            at.join(", ")
        );
    }

    /// Returns slope and shift of the logistic curve from the odds of a score to the probability that it is right
    /// (Platt).
    pub(crate) fn calibration(&self) -> (f32, f32) {
        let (mut slope, mut shift) = (1.0f32, 0.0f32);
        let odds = |score: f32| (score / (1.0 - score).max(1e-6)).max(1e-6).ln();
        for _ in 0..20_000 {
            let (mut d_slope, mut d_shift) = (0.0, 0.0);
            for (score, is_gold) in &self.pairs {
                let x = odds(*score);
                let sure = 1.0 / (1.0 + (-(slope * x + shift)).exp());
                let error = sure - f32::from(u8::from(*is_gold));
                d_slope += error * x;
                d_shift += error;
            }
            let n = self.pairs.len().max(1) as f32;
            slope -= 0.02 * d_slope / n;
            shift -= 0.02 * d_shift / n;
        }
        (slope, shift)
    }
}
