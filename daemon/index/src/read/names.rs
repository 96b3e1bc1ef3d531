//! Names: what texts call things, each with the entity that it was decided to denote.

use embed::Embedder;

use super::Read;
use crate::store::{Likeness, Snapshot, Verdict};

/// Reads names.
#[derive(Clone, Copy)]
pub struct Names<'s>(pub(super) &'s Snapshot);

record! {
    /// A name in one of its senses.
    pub struct Name {
        /// Row id.
        pub id: i64 = "n.id",
        /// The form that is compared.
        pub norm: String = "n.norm",
        /// 0, or which of several meanings; see the schema.
        pub sense: i64 = "n.sense",
        /// The entity that it denotes.
        pub entity: Option<i64> = "n.entity_id",
        /// Confidence of that, 0 to 1.
        pub link: f32 = "n.link",
        /// How that was decided.
        pub decision: i64 = "n.decision",
        /// The name through which an inexact one was linked.
        pub via: Option<i64> = "n.via",
        /// The most frequent spelling; empty if no document mentions it.
        pub surface: String = "n.surface",
        /// Code of its type; negative if it is too unsure to be shown.
        pub type_code: i64 = "n.type",
        /// Number of documents with it.
        pub n_docs: i64 = "n.n_docs",
        /// Number of mentions.
        pub n_mentions: i64 = "n.n_mentions",
    }
}

impl<'s> Names<'s> {
    /// Returns a name.
    pub fn get(self, name: i64) -> Read<Option<Name>> {
        self.0.select_one("FROM names n WHERE n.id = ?1", [name])
    }

    /// Returns the name with a norm, in the sense that holds unless a document means another.
    pub fn with_norm(self, norm: &str) -> Read<Option<Name>> {
        self.0.select_one("FROM names n WHERE n.norm = ?1 AND n.sense = 0", [norm])
    }

    /// Returns the name with a norm in each of its senses.
    pub fn senses(self, norm: &str) -> Read<Vec<Name>> {
        self.0.select("FROM names n WHERE n.norm = ?1 ORDER BY n.sense", [norm])
    }

    /// Returns the names that denote an entity, those in most documents first; ties by norm.
    pub fn of(self, entity: i64) -> Read<Vec<Name>> {
        let from = "FROM names n WHERE n.entity_id = ?1 ORDER BY n.n_docs DESC, n.norm";
        self.0.select(from, [entity])
    }

    /// Returns the spellings that denote an entity, and those that documents state for it, most used first.
    pub fn spellings(self, entity: i64, most: usize) -> Read<Vec<String>> {
        let sql = "SELECT surface FROM (
            SELECT surface, n_docs + 1 AS weight FROM names WHERE entity_id = ?1 AND sense = 0
            UNION ALL SELECT s.surface, 1 FROM stated s JOIN names n ON n.id = s.name_id WHERE n.entity_id = ?1)
          WHERE surface <> '' GROUP BY surface ORDER BY sum(weight) DESC, surface LIMIT ?2";
        self.0.rows(sql, (entity, most as i64))
    }

    /// Returns the names that denote an entity, each with the entity.
    pub fn entities(self) -> Read<Vec<(i64, i64)>> {
        self.0.rows("SELECT id, entity_id FROM names WHERE entity_id IS NOT NULL", [])
    }

    /// Calls `see` with each name that denotes an entity: norm, entity, number of documents.
    pub fn each(self, mut see: impl FnMut(&str, i64, u32) -> Read<()>) -> Read<()> {
        // Every row is read, so an index would only add look-ups.
        let sql =
            "SELECT norm, entity_id, n_docs FROM names NOT INDEXED WHERE entity_id IS NOT NULL";
        let mut statement = self.0.db().prepare_cached(sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            see(row.get_ref(0)?.as_str().unwrap_or_default(), row.get(1)?, row.get(2)?)?;
        }
        Ok(())
    }

    /// Returns how alike names are, as Resolve compares them; `verdict` returns decisions by their keys.
    pub fn likeness(
        self,
        embedder: &'s dyn Embedder,
        verdict: &'s dyn Fn(&str) -> Option<Verdict>,
    ) -> Likeness<'s> {
        Likeness::new(self.0.db(), embedder, verdict)
    }

    /// Returns the first names with a key of similar spelling that have one meaning and denote an entity.
    pub fn keyed(self, key: u64, most: usize) -> Read<Vec<Name>> {
        let from = "FROM names n JOIN name_keys k ON k.name_id = n.id
            WHERE k.key = ?1 AND n.sense = 0 AND n.entity_id IS NOT NULL LIMIT ?2";
        self.0.select(from, (key as i64, most as i64))
    }

    /// Calls `see` with the norm and the surface of every name, in any order.
    pub fn each_spelling(self, mut see: impl FnMut(&str, &str)) -> Read<()> {
        self.0.every("SELECT norm, surface FROM names", [], |(norm, surface): (String, String)| {
            see(&norm, &surface);
        })
    }
}
