//! Headings: which documents show their first heading as the name of their entity.
//!
//! In: a document that is written or removed. Out: `entities.name` of all documents that it concerns.
//! Invariants: a heading is shown if its document states no title and no other document has it as a heading or name;
//! this is display only, titles and names stay; independent of the order of commits.

use std::collections::BTreeSet;

use notes::resolve::folder_of_index;
use rusqlite::{Transaction, params};

use super::super::StoreError;
use extract::recognize::shown_heading;
use model::document::Document;
use model::terms::norm_of;

/// Stores the heading that a document would be shown by.
pub(super) fn write(tx: &Transaction<'_>, id: i64, doc: &Document) -> Result<(), StoreError> {
    tx.prepare_cached("DELETE FROM headings WHERE doc_id = ?1")?.execute([id])?;
    if let Some(heading) = shown_heading(doc) {
        let norm = norm_of(heading);
        // `tide-clock.md` with the heading `Tide clock` shows it in any case: only the spelling differs. The file name
        // of a folder's index says nothing.
        let title = folder_of_index(doc.head.path.as_str()).unwrap_or(&doc.title);
        let otherwise = if norm == norm_of(title) { heading } else { title };
        tx.prepare_cached("INSERT INTO headings VALUES(?1, ?2, ?3, ?4)")?
            .execute(params![id, norm, heading, otherwise])?;
    }
    Ok(())
}

/// Returns the norms that a document has as a heading or as a name of its own.
pub(super) fn norms_of(tx: &Transaction<'_>, id: i64) -> Result<BTreeSet<String>, StoreError> {
    let mut statement = tx.prepare_cached(
        "SELECT norm FROM headings WHERE doc_id = ?1
         UNION SELECT n.norm FROM stated s JOIN names n ON n.id = s.name_id WHERE s.doc_id = ?1",
    )?;
    let norms = statement.query_map([id], |row| row.get(0))?;
    Ok(norms.collect::<Result<_, _>>()?)
}

/// Updates the names of documents with one of these headings, of which `doc` was written or removed: the heading if it
/// is unique, else the title.
pub(super) fn show(
    tx: &Transaction<'_>,
    doc: i64,
    norms: &BTreeSet<String>,
) -> Result<(), StoreError> {
    let mut is_shared =
        tx.prepare_cached("SELECT 1 FROM headings WHERE norm = ?1 LIMIT 1 OFFSET 2")?;
    // Of three and more, also before this document came or went, none shows it: only this one has to learn that.
    let mut show_title = tx.prepare_cached(
        "UPDATE entities SET name = h.otherwise FROM headings h
         WHERE h.doc_id = ?2 AND h.norm = ?1 AND entities.doc_id = ?2 AND entities.name <> h.otherwise",
    )?;
    let mut show_each = tx.prepare_cached(
        "UPDATE entities SET name = shown.name FROM
           (SELECT h.doc_id, iif(
              (SELECT count(*) FROM headings WHERE norm = ?1) = 1
                AND NOT EXISTS (SELECT 1 FROM names n JOIN stated s ON s.name_id = n.id
                                WHERE n.norm = ?1 AND s.doc_id <> h.doc_id),
              h.surface, h.otherwise) AS name
            FROM headings h WHERE h.norm = ?1) AS shown
         WHERE entities.doc_id = shown.doc_id AND entities.name <> shown.name",
    )?;
    for norm in norms {
        match is_shared.exists([norm])? {
            true => show_title.execute(params![norm, doc])?,
            false => show_each.execute([norm])?,
        };
    }
    Ok(())
}
