//! Address: resolves a name to one document.
//!
//! In: a path, a permalink, a title, a first heading, an alias, a file name, or `memory://…` with one of these; also as
//! an answer shows it, with hidden characters as escapes. Out: one document, or an error that lists the documents with
//! that name or with the nearest names.
//! Order of lookup: that of [`notes::resolve`]; a path with folders never matches a file in another folder.
//! An ambiguous name is refused, never guessed, because a write may follow. A change follows only a path, a permalink
//! or a title, in any words that drop no sign, not what any document may say about itself to be taken for another: an
//! alias, a heading. It also refuses a permalink that is the path or the title of another file.

use notes::resolve::{By, fold, is_in_words, name_key, path_key};
use notes::slug::without_extension;
use notes::target::percent_decoded;
use notes::uri::{self, Address, SCHEME, UriError};
use proto::error::{Code, ErrorView};
use proto::visible;

use crate::AskError;
use crate::error::{invalid, quoted};
use index::store::Snapshot;

/// Most names listed in an error: the nearest ones, or those that share the name.
const MAX_LISTED: usize = 5;

/// Most names compared with an unknown one.
const MAX_COMPARED: usize = 200_000;

/// Least similarity of names, 0 to 1, to be suggested.
const MIN_LIKENESS: f64 = 0.55;

/// Returns the one document that an address denotes.
///
/// # Errors
/// `invalid_params` for a malformed address, `not_found` with the nearest names, `ambiguous` with
/// the paths.
pub fn document(snapshot: &Snapshot, address: &str) -> Result<i64, ErrorView> {
    Ok(meant(snapshot, address)?.1)
}

/// As [`document`], for a change.
///
/// # Errors
/// As [`document`]; `refused` for an alias, a heading or a file name, with the path to give instead.
pub fn document_to_change(snapshot: &Snapshot, address: &str) -> Result<i64, ErrorView> {
    let (by, doc) = meant(snapshot, address)?;
    let name = address.trim().trim_start_matches(SCHEME);
    if matches!(by, By::Path | By::BarePath) {
        return Ok(doc);
    }
    if matches!(by, By::Title | By::Slug) && is_of_a_file(snapshot, name)? {
        return Err(missing(snapshot, address)?);
    }
    let in_words = |by| -> Result<bool, AskError> {
        let is_it = is_in_words(name) && snapshot.documents().named(by, name)? == [doc];
        Ok(is_it && drops_no_sign(snapshot, by, doc)?)
    };
    if !by.may_be_changed() && !in_words(By::Slug)? && !in_words(By::PathSlug)? {
        return Err(match by {
            By::Slug | By::PathSlug => missing(snapshot, address)?,
            by => unsafe_name(snapshot, address, by, doc)?,
        });
    }
    // The permalink that one document earned may be the path or the title of another.
    let mut all = vec![doc];
    for by in [By::BarePath, By::Title] {
        all.extend(snapshot.documents().named(by, name).map_err(AskError::from)?);
    }
    all.sort_unstable();
    all.dedup();
    one(snapshot, address, by, all).map(|it| it.1)
}

/// Returns whether a name is written as the path of a file: with the extension of a note, or as a path that a file had
/// which was deleted lately. No other document receives what is meant for that.
fn is_of_a_file(snapshot: &Snapshot, name: &str) -> Result<bool, AskError> {
    if without_extension(name) != name {
        return Ok(true);
    }
    Ok(name.contains('/') && snapshot.documents().had([name, &path_key(name)])?)
}

/// Returns whether the title, or the path, of a document is in its slug as a whole; a stated permalink is.
fn drops_no_sign(snapshot: &Snapshot, by: By, doc: i64) -> Result<bool, AskError> {
    let Some(document) = snapshot.documents().get(doc)? else { return Ok(false) };
    let is_stated = || Ok(snapshot.notes().get(doc)?.is_some_and(|note| note.is_stated));
    match by {
        By::Slug => is_stated().map(|is_stated| is_stated || is_in_words(&document.title)),
        _ => Ok(is_in_words(&document.path)),
    }
}

/// Returns the one document that an address denotes, and the name by which it was found.
fn meant(snapshot: &Snapshot, address: &str) -> Result<(By, i64), ErrorView> {
    // An address that is a path goes before any other reading, blanks at its ends included.
    if let Some(doc) = snapshot.documents().at(address).map_err(AskError::from)? {
        return Ok((By::Path, doc));
    }
    let address = address.trim().trim_start_matches("./");
    let bare = address.strip_prefix(SCHEME);
    let missing = match lookup(snapshot, address) {
        Err(error) if error.code != Code::Ambiguous => error,
        found => return found,
    };
    // Clients that expand a URI template write `%20` for a space; answers write hidden characters as escapes.
    let decoded = bare.filter(|it| it.contains('%')).map(percent_decoded);
    let decoded = decoded.map(|it| format!("{SCHEME}{it}"));
    let restored = Some(visible::restore(address).into_owned()).filter(|it| it != address);
    let other = decoded.into_iter().chain(restored).find_map(|it| lookup(snapshot, &it).ok());
    other.ok_or(missing)
}

