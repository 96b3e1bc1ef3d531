//! Applies Resolve to the names that commits made dirty, inside the writer's transaction.
//!
//! Order cannot matter: facts are counted from rows, decisions are pure, and whoever could be affected (names that
//! share a blocking key) is decided again. Names are decided from high authority to low, so what a name is linked
//! through is always settled before it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use config::settings::Link;
use rusqlite::{Connection, OptionalExtension, params};
use rustc_hash::FxHashMap;

use super::facts::{self, Gathered};
use super::ledger::Ledger;
use super::likeness::Likeness;
use super::{StoreError, ids};
use crate::embedder::Embedder;
use crate::pipeline::link::blocking;
use crate::pipeline::link::resolve::{Decision, NameFacts, decide};
use crate::terms::EntityType;

/// How a name's row records its decision.
pub(super) const HOME: i64 = 1;
const AMBIGUOUS: i64 = 2;
const VIA: i64 = 3;
const OWN: i64 = 4;
const SENSE: i64 = 5;

/// What one run has read already.
#[derive(Default)]
struct Neighborhood {
    facts: FxHashMap<i64, NameFacts>,
    neighbors: FxHashMap<i64, BTreeSet<i64>>,
}

impl Neighborhood {
    fn facts_of(&mut self, db: &Connection, id: i64) -> Result<Option<NameFacts>, StoreError> {
        if !self.facts.contains_key(&id)
            && let Some(facts) = facts::stored(db, id)?
        {
            self.facts.insert(id, facts);
        }
        Ok(self.facts.get(&id).cloned())
    }
}

/// Resolves names for one database.
pub(super) struct Resolver<'a> {
    pub db: &'a Connection,
    pub embedder: &'a Arc<dyn Embedder>,
    pub ledger: &'a Ledger,
    pub weights: &'a Link,
}

