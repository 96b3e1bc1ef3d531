//! Rerank: the best candidates, ordered anew by a model that reads each together with the question.
//!
//! In: candidates, best first. Out: the same; the first few have a component `rerank` more.
//! Invariants: components sum to the score; the candidates behind keep their order; a model that cannot be used
//! changes nothing.
//! Not here: the model (`reranker.rs`).

use rusqlite::OptionalExtension;

use super::plan::Plan;
use super::rank::Ranked;
use super::{AskError, Desk};

pub(super) fn rerank(
    desk: &Desk<'_>,
    plan: &Plan,
    mut ranked: Vec<Ranked>,
) -> Result<Vec<Ranked>, AskError> {
    let Some(reranker) = desk.reranker.filter(|_| plan.is_fused()) else { return Ok(ranked) };
    let settings = &desk.settings.retrieval.rerank;
    let mut numbers = Vec::new();
    for candidate in ranked.iter().take(settings.depth as usize) {
        let Some(passage) = passage(desk, candidate.chunk)? else {
            numbers.push(0.0);
            continue;
        };
        match reranker.score(&plan.question.text, &passage) {
            Ok(number) => numbers.push(number),
            Err(why) => {
                tracing::debug!(%why, "hits keep their order");
                return Ok(ranked);
            }
        }
    }
    for (candidate, number) in ranked.iter_mut().zip(numbers) {
        let part = settings.weight * number;
        if part > 0.0 {
            candidate.components.insert("rerank", part);
            candidate.score += part;
        }
    }
    // Equal ones keep their order.
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score));
    Ok(ranked)
}

/// The words of a chunk under its document's title, without which many say not what they are about.
fn passage(desk: &Desk<'_>, chunk: i64) -> Result<Option<String>, AskError> {
    let mut statement = desk.snapshot.prepare_cached(
        "SELECT d.title, CAST(substr(CAST(d.text AS BLOB), c.start + 1, c.end - c.start) AS TEXT)
         FROM chunks c JOIN docs d ON d.id = c.doc_id WHERE c.id = ?1",
    )?;
    let read = statement.query_row([chunk], |row| {
        let (title, words): (String, String) = (row.get(0)?, row.get(1)?);
        Ok(if words.starts_with(&title) { words } else { format!("{title}\n{words}") })
    });
    Ok(read.optional()?)
}
