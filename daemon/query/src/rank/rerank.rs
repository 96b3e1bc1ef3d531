//! Rerank: reorders the best hits with a cross-encoder, which reads each together with the
//! question.
//!
//! In: hits, best first. Out: the same hits; the first few have one more component, `rerank`.
//! Invariants: components sum to the score; the hits after the first few keep their order; a model
//! that cannot be used changes nothing.
//! Not here: the model (`embed::reranker`).

use super::ScoredChunk;
use super::candidate::{Candidate, SignalInput};
use crate::AskError;
use crate::recall::turn::TEXT;

/// Adds the score of the cross-encoder to the first hits.
pub(super) fn rerank(
    input: &SignalInput<'_>,
    mut hits: Vec<ScoredChunk>,
) -> Result<Vec<ScoredChunk>, AskError> {
    let SignalInput { ctx, plan, .. } = *input;
    let Some(reranker) = ctx.reranker.filter(|_| plan.is_fused()) else { return Ok(hits) };
    let settings = &ctx.settings.retrieval.rerank;
    let mut numbers = Vec::new();
    for candidate in hits.iter().take(settings.depth as usize) {
        let Some(passage) = passage(&input.candidate(candidate.chunk))? else {
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

/// Returns the text of a chunk under its document's title, because many passages do not name their
/// subject.
fn passage(candidate: &Candidate<'_>) -> Result<Option<String>, AskError> {
    let Some(text) = candidate.read::<String>(TEXT)? else { return Ok(None) };
    let title: String = candidate.read("d.title")?.unwrap_or_default();
    Ok(Some(if text.starts_with(&title) { text } else { format!("{title}\n{text}") }))
}
