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
    let is_meant = |doc: i64| plan.within.docs.as_ref().is_none_or(|docs| docs.contains(&doc));
    let within = &plan.within;
    let mut found = Vec::new();
    for doc in ctx.snapshot.documents().latest_first()? {
        if found.len() >= plan.max_listed {
            break;
        }
        if !is_meant(doc) {
            continue;
        }
        let mut first = None;
        ctx.snapshot.chunks().each_of(doc, |chunk| {
            let is_mentioning = within.mentioning.as_ref().is_none_or(|it| it.contains(&chunk));
            first = Some(chunk).filter(|chunk| is_mentioning && recalled.allows(*chunk));
            first.is_none()
        })?;
        found.extend(first.map(|chunk| ScoredChunk { chunk, ..ScoredChunk::default() }));
    }
    Ok(found)
}
