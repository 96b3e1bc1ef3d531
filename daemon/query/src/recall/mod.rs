//! Recall, the second step: the best candidates of each signal.
//!
//! In: a plan, a depth. Out: [`Recalled`]: candidates by full text and by vectors, the entities
//! that the question names, and how much its words can be trusted.
//! Files in the order of use: `copies.rs` (a repeated text is indexed once), `naming.rs` (names in
//! the question), `text.rs` and `abbreviation.rs` (words), `nearness.rs` (vectors), `trust.rs` (the
//! weight of words), `fuse.rs` (both signals on one scale), `means.rs` (documents as a whole);
//! `event.rs` (a time given by an event), `turn.rs` (the speaker and day of a passage).

pub(crate) mod abbreviation;
pub(crate) mod copies;
mod event;
pub(crate) mod fuse;
pub(crate) mod means;
pub(crate) mod naming;
pub(crate) mod nearness;
mod text;
mod trust;
pub(crate) mod turn;

use std::collections::BTreeSet;

use config::settings::Formula;
use rustc_hash::FxHashSet;

use self::naming::Seed;
use self::nearness::{Near, QuestionVectors};
pub(crate) use self::trust::Trust;
use crate::plan::demand::demanded;
use crate::plan::question::Question;
use crate::plan::when::When;
use crate::plan::within::{Among, both};
use crate::plan::{MAX_RECALL, Plan};
use crate::{AskError, QueryContext};
use index::postings::{Scorer, Unread};
use index::store::StoreError;

/// Chunks with their text and vector scores.
#[derive(Debug, Clone, Default)]
pub(crate) struct Candidates {
    /// By full text, best first, followed by those that [`complete`] added; BM25, negated so that
    /// larger is better.
    pub text: Vec<(i64, f32)>,
    /// By vectors, best first, followed by those that [`complete`] added; the nearness of the best
    /// window.
    pub vector: Vec<(i64, f32)>,
    /// Chunks whose nearness comes from the better model.
    pub better: FxHashSet<i64>,
}

impl Candidates {
    /// Returns every chunk that either signal found, possibly twice.
    pub(crate) fn chunks(&self) -> impl Iterator<Item = i64> {
        self.text.iter().chain(&self.vector).map(|(chunk, _)| *chunk)
    }

    /// Returns the length of the longer list.
    pub(crate) fn longest(&self) -> usize {
        self.text.len().max(self.vector.len())
    }

    fn add(&mut self, near: Near) {
        self.vector.push((near.chunk, near.nearness));
        if near.is_better {
            self.better.insert(near.chunk);
        }
    }
}

/// The results of the signals.
#[derive(Default)]
pub(crate) struct Recalled {
    pub candidates: Candidates,
    /// The question's own vectors; `None` if vectors are not wanted or no model knows the
    /// question's language.
    pub question: Option<QuestionVectors>,
    /// Entities that the question names.
    pub seeds: Vec<Seed>,
    /// The times that an event of the question allows.
    pub when: When,
    /// If the question demands something, only these chunks meet it.
    pub matching: Among,
    /// Whether words were dropped because nothing meets the whole demand.
    pub is_relaxed: bool,
    /// How the question was interpreted, where that differs from its wording.
    pub readings: Vec<String>,
    /// The worth of each term of the question: rare terms are worth more; empty if words were not
    /// looked up.
    pub worth: Vec<f32>,
    /// Scores any chunk by the question's words.
    pub scorer: Option<Scorer>,
    /// The weights of text and vectors for this question.
    pub trust: Trust,
    /// The requested depth.
    pub depth: usize,
    /// Whether a signal may have more than [`MAX_RECALL`] candidates.
    pub is_ended: bool,
}

impl Recalled {
    /// Returns the name words of the question that no passage has in any form, one bit each.
    pub(crate) fn lacking(&self, question: &Question) -> u64 {
        let Some(scorer) = &self.scorer else { return 0 };
        let named = self.seeds.iter().fold(0, |words, seed| words | seed.words);
        question.names & !(scorer.known() | named)
    }

    /// Returns whether a chunk meets the demand of the question.
    pub(crate) fn allows(&self, chunk: i64) -> bool {
        self.matching.as_ref().is_none_or(|matching| matching.contains(&chunk))
    }
}

/// Finds the candidates of all signals, at most `depth` per signal.
pub(crate) fn recall(
    ctx: &QueryContext<'_>,
    plan: &Plan,
    depth: usize,
) -> Result<Recalled, AskError> {
    let mut recalled = by_each_signal(ctx, plan, depth)?;
    recalled.candidates = stage!("complete", complete(ctx, plan, &recalled, &[]))?;
    recalled.trust = trust::of(plan, &recalled);
    Ok(recalled)
}

