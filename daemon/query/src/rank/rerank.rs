//! Rerank: a cross-encoder, which reads each of the best hits together with the question, reorders them.
//!
//! In: hits, best first. Out: the same; the first few have one more component, `rerank`.
//! Invariants: components sum to the score; hits behind the first few keep their order; a model that cannot be used
//! changes nothing.
//! Not here: the model (`embed::reranker`).

use rusqlite::OptionalExtension;

use super::ScoredChunk;
use crate::plan::Plan;
use crate::{AskError, QueryContext};

/// Adds the number of the cross-encoder to the first hits.
pub(super) fn rerank(
    ctx: &QueryContext<'_>,
    plan: &Plan,
    mut hits: Vec<ScoredChunk>,
) -> Result<Vec<ScoredChunk>, AskError> {
    let Some(reranker) = ctx.reranker.filter(|_| plan.is_fused()) else { return Ok(hits) };
    let settings = &ctx.settings.retrieval.rerank;
    let mut numbers = Vec::new();
    for candidate in hits.iter().take(settings.depth as usize) {
        let Some(passage) = passage(ctx, candidate.chunk)? else {
            numbers.push(0.0);
            continue;
        };
        match reranker.score(&plan.question.text, &passage) {
            Ok(number) => numbers.push(number),
            Err(why) => {
                tracing::debug!(%why, "hits keep their order");
                return Ok(hits);
            }
        }
    }
    for (candidate, number) in hits.iter_mut().zip(numbers) {
        let part = settings.weight * number;
        if part > 0.0 {
            candidate.components.insert("rerank", part);
            candidate.score += part;
        }
    }
    // The sort is stable, so equal hits keep their order.
    hits.sort_by(|a, b| b.score.total_cmp(&a.score));
    Ok(hits)
}

/// The text of a chunk under its document's title, since many passages do not name their subject.
fn passage(ctx: &QueryContext<'_>, chunk: i64) -> Result<Option<String>, AskError> {
    let mut statement = ctx.snapshot.prepare_cached(
        "SELECT d.title, CAST(substr(CAST(d.text AS BLOB), c.start + 1, c.end - c.start) AS TEXT)
         FROM chunks c JOIN docs d ON d.id = c.doc_id WHERE c.id = ?1",
    )?;
    let read = statement.query_row([chunk], |row| {
        let (title, words): (String, String) = (row.get(0)?, row.get(1)?);
        Ok(if words.starts_with(&title) { words } else { format!("{title}\n{words}") })
    });
    Ok(read.optional()?)
}
