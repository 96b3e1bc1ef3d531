//! Recall: each signal's best candidates, by itself.

use std::collections::BTreeSet;

use config::settings::Formula;
use rusqlite::ToSql;
use rustc_hash::{FxHashMap, FxHashSet};

use super::naming::Seed;
use super::plan::Plan;
use super::{AskError, Desk, copies, naming, rare};
use crate::embedder::cosine;
use crate::pipeline::parcel::UnitVector;
use crate::vectors::Nearest;

/// Weights of the text index's columns: title, headings, body.
const FIELD_WEIGHTS: &str = "2.0, 1.5, 1.0";

/// What each signal found.
#[derive(Debug, Default)]
pub(super) struct Recalled {
    /// Chunks by full text, best first, with BM25 turned so that larger is better.
    pub text: Vec<(i64, f32)>,
    /// Chunks by vector, best first, with the cosine of their best window; then those that [`complete`] added.
    pub vector: Vec<(i64, f32)>,
    /// Place in `docs.text` of each such chunk's best window.
    pub windows: FxHashMap<i64, (usize, usize)>,
    /// The question's own vector; none when no part of it is asked for or known.
    pub question: Option<UnitVector>,
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
        recalled.question = embed_question(desk, plan);
        for (chunk, cosine, window) in by_vector(desk, plan, (recalled.question.as_ref(), &homes))?
        {
            recalled.vector.push((chunk, cosine));
            recalled.windows.insert(chunk, window);
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

type Window = (i64, f32, (usize, usize));

fn embed_question(desk: &Desk<'_>, plan: &Plan) -> Option<UnitVector> {
    if plan.question.is_foreign && desk.embedder.is_english_only() {
        return None;
    }
    let vector = desk.embedder.embed(&[&plan.question.text]).pop()?;
    vector.0.iter().any(|component| *component != 0).then_some(vector)
}

/// The nearest windows; a chunk counts by its best one.
fn by_vector(
    desk: &Desk<'_>,
    plan: &Plan,
    (question, homes): (Option<&UnitVector>, &str),
) -> Result<Vec<Window>, AskError> {
    let Some(question) = question else { return Ok(Vec::new()) };
    let among = windows_within(desk, plan, homes)?;
    // Several windows of one chunk may be near: ask for more than are wanted.
    let nearest = desk.snapshot.nearest(question, plan.recall_k * 3, among.as_ref())?;
    let mut place = desk
        .snapshot
        .prepare_cached("SELECT chunk_id, start, end FROM chunk_vec_map WHERE id = ?1")?;
    let mut found: Vec<Window> = Vec::new();
    let mut seen = FxHashSet::default();
    for Nearest { id, cosine } in nearest {
        let row = place.query_row([id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
        let (chunk, start, end): (i64, i64, i64) = row?;
        if seen.insert(chunk) {
            found.push((chunk, cosine, (start as usize, end as usize)));
        }
        if found.len() == plan.recall_k {
            break;
        }
    }
    Ok(found)
}

/// The windows that the filter lets through; none when it lets all through.
fn windows_within(
    desk: &Desk<'_>,
    plan: &Plan,
    homes: &str,
) -> Result<Option<FxHashSet<i64>>, AskError> {
    let Some((condition, values)) = plan.filter.sql() else { return Ok(None) };
    let sql = format!(
        "SELECT w.id FROM chunk_vec_map w JOIN chunks c ON c.id = w.chunk_id
           JOIN docs d ON d.id = c.doc_id WHERE {condition}
         UNION ALL SELECT w.id FROM json_each(?) h JOIN chunk_vec_map w ON w.chunk_id = h.value"
    );
    let mut arguments: Vec<&dyn ToSql> = values.iter().map(|value| value as &dyn ToSql).collect();
    arguments.push(&homes);
    let mut statement = desk.snapshot.prepare_cached(&sql)?;
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
    for chunk in missing {
        if let Some((cosine, window)) = best_window(desk, chunk, question)? {
            recalled.vector.push((chunk, cosine));
            recalled.windows.insert(chunk, window);
        }
    }
    Ok(())
}

/// A window's cosine and its place in `docs.text`.
type BestWindow = (f32, (usize, usize));

/// The window of a chunk that is nearest to the question, also among those that are not searched.
pub(super) fn best_window(
    desk: &Desk<'_>,
    chunk: i64,
    question: &UnitVector,
) -> Result<Option<BestWindow>, AskError> {
    let mut statement = desk.snapshot.prepare_cached(
        "SELECT v.embedding, m.start, m.end FROM chunk_vec_map m JOIN chunk_vec v ON v.rowid = m.id
         WHERE m.chunk_id = ?1 AND m.aside IS NULL
         UNION ALL SELECT aside, start, end FROM chunk_vec_map WHERE chunk_id = ?1 AND aside IS NOT NULL ORDER BY 2",
    )?;
    let mut best: Option<BestWindow> = None;
    let mut rows = statement.query([chunk])?;
    while let Some(row) = rows.next()? {
        let (start, end): (i64, i64) = (row.get(1)?, row.get(2)?);
        let bytes = row.get_ref(0)?.as_blob().unwrap_or_default();
        let vector = UnitVector(bytes.iter().map(|byte| i8::from_le_bytes([*byte])).collect());
        let cosine = cosine(&vector, question);
        if best.is_none_or(|(nearest, _)| cosine > nearest) {
            best = Some((cosine, (start as usize, end as usize)));
        }
    }
    Ok(best)
}
