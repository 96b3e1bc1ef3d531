//! Question words: what each word of a question is worth, and how much of that a text holds.
//!
//! In: a plan and what full text learned about its words. Out: the share of their worth that a text holds, 0 to 1.
//! Invariant: words are compared as the text index stores them, so a stem matches its inflections.
//! Not here: phrases that a question demands (`plan/demand.rs`).

use rustc_hash::{FxHashMap, FxHashSet};

use crate::plan::Plan;
use crate::recall::Recalled;
use index::words::phrases_in;

/// The words of a question as the text index stores them, each with what it is worth; the worths sum to 1.
pub(crate) struct QuestionWords {
    words: FxHashMap<String, usize>,
    worth: Vec<f32>,
}

impl QuestionWords {
    /// Collects the single words of a question.
    pub(crate) fn of(plan: &Plan, recalled: &Recalled) -> QuestionWords {
        let mut words = FxHashMap::default();
        let mut worth = Vec::new();
        for (at, term) in plan.question.terms.iter().enumerate() {
            let number = worth.len();
            let singles = phrases_in(term).into_iter().filter(|phrase| !phrase.is_prefix);
            let singles = singles.filter_map(|mut phrase| match phrase.words.len() {
                1 => phrase.words.pop(),
                _ => None,
            });
            let mut is_new = false;
            for word in singles {
                is_new |= words.insert(word, number).is_none();
            }
            if is_new {
                worth.push(recalled.worth.get(at).copied().unwrap_or(1.0).max(0.0));
            }
        }
        let sum: f32 = worth.iter().sum();
        worth.iter_mut().for_each(|it| *it /= sum.max(f32::MIN_POSITIVE));
        QuestionWords { words, worth }
    }

    /// Returns whether the question has no single words, only phrases and beginnings.
    pub(crate) fn is_empty(&self) -> bool {
        self.worth.is_empty()
    }

    /// Returns the worth of the question's words among `words`, which are separated by blanks, 0 to 1.
    pub(crate) fn share(&self, words: &str) -> f32 {
        let found: FxHashSet<usize> =
            words.split(' ').filter_map(|word| self.words.get(word).copied()).collect();
        found.into_iter().filter_map(|term| self.worth.get(term)).sum()
    }
}
