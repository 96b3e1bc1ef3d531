//! Recall, the second step: each signal's best candidates.
//!
//! In: a plan, a depth. Out: [`Recalled`]: candidates by full text and by vectors, the entities that the question
//! names, and how far its words can be trusted.
//! Files in the order in which they are used: `copies.rs` (a repeated text is indexed once), `naming.rs` (names in the
//! question), `text.rs` and `abbreviation.rs` (words), `nearness.rs` (vectors), `trust.rs` (how much words count),
//! `fuse.rs` (both signals on one scale); `event.rs` (a time given by what happened), `turn.rs` (who says a passage,
//! and when). Not here: relations and shared names (`expand`), scores (`rank`).

pub(crate) mod abbreviation;
pub(crate) mod copies;
mod event;
pub(crate) mod fuse;
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

/// Chunks with what text and vectors say about them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Candidates {
    /// By full text, best first, then those added by [`complete`]; BM25, negated so that larger is better.
    pub text: Vec<(i64, f32)>,
    /// By vectors, best first, then those added by [`complete`]; the nearness of the best window.
    pub vector: Vec<(i64, f32)>,
    /// Chunks whose nearness comes from the better model.
    pub better: FxHashSet<i64>,
}

impl Candidates {
    /// Every chunk that either signal found, maybe twice.
    pub(crate) fn chunks(&self) -> impl Iterator<Item = i64> {
        self.text.iter().chain(&self.vector).map(|(chunk, _)| *chunk)
    }

    /// The length of the longer list.
    pub(crate) fn longest(&self) -> usize {
        self.text.len().max(self.vector.len())
    }

    /// The share of the candidates by vectors whose nearness comes from the better model, 0 to 1.
    fn better_share(&self) -> f32 {
        let n_better = self.vector.iter().filter(|(chunk, _)| self.better.contains(chunk)).count();
        n_better as f32 / self.vector.len().max(1) as f32
    }

    fn add(&mut self, near: Near) {
        self.vector.push((near.chunk, near.nearness));
        if near.is_better {
            self.better.insert(near.chunk);
        }
    }
}

/// What the signals found.
#[derive(Default)]
pub(crate) struct Recalled {
    pub candidates: Candidates,
    /// The question's own vectors; `None` when vectors are not asked for or no model knows the question.
    pub question: Option<QuestionVectors>,
    /// Entities that the question names.
    pub seeds: Vec<Seed>,
    /// The times that an event of the question leaves.
    pub when: When,
    /// The only chunks that meet what the question demands, where it demands something.
    pub matching: Among,
    /// True when words had to be given up because nothing meets the whole demand.
    pub is_relaxed: bool,
    /// How the question was read, where that differs from how it is written.
    pub readings: Vec<String>,
    /// What each term of the question is worth, by how rare it is; empty where words were not looked up.
    pub worth: Vec<f32>,
    /// Scores any chunk by the question's words.
    pub scorer: Option<Scorer>,
    /// How much text and vectors count for this question.
    pub trust: Trust,
    /// The depth that was asked for.
    pub depth: usize,
    /// True when a signal may know more than [`MAX_RECALL`] candidates.
    pub is_ended: bool,
}

impl Recalled {
    /// Returns the question's words that are names and that no passage has, in whatever form, one bit each.
    pub(crate) fn lacking(&self, question: &Question) -> u64 {
        let Some(scorer) = &self.scorer else { return 0 };
        let named = self.seeds.iter().fold(0, |words, seed| words | seed.words);
        question.names & !(scorer.known() | named)
    }

    /// Returns whether a chunk meets what the question demands.
    pub(crate) fn allows(&self, chunk: i64) -> bool {
        self.matching.as_ref().is_none_or(|matching| matching.contains(&chunk))
    }
}

/// Finds the candidates of all signals, at most `depth` of each.
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

/// As [`recall`], with what each signal found by itself and nothing more: reciprocal ranks of notes need just that.
pub(crate) fn by_each_signal(
    ctx: &QueryContext<'_>,
    plan: &Plan,
    depth: usize,
) -> Result<Recalled, AskError> {
    let homes = copies::homes(ctx, plan)?;
    let named = stage!("names", naming::named(ctx, plan))?;
    let allowed = text::chunks_of(ctx, plan, &homes)?;
    let (matching, is_relaxed) = demanded(ctx, &plan.question, &allowed)?;
    let mut recalled =
        Recalled { seeds: named.seeds, matching, is_relaxed, depth, ..Recalled::default() };
    let mut candidates = Candidates::default();
    let is_by_words = plan.formula != Formula::Vector && plan.formula != Formula::S4;
    // A hit by meaning alone is judged by its words, too (`present/floor.rs`).
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
        // A copy stands in for what matches.
        matching.extend(candidates.text.iter().map(|(chunk, _)| *chunk));
        candidates.vector.retain(|(chunk, _)| matching.contains(chunk));
    }
    recalled.candidates = candidates;
    Ok(recalled)
}

/// Returns the candidates with the scores that the depth of each search cut off, also for the chunks of `more`. Without
/// this a chunk just below the cut would count as wholly unlike the question, and the best of both signals would be a
/// matter of luck: by `tests/benches/retrieval.rs` this is what makes `hybrid` better than full text alone.
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
        match scorer.scores(ctx.snapshot, missing.into_iter().collect()) {
            Ok(scores) => {
                let found = scores.into_iter().filter(|(_, score)| *score > 0.0);
                candidates.text.extend(found.map(|(chunk, score)| (chunk, score as f32)));
            }
            Err(Unread::Sql(error)) => return Err(error.into()),
            // An index that cannot be read directly leaves the score at 0.
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

/// Returns the share of a question's worth that the words of `found`, one bit each, hold. 1 where no word is worth
/// anything, since then nothing was asked for by words.
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
