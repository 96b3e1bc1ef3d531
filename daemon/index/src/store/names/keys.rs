//! Keys: the blocking keys of names, and the names that share one.
//!
//! In: the facts of a name. Out: rows of `name_keys`, and neighbors.

use std::collections::BTreeSet;

use rusqlite::{OptionalExtension, params};

use super::Resolver;
use crate::store::StoreError;
use extract::link::blocking;
use extract::link::resolve::NameFacts;
use model::terms::EntityType;

impl Resolver<'_> {
    /// Returns the blocking keys of a name; none for one that is only linked by an exact match.
    pub(super) fn keys(&self, facts: &NameFacts) -> Vec<u64> {
        if !facts.is_fuzzy || facts.surface.is_empty() {
            return Vec::new();
        }
        let vector = self.embedder.embed(&[&facts.surface]).pop();
        let mut keys = blocking::keys_of(&facts.surface, &facts.norm, vector.as_ref());
        if facts.entity_type == EntityType::Person {
            keys.extend(blocking::person_keys(&facts.surface));
        }
        keys
    }

    /// Returns a name's keys, deletes those it has no more, and adds new ones to `new_keys`. Keys are a function of
    /// the facts, so the old ones are computed instead of read.
    pub(super) fn change_keys(
        &self,
        old: &[u64],
        facts: &NameFacts,
        new_keys: &mut Vec<(i64, i64)>,
    ) -> Result<Vec<u64>, StoreError> {
        let keys = self.keys(facts);
        let mut delete =
            self.db.prepare_cached("DELETE FROM name_keys WHERE key = ?1 AND name_id = ?2")?;
        for key in old.iter().filter(|key| !keys.contains(key)) {
            delete.execute(params![*key as i64, facts.id])?;
        }
        let new = keys.iter().filter(|key| !old.contains(key));
        new_keys.extend(new.map(|key| (*key as i64, facts.id)));
        Ok(keys)
    }

    /// Returns the other names that have one of these keys, or that a person compared with this one.
    pub(super) fn neighbors(
        &self,
        id: i64,
        norm: &str,
        keys: &[u64],
    ) -> Result<BTreeSet<i64>, StoreError> {
        let mut statement =
            self.db.prepare_cached("SELECT name_id FROM name_keys WHERE key = ?1")?;
        let mut out = BTreeSet::new();
        for key in keys {
            for name in statement.query_map([*key as i64], |row| row.get(0))? {
                out.insert(name?);
            }
        }
        for other in self.ledger.decisions().compared_with(norm) {
            let row: Option<i64> = self
                .db
                .prepare_cached("SELECT id FROM names WHERE norm = ?1 AND sense = 0")?
                .query_row([other], |row| row.get(0))
                .optional()?;
            out.extend(row);
        }
        out.remove(&id);
        Ok(out)
    }
}
