//! Mentions: where documents name something.

use rustc_hash::FxHashMap;

use super::{Chunk, Read};
use crate::store::Snapshot;

/// Reads mentions.
#[derive(Clone, Copy)]
pub struct Mentions<'s>(pub(super) &'s Snapshot);

record! {
    /// A place of a name in a document.
    pub struct Mention {
        /// Row id of the document.
        pub doc: i64 = "m.doc_id",
        /// First byte of the document's text.
        pub at: usize = "m.at",
        /// First byte of the file.
        pub start: u64 = "m.start",
        /// The byte after the last.
        pub end: u64 = "m.end",
        /// Line of the file.
        pub line: u32 = "m.line",
        /// Row id of the name.
        pub name: i64 = "m.name_id",
        /// Code of its type here.
        pub type_code: i64 = "m.type",
        /// Whether it stands in a heading.
        pub is_heading: bool = "m.place & 1",
        /// As written.
        pub surface: String = "m.surface",
        /// The entity that its name denotes.
        pub entity: Option<i64> = "n.entity_id",
    }
}

record! {
    /// The mentions of an entity in one document.
    pub struct Occurrences {
        /// Row id of the document.
        pub doc: i64 = "t.doc",
        /// Path of the document.
        pub path: String = "d.path",
        /// Day of the document, in ISO form.
        pub day: String = "d.day",
        /// Number of mentions.
        pub n: u64 = "t.n",
        /// First byte of the first one in the document's text.
        pub at: usize = "t.at",
        /// Confidence of the surest link from a name there to the entity, 0 to 1.
        pub link: f32 = "t.link",
    }
}

/// The tables of mentions; a condition and an order follow.
const FROM: &str = "FROM names n JOIN mentions m ON m.name_id = n.id";

impl Mentions<'_> {
    /// Returns the mentions of an entity, by document and place.
    pub fn of_entity(self, entity: i64) -> Read<Vec<Mention>> {
        self.0.select(&format!("{FROM} WHERE n.entity_id = ?1 ORDER BY m.doc_id, m.at"), [entity])
    }

    /// Returns the mentions in a document, by place.
    pub fn in_doc(self, doc: i64) -> Read<Vec<Mention>> {
        self.0.select(&format!("{FROM} WHERE m.doc_id = ?1 ORDER BY m.at"), [doc])
    }

    /// Returns where an entity is mentioned, document and byte of its text, in this order. Reads an index only.
    pub fn places(self, entity: i64) -> Read<Vec<(i64, usize)>> {
        let of_entity = "WHERE n.entity_id = ?1 ORDER BY m.doc_id, m.at";
        self.0.rows(&format!("SELECT m.doc_id, m.at {FROM} {of_entity}"), [entity])
    }

    /// Returns the documents that mention an entity, those with most mentions first; ties by path.
    pub fn by_doc(self, entity: i64) -> Read<Vec<Occurrences>> {
        // Grouped by document first, from an index alone: a name may be mentioned ten thousand times.
        let from = "FROM (SELECT m.doc_id AS doc, count(*) AS n, min(m.at) AS at, max(n.link) AS link
                      FROM names n JOIN mentions m ON m.name_id = n.id WHERE n.entity_id = ?1 GROUP BY m.doc_id) t
                    JOIN docs d ON d.id = t.doc ORDER BY t.n DESC, d.path";
        self.0.select(from, [entity])
    }

    /// Returns the first mention of a name, by the path of the document.
    pub fn first_of_name(self, name: i64) -> Read<Option<Mention>> {
        let of_name =
            "JOIN docs d ON d.id = m.doc_id WHERE n.id = ?1 ORDER BY d.path, m.at LIMIT 1";
        self.0.select_one(&format!("{FROM} {of_name}"), [name])
    }

    /// Returns the entities that mentions with exactly this spelling denote, at most `most`.
    pub fn spelled(self, surface: &str, most: usize) -> Read<Vec<i64>> {
        let sql = "SELECT DISTINCT n.entity_id FROM mentions m JOIN names n ON n.id = m.name_id
                   WHERE m.surface = ?1 AND n.entity_id IS NOT NULL LIMIT ?2";
        self.0.rows(sql, (surface, most as i64))
    }

    /// Returns the first mention of an entity in a document.
    pub fn first_in(self, doc: i64, entity: i64) -> Read<Option<Mention>> {
        let there = "WHERE m.doc_id = ?1 AND n.entity_id = ?2 ORDER BY m.at LIMIT 1";
        self.0.select_one(&format!("{FROM} {there}"), [doc, entity])
    }

    /// Returns the mention that begins at a byte of a document's text; the shorter of two.
    pub fn at(self, doc: i64, at: usize) -> Read<Option<Mention>> {
        let there = "WHERE m.doc_id = ?1 AND m.at = ?2 ORDER BY m.end LIMIT 1";
        self.0.select_one(&format!("{FROM} {there}"), (doc, at as i64))
    }

    /// Returns the entities that each of some passages mentions, by passage: once a mention.
    pub fn entities_in<'c>(
        self,
        chunks: impl IntoIterator<Item = &'c Chunk>,
    ) -> Read<FxHashMap<i64, Vec<i64>>> {
        let sql = "SELECT n.entity_id FROM mentions m JOIN names n ON n.id = m.name_id
                   WHERE m.doc_id = ?1 AND m.at >= ?2 AND m.at < ?3 AND n.entity_id IS NOT NULL";
        let of =
            |it: &Chunk| Ok((it.id, self.0.rows(sql, (it.doc, it.start as i64, it.end as i64))?));
        chunks.into_iter().map(of).collect()
    }

    /// Returns the norms of the names of one type that each of some passages mentions, by passage.
    pub fn norms_in(
        self,
        chunks: impl IntoIterator<Item = i64>,
        type_code: i64,
    ) -> Read<FxHashMap<i64, Vec<String>>> {
        let sql = format!(
            "SELECT n.norm FROM chunks c JOIN mentions m ON m.doc_id = c.doc_id AND m.at >= c.start AND m.at < c.end
             JOIN names n ON n.id = m.name_id WHERE c.id = ?1 AND m.type = {type_code}"
        );
        self.0.rows_by(&sql, chunks)
    }
}
