//! Links: the targets of notes' links, and the permalinks of notes.
//!
//! In: the names of documents (`doc_names`, `notes`), links with their keys. Out: `note_links.dst`, the parties of
//! relations that links state, and `notes.permalink`.
//! Permalinks: notes with the same base are ordered, those that state it first, then by number of folders and by
//! path; the first gets the base, the others `base-1`, `base-2` …, skipping numbers that are the base of another
//! note. So permalinks follow from the files alone: a new note that comes first takes over the permalink, which is
//! why a permalink that must last is stated in the file.
//! Invariants: once no key is dirty, every link has the target that [`notes::resolve`] chooses, and every permalink
//! is unique, in whatever order documents arrived; a step costs the same however many links a key has.
//! Not here: marking at a commit (`commit/note.rs`).

use notes::parse::LinkKind;
use notes::resolve::{By, Candidate, Keys, choose, paths_above};
use notes::slug::slug;
use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::StoreError;
use super::commit::{self, link_kind};
use super::writer::{IndexWriter, set_meta_number};
use crate::vectors::VectorChange;
use model::parcel::RecognizerKind;

/// `doc_names.kind` of the slug of a path; smaller values are [`By`].
pub const BY_PATH_SLUG: i64 = 5;
/// `doc_names.kind` of the path as it is.
pub(crate) const BY_PATH: i64 = 6;

/// Most documents with one name that are compared; if there are more, only exact paths are considered.
const MAX_CANDIDATES: i64 = 1_000;
/// Links resolved again in one step.
const LINKS_A_STEP: i64 = 500;
/// Most notes with one base whose permalinks are numbered at once; if there are more, the ripple does it.
const MAX_AT_ONCE: i64 = 50;
/// As [`MAX_AT_ONCE`], for the ripple while documents keep coming: each numbering reads all notes of the base.
const MAX_WHEN_BUSY: i64 = 200;

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
    if has_links {
        // `REPLACE` starts over from document 0 if the key was half done.
        tx.prepare_cached("INSERT OR REPLACE INTO dirty_links VALUES(?1, 0)")?.execute([key])?;
    }
    Ok(())
}

/// Returns the document that a link resolves to, or `None`.
pub fn lead(
    db: &Connection,
    from: &str,
    kind: LinkKind,
    target: &str,
    keys: &Keys,
) -> Result<Option<i64>, StoreError> {
    let mut found: Vec<(i64, String, By)> = Vec::new();
    let is_path = keys.name.is_none();
    let kinds: &[By] = if is_path { &[By::FileName, By::Folder] } else { &[By::FileName] };
    for by in kinds {
        named(db, &keys.file, *by, from, target, &mut found)?;
    }
    // A file name always wins, so titles and aliases need not be read if one matches.
    let is_found = |found: &[(i64, String, By)]| {
        let candidates = candidates_of(found);
        choose(from, kind, target, &candidates).and_then(|idx| Some(found.get(idx)?.0))
    };
    let by_file = is_found(&found);
    if by_file.is_some() {
        return Ok(by_file);
    }
    if let Some(name) = &keys.name {
        named(db, name, By::Title, from, target, &mut found)?;
        named(db, name, By::Alias, from, target, &mut found)?;
    }
    if let Some(permalink) = &keys.permalink {
        let mut statement = db.prepare_cached(
            "SELECT d.id, d.path FROM notes n JOIN docs d ON d.id = n.doc_id WHERE n.permalink = ?1",
        )?;
        let rows = statement.query_map([permalink], |row| Ok((row.get(0)?, row.get(1)?)))?;
        for row in rows {
            let (id, path) = row?;
            found.push((id, path, By::Permalink));
        }
    }
    Ok(is_found(&found))
}

fn candidates_of(found: &[(i64, String, By)]) -> Vec<Candidate<'_>> {
    found.iter().map(|(_, path, by)| Candidate { path, by: *by }).collect()
}

/// Adds the documents that have a name; if there are too many, only those at paths that the target may mean.
fn named(
    db: &Connection,
    key: &str,
    by: By,
    from: &str,
    target: &str,
    found: &mut Vec<(i64, String, By)>,
) -> Result<(), StoreError> {
    // The inner limit bounds the count: a common name such as README may have many rows.
    let n: i64 = db
        .prepare_cached(
            "SELECT count(*) FROM (SELECT 1 FROM doc_names WHERE key = ?1 AND kind = ?2 LIMIT ?3)",
        )?
        .query_row(params![key, by as i64, MAX_CANDIDATES + 1], |row| row.get(0))?;
    if n > MAX_CANDIDATES {
        let target = target.trim_end_matches('/');
        let paths = match by {
            By::FileName => paths_above(from, target),
            By::Folder => paths_above(from, &format!("{target}/README")),
            // Titles and aliases say nothing about a path.
            _ => Vec::new(),
        };
        for path in paths {
            let id: Option<i64> = db
                .prepare_cached("SELECT id FROM docs WHERE path = ?1")?
                .query_row([&path], |row| row.get(0))
                .optional()?;
            found.extend(id.map(|id| (id, path, by)));
        }
        return Ok(());
    }
    let mut statement = db.prepare_cached(
        "SELECT d.id, d.path FROM doc_names n JOIN docs d ON d.id = n.doc_id WHERE n.key = ?1 AND n.kind = ?2",
    )?;
    let rows =
        statement.query_map(params![key, by as i64], |row| Ok((row.get(0)?, row.get(1)?)))?;
    for row in rows {
        let (id, path) = row?;
        found.push((id, path, by));
    }
    Ok(())
}

