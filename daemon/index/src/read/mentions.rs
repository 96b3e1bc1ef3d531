//! Mentions: where documents name something.

use std::ops::Deref;

use model::terms::EntityType;
use rusqlite::Params;
use rustc_hash::FxHashMap;

use super::{Chunk, Read};
use crate::store::Snapshot;
pub use crate::store::positions::Position;
use crate::store::positions::Positions;

/// Reads mentions.
#[derive(Clone, Copy)]
pub struct Mentions<'s>(pub(super) &'s Snapshot);

/// A place of a name in a document.
#[derive(Debug, Clone, PartialEq)]
pub struct Mention {
    /// Row id of the document.
    pub doc: i64,
    /// Row id of the name.
    pub name: i64,
    /// The entity that its name denotes.
    pub entity: Option<i64>,
    /// Where it is, and what it says there.
    pub position: Position,
}

impl Deref for Mention {
    type Target = Position;

    fn deref(&self) -> &Position {
        &self.position
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
    /// Returns the mentions in the rows that a condition selects, by place.
    fn unpacked(self, condition: &str, params: impl Params) -> Read<Vec<Mention>> {
        let sql = format!("SELECT m.doc_id, n.id, n.entity_id, m.positions {FROM} {condition}");
        let mut found = Vec::new();
        self.0.every(&sql, params, |(doc, name, entity, Positions(all))| {
            let of = |position| Mention { doc, name, entity, position };
            found.extend(all.into_iter().map(of));
        })?;
        found.sort_by_key(|it| (it.doc, it.at, it.end));
        Ok(found)
    }

    /// Returns the mentions in a document, by place.
    pub fn in_doc(self, doc: i64) -> Read<Vec<Mention>> {
        self.unpacked("WHERE m.doc_id = ?1", [doc])
    }

    /// Returns where an entity is mentioned, document and byte of its text, in this order.
    pub fn places(self, entity: i64) -> Read<Vec<(i64, usize)>> {
        let all = self.unpacked("WHERE n.entity_id = ?1", [entity])?;
        Ok(all.into_iter().map(|it| (it.doc, it.at)).collect())
    }

    /// Returns the documents that mention an entity, each with the byte of its text where the first mention begins, by
    /// id. Reads an index only.
    pub fn docs(self, entity: i64) -> Read<Vec<(i64, usize)>> {
        let sql = format!(
            "SELECT m.doc_id, min(m.at) {FROM} WHERE n.entity_id = ?1 GROUP BY m.doc_id ORDER BY m.doc_id"
        );
        self.0.rows(&sql, [entity])
    }

    /// Returns the documents that mention an entity, those with most mentions first; ties by path.
    pub fn by_doc(self, entity: i64) -> Read<Vec<Occurrences>> {
        // Grouped by document first, from an index alone: a name may be mentioned ten thousand times.
        let from = format!(
            "FROM (SELECT m.doc_id AS doc, sum(m.n) AS n, min(m.at) AS at, max(n.link) AS link {FROM}
                   WHERE n.entity_id = ?1 GROUP BY m.doc_id) t
             JOIN docs d ON d.id = t.doc ORDER BY t.n DESC, d.path"
        );
        self.0.select(&from, [entity])
    }

    /// Returns the first mention of a name, by the path of the document.
    pub fn first_of_name(self, name: i64) -> Read<Option<Mention>> {
        let of_name = "JOIN docs d ON d.id = m.doc_id WHERE n.id = ?1 ORDER BY d.path LIMIT 1";
        Ok(self.unpacked(of_name, [name])?.into_iter().next())
    }

    /// Returns the entities that mentions with exactly this spelling denote, at most `most`.
    pub fn spelled(self, surface: &str, most: usize) -> Read<Vec<i64>> {
        // As a JSON string, its quotation marks are the borders of the surface.
        let quoted = serde_json::to_string(surface).unwrap_or_default();
        let sql = format!(
            "SELECT DISTINCT n.entity_id {FROM}
             WHERE instr(m.positions, ?1) > 0 AND n.entity_id IS NOT NULL LIMIT ?2"
        );
        self.0.rows(&sql, (quoted, most as i64))
    }

    /// Returns the first mention of an entity in a document.
    pub fn first_in(self, doc: i64, entity: i64) -> Read<Option<Mention>> {
        let there = self.unpacked("WHERE m.doc_id = ?1 AND n.entity_id = ?2", [doc, entity])?;
        Ok(there.into_iter().next())
    }

    /// Returns the mentions of two entities in a document, by place.
    pub fn of_pair(self, doc: i64, [a, b]: [i64; 2]) -> Read<Vec<Mention>> {
        self.unpacked("WHERE m.doc_id = ?1 AND n.entity_id IN (?2, ?3)", [doc, a, b])
    }

    /// Returns the entities that the names in each of some passages denote, by passage: once a name.
    pub fn entities_in<'c>(
        self,
        chunks: impl IntoIterator<Item = &'c Chunk>,
    ) -> Read<FxHashMap<i64, Vec<i64>>> {
        let sql = "SELECT n.entity_id FROM chunks c JOIN json_each(c.names) m JOIN names n ON n.id = m.value
                   WHERE c.id = ?1 AND n.entity_id IS NOT NULL";
        self.0.rows_by(sql, chunks.into_iter().map(|chunk| chunk.id))
    }

    /// Returns the norms of the names of one type that each of some passages mentions, by passage.
    pub fn norms_in(
        self,
        chunks: impl IntoIterator<Item = i64>,
        of: EntityType,
    ) -> Read<FxHashMap<i64, Vec<String>>> {
        let sql = "SELECT n.norm, n.type FROM chunks c JOIN json_each(c.names) m JOIN names n ON n.id = m.value
                   WHERE c.id = ?1";
        let all: FxHashMap<i64, Vec<(String, i64)>> = self.0.rows_by(sql, chunks)?;
        let of_type = |names: Vec<(String, i64)>| {
            let those = names.into_iter().filter(|(_, code)| EntityType::from_code(*code) == of);
            those.map(|(norm, _)| norm).collect()
        };
        Ok(all.into_iter().map(|(chunk, names)| (chunk, of_type(names))).collect())
    }
}
