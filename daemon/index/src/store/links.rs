//! Links: the targets of notes' links.
//!
//! In: the names of documents (`doc_names`, `notes`), links with their keys. Out: `note_links.dst`, and the parties of
//! relations that links state.
//! Invariants: once no key is dirty, every link has the target that [`notes::resolve`] chooses, in whatever order
//! documents arrived; a step costs the same however many links a key has.

use std::collections::BTreeSet;
use std::collections::hash_map::Entry;

use notes::parse::LinkKind;
use notes::resolve::Keys;
use notes::slug::slug;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};
use rustc_hash::FxHashMap;

use super::commit::{self, link_kind, senses_0};
use super::positions::{Position, Positions};
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
               AND (?2 OR NOT EXISTS (SELECT 1 FROM notes n WHERE n.base = work.key LIMIT 1 OFFSET ?3)) LIMIT 1",
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
    let mut step = Step::default();
    while left > 0 {
        let due: Option<(String, i64)> = tx
            .prepare_cached("SELECT key, value FROM work WHERE kind = ?1 LIMIT 1")?
            .query_row([Work::Link], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        let Some((key, after)) = due else { break };
        has_worked = true;
        // A key without links costs a unit, too, so that the loop ends.
        left -= step.reresolve(tx, &key, after, left)?.max(1);
    }
    step.moved.into_iter().try_for_each(|doc| relate(tx, doc))?;
    Ok(has_worked)
}

/// What one step has read and must still do.
#[derive(Default)]
struct Step {
    /// The texts of links, by document.
    named: FxHashMap<i64, Vec<(Position, i64)>>,
    /// Documents with a link whose target changed.
    moved: BTreeSet<i64>,
}

impl Step {
    /// Resolves some links of a key again, those of documents after `after`; returns how many.
    fn reresolve(
        &mut self,
        tx: &Connection,
        key: &str,
        after: i64,
        most: i64,
    ) -> Result<i64, StoreError> {
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
        for of_doc in links.chunk_by(|a, b| a.0 == b.0) {
            self.reresolve_in(tx, of_doc)?;
        }
        Work::Link.remove(tx, [key])?;
        if let Some((doc, _)) = links.last().filter(|_| !is_all) {
            Work::Link.add_with(*doc, tx, [key])?;
        }
        Ok(links.len() as i64)
    }

    /// Resolves some links of one document again.
    fn reresolve_in(&mut self, tx: &Connection, links: &[(i64, i64)]) -> Result<(), StoreError> {
        let Some((doc, _)) = links.first() else { return Ok(()) };
        let named = match self.named.entry(*doc) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(names_of_links(tx, *doc)?),
        };
        let mut find = tx.prepare_cached(
            "SELECT d.path, l.kind, l.target, l.dst, l.start, l.end FROM note_links l
             JOIN docs d ON d.id = l.doc_id WHERE l.doc_id = ?1 AND l.seq = ?2",
        )?;
        let mut set =
            tx.prepare_cached("UPDATE note_links SET dst = ?3 WHERE doc_id = ?1 AND seq = ?2")?;
        for (doc, seq) in links {
            let mut rows = find.query([doc, seq])?;
            let Some(row) = rows.next()? else { continue };
            let (path, kind, target): (String, i64, String) =
                (row.get(0)?, row.get(1)?, row.get(2)?);
            let (start, end): (i64, i64) = (row.get(4)?, row.get(5)?);
            // Also if its target stays: the link may have been written again since the key became dirty.
            let from = named.partition_point(|(it, _)| it.start < start as u64);
            let inside = named.iter().skip(from).take_while(|(it, _)| it.end <= end as u64);
            let names = inside.map(|(_, name)| *name).collect();
            Work::Gather.add(tx, senses_0(tx, names, &BTreeSet::new())?)?;
            let kind = link_kind(kind);
            let Some(keys) = Keys::of(&path, kind, &target) else { continue };
            let dst = resolve_link(tx, &path, kind, &target, &keys)?;
            if dst != row.get(3)? {
                set.execute(params![doc, seq, dst])?;
                self.moved.insert(*doc);
            }
        }
        Ok(())
    }
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

/// Returns the mentions in a document that are texts of links, each with the row of its name, by place; of two at one
/// byte, the shorter first.
fn names_of_links(tx: &Connection, doc: i64) -> Result<Vec<(Position, i64)>, StoreError> {
    let mut statement =
        tx.prepare_cached("SELECT positions, name_id FROM mentions WHERE doc_id = ?1")?;
    let mut found = Vec::new();
    let mut rows = statement.query([doc])?;
    while let Some(row) = rows.next()? {
        let (Positions(all), name) = (row.get(0)?, row.get(1)?);
        let stated = all.into_iter().filter(|it| it.recognizer == RecognizerKind::Stated as i64);
        found.extend(stated.map(|it| (it, name)));
    }
    found.sort_by_key(|(it, _)| (it.at, it.end));
    Ok(found)
}

/// Updates the relations of a document's links to name the documents that the links resolve to. An unresolved link
/// names a thing without a note, with three exceptions that resolve to nothing: a link with a folder and a Markdown
/// link, which name files, and a link with a display text or another link inside, whose name is in no text.
pub(super) fn relate(tx: &Connection, doc: i64) -> Result<(), StoreError> {
    let mut statement = tx.prepare_cached(
        "SELECT seq, subject, subject_link, subject_at, object, object_link, object_at FROM evidence
         WHERE doc_id = ?1 AND (subject_link IS NOT NULL OR object_link IS NOT NULL)",
    )?;
    let party = |row: &Row<'_>, at: usize| -> rusqlite::Result<Stated> {
        Ok((row.get(at)?, row.get(at + 1)?, row.get(at + 2)?))
    };
    let statements: Vec<(i64, [Stated; 2])> = statement
        .query_map([doc], |row| Ok((row.get(0)?, [party(row, 1)?, party(row, 4)?])))?
        .collect::<rusqlite::Result<_>>()?;
    if statements.is_empty() {
        return Ok(());
    }
    let mut statement = tx.prepare_cached(
        "SELECT seq, dst, kind IN (?2, ?3) AND instr(target, '/') = 0 AND instr(target, '[[') = 0 AND display IS NULL
         FROM note_links WHERE doc_id = ?1",
    )?;
    let values = params![doc, LinkKind::Wiki as i64, LinkKind::Embed as i64];
    let links: FxHashMap<i64, (Option<i64>, bool)> = statement
        .query_map(values, |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))))?
        .collect::<rusqlite::Result<_>>()?;
    let mut named: FxHashMap<i64, i64> = FxHashMap::default();
    if links.values().any(|(dst, is_name)| dst.is_none() && *is_name) {
        for (it, name) in names_of_links(tx, doc)? {
            named.entry(it.at as i64).or_insert(name);
        }
    }
    let denoted = |(now, link, at): Stated| match link.map(|link| links.get(&link)) {
        None => now,
        Some(Some((Some(dst), _))) => -dst,
        Some(Some((None, true))) => named.get(&at).copied().unwrap_or(0),
        Some(_) => 0,
    };
    let mut update = tx.prepare_cached(
        "UPDATE evidence SET subject = ?3, object = ?4 WHERE doc_id = ?1 AND seq = ?2",
    )?;
    for (seq, parties) in statements {
        let [subject, object] = parties.map(denoted);
        if [subject, object] != parties.map(|it| it.0) {
            update.execute([doc, seq, subject, object])?;
        }
    }
    Ok(())
}

/// A party of a relation as stored: what it denotes, its link, and the byte of the text.
type Stated = (i64, Option<i64>, i64);

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
