//! Address: resolves a name to one document.
//!
//! In: a path, a permalink, a title, an alias, a file name, or `memory://…` with one of these. Out:
//! one document, or an error that lists the documents with that name or with the nearest names.
//! Order of lookup: an exact path; a bare name that is the title or file name of one document
//! (refused if there are several, unless a note states it as its permalink); S0 §7.3 (id,
//! permalink, path); names as links resolve them, except that a path with folders never matches a
//! file in another folder.
//! An ambiguous name is refused, never guessed, because a write may follow. A change also refuses
//! two kinds of permalink: one that other notes of the same title compete for, because it moves
//! when a note is added or removed, and one that matches only after punctuation is dropped, as
//! `C++` becomes `c`.
//! Not here: patterns (`build_context`), headings and blocks of a note.

use notes::resolve::{file_key, fold, is_in_words, name_key};
use notes::target::percent_decoded;
use notes::uri::{self, Address, Lookup, UriError};
use proto::error::{Code, ErrorView};
use rusqlite::{OptionalExtension, params};

use crate::AskError;
use crate::error::invalid;
use index::store::Snapshot;
use index::store::links::BY_PATH_SLUG;

/// Most notes that an address with `*` matches.
const MAX_MATCHES: i64 = 1_000;

/// Most names listed in an error: the nearest ones, or those that share the name.
const MAX_LISTED: usize = 5;

/// Most names compared with an unknown one.
const MAX_COMPARED: i64 = 200_000;

/// Least similarity of names, 0 to 1, to be suggested.
const MIN_LIKENESS: f64 = 0.55;

/// Returns the one document that an address denotes.
///
/// # Errors
/// `invalid_params` for a malformed address, `not_found` with the nearest names, `ambiguous` with
/// the paths.
pub fn document(snapshot: &Snapshot, address: &str) -> Result<i64, ErrorView> {
    let address = address.trim();
    let bare = address.strip_prefix(notes::uri::SCHEME);
    if bare.is_none() {
        if let Some(doc) = at_path(snapshot, address)? {
            return Ok(doc);
        }
        let bearers = if address.contains('/') { vec![] } else { bearing(snapshot, address)? };
        // Before permalinks: another note's permalink may be the same apart from punctuation.
        match bearers.as_slice() {
            [] => {}
            _ if is_stated(snapshot, address)? => {}
            [one] => return Ok(*one),
            several => return Err(ambiguous(snapshot, address, several)?),
        }
    }
    match lookup(snapshot, address) {
        // Clients that expand a URI template write `%20` for a space.
        Err(missing) if bare.is_some_and(|bare| bare.contains('%')) => {
            let decoded = percent_decoded(bare.unwrap_or_default());
            lookup(snapshot, &format!("{}{decoded}", notes::uri::SCHEME)).map_err(|_| missing)
        }
        found => found,
    }
}

/// As [`document`], for a change: rejects a permalink that may move to another note.
///
/// # Errors
/// As [`document`].
pub fn document_to_change(snapshot: &Snapshot, address: &str) -> Result<i64, ErrorView> {
    let doc = document(snapshot, address)?;
    let is_bare = !address.contains('/');
    if at_path(snapshot, address.trim())? == Some(doc)
        || is_bare && bearing(snapshot, address.trim())? == [doc]
    {
        return Ok(doc);
    }
    if !is_in_words(address.trim().trim_start_matches(notes::uri::SCHEME))
        && !is_called(snapshot, doc, address)?
    {
        return Err(missing(snapshot, address)?);
    }
    let mut statement = snapshot
        .prepare_cached(
            "SELECT o.doc_id FROM notes n JOIN notes o ON o.base = n.base WHERE n.doc_id = ?1 AND NOT n.is_stated
             ORDER BY o.doc_id LIMIT 50",
        )
        .map_err(AskError::from)?;
    let bearers = statement.query_map([doc], |row| row.get(0)).map_err(AskError::from)?;
    let bearers: Vec<i64> = bearers.collect::<Result<_, _>>().map_err(AskError::from)?;
    match bearers.len() {
        0 | 1 => Ok(doc),
        _ => Err(ambiguous(snapshot, address, &bearers)?),
    }
}

/// Returns whether an address is exactly the path, permalink, title, file name or an alias of a document.
fn is_called(snapshot: &Snapshot, doc: i64, address: &str) -> Result<bool, AskError> {
    let name = address.trim().trim_start_matches(notes::uri::SCHEME);
    let sql =
        "SELECT EXISTS (SELECT 1 FROM docs WHERE id = ?1 AND (path = ?2 OR path = ?2 || '.md'))
       OR EXISTS (SELECT 1 FROM docs WHERE ?2 = 'id/' || entity_id AND id = ?1)
       OR EXISTS (SELECT 1 FROM notes WHERE doc_id = ?1 AND permalink = ?3)
       OR EXISTS (SELECT 1 FROM doc_names WHERE doc_id = ?1 AND key IN (?4, ?5))";
    let names = params![doc, name, fold(name), name_key(name), file_key(name)];
    Ok(snapshot.prepare_cached(sql)?.query_row(names, |row| row.get(0))?)
}

