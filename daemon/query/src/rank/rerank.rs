//! Rerank: reorders the best hits with a cross-encoder, which reads each together with the
//! question.
//!
//! In: hits, best first. Out: the same hits; the first few have one more component, `rerank`.
//! Invariants: components sum to the score; the hits after the first few keep their order; a model
//! that cannot be used changes nothing.

use super::ScoredChunk;
use super::candidate::SignalInput;
use crate::AskError;

/// Adds the score of the cross-encoder to the first hits.
pub(super) fn rerank(
    input: &SignalInput<'_>,
    mut hits: Vec<ScoredChunk>,
) -> Result<Vec<ScoredChunk>, AskError> {
    let SignalInput { ctx, plan, .. } = *input;
    let Some(reranker) = ctx.reranker.filter(|_| plan.is_fused()) else { return Ok(hits) };
    let settings = &ctx.settings.retrieval.rerank;
    let first = hits.iter().take(settings.depth as usize);
    let first = first.filter_map(|hit| input.candidate(hit.chunk).passage);
    let texts = ctx.snapshot.chunks().texts(first)?;
    let mut numbers = Vec::new();
    for candidate in hits.iter().take(settings.depth as usize) {
        let Some(text) = texts.get(&candidate.chunk) else {
            numbers.push(0.0);
            continue;
        };
        // Under the title of its document, because many passages do not name their subject.
        let title = input.candidate(candidate.chunk).title();
        let whole = if text.starts_with(title) { text } else { &format!("{title}\n{text}") };
        match reranker.score(&plan.question.text, whole) {
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
