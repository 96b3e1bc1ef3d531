//! Notes: their statements, the links to them, and broken links.
//!
//! In: a snapshot and a document. Out: rows as types, ordered by place, or by path and place.
//! `stated.rs` applies review decisions to them; `browse.rs` lists notes; `search.rs` searches
//! them, with the filters of `eligible.rs` and `metadata.rs`, and `judge.rs` scores each; `schema.rs`
//! compares those of one type.
//! Invariant: rows have the words of the author; a link to a removed document counts as broken.
//! Not here: resolving an address to a note (`address.rs`), the form of a reply (the tools).

pub mod browse;
mod eligible;
mod judge;
mod metadata;
pub mod schema;
pub(crate) mod search;
pub mod stated;

use std::collections::BTreeMap;

use notes::parse::LinkKind;
use notes::resolve::fold;
use rusqlite::{OptionalExtension, Row, params};
use serde_json::{Map, Value};

use crate::AskError;
use index::store::Snapshot;
use index::store::commit::{BLOCK, link_kind};
use index::store::links::place_key;

/// The relation type of an embed.
pub const EMBEDS: &str = "embeds";

/// Extensions of text files. Only a link to one of these, or to a bare name, can be broken: other
/// files are attachments, which may exist although they are not indexed.
const TEXT_EXTENSIONS: [&str; 5] = ["md", "markdown", "txt", "html", "htm"];

/// A note, without its text.
#[derive(Debug, Clone, PartialEq)]
pub struct NoteRow {
    /// Row id of its document.
    pub doc: i64,
    /// Id of its entity, as agents see it.
    pub entity: Option<i64>,
    /// Its path.
    pub path: String,
    /// Its title.
    pub title: String,
    /// Its permalink; `None` briefly after it was first seen.
    pub permalink: Option<String>,
    /// Frontmatter `type`.
    pub note_type: Option<String>,
    /// Its front matter as S0 §3.2 stores it: strings, and lists and mappings of strings.
    pub metadata: Map<String, Value>,
    /// Its tags, folded.
    pub tags: Vec<String>,
}

/// A stated fact.
#[derive(Debug, Clone, PartialEq)]
pub struct ObservationRow {
    /// The word in the brackets.
    pub category: String,
    /// The fact.
    pub content: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// The words in parentheses at its end.
    pub context: Option<String>,
    /// The `^id` at its end.
    pub block: Option<String>,
    /// Bytes in the file.
    pub span: (usize, usize),
    /// Line in the file.
    pub line: u32,
}

/// A link of a note.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkRow {
    /// Path of the note that contains it.
    pub from_path: String,
    /// That note's title.
    pub from_title: String,
    /// Its syntax.
    pub kind: LinkKind,
    /// The relation that it states; `None` for an embed.
    pub relation: Option<String>,
    /// Whether the author named that relation.
    pub is_typed: bool,
    /// Its target as written.
    pub target: String,
    /// The heading in its target.
    pub heading: Option<String>,
    /// The block in its target.
    pub block: Option<String>,
    /// The text displayed for it.
    pub display: Option<String>,
    /// The words in parentheses after a typed relation.
    pub context: Option<String>,
    /// Row id of its target.
    pub to: Option<i64>,
    /// Path of its target.
    pub to_path: Option<String>,
    /// Bytes in the file: of the whole link.
    pub span: (usize, usize),
    /// Bytes in the file: of its target.
    pub target_span: (usize, usize),
    /// Line in the file.
    pub line: u32,
    /// The text of that line, or a part of it.
    pub line_text: String,
}

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

/// A place in a note that a link may point to.
#[derive(Debug, Clone, PartialEq)]
pub struct PlaceRow {
    /// Its words, or the id of a block.
    pub name: String,
    /// Bytes in the file: of a heading with its section, or of a block.
    pub span: (usize, usize),
    /// Line in the file.
    pub line: u32,
}

