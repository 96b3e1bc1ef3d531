//! Question words: the worth of each word of a question, and how much of it a text contains.
//!
//! In: a plan, and the statistics that full text has about its words. Out: the share of their worth
//! that a text contains, 0 to 1.
//! Invariant: words are compared as the text index stores them, so a stem matches its inflections.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::plan::Plan;
use crate::recall::Recalled;
use index::words::phrases_in;

/// The words of a question as the text index stores them, with their worth, which sums to 1.
pub(crate) struct QuestionWords {
    words: FxHashMap<String, usize>,
    worth: Vec<f32>,
    /// Terms that are not single words: the parts of an identifier, or a prefix. Their worth is
    /// relative to that of all single words together.
    others: Vec<Other>,
}

struct Other {
    words: Vec<String>,
    is_prefix: bool,
    worth: f32,
}

impl Other {
    fn is_in(&self, held: &FxHashSet<&str>) -> bool {
        let Some((last, before)) = self.words.split_last() else { return false };
        let ends = match self.is_prefix {
            true => held.iter().any(|word| word.starts_with(last.as_str())),
            false => held.contains(last.as_str()),
        };
        ends && before.iter().all(|word| held.contains(word.as_str()))
    }
}

impl QuestionWords {
    /// Collects the single words of a question.
    pub(crate) fn of(plan: &Plan, recalled: &Recalled) -> QuestionWords {
        let mut words = FxHashMap::default();
        let mut worth = Vec::new();
        let mut others = Vec::new();
        for (at, term) in plan.question.terms.iter().enumerate() {
            let number = worth.len();
            let of_term = recalled.worth.get(at).copied().unwrap_or(1.0).max(0.0);
            // Of a prefix, the word itself is among the words that begin so.
            let begun = phrases_in(term).into_iter().find(|phrase| phrase.is_prefix);
            let singles = phrases_in(term).into_iter().filter(|phrase| !phrase.is_prefix);
            let singles =
                singles.filter(|it| begun.as_ref().is_none_or(|begun| it.words != begun.words));
            let singles = singles.filter_map(|mut phrase| match phrase.words.len() {
                1 => phrase.words.pop(),
                _ => None,
            });
            let mut is_new = false;
            for word in singles {
                is_new |= words.insert(word, number).is_none();
            }
            if is_new {
                worth.push(of_term);
            } else if let Some(phrase) = phrases_in(term).into_iter().next() {
                let (words, is_prefix) = (phrase.words, phrase.is_prefix);
                others.push(Other { words, is_prefix, worth: of_term });
            }
        }
        let sum = worth.iter().sum::<f32>().max(f32::MIN_POSITIVE);
        worth.iter_mut().for_each(|it| *it /= sum);
        others.iter_mut().for_each(|it| it.worth /= sum);
        QuestionWords { words, worth, others }
    }

    /// Returns whether the question has no single words, only phrases and prefixes.
    pub(crate) fn is_empty(&self) -> bool {
        self.worth.is_empty()
    }

    /// Returns the worth of the question's words among `words`, which are separated by spaces, 0 to
    /// 1.
    pub(crate) fn share(&self, words: &str) -> f32 {
        let found: FxHashSet<usize> =
            words.split(' ').filter_map(|word| self.words.get(word).copied()).collect();
        found.into_iter().filter_map(|term| self.worth.get(term)).sum()
    }

    /// As [`QuestionWords::share`], including prefixes and the parts of identifiers.
    pub(crate) fn share_with_others(&self, words: &str) -> f32 {
        let held: FxHashSet<&str> = words.split(' ').collect();
        let singles = if self.worth.is_empty() { 0.0 } else { 1.0 };
        let all: f32 = singles + self.others.iter().map(|it| it.worth).sum::<f32>();
        let found = self.others.iter().filter(|it| it.is_in(&held)).map(|it| it.worth);
        (self.share(words) + found.sum::<f32>()) / all.max(f32::MIN_POSITIVE)
    }
}