/// As [`recall`], with the results of each signal alone: reciprocal ranks of notes need exactly
/// that.
pub(crate) fn by_each_signal(
    ctx: &QueryContext<'_>,
    plan: &Plan,
    depth: usize,
) -> Result<Recalled, AskError> {
    let firsts = copies::firsts(ctx, plan)?;
    let named = stage!("names", naming::named(ctx, plan))?;
    // The chunks that pass the filter, and those outside that they repeat.
    let mut allowed = plan.within.chunks(ctx)?;
    allowed.iter_mut().for_each(|chunks| chunks.extend(&firsts));
    let (matching, is_relaxed) = demanded(ctx, &plan.question, &allowed)?;
    let mut recalled =
        Recalled { seeds: named.seeds, matching, is_relaxed, depth, ..Recalled::default() };
    let mut candidates = Candidates::default();
    let is_by_words = plan.formula != Formula::Vector && plan.formula != Formula::S4;
    // Hits by meaning alone are judged by their words as well (`present/floor.rs`), so words are
    // looked up for every formula.
    let among = both(recalled.matching.clone(), allowed.clone());
    let found = text::by_text(ctx, &plan.question, depth, &named.more_terms, &among)?;
    (recalled.scorer, recalled.worth) = (found.scorer, found.worth);
    if plan.is_fused() && plan.weights.when > 0.0 {
        recalled.when = event::times(ctx, plan, &among)?;
    }
    if is_by_words {
        candidates.text = found.best;
        recalled.readings = found.readings;
    }
    if plan.formula != Formula::Text
        && !plan.question.is_of_documents()
        && let Some((vectors, found)) =
            nearness::ask(ctx, &plan.question, depth, &allowed, &recalled.matching)?
    {
        found.into_iter().for_each(|chunk| candidates.add(chunk));
        recalled.question = Some(vectors);
    }
    recalled.is_ended = candidates.longest() >= MAX_RECALL;
    let mut candidates = copies::bring_back(ctx, plan, candidates, recalled.question.as_ref())?;
    if let Some(matching) = &mut recalled.matching {
        // A copy represents the chunk that matches.
        matching.extend(candidates.text.iter().map(|(chunk, _)| *chunk));
        candidates.vector.retain(|(chunk, _)| matching.contains(chunk));
    }
    recalled.candidates = candidates;
    Ok(recalled)
}

/// Fills in the scores that the depth of each search cut off, also for the chunks of `more`.
/// Otherwise a chunk just below the cut would count as completely dissimilar, and the combined
/// order would depend on the depth: by `tests/benches/retrieval.rs` this is what makes `hybrid`
/// better than full text alone.
pub(crate) fn complete(
    ctx: &QueryContext<'_>,
    plan: &Plan,
    recalled: &Recalled,
    more: &[i64],
) -> Result<Candidates, AskError> {
    let mut candidates = recalled.candidates.clone();
    if let Some(scorer) = recalled.scorer.as_ref().filter(|_| plan.is_fused()) {
        let known: FxHashSet<i64> = candidates.text.iter().map(|(chunk, _)| *chunk).collect();
        let missing: BTreeSet<i64> =
            more.iter().copied().filter(|chunk| !known.contains(chunk)).collect();
        match ctx.snapshot.full_text().scores(scorer, missing.into_iter().collect()) {
            Ok(scores) => {
                let found = scores.into_iter().filter(|(_, score)| *score > 0.0);
                candidates.text.extend(found.map(|(chunk, score)| (chunk, score as f32)));
            }
            Err(Unread::Sql(error)) => return Err(StoreError::from(error).into()),
            // If the index cannot be read directly, the score stays 0.
            Err(Unread::Shape(_)) => {}
        }
    }
    let Some(question) = &recalled.question else { return Ok(candidates) };
    if !plan.is_fused() && !matches!(plan.formula, Formula::S4 | Formula::S0) {
        return Ok(candidates);
    }
    let known: FxHashSet<i64> = candidates.vector.iter().map(|(chunk, _)| *chunk).collect();
    let others = candidates.text.iter().map(|(chunk, _)| chunk).chain(more).copied();
    let missing: BTreeSet<i64> = others.filter(|chunk| !known.contains(chunk)).collect();
    let missing: Vec<i64> = missing.into_iter().collect();
    let near = nearness::of_chunks(ctx, &missing, question)?;
    near.into_iter().for_each(|chunk| candidates.add(chunk));
    Ok(candidates)
}

/// Returns the share of a question's worth that the words of `found`, one bit each, have. Returns 1
/// if no word is worth anything, because then the question does not ask by words.
pub(crate) fn share_of_worth(worth: &[f32], found: u64) -> f32 {
    let all: f32 = worth.iter().sum();
    let is_found = |at: usize| found.checked_shr(at as u32).unwrap_or(0) & 1 == 1;
    let held = worth.iter().enumerate().filter(|(at, _)| is_found(*at)).map(|(_, it)| it);
    if all > 0.0 { held.sum::<f32>() / all } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::share_of_worth;

    #[test]
    fn rare_words_count_more() {
        let worth = [3.0, 1.0, 0.0];
        for (found, expected) in [(0b001, 0.75), (0b010, 0.25), (0b100, 0.0), (0b111, 1.0)] {
            assert!((share_of_worth(&worth, found) - expected).abs() < 1e-6, "{found:b}");
        }
        assert_eq!(share_of_worth(&[], 0), 1.0, "nothing was asked for by words");
    }
}
