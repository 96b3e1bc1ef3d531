//! Trust: the weights of full text and vectors for one question.
//!
//! A question in other words than its answer still has a best hit by words, and that one, divided
//! by itself, looks as good as any. Two numbers separate such a question from one that its words
//! answer: the share of it that the best hit contains, rare words counting more, and how far the
//! best hit stands out from the twentieth after it (how scores fall predicts the quality of a
//! ranking: Shtok, Kurland, Carmel, Raiber and Markovits 2012, "Predicting query performance by
//! query-drift estimation"). A hit that contains the whole question, such as a single word or a
//! title, is right however many other hits contain it, too.
//! In: the weights of the settings, the results of full text and vectors. Out: [`Trust`].
//! Invariants: the sum of both weights does not change; a demand is trusted fully; if the question
//! has no vector, nothing changes.
//! Measured: `tests/benches/retrieval.rs`, with 30 questions that avoid the words of their answers.

use config::settings::{Formula, Weights};

use super::{Recalled, share_of_worth};
use crate::plan::Plan;

/// Rank of the hit that the best one is compared with.
const BEHIND: usize = 20;

/// Contained share times distance up to which words are not trusted at all, and from which on they
/// are trusted fully.
const NOTHING: f32 = 0.15;
const EVERYTHING: f32 = 0.35;

/// Contained share from which on words are trusted however many passages contain it, and from which
/// on fully.
const MUCH: f32 = 0.7;
const NEARLY_WHOLE: f32 = 0.9;

/// The weights of the signals for one question.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Trust {
    /// Weight of full text.
    pub text: f32,
    /// Weight of vectors; they gain what full text loses.
    pub vector: f32,
    /// Factor for the weight of every signal that depends on the question's words, 0 to 1.
    pub words: f32,
}

impl Default for Trust {
    fn default() -> Self {
        Trust::new(&Weights::default(), None)
    }
}

impl Trust {
    /// `evidence`: how reliable the words are, 0 to 1; `None` trusts them fully.
    fn new(&Weights { text, vector, unsure, .. }: &Weights, evidence: Option<f32>) -> Trust {
        let words = evidence.map_or(1.0, |it| unsure + (1.0 - unsure) * it);
        Trust { text: text * words, vector: vector + (1.0 - words) * text, words }
    }
}

/// Returns the weights of the signals, given the results of text and vectors.
pub(super) fn of(plan: &Plan, recalled: &Recalled) -> Trust {
    Trust::new(&plan.weights, evidence_of_words(plan, recalled))
}

fn evidence_of_words(plan: &Plan, recalled: &Recalled) -> Option<f32> {
    let is_due = plan.formula == Formula::Hybrid
        && plan.question.demand.is_none()
        && recalled.question.is_some();
    let text = &recalled.candidates.text;
    let (best, _) = text.first().filter(|_| is_due)?;
    let held = share_of_worth(&recalled.worth, recalled.scorer.as_ref()?.held(*best));
    Some(evidence(held, stands_out(text, recalled.depth)))
}

fn evidence(held: f32, stands_out: f32) -> f32 {
    let between = |value: f32, low: f32, high: f32| ((value - low) / (high - low)).clamp(0.0, 1.0);
    between(held * stands_out, NOTHING, EVERYTHING).max(between(held, MUCH, NEARLY_WHOLE))
}

/// Returns how far the best hit stands out: the share of its score that the twentieth after it
/// lacks, 0 to 1.
fn stands_out(hits: &[(i64, f32)], depth: usize) -> f32 {
    let best = hits.first().map_or(0.0, |(_, score)| *score);
    let behind = hits.get(BEHIND.min(depth.saturating_sub(1))).map_or(0.0, |(_, score)| *score);
    if best > 0.0 { 1.0 - behind / best } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_get_what_words_that_say_little_lose() {
        let usual = Weights::default();
        let of = |evidence: f32| Trust::new(&usual, Some(evidence));
        assert_eq!(of(1.0), Trust { text: usual.text, vector: usual.vector, words: 1.0 });
        let unsure = of(0.0);
        assert_eq!(unsure.words, usual.unsure);
        assert!((unsure.text - usual.unsure * usual.text).abs() < 1e-6);
        assert!((unsure.text + unsure.vector - usual.text - usual.vector).abs() < 1e-6);
    }

    #[test]
    fn a_few_hits_stand_out_and_many_alike_do_not() {
        let alike: Vec<(i64, f32)> = (0..40).map(|at| (at, 9.0 - at as f32 * 0.1)).collect();
        assert!((stands_out(&alike, 40) - 2.0 / 9.0).abs() < 1e-6);
        assert!((stands_out(&alike[..5], 40) - 1.0).abs() < 1e-6, "no hit is behind it");
        assert!((stands_out(&alike, 5) - 0.4 / 9.0).abs() < 1e-6, "as far as was asked for");
        assert_eq!(stands_out(&[], 40), 0.0);
    }

    #[test]
    fn words_are_trusted_where_the_best_hit_holds_them_and_stands_out() {
        for (held, stands_out, expected) in [
            (1.0, 1.0, 1.0),
            (0.5, 0.8, 1.0),
            (0.5, 0.5, 0.5),
            (0.4, 0.25, 0.0),
            (1.0, 0.0, 1.0),
            (0.8, 0.0, 0.5),
        ] {
            let found = evidence(held, stands_out);
            assert!((found - expected).abs() < 1e-5, "{held} {stands_out}: {found}");
        }
    }
}
