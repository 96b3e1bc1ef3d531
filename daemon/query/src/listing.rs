//! Listing: the documents that a question of tags and paths alone asks for.
//!
//! In: a question without words (`tag:ops`, `path:docs/ -draft`). Out: of each document that meets it one passage, its
//! first that does, newest document first, as far as a cursor leads. Nothing is scored: no passage answers better.
//! Not here: what a tag or a path means (`condition.rs`).

use super::plan::Plan;
use super::rank::Ranked;
use super::recall::Recalled;
use super::{AskError, Desk, copies};

/// One passage of each document that is asked for, in order, of at most so many.
pub(super) fn listed(
    desk: &Desk<'_>,
    plan: &Plan,
    recalled: &Recalled,
    most: usize,
) -> Result<Vec<Ranked>, AskError> {
    let within = plan.docs(desk)?;
    let means = |doc: i64| within.as_ref().is_none_or(|docs| docs.contains(&doc));
    let mut docs = desk.snapshot.prepare_cached("SELECT id FROM docs ORDER BY day DESC, path")?;
    let mut docs = docs.query([])?;
    let mut chunks =
        desk.snapshot.prepare_cached("SELECT id FROM chunks WHERE doc_id = ?1 ORDER BY idx")?;
    let mut found = Vec::new();
    while let Some(row) = docs.next()?.filter(|_| found.len() < most) {
        let doc: i64 = row.get(0)?;
        if !means(doc) {
            continue;
        }
        let mut rows = chunks.query([doc])?;
        while let Some(row) = rows.next()? {
            let chunk = row.get(0)?;
            if recalled.allows(chunk) && copies::passes(desk, plan, chunk)? {
                found.push(Ranked { chunk, ..Ranked::default() });
                break;
            }
        }
    }
    Ok(found)
}
