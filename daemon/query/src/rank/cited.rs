//! Cited: questions that are a file name, such as `keys.md`, `docs/keys.md` or `keys.md:12`.
//!
//! In: a question, hits. Out: the hits, preceded by one passage of each such document: the one at
//! the line, else the first.
//! Invariant: other questions cost no look-up.

use index::read::Chunk;
use notes::resolve::fold;

use super::ScoredChunk;
use crate::plan::Plan;
use crate::{AskError, QueryContext};

/// Name of the component.
pub(crate) const COMPONENT: &str = "file";

/// Most documents with the name that are put first.
const MAX_DOCS: usize = 5;

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
        if !plan.within.lets_through(&chunk) {
            continue;
        }
        let known = hits.iter().position(|it| it.chunk == chunk.id);
        let known = known.map(|at| hits.remove(at));
        first.push(
            known.unwrap_or_else(|| ScoredChunk { chunk: chunk.id, ..ScoredChunk::default() }),
        );
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
    let key = fold(path);
    let below = format!("/{key}");
    let mut found = Vec::new();
    for (doc, other) in ctx.snapshot.documents().by_path()? {
        let folded = fold(&other);
        if folded == key || folded.ends_with(&below) {
            found.push(((other != path, folded != key, other.chars().count()), doc));
        }
    }
    // Equal ones stay in the order of their paths.
    found.sort_by_key(|(order, _)| *order);
    Ok(found.into_iter().map(|(_, doc)| doc).take(MAX_DOCS).collect())
}

/// Returns the chunk of a document at a line, else the first one.
fn chunk_of(
    ctx: &QueryContext<'_>,
    doc: i64,
    line: Option<i64>,
) -> Result<Option<Chunk>, AskError> {
    let mut chunks = ctx.snapshot.chunks().of(doc)?;
    let at = chunks.iter().position(|it| i64::from(it.line_end) >= line.unwrap_or(0));
    Ok((!chunks.is_empty()).then(|| chunks.swap_remove(at.unwrap_or(0))))
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
