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

use rusqlite::OptionalExtension;
use rustc_hash::FxHashSet;

use super::ScoredChunk;
use super::candidate::SignalInput;
use crate::recall::turn::TEXT;
use crate::{AskError, QueryContext};

/// Name of the component.
const COMPONENT: &str = "own_words";

/// Hits considered.
const DEPTH: usize = 20;

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
    let mut sized = Vec::new();
    for hit in hits.iter().take(DEPTH) {
        sized.extend(with_size(input.ctx, hit)?);
    }
    let share = |hit: &SizedHit| input.candidate(hit.chunk).share_in(TEXT);
    let is_called = |hit: &SizedHit| input.candidate(hit.chunk).is_called();
    let mut exchanged = FxHashSet::default();
    for thin in sized.iter().filter(|it| it.n_bytes <= THIN) {
        let own = share(thin)?;
        for other in sized.iter().filter(|it| (NEAR * thin.score..thin.score).contains(&it.score)) {
            let is_fuller = match other.doc == thin.doc {
                true => other.n_bytes > THIN && share(other)? > own,
                false => other.n_bytes > 0 && thin.n_bytes == 0 && is_called(other)?,
            };
            if is_fuller && !exchanged.contains(&other.chunk) {
                swap(&mut hits, thin, other);
                exchanged.insert(other.chunk);
                break;
            }
        }
    }
    Ok(hits)
}

/// Exchanges the positions and scores of two hits.
fn swap(hits: &mut [ScoredChunk], thin: &SizedHit, other: &SizedHit) {
    let more = thin.score - other.score;
    let at = |place: &SizedHit| hits.iter().position(|it| it.chunk == place.chunk);
    let (Some(first), Some(second)) = (at(thin), at(other)) else { return };
    hits.swap(first, second);
    for (at, more) in [(first, more), (second, -more)] {
        let Some(candidate) = hits.get_mut(at) else { continue };
        candidate.components.insert(COMPONENT, more);
        candidate.score += more;
    }
}

/// A hit with the facts that are known without reading its text.
struct SizedHit {
    chunk: i64,
    doc: i64,
    n_bytes: usize,
    score: f32,
}

fn with_size(ctx: &QueryContext<'_>, hit: &ScoredChunk) -> Result<Option<SizedHit>, AskError> {
    let (chunk, score) = (hit.chunk, hit.score);
    let mut statement =
        ctx.snapshot.prepare_cached("SELECT doc_id, end - start FROM chunks WHERE id = ?1")?;
    let read = statement.query_row([chunk], |row| {
        Ok(SizedHit { chunk, doc: row.get(0)?, n_bytes: row.get::<_, i64>(1)? as usize, score })
    });
    Ok(read.optional()?)
}
