//! Recall: each signal's best candidates, by itself.

use std::collections::BTreeSet;

use config::settings::Formula;
use proto::tool::core::HybridReply;
use rusqlite::ToSql;
use rustc_hash::{FxHashMap, FxHashSet};

use super::naming::Seed;
use super::nearness::{self, Asked, Near};
use super::plan::Plan;
use super::{AskError, Desk, copies, naming, rare};

/// Weights of the text index's columns: title, headings, body.
const FIELD_WEIGHTS: &str = "2.0, 1.5, 1.0";

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
}

pub(super) fn recall(desk: &Desk<'_>, plan: &Plan) -> Result<Recalled, AskError> {
    let mut recalled = Recalled::default();
    let homes = copies::homes(desk, plan)?;
    let named = naming::named(desk, plan)?;
    recalled.seeds = named.seeds;
    if plan.formula != Formula::Vector && plan.formula != Formula::S4 {
        let terms: Vec<String> =
            plan.question.terms.iter().cloned().chain(named.more_terms).collect();
        recalled.text = by_text(desk, plan, (&terms, &homes))?;
    }
    if plan.formula != Formula::Text {
        if let Some((asked, found)) = nearness::ask(desk, plan, &homes)? {
            found.into_iter().for_each(|chunk| recalled.note(chunk));
            recalled.question = Some(asked);
        }
    }
    copies::bring_back(desk, plan, &mut recalled)?;
    Ok(recalled)
}

fn by_text(
    desk: &Desk<'_>,
    plan: &Plan,
    (terms, homes): (&[String], &str),
) -> Result<Vec<(i64, f32)>, AskError> {
    if terms.is_empty() {
        return Ok(Vec::new());
    }
    let all = terms.join(" OR ");
    let mut arguments: Vec<&dyn ToSql> = vec![&all];
    let (filter, chosen);
    let condition = match plan.filter.sql() {
        Some((condition, values)) => {
            filter = values;
            arguments.extend(filter.iter().map(|value| value as &dyn ToSql));
            arguments.push(&homes);
            format!(
                "AND rowid IN (SELECT c.id FROM chunks c JOIN docs d ON d.id = c.doc_id WHERE {condition}
                   UNION SELECT value FROM json_each(?))"
            )
        }
        // What a filter lets through need not hold the words that are rare in the whole folder.
        None => match rare::rare(desk.snapshot, terms)? {
            Some(expression) => {
                chosen = expression;
                arguments.push(&chosen);
                // Not by `rowid`: each of them would begin the search anew. A chunk that fails here is not scored.
                "AND +rowid IN (SELECT rowid FROM chunk_fts WHERE chunk_fts MATCH ?)".to_string()
            }
            None => String::new(),
        },
    };
    let sql = format!(
        "SELECT rowid, -bm25(chunk_fts, {FIELD_WEIGHTS}) AS score FROM chunk_fts
         WHERE chunk_fts MATCH ? {condition} ORDER BY score DESC, rowid LIMIT ?"
    );
    let limit = plan.recall_k as i64;
    arguments.push(&limit);
    let mut statement = desk.snapshot.prepare_cached(&sql)?;
    let rows = statement.query_map(arguments.as_slice(), |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
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
    let Some(question) = recalled.question.as_ref() else { return Ok(()) };
    if !plan.is_fused() && plan.formula != Formula::S4 {
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
    /// Says in the explanations which model's vectors told how near a hit is, where there are two.
    pub(super) fn name_spaces(&self, desk: &Desk<'_>, reply: &mut HybridReply) {
        let Some(better) = self.question.as_ref().and_then(Asked::better_space) else { return };
        for (hit, told) in reply.chunks.iter().zip(&mut reply.explanations) {
            let is_better = self.better.contains(&hit.id);
            let space = if is_better { better } else { desk.embedder.space() };
            let model = space.split('@').next().unwrap_or(space);
            let name = |part: &str| match part {
                "vector" | "semantic" => format!("{part} by {model}"),
                other => other.to_string(),
            };
            *told = told.split(" + ").map(name).collect::<Vec<_>>().join(" + ");
        }
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
