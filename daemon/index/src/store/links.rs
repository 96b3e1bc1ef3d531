//! Links: the targets of notes' links.
//!
//! In: the names of documents (`doc_names`, `notes`), links with their keys. Out: `note_links.dst`, and the parties of
//! relations that links state.
//! Invariants: once no key is dirty, every link has the target that [`notes::resolve`] chooses, in whatever order
//! documents arrived; a step costs the same however many links a key has.

use notes::parse::LinkKind;
use notes::resolve::Keys;
use notes::slug::slug;
use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::commit::{self, link_kind};
use super::resolve::resolve_link;
use super::work::Work;
use super::writer::{IndexWriter, set_meta_number};
use super::{StoreError, permalinks};
use crate::vectors::VectorChange;
use model::document::RecognizerKind;

/// Notes of one base whose permalinks are numbered while documents keep coming: each numbering reads all of them.
const MAX_WHEN_BUSY: i64 = 200;
/// Links resolved again in one step.
const LINKS_A_STEP: i64 = 500;

/// The keys of a link as stored: file, name and permalink, without repetitions.
pub(super) fn distinct(keys: Keys) -> (Option<String>, Option<String>, Option<String>) {
    let name = keys.name.filter(|name| *name != keys.file);
    let permalink = keys.permalink.filter(|it| *it != keys.file && Some(it) != name.as_ref());
    (Some(keys.file), name, permalink)
}

/// Returns the form in which headings are compared: their slug, as in Obsidian and on web pages.
pub fn place_key(heading: &str) -> String {
    slug(heading)
}

/// Marks the links with a key as dirty, if there are any, because their target may have changed.
pub(super) fn mark(tx: &Connection, key: &str) -> Result<(), StoreError> {
    let has_links: bool = tx
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM note_links WHERE file_key = ?1)
               OR EXISTS (SELECT 1 FROM note_links WHERE name_key = ?1)
               OR EXISTS (SELECT 1 FROM note_links WHERE permalink_key = ?1)",
        )?
        .query_row([key], |row| row.get(0))?;
    // A key that was half done starts over from document 0.
    if has_links { Work::Link.add(tx, [key]) } else { Ok(()) }
}

/// Does one step within the transaction of a commit that somebody waits for.
pub(super) fn settle_soon(tx: &Connection) -> Result<(), StoreError> {
    settle(tx, false)?;
    Ok(())
}

