//! Note: the rows of the names by which links find a document, and of what a note states.
//!
//! In: a document whose row exists. Out: rows, its links with their current targets, and marks of other
//! documents' links whose targets may have changed.
//! Invariant: names and path of a document agree in `doc_names` and `docs`; each change makes the links of its keys
//! dirty.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

use notes::parse::{Heading, LINKS_TO, LinkKind, Note, Place, RelationKind, line_around};
use notes::resolve::{
    By, Keys, ROOT, bare_key, file_key, fold, folder_keys, name_key, permalink_key,
};
use notes::slug::{path_slug, slug};
use notes::uri::{self, Address};
use rusqlite::{OptionalExtension, Row, Transaction, params};
use serde::Serialize;

use super::memory;
use crate::store::resolve::resolve_link;
use crate::store::{StoreError, lines, links, permalinks};
use model::document::{self, BlockKind, Document, Embedded};

/// The kinds of `note_places`.
const HEADING: i64 = 0;
/// See [`HEADING`].
pub const BLOCK: i64 = 1;
/// See [`HEADING`].
const ANCHOR: i64 = 2;

/// Replaces the names of a document and what it states.
pub(super) fn write(tx: &Transaction<'_>, id: i64, doc: &Document) -> Result<(), StoreError> {
    // Every document can be the target of a link, also one that is not a note.
    let changed = write_names(tx, id, &names_of(doc))?;
    delete_links(tx, id)?;
    let base = doc.note.as_ref().map(|stated| base_of(&stated.note, &doc.title));
    let old = write_row(tx, id, doc, base.as_ref())?;
    number(tx, old, base, &changed)?;
    write_links(tx, id, doc)
}

/// Deletes all rows of a document.
pub(super) fn remove(tx: &Transaction<'_>, id: i64) -> Result<(), StoreError> {
    let changed = write_names(tx, id, &BTreeSet::new())?;
    delete_links(tx, id)?;
    let old = base_in_row(tx, id)?;
    tx.prepare_cached("DELETE FROM notes WHERE doc_id = ?1")?.execute([id])?;
    number(tx, old, None, &changed)
}

fn delete_links(tx: &Transaction<'_>, id: i64) -> Result<(), StoreError> {
    tx.prepare_cached("DELETE FROM note_links WHERE doc_id = ?1")?.execute([id])?;
    Ok(())
}

/// Kind and key of every name that a link may use for a document.
fn names_of(doc: &Document) -> BTreeSet<(i64, String)> {
    let path = doc.head.path.as_str();
    let mut names = BTreeSet::from([
        (By::FileName as i64, file_key(path)),
        (By::FileName as i64, file_key(&bare_key(path))),
        (By::Title as i64, name_key(&doc.title)),
        (By::Slug as i64, slug(&doc.title)),
        (By::PathSlug as i64, path_slug(path)),
        (By::Path as i64, path.to_string()),
        (By::BarePath as i64, bare_key(path)),
    ]);
    names.extend(folder_keys(path).into_iter().flatten().map(|key| (By::Folder as i64, key)));
    let heading = doc.blocks.iter().find(|it| matches!(it.kind, BlockKind::Heading(_)));
    let heading = heading.map_or("", |it| it.span.of(&doc.text));
    // Its own aliases, without the first heading, which the normalizer adds to them.
    let aliases = match &doc.note {
        Some(stated) => &stated.note.aliases,
        None => &doc.meta.aliases,
    };
    let aliases = aliases.iter().filter(|it| doc.note.is_some() || it.trim() != heading.trim());
    let aliases = aliases.chain(&doc.meta.ids);
    names.extend(aliases.map(|alias| (By::Alias as i64, name_key(alias))));
    // Logseq's name of the file of `[[A/B]]`.
    let parts = path.rsplit('/').next().filter(|it| it.contains("___"));
    names.extend(parts.map(|it| (By::Alias as i64, name_key(&bare_key(it).replace("___", "/")))));
    names.insert((By::Heading as i64, name_key(heading)));
    let claim = doc.note.as_ref().and_then(|stated| claim_of(&stated.note));
    names.extend(claim.map(|claim| (By::Claim as i64, claim)));
    names.retain(|(_, key)| !key.is_empty());
    names
}

