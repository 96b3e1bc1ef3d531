//! Recall: each signal's best candidates, by itself.

use std::collections::BTreeSet;

use config::settings::Formula;
use proto::tool::core::HybridReply;
use rusqlite::ToSql;
use rustc_hash::{FxHashMap, FxHashSet};

use super::naming::Seed;
use super::nearness::{self, Asked, Near};
use super::plan::Plan;
use super::{AskError, Desk, copies, naming};
use crate::postings::{FIELDS, Postings, Scorer, Unread};
use crate::words::{Phrase, phrases_in};

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
    if plan.formula != Formula::Text
        && let Some((asked, found)) = nearness::ask(desk, plan, &homes)?
    {
        found.into_iter().for_each(|chunk| recalled.note(chunk));
        recalled.question = Some(asked);
    }
    copies::bring_back(desk, plan, &mut recalled)?;
    Ok(recalled)
}

/// The best chunks by BM25 over some terms, any of which may match.
fn by_text(
    desk: &Desk<'_>,
    plan: &Plan,
    (terms, homes): (&[String], &str),
) -> Result<Vec<(i64, f32)>, AskError> {
    if terms.is_empty() {
        return Ok(Vec::new());
    }
    let among = allowed(desk, plan, homes)?;
    match scored(desk, (terms, plan.recall_k), among.as_ref()) {
        Ok(found) => Ok(found),
        Err(Unread::Sql(error)) => Err(error.into()),
        Err(Unread::Shape(why)) => {
            tracing::warn!(why, "the text index is asked through SQLite, which takes longer");
            by_fts5(desk, (terms, plan.recall_k), among.as_ref())
        }
    }
}

fn scored(
    desk: &Desk<'_>,
    (terms, wanted): (&[String], usize),
    among: Option<&FxHashSet<i64>>,
) -> Result<Vec<(i64, f32)>, Unread> {
    let postings = Postings::open(desk.snapshot)?;
    let phrases: Vec<Phrase> = terms.iter().flat_map(|term| phrases_in(term)).collect();
    Scorer::new(&postings, &phrases)?.best(wanted, among)
}

/// The same from FTS5 itself.
fn by_fts5(
    desk: &Desk<'_>,
    (terms, wanted): (&[String], usize),
    among: Option<&FxHashSet<i64>>,
) -> Result<Vec<(i64, f32)>, AskError> {
    let [title, headings, body] = FIELDS;
    let sql = format!(
        "SELECT rowid, -bm25(chunk_fts, {title:?}, {headings:?}, {body:?}) AS score FROM chunk_fts
         WHERE chunk_fts MATCH ?1 ORDER BY score DESC, rowid"
    );
    let mut statement = desk.snapshot.prepare_cached(&sql)?;
    let mut rows = statement.query([terms.join(" OR ")])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let id = row.get(0)?;
        if found.len() < wanted && among.is_none_or(|among| among.contains(&id)) {
            found.push((id, row.get(1)?));
        }
    }
    Ok(found)
}

/// The chunks that a filter lets through, and those that tell what stands inside it; none where there is no filter.
fn allowed(desk: &Desk<'_>, plan: &Plan, homes: &str) -> Result<Option<FxHashSet<i64>>, AskError> {
    let Some((condition, values)) = plan.filter.sql() else { return Ok(None) };
    let mut statement = desk.snapshot.prepare_cached(&format!(
        "SELECT c.id FROM chunks c JOIN docs d ON d.id = c.doc_id WHERE {condition}
         UNION ALL SELECT value FROM json_each(?)"
    ))?;
    let arguments: Vec<&dyn ToSql> =
        values.iter().map(|value| value as &dyn ToSql).chain([&homes as &dyn ToSql]).collect();
    let rows = statement.query_map(arguments.as_slice(), |row| row.get(0))?;
    Ok(Some(rows.collect::<Result<_, _>>()?))
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
