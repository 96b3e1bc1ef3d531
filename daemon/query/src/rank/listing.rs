//! Listing: answers a question without words with a list of documents.
//!
//! In: a question of tags and paths (`tag:ops`, `path:docs/ -draft`). Out: the first passage of
//! each matching document, newest document first, at most `Plan::max_listed`. Nothing is scored,
//! because no passage answers better than another.
//! Not here: the meaning of a tag or path (`plan/condition.rs`).

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
    let mut docs = ctx.snapshot.prepare_cached("SELECT id FROM docs ORDER BY day DESC, path")?;
    let mut docs = docs.query([])?;
    let mut chunks =
        ctx.snapshot.prepare_cached("SELECT id FROM chunks WHERE doc_id = ?1 ORDER BY idx")?;
    let mut found = Vec::new();
    while let Some(row) = docs.next()?.filter(|_| found.len() < plan.max_listed) {
        let doc: i64 = row.get(0)?;
        if !is_meant(doc) {
            continue;
        }
        let mut rows = chunks.query([doc])?;
        while let Some(row) = rows.next()? {
            let chunk = row.get(0)?;
            if recalled.allows(chunk) && plan.within.lets_through(ctx, chunk)? {
                found.push(ScoredChunk { chunk, ..ScoredChunk::default() });
                break;
            }
        }
    }
    Ok(found)
}
