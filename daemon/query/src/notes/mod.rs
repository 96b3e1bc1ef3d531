//! Notes: their statements, the links to them, and broken links.
//!
//! In: a snapshot and a document. Out: rows, ordered by place, or by path and place.
//! `stated.rs` applies review decisions to them; `browse.rs` lists notes; `search.rs` searches
//! them, with the filters of `eligible.rs` and `metadata.rs`, and `judge.rs` scores each; `schema.rs`
//! compares those of one type.
//! Invariant: a link to a removed document counts as broken.

pub mod browse;
mod eligible;
mod judge;
mod metadata;
pub mod schema;
pub(crate) mod search;
pub mod stated;

use notes::parse::LinkKind;
use notes::resolve::fold;

use crate::AskError;
use index::read::{Link, Place, PlaceKind};
use index::store::Snapshot;
use index::store::links::place_key;
use model::terms::RelPath;

/// The relation type of an embed.
pub const EMBEDS: &str = "embeds";

/// Extensions of text files. Only a link to one of these, or to a bare name, can be broken: other
/// files are attachments, which may exist although they are not indexed.
const TEXT_EXTENSIONS: [&str; 5] = ["md", "markdown", "txt", "html", "htm"];

/// Why a link is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// No document has the name.
    Target,
    /// The document has no such heading.
    Heading,
    /// The document has no such block.
    Block,
}

/// Filters the links of a note to its relations: links and embeds. Each type and target appears once, at its first
/// place.
fn distinct(doc: i64, mut rows: Vec<Link>) -> Vec<Link> {
    let mut seen = std::collections::HashSet::new();
    rows.retain(|it| {
        let is_document = it.to.is_some() || may_be_document(it.kind, &it.target);
        let relation = match it.relation.as_deref() {
            Some(relation) => relation,
            None if is_document => EMBEDS,
            None => return false,
        };
        if it.to == Some(doc) {
            return false;
        }
        let target = it.to.map_or_else(|| fold(&it.target), |to| to.to_string());
        // A heading or a block is a separate target.
        let place = (it.heading.as_deref().map(fold), it.block.as_deref().map(fold));
        seen.insert((fold(relation), it.to.is_some(), target, place))
    });
    rows
}

/// Returns the broken links of notes whose path starts with `prefix`, by path and place: at most
/// `most`. Links to files that are not text (images, PDF) are skipped, because the index does not
/// know whether those exist.
pub fn broken_links(
    snapshot: &Snapshot,
    prefix: &str,
    most: usize,
) -> Result<Vec<(Link, Missing)>, AskError> {
    let mut broken = Vec::new();
    for link in snapshot.notes().doubtful_links(prefix)? {
        if broken.len() >= most {
            break;
        }
        let missing = match link.to {
            // A saved web page leads to many that were not saved.
            _ if !is_written_by_hand(&link.from_path) => None,
            None => may_be_document(link.kind, &link.target).then_some(Missing::Target),
            Some(to) => missing_in(snapshot, to, &link)?,
        };
        broken.extend(missing.map(|missing| (link, missing)));
    }
    Ok(broken)
}

/// Returns whether people write files such as that at `path` by hand.
fn is_written_by_hand(path: &str) -> bool {
    let extension = RelPath::new(path).extension();
    config::formats::of(&extension).is_none_or(|it| it.source == config::formats::Source::Prose)
}

/// Returns whether an unresolved target can only be a document.
fn may_be_document(kind: LinkKind, target: &str) -> bool {
    let name = target.rsplit('/').next().unwrap_or(target);
    let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_lowercase());
    let is_document = |extension: &str| TEXT_EXTENSIONS.contains(&extension);
    match (kind, extension) {
        (LinkKind::Image, _) => false,
        // A link to a folder, which may exist.
        (LinkKind::Markdown, _) if name.is_empty() => false,
        (_, None) => true,
        (LinkKind::Markdown, Some(extension)) => is_document(&extension),
        // A name may contain a dot (`v1.2`, `Dr. No`): an extension is short, a single word, and
        // has a letter.
        (_, Some(extension)) => {
            is_document(&extension)
                || extension.len() > 5
                || !extension.chars().all(char::is_alphanumeric)
                || !extension.chars().any(char::is_alphabetic)
        }
    }
}

