//! Keys: the blocking keys of names, and the names that share one.
//!
//! In: the facts of a name. Out: rows of `name_keys`, and neighbors; those of all names at once from arrays in memory.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, params};
use rustc_hash::FxHashMap;

use super::Resolver;
use crate::store::{StoreError, facts};
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
        self.add_compared(norm, &mut out)?;
        out.remove(&id);
        Ok(out)
    }

    /// Adds the names that a person compared with this one.
    fn add_compared(&self, norm: &str, to: &mut BTreeSet<i64>) -> Result<(), StoreError> {
        for other in self.ledger.decisions().compared_with(norm) {
            let row: Option<i64> = self
                .db
                .prepare_cached("SELECT id FROM names WHERE norm = ?1 AND sense = 0")?
                .query_row([other], |row| row.get(0))
                .optional()?;
            to.extend(row);
        }
        Ok(())
    }

    /// Returns the names that share a key with one, and those that a person compared with it.
    pub(super) fn with_compared(
        &self,
        mut sharing: BTreeSet<i64>,
        name: &NameFacts,
    ) -> Result<BTreeSet<i64>, StoreError> {
        self.add_compared(&name.norm, &mut sharing)?;
        sharing.remove(&name.id);
        Ok(sharing)
    }
}

/// Most names that are held in memory at once, some 20 MiB; of more, each is looked up.
const MOST_HELD: i64 = 50_000;

/// The facts and keys of all names.
pub(in crate::store) struct AllNames {
    pub(super) facts: FxHashMap<i64, Arc<NameFacts>>,
    /// The names in order of their keys.
    names: Vec<i64>,
    /// Each name with a range of `names` that share one of its keys, in order of the name.
    groups: Vec<(i64, Range<u32>)>,
}

impl AllNames {
    /// Reads them; `None` if there are too many.
    pub(in crate::store) fn read(db: &Connection) -> Result<Option<AllNames>, StoreError> {
        let n_names: i64 = db.query_row("SELECT count(*) FROM names", [], |row| row.get(0))?;
        if n_names > MOST_HELD {
            return Ok(None);
        }
        let facts = facts::all(db)?.into_iter().map(|it| (it.id, Arc::new(it))).collect();
        let mut statement = db.prepare("SELECT key, name_id FROM name_keys ORDER BY key")?;
        let mut rows = statement.query([])?;
        let (mut names, mut starts): (Vec<i64>, Vec<u32>) = Default::default();
        let mut last = None;
        while let Some(row) = rows.next()? {
            let key: i64 = row.get(0)?;
            if last != Some(key) {
                starts.push(names.len() as u32);
                last = Some(key);
            }
            names.push(row.get(1)?);
        }
        starts.push(names.len() as u32);
        let mut groups = Vec::with_capacity(names.len());
        for range in starts.windows(2).filter_map(|it| Some(*it.first()?..*it.last()?)) {
            // A key of one name leads to nobody.
            let of = names.get(range.start as usize..range.end as usize).unwrap_or_default();
            groups.extend(of.iter().filter(|_| of.len() > 1).map(|name| (*name, range.clone())));
        }
        groups.sort_unstable_by_key(|(name, range)| (*name, range.start));
        Ok(Some(AllNames { facts, names, groups }))
    }

    /// Returns the names that share a key with one, itself among them if there are any.
    pub(super) fn sharing(&self, name: i64) -> BTreeSet<i64> {
        let first = self.groups.partition_point(|(it, _)| *it < name);
        let own = self.groups.iter().skip(first).take_while(|(it, _)| *it == name);
        let names =
            own.filter_map(|(_, range)| self.names.get(range.start as usize..range.end as usize));
        names.flatten().copied().collect()
    }
}
