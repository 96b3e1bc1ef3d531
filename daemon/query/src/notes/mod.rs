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

use config::formats::{self, Format, Id};
use notes::parse::{LinkKind, text_and_id};
use notes::resolve::{fold, places};

use crate::AskError;
use extract::link::features::string_similarity;
use index::read::{Link, Place, PlaceKind};
use index::store::Snapshot;
use index::store::links::place_key;
use model::document::BlockKind;
use model::terms::{Norm, RelPath, Span, norm_of};

/// The relation type of an embed.
pub const EMBEDS: &str = "embeds";

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

/// Returns the broken links of documents whose path starts with `prefix`, by path and place: at most
/// `most`. Links to files that are no documents (images, programs) are skipped, because the index
/// does not know whether those exist; so is what `is_there` finds beside the index.
pub fn broken_links(
    snapshot: &Snapshot,
    prefix: &str,
    most: usize,
    is_there: impl Fn(&Link, Missing) -> bool,
) -> Result<Vec<(Link, Missing)>, AskError> {
    let mut broken = Vec::new();
    for link in snapshot.notes().doubtful_links(prefix)? {
        if broken.len() >= most {
            break;
        }
        let missing = match link.to {
            // A saved web page leads to many that were not saved.
            _ if format_of(&link.from_path).is_some_and(|it| it.id == Id::Html) => None,
            None => may_be_document(link.kind, &link.target).then_some(Missing::Target),
            Some(to) => missing_in(snapshot, to, &link)?,
        };
        let Some(missing) = missing else { continue };
        let is_known = match missing {
            Missing::Target => is_folder(snapshot, &link)?,
            _ => false,
        };
        if !is_known && !is_there(&link, missing) {
            broken.push((link, missing));
        }
    }
    Ok(broken)
}

fn format_of(path: &str) -> Option<&'static Format> {
    formats::of(&RelPath::new(path).extension())
}

/// Returns whether a link leads to a folder that holds documents, none of which is its index.
fn is_folder(snapshot: &Snapshot, link: &Link) -> Result<bool, AskError> {
    for place in places(&link.from_path, &link.target) {
        if snapshot.documents().are_below(&place)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns whether an unresolved target can only be a document.
fn may_be_document(kind: LinkKind, target: &str) -> bool {
    let name = target.rsplit('/').next().unwrap_or(target);
    let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_lowercase());
    let is_document =
        |it: &str| formats::of(it).is_some_and(|format| format.extensions.contains(&it));
    match (kind, extension) {
        (LinkKind::Image, _) => false,
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
    let places = places_of(snapshot, to)?;
    // Without any, its format has no headings, or calls its places otherwise (`#page=2`).
    let is_note = snapshot.notes().has(to)?;
    if places.is_empty() && !is_note {
        return Ok(None);
    }
    if let Some(heading) = &link.heading
        && !is_position(heading)
        && heading_among(&places, heading).is_none()
    {
        return Ok(Some(Missing::Heading));
    }
    match &link.block {
        Some(id) if is_note && block_place(snapshot, to, id)?.is_none() => Ok(Some(Missing::Block)),
        _ => Ok(None),
    }
}

/// Returns whether a fragment is a position rather than a name: a line (`L10-L12`, `10`), the top of
/// the page, or words that a browser looks for.
fn is_position(fragment: &str) -> bool {
    let is_line = |part: &str| {
        let part = part.strip_prefix('L').unwrap_or(part).replacen('C', "", 1);
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    fragment.eq_ignore_ascii_case("top")
        || fragment.contains(":~:")
        || fragment.split('-').all(is_line)
}

/// Returns whether the text of a file has a label: an id or name of HTML, `_label:`, `[[label]]`,
/// `[#label]`, `<<label>>`, `:CUSTOM_ID: label`.
pub fn has_label(text: &str, label: &str) -> bool {
    text.match_indices(label).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + label.len()..]);
        let is_value = before.ends_with(' ') && before.trim_end().ends_with(':');
        let is_begun = before.ends_with(['_', '#', '[', '<', '"', '\'', '=', '`']) || is_value;
        let is_ended = after.starts_with([':', ']', '>', '"', '\'', ',', '`', '\n', '\r']);
        is_begun && (is_ended || after.is_empty())
    })
}

