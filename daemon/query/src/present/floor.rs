//! Floor: whether a hit is relevant to the question.
//!
//! A passage contains a word if the text index found it by that word, in any form: its stem, a part
//! of a compound, a prefix, a corrected spelling, another name.
//! In: a question, hits with their passages. Out: their relevance, which are weak, and whether all
//! are.
//! Invariants: no hit is lost, and those that are not weak keep their order; a hit is weak only if its relevance is
//! below `retrieval.floor.relevance` and no name leads to it from a hit that is not weak. A
//! question that has only stop words (`the of and`) is answered by passages that contain them as
//! typed.

use config::settings::Floor;
use extract::link::features::edit_distance_is_one;
use proto::tool::core::HybridReply;

use crate::graph::entity::rounded;
use crate::plan::Plan;
use crate::plan::question::Question;
use crate::quote::matched::matched;
use crate::rank::{CITED, ScoredChunk};
use crate::recall::naming::Seed;
use crate::recall::{Recalled, share_of_worth};
use crate::relevance::{self, Signals};
use index::postings::Scorer;
use model::terms::is_word_char;

/// The floors, and the weights of a question's words.
pub(crate) struct WeakFloor<'a> {
    floors: Floor,
    words: &'a [String],
    /// The worth of each word of the question: rare words are worth more.
    worth: &'a [f32],
    /// Entities that the question names, with the words that name them.
    seeds: &'a [Seed],
    /// Knows which words of the question each chunk contains.
    scorer: Option<&'a Scorer>,
    /// See [`Question::typed`]: an answer to such a question contains its words as typed, or is
    /// named by it.
    typed: Option<usize>,
    asked: &'a str,
    /// Name words of the question that the folder lacks, one bit each.
    lacking: u64,
}

/// Fewest letters of a name that may be misspelled: in a shorter one a single letter makes another
/// name.
const MIN_SLIPPED: usize = 4;

/// From `retrieval.floor.similar` on, a sentence's meaning alone is enough. Its neutral nearness is
/// this much lower: a sentence is less similar to a question than a passage.
const ENOUGH: f32 = 0.01;

/// Returns the floors for single sentences.
pub(crate) fn of_sentences(floors: Floor) -> Floor {
    Floor { vector: floors.similar - ENOUGH, ..floors }
}

/// How well a hit matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strength {
    /// On its own.
    Strong,
    /// Hardly, but a name or a relation leads to it from a hit that may match.
    LedTo,
    /// Hardly.
    Weak,
}

/// The judgment of a hit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Verdict {
    /// 0 to 1.
    pub relevance: f32,
    pub strength: Strength,
}

