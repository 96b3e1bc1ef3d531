//! Cited: questions that are a file name, such as `keys.md`, `docs/keys.md` or `keys.md:12`.
//!
//! In: a question, hits. Out: the hits, preceded by one passage of each such document: the one at
//! the line, else the first.
//! Invariant: other questions cost no look-up.
//! Not here: reading a passage by its place (`passage.rs`).

use notes::resolve::fold;
use rusqlite::{OptionalExtension, params};

use super::ScoredChunk;
use crate::plan::Plan;
use crate::{AskError, QueryContext};

/// Name of the component.
pub(crate) const COMPONENT: &str = "file";

/// Most documents with the name that are put first.
const MAX_DOCS: i64 = 5;

/// Longest file extension, bytes.
const MAX_ENDING: usize = 8;

/// Puts the passages of a cited file first.
pub(super) fn put_first(
    ctx: &QueryContext<'_>,
    plan: &Plan,
    mut hits: Vec<ScoredChunk>,
) -> Result<Vec<ScoredChunk>, AskError> {
    let Some((path, line)) = file(&plan.question.text) else { return Ok(hits) };
    let best = hits.iter().map(|it| it.score).fold(1.0, f32::max);
    let mut first = Vec::new();
    for doc in documents(ctx, path)? {
        let Some(chunk) = chunk_of(ctx, doc, line)? else { continue };
        if !plan.within.lets_through(ctx, chunk)? {
            continue;
        }
        let known = hits.iter().position(|it| it.chunk == chunk);
        let known = known.map(|at| hits.remove(at));
        first.push(known.unwrap_or_else(|| ScoredChunk { chunk, ..ScoredChunk::default() }));
    }
    let n = first.len();
    for (at, one) in first.iter_mut().enumerate() {
        let value = best * (n - at) as f32;
        one.components.insert(COMPONENT, value);
        one.score += value;
    }
    hits.splice(..0, first);
    Ok(hits)
}

/// Parses a question as a path with an optional line.
fn file(question: &str) -> Option<(&str, Option<i64>)> {
    let (path, line) = match question.rsplit_once(':') {
        Some((path, lines)) => (path, Some(lines.split('-').next()?.parse().ok()?)),
        None => (question, None),
    };
    let path = path.trim_start_matches("./").trim_start_matches('/');
    let (stem, ending) = path.rsplit_once('.')?;
    let is_ending = (1..=MAX_ENDING).contains(&ending.len())
        && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && ending.bytes().any(|byte| byte.is_ascii_alphabetic());
    (is_ending && !stem.is_empty()).then_some((path, line))
}

/// Returns the documents at a path, or at that path below any folder; exact paths first.
fn documents(ctx: &QueryContext<'_>, path: &str) -> Result<Vec<i64>, AskError> {
    let mut statement = ctx.snapshot.prepare_cached(
        "SELECT id FROM docs WHERE folded(path) = ?2 OR substr(folded(path), -length(?3)) = ?3
         ORDER BY path = ?1 DESC, folded(path) = ?2 DESC, length(path), path LIMIT ?4",
    )?;
    let key = fold(path);
    let below = format!("/{key}");
    let rows = statement.query_map(params![path, key, below, MAX_DOCS], |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Returns the chunk of a document at a line, else the first one.
fn chunk_of(ctx: &QueryContext<'_>, doc: i64, line: Option<i64>) -> Result<Option<i64>, AskError> {
    let mut at = ctx.snapshot.prepare_cached(
        "SELECT id FROM chunks WHERE doc_id = ?1 ORDER BY line_end < ?2, idx LIMIT 1",
    )?;
    Ok(at.query_row(params![doc, line.unwrap_or(0)], |row| row.get(0)).optional()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_file_is_recognized() {
        for (question, expected) in [
            ("keys.md", Some(("keys.md", None))),
            ("./docs/keys.md:12", Some(("docs/keys.md", Some(12)))),
            ("docs/keys.md:12-18", Some(("docs/keys.md", Some(12)))),
            ("Lighthouse Affair.md", Some(("Lighthouse Affair.md", None))),
            ("keys.md:", None),
            ("v1.2.3", None),
            (".md", None),
            ("who wrote it?", None),
            ("keys.md says what?", None),
        ] {
            assert_eq!(file(question), expected, "{question}");
        }
    }
}
