//! Trust: how much the words of a question tell about its answer.
//!
//! A question in other words than its answer's still has a best hit by words, and that one, divided by itself, looks as
//! good as any. Two numbers tell such a question from one that the words answer: which share of it the best hit holds,
//! rare words counting more, and how far the best hit stands out of the twentieth behind it (how scores fall predicts
//! how good a ranking is: Shtok, Kurland, Carmel, Raiber and Markovits 2012, "Predicting query performance by
//! query-drift estimation"). A hit that holds all of it, as of a single word or a title, is what was asked for however
//! many others do.
//! In: what full text found. Out: the share of its weight that full text keeps, with the names that were read from
//! words; vectors take what full text loses.
//! Invariants: the weight of text and vectors together stays; what a question demands is trusted; where no vector is
//! known of the question nothing changes.
//! Measured: `tests/benches/retrieval.rs`, which has 30 questions that avoid the words of their answers.

use config::settings::Formula;

use super::floor::share;
use super::plan::Plan;
use super::recall::Recalled;

/// Hits behind the best one.
const BEHIND: usize = 20;

/// Held share times distance at which words tell nothing, and from which on they tell all.
const NOTHING: f32 = 0.15;
const ALL: f32 = 0.35;

/// Sets a plan's weights by what its words found.
pub(super) fn weigh(plan: &mut Plan, recalled: &Recalled) {
    if plan.formula != Formula::Hybrid
        || plan.question.demand.is_some()
        || recalled.question.is_none()
        || recalled.text.is_empty()
    {
        return;
    }
    let held = recalled.text.first().and_then(|(chunk, _)| {
        let scorer = recalled.scorer.as_ref()?;
        Some(share(&recalled.worth, scorer.held(*chunk)))
    });
    let Some(held) = held else { return };
    plan.trust(told(held, stands_out(&recalled.text, plan.recall_k)));
}

/// Held share from which on words tell more however many passages hold it, and at which they tell all.
const MUCH: f32 = 0.7;
const NEARLY_WHOLE: f32 = 0.9;

/// How much words tell, 0 to 1.
fn told(held: f32, stands_out: f32) -> f32 {
    let between = |value: f32, low: f32, high: f32| ((value - low) / (high - low)).clamp(0.0, 1.0);
    between(held * stands_out, NOTHING, ALL).max(between(held, MUCH, NEARLY_WHOLE))
}

/// How far the best of some hits stands out, as the share of its score that the twentieth behind it lacks, 0 to 1.
fn stands_out(hits: &[(i64, f32)], wanted: usize) -> f32 {
    let best = hits.first().map_or(0.0, |(_, score)| *score);
    let behind = hits.get(BEHIND.min(wanted.saturating_sub(1))).map_or(0.0, |(_, score)| *score);
    if best > 0.0 { 1.0 - behind / best } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_hits_stand_out_and_many_alike_do_not() {
        let alike: Vec<(i64, f32)> = (0..40).map(|at| (at, 9.0 - at as f32 * 0.1)).collect();
        assert!((stands_out(&alike, 40) - 2.0 / 9.0).abs() < 1e-6);
        assert!((stands_out(&alike[..5], 40) - 1.0).abs() < 1e-6, "nothing stands behind it");
        assert!((stands_out(&alike, 5) - 0.4 / 9.0).abs() < 1e-6, "as far as was asked for");
        assert_eq!(stands_out(&[], 40), 0.0);
    }

    #[test]
    fn words_tell_all_where_the_best_hit_holds_them_and_stands_out() {
        for (held, stands_out, expected) in [
            (1.0, 1.0, 1.0),
            (0.5, 0.8, 1.0),
            (0.5, 0.5, 0.5),
            (0.4, 0.25, 0.0),
            (1.0, 0.0, 1.0),
            (0.8, 0.0, 0.5),
        ] {
            let told = told(held, stands_out);
            assert!((told - expected).abs() < 1e-5, "{held} {stands_out}: {told}");
        }
    }
}
