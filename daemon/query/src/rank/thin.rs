//! Thin: passages of a few words under a title that matches the question, such as a list of links
//! under "See also".
//!
//! The title of a document finds all its passages, and the fewer words of its own a passage has,
//! the nearer it is to the title: by BM25, which divides by length, and by meaning. So the best
//! passage of a runbook would be its list of links.
//! In: hits, best first. Out: the same hits; if one is thin and another hit of its document shortly
//! after it contains more of the question itself, the two exchange their scores, as a component of
//! both. So do a note without text and a namesake with text, if the question is their name.
//! Invariants: documents with text keep their order; components sum to the score; only the first few
//! hits are considered, and only thin ones and their possible replacements are read.

use index::read::Chunk;
use rustc_hash::FxHashSet;

use super::ScoredChunk;
use super::candidate::SignalInput;
use crate::AskError;

/// Name of the component.
const COMPONENT: &str = "own_words";

/// Hits considered.
pub(super) const DEPTH: usize = 20;

/// Longest passage that counts as thin, bytes of text.
const THIN: usize = 160;

/// Least score of a replacement, as a share of the thin hit's score.
const NEAR: f32 = 0.5;

/// Exchanges thin passages for fuller ones.
pub(super) fn exchange(
    input: &SignalInput<'_>,
    mut hits: Vec<ScoredChunk>,
) -> Result<Vec<ScoredChunk>, AskError> {
    if !input.plan.is_fused() || input.words().is_empty() {
        return Ok(hits);
    }
    let sized = hits.iter().take(DEPTH);
    let sized = sized.filter_map(|hit| Some((input.candidate(hit.chunk).passage?, hit.score)));
    let sized: Vec<(&Chunk, f32)> = sized.collect();
    let n_bytes = |it: &Chunk| it.end - it.start;
    let all_thin = || sized.iter().filter(|(it, _)| n_bytes(it) <= THIN);
    let near = |score: f32| sized.iter().filter(move |it| (NEAR * score..score).contains(&it.1));
    let is_rival = |it: &Chunk, thin: &Chunk| it.doc == thin.doc && n_bytes(it) > THIN;
    let compared = all_thin().flat_map(|(thin, score)| {
        let rivals = near(*score).filter(|(it, _)| is_rival(it, thin));
        rivals.flat_map(|(rival, _)| [*thin, *rival])
    });
    let texts = input.ctx.snapshot.chunks().texts(compared)?;
    let share =
        |it: &Chunk| input.candidate(it.id).share_of(texts.get(&it.id).map_or("", String::as_str));
    let mut exchanged = FxHashSet::default();
    for (thin, score) in all_thin() {
        let own = share(thin);
        for (other, other_score) in near(*score) {
            let is_fuller = match other.doc == thin.doc {
                true => is_rival(other, thin) && share(other) > own,
                false => {
                    let is_called = || input.candidate(other.id).is_called();
                    n_bytes(other) > 0 && n_bytes(thin) == 0 && is_called()
                }
            };
            if is_fuller && exchanged.insert(other.id) {
                swap(&mut hits, thin.id, other.id, score - other_score);
                break;
            }
        }
    }
    Ok(hits)
}

/// Exchanges the positions and scores of two hits, of which the first has `more`.
fn swap(hits: &mut [ScoredChunk], thin: i64, other: i64, more: f32) {
    let at = |chunk| hits.iter().position(|it| it.chunk == chunk);
    let (Some(first), Some(second)) = (at(thin), at(other)) else { return };
    hits.swap(first, second);
    for (at, more) in [(first, more), (second, -more)] {
        let Some(candidate) = hits.get_mut(at) else { continue };
        candidate.components.insert(COMPONENT, more);
        candidate.score += more;
    }
}
