//! Recall: each signal's best candidates, by itself.

use std::collections::BTreeSet;

use config::settings::Formula;
use proto::tool::core::HybridReply;
use rustc_hash::{FxHashMap, FxHashSet};

use super::demand::demanded;
use super::naming::Seed;
use super::nearness::{self, Asked, Near};
use super::plan::{MAX_RECALL, Plan};
use super::{AskError, Desk, copies, naming, text};
use index::postings::{Scorer, Unread};

/// What each signal found.
#[derive(Default)]
pub(super) struct Recalled {
    /// Chunks by full text, best first, with BM25 turned so that larger is better.
    pub text: Vec<(i64, f32)>,
    /// Chunks by vector, best first, with the nearness of their best window; then those that [`complete`] added.
    pub vector: Vec<(i64, f32)>,
    /// Place in `docs.text` of each such chunk's best window.
    pub windows: FxHashMap<i64, (usize, usize)>,
    /// Chunks whose nearness was told by the better model's vectors.
    pub better: FxHashSet<i64>,
    /// The question's own vectors; none when no part of it is asked for or known.
    pub question: Option<Asked>,
    /// Entities that the question names, with the confidence of the link.
    pub seeds: Vec<Seed>,
    /// The only chunks that meet what the question demands, where it demands something.
    pub matching: text::Among,
    /// True when words had to be given up because nothing meets all that the question demands.
    pub is_relaxed: bool,
    /// How the question was read, where that is not as it stands.
    pub told: Vec<String>,
    /// What each term of the question is worth, by how rare it is; empty where words were not looked up.
    pub worth: Vec<f32>,
    /// Scores chunks by the question's words.
    pub scorer: Option<Scorer>,
    /// True when a signal may know more than [`MAX_RECALL`] candidates.
    pub is_ended: bool,
}

pub(super) fn recall(desk: &Desk<'_>, plan: &Plan) -> Result<Recalled, AskError> {
    let mut recalled = Recalled::default();
    let homes = copies::homes(desk, plan)?;
    let named = naming::named(desk, plan)?;
    recalled.seeds = named.seeds;
    let allowed = text::chunks_of(desk, plan, &homes)?;
    (recalled.matching, recalled.is_relaxed) = demanded(desk, plan, &allowed)?;
    let is_by_words = plan.formula != Formula::Vector && plan.formula != Formula::S4;
    // What is found by meaning alone is weak, too, where it holds few of the words (`floor.rs`).
    if is_by_words || plan.min_similarity.is_none() {
        let among = text::both(recalled.matching.clone(), allowed.clone());
        let found = text::by_text(desk, plan, (&named.more_terms, &among))?;
        (recalled.scorer, recalled.worth) = (found.scorer, found.worth);
        if is_by_words {
            recalled.text = found.best;
            recalled.told.extend(found.told);
        }
    }
    if plan.formula != Formula::Text
        && !plan.question.is_of_documents()
        && let Some((asked, found)) = nearness::ask(desk, plan, (&allowed, &recalled.matching))?
    {
        found.into_iter().for_each(|chunk| recalled.note(chunk));
        recalled.question = Some(asked);
    }
    recalled.is_ended = recalled.text.len().max(recalled.vector.len()) >= MAX_RECALL;
    copies::bring_back(desk, plan, &mut recalled)?;
    if let Some(matching) = &mut recalled.matching {
        // A copy stands in for what matches.
        matching.extend(recalled.text.iter().map(|(chunk, _)| *chunk));
        recalled.vector.retain(|(chunk, _)| matching.contains(chunk));
    }
    Ok(recalled)
}