impl Resolver<'_> {
    /// Resolves these names (rows of sense 0) and all that depend on them, and clears their dirty marks.
    pub(super) fn run(&self, ids: &[i64]) -> Result<(), StoreError> {
        let gathered = facts::gather(self.db, ids)?;
        let present: BTreeSet<i64> = gathered.iter().map(|g| g.facts.id).collect();
        let mut to_decide: BTreeSet<i64> = BTreeSet::new();
        for id in ids.iter().filter(|id| !present.contains(id)) {
            to_decide.extend(self.forget(*id)?);
        }
        for name in &gathered {
            to_decide.extend(self.refresh(name)?);
            to_decide.insert(name.facts.id);
        }
        // Only now are all keys as they should be.
        let mut neighborhood = Neighborhood::default();
        for name in gathered.iter().filter(|name| name.facts.is_fuzzy) {
            let neighbors = self.neighbors(name.facts.id, &self.keys(&name.facts))?;
            to_decide.extend(&neighbors);
            neighborhood.neighbors.insert(name.facts.id, neighbors);
        }
        neighborhood.facts.extend(gathered.into_iter().map(|g| (g.facts.id, g.facts)));
        self.decide_all(&to_decide, neighborhood)?;
        for id in ids {
            self.db.prepare_cached("DELETE FROM dirty_names WHERE name_id = ?1")?.execute([id])?;
        }
        Ok(())
    }

    /// Drops a name that nothing mentions or states any more; returns the names that were compared with it.
    fn forget(&self, id: i64) -> Result<BTreeSet<i64>, StoreError> {
        let keys = facts::stored(self.db, id)?.map(|facts| self.keys(&facts)).unwrap_or_default();
        let mut neighbors = self.neighbors(id, &keys)?;
        let mut statement = self.db.prepare_cached("SELECT id FROM names WHERE via = ?1")?;
        for dependent in statement.query_map([id], |row| row.get(0))? {
            neighbors.insert(dependent?);
        }
        let row: Option<(Option<i64>, String)> = self
            .db
            .prepare_cached("SELECT entity_id, norm FROM names WHERE id = ?1 AND sense = 0")?
            .query_row([id], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        for key in keys {
            self.db
                .prepare_cached("DELETE FROM name_keys WHERE key = ?1 AND name_id = ?2")?
                .execute(params![key as i64, id])?;
        }
        if let Some((entity, norm)) = row {
            self.db.prepare_cached("DELETE FROM names WHERE norm = ?1")?.execute([norm])?;
            self.drop_if_unnamed(entity)?;
        }
        neighbors.remove(&id);
        Ok(neighbors)
    }

    /// Stores a name's facts and keys; returns the names that shared a key with it before.
    fn refresh(&self, name: &Gathered) -> Result<BTreeSet<i64>, StoreError> {
        let facts = &name.facts;
        let old = facts::stored(self.db, facts.id)?;
        let mut neighbors = BTreeSet::new();
        let keys_changed = old
            .as_ref()
            .is_none_or(|o| (&o.surface, o.is_fuzzy) != (&facts.surface, facts.is_fuzzy));
        if keys_changed {
            let old_keys = old.map(|old| self.keys(&old)).unwrap_or_default();
            neighbors.extend(self.neighbors(facts.id, &old_keys)?);
            self.write_keys(&old_keys, facts)?;
        }
        self.db
            .prepare_cached(
                "UPDATE names SET surface = ?2, type = ?3, n_docs = ?4, n_mentions = ?5, homes = ?6,
                   home_source = ?7, is_fuzzy = ?8 WHERE id = ?1",
            )?
            .execute(params![
                facts.id,
                facts.surface,
                facts.entity_type.code(),
                facts.n_docs,
                name.n_mentions,
                facts::encode_homes(&facts.homes),
                facts.home_source.map(|source| source as i64),
                facts.is_fuzzy
            ])?;
        Ok(neighbors)
    }

    fn keys(&self, facts: &NameFacts) -> Vec<u64> {
        if !facts.is_fuzzy || facts.surface.is_empty() {
            return Vec::new();
        }
        let vector = self.embedder.embed(&[&facts.surface]).pop();
        blocking::keys_of(&facts.surface, &facts.norm, vector.as_ref())
    }

    /// Keys are a function of the facts, so the old ones are computed again instead of being looked up.
    fn write_keys(&self, old: &[u64], facts: &NameFacts) -> Result<Vec<u64>, StoreError> {
        let keys = self.keys(facts);
        let mut delete =
            self.db.prepare_cached("DELETE FROM name_keys WHERE key = ?1 AND name_id = ?2")?;
        for key in old.iter().filter(|key| !keys.contains(key)) {
            delete.execute(params![*key as i64, facts.id])?;
        }
        let mut insert =
            self.db.prepare_cached("INSERT OR IGNORE INTO name_keys VALUES(?1, ?2)")?;
        for key in keys.iter().filter(|key| !old.contains(key)) {
            insert.execute(params![*key as i64, facts.id])?;
        }
        Ok(keys)
    }

    /// The other names that have one of these keys.
    fn neighbors(&self, id: i64, keys: &[u64]) -> Result<BTreeSet<i64>, StoreError> {
        let mut statement =
            self.db.prepare_cached("SELECT name_id FROM name_keys WHERE key = ?1")?;
        let mut out = BTreeSet::new();
        for key in keys {
            for name in statement.query_map([*key as i64], |row| row.get(0))? {
                out.insert(name?);
            }
        }
        out.remove(&id);
        Ok(out)
    }

    /// Decides names from high authority to low, then hands their entities on to what is linked through them.
    fn decide_all(&self, ids: &BTreeSet<i64>, mut known: Neighborhood) -> Result<(), StoreError> {
        let mut all: Vec<NameFacts> = Vec::with_capacity(ids.len());
        for id in ids {
            all.extend(known.facts_of(self.db, *id)?);
        }
        all.sort_by(|a, b| a.authority().cmp(&b.authority()));
        let around_decisions = |key: &str| self.ledger.decisions().get(key);
        let around = Likeness::new(self.db, self.embedder.as_ref(), &around_decisions);
        for name in &all {
            let decision = if name.is_fuzzy && name.homes.is_empty() {
                let neighbors = match known.neighbors.remove(&name.id) {
                    Some(neighbors) => neighbors,
                    None => self.neighbors(name.id, &self.keys(name))?,
                };
                let mut candidates = Vec::with_capacity(neighbors.len());
                for neighbor in neighbors {
                    candidates.extend(known.facts_of(self.db, neighbor)?);
                }
                decide(name, &candidates, self.weights, &around)
            } else {
                decide(name, &[], self.weights, &around)
            };
            self.apply(name, decision)?;
        }
        Ok(())
    }

    fn apply(&self, name: &NameFacts, decision: Decision) -> Result<(), StoreError> {
        let (entity, link, code, via) = match decision {
            Decision::Home(doc) => (self.note_entity(name, doc)?, 1.0, HOME, None),
            Decision::Own => (Some(self.own_entity(name)?), 1.0, OWN, None),
            Decision::Via { name: through, score } => {
                (self.entity_of(through)?, f64::from(score.min(1.0)), VIA, Some(through))
            }
            Decision::Ambiguous(homes) => {
                self.choose_senses(name, &homes)?;
                (None, 0.0, AMBIGUOUS, None)
            }
        };
        if code != AMBIGUOUS {
            self.join_senses(name)?;
        }
        let old: Option<i64> = self.entity_of(name.id)?;
        self.db
            .prepare_cached(
                "UPDATE names SET entity_id = ?2, link = ?3, decision = ?4, via = ?5 WHERE id = ?1",
            )?
            .execute(params![name.id, entity, link, code, via])?;
        self.db
            .prepare_cached(
                "UPDATE docs SET entity_id = ?2 WHERE is_note = 0 AND id IN
                   (SELECT doc_id FROM stated WHERE name_id = ?1 AND source = 0)",
            )?
            .execute(params![name.id, entity])?;
        if old != entity {
            self.hand_on(name.id, entity)?;
            self.drop_if_unnamed(old)?;
        }
        Ok(())
    }

    fn entity_of(&self, name: i64) -> Result<Option<i64>, StoreError> {
        let entity: Option<Option<i64>> = self
            .db
            .prepare_cached("SELECT entity_id FROM names WHERE id = ?1")?
            .query_row([name], |row| row.get(0))
            .optional()?;
        Ok(entity.flatten())
    }

    /// The entity of a note, with the type its title's mentions vote for where the note states none.
    fn note_entity(&self, name: &NameFacts, doc: i64) -> Result<Option<i64>, StoreError> {
        self.typed_note_entity(name, doc, name.entity_type)
    }

    /// The entity of a note, with this type where its title is the name and the note states none.
    fn typed_note_entity(
        &self,
        name: &NameFacts,
        doc: i64,
        voted: EntityType,
    ) -> Result<Option<i64>, StoreError> {
        let row: Option<(i64, Option<String>, String)> = self
            .db
            .prepare_cached(
                "SELECT e.id, d.doc_type, e.norm FROM docs d JOIN entities e ON e.doc_id = d.id WHERE d.id = ?1",
            )?
            .query_row([doc], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .optional()?;
        let Some((entity, doc_type, norm)) = row else { return Ok(None) };
        if norm == name.norm {
            let stated = doc_type.as_deref().and_then(EntityType::parse);
            self.db
                .prepare_cached("UPDATE entities SET type = ?2 WHERE id = ?1")?
                .execute(params![entity, stated.unwrap_or(voted).code()])?;
        }
        Ok(Some(entity))
    }

    fn own_entity(&self, name: &NameFacts) -> Result<i64, StoreError> {
        ids::write_own(self.db, &name.norm, (&name.surface, name.entity_type.code()))
    }

    /// Gives the names linked through this one its new entity, and so on down the chain.
    fn hand_on(&self, name: i64, entity: Option<i64>) -> Result<(), StoreError> {
        let mut open = vec![name];
        while let Some(through) = open.pop() {
            let mut statement = self
                .db
                .prepare_cached("SELECT id FROM names WHERE via = ?1 AND entity_id IS NOT ?2")?;
            let dependents: Vec<i64> = statement
                .query_map(params![through, entity], |row| row.get(0))?
                .collect::<Result<_, _>>()?;
            for dependent in dependents {
                self.db
                    .prepare_cached("UPDATE names SET entity_id = ?2 WHERE id = ?1")?
                    .execute(params![dependent, entity])?;
                open.push(dependent);
            }
        }
        Ok(())
    }

    /// An entity of a norm goes when no name denotes it; a note's goes with its document.
    fn drop_if_unnamed(&self, entity: Option<i64>) -> Result<(), StoreError> {
        self.db
            .prepare_cached(
                "DELETE FROM entities WHERE id = ?1 AND doc_id IS NULL
                   AND NOT EXISTS (SELECT 1 FROM names WHERE entity_id = ?1)",
            )?
            .execute(params![entity])?;
        Ok(())
    }

    /// Brings the mentions of every sense back to sense 0.
    fn join_senses(&self, name: &NameFacts) -> Result<(), StoreError> {
        let mut statement =
            self.db.prepare_cached("SELECT id FROM names WHERE norm = ?1 AND sense <> 0")?;
        let senses: Vec<i64> =
            statement.query_map([&name.norm], |row| row.get(0))?.collect::<Result<_, _>>()?;
        for sense in senses {
            for sql in [
                "UPDATE mentions SET name_id = ?1 WHERE name_id = ?2",
                "UPDATE evidence SET subject = ?1 WHERE subject = ?2",
                "UPDATE evidence SET object = ?1 WHERE object = ?2",
            ] {
                self.db.prepare_cached(sql)?.execute([name.id, sense])?;
            }
            self.db.prepare_cached("DELETE FROM names WHERE id = ?1")?.execute([sense])?;
        }
        Ok(())
    }

    /// Several notes bear this name: each document's mentions go to the note that stands nearest to it, if one
    /// does. What stays on sense 0 is unsure, and denotes nothing rather than something wrong.
    fn choose_senses(&self, name: &NameFacts, homes: &[i64]) -> Result<(), StoreError> {
        self.join_senses(name)?;
        let mut home_paths: BTreeMap<String, i64> = BTreeMap::new();
        for home in homes {
            // No vote may stay from a time when the name was this note's alone: a rebuild would not know it.
            self.typed_note_entity(name, *home, EntityType::Document)?;
            if let Some(path) = self.path_of(*home)? {
                home_paths.insert(path, *home);
            }
        }
        let mut statement =
            self.db.prepare_cached("SELECT DISTINCT doc_id FROM mentions WHERE name_id = ?1")?;
        let docs: Vec<i64> =
            statement.query_map([name.id], |row| row.get(0))?.collect::<Result<_, _>>()?;
        for doc in docs {
            let Some(path) = self.path_of(doc)? else { continue };
            let Some(home) = nearest_home(&path, &home_paths) else { continue };
            let sense = self.sense_row(name, home)?;
            for sql in [
                "UPDATE mentions SET name_id = ?2 WHERE name_id = ?1 AND doc_id = ?3",
                "UPDATE evidence SET subject = ?2 WHERE subject = ?1 AND doc_id = ?3",
                "UPDATE evidence SET object = ?2 WHERE object = ?1 AND doc_id = ?3",
            ] {
                self.db.prepare_cached(sql)?.execute([name.id, sense, doc])?;
            }
        }
        Ok(())
    }

    fn sense_row(&self, name: &NameFacts, home: i64) -> Result<i64, StoreError> {
        let entity = self.note_entity(name, home)?;
        Ok(self
            .db
            .prepare_cached(
                "INSERT INTO names(norm, sense, entity_id, link, decision, via, surface, type, n_docs, n_mentions,
                   homes, home_source, is_fuzzy) VALUES(?1, ?2, ?3, 1.0, ?4, NULL, ?5, ?6, 0, 0, ?7, 0, 0)
                 ON CONFLICT(norm, sense) DO UPDATE SET entity_id = excluded.entity_id RETURNING id",
            )?
            .query_row(
                params![
                    name.norm,
                    home,
                    entity,
                    SENSE,
                    name.surface,
                    name.entity_type.code(),
                    home.to_string()
                ],
                |row| row.get(0),
            )?)
    }

    fn path_of(&self, doc: i64) -> Result<Option<String>, StoreError> {
        Ok(self
            .db
            .prepare_cached("SELECT path FROM docs WHERE id = ?1")?
            .query_row([doc], |row| row.get(0))
            .optional()?)
    }
}