/// Does one step: the permalinks of one base, or some links. Returns false if there was nothing to do; the bases of
/// very many notes wait until no document comes.
fn settle(tx: &Connection, when_quiet: bool) -> Result<bool, StoreError> {
    let base: Option<String> = tx
        .prepare_cached(
            "SELECT key FROM work WHERE kind = ?1
               AND (?2 OR NOT EXISTS (SELECT 1 FROM notes n WHERE n.base = key LIMIT 1 OFFSET ?3)) LIMIT 1",
        )?
        .query_row(params![Work::Number, when_quiet, MAX_WHEN_BUSY], |row| row.get(0))
        .optional()?;
    if let Some(base) = base {
        Work::Number.remove(tx, [&base])?;
        permalinks::number_all(tx, &base)?;
        return Ok(true);
    }
    let mut left = LINKS_A_STEP;
    let mut has_worked = false;
    while left > 0 {
        let due: Option<(String, i64)> = tx
            .prepare_cached("SELECT key, value FROM work WHERE kind = ?1 LIMIT 1")?
            .query_row([Work::Link], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        let Some((key, after)) = due else { break };
        has_worked = true;
        // A key without links costs a unit, too, so that the loop ends.
        left -= reresolve(tx, &key, after, left)?.max(1);
    }
    Ok(has_worked)
}

/// Resolves some links of a key again, those of documents after `after`; returns how many.
fn reresolve(tx: &Connection, key: &str, after: i64, most: i64) -> Result<i64, StoreError> {
    let mut statement = tx.prepare_cached(
        "SELECT doc_id, seq FROM note_links WHERE file_key = ?1 AND doc_id > ?2
         UNION SELECT doc_id, seq FROM note_links WHERE name_key = ?1 AND doc_id > ?2
         UNION SELECT doc_id, seq FROM note_links WHERE permalink_key = ?1 AND doc_id > ?2
         ORDER BY doc_id, seq LIMIT ?3",
    )?;
    let mut links: Vec<(i64, i64)> = statement
        // One more than wanted shows whether the key is finished.
        .query_map(params![key, after, most + 1], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    let last = links.last().map_or(0, |(doc, _)| *doc);
    let is_all = links.len() as i64 <= most;
    if !is_all && links.first().is_some_and(|(doc, _)| *doc < last) {
        // `after` counts documents, so the last one, which may be incomplete, is left to the next step.
        links.retain(|(doc, _)| *doc < last);
    } else if !is_all {
        // A single document has more links than a step: all of them are done at once.
        links = links_of(tx, key, last)?;
    }
    for (doc, seq) in &links {
        reresolve_one(tx, *doc, *seq)?;
    }
    Work::Link.remove(tx, [key])?;
    if let Some((doc, _)) = links.last().filter(|_| !is_all) {
        Work::Link.add_with(*doc, tx, [key])?;
    }
    Ok(links.len() as i64)
}

/// Returns all links with a key in one document.
fn links_of(tx: &Connection, key: &str, doc: i64) -> Result<Vec<(i64, i64)>, StoreError> {
    let mut statement = tx.prepare_cached(
        "SELECT doc_id, seq FROM note_links
         WHERE doc_id = ?2 AND (file_key = ?1 OR name_key = ?1 OR permalink_key = ?1)",
    )?;
    let rows = statement.query_map(params![key, doc], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn reresolve_one(tx: &Connection, doc: i64, seq: i64) -> Result<(), StoreError> {
    // Also if its target stays: the link may have been written again since the key became dirty.
    let names = "SELECT z.id FROM note_links l
       JOIN mentions m ON m.doc_id = l.doc_id AND m.recognizer = ?3 AND m.start >= l.start AND m.end <= l.end
       JOIN names n ON n.id = m.name_id JOIN names z ON z.norm = n.norm AND z.sense = 0
       WHERE l.doc_id = ?1 AND l.seq = ?2";
    Work::Gather.add_selected(tx, names, params![doc, seq, RecognizerKind::Stated as i64])?;
    let found: Option<(String, i64, String, Option<i64>)> = tx
        .prepare_cached(
            "SELECT d.path, l.kind, l.target, l.dst FROM note_links l JOIN docs d ON d.id = l.doc_id
             WHERE l.doc_id = ?1 AND l.seq = ?2",
        )?
        .query_row([doc, seq], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
        .optional()?;
    let Some((path, kind, target, old)) = found else { return Ok(()) };
    let kind = link_kind(kind);
    let Some(keys) = Keys::of(kind, &target) else { return Ok(()) };
    let dst = resolve_link(tx, &path, kind, &target, &keys)?;
    if dst != old {
        tx.prepare_cached("UPDATE note_links SET dst = ?3 WHERE doc_id = ?1 AND seq = ?2")?
            .execute(params![doc, seq, dst])?;
        relate(tx, doc, Some(seq))?;
    }
    Ok(())
}

/// Updates the relations of a document's links, or of one of them, to name the documents that the links resolve to.
/// An unresolved link names a thing without a note, with three exceptions that resolve to nothing: a link with a
/// folder and a Markdown link, which name files, and a link with a display text or another link inside, whose name is
/// in no text.
pub(super) fn relate(tx: &Connection, doc: i64, seq: Option<i64>) -> Result<(), StoreError> {
    for party in ["subject", "object"] {
        tx.prepare_cached(&format!(
            "UPDATE evidence SET {party} = coalesce(
               (SELECT -l.dst FROM note_links l WHERE l.doc_id = ?1 AND l.seq = {party}_link AND l.dst IS NOT NULL),
               (SELECT m.name_id FROM note_links l JOIN mentions m ON m.doc_id = ?1 AND m.at = {party}_at
                  AND m.recognizer = ?3
                WHERE l.doc_id = ?1 AND l.seq = {party}_link AND l.kind IN (?4, ?5)
                  AND instr(l.target, '/') = 0 AND instr(l.target, '[[') = 0 AND l.display IS NULL),
               0)
             WHERE doc_id = ?1 AND {party}_link IS NOT NULL AND (?2 IS NULL OR {party}_link = ?2)"
        ))?
        .execute(params![
            doc,
            seq,
            RecognizerKind::Stated as i64,
            LinkKind::Wiki as i64,
            LinkKind::Embed as i64
        ])?;
    }
    Ok(())
}

impl IndexWriter {
    /// Does one step of the links and permalinks that commits made dirty, in a transaction of its own. Returns false
    /// if nothing was left to do.
    pub(super) fn settle_links(&mut self, when_quiet: bool) -> Result<bool, StoreError> {
        if !Work::Link.is_more_than(&self.db, 0)? && !Work::Number.is_more_than(&self.db, 0)? {
            return Ok(false);
        }
        let tick = self.next_tick()?;
        let tx: Transaction<'_> =
            self.db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        sys::fail::point("links.begun");
        if !settle(&tx, when_quiet)? {
            return Ok(false);
        }
        set_meta_number(&tx, "tick", tick.0)?;
        sys::fail::point("links.before");
        commit::commit(tx, &self.vectors, &self.changes, tick, VectorChange::default())?;
        sys::fail::point("links.after");
        self.tick = tick;
        Ok(true)
    }
}
