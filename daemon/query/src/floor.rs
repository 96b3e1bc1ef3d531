//! Floor: whether a hit has anything to do with the question.
//!
//! Scores only compare hits of one answer: each signal is divided by its best, so the nearest of nothing looks as good
//! as a perfect hit. Here two numbers are looked at that mean the same in every answer: which share of the question's
//! words stands in the passage, rare ones counting more, and the cosine of its best window.
//! A word stands in a passage that the text index found by it, in whatever form: its stem, a part of a compound, a
//! beginning, a corrected slip, another name.
//! In: a question, hits with their passages. Out: which are weak, and whether all are.
//! Invariants: it changes neither which hits are told nor their order; a hit is weak only where both numbers are below
//! their floors (`retrieval.floor`, calibrated by `tests/benches/retrieval/floor.rs`) and no name leads there from one
//! that is not. A question of nothing but common words (`the of and`) is met by what holds them as typed.

use config::settings::Floor as Floors;
use proto::tool::core::HybridReply;

use super::cited;
use super::naming::Seed;
use super::plan::Plan;
use super::question::Question;
use super::rank::Ranked;
use super::recall::Recalled;
use super::snippet::matched;
use index::postings::Scorer;
use model::terms::is_word_char;

/// What the words of a question are worth, and how near what was recalled is.
pub(super) struct Floor<'a> {
    floors: Floors,
    words: &'a [String],
    /// One a word of the question, by how few chunks hold it.
    worth: &'a [f32],
    /// Entities that the question names, with the words that do.
    seeds: &'a [Seed],
    /// Knows what the text index holds of the question.
    scorer: Option<&'a Scorer>,
    /// See [`Question`]: what such a question means stands as typed, or is a name.
    typed: Option<usize>,
    asked: &'a str,
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
        let Question { words, typed, text, .. } = &plan.question;
        let (worth, seeds) = (&recalled.worth, &recalled.seeds);
        let scorer = recalled.scorer.as_ref();
        Floor { floors: plan.floor, words, worth, seeds, scorer, typed: *typed, asked: text }
    }

    /// How well a hit fits whose path, headings and words these are.
    pub(super) fn strength(&self, candidate: &Ranked, texts: [&str; 3]) -> Strength {
        if candidate.components.contains_key(cited::COMPONENT) {
            return Strength::Strong;
        }
        let named = self.named(candidate);
        if let Some(typed) = self.typed {
            let is_meant = named > 0 || self.stands_as_typed(candidate.chunk, typed, texts);
            return if is_meant { Strength::Strong } else { Strength::Weak };
        }
        let floor = |is_better| if is_better { self.floors.better } else { self.floors.vector };
        let is_near = candidate.near.is_some_and(|(cosine, is_better)| cosine >= floor(is_better));
        let found = texts.iter().fold(named, |found, text| found | matched(text, self.words));
        let found = found | self.scorer.map_or(0, |scorer| scorer.held(candidate.chunk));
        if is_near || share(self.worth, found) >= self.floors.words {
            return Strength::Strong;
        }
        let is_led_to = candidate.bridge.entity.is_some()
            || candidate.named.entity.is_some()
            || candidate.graph.entity.is_some();
        if is_led_to { Strength::LedTo } else { Strength::Weak }
    }

    /// The question's words that name what a hit mentions, whatever it is called there.
    fn named(&self, candidate: &Ranked) -> u64 {
        let is_of = |seed: &&Seed| {
            let entity = Some(seed.entity);
            candidate.named.entity == entity || candidate.graph.entity == entity
        };
        self.seeds.iter().filter(is_of).fold(0, |found, seed| found | seed.words)
    }

    /// True when words that say nothing stand side by side; one alone (`WHO`, `May`) must stand in its capitals.
    fn stands_as_typed(&self, chunk: i64, typed: usize, texts: [&str; 3]) -> bool {
        if self.words.len() > 1 {
            let held = self.scorer.map_or(0, |scorer| scorer.held(chunk));
            return held.checked_shr(typed as u32).unwrap_or(0) & 1 == 1;
        }
        let is_it = |text: &str| text.split(|c| !is_word_char(c)).any(|word| word == self.asked);
        self.asked.contains(char::is_uppercase) && texts.into_iter().any(is_it)
    }
}

/// The share of a question's words that `found` has a bit for, by what each is worth.
pub(super) fn share(worth: &[f32], found: u64) -> f32 {
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