fn lookup(snapshot: &Snapshot, address: &str) -> Result<(By, i64), ErrorView> {
    let bare = address.strip_prefix(SCHEME);
    let parsed = uri::parse(address);
    if let Ok(Address::Id(id)) = &parsed {
        let found = snapshot.documents().about(*id).map_err(AskError::from)?;
        return one(snapshot, address, By::Path, found);
    }
    let name = match (bare, &parsed) {
        (Some(_), Err(why)) => return Err(malformed(why)),
        (Some(bare), _) => bare.trim_matches('/'),
        (None, _) => address,
    };
    let found = snapshot.documents().meant(name, bare.is_some()).map_err(AskError::from)?;
    match (found, parsed) {
        (Some((by, found)), _) => one(snapshot, address, by, found),
        (None, Err(why @ (UriError::Empty | UriError::Unsafe(_)))) => Err(malformed(&why)),
        (None, _) => Err(missing(snapshot, address)?),
    }
}

fn malformed(why: &UriError) -> ErrorView {
    let text = why.to_string();
    let (message, hint) = text.split_once("; hint: ").unwrap_or((&text, "give a path"));
    invalid(message.to_string(), hint)
}

fn one(
    snapshot: &Snapshot,
    address: &str,
    by: By,
    found: Vec<i64>,
) -> Result<(By, i64), ErrorView> {
    match found.as_slice() {
        [one] => Ok((by, *one)),
        [] => Err(missing(snapshot, address)?),
        several => Err(ambiguous(snapshot, address, several)?),
    }
}

/// Refuses a change by a name that is no address, and says which path to give.
fn unsafe_name(
    snapshot: &Snapshot,
    address: &str,
    by: By,
    doc: i64,
) -> Result<ErrorView, AskError> {
    let path = snapshot.documents().path(doc)?.unwrap_or_default();
    let message = format!("`{}` is only the {} of `{path}`", short(address), by.as_str());
    let hint = format!("a change needs a path, permalink or title: give `{path}`");
    Ok(ErrorView::hinted(Code::Refused, message, hint))
}

fn ambiguous(snapshot: &Snapshot, address: &str, documents: &[i64]) -> Result<ErrorView, AskError> {
    let mut paths = Vec::new();
    for doc in documents.iter().take(MAX_LISTED) {
        paths.extend(snapshot.documents().path(*doc)?.map(|path| format!("`{path}`")));
    }
    let more = documents.len().saturating_sub(MAX_LISTED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let message = format!("several documents are called `{}`", short(address));
    Ok(ErrorView::hinted(
        Code::Ambiguous,
        message,
        format!("give the path: {}{more}", paths.join(", ")),
    ))
}

fn missing(snapshot: &Snapshot, address: &str) -> Result<ErrorView, AskError> {
    let near: Vec<String> =
        nearest(snapshot, address)?.into_iter().map(|path| format!("`{path}`")).collect();
    let hint = match near.is_empty() {
        true => "`search_notes` and `list_notes` find notes".to_string(),
        false => format!("nearest are {}", near.join(", ")),
    };
    let message = format!("no note or document is called `{}`", short(address));
    Ok(ErrorView::hinted(Code::NotFound, message, hint))
}

/// Returns the paths of the documents whose path, title or alias is most similar to a name.
fn nearest(snapshot: &Snapshot, address: &str) -> Result<Vec<String>, AskError> {
    let name = address.trim().trim_start_matches(notes::uri::SCHEME);
    let (whole, last) = (fold(name), name_key(name.rsplit('/').next().unwrap_or(name)));
    let mut near: Vec<(f64, String)> = Vec::new();
    let cut = |near: &mut Vec<(f64, String)>| {
        near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        near.truncate(MAX_LISTED);
    };
    snapshot.documents().each_name(MAX_COMPARED, |(key, path)| {
        let mut likeness = likeness(&last, &key).max(likeness(&whole, &key));
        if last.chars().count() >= 4 && key.contains(&last) {
            likeness = likeness.max(0.8);
        }
        if likeness < MIN_LIKENESS {
            return;
        }
        match near.iter_mut().find(|(_, known)| *known == path) {
            Some(known) => known.0 = known.0.max(likeness),
            None => near.push((likeness, path)),
        }
        if near.len() > 200 {
            cut(&mut near);
        }
    })?;
    cut(&mut near);
    Ok(near.into_iter().map(|(_, path)| path).collect())
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
    quoted(text, 120)
}