/// The names that a document got or lost.
struct Changed {
    names: BTreeSet<(i64, String)>,
    /// Its path changed.
    has_moved: bool,
}

/// Updates the names of a document.
fn write_names(
    tx: &Transaction<'_>,
    id: i64,
    new: &BTreeSet<(i64, String)>,
) -> Result<Changed, StoreError> {
    let mut statement = tx.prepare_cached("SELECT kind, key FROM doc_names WHERE doc_id = ?1")?;
    let old: BTreeSet<(i64, String)> = statement
        .query_map([id], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    let gone: Vec<_> = old.difference(new).collect();
    let come: Vec<_> = new.difference(&old).collect();
    for (kind, key) in &gone {
        tx.prepare_cached("DELETE FROM doc_names WHERE key = ?1 AND kind = ?2 AND doc_id = ?3")?
            .execute(params![key, kind, id])?;
    }
    for (kind, key) in &come {
        tx.prepare_cached("INSERT INTO doc_names VALUES(?1, ?2, ?3)")?
            .execute(params![key, kind, id])?;
    }
    // A link prefers near documents, so a new path may change the target of every name.
    let has_moved = gone.iter().chain(&come).any(|(kind, _)| *kind == By::Path as i64);
    let mut changed: BTreeSet<&str> =
        gone.iter().chain(&come).map(|(_, key)| key.as_str()).collect();
    if has_moved {
        changed.extend(old.union(new).map(|(_, key)| key.as_str()));
    }
    for key in changed {
        links::mark(tx, key)?;
        // A link by address has the last part of a path as its key.
        if let Some((_, name)) = key.rsplit_once('/') {
            links::mark(tx, name)?;
        }
    }
    // Of `/`, the index of each folder above may be the root of a site.
    if gone.iter().chain(&come).any(|(kind, _)| *kind == By::Folder as i64) {
        links::mark(tx, ROOT)?;
    }
    if has_moved && !new.is_empty() {
        permalinks::mark_former(tx, id)?;
    }
    Ok(Changed { has_moved, names: gone.into_iter().chain(come).cloned().collect() })
}

/// Returns the permalink that a note states. An invalid one is ignored: nothing could address the note by it.
fn claim_of(note: &Note) -> Option<String> {
    let stated = note.permalink.as_deref();
    let stated = stated.filter(|it| matches!(uri::parse(it), Ok(Address::Note(_))));
    stated.map(permalink_key).filter(|it| !it.is_empty())
}

/// Returns the permalink that a note would have if no other had it, and whether the note states it.
fn base_of(note: &Note, title: &str) -> (String, bool) {
    claim_of(note).map_or_else(|| (slug(title), false), |claim| (claim, true))
}

fn metadata_of(note: &Note) -> String {
    let values = note.frontmatter.as_ref().map(|it| it.normalized()).unwrap_or_default();
    serde_json::Value::Object(values).to_string()
}

/// The base of a note's permalink, and whether the note states it.
type Base = (String, bool);

/// Returns what the row of a note holds: its base, and its permalink.
fn base_in_row(
    tx: &Transaction<'_>,
    id: i64,
) -> Result<Option<(Base, Option<String>)>, StoreError> {
    let sql = "SELECT base, is_stated, permalink FROM notes WHERE doc_id = ?1";
    let read = |row: &Row<'_>| Ok(((row.get(0)?, row.get(1)?), row.get(2)?));
    Ok(tx.prepare_cached(sql)?.query_row([id], read).optional()?)
}

/// Replaces the row of a note, except its permalink; returns what it held.
fn write_row(
    tx: &Transaction<'_>,
    id: i64,
    doc: &Document,
    base: Option<&Base>,
) -> Result<Option<(Base, Option<String>)>, StoreError> {
    let old = base_in_row(tx, id)?;
    let (Some(stated), Some((base, is_stated))) = (&doc.note, base) else {
        tx.prepare_cached("DELETE FROM notes WHERE doc_id = ?1")?.execute([id])?;
        return Ok(old);
    };
    let (note, node) = (&stated.note, &stated.node);
    let Embedded { facts, in_memory, .. } = &doc.embedded;
    // A note without a title is named after its file.
    let name = node.name.as_ref().unwrap_or(&doc.title);
    let n_vectors = facts.iter().filter(|it| !it.vector.0.is_empty()).count();
    let has_vectors = n_vectors > 0;
    tx.prepare_cached(
        "INSERT OR REPLACE INTO notes VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16,
           ?17, ?18, ?19)",
    )?
    .execute(params![
        id,
        base,
        is_stated,
        old.as_ref().and_then(|(_, permalink)| permalink.as_ref()),
        metadata_of(note),
        name_key(name),
        name,
        node.node_type,
        *in_memory || node.node_type.is_some(),
        in_memory,
        node.summary,
        serde_json::to_string(&node.tags).unwrap_or_default(),
        node.last_ordinal as i64,
        facts.len() as i64,
        n_vectors as i64,
        has_vectors.then(|| memory::mean(facts)),
        record_of(note),
        memory::pack(facts),
        has_vectors.then(|| memory::vectors(facts))
    ])?;
    Ok(old)
}

