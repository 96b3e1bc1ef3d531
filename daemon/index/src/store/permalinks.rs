//! Permalinks: which note gets which address.
//!
//! In: the titles and claims of notes, the paths of documents, the addresses of files that are gone. Out:
//! `notes.base`, `notes.is_stated` and `notes.permalink`.
//! Rule: a note earns the slug of its title, its base. Notes with the same base are ordered, those that state it first,
//! then by number of folders and by path; the first gets the base, the others `base-1`, `base-2` …, skipping numbers
//! that belong to another note. A permalink that a note states, its claim, is granted only if it is no other file's
//! path, with or without extension, no other's title or slug of it, no folder with an index file, and no permalink that
//! another note earned; also not those of a file that was deleted or moved within 30 days, except to that file. So no
//! document takes over the address of another by naming it. A note whose claim is refused earns its permalink as if it
//! stated none. Claims are compared, granted and shown in one form ([`notes::resolve::permalink_key`]).
//! Invariants: every permalink is unique, and follows from the files and the ledger alone, in whatever order documents
//! arrived.

use std::collections::BTreeSet;

use config::limits::KEPT_DAYS;
use notes::resolve::{By, bare_key, file_key, folder_keys, name_key};
use notes::slug::{path_slug, slug};
use rusqlite::{Connection, OptionalExtension, params};

use super::StoreError;
use super::ledger::Ledger;
use super::links::mark;
use super::resolve::former_key;
use super::work::Work;
use model::terms::RelPath;

/// Most notes with one base whose permalinks are numbered at once; if there are more, the ripple does it.
const MAX_AT_ONCE: i64 = 50;
/// Most bases that one change numbers anew; the ripple does the rest.
const MAX_BASES: usize = 100;

/// Numbers the permalinks of a base, and of those that this affects. A base such as `plan-2` may equal a numbered
/// permalink of `plan`, which is then numbered, too. The ripple does it if there are many notes.
pub(super) fn number(tx: &Connection, base: &str) -> Result<(), StoreError> {
    let shorter = base.rsplit_once('-').filter(|(_, number)| is_number(number));
    let mut due: Vec<String> =
        shorter.map(|(shorter, _)| shorter.to_string()).into_iter().collect();
    due.push(base.to_string());
    let mut n_done = 0;
    while let Some(base) = due.pop() {
        let n: i64 = tx
            .prepare_cached(
                "SELECT count(*) FROM (SELECT 1 FROM notes WHERE base = ?1
                   UNION ALL SELECT 1 FROM doc_names WHERE key = ?1 AND kind = ?3 LIMIT ?2)",
            )?
            .query_row(params![base, MAX_AT_ONCE + 1, By::Claim as i64], |row| row.get(0))?;
        n_done += 1;
        if n > MAX_AT_ONCE || n_done > MAX_BASES {
            put_off(tx, &base)?;
        } else {
            due.extend(number_now(tx, &base)?);
        }
    }
    Ok(())
}

/// As [`number`], however many notes there are.
pub(super) fn number_all(tx: &Connection, base: &str) -> Result<(), StoreError> {
    for other in number_now(tx, base)? {
        number(tx, &other)?;
    }
    Ok(())
}

/// Leaves a base to the ripple.
fn put_off(tx: &Connection, base: &str) -> Result<(), StoreError> {
    Work::Number.add(tx, [base])
}

/// Numbers the claims of a permalink anew, if there are any, because another document came to it or left it.
pub(super) fn number_claimed(tx: &Connection, key: &str) -> Result<(), StoreError> {
    if is_claimed(tx, key)? { number(tx, key) } else { Ok(()) }
}

