//! Names: applies Resolve to the names that commits made dirty, inside the writer's transaction.
//!
//! Order cannot matter: facts are counted from rows, decisions are pure, and every name that could be affected (those
//! that share a blocking key) is decided again. Names are decided from high authority to low, so a name is always
//! decided after the name it is linked through.

mod keys;

pub(super) use self::keys::AllNames;

use std::collections::BTreeSet;
use std::sync::Arc;

use config::settings::Link;
use rusqlite::{Connection, OptionalExtension, params};
use rustc_hash::FxHashMap;

use super::facts::{self, Gathered};
use super::ledger::Ledger;
use super::likeness::Likeness;
use super::work::Work;
use super::{StoreError, ids, readings};
use embed::Embedder;
use extract::link::resolve::{Candidate, Decided, Decision, NameFacts, Surroundings, decide};
use model::document::StatedSource;
use model::terms::{EntityType, norm_of};

/// Mentions or statements above which a decided name is left to the ripple when an interactive commit changes it.
const MANY_USES: i64 = 2_000;

/// As [`MANY_USES`], for the ripple while documents keep coming: to count them all again after each few hundred
/// documents would cost the square of their number.
pub(super) const MANY_WHEN_BUSY: i64 = 200;

/// The condition that the name `key` is decided and has more than `?2` mentions or statements: one more rarely
/// changes what it denotes.
pub(super) const IS_COMMON: &str = "EXISTS (SELECT 1 FROM names n WHERE n.id = work.key AND n.decision <> 0
   AND (n.n_mentions > ?2 OR EXISTS (SELECT 1 FROM stated s WHERE s.name_id = n.id LIMIT 1 OFFSET ?2)))";

/// The key of [`Work::Decide`] that stands for all names.
pub(super) const ALL: i64 = 0;

/// Values of `names.decision`.
pub(super) const HOME: i64 = 1;
const AMBIGUOUS: i64 = 2;
const VIA: i64 = 3;
const OWN: i64 = 4;
const UNSURE: i64 = 6;

/// The rows that one run has read so far.
#[derive(Default)]
struct Neighborhood {
    facts: FxHashMap<i64, Arc<NameFacts>>,
    neighbors: FxHashMap<i64, BTreeSet<i64>>,
    all: Option<Arc<AllNames>>,
}

impl Neighborhood {
    fn facts_of(&mut self, db: &Connection, id: i64) -> Result<Option<Arc<NameFacts>>, StoreError> {
        if let Some(all) = &self.all {
            return Ok(all.facts.get(&id).cloned());
        }
        if !self.facts.contains_key(&id)
            && let Some(facts) = facts::stored(db, id)?
        {
            self.facts.insert(id, Arc::new(facts));
        }
        Ok(self.facts.get(&id).cloned())
    }
}

/// Resolves names for one database.
pub(super) struct Resolver<'a> {
    pub(super) db: &'a Connection,
    pub embedder: &'a Arc<dyn Embedder>,
    pub ledger: &'a Ledger,
    pub weights: &'a Link,
}

/// How a name was decided, as stored: `link`, `decision`, `via` and `proposals`.
type Outcome = (f64, i64, Option<i64>, Option<String>);

/// Packs candidates; the view `proposals` names the values.
fn packed(proposals: &[Candidate]) -> Option<String> {
    let rows: Vec<(i64, f32)> = proposals.iter().map(|it| (it.name, it.score)).collect();
    (!rows.is_empty()).then(|| serde_json::to_string(&rows).unwrap_or_default())
}

/// The facts from which a name's blocking keys are made.
fn seen_by_keys(facts: &NameFacts) -> (&str, bool, bool) {
    (&facts.surface, facts.is_fuzzy, facts.entity_type == EntityType::Person)
}

