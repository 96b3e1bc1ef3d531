//! Floor: whether a hit has anything to do with the question.
//!
//! Scores only compare hits of one answer: each signal is divided by its best, so the nearest of nothing looks as good
//! as a perfect hit. Here two numbers are looked at that mean the same in every answer: which share of the question's
//! words stands in the passage, rare ones counting more, and the cosine of its best window.
//! In: a question, hits with their passages. Out: which are weak, and whether all are.
//! Invariants: it changes neither which hits are told nor their order; a hit is weak only where both numbers are below
//! their floors (`retrieval.floor`, calibrated by `tests/benches/retrieval/floor.rs`) and no name leads there from one
//! that is not.

use config::settings::Floor as Floors;
use proto::tool::core::HybridReply;
use rustc_hash::FxHashMap;

use super::naming::Seed;
use super::plan::Plan;
use super::rank::Ranked;
use super::recall::Recalled;
use super::snippet::matched;

/// What the words of a question are worth, and how near what was recalled is.
pub(super) struct Floor<'a> {
    floors: Floors,
    words: &'a [String],
    /// One a word of the question, by how few chunks hold it.
    worth: &'a [f32],
    /// Entities that the question names, with the words that do.
    seeds: &'a [Seed],
    /// By chunk: the cosine of its best window, and whether the better model tells it.
    near: FxHashMap<i64, (f32, bool)>,
}

/// How a hit came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strength {
    /// It fits by itself.
    Strong,
    /// It fits little, and a name or a relation leads there from what may fit.
    LedTo,
    /// It fits little.
    Weak,
}

impl<'a> Floor<'a> {
    pub(super) fn of(plan: &'a Plan, recalled: &'a Recalled) -> Floor<'a> {
        let near = recalled.vector.iter();
        let near = near.map(|(chunk, cosine)| (*chunk, (*cosine, recalled.better.contains(chunk))));
        let (words, worth) = (&plan.question.words, &recalled.worth);
        let seeds = &recalled.seeds;
        Floor { floors: plan.floor, words, worth, seeds, near: near.collect() }
    }

    /// How well a hit fits whose path, headings and words these are.
    pub(super) fn strength(&self, candidate: &Ranked, texts: [&str; 3]) -> Strength {
        let floor = |is_better| if is_better { self.floors.better } else { self.floors.vector };
        let near = self.near.get(&candidate.chunk);
        let is_near = near.is_some_and(|(cosine, is_better)| *cosine >= floor(*is_better));
        if is_near || self.share(candidate, texts) >= self.floors.words {
            return Strength::Strong;
        }
        let is_led_to = candidate.bridge.entity.is_some()
            || candidate.named.entity.is_some()
            || candidate.graph.entity.is_some();
        if is_led_to { Strength::LedTo } else { Strength::Weak }
    }

    /// The share of the question that stands in a hit's texts, 0 to 1; 1 for a question without words. A name stands in
    /// what mentions its entity, whatever it is called there.
    fn share(&self, candidate: &Ranked, texts: [&str; 3]) -> f32 {
        let found = texts.iter().fold(0, |found, text| found | matched(text, self.words));
        let is_of = |seed: &&Seed| {
            let entity = Some(seed.entity);
            candidate.named.entity == entity || candidate.graph.entity == entity
        };
        let named = self.seeds.iter().filter(is_of).fold(0, |found, seed| found | seed.words);
        share(self.worth, found | named)
    }
}

fn share(worth: &[f32], found: u64) -> f32 {
    let all: f32 = worth.iter().sum();
    let stands = |at: usize| found.checked_shr(at as u32).unwrap_or(0) & 1 == 1;
    let there = worth.iter().enumerate().filter(|(at, _)| stands(*at)).map(|(_, it)| it);
    if all > 0.0 { there.sum::<f32>() / all } else { 1.0 }
}

/// Flags the weak hits of an answer. What was led to is as strong as what leads there.
pub(super) fn flag(reply: &mut HybridReply, strengths: &[Strength]) {
    let has_strong = strengths.contains(&Strength::Strong);
    for (hit, strength) in reply.chunks.iter_mut().zip(strengths) {
        hit.weak = match strength {
            Strength::Strong => false,
            Strength::LedTo => !has_strong,
            Strength::Weak => true,
        };
    }
    reply.nothing_relevant = !strengths.is_empty() && !has_strong;
}

#[cfg(test)]
mod tests {
    use proto::tool::core::HitView;

    use super::*;

    #[test]
    fn rare_words_count_more() {
        let worth = [3.0, 1.0, 0.0];
        for (found, expected) in [(0b001, 0.75), (0b010, 0.25), (0b100, 0.0), (0b111, 1.0)] {
            assert!((share(&worth, found) - expected).abs() < 1e-6, "{found:b}");
        }
        assert_eq!(share(&[], 0), 1.0, "nothing was asked for by words");
    }

    #[test]
    fn what_is_led_to_is_as_strong_as_what_leads_there() {
        use Strength::{LedTo, Strong, Weak};
        let rows: [(&[Strength], &[bool], bool); 4] = [
            (&[Strong, LedTo, Weak], &[false, false, true], false),
            (&[LedTo, Weak], &[true, true], true),
            (&[Strong], &[false], false),
            (&[], &[], false),
        ];
        for (strengths, weak, is_nothing) in rows {
            let hit: HitView = serde_json::from_str(
                r#"{"id":1,"doc_id":1,"path":"a","snippet":"","score":1.0,"components":{}}"#,
            )
            .expect("a hit");
            let chunks = vec![hit; strengths.len()];
            let mut reply = HybridReply { chunks, ..HybridReply::default() };
            flag(&mut reply, strengths);
            let flags: Vec<bool> = reply.chunks.iter().map(|hit| hit.weak).collect();
            assert_eq!((flags.as_slice(), reply.nothing_relevant), (weak, is_nothing));
        }
    }
}