fn is_claimed(tx: &Connection, key: &str) -> Result<bool, StoreError> {
    let sql = "SELECT 1 FROM doc_names WHERE key = ?1 AND kind = ?2";
    Ok(tx.prepare_cached(sql)?.exists(params![key, By::Claim as i64])?)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Grants or refuses the claims of a base, then numbers its notes; returns the bases that this affects.
fn number_now(tx: &Connection, base: &str) -> Result<Vec<String>, StoreError> {
    let mut affected = decide_claims(tx, base)?;
    let mut statement = tx.prepare_cached(
        "SELECT n.doc_id, n.permalink, NOT n.is_stated AND EXISTS
           (SELECT 1 FROM doc_names c WHERE c.doc_id = n.doc_id AND c.kind = ?2) AS is_refused
         FROM notes n JOIN docs d ON d.id = n.doc_id WHERE n.base = ?1
         ORDER BY n.is_stated DESC, is_refused, length(d.path) - length(replace(d.path, '/', '')), d.path",
    )?;
    let notes: Vec<(i64, Option<String>, bool)> = statement
        .query_map(params![base, By::Claim as i64], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })?
        .collect::<Result<_, _>>()?;
    let mut n = 0;
    for (doc, old, is_refused) in &notes {
        let mut permalink = if n == 0 { base.to_string() } else { format!("{base}-{n}") };
        // A number that is the base of another note belongs to that note.
        while n > 0 && is_taken(tx, base, &permalink, *is_refused)? {
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
            // A claim of a number depends on whether that is earned.
            if key != base && is_claimed(tx, key)? {
                affected.push(key.clone());
            }
        }
    }
    Ok(affected)
}