/// Returns the note of a document; `None` if the document is not a note.
pub fn note(snapshot: &Snapshot, doc: i64) -> Result<Option<NoteRow>, AskError> {
    let found = snapshot
        .prepare_cached(
            "SELECT d.id, d.entity_id, d.path, d.title, n.permalink, d.doc_type, n.metadata
             FROM notes n JOIN docs d ON d.id = n.doc_id WHERE n.doc_id = ?1",
        )?
        .query_row([doc], |row| {
            Ok(NoteRow {
                doc: row.get(0)?,
                entity: row.get(1)?,
                path: row.get(2)?,
                title: row.get(3)?,
                permalink: row.get(4)?,
                note_type: row.get(5)?,
                metadata: serde_json::from_str(&row.get::<_, String>(6)?).unwrap_or_default(),
                tags: Vec::new(),
            })
        })
        .optional()?;
    let Some(mut note) = found else { return Ok(None) };
    let mut tags = snapshot.prepare_cached("SELECT tag FROM doc_tags WHERE doc_id = ?1")?;
    note.tags = tags.query_map([doc], |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(Some(note))
}

/// Returns the observations of a note, in the order of its text.
pub fn observations(snapshot: &Snapshot, doc: i64) -> Result<Vec<ObservationRow>, AskError> {
    let mut statement = snapshot.prepare_cached(
        "SELECT category, content, tags, context, block, start, end, line FROM observations WHERE doc_id = ?1
         ORDER BY seq",
    )?;
    let rows = statement.query_map([doc], |row| {
        Ok(ObservationRow {
            category: row.get(0)?,
            content: row.get(1)?,
            tags: serde_json::from_str(&row.get::<_, String>(2)?).unwrap_or_default(),
            context: row.get(3)?,
            block: row.get(4)?,
            span: span(row, 5)?,
            line: row.get(7)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Selects links; `WHERE` and order are appended.
const LINK: &str =
    "SELECT f.path, f.title, l.kind, l.rel, l.is_typed, l.target, l.heading, l.block, l.display,
   l.context, t.id, t.path, l.start, l.end, l.target_start, l.target_end, l.line, l.said
 FROM note_links l JOIN docs f ON f.id = l.doc_id LEFT JOIN docs t ON t.id = l.dst";

fn link(row: &Row<'_>) -> rusqlite::Result<LinkRow> {
    Ok(LinkRow {
        from_path: row.get(0)?,
        from_title: row.get(1)?,
        kind: link_kind(row.get(2)?),
        relation: row.get(3)?,
        is_typed: row.get(4)?,
        target: row.get(5)?,
        heading: row.get(6)?,
        block: row.get(7)?,
        display: row.get(8)?,
        context: row.get(9)?,
        to: row.get(10)?,
        to_path: row.get(11)?,
        span: span(row, 12)?,
        target_span: span(row, 14)?,
        line: row.get(16)?,
        line_text: row.get(17)?,
    })
}

fn span(row: &Row<'_>, column: usize) -> rusqlite::Result<(usize, usize)> {
    let (start, end): (i64, i64) = (row.get(column)?, row.get(column + 1)?);
    Ok((start as usize, end as usize))
}

/// Returns the links of a note, in the order of its text.
pub fn links(snapshot: &Snapshot, doc: i64) -> Result<Vec<LinkRow>, AskError> {
    let mut statement =
        snapshot.prepare_cached(&format!("{LINK} WHERE l.doc_id = ?1 ORDER BY l.seq"))?;
    let rows = statement.query_map([doc], link)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Returns the inline fields (`key:: value`) of a note, by key.
pub fn fields(snapshot: &Snapshot, doc: i64) -> Result<BTreeMap<String, Vec<String>>, AskError> {
    let mut statement = snapshot
        .prepare_cached("SELECT key, value FROM note_fields WHERE doc_id = ?1 ORDER BY seq")?;
    let mut rows = statement.query([doc])?;
    let mut fields: BTreeMap<String, Vec<String>> = BTreeMap::new();
    while let Some(row) = rows.next()? {
        fields.entry(row.get(0)?).or_default().push(row.get(1)?);
    }
    Ok(fields)
}

/// Returns the relations of a note: its links and embeds. Each type and target appears once, at its
/// first place.
pub fn relations(snapshot: &Snapshot, doc: i64) -> Result<Vec<LinkRow>, AskError> {
    Ok(distinct(doc, links(snapshot, doc)?))
}

/// Filters the links of a note to its relations.
fn distinct(doc: i64, mut rows: Vec<LinkRow>) -> Vec<LinkRow> {
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

/// Returns the links of other notes to a document with their lines, by path and place: at most `most`, after the first
/// `skip`.
pub fn backlinks(
    snapshot: &Snapshot,
    doc: i64,
    skip: usize,
    most: usize,
) -> Result<Vec<LinkRow>, AskError> {
    let mut statement = snapshot.prepare_cached(&format!(
        "{LINK} WHERE l.dst = ?1 AND l.doc_id <> ?1 ORDER BY f.path, l.seq LIMIT ?3 OFFSET ?2"
    ))?;
    let rows = statement.query_map(params![doc, skip as i64, most as i64], link)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Returns the links whose target ends in a file name, by its [`file_key`](notes::resolve::file_key): at most `most`.
pub fn links_by_file_name(
    snapshot: &Snapshot,
    key: &str,
    most: usize,
) -> Result<Vec<LinkRow>, AskError> {
    let mut statement = snapshot
        .prepare_cached(&format!("{LINK} WHERE l.file_key = ?1 ORDER BY f.path, l.seq LIMIT ?2"))?;
    let rows = statement.query_map(params![key, most as i64], link)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Returns the broken links of notes whose path starts with `prefix`, by path and place: at most
/// `most`. Links to files that are not text (images, PDF) are skipped, because the index does not
/// know whether those exist.
pub fn broken_links(
    snapshot: &Snapshot,
    prefix: &str,
    most: usize,
) -> Result<Vec<(LinkRow, Missing)>, AskError> {
    let mut statement = snapshot.prepare_cached(&format!(
        "{LINK} WHERE substr(f.path, 1, length(?1)) = ?1
           AND (t.id IS NULL OR l.heading IS NOT NULL OR l.block IS NOT NULL) ORDER BY f.path, l.seq"
    ))?;
    let mut rows = statement.query([prefix])?;
    let mut broken = Vec::new();
    while let Some(row) = rows.next()? {
        if broken.len() >= most {
            break;
        }
        let link = link(row)?;
        let missing = match link.to {
            None => may_be_document(link.kind, &link.target).then_some(Missing::Target),
            Some(to) => missing_in(snapshot, to, &link)?,
        };
        broken.extend(missing.map(|missing| (link, missing)));
    }
    Ok(broken)
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
fn missing_in(snapshot: &Snapshot, to: i64, link: &LinkRow) -> Result<Option<Missing>, AskError> {
    let is_note: bool = snapshot
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM notes WHERE doc_id = ?1)")?
        .query_row([to], |row| row.get(0))?;
    if !is_note {
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
) -> Result<Option<PlaceRow>, AskError> {
    let mut within: Option<PlaceRow> = None;
    for part in heading.split('#').filter(|part| !part.trim().is_empty()) {
        let place = one_heading(snapshot, doc, part, within.as_ref())?;
        let Some(place) = place else { return Ok(None) };
        within = Some(place);
    }
    Ok(within)
}

fn one_heading(
    snapshot: &Snapshot,
    doc: i64,
    words: &str,
    within: Option<&PlaceRow>,
) -> Result<Option<PlaceRow>, AskError> {
    let span = within.map_or((0, usize::MAX), |place| (place.span.0 + 1, place.span.1));
    let (from, to) = (span.0 as i64, i64::try_from(span.1).unwrap_or(i64::MAX));
    let at = |key: &str, skip: i64| -> Result<Option<PlaceRow>, AskError> {
        Ok(snapshot
            .prepare_cached(
                "SELECT name, start, end, line FROM note_places WHERE doc_id = ?1 AND kind <> ?2 AND key = ?3
                   AND start >= ?4 AND start < ?5 ORDER BY seq LIMIT 1 OFFSET ?6",
            )?
            .query_row(params![doc, BLOCK, key, from, to, skip], place)
            .optional()?)
    };
    let key = place_key(words);
    for key in [&key, &fold(words.trim())] {
        if let Some(place) = at(key, 0)? {
            return Ok(Some(place));
        }
    }
    match key.rsplit_once('-').and_then(|(key, n)| Some((key, n.parse().ok()?))) {
        Some((key, n)) => at(key, n),
        None => Ok(None),
    }
}

/// Returns the place of a block in a note.
pub fn block_place(snapshot: &Snapshot, doc: i64, id: &str) -> Result<Option<PlaceRow>, AskError> {
    Ok(snapshot
        .prepare_cached(
            "SELECT name, start, end, line FROM note_places WHERE doc_id = ?1 AND kind = ?2 AND key = ?3
             ORDER BY seq LIMIT 1",
        )?
        .query_row(params![doc, BLOCK, fold(id)], place)
        .optional()?)
}

fn place(row: &Row<'_>) -> rusqlite::Result<PlaceRow> {
    Ok(PlaceRow { name: row.get(0)?, span: span(row, 1)?, line: row.get(3)? })
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
