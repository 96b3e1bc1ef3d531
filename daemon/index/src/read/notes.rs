//! Notes: what Markdown notes state: front matter, observations, links, fields, and the places that links point to.
//!
//! Invariant: rows have the words of the author; a link to a removed document has no target.

use notes::parse::LinkKind;
use notes::resolve::By;
use rusqlite::{Row, params};
use rustc_hash::FxHashSet;
use serde_json::{Map, Value};

use super::{FromRow, Label, Read};
use crate::store::Snapshot;
use crate::store::commit::link_kind;

/// Reads what notes state.
#[derive(Clone, Copy)]
pub struct Notes<'s>(pub(super) &'s Snapshot);

record! {
    /// A note, without its text.
    pub struct Note {
        /// Row id of its document.
        pub doc: i64 = "d.id",
        /// The entity that it is about.
        pub entity: Option<i64> = "d.entity_id",
        /// Its path.
        pub path: String = "d.path",
        /// Its title.
        pub title: String = "d.title",
        /// Its permalink; `None` briefly after it was first seen.
        pub permalink: Option<String> = "n.permalink",
        /// Whether it states that permalink.
        pub is_stated: bool = "n.is_stated",
        /// Frontmatter `type`.
        pub note_type: Option<String> = "d.doc_type",
        /// Its front matter as S0 §3.2 stores it: strings, and lists and mappings of strings.
        pub metadata: Map<String, Value> = "n.metadata",
        /// Its tags, folded, sorted.
        pub tags: Vec<String> = "(SELECT json_group_array(t.tag ORDER BY t.tag) FROM doc_tags t WHERE t.doc_id = d.id)",
    }
}

record! {
    /// A stated fact.
    pub struct Observation {
        /// Row id of its document.
        pub doc: i64 = "o.doc_id",
        /// The word in the brackets.
        pub category: String = "o.category",
        /// The fact.
        pub content: String = "o.content",
        /// Its tags.
        pub tags: Vec<String> = "o.tags",
        /// The words in parentheses at its end.
        pub context: Option<String> = "o.context",
        /// The `^id` at its end.
        pub block: Option<String> = "o.block",
        /// Bytes in the file.
        pub span: (usize, usize) = "o.start, o.end",
        /// Line in the file.
        pub line: u32 = "o.line",
    }
}

record! {
    /// A link of a note.
    pub struct Link {
        /// Row id of the note that contains it.
        pub from: i64 = "f.id",
        /// Path of that note.
        pub from_path: String = "f.path",
        /// That note's title.
        pub from_title: String = "f.title",
        /// Its syntax.
        pub kind: LinkKind = "l.kind",
        /// The relation that it states; `None` for an embed.
        pub relation: Option<String> = "l.rel",
        /// Whether the author named that relation.
        pub is_typed: bool = "l.is_typed",
        /// Its target as written.
        pub target: String = "l.target",
        /// The heading in its target.
        pub heading: Option<String> = "l.heading",
        /// The block in its target.
        pub block: Option<String> = "l.block",
        /// The words in parentheses after a typed relation.
        pub context: Option<String> = "l.context",
        /// Row id of its target.
        pub to: Option<i64> = "t.id",
        /// Path of its target.
        pub to_path: Option<String> = "t.path",
        /// Bytes in the file: of the whole link.
        pub span: (usize, usize) = "l.start, l.end",
        /// Line in the file.
        pub line: u32 = "l.line",
        /// The text of that line, or a part of it.
        pub line_text: String = "l.said",
    }
}

record! {
    /// An inline field (`key:: value`) of a note.
    pub struct Field {
        /// Row id of its document.
        pub doc: i64 = "doc_id",
        /// Its key.
        pub key: String = "key",
        /// Its value.
        pub value: String = "value",
    }
}

/// What a link into a note may point to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaceKind {
    /// A heading.
    Heading,
    /// A block with an id.
    Block,
    /// An anchor with a name.
    Anchor,
}

record! {
    /// A place in a note that a link may point to: a heading, a block or an anchor.
    pub struct Place {
        /// Its words, or the id of a block.
        pub name: String = "name",
        /// The form of the name that links are compared with.
        pub key: String = "key",
        /// What it is.
        pub kind: PlaceKind = "kind",
        /// Level of a heading, from 1; 0 for a place that is none.
        pub level: u32 = "level",
        /// Bytes in the file: of a heading with its section, or of a block.
        pub span: (usize, usize) = "start, end",
        /// Line in the file.
        pub line: u32 = "line",
    }
}

