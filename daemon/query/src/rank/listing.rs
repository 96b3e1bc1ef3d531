//! Listing: answers a question without words with a list of documents.
//!
//! In: a question of tags and paths (`tag:ops`, `path:docs/ -draft`). Out: the first passage of
//! each matching document, newest document first, at most `Plan::max_listed`. Nothing is scored,
//! because no passage answers better than another.

use super::ScoredChunk;
use crate::plan::Plan;
use crate::recall::Recalled;
use crate::{AskError, QueryContext};

/// Returns one passage of each matching document.
pub(super) fn listed(
    ctx: &QueryContext<'_>,
    plan: &Plan,
    recalled: &Recalled,
) -> Result<Vec<ScoredChunk>, AskError> {
    let within = &plan.within;
    let mut found = Vec::new();
    for doc in ctx.snapshot.documents().latest_first()? {
        if found.len() >= plan.max_listed {
            break;
        }
        if !within.holds(doc) {
            continue;
        }
        let is_mentioning =
            |chunk: &i64| within.mentioning.as_ref().is_none_or(|it| it.contains(chunk));
        let chunks = ctx.snapshot.chunks().ids_of(doc)?.into_iter();
        let first = chunks.filter(is_mentioning).find(|chunk| recalled.allows(*chunk));
        found.extend(first.map(|chunk| ScoredChunk { chunk, ..ScoredChunk::default() }));
    }
    Ok(found)
}
