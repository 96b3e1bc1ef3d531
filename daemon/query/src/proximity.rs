//! Proximity: how near to each other a passage holds the words of a question.
//!
//! In: the best candidates. Out: the same; those that hold several words have a component `proximity` more.
//! Each word gathers from its neighbours, the nearest other words of the question on either side, what these are worth
//! over the square of their distance (Büttcher, Clarke and Lushman 2006, "Term proximity scoring for ad-hoc retrieval
//! on very large text collections"), brought to 0 to 1 as BM25 brings frequencies.
//! Invariants: components sum to the score; candidates behind the depth keep their order; words are compared as the
//! text index has them; the cost is bounded by the depth.
//! Not here: phrases that a question demands (`demand.rs`).

use rusqlite::OptionalExtension;
use rustc_hash::{FxHashMap, FxHashSet};

use super::plan::Plan;
use super::rank::Ranked;
use super::recall::Recalled;
use super::{AskError, Desk};
use index::words::{Indexer, phrases_in};

/// Candidates that are looked at.
const DEPTH: usize = 50;

/// How fast what a word gathers is enough.
const SATURATION: f32 = 1.0;

/// The question's words as the text index has them: which one each is, and what each is worth, 1 in sum.
pub(super) struct Asked {
    words: FxHashMap<String, usize>,
    worth: Vec<f32>,
}

pub(super) fn add(
    desk: &Desk<'_>,
    (plan, recalled): (&Plan, &Recalled),
    mut ranked: Vec<Ranked>,
) -> Result<Vec<Ranked>, AskError> {
    let weight = plan.weights.proximity;
    if weight <= 0.0 || !plan.is_fused() {
        return Ok(ranked);
    }
    let asked = Asked::of(plan, recalled);
    if asked.worth.len() < 2 {
        return Ok(ranked);
    }
    let mut indexer = Indexer::new();
    for candidate in ranked.iter_mut().take(DEPTH) {
        let Some((text, is_english)) = passage(desk, candidate.chunk)? else { continue };
        let mut words = String::new();
        indexer.index(&text, is_english, &mut words);
        let part = weight * asked.proximity(&words);
        if part > 0.0 {
            candidate.components.insert("proximity", part);
            candidate.score += part;
        }
    }
    // Equal ones keep their order.
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score));
    Ok(ranked)
}

impl Asked {
    pub(super) fn of(plan: &Plan, recalled: &Recalled) -> Asked {
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
        Asked { words, worth }
    }

    /// True when no word is asked for.
    pub(super) fn is_empty(&self) -> bool {
        self.worth.is_empty()
    }

    /// What the question's words that stand among these are worth, 0 to 1.
    pub(super) fn share(&self, words: &str) -> f32 {
        let found: FxHashSet<usize> =
            words.split(' ').filter_map(|word| self.words.get(word).copied()).collect();
        found.into_iter().map(|term| self.worth_of(term)).sum()
    }

    /// 0 to 1.
    fn proximity(&self, words: &str) -> f32 {
        let mut gathered = vec![0.0; self.worth.len()];
        let mut before: Option<(usize, usize)> = None;
        let n = self.worth.len() as f32;
        for (at, word) in words.split(' ').enumerate() {
            let Some(&term) = self.words.get(word) else { continue };
            if let Some((place, other)) = before
                && other != term
            {
                let near = n / (at - place).pow(2) as f32;
                if let Some(sum) = gathered.get_mut(term) {
                    *sum += near * self.worth_of(other);
                }
                if let Some(sum) = gathered.get_mut(other) {
                    *sum += near * self.worth_of(term);
                }
            }
            before = Some((at, term));
        }
        let parts = gathered.iter().zip(&self.worth);
        parts.map(|(sum, worth)| worth * sum / (sum + SATURATION)).sum()
    }

    fn worth_of(&self, term: usize) -> f32 {
        self.worth.get(term).copied().unwrap_or(0.0)
    }
}

/// The words of a chunk under its document's title, and whether they are English.
fn passage(desk: &Desk<'_>, chunk: i64) -> Result<Option<(String, bool)>, AskError> {
    let mut statement = desk.snapshot.prepare_cached(
        "SELECT d.title, CAST(substr(CAST(d.text AS BLOB), c.start + 1, c.end - c.start) AS TEXT), c.language
         FROM chunks c JOIN docs d ON d.id = c.doc_id WHERE c.id = ?1",
    )?;
    let read = statement.query_row([chunk], |row| {
        let (title, words, language): (String, String, String) =
            (row.get(0)?, row.get(1)?, row.get(2)?);
        let text = if words.starts_with(&title) { words } else { format!("{title} . {words}") };
        Ok((text, language == "en"))
    });
    Ok(read.optional()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_side_by_side_count_more_than_words_far_apart_and_one_alone_nothing() {
        let words = [("key", 0), ("rotat", 1), ("nightly", 2)];
        let asked = Asked {
            words: words.iter().map(|(word, at)| (word.to_string(), *at)).collect(),
            worth: vec![0.25, 0.25, 0.5],
        };
        let of = |text: &str| asked.proximity(text);
        assert_eq!(of("the key of a door and the key of a safe"), 0.0);
        let far = of("key a b c d e f g rotat");
        let near = of("key x rotat");
        let adjacent = of("rotat key");
        assert!(0.0 < far && far < near && near < adjacent, "{far} {near} {adjacent}");
        // A rare word next to another one is worth more than a common one.
        assert!(of("nightly key") > adjacent);
        assert!(of("nightly key rotat nightly key rotat nightly") < 1.0);
    }
}
