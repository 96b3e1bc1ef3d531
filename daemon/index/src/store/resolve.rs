//! Resolve: finds the documents that a name means, for links and for callers.
//!
//! In: a name; for a link, the path of its note as well. Out: documents.
//! Invariants: links, tools, commands and resources try the names of [`notes::resolve`] in one order; a step costs the
//! same however many documents have a name.

use notes::parse::LinkKind;
use notes::resolve::{
    By, Candidate, Keys, LINK_ORDER, ORDER, bare_key, choose, file_key, is_at, is_id, is_name,
    name_key, path_key, paths_above, spots,
};
use notes::slug::without_extension;
use notes::target::joined;
use rusqlite::{Connection, params};

use super::StoreError;
use model::terms::norm_of;

/// Most documents with one name that are compared; if there are more, only exact paths are considered.
const MAX_CANDIDATES: i64 = 1_000;
/// Most documents that are returned for a name.
const MAX_NAMED: i64 = 50;

/// Returns the documents that a name means, and the first step that finds some. A `memory://` address tries the
/// permalink before the path (S0 §7.3).
///
/// # Errors
/// When the index cannot be read.
pub(crate) fn resolve(
    db: &Connection,
    name: &str,
    is_uri: bool,
) -> Result<Option<(By, Vec<i64>)>, StoreError> {
    let first = is_uri.then_some(By::Permalink);
    for by in first.into_iter().chain(ORDER) {
        let found = named(db, by, name)?;
        if !found.is_empty() {
            return Ok(Some((by, found)));
        }
    }
    Ok(None)
}

/// Returns the documents that have a name of one kind.
///
/// # Errors
/// When the index cannot be read.
pub(crate) fn named(db: &Connection, by: By, name: &str) -> Result<Vec<i64>, StoreError> {
    let Some(key) = by.key(name) else { return Ok(Vec::new()) };
    let found = rows(db, by, &key, name, MAX_NAMED)?;
    // A note goes before another file of its name, and what is written so before another case.
    let rank = |path: &str| {
        let bare = without_extension(path);
        (bare == path, bare != name)
    };
    let is_path = matches!(by, By::BarePath | By::PathSlug);
    let best = found.iter().map(|(_, path)| rank(path)).min().filter(|_| is_path);
    let found = found.iter().filter(|(_, path)| best.is_none_or(|best| rank(path) == best));
    Ok(found.map(|(doc, _)| *doc).collect())
}

/// Returns documents by the key of a name, with their paths.
fn rows(
    db: &Connection,
    by: By,
    key: &str,
    name: &str,
    most: i64,
) -> Result<Vec<(i64, String)>, StoreError> {
    let sql = match by {
        By::Path => "SELECT id, path, NULL FROM docs WHERE path = ?1 AND ?2 = ?2 LIMIT ?3",
        By::Permalink | By::Slug => {
            "SELECT d.id, d.path, iif(n.is_stated, NULL, d.title) FROM notes n JOIN docs d ON d.id = n.doc_id
             WHERE n.permalink = ?1 AND ?2 = ?2 LIMIT ?3"
        }
        _ => {
            "SELECT d.id, d.path, d.path FROM doc_names n JOIN docs d ON d.id = n.doc_id
             WHERE n.key = ?1 AND n.kind = ?2 LIMIT ?3"
        }
    };
    let mut statement = db.prepare_cached(sql)?;
    let mut rows = statement.query(params![key, by as i64, most])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        // A slug drops the signs by which entities differ: `C` is neither `C#` nor `C++`.
        let of_words: Option<String> = row.get(2)?;
        let of_words = of_words.filter(|_| matches!(by, By::Slug | By::PathSlug));
        if of_words.is_none_or(|it| signs(&it) == signs(name)) {
            found.push((row.get(0)?, row.get(1)?));
        }
    }
    Ok(found)
}

/// Returns the signs that the norm of a name keeps, and its slug does not.
fn signs(name: &str) -> String {
    norm_of(without_extension(name)).matches(['+', '#']).collect()
}

