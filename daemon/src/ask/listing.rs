//! Listing: the documents that a question of tags and paths alone asks for.
//!
//! In: a question without words (`tag:ops`, `path:docs/ -draft`). Out: of each document that meets it one passage, its
//! first that does, newest document first, as far as a cursor leads. Nothing is scored: no passage answers better.
//! Not here: what a tag or a path means (`condition.rs`).

use super::plan::Plan;
use super::rank::Ranked;
use super::recall::Recalled;
use super::{AskError, Desk, mentions};

/// One passage of each document that is asked for, in order, of at most so many.
pub(super) fn listed(
    desk: &Desk<'_>,
    plan: &Plan,
    recalled: &Recalled,
    most: usize,
) -> Result<Vec<Ranked>, AskError> {
    let (condition, values) = plan.filter.sql().unwrap_or_else(|| ("1".into(), Vec::new()));
    let sql = format!("SELECT d.id FROM docs d WHERE {condition} ORDER BY d.day DESC, d.path");
    let mut docs = desk.snapshot.prepare_cached(&sql)?;
    let mut docs = docs.query(rusqlite::params_from_iter(values))?;
    let mut chunks =
        desk.snapshot.prepare_cached("SELECT id FROM chunks WHERE doc_id = ?1 ORDER BY idx")?;
    let mut found = Vec::new();
    while let Some(row) = docs.next()?.filter(|_| found.len() < most) {
        let mut rows = chunks.query([row.get::<_, i64>(0)?])?;
        while let Some(row) = rows.next()? {
            let chunk = row.get(0)?;
            if recalled.allows(chunk) && mentions(desk, plan, chunk)? {
                found.push(Ranked { chunk, ..Ranked::default() });
                break;
            }
        }
    }
    Ok(found)
}
