//! Floor: whether a hit has anything to do with the question.
//!
//! Scores only compare hits of one answer: each signal is divided by its best value, so the nearest of many unrelated
//! passages looks as good as a perfect hit. Two numbers mean the same in every answer: the share of the question's
//! words that the passage contains, rare words counting more, and the cosine of its best window.
//! A passage contains a word if the text index found it by that word, in whatever form: its stem, a part of a compound,
//! a beginning, a corrected spelling, another name.
//! In: a question, hits with their passages. Out: which hits are weak, and whether all are.
//! Invariants: neither the hits nor their order change; a hit is weak only if both numbers are below their floors
//! (`retrieval.floor`, calibrated by `tests/benches/retrieval/floor.rs`) and no name leads there from a hit that is not
//! weak. A question of nothing but common words (`the of and`) is answered by passages that contain them as typed.

use config::settings::Floor;
use proto::tool::core::HybridReply;

use crate::plan::Plan;
use crate::plan::question::Question;
use crate::quote::matched::matched;
use crate::rank::{CITED, ScoredChunk};
use crate::recall::naming::Seed;
use crate::recall::{Recalled, share_of_worth};
use index::postings::Scorer;
use model::terms::is_word_char;

/// The floors, and what the words of a question are worth.
pub(super) struct WeakFloor<'a> {
    floors: Floor,
    words: &'a [String],
    /// The worth of each word of the question, by how few chunks have it.
    worth: &'a [f32],
    /// Entities that the question names, with the words that name them.
    seeds: &'a [Seed],
    /// Knows which of the question's words each chunk has.
    scorer: Option<&'a Scorer>,
    /// See [`Question::typed`]: an answer to such a question has its words as typed, or is named by it.
    typed: Option<usize>,
    asked: &'a str,
}

/// How well a hit fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strength {
    /// By itself.
    Strong,
    /// Hardly, but a name or a relation leads there from a hit that may fit.
    LedTo,
    /// Hardly.
    Weak,
}

impl<'a> WeakFloor<'a> {
    pub(super) fn of(plan: &'a Plan, recalled: &'a Recalled) -> WeakFloor<'a> {
        let Question { words, typed, text, .. } = &plan.question;
        let (worth, seeds) = (&recalled.worth, &recalled.seeds);
        let scorer = recalled.scorer.as_ref();
        WeakFloor { floors: plan.floor, words, worth, seeds, scorer, typed: *typed, asked: text }
    }

    /// Returns how well a hit with this path, these headings and these words fits.
    pub(super) fn strength(&self, candidate: &ScoredChunk, texts: [&str; 3]) -> Strength {
        if candidate.components.contains_key(CITED) {
            return Strength::Strong;
        }
        let named = self.named(candidate);
        if let Some(typed) = self.typed {
            let is_meant = named > 0 || self.stands_as_typed(candidate.chunk, typed, texts);
            return if is_meant { Strength::Strong } else { Strength::Weak };
        }
        let floor = |is_better| if is_better { self.floors.better } else { self.floors.vector };
        let is_near = candidate.near.is_some_and(|(cosine, is_better)| cosine >= floor(is_better));
        let is_held = |found: u64| share_of_worth(self.worth, found) >= self.floors.words;
        let found = named | self.scorer.map_or(0, |scorer| scorer.held(candidate.chunk));
        // The texts last: to find words in them costs more than all that is known already.
        let in_texts = || texts.iter().fold(found, |found, text| found | matched(text, self.words));
        if is_near || is_held(found) || is_held(in_texts()) {
            return Strength::Strong;
        }
        let is_led_to = candidate.bridge.entity.is_some()
            || candidate.named.entity.is_some()
            || candidate.relation.entity.is_some();
        if is_led_to { Strength::LedTo } else { Strength::Weak }
    }

    /// The question's words that name an entity of the hit, whatever the hit calls it.
    fn named(&self, candidate: &ScoredChunk) -> u64 {
        let is_of = |seed: &&Seed| {
            let entity = Some(seed.entity);
            candidate.named.entity == entity || candidate.relation.entity == entity
        };
        self.seeds.iter().filter(is_of).fold(0, |found, seed| found | seed.words)
    }

    /// Returns whether common words occur side by side, as typed; a single one (`WHO`, `May`) must match its capitals.
    fn stands_as_typed(&self, chunk: i64, typed: usize, texts: [&str; 3]) -> bool {
        if self.words.len() > 1 {
            let held = self.scorer.map_or(0, |scorer| scorer.held(chunk));
            return held.checked_shr(typed as u32).unwrap_or(0) & 1 == 1;
        }
        let is_it = |text: &str| text.split(|c| !is_word_char(c)).any(|word| word == self.asked);
        self.asked.contains(char::is_uppercase) && texts.into_iter().any(is_it)
    }
}

/// Flags the weak hits of an answer. A hit that another one leads to is as strong as that one.
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
    fn a_hit_is_as_strong_as_the_one_that_leads_there() {
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