fn at_path(snapshot: &Snapshot, path: &str) -> Result<Option<i64>, AskError> {
    let sql = "SELECT id FROM docs WHERE path = ?1";
    Ok(snapshot.prepare_cached(sql)?.query_row([path], |row| row.get(0)).optional()?)
}

/// Returns whether a note states this permalink itself, which makes it unambiguous.
fn is_stated(snapshot: &Snapshot, permalink: &str) -> Result<bool, AskError> {
    let sql = "SELECT 1 FROM notes WHERE permalink = ?1 AND is_stated";
    Ok(snapshot.prepare_cached(sql)?.exists([fold(permalink)])?)
}

/// Returns the documents that have a name as title or file name.
fn bearing(snapshot: &Snapshot, name: &str) -> Result<Vec<i64>, AskError> {
    let mut statement = snapshot.prepare_cached(
        "SELECT doc_id FROM doc_names WHERE key = ?1 AND kind = ?2
         UNION SELECT doc_id FROM doc_names WHERE key = ?3 AND kind = ?4 LIMIT 50",
    )?;
    let (by_title, by_file) =
        (notes::resolve::By::Title as i64, notes::resolve::By::FileName as i64);
    let keys = params![name_key(name), by_title, file_key(name), by_file];
    let found = statement.query_map(keys, |row| row.get(0))?;
    Ok(found.collect::<Result<_, _>>()?)
}

fn lookup(snapshot: &Snapshot, address: &str) -> Result<i64, ErrorView> {
    let found = find(snapshot, address)?;
    let found = found.map_err(|why| {
        let text = why.to_string();
        let (message, hint) = text.split_once("; hint: ").unwrap_or((&text, "give a path"));
        invalid(message.to_string(), hint)
    })?;
    let found = if found.is_empty() { named(snapshot, address)? } else { found };
    match found.as_slice() {
        [one] => Ok(*one),
        [] => Err(missing(snapshot, address)?),
        several => Err(ambiguous(snapshot, address, several)?),
    }
}

/// Returns the documents that an address denotes by S0 §7.3: by id, else by permalink, else by
/// path, else by the permalink derived from such a path or title. Only a pattern returns several,
/// ordered by permalink.
pub fn find(snapshot: &Snapshot, address: &str) -> Result<Result<Vec<i64>, UriError>, AskError> {
    let lookup = match uri::parse(address) {
        Ok(Address::Note(lookup)) => lookup,
        Ok(Address::Id(id)) => {
            return Ok(Ok(ids(snapshot, "SELECT id FROM docs WHERE entity_id = ?1", &id)?));
        }
        Err(why) => return Ok(Err(why)),
    };
    let Lookup { permalink, path, path_with_extension, slug, is_pattern } = &lookup;
    if *is_pattern {
        return Ok(Ok(matching(snapshot, slug)?));
    }
    let by_permalink = "SELECT doc_id FROM notes WHERE permalink = ?1";
    let by_path = "SELECT id FROM docs WHERE path = ?1";
    let steps = [(by_permalink, Some(fold(permalink))), (by_path, Some(path.clone()))];
    let more = [(by_path, path_with_extension.clone()), (by_permalink, Some(slug.clone()))];
    for (sql, key) in steps.into_iter().chain(more) {
        let Some(key) = key else { continue };
        let found = ids(snapshot, sql, &key)?;
        if !found.is_empty() {
            return Ok(Ok(found));
        }
    }
    // Paths may differ only in punctuation; the first one wins.
    let by_slug = "SELECT n.doc_id FROM doc_names n JOIN docs d ON d.id = n.doc_id
                   WHERE n.key = ?1 AND n.kind = ?2 ORDER BY d.path LIMIT 1";
    let found = snapshot
        .prepare_cached(by_slug)?
        .query_row(params![slug, BY_PATH_SLUG], |row| row.get(0))
        .optional()?;
    Ok(Ok(found.into_iter().collect()))
}

fn ids(
    snapshot: &Snapshot,
    sql: &str,
    key: &dyn rusqlite::ToSql,
) -> Result<Vec<i64>, rusqlite::Error> {
    snapshot.prepare_cached(sql)?.query_map([key], |row| row.get(0))?.collect()
}