/// The one note that shares the longest folder path with `path`; the document itself if it is one of them. `None`
/// when two are equally near: unsure is a state, not a guess.
fn nearest_home(path: &str, homes: &BTreeMap<String, i64>) -> Option<i64> {
    if let Some(own) = homes.get(path) {
        return Some(*own);
    }
    let shared = |other: &str| {
        let folders = |p: &'_ str| p.rsplit_once('/').map_or("", |(folder, _)| folder).to_string();
        let (a, b) = (folders(path), folders(other));
        let parts =
            |f: &str| f.split('/').filter(|p| !p.is_empty()).map(String::from).collect::<Vec<_>>();
        parts(&a).iter().zip(&parts(&b)).take_while(|(x, y)| x == y).count()
    };
    let best = homes.keys().map(|home| shared(home)).max()?;
    let mut nearest = homes.iter().filter(|(home, _)| shared(home) == best);
    match (nearest.next(), nearest.next()) {
        (Some((_, home)), None) => Some(*home),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_name_goes_to_the_nearest_note_or_stays_unsure() {
        let homes: BTreeMap<String, i64> =
            [("a/readme.md".to_string(), 1), ("b/readme.md".to_string(), 2)].into_iter().collect();
        let rows = [
            ("a/readme.md", Some(1)),
            ("a/x.md", Some(1)),
            ("b/deep/er.md", Some(2)),
            ("c/x.md", None),
            ("x.md", None),
        ];
        for (path, home) in rows {
            assert_eq!(nearest_home(path, &homes), home, "{path}");
        }
    }
}