/// Numbers the permalinks of a base. A base such as `plan-2` may equal a numbered permalink of `plan`, which is then
/// numbered, too. The ripple does it if there are many notes.
pub(super) fn number(tx: &Connection, base: &str) -> Result<(), StoreError> {
    let shorter = base.rsplit_once('-').filter(|(_, number)| is_number(number));
    for base in [Some(base), shorter.map(|(shorter, _)| shorter)].into_iter().flatten() {
        let n: i64 = tx
            .prepare_cached("SELECT count(*) FROM (SELECT 1 FROM notes WHERE base = ?1 LIMIT ?2)")?
            .query_row(params![base, MAX_AT_ONCE + 1], |row| row.get(0))?;
        if n > MAX_AT_ONCE {
            tx.prepare_cached("INSERT OR IGNORE INTO dirty_permalinks VALUES(?1)")?
                .execute([base])?;
        } else {
            number_now(tx, base)?;
        }
    }
    Ok(())
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn number_now(tx: &Connection, base: &str) -> Result<(), StoreError> {
    let mut statement = tx.prepare_cached(
        "SELECT n.doc_id, n.permalink FROM notes n JOIN docs d ON d.id = n.doc_id WHERE n.base = ?1
         ORDER BY n.is_stated DESC, length(d.path) - length(replace(d.path, '/', '')), d.path",
    )?;
    let notes: Vec<(i64, Option<String>)> = statement
        .query_map([base], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    let mut n = 0;
    for (doc, old) in &notes {
        let mut permalink = if n == 0 { base.to_string() } else { format!("{base}-{n}") };
        // A number that is the base of another note belongs to that note.
        while n > 0 && is_base(tx, &permalink)? {
            n += 1;
            permalink = format!("{base}-{n}");
        }
        n += 1;
        if old.as_ref() == Some(&permalink) {
            continue;
        }
        tx.prepare_cached("UPDATE notes SET permalink = ?2 WHERE doc_id = ?1")?
            .execute(params![doc, permalink])?;
        // Links to the old permalink may have lost their target, links to the new one may have got theirs.
        for key in old.iter().chain([&permalink]) {
            mark(tx, key)?;
        }
    }
    Ok(())
}

fn is_base(tx: &Connection, permalink: &str) -> Result<bool, StoreError> {
    Ok(tx
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM notes WHERE base = ?1)")?
        .query_row([permalink], |row| row.get(0))?)
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
            "SELECT base FROM dirty_permalinks d
             WHERE ?1 OR NOT EXISTS (SELECT 1 FROM notes n WHERE n.base = d.base LIMIT 1 OFFSET ?2) LIMIT 1",
        )?
        .query_row(params![when_quiet, MAX_WHEN_BUSY], |row| row.get(0))
        .optional()?;
    if let Some(base) = base {
        tx.prepare_cached("DELETE FROM dirty_permalinks WHERE base = ?1")?.execute([&base])?;
        number_now(tx, &base)?;
        return Ok(true);
    }
    let mut left = LINKS_A_STEP;
    let mut has_worked = false;
    while left > 0 {
        let dirty: Option<(String, i64)> = tx
            .prepare_cached("SELECT key, after FROM dirty_links LIMIT 1")?
            .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        let Some((key, after)) = dirty else { break };
        has_worked = true;
        // A key without links costs a unit, too, so that the loop ends.
        left -= lead_anew(tx, &key, after, left)?.max(1);
    }
    Ok(has_worked)
}

/// Resolves some links of a key again, those of documents after `after`; returns how many.
fn lead_anew(tx: &Connection, key: &str, after: i64, most: i64) -> Result<i64, StoreError> {
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
        lead_one(tx, *doc, *seq)?;
    }
    match links.last().filter(|_| !is_all) {
        Some((doc, _)) => tx
            .prepare_cached("UPDATE dirty_links SET after = ?2 WHERE key = ?1")?
            .execute(params![key, doc])?,
        None => tx.prepare_cached("DELETE FROM dirty_links WHERE key = ?1")?.execute([key])?,
    };
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

fn lead_one(tx: &Connection, doc: i64, seq: i64) -> Result<(), StoreError> {
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
    let dst = lead(tx, &path, kind, &target, &keys)?;
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
        if !has_work(&self.db)? {
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

fn has_work(db: &Connection) -> Result<bool, StoreError> {
    let sql =
        "SELECT EXISTS (SELECT 1 FROM dirty_links) OR EXISTS (SELECT 1 FROM dirty_permalinks)";
    Ok(db.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
}