/// Returns the document that a link resolves to, or `None`. A link that leads nowhere is read as it was written, where
/// its document was before it moved.
///
/// # Errors
/// When the index cannot be read.
pub(crate) fn resolve_link(
    db: &Connection,
    from: &str,
    kind: LinkKind,
    target: &str,
    keys: &Keys,
) -> Result<Option<i64>, StoreError> {
    if let Some(found) = resolve_from(db, from, kind, target, keys)? {
        return Ok(Some(found));
    }
    let mut statement = db.prepare_cached(
        "SELECT g.path FROM gone_names g JOIN docs d ON d.uid = g.uid WHERE d.path = ?1
         GROUP BY g.path ORDER BY max(g.gone_ms) DESC, g.path",
    )?;
    let former: Vec<String> =
        statement.query_map([from], |row| row.get(0))?.collect::<Result<_, _>>()?;
    for from in former {
        if let Some(found) = resolve_from(db, &from, kind, target, keys)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

fn resolve_from(
    db: &Connection,
    from: &str,
    kind: LinkKind,
    target: &str,
    keys: &Keys,
) -> Result<Option<i64>, StoreError> {
    let chosen = |found: &[(i64, String, By)]| {
        let candidates: Vec<Candidate<'_>> =
            found.iter().map(|(_, path, by)| Candidate { path, by: *by }).collect();
        choose(from, kind, target, &candidates).and_then(|idx| Some(found.get(idx)?.0))
    };
    if !is_name(kind) {
        if is_id(target) {
            let found = rows(db, By::Alias, &name_key(target), target, MAX_NAMED)?;
            return Ok(found.first().map(|(doc, _)| *doc));
        }
        let spots = spots(from, target);
        for spot in &spots {
            // A file is known by its path without extension, which may be a part of its name: `import.http.md`.
            let bare = bare_key(&spot.1);
            let (by, keys) = match spot {
                (By::Path, key) if bare != *key => (By::BarePath, vec![key, &bare]),
                (By::Folder, key) => (By::Folder, vec![key]),
                (_, key) => (By::BarePath, vec![key]),
            };
            let mut found = Vec::new();
            for key in keys {
                let rows = rows(db, by, key, key, MAX_CANDIDATES)?;
                let at_spot = rows.into_iter().filter(|(_, path)| is_at(spot, path));
                found.extend(at_spot.map(|(doc, path)| (doc, path, by)));
            }
            if let Some(doc) = chosen(&found) {
                return Ok(Some(doc));
            }
        }
        return moved(db, spots.into_iter().map(|(by, key)| former_key(by, key)));
    }
    // The path decides first, so other names need not be read if it does.
    let of_file = candidates(db, &keys.file, By::FileName, from, target)?;
    let is_whole = |(_, path, _): &(i64, String, By)| file_key(path) == keys.file;
    let (whole, bare): (Vec<_>, Vec<_>) = of_file.into_iter().partition(is_whole);
    let mut decided = chosen(&whole);
    for by in LINK_ORDER {
        let is_as_written = keys.permalink.as_deref() == Some(target);
        let key = match by {
            _ if decided.is_some() => break,
            By::Permalink => keys.permalink.as_ref().filter(|_| is_as_written),
            By::Slug => keys.permalink.as_ref().filter(|_| !is_as_written),
            By::Folder => Some(&keys.file),
            _ => keys.name.as_ref(),
        };
        let Some(key) = key else { continue };
        let found = candidates(db, key, by, from, target)?;
        // Anything may begin with a heading such as `Overview`, so it names a document only if no other has it.
        decided = chosen(&found).filter(|_| by != By::Heading || found.len() == 1);
    }
    if decided.is_none() {
        let bare = bare.into_iter().map(|(doc, path, _)| (doc, path, By::BarePath));
        decided = chosen(&bare.collect::<Vec<_>>());
    }
    let whole =
        path_key(&joined(if target.starts_with('.') { folder_of(from) } else { "" }, target));
    let name = format!("/{}", keys.file);
    let file = if target.contains('/') { whole.clone() } else { name };
    let gone = [file, former_key(By::Folder, whole)];
    decided.map_or_else(|| moved(db, gone), |doc| Ok(Some(doc)))
}

fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Returns the key of a former address: of the folder of an index, with a slash after it, which no claim has.
pub(super) fn former_key(by: By, key: String) -> String {
    if by == By::Folder { key + "/" } else { key }
}

/// Returns the document that was at one of these former addresses within the time for which the ledger keeps them, and
/// is elsewhere now; `None` if several were there.
fn moved(
    db: &Connection,
    addresses: impl IntoIterator<Item = String>,
) -> Result<Option<i64>, StoreError> {
    let mut statement = db.prepare_cached(
        "SELECT DISTINCT d.id FROM gone_names g JOIN docs d ON d.uid = g.uid WHERE g.key = ?1 LIMIT 2",
    )?;
    for address in addresses {
        let found: Vec<i64> =
            statement.query_map([address], |row| row.get(0))?.collect::<Result<_, _>>()?;
        if let [doc] = found[..] {
            return Ok(Some(doc));
        }
    }
    Ok(None)
}

/// Returns the documents that a link may mean by one kind of name; if there are too many, only those at paths that
/// the target may mean.
fn candidates(
    db: &Connection,
    key: &str,
    by: By,
    from: &str,
    target: &str,
) -> Result<Vec<(i64, String, By)>, StoreError> {
    // The inner limit bounds the count: a common name such as README may have many rows.
    let n: i64 = db
        .prepare_cached(
            "SELECT count(*) FROM (SELECT 1 FROM doc_names WHERE key = ?1 AND kind = ?2 LIMIT ?3)",
        )?
        .query_row(params![key, by as i64, MAX_CANDIDATES + 1], |row| row.get(0))?;
    let target = target.trim_end_matches('/');
    let mut found = Vec::new();
    match by {
        // No two notes have one permalink.
        By::Permalink | By::Slug => found = rows(db, by, key, target, 1)?,
        _ if n <= MAX_CANDIDATES => found = rows(db, by, key, target, MAX_CANDIDATES)?,
        By::FileName | By::Folder => {
            let index = if by == By::Folder { "/README" } else { "" };
            for path in paths_above(from, &format!("{target}{index}")) {
                found.extend(rows(db, By::Path, &path, &path, 1)?);
            }
        }
        // Titles and aliases say nothing about a path.
        _ => {}
    }
    Ok(found.into_iter().map(|(doc, path)| (doc, path, by)).collect())
}