/// Returns whether a number belongs to another note: one that earns it as its base, or one of this title that states
/// it. A claim by a note of another title never moves a number, except that of a note whose own claim was refused.
fn is_taken(
    tx: &Connection,
    base: &str,
    permalink: &str,
    is_refused: bool,
) -> Result<bool, StoreError> {
    let mut statement = tx.prepare_cached(
        "SELECT n.is_stated, d.title FROM notes n JOIN docs d ON d.id = n.doc_id WHERE n.base = ?1",
    )?;
    let mut rows = statement.query([permalink])?;
    while let Some(row) = rows.next()? {
        let is_stated: bool = row.get(0)?;
        if !is_stated || is_refused || slug(row.get_ref(1)?.as_str().unwrap_or_default()) == base {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Decides the claims of a permalink; returns the other bases of the notes whose claim was granted or refused.
fn decide_claims(tx: &Connection, claim: &str) -> Result<Vec<String>, StoreError> {
    let mut statement = tx.prepare_cached(
        "SELECT n.doc_id, d.path, d.title, n.base, n.is_stated FROM doc_names c
         JOIN notes n ON n.doc_id = c.doc_id JOIN docs d ON d.id = n.doc_id WHERE c.key = ?1 AND c.kind = ?2",
    )?;
    let claimants: Vec<(i64, String, String, String, bool)> = statement
        .query_map(params![claim, By::Claim as i64], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
        })?
        .collect::<Result<_, _>>()?;
    let mut affected = Vec::new();
    for (doc, path, title, was_base, was_stated) in claimants {
        let is_granted = holder(tx, claim, &path, &title)?.is_none();
        let base = if is_granted { claim.to_string() } else { slug(&title) };
        if (&base, is_granted) == (&was_base, was_stated) {
            continue;
        }
        tx.prepare_cached("UPDATE notes SET base = ?2, is_stated = ?3 WHERE doc_id = ?1")?
            .execute(params![doc, base, is_granted])?;
        affected.extend([base, was_base].into_iter().filter(|it| it != claim));
    }
    Ok(affected)
}

/// The names of a document that no other may have as its permalink by stating it.
pub(super) const KEPT: [By; 6] =
    [By::Path, By::BarePath, By::PathSlug, By::Folder, By::Slug, By::Title];

/// Returns the path of the file to which a permalink belongs that the note at `path` with this title states; `None` if
/// it may have it. `claim` is a [`notes::resolve::permalink_key`].
///
/// # Errors
/// When the index cannot be read.
pub(crate) fn holder(
    db: &Connection,
    claim: &str,
    path: &str,
    title: &str,
) -> Result<Option<String>, StoreError> {
    // A note may state the slug of its own path, and of its own title, for which the notes of that title compete.
    let is_own_path = path_slug(path) == claim;
    let is_own_title = slug(title) == claim || name_key(title) == claim;
    let is_other = |by: &By| match by {
        By::PathSlug => !is_own_path,
        By::Slug | By::Title => !is_own_title,
        By::Folder => !is_own_path && !is_own_title,
        _ => true,
    };
    let kinds = KEPT.into_iter().filter(is_other).map(|by| (by as i64).to_string());
    let kinds = kinds.collect::<Vec<_>>().join(", ");
    let live = format!(
        "SELECT d.path FROM doc_names n JOIN docs d ON d.id = n.doc_id
         WHERE n.key = ?1 AND n.kind IN ({kinds}) AND d.path <> ?2 ORDER BY d.path LIMIT 1"
    );
    let first = |sql: &str| -> Result<Option<String>, StoreError> {
        let mut statement = db.prepare_cached(sql)?;
        Ok(statement.query_row([claim, path], |row| row.get(0)).optional()?)
    };
    if let Some(at) = first(&live)? {
        return Ok(Some(at));
    }
    if is_own_title {
        return Ok(None);
    }
    let gone = "SELECT path FROM gone_names WHERE key = ?1 AND path <> ?2
                  AND uid IS NOT (SELECT uid FROM docs WHERE path = ?2) ORDER BY path LIMIT 1";
    let number = claim.rsplit_once('-').filter(|(base, n)| is_number(n) && *base == slug(title));
    match first(gone)? {
        None if number.is_none() => first(&format!(
            "SELECT d.path FROM notes o JOIN docs d ON d.id = o.doc_id
             WHERE o.permalink = ?1 AND NOT o.is_stated AND d.path <> ?2
               AND NOT EXISTS (SELECT 1 FROM doc_names c WHERE c.doc_id = o.doc_id AND c.kind = {})
             ORDER BY d.path LIMIT 1",
            By::Claim as i64
        )),
        gone => Ok(gone),
    }
}

/// Returns the path of another file that has a permalink, or to which it belongs: as [`holder`], but of several notes
/// that state it one has it.
///
/// # Errors
/// When the index cannot be read.
pub(crate) fn bearer(
    db: &Connection,
    claim: &str,
    path: &str,
    title: &str,
) -> Result<Option<String>, StoreError> {
    let sql = "SELECT d.path FROM notes n JOIN docs d ON d.id = n.doc_id
               WHERE n.permalink = ?1 AND d.path <> ?2";
    let found = db.prepare_cached(sql)?.query_row([claim, path], |row| row.get(0)).optional()?;
    if found.is_some() { Ok(found) } else { holder(db, claim, path, title) }
}

/// A permalink that a note states and does not get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The path of the note.
    pub path: String,
    /// What it states.
    pub permalink: String,
    /// The path of the file to which it belongs.
    pub holder: String,
    /// That file was deleted.
    pub is_gone: bool,
}

/// Returns the permalinks that are stated and refused, by path.
///
/// # Errors
/// When the index cannot be read.
pub(crate) fn refused(db: &Connection, most: usize) -> Result<Vec<Refused>, StoreError> {
    let mut statement = db.prepare_cached(
        "SELECT d.path, c.key, d.title FROM doc_names c JOIN notes n ON n.doc_id = c.doc_id
         JOIN docs d ON d.id = n.doc_id WHERE c.kind = ?1 AND NOT (n.is_stated AND n.permalink IS c.key)
         ORDER BY d.path LIMIT ?2",
    )?;
    let rows = statement.query_map(params![By::Claim as i64, most as i64], |row| {
        Ok((row.get(0)?, row.get(1)?, row.get::<_, String>(2)?))
    })?;
    let mut refused = Vec::new();
    for row in rows {
        let (path, permalink, title): (String, String, String) = row?;
        if let Some(holder) = bearer(db, &permalink, &path, &title)? {
            let mut statement = db.prepare_cached("SELECT 1 FROM docs WHERE path = ?1")?;
            let is_gone = !statement.exists([&holder])?;
            refused.push(Refused { path, permalink, holder, is_gone });
        }
    }
    Ok(refused)
}

/// Remembers the addresses of a document that is about to be removed.
pub(super) fn bury(tx: &Connection, path: &RelPath, now_ms: i64) -> Result<(), StoreError> {
    let row: Option<(String, Option<String>)> = tx
        .prepare_cached(
            "SELECT d.uid, n.permalink FROM docs d LEFT JOIN notes n ON n.doc_id = d.id WHERE d.path = ?1",
        )?
        .query_row([path.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((uid, permalink)) = row else { return Ok(()) };
    remember(tx, &GoneDocument { path: path.to_string(), uid, permalink, gone_ms: now_ms })
}

/// A document whose file was deleted or moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GoneDocument {
    pub(super) path: String,
    pub(super) uid: String,
    /// The permalink that it had; `None` if that is unknown, or if it still has it.
    pub(super) permalink: Option<String>,
    pub(super) gone_ms: i64,
}

/// Remembers the addresses of a document that is gone from its path.
pub(super) fn remember(tx: &Connection, gone: &GoneDocument) -> Result<(), StoreError> {
    // With a slash before it, which no claim has, the file's name.
    let name = format!("/{}", file_key(&gone.path));
    let folders = folder_keys(&gone.path).into_iter().flatten();
    let folders = folders.map(|key| former_key(By::Folder, key));
    let keys = [bare_key(&gone.path), path_slug(&gone.path), gone.path.clone(), name];
    let keys = keys.into_iter().chain(folders).chain(gone.permalink.clone());
    let mut insert =
        tx.prepare_cached("INSERT OR REPLACE INTO gone_names VALUES(?1, ?2, ?3, ?4)")?;
    for key in keys.collect::<BTreeSet<_>>() {
        insert.execute(params![key, gone.path, gone.uid, gone.gone_ms])?;
    }
    Ok(())
}

/// Frees the addresses of the document that was at a path, because one is there again. Where else a document appears
/// does not free them: a copy of its text, or its move, is no reason to give its path to another.
pub(super) fn unbury(tx: &Connection, path: &RelPath) -> Result<(), StoreError> {
    let mut statement =
        tx.prepare_cached("DELETE FROM gone_names WHERE path = ?1 RETURNING key")?;
    let keys: Vec<String> =
        statement.query_map([path.as_str()], |row| row.get(0))?.collect::<Result<_, _>>()?;
    keys.iter().try_for_each(|key| number_claimed(tx, key))
}

/// Marks the links to the former addresses of a document.
pub(super) fn mark_former(tx: &Connection, doc: i64) -> Result<(), StoreError> {
    let mut statement = tx.prepare_cached(
        "SELECT DISTINCT path FROM gone_names WHERE uid = (SELECT uid FROM docs WHERE id = ?1)",
    )?;
    let paths: Vec<String> =
        statement.query_map([doc], |row| row.get(0))?.collect::<Result<_, _>>()?;
    for path in paths {
        mark(tx, &file_key(&path))?;
        mark(tx, &file_key(&bare_key(&path)))?;
        for key in folder_keys(&path).into_iter().flatten() {
            mark(tx, &key)?;
        }
    }
    Ok(())
}

/// Takes over from the ledger which documents were deleted or moved within 30 days; the ripple decides the claims that
/// this concerns.
pub(super) fn know_gone(db: &Connection, ledger: &Ledger) -> Result<(), StoreError> {
    let since_ms = ledger.written_before(KEPT_DAYS)?.unwrap_or(i64::MIN);
    let keys = || -> Result<BTreeSet<String>, StoreError> {
        let mut statement = db.prepare_cached("SELECT key FROM gone_names")?;
        Ok(statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?)
    };
    let before = keys()?;
    let tx = db.unchecked_transaction()?;
    db.execute("DELETE FROM gone_names", [])?;
    for gone in ledger.gone_since(since_ms)? {
        remember(db, &gone)?;
    }
    for key in before.symmetric_difference(&keys()?) {
        if is_claimed(db, key)? {
            put_off(db, key)?;
        }
    }
    Ok(tx.commit()?)
}