/// Returns what is missing in the document of a resolved link.
fn missing_in(snapshot: &Snapshot, to: i64, link: &Link) -> Result<Option<Missing>, AskError> {
    if !snapshot.notes().has(to)? {
        return Ok(None);
    }
    if let Some(heading) = &link.heading
        && heading_place(snapshot, to, heading)?.is_none()
    {
        return Ok(Some(Missing::Heading));
    }
    match &link.block {
        Some(id) if block_place(snapshot, to, id)?.is_none() => Ok(Some(Missing::Block)),
        _ => Ok(None),
    }
}

/// Returns the place of a heading, or of an anchor with that name, in a note. `A#B` means the first
/// `B` below an `A`; a number at the end (`usage-1`) distinguishes headings with the same words, as
/// on web pages.
pub fn heading_place(
    snapshot: &Snapshot,
    doc: i64,
    heading: &str,
) -> Result<Option<Place>, AskError> {
    let places = snapshot.notes().places(doc)?;
    // `#` may also be a part of a heading: `Open items #urgent`.
    if let Some(whole) = one_heading(&places, heading, None) {
        return Ok(Some(whole.clone()));
    }
    let mut within: Option<&Place> = None;
    for part in heading.split('#').filter(|part| !part.trim().is_empty()) {
        match one_heading(&places, part, within) {
            None => return Ok(None),
            place => within = place,
        }
    }
    Ok(within.cloned())
}

fn one_heading<'p>(places: &'p [Place], words: &str, within: Option<&Place>) -> Option<&'p Place> {
    let inside = within.map_or(0..usize::MAX, |place| place.span.0 + 1..place.span.1);
    let places = || {
        let places = places.iter().filter(|it| it.kind != PlaceKind::Block);
        places.filter(|it| inside.contains(&it.span.0))
    };
    let at = |key: &str, skip: usize| places().filter(|it| it.key == key).nth(skip);
    // GitHub drops what is neither letter nor digit also inside words: `v20` is `v2.0`.
    let bare = |key: &str| key.replace('-', "");
    let at_bare =
        |key: &str, skip: usize| places().filter(|it| bare(&it.key) == bare(key)).nth(skip);
    let key = place_key(words);
    let numbered = || Some(key.rsplit_once('-')?).and_then(|(key, n)| Some((key, n.parse().ok()?)));
    at(&key, 0)
        .or_else(|| at(&fold(words.trim()), 0))
        .or_else(|| numbered().and_then(|(key, n)| at(key, n)))
        .or_else(|| at_bare(&key, 0))
        .or_else(|| numbered().and_then(|(key, n)| at_bare(key, n)))
}

/// Returns the place of a block in a note.
pub fn block_place(snapshot: &Snapshot, doc: i64, id: &str) -> Result<Option<Place>, AskError> {
    let key = fold(id);
    let mut places = snapshot.notes().places(doc)?.into_iter();
    Ok(places.find(|it| it.kind == PlaceKind::Block && it.key == key))
}

#[cfg(test)]
mod tests {
    use super::{LinkKind, may_be_document};

    mod stored;

    #[test]
    fn only_a_link_to_a_document_can_miss_its_target() {
        let rows = [
            (LinkKind::Wiki, "Note", true),
            (LinkKind::Wiki, "folder/Note.md", true),
            (LinkKind::Wiki, "v1.2", true),
            (LinkKind::Wiki, "Dr. No", true),
            (LinkKind::Wiki, "image.png", false),
            (LinkKind::Embed, "drawing.canvas", true),
            (LinkKind::Embed, "song.mp3", false),
            (LinkKind::Markdown, "a.md", true),
            (LinkKind::Markdown, "a", true),
            (LinkKind::Markdown, "main.rs", false),
            (LinkKind::Markdown, "folder/", false),
            (LinkKind::Image, "a.png", false),
        ];
        for (kind, target, expected) in rows {
            assert_eq!(may_be_document(kind, target), expected, "{target}");
        }
    }
}