impl Resolver<'_> {
    /// Resolves those of these names that are new or rare; the others keep their marks for the ripple. A name in
    /// every document takes long to count, and one more document rarely changes what it denotes. Names that are only
    /// compared with these are left to the ripple, too: their number grows with the folder.
    pub(super) fn run_soon(&self, ids: &[i64]) -> Result<(), StoreError> {
        let mut statement = self
            .db
            .prepare_cached(&format!("SELECT 1 FROM (SELECT ?1 AS key) work WHERE {IS_COMMON}"))?;
        let mut soon = Vec::with_capacity(ids.len());
        for id in ids {
            if !statement.exists(params![id, MANY_USES])? {
                soon.push(*id);
            }
        }
        let (to_decide, neighborhood) = self.gather(&soon, true)?;
        let compared: BTreeSet<i64> = neighborhood.neighbors.values().flatten().copied().collect();
        let mut through = self.db.prepare_cached("SELECT via FROM names WHERE id = ?1")?;
        let (mut now, mut later) = (BTreeSet::new(), BTreeSet::new());
        for id in to_decide {
            // A name that is linked through one of these would be wrong until the ripple comes, so it is decided now.
            let via: Option<i64> = through.query_row([id], |row| row.get(0)).optional()?.flatten();
            let depends = via.is_some_and(|via| soon.contains(&via));
            match compared.contains(&id) && !soon.contains(&id) && !depends {
                true => later.insert(id),
                false => now.insert(id),
            };
        }
        Work::Decide.add(self.db, later)?;
        self.decide_all(&now, neighborhood)
    }

    /// Resolves these names (rows of sense 0) and all that depend on them, and clears their marks.
    pub(super) fn run(&self, ids: &[i64]) -> Result<(), StoreError> {
        let (to_decide, neighborhood) = self.gather(ids, true)?;
        self.decide_all(&to_decide, neighborhood)
    }

    /// Gathers the facts of these names, and marks them and all that depend on them as undecided; or, if `marks_all`,
    /// all names, once every fact is gathered.
    pub(super) fn gather_only(&self, ids: &[i64], marks_all: bool) -> Result<(), StoreError> {
        let (mut to_decide, _) = self.gather(ids, !marks_all)?;
        if marks_all {
            to_decide = BTreeSet::from([ALL]);
        }
        Work::Decide.add(self.db, to_decide)
    }

    /// Decides these names; their facts must be gathered already. `all`: what [`AllNames::read`] returned since the
    /// last change of any facts.
    pub(super) fn decide_only(
        &self,
        ids: &[i64],
        all: Option<Arc<AllNames>>,
    ) -> Result<(), StoreError> {
        let known = Neighborhood { all, ..Neighborhood::default() };
        self.decide_all(&ids.iter().copied().collect(), known)
    }

    /// Gathers the facts of these names, writes their keys, and clears their dirty marks; returns the names to decide
    /// again, with the rows read on the way. Unless it `finds_others`, these are not all.
    fn gather(
        &self,
        ids: &[i64],
        finds_others: bool,
    ) -> Result<(BTreeSet<i64>, Neighborhood), StoreError> {
        let mut gathered = facts::gather(self.db, ids)?;
        let present: BTreeSet<i64> = gathered.iter().map(|g| g.facts.id).collect();
        let mut to_decide: BTreeSet<i64> = BTreeSet::new();
        for id in ids.iter().filter(|id| !present.contains(id)) {
            to_decide.extend(self.forget(*id)?);
        }
        let mut fresh_keys: FxHashMap<i64, Vec<u64>> = FxHashMap::default();
        let mut new_keys: Vec<(i64, i64)> = Vec::new();
        for name in &mut gathered {
            let (neighbors, keys) = self.refresh(name, finds_others, &mut new_keys)?;
            to_decide.extend(neighbors);
            to_decide.insert(name.facts.id);
            fresh_keys.extend(keys.map(|keys| (name.facts.id, keys)));
        }
        // In the order of the tree, which makes each insertion cheaper.
        new_keys.sort_unstable();
        let mut insert =
            self.db.prepare_cached("INSERT OR IGNORE INTO name_keys VALUES(?1, ?2)")?;
        new_keys.iter().try_for_each(|(key, name)| insert.execute([key, name]).map(drop))?;
        for name in gathered.iter().filter(|_| finds_others) {
            self.add_users(&name.facts.norm, &mut to_decide)?;
        }
        // All keys must be written before neighbors are looked up.
        let mut neighborhood = Neighborhood::default();
        for name in gathered.iter().filter(|name| finds_others && name.facts.is_fuzzy) {
            let keys = fresh_keys.remove(&name.facts.id).unwrap_or_else(|| self.keys(&name.facts));
            let neighbors = self.neighbors(name.facts.id, &name.facts.norm, &keys)?;
            to_decide.extend(&neighbors);
            neighborhood.neighbors.insert(name.facts.id, neighbors);
        }
        neighborhood.facts.extend(gathered.into_iter().map(|g| (g.facts.id, Arc::new(g.facts))));
        Work::Gather.remove(self.db, ids)?;
        Ok((to_decide, neighborhood))
    }

    /// Deletes a name that has no mentions and statements left; returns the names that were compared with it.
    fn forget(&self, id: i64) -> Result<BTreeSet<i64>, StoreError> {
        let keys = facts::stored(self.db, id)?.map(|facts| self.keys(&facts)).unwrap_or_default();
        let mut neighbors = self.neighbors(id, "", &keys)?;
        // Names linked through it; of a sense, the name it is a sense of.
        let mut statement = self.db.prepare_cached(
            "SELECT z.id FROM names n JOIN names z ON z.norm = n.norm AND z.sense = 0 WHERE n.via = ?1",
        )?;
        for dependent in statement.query_map([id], |row| row.get(0))? {
            neighbors.insert(dependent?);
        }
        let norm: Option<String> = self
            .db
            .prepare_cached("SELECT norm FROM names WHERE id = ?1 AND sense = 0")?
            .query_row([id], |row| row.get(0))
            .optional()?;
        for key in keys {
            self.db
                .prepare_cached("DELETE FROM name_keys WHERE key = ?1 AND name_id = ?2")?
                .execute(params![key as i64, id])?;
        }
        if let Some(norm) = norm {
            self.add_users(&norm, &mut neighbors)?;
            let mut statement =
                self.db.prepare_cached("SELECT entity_id FROM names WHERE norm = ?1")?;
            let entities: Vec<Option<i64>> =
                statement.query_map([&norm], |row| row.get(0))?.collect::<Result<_, _>>()?;
            self.db.prepare_cached("DELETE FROM names WHERE norm = ?1")?.execute([norm])?;
            entities.into_iter().try_for_each(|entity| self.drop_if_unnamed(entity))?;
        }
        neighbors.remove(&id);
        Ok(neighbors)
    }

    /// Adds the names that documents use for this one, and those that are compared with them.
    fn add_users(&self, norm: &str, to: &mut BTreeSet<i64>) -> Result<(), StoreError> {
        let mut statement = self.db.prepare_cached(
            "SELECT DISTINCT n.id FROM aliases a JOIN names n ON n.norm = a.norm AND n.sense = 0 WHERE a.target = ?1",
        )?;
        let users: Vec<i64> =
            statement.query_map([norm], |row| row.get(0))?.collect::<Result<_, _>>()?;
        for user in users {
            to.insert(user);
            if let Some(facts) = facts::stored(self.db, user)? {
                to.extend(self.neighbors(user, norm, &self.keys(&facts))?);
            }
        }
        Ok(())
    }

    /// Stores a name's facts; returns the names that shared one of its old keys, and its keys if they changed. Keys to
    /// be inserted are added to `new_keys`.
    fn refresh(
        &self,
        name: &mut Gathered,
        finds_others: bool,
        new_keys: &mut Vec<(i64, i64)>,
    ) -> Result<(BTreeSet<i64>, Option<Vec<u64>>), StoreError> {
        let facts = &mut name.facts;
        if name.may_be_split {
            let groups = readings::groups(self.db, self.embedder.as_ref(), facts)?;
            facts.is_split = !groups.0.is_empty();
        }
        let old = facts::stored(self.db, facts.id)?;
        let mut neighbors = BTreeSet::new();
        // An embedding per name is the costly part: most changes are of counts, which no key depends on.
        let keys_changed = old.as_ref().is_none_or(|o| seen_by_keys(o) != seen_by_keys(facts));
        let keys = if keys_changed {
            let old_keys = old.map(|old| self.keys(&old)).unwrap_or_default();
            if finds_others {
                neighbors.extend(self.neighbors(facts.id, &facts.norm, &old_keys)?);
            }
            Some(self.change_keys(&old_keys, facts, new_keys)?)
        } else {
            None
        };
        self.db
            .prepare_cached(
                "UPDATE names SET surface = ?2, type = ?3, n_docs = ?4, n_mentions = ?5, homes = ?6,
                   home_source = ?7, is_fuzzy = ?8, is_split = ?9 WHERE id = ?1",
            )?
            .execute(params![
                facts.id,
                facts.surface,
                facts.type_code(),
                facts.n_docs,
                name.n_mentions,
                facts::encode_homes(&facts.homes),
                facts.home_source.map(|source| source as i64),
                facts.is_fuzzy,
                facts.is_split
            ])?;
        Ok((neighbors, keys))
    }

    /// Decides names from high authority to low, so that a name is decided after any it may be linked through.
    fn decide_all(&self, ids: &BTreeSet<i64>, mut known: Neighborhood) -> Result<(), StoreError> {
        let mut all: Vec<Arc<NameFacts>> = Vec::with_capacity(ids.len());
        for id in ids {
            all.extend(known.facts_of(self.db, *id)?);
        }
        all.sort_by(|a, b| a.authority().cmp(&b.authority()));
        let around_decisions = |key: &str| self.ledger.decisions().get(key);
        let around = Likeness::new(self.db, self.embedder.as_ref(), &around_decisions);
        for name in &all {
            // A name with a home, or an exact one, has no candidates to compare with.
            let decided = if name.is_fuzzy && name.homes.is_empty() {
                let neighbors = match (known.neighbors.remove(&name.id), &known.all) {
                    (Some(neighbors), _) => neighbors,
                    (None, Some(all)) => self.with_compared(all.sharing(name.id), name)?,
                    (None, None) => self.neighbors(name.id, &name.norm, &self.keys(name))?,
                };
                let mut candidates = Vec::with_capacity(neighbors.len());
                for neighbor in neighbors {
                    candidates.extend(known.facts_of(self.db, neighbor)?);
                }
                decide(name, &candidates, self.weights, &around)
            } else {
                decide::<NameFacts>(name, &[], self.weights, &around)
            };
            self.apply(name, decided, &around)?;
        }
        Work::Decide.remove(self.db, ids)
    }

    fn apply(
        &self,
        name: &NameFacts,
        decided: Decided,
        around: &dyn Surroundings,
    ) -> Result<(), StoreError> {
        let mut homes = Vec::new();
        let (entity, link, code, via) = match decided.decision {
            Decision::Home(doc) => {
                let (entity, via) = self.home_entity(name, doc)?;
                (entity, 1.0, HOME, via)
            }
            Decision::Own => (Some(self.own_entity(name)?), 1.0, OWN, None),
            Decision::Via { name: through, score } => {
                (self.entity_of(through)?, f64::from(score.min(1.0)), VIA, Some(through))
            }
            Decision::Unsure => (None, 0.0, UNSURE, None),
            Decision::Ambiguous(bearers) => {
                homes = bearers;
                (None, 0.0, AMBIGUOUS, None)
            }
        };
        // What documents use the name for matters only if no note states it.
        let is_stated = matches!(code, HOME | AMBIGUOUS);
        let usage = if is_stated { Default::default() } else { around.usage(name) };
        self.split_senses(name, &homes, &usage)?;
        let (old, was): (Option<i64>, Outcome) = self
            .db
            .prepare_cached(
                "SELECT entity_id, link, decision, via, proposals FROM names WHERE id = ?1",
            )?
            .query_row([name.id], |row| {
                Ok((row.get(0)?, (row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)))
            })?;
        let new = (link, code, via, packed(&decided.proposals));
        // An equal row is not written again: each write journals a page.
        if (old, &was) != (entity, &new) {
            let (link, code, via, proposals) = new;
            self.db
                .prepare_cached(
                    "UPDATE names SET entity_id = ?2, link = ?3, decision = ?4, via = ?5, proposals = ?6
                     WHERE id = ?1",
                )?
                .execute(params![name.id, entity, link, code, via, proposals])?;
        }
        // A document that is not a note denotes what its title denotes.
        if name.home_source.is_some() {
            self.db
                .prepare_cached(
                    "UPDATE docs SET entity_id = ?2 WHERE is_note = 0 AND entity_id IS NOT ?2 AND id IN
                       (SELECT doc_id FROM stated WHERE name_id = ?1 AND source = 0)",
                )?
                .execute(params![name.id, entity])?;
        }
        if old != entity {
            self.hand_on(name.id, entity)?;
            self.drop_if_unnamed(old)?;
            old.map_or(Ok(()), |old| self.type_anew(old))?;
        }
        Ok(())
    }

    pub(super) fn entity_of(&self, name: i64) -> Result<Option<i64>, StoreError> {
        let entity: Option<Option<i64>> = self
            .db
            .prepare_cached("SELECT entity_id FROM names WHERE id = ?1")?
            .query_row([name], |row| row.get(0))
            .optional()?;
        Ok(entity.flatten())
    }

    /// Returns the entity of a document that a name belongs to, and the name through which the document denotes it:
    /// for a note, none; otherwise its title, or the name itself if it has none.
    pub(super) fn home_entity(
        &self,
        name: &NameFacts,
        doc: i64,
    ) -> Result<(Option<i64>, Option<i64>), StoreError> {
        if let Some(note) = self.note_entity(name, doc)? {
            return Ok((Some(note), None));
        }
        let title = "SELECT name_id FROM stated WHERE doc_id = ?1 AND source = ?2";
        let values = params![doc, StatedSource::Title as i64];
        let title: Option<i64> =
            self.db.prepare_cached(title)?.query_row(values, |row| row.get(0)).optional()?;
        match title {
            Some(title) => Ok((self.entity_of(title)?, Some(title))),
            None => Ok((Some(self.own_entity(name)?), None)),
        }
    }

    /// Returns the entity of a note, whose type is the note's own or, if it states none, that of the name.
    fn note_entity(&self, name: &NameFacts, doc: i64) -> Result<Option<i64>, StoreError> {
        self.typed_note_entity(name, doc, name.type_code())
    }

    /// As [`Self::note_entity`], with `voted` as the type of a note that states none. Sets it only if the name is the
    /// one that the note is shown as or, where it states no such name, the first that it states.
    pub(super) fn typed_note_entity(
        &self,
        name: &NameFacts,
        doc: i64,
        voted: i64,
    ) -> Result<Option<i64>, StoreError> {
        let row: Option<(i64, Option<String>)> = self
            .db
            .prepare_cached(
                "SELECT e.id, d.doc_type FROM docs d JOIN entities e ON e.doc_id = d.id WHERE d.id = ?1",
            )?
            .query_row([doc], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        let Some((entity, doc_type)) = row else { return Ok(None) };
        if self.main_name(doc)? == Some(name.id) {
            let stated = doc_type.as_deref().and_then(EntityType::parse);
            self.db
                .prepare_cached("UPDATE entities SET type = ?2 WHERE id = ?1")?
                .execute(params![entity, stated.map_or(voted, EntityType::code)])?;
        }
        Ok(Some(entity))
    }

    /// Returns the name of a note that decides its type, if it states any.
    fn main_name(&self, doc: i64) -> Result<Option<i64>, StoreError> {
        let shown = "SELECT name FROM entities WHERE doc_id = ?1";
        let shown: Option<String> =
            self.db.prepare_cached(shown)?.query_row([doc], |row| row.get(0)).optional()?;
        let sql = "SELECT n.id FROM stated s JOIN names n ON n.id = s.name_id WHERE s.doc_id = ?1
                   ORDER BY n.norm <> ?2, s.source, n.norm LIMIT 1";
        let shown = norm_of(&shown.unwrap_or_default());
        let name = self.db.prepare_cached(sql)?.query_row(params![doc, shown], |row| row.get(0));
        Ok(name.optional()?)
    }

    /// Types a note anew, where a name that it was shown as denotes something else now.
    fn type_anew(&self, entity: i64) -> Result<(), StoreError> {
        let doc: Option<Option<i64>> = self
            .db
            .prepare_cached("SELECT doc_id FROM entities WHERE id = ?1")?
            .query_row([entity], |row| row.get(0))
            .optional()?;
        let Some(doc) = doc.flatten() else { return Ok(()) };
        let Some(name) = self.main_name(doc)? else { return Ok(()) };
        if let Some(facts) = facts::stored(self.db, name)? {
            let is_its = self.entity_of(name)? == Some(entity);
            let voted = if is_its { facts.type_code() } else { EntityType::Document.code() };
            self.typed_note_entity(&facts, doc, voted)?;
        }
        Ok(())
    }

    fn own_entity(&self, name: &NameFacts) -> Result<i64, StoreError> {
        ids::write_own(self.db, &name.norm, &name.surface, name.type_code())
    }

    /// Gives the names linked through this one its new entity, and so on down the chain.
    fn hand_on(&self, name: i64, entity: Option<i64>) -> Result<(), StoreError> {
        let mut open = vec![name];
        while let Some(through) = open.pop() {
            let mut statement = self
                // `IS NOT` skips names that have the entity already, which also ends a cycle.
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

    /// Deletes an entity of a norm that no name denotes any more; a note's entity is deleted with its document.
    pub(super) fn drop_if_unnamed(&self, entity: Option<i64>) -> Result<(), StoreError> {
        let Some(entity) = entity else { return Ok(()) };
        self.db
            .prepare_cached(
                "DELETE FROM entities WHERE id = ?1 AND doc_id IS NULL
                   AND NOT EXISTS (SELECT 1 FROM names WHERE entity_id = ?1)",
            )?
            .execute([entity])?;
        Ok(())
    }
}