/// Renumbers the permalinks that a change of a note, or of its names, affects.
fn number(
    tx: &Transaction<'_>,
    old: Option<(Base, Option<String>)>,
    is: Option<Base>,
    changed: &Changed,
) -> Result<(), StoreError> {
    let (was, permalink) = old.unzip();
    let permalink = permalink.flatten();
    if let (None, Some(permalink)) = (&is, &permalink) {
        // Links by permalink must find another note, or none.
        links::mark(tx, permalink)?;
    }
    // A move counts for notes only: the path decides who gets a contested permalink. A claim that was refused is
    // decided again.
    if was != is || (changed.has_moved && is.is_some()) {
        let bases: BTreeSet<&str> = was.iter().chain(&is).map(|(base, _)| base.as_str()).collect();
        for base in bases {
            permalinks::number(tx, base)?;
        }
        permalink.map_or(Ok(()), |it| permalinks::number_claimed(tx, &it))?;
    }
    // A name that came or went may refuse or free what other notes state.
    let kept = permalinks::KEPT.map(|by| by as i64);
    let keys: BTreeSet<&String> =
        changed.names.iter().filter(|it| kept.contains(&it.0)).map(|it| &it.1).collect();
    keys.into_iter().try_for_each(|key| permalinks::number_claimed(tx, key))
}

/// What a note states besides links, packed; the schema's views name the values.
#[derive(Serialize)]
struct Record<O, F, P> {
    observations: O,
    fields: F,
    places: P,
}

fn record_of(note: &Note) -> String {
    let observations = note.observations.iter().map(|it| {
        let (Place { span, line }, tags) = (&it.place, &it.tags);
        (&it.category, &it.content, tags, &it.context, &it.block_id, span.start, span.end, line)
    });
    let fields = note.fields.iter().map(|it| {
        let Place { span, line } = &it.place;
        (&it.key, &it.value, it.is_inline, span.start, span.end, line)
    });
    let record = Record {
        observations: observations.collect::<Vec<_>>(),
        fields: fields.collect::<Vec<_>>(),
        places: places_of(note),
    };
    // Packing into memory fails for no value of these types.
    serde_json::to_string(&record).unwrap_or_default()
}

/// Kind, level, name and key of a place, its start, its end and its line.
type PlaceRow<'n> = (i64, u8, &'n str, String, usize, usize, usize);

fn places_of(note: &Note) -> Vec<PlaceRow<'_>> {
    let mut places = Vec::new();
    for it in &note.headings {
        let Heading { level, text, id, place, section, .. } = it;
        let (start, end, line) = (place.span.start, section.end, place.line);
        places.push((HEADING, *level, text.as_str(), links::place_key(text), start, end, line));
        places.extend(
            id.as_ref().map(|id| (ANCHOR, *level, id.as_str(), fold(id), start, end, line)),
        );
    }
    places.extend(note.block_ids.iter().map(|it| {
        (BLOCK, 0, it.id.as_str(), fold(&it.id), it.block.start, it.block.end, it.place.line)
    }));
    places.extend(note.anchors.iter().map(|it| (ANCHOR, 0, it.as_str(), fold(it), 0, 0, 0)));
    places
}