/// Returns the notes whose permalink or slugged path matches; `*` stands for any characters,
/// nothing else is special.
fn matching(snapshot: &Snapshot, pattern: &str) -> Result<Vec<i64>, rusqlite::Error> {
    let glob = pattern.replace('[', "[[]").replace('?', "[?]");
    snapshot
        .prepare_cached(
            "SELECT n.doc_id FROM notes n WHERE n.permalink GLOB ?1
               OR EXISTS (SELECT 1 FROM doc_names m WHERE m.doc_id = n.doc_id AND m.kind = ?2 AND m.key GLOB ?1)
             ORDER BY n.permalink LIMIT ?3",
        )?
        .query_map(params![glob, BY_PATH_SLUG, MAX_MATCHES], |row| row.get(0))?
        .collect()
}

/// Returns the documents with this title, else with this file name, else with this alias.
fn named(snapshot: &Snapshot, address: &str) -> Result<Vec<i64>, AskError> {
    let name = address.trim().trim_start_matches(notes::uri::SCHEME);
    let mut statement = snapshot.prepare_cached(
        "SELECT DISTINCT doc_id FROM doc_names WHERE key = ?1 AND kind = ?2 LIMIT 50",
    )?;
    let by = notes::resolve::By::Title as i64;
    let by_file = notes::resolve::By::FileName as i64;
    let by_alias = notes::resolve::By::Alias as i64;
    // A path without its folders could match another file.
    let file = (!name.contains('/')).then(|| (file_key(name), by_file));
    let keys = [Some((name_key(name), by)), file, Some((name_key(name), by_alias))];
    for (key, kind) in keys.into_iter().flatten() {
        let found = statement.query_map(params![key, kind], |row| row.get(0))?;
        let found: Vec<i64> = found.collect::<Result<_, _>>()?;
        if !found.is_empty() {
            return Ok(found);
        }
    }
    Ok(Vec::new())
}

fn ambiguous(snapshot: &Snapshot, address: &str, documents: &[i64]) -> Result<ErrorView, AskError> {
    let mut paths = Vec::new();
    let mut statement = snapshot.prepare_cached("SELECT path FROM docs WHERE id = ?1")?;
    for doc in documents.iter().take(MAX_LISTED) {
        paths.push(format!("`{}`", statement.query_row([doc], |row| row.get::<_, String>(0))?));
    }
    let more = documents.len().saturating_sub(MAX_LISTED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Ok(ErrorView {
        code: Code::Ambiguous,
        message: format!("several documents are called `{}`", short(address)),
        hint: Some(format!("give the path: {}{more}", paths.join(", "))),
        conflict: None,
    })
}

fn missing(snapshot: &Snapshot, address: &str) -> Result<ErrorView, AskError> {
    let near: Vec<String> =
        nearest(snapshot, address)?.into_iter().map(|path| format!("`{path}`")).collect();
    let hint = match near.is_empty() {
        true => "`search_notes` and `list_notes` find notes".to_string(),
        false => format!("nearest are {}", near.join(", ")),
    };
    Ok(ErrorView {
        code: Code::NotFound,
        message: format!("no note or document is called `{}`", short(address)),
        hint: Some(hint),
        conflict: None,
    })
}

/// Returns the paths of the documents whose path, title or alias is most similar to a name.
fn nearest(snapshot: &Snapshot, address: &str) -> Result<Vec<String>, AskError> {
    let name = address.trim().trim_start_matches(notes::uri::SCHEME);
    let (whole, last) = (fold(name), name_key(name.rsplit('/').next().unwrap_or(name)));
    let mut statement = snapshot.prepare_cached(
        "SELECT n.key, d.path FROM doc_names n JOIN docs d ON d.id = n.doc_id ORDER BY d.path LIMIT ?1",
    )?;
    let mut rows = statement.query([MAX_COMPARED])?;
    let mut near: Vec<(f64, String)> = Vec::new();
    while let Some(row) = rows.next()? {
        let key = row.get_ref(0)?.as_str().unwrap_or_default();
        let mut likeness = likeness(&last, key).max(likeness(&whole, key));
        if last.chars().count() >= 4 && key.contains(&last) {
            likeness = likeness.max(0.8);
        }
        if likeness < MIN_LIKENESS {
            continue;
        }
        let path: String = row.get(1)?;
        match near.iter_mut().find(|(_, known)| *known == path) {
            Some(known) => known.0 = known.0.max(likeness),
            None => near.push((likeness, path)),
        }
        if near.len() > 200 {
            near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            near.truncate(MAX_LISTED);
        }
    }
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    Ok(near.into_iter().take(MAX_LISTED).map(|(_, path)| path).collect())
}

/// Returns the similarity of two names, 0 to 1; 0 for names of very different length.
fn likeness(one: &str, other: &str) -> f64 {
    let (short, long) = (one.len().min(other.len()), one.len().max(other.len()));
    if short == 0 || short * 2 < long {
        return 0.0;
    }
    strsim::normalized_damerau_levenshtein(one, other)
}

fn short(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(120).collect()
}