/// Gives the candidates that other signals found the cosine that the vector search cut off. Without it a chunk just
/// below the cut would count as wholly unlike the question, and the best of both signals would be a matter of luck:
/// measured in `tests/benches/retrieval.rs`, this is what makes `hybrid` better than full text alone.
pub(super) fn complete(
    desk: &Desk<'_>,
    plan: &Plan,
    recalled: &mut Recalled,
    from_graph: impl Iterator<Item = i64>,
) -> Result<(), AskError> {
    let from_graph: Vec<i64> = from_graph.collect();
    recalled.complete_text(desk, plan, &from_graph)?;
    let Some(question) = recalled.question.as_ref() else { return Ok(()) };
    if !plan.is_fused() && !matches!(plan.formula, Formula::S4 | Formula::S0) {
        return Ok(());
    }
    let known: FxHashSet<i64> = recalled.vector.iter().map(|(chunk, _)| *chunk).collect();
    let others = recalled.text.iter().map(|(chunk, _)| *chunk).chain(from_graph);
    let missing: BTreeSet<i64> = others.filter(|chunk| !known.contains(chunk)).collect();
    let missing: Vec<i64> = missing.into_iter().collect();
    let near = nearness::of_chunks(desk, &missing, question)?;
    near.into_iter().for_each(|chunk| recalled.note(chunk));
    Ok(())
}

impl Recalled {
    /// Gives the candidates that the graph leads to the score by words that the text search cut off.
    fn complete_text(
        &mut self,
        desk: &Desk<'_>,
        plan: &Plan,
        from_graph: &[i64],
    ) -> Result<(), AskError> {
        let Some(scorer) = self.scorer.as_ref().filter(|_| plan.is_fused()) else { return Ok(()) };
        let known: FxHashSet<i64> = self.text.iter().map(|(chunk, _)| *chunk).collect();
        let missing: BTreeSet<i64> =
            from_graph.iter().copied().filter(|chunk| !known.contains(chunk)).collect();
        let scores = match scorer.scores(desk.snapshot, missing.into_iter().collect()) {
            Ok(scores) => scores,
            Err(Unread::Sql(error)) => return Err(error.into()),
            // What is not read counts as before.
            Err(Unread::Shape(_)) => return Ok(()),
        };
        let found = scores.into_iter().filter(|(_, score)| *score > 0.0);
        self.text.extend(found.map(|(chunk, score)| (chunk, score as f32)));
        Ok(())
    }

    /// True when a deeper search may find more.
    pub(super) fn is_cut(&self, plan: &Plan) -> bool {
        let most = self.text.len().max(self.vector.len());
        plan.recall_k < MAX_RECALL && most >= plan.recall_k
    }

    /// Says with the first hit how the question was read.
    pub(super) fn tell_reading(&self, reply: &mut HybridReply) {
        if let Some(first) = reply.explanations.first_mut().filter(|_| !self.told.is_empty()) {
            *first = format!("{}: {first}", self.told.join("; "));
        }
    }

    /// True when a chunk meets what the question demands.
    pub(super) fn allows(&self, chunk: i64) -> bool {
        self.matching.as_ref().is_none_or(|matching| matching.contains(&chunk))
    }

    /// Says in the explanations which model's vectors told how near a hit is, where two models are wanted: also while
    /// the better one does not answer yet, as just after a start.
    pub(super) fn name_spaces(&self, desk: &Desk<'_>, reply: &mut HybridReply) {
        if self.question.is_none() || desk.settings.embed.model == "none" {
            return;
        }
        let plain = desk.embedder.space();
        let better = self.question.as_ref().and_then(Asked::better_space).unwrap_or(plain);
        for (hit, told) in reply.chunks.iter().zip(&mut reply.explanations) {
            let is_better = self.better.contains(&hit.id);
            let space = if is_better { better } else { plain };
            let model = space.split('@').next().unwrap_or(space);
            let name = |part: &str| match part {
                "vector" | "semantic" => format!("{part} by {model}"),
                other => other.to_string(),
            };
            *told = told.split(" + ").map(name).collect::<Vec<_>>().join(" + ");
        }
    }

    /// The share of the candidates whose nearness the better model tells, 0 to 1.
    pub(super) fn better_share(&self) -> f32 {
        let n_better = self.vector.iter().filter(|(chunk, _)| self.better.contains(chunk)).count();
        n_better as f32 / self.vector.len().max(1) as f32
    }

    /// Notes how near a chunk is.
    pub(super) fn note(&mut self, near: Near) {
        self.vector.push((near.chunk, near.nearness));
        self.windows.insert(near.chunk, near.window);
        if near.is_better {
            self.better.insert(near.chunk);
        }
    }
}