impl<'a> WeakFloor<'a> {
    pub(crate) fn of(plan: &'a Plan, recalled: &'a Recalled) -> WeakFloor<'a> {
        let Question { words, typed, text, .. } = &plan.question;
        let (worth, seeds) = (&recalled.worth, &recalled.seeds);
        let scorer = recalled.scorer.as_ref();
        let lacking = recalled.lacking(&plan.question);
        let (floors, typed) = (plan.floor, *typed);
        WeakFloor { floors, words, worth, seeds, scorer, typed, asked: text, lacking }
    }

    /// Judges facts, which are single sentences.
    pub(crate) fn of_facts(self) -> Self {
        WeakFloor { floors: of_sentences(self.floors), ..self }
    }

    /// Returns how well a hit with this path, these headings and these words matches.
    pub(crate) fn judge(&self, candidate: &ScoredChunk, texts: [&str; 3]) -> Verdict {
        let sure = Verdict { relevance: 1.0, strength: Strength::Strong };
        if candidate.components.contains_key(CITED) {
            return sure;
        }
        let named = self.named(candidate);
        if let Some(typed) = self.typed {
            let is_meant = named > 0 || self.stands_as_typed(candidate.chunk, typed, texts);
            let weak = Verdict { relevance: 0.0, strength: Strength::Weak };
            return if is_meant { sure } else { weak };
        }
        let found = named | self.scorer.map_or(0, |scorer| scorer.held(candidate.chunk));
        let mut relevance = self.relevance(found, candidate.near);
        if relevance < self.floors.relevance {
            // The texts last: searching them for words costs more than everything known so far.
            relevance = relevance::relevance(&self.floors, self.signals(candidate, texts));
        }
        let is_led_to = candidate.bridge.entity.is_some()
            || candidate.named.entity.is_some()
            || candidate.relation.entity.is_some();
        let strength = match (relevance >= self.floors.relevance, is_led_to) {
            (true, _) => Strength::Strong,
            (false, true) => Strength::LedTo,
            (false, false) => Strength::Weak,
        };
        Verdict { relevance, strength }
    }

    /// Returns the signals of a hit and the folder for the question.
    pub(crate) fn signals(&self, candidate: &ScoredChunk, texts: [&str; 3]) -> Signals {
        let held = self.scorer.map_or(0, |scorer| scorer.held(candidate.chunk));
        let found = self.named(candidate) | held;
        let found = texts.iter().fold(found, |found, text| found | matched(text, self.words));
        self.of_words(found | self.misspelled(texts), candidate.near)
    }

    fn of_words(&self, found: u64, near: Option<f32>) -> Signals {
        let words = share_of_worth(self.worth, found);
        Signals { words, near, lacks_name: self.lacking & !found != 0 }
    }

    /// Returns the words that the folder lacks but that differ by one letter from a word in the
    /// texts: `Ledgr` from `Ledger`.
    fn misspelled(&self, texts: [&str; 3]) -> u64 {
        let is_slip = |name: &str| {
            let mut words = texts.iter().flat_map(|text| text.split(|c| !is_word_char(c)));
            words.any(|word| edit_distance_is_one(name, &word.to_lowercase()))
        };
        let known = self.scorer.map_or(0, Scorer::known);
        let words = self.words.iter().enumerate().take(u64::BITS as usize);
        let slips = words.filter(|(idx, name)| {
            known >> idx & 1 == 0 && name.chars().count() >= MIN_SLIPPED && is_slip(name)
        });
        slips.fold(0, |found, (idx, _)| found | 1 << idx)
    }

    /// Returns the relevance of a chunk when only its words in the text index and its cosine are
    /// known.
    pub(crate) fn of_chunk(&self, chunk: i64, near: Option<f32>) -> f32 {
        self.relevance(self.scorer.map_or(0, |scorer| scorer.held(chunk)), near)
    }

    fn relevance(&self, found: u64, near: Option<f32>) -> f32 {
        relevance::relevance(&self.floors, self.of_words(found, near))
    }

    /// Returns the words of the question that name an entity of the hit, whatever the hit calls it.
    fn named(&self, candidate: &ScoredChunk) -> u64 {
        let is_of = |seed: &&Seed| {
            let entity = Some(seed.entity);
            candidate.named.entity == entity || candidate.relation.entity == entity
        };
        self.seeds.iter().filter(is_of).fold(0, |found, seed| found | seed.words)
    }

    /// Returns whether the stop words occur side by side, as typed; a single one (`WHO`, `May`)
    /// must match in case, too.
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
pub(super) fn flag(reply: &mut HybridReply, verdicts: &[Verdict]) {
    let strengths: Vec<Strength> = verdicts.iter().map(|it| it.strength).collect();
    let (weak, nothing_relevant) = weak(&strengths);
    for ((hit, verdict), weak) in reply.chunks.iter_mut().zip(verdicts).zip(weak) {
        hit.relevance = rounded(verdict.relevance);
        hit.weak = weak;
    }
    reply.nothing_relevant = nothing_relevant;
}

/// Moves the weak hits of a page behind the others, the most relevant first; `judged` returns whether a hit is weak,
/// and its relevance. Scores compare what fits: of what hardly does, relevance is the better order.
pub fn weak_last<T>(hits: &mut [T], judged: impl Fn(&T) -> (bool, f32)) {
    let rank = |hit: &T| match judged(hit) {
        (true, relevance) => relevance,
        (false, _) => f32::INFINITY,
    };
    hits.sort_by(|a, b| rank(b).total_cmp(&rank(a)));
}

/// Lowers each score to the one before it, so that the scores shown do not contradict the order.
pub fn descending<'s, N: PartialOrd + Copy + 's>(scores: impl Iterator<Item = &'s mut N>) {
    let mut before: Option<N> = None;
    for score in scores {
        match before {
            Some(least) if *score > least => *score = least,
            _ => before = Some(*score),
        }
    }
}

/// Returns which hits are weak, and whether there are no others.
pub(crate) fn weak(strengths: &[Strength]) -> (Vec<bool>, bool) {
    let has_strong = strengths.contains(&Strength::Strong);
    let is_weak = |strength: &Strength| match strength {
        Strength::Strong => false,
        Strength::LedTo => !has_strong,
        Strength::Weak => true,
    };
    (strengths.iter().map(is_weak).collect(), !strengths.is_empty() && !has_strong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_weak_comes_last_by_relevance_and_no_score_contradicts_that() {
        let mut hits = [(true, 0.2, 0.9), (false, 0.6, 0.5), (true, 0.3, 0.4), (false, 0.9, 0.6)];
        weak_last(&mut hits, |(weak, relevance, _)| (*weak, *relevance));
        descending(hits.iter_mut().map(|it| &mut it.2));
        let expected = [(false, 0.6, 0.5), (false, 0.9, 0.5), (true, 0.3, 0.4), (true, 0.2, 0.4)];
        assert_eq!(hits, expected);
    }

    #[test]
    fn a_hit_is_as_strong_as_the_one_that_leads_there() {
        use Strength::{LedTo, Strong, Weak};
        let rows: [(&[Strength], &[bool], bool); 4] = [
            (&[Strong, LedTo, Weak], &[false, false, true], false),
            (&[LedTo, Weak], &[true, true], true),
            (&[Strong], &[false], false),
            (&[], &[], false),
        ];
        for (strengths, flags, is_nothing) in rows {
            assert_eq!(weak(strengths), (flags.to_vec(), is_nothing));
        }
    }
}