/// The tables of links; a condition and an order follow.
const LINKS: &str =
    "FROM note_links l JOIN docs f ON f.id = l.doc_id LEFT JOIN docs t ON t.id = l.dst WHERE";

impl FromRow for LinkKind {
    const WIDTH: usize = 1;
    fn from_row(row: &Row<'_>, at: usize) -> rusqlite::Result<Self> {
        Ok(link_kind(row.get(at)?))
    }
}

impl FromRow for PlaceKind {
    const WIDTH: usize = 1;
    fn from_row(row: &Row<'_>, at: usize) -> rusqlite::Result<Self> {
        Ok(match row.get(at)? {
            0_i64 => PlaceKind::Heading,
            1 => PlaceKind::Block,
            _ => PlaceKind::Anchor,
        })
    }
}

impl Notes<'_> {
    /// Returns the note of a document; `None` if the document is not a note.
    pub fn get(self, doc: i64) -> Read<Option<Note>> {
        self.0.select_one("FROM notes n JOIN docs d ON d.id = n.doc_id WHERE n.doc_id = ?1", [doc])
    }

    /// Returns the notes of a type, which is folded, by path: at most `most`.
    pub fn of_type(self, note_type: &str, most: usize) -> Read<Vec<Note>> {
        let from = "FROM docs d JOIN notes n ON n.doc_id = d.id WHERE folded(d.doc_type) = ?1
             ORDER BY d.path LIMIT ?2";
        self.0.select(from, params![note_type, most as i64])
    }

    /// Returns whether a document is a note.
    pub fn has(self, doc: i64) -> Read<bool> {
        self.0.has_row("SELECT 1 FROM notes WHERE doc_id = ?1", [doc])
    }

    /// Returns the permalink of a note.
    pub fn permalink(self, doc: i64) -> Read<Option<String>> {
        let sql = "SELECT permalink FROM notes WHERE doc_id = ?1 AND permalink IS NOT NULL";
        self.0.row(sql, [doc])
    }

    /// Calls `see` with the front matter of each note, as JSON.
    pub fn each_metadata(self, see: impl FnMut((i64, String))) -> Read<()> {
        self.0.every("SELECT doc_id, metadata FROM notes", [], see)
    }

    /// Returns the observations of a note, in the order of its text.
    pub fn observations(self, doc: i64) -> Read<Vec<Observation>> {
        self.0.select("FROM observations o WHERE o.doc_id = ?1 ORDER BY o.seq", [doc])
    }

    /// Calls `see` with the observations of a document or a folder (empty: all), by path and place, until it returns
    /// false.
    pub fn each_observation(
        self,
        place: &str,
        mut see: impl FnMut(Observation, Label) -> bool,
    ) -> Read<()> {
        // `0` is the character after `/`.
        let sql = format!(
            "SELECT {}, {} FROM observations o JOIN docs d ON d.id = o.doc_id
             WHERE ?1 = '' OR d.path = ?1 OR (d.path >= ?1 || '/' AND d.path < ?1 || '0') ORDER BY d.path, o.seq",
            Observation::COLUMNS,
            Label::COLUMNS
        );
        self.0.each(&sql, [place], |(it, of)| see(it, of))
    }

    /// Returns the notes with observations, or with those of some categories, which are in lowercase.
    pub fn stating(self, categories: Option<&[&str]>) -> Read<FxHashSet<i64>> {
        let categories = categories.map(|all| serde_json::to_string(all).unwrap_or_default());
        let sql = "SELECT doc_id FROM observations
                   WHERE ?1 IS NULL OR lower(category) IN (SELECT value FROM json_each(?1))";
        self.0.rows(sql, [categories])
    }

    /// Returns the notes with links.
    pub fn linking(self) -> Read<Vec<i64>> {
        let sql = "SELECT doc_id FROM notes n
                   WHERE EXISTS (SELECT 1 FROM note_links l WHERE l.doc_id = n.doc_id)";
        self.0.rows(sql, [])
    }

    /// Returns the links of a note, in the order of its text.
    pub fn links(self, doc: i64) -> Read<Vec<Link>> {
        self.0.select(&format!("{LINKS} l.doc_id = ?1 ORDER BY l.seq"), [doc])
    }

    /// Returns the links of other notes to a document, by path and place: at most `most`, after the first `skip`.
    pub fn backlinks(self, doc: i64, skip: usize, most: usize) -> Read<Vec<Link>> {
        let from = format!(
            "{LINKS} l.dst = ?1 AND l.doc_id <> ?1 ORDER BY f.path, l.seq LIMIT ?3 OFFSET ?2"
        );
        self.0.select(&from, params![doc, skip as i64, most as i64])
    }

    /// Returns the links whose target ends in a file name, by its [`file_key`](notes::resolve::file_key), by path and
    /// place: at most `most`.
    pub fn links_by_file_name(self, key: &str, most: usize) -> Read<Vec<Link>> {
        let from = format!("{LINKS} l.file_key = ?1 ORDER BY f.path, l.seq LIMIT ?2");
        self.0.select(&from, params![key, most as i64])
    }

    /// Returns the links of notes whose path starts with `prefix` that have no target, or point to a place in it; by
    /// path and place.
    pub fn doubtful_links(self, prefix: &str) -> Read<Vec<Link>> {
        let from = format!("{LINKS} substr(f.path, 1, length(?1)) = ?1
                  AND (t.id IS NULL OR l.heading IS NOT NULL OR l.block IS NOT NULL) ORDER BY f.path, l.seq");
        self.0.select(&from, [prefix])
    }

    /// Returns the relation that the graph derives from a typed link: subject, predicate and object.
    #[allow(clippy::type_complexity)]
    pub fn relation_of(self, link: &Link) -> Read<Option<(Option<i64>, String, Option<i64>)>> {
        let sql = "SELECT f.entity_id, e.predicate, coalesce(n.entity_id, d.entity_id)
                   FROM docs f JOIN evidence e ON e.doc_id = f.id
                     LEFT JOIN names n ON n.id = e.object LEFT JOIN docs d ON d.id = -e.object
                   WHERE f.id = ?1 AND e.pattern = 'link:typed' AND e.raw_start >= ?2 AND e.raw_start < ?3 LIMIT 1";
        self.0.row(sql, (link.from, link.span.0 as i64, link.span.1 as i64))
    }

    /// Returns the inline fields of a note, or of all, in the order of the texts.
    pub fn fields(self, doc: Option<i64>) -> Read<Vec<Field>> {
        self.0.select(
            "FROM note_fields WHERE doc_id BETWEEN ?1 AND ?2 ORDER BY doc_id, seq",
            [doc.unwrap_or(i64::MIN), doc.unwrap_or(i64::MAX)],
        )
    }

    /// Returns the places in a note that a link may point to, those of one kind in the order of the text.
    pub fn places(self, doc: i64) -> Read<Vec<Place>> {
        self.0.select("FROM note_places WHERE doc_id = ?1 ORDER BY seq", [doc])
    }

    /// Calls `see` with each heading of each note.
    pub fn each_heading(self, see: impl FnMut((i64, String))) -> Read<()> {
        self.0.every("SELECT doc_id, name FROM note_places WHERE kind = 0", [], see)
    }

    /// Returns the notes whose permalink or slugged path matches a pattern, by permalink: at most `most`. `*` stands
    /// for any characters, nothing else is special.
    pub fn matching(self, pattern: &str, most: usize) -> Read<Vec<i64>> {
        let glob = pattern.replace('[', "[[]").replace('?', "[?]");
        let sql = "SELECT n.doc_id FROM notes n WHERE n.permalink GLOB ?1
                     OR EXISTS (SELECT 1 FROM doc_names m WHERE m.doc_id = n.doc_id AND m.kind = ?2 AND m.key GLOB ?1)
                   ORDER BY n.permalink LIMIT ?3";
        self.0.rows(sql, params![glob, By::PathSlug as i64, most as i64])
    }

    /// Returns whether a note other than that at `path` has this permalink, or would have it by its title.
    pub fn is_taken(self, permalink: &str, path: &str) -> Read<bool> {
        let sql = "SELECT 1 FROM notes n JOIN docs d ON d.id = n.doc_id
                   WHERE (n.base = ?1 OR n.permalink = ?1) AND d.path <> ?2";
        self.0.has_row(sql, [permalink, path])
    }
}