/// Returns the places in a document that a link may point to: of one that is not a note, its
/// headings.
fn places_of(snapshot: &Snapshot, doc: i64) -> Result<Vec<Place>, AskError> {
    if snapshot.notes().has(doc)? {
        return Ok(snapshot.notes().places(doc)?);
    }
    let Some(stored) = index::store::stored(snapshot, doc)? else { return Ok(Vec::new()) };
    let headings: Vec<_> = stored
        .blocks
        .iter()
        .filter_map(|block| match block.kind {
            BlockKind::Heading(level) => Some((u32::from(level), block.span)),
            _ => None,
        })
        .collect();
    let place = |(idx, (level, span)): (usize, &(u32, Span<Norm>))| {
        let next = headings.iter().skip(idx + 1).find(|(other, _)| other <= level);
        let end = next.map_or(stored.text.len(), |(_, next)| next.start());
        let raw = stored.map.to_raw(Span::new(span.start(), end));
        let name = span.of(&stored.text).to_string();
        Place {
            key: place_key(&name),
            name,
            kind: PlaceKind::Heading,
            level: *level,
            span: (raw.start(), raw.end()),
            line: 0,
        }
    };
    Ok(headings.iter().enumerate().map(place).collect())
}

/// Returns the place of a heading, or of an anchor with that name, in a document. `A#B` means the
/// first `B` below an `A`; a number at the end (`usage-1`) distinguishes headings with the same
/// words, as on web pages.
pub fn heading_place(
    snapshot: &Snapshot,
    doc: i64,
    heading: &str,
) -> Result<Option<Place>, AskError> {
    Ok(heading_among(&places_of(snapshot, doc)?, heading).cloned())
}

/// Returns the headings of a document whose words are nearest to those of a missing one, best first.
pub fn nearest_headings(
    snapshot: &Snapshot,
    doc: i64,
    heading: &str,
) -> Result<Vec<String>, AskError> {
    /// Most headings that are named.
    const MOST: usize = 3;
    let wanted = norm_of(heading);
    let likeness = |it: &Place| string_similarity(&wanted, &norm_of(&it.name));
    let mut places = places_of(snapshot, doc)?;
    places.retain(|it| it.kind == PlaceKind::Heading);
    places.sort_by(|a, b| likeness(b).total_cmp(&likeness(a)));
    Ok(places.into_iter().take(MOST).map(|it| it.name).collect())
}

fn heading_among<'p>(places: &'p [Place], heading: &str) -> Option<&'p Place> {
    // As it is written, with its id; `#` may also be a part of its text: `Open items #urgent`.
    let (text, id) = text_and_id(heading);
    let whole = one_heading(places, id.unwrap_or(text), None);
    let whole = whole.or_else(|| one_heading(places, heading, None));
    if whole.is_some() {
        return whole;
    }
    let mut within: Option<&Place> = None;
    for part in heading.split('#').filter(|part| !part.trim().is_empty()) {
        within = Some(one_heading(places, part, within)?);
    }
    within
}

fn one_heading<'p>(places: &'p [Place], words: &str, within: Option<&Place>) -> Option<&'p Place> {
    let inside = within.map_or(0..usize::MAX, |place| place.span.0 + 1..place.span.1);
    let places = || {
        let places = places.iter().filter(|it| it.kind != PlaceKind::Block);
        places.filter(|it| inside.contains(&it.span.0))
    };
    let (key, folded) = (place_key(words), fold(words.trim()));
    let numbered = key.rsplit_once('-').and_then(|(key, n)| Some((key, n.parse().ok()?)));
    let wanted = [Some((&*key, 0)), Some((&*folded, 0)), numbered];
    // The heading itself; as GitHub writes it, which drops what is neither letter nor digit also
    // inside words (`v20` is `v2.0`); without its tags.
    let forms: [fn(&Place, &str) -> bool; 3] = [
        |it, key| it.key == key,
        |it, key| it.key.replace('-', "") == key.replace('-', ""),
        |it, key| it.name.contains('#') && place_key(&untagged(&it.name)) == key,
    ];
    let mut tries = forms.iter().flat_map(|is| wanted.iter().flatten().map(move |it| (is, it)));
    tries.find_map(|(is, (key, skip))| places().filter(|it| is(it, key)).nth(*skip))
}

/// Returns a heading without its tags.
fn untagged(heading: &str) -> String {
    let words = heading.split_whitespace().filter(|it| !it.starts_with('#'));
    words.collect::<Vec<_>>().join(" ")
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

    mod links;
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
            (LinkKind::Markdown, "a.rst", true),
            (LinkKind::Markdown, "main.rs", false),
            (LinkKind::Markdown, "folder/", true),
            (LinkKind::Image, "a.png", false),
        ];
        for (kind, target, expected) in rows {
            assert_eq!(may_be_document(kind, target), expected, "{target}");
        }
    }
}