/// A link as a document states it, with places in its file.
pub(super) struct StatedLink<'d> {
    /// Its number in the document.
    pub(super) seq: usize,
    /// All of it.
    pub(super) place: Range<usize>,
    kind: LinkKind,
    target: &'d str,
    heading: Option<&'d str>,
    block: Option<&'d str>,
    display: Option<&'d str>,
    target_span: Range<usize>,
    line: usize,
    /// The line on which it stands.
    said: Cow<'d, str>,
}

impl StatedLink<'_> {
    /// Returns whether it shows its target in place, which is no relation; of a note from the index, by its place.
    pub(super) fn is_embed(&self) -> bool {
        matches!(self.kind, LinkKind::Embed | LinkKind::Image) || self.place.is_empty()
    }
}

/// Returns the links of a document, in the order of its text: those of a note as the note's parser reads them, those
/// of other formats, but for addresses of other sites, as their reader does.
pub(super) fn links_of(doc: &Document) -> Vec<StatedLink<'_>> {
    if let Some(stated) = &doc.note {
        let links = stated.note.links.iter().enumerate();
        return links
            .map(|(seq, it)| StatedLink {
                seq,
                place: it.place.span.clone(),
                kind: it.kind,
                target: &it.target,
                heading: it.heading.as_deref(),
                block: it.block.as_deref(),
                display: it.display.as_deref(),
                target_span: it.target_span.clone(),
                line: it.place.line,
                // A note that is read again from the index has no lines.
                said: stated.link_lines.get(seq).map_or("", String::as_str).into(),
            })
            .collect();
    }
    let links = doc.links.iter().enumerate();
    links
        .filter_map(|(seq, it)| {
            let kind = match it.kind {
                document::LinkKind::Wiki => LinkKind::Wiki,
                document::LinkKind::Embed => LinkKind::Image,
                document::LinkKind::Path => LinkKind::Markdown,
                document::LinkKind::Url => return None,
            };
            let raw = doc.map.to_raw(it.span);
            Some(StatedLink {
                seq,
                place: raw.start()..raw.end(),
                kind,
                target: &it.target,
                heading: it.fragment.as_deref(),
                block: None,
                display: Some(it.span.of(&doc.text)).filter(|words| *words != it.target),
                target_span: raw.start()..raw.end(),
                line: lines::line_of(&doc.line_starts, raw.start()) as usize,
                said: line_around(&doc.text, &(it.span.start()..it.span.end())).into(),
            })
        })
        .collect()
}

fn write_links(tx: &Transaction<'_>, id: i64, doc: &Document) -> Result<(), StoreError> {
    let path = doc.head.path.as_str();
    let mut relations = doc.note.iter().flat_map(|it| &it.note.relations).peekable();
    let mut insert = tx.prepare_cached(
        "INSERT INTO note_links VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18,
           ?19, ?20, ?21)",
    )?;
    for link in links_of(doc) {
        // Relations are in the order of their links.
        let relation = relations.next_if(|it| it.link == link.seq);
        let is_plain = doc.note.is_none() && link.kind != LinkKind::Image;
        // A target without keys is not a name: only an empty one, as in `[[#Heading]]`, has a target, the note itself.
        let keys = Keys::of(path, link.kind, link.target);
        let dst = match &keys {
            Some(keys) => resolve_link(tx, path, link.kind, link.target, keys)?,
            None => link.target.is_empty().then_some(id),
        };
        let keys = keys.map(links::distinct).unwrap_or_default();
        insert.execute(params![
            id,
            link.seq as i64,
            link.kind as i64,
            relation.map(|it| it.relation_type.as_str()).or(is_plain.then_some(LINKS_TO)),
            relation.is_some_and(|it| it.kind == RelationKind::Typed),
            link.target,
            link.heading,
            link.block,
            link.display,
            relation.and_then(|it| it.context.as_deref()),
            relation.and_then(|it| it.block_id.as_deref()),
            link.place.start as i64,
            link.place.end as i64,
            link.target_span.start as i64,
            link.target_span.end as i64,
            link.line as i64,
            link.said,
            keys.0,
            keys.1,
            keys.2,
            dst
        ])?;
    }
    Ok(())
}

/// Returns the kind of a link from its stored code.
pub fn kind_of(code: i64) -> LinkKind {
    match code {
        0 => LinkKind::Wiki,
        1 => LinkKind::Embed,
        2 => LinkKind::Markdown,
        3 => LinkKind::Image,
        _ => LinkKind::Property,
    }
}
