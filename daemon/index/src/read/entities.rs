//! Entities: the things that names denote, one row each.

use std::collections::BTreeSet;

use super::Read;
use crate::store::Snapshot;

/// Reads canonical entities.
#[derive(Clone, Copy)]
pub struct Entities<'s>(pub(super) &'s Snapshot);

record! {
    /// A canonical entity, with the note that it is.
    pub struct Entity {
        /// Row id, derived from what it is.
        pub id: i64 = "e.id",
        /// Its name in the form that is compared.
        pub norm: String = "e.norm",
        /// The note that it is.
        pub doc: Option<i64> = "e.doc_id",
        /// Its name as shown.
        pub name: String = "e.name",
        /// Code of its type; negative if it is too unsure to be shown.
        pub type_code: i64 = "e.type",
        /// Identity of its note.
        pub uid: Option<String> = "d.uid",
        /// Path of its note.
        pub path: Option<String> = "d.path",
    }
}

/// The tables of entities; a condition and an order follow.
const FROM: &str = "FROM entities e LEFT JOIN docs d ON d.id = e.doc_id";

impl Entities<'_> {
    /// Returns an entity.
    pub fn get(self, entity: i64) -> Read<Option<Entity>> {
        self.0.select_one(&format!("{FROM} WHERE e.id = ?1"), [entity])
    }

    /// Returns all entities, by id.
    pub fn all(self) -> Read<Vec<Entity>> {
        self.0.select(&format!("{FROM} ORDER BY e.id"), [])
    }

    /// Returns the entities whose own name has this norm, by id: at most one that is no note.
    pub fn with_norm(self, norm: &str) -> Read<Vec<Entity>> {
        self.0.select(&format!("{FROM} WHERE e.norm = ?1 ORDER BY e.id"), [norm])
    }

    /// Returns the entity that a note is.
    pub fn of_note(self, doc: i64) -> Read<Option<i64>> {
        self.0.row("SELECT id FROM entities WHERE doc_id = ?1", [doc])
    }

    /// Returns some entities, each with whether others share its norm.
    pub fn with_namesakes(self, entities: &BTreeSet<i64>) -> Read<Vec<(Entity, bool)>> {
        let sql = format!(
            "WITH ends AS MATERIALIZED (SELECT * FROM entities WHERE id IN (SELECT value FROM json_each(?1))),
               shared AS MATERIALIZED (SELECT norm FROM entities WHERE norm IN (SELECT norm FROM ends)
                 GROUP BY norm HAVING count(*) > 1)
             SELECT {}, e.norm IN shared FROM ends e LEFT JOIN docs d ON d.id = e.doc_id",
            Entity::COLUMNS
        );
        self.0.rows(&sql, [serde_json::to_string(entities).unwrap_or_default()])
    }

    /// Returns all entities with their norms and the codes of their types, by norm; ties by path.
    pub fn by_norm(self) -> Read<Vec<(i64, String, i64)>> {
        self.0.rows(
            "SELECT e.id, e.norm, e.type FROM entities e LEFT JOIN docs d ON d.id = e.doc_id ORDER BY e.norm, d.path",
            [],
        )
    }

    /// Returns all entities with the codes of their types, most mentioned first; ties by norm.
    pub fn by_mentions(self) -> Read<Vec<(i64, i64)>> {
        let sql = "SELECT e.id, e.type FROM entities e LEFT JOIN names n ON n.entity_id = e.id
                   GROUP BY e.id ORDER BY coalesce(sum(n.n_mentions), 0) DESC, e.norm, e.id";
        self.0.rows(sql, [])
    }

    /// Returns the entities that a document mentions, each with the number of mentions, most mentioned first; ties by
    /// name.
    pub fn mentioned_in(self, doc: i64, most: usize) -> Read<Vec<(Entity, u64)>> {
        let sql = format!(
            "SELECT {}, sum(m.n) AS n FROM mentions m JOIN names n ON n.id = m.name_id
             JOIN entities e ON e.id = n.entity_id LEFT JOIN docs d ON d.id = e.doc_id WHERE m.doc_id = ?1
             GROUP BY e.id ORDER BY n DESC, e.name, e.id LIMIT ?2",
            Entity::COLUMNS
        );
        self.0.rows(&sql, (doc, most as i64))
    }
}
