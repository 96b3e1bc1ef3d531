//! Associations: what is mentioned together more often than chance explains.
//!
//! In: the units of all documents (sentences, items, rows), and which entity each name denotes. Out: for each entity
//! the others that go with it, best first, with the units that say most.
//! Two entities are associated if at least [`MIN_TOGETHER`] units name both and Dunning's log-likelihood ratio over
//! all units reaches [`MIN_RATIO`]. An association claims nothing but that.
//! Invariants: it follows from what is indexed, whatever the order in which that was done: entities are numbered by
//! norm and path, and ties go to the lower number. After a commit only the changed documents are read again; counting
//! is done when asked.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use index::read::Unit;
use index::store::Snapshot;
use model::terms::{EntityType, Tick};
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::{Value, json};

use super::{Statement, name_of};
use crate::{AskError, QueryContext};

/// The relation that an association is shown as.
pub(crate) const TOGETHER: &str = "mentioned_together";

/// The kind and the wording of a unit as evidence.
const PATTERN: &str = "association:together";

/// Least log-likelihood ratio: chance exceeds it once in a thousand pairs (χ² with one degree of freedom).
const MIN_RATIO: f64 = 10.83;

/// Fewest units that name both.
const MIN_TOGETHER: u32 = 2;

/// Most associations of one entity.
const MAX_OF_ENTITY: usize = 20;

/// Most entities of a unit that counts: longer ones are lists of everything.
const MAX_IN_UNIT: usize = 12;

/// Most units that are shown for a pair.
const MAX_SHOWN: usize = 3;

/// What a further entity in a unit, and a unit that is no running text, cost, in bytes between the two names.
const COST_OF_OTHER: usize = 40;
const COST_OF_ITEM: usize = 120;

/// The confidence of the strongest association where it stands beside relations: under that of any shown one.
const FAR_BEHIND: f64 = 0.3;

/// The ratio of an association with half that confidence.
const HALFWAY: f64 = 10.0;

/// Two entities that are mentioned together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Association {
    /// The one that was asked for; of all associations, the first by norm.
    pub a: i64,
    pub b: i64,
    /// Units that name both.
    pub n: u32,
    /// The log-likelihood ratio.
    pub ratio: f64,
}

impl Association {
    /// Returns what it weighs beside relations, in (0, [`FAR_BEHIND`]).
    pub(crate) fn weight(&self) -> f32 {
        (FAR_BEHIND * self.ratio / (self.ratio + HALFWAY)) as f32
    }

    /// Returns the ratio as it is shown.
    pub(crate) fn shown_ratio(&self) -> f64 {
        (self.ratio * 100.0).round() / 100.0
    }
}

/// An entity with the units that name it.
#[derive(Debug)]
struct Named {
    id: i64,
    /// The number of the first entity of its norm: namesakes are not told apart by what stands beside them.
    namesake: usize,
    units: Vec<usize>,
    /// What its units count.
    worth: f64,
}

/// A unit that counts.
#[derive(Debug)]
struct Counted {
    /// The numbers of its document, and of the unit in it.
    place: (usize, usize),
    /// The numbers of the entities that it names, ascending.
    entities: Box<[usize]>,
    /// What it counts in the ratio: the nth with the same text 1/n, because boilerplate says less each time.
    worth: f64,
}

/// The associations of one commit.
#[derive(Debug, Default)]
pub(crate) struct Associations {
    /// The documents by path, with their units.
    docs: Vec<(i64, Arc<[Unit]>)>,
    /// The entities by norm and path; a place here is the number of an entity.
    entities: Vec<Named>,
    numbers: FxHashMap<i64, usize>,
    /// For each name, the number of its entity.
    names: FxHashMap<i64, usize>,
    units: Vec<Counted>,
    /// What all units count.
    worth: f64,
    all: OnceLock<Vec<Association>>,
}

impl Associations {
    fn read(snapshot: &Snapshot, before: Option<(Tick, Arc<Self>)>) -> Result<Self, AskError> {
        let mut known: FxHashMap<i64, Arc<[Unit]>> = FxHashMap::default();
        if let Some((tick, before)) = before
            && let Some(changed) = snapshot.changed_since(tick)
        {
            known.extend(before.docs.iter().cloned());
            changed.iter().for_each(|doc| drop(known.remove(doc)));
        }
        let mut out = Associations::default();
        for (doc, _) in snapshot.documents().by_path()? {
            let units = match known.remove(&doc) {
                Some(units) => units,
                None => snapshot.mentions().units(doc)?.into(),
            };
            out.docs.push((doc, units));
        }
        let mut last: Option<(String, usize)> = None;
        for (number, (id, norm, type_code)) in
            snapshot.entities().by_norm()?.into_iter().enumerate()
        {
            let namesake = last.filter(|it| it.0 == norm).map_or(number, |it| it.1);
            last = Some((norm, namesake));
            out.entities.push(Named { id, namesake, units: Vec::new(), worth: 0.0 });
            if is_associate(EntityType::from_code(type_code)) {
                out.numbers.insert(id, number);
            }
        }
        let names = snapshot.names().entities()?.into_iter();
        out.names =
            names.filter_map(|(name, entity)| Some((name, *out.numbers.get(&entity)?))).collect();
        out.count();
        Ok(out)
    }

    /// Collects the units that count.
    fn count(&mut self) {
        let mut repeated: FxHashMap<u64, f64> = FxHashMap::default();
        for (doc, (_, units)) in self.docs.iter().enumerate() {
            for (number, unit) in units.iter().enumerate() {
                let found = unit.names.iter().filter_map(|it| self.names.get(&it.1).copied());
                let entities: BTreeSet<usize> = found.collect();
                if !(1..=MAX_IN_UNIT).contains(&entities.len()) {
                    continue;
                }
                let nth = repeated.entry(unit.hash).or_default();
                *nth += 1.0;
                let worth = 1.0 / *nth;
                self.worth += worth;
                for it in &entities {
                    self.entities[*it].units.push(self.units.len());
                    self.entities[*it].worth += worth;
                }
                let entities = entities.into_iter().collect();
                self.units.push(Counted { place: (doc, number), entities, worth });
            }
        }
    }

    fn named(&self, entity: i64) -> Option<&Named> {
        self.entities.get(*self.numbers.get(&entity)?)
    }

    /// Returns what goes with an entity, best first.
    pub(crate) fn of(&self, entity: i64) -> Vec<Association> {
        let Some(own) = self.named(entity) else { return Vec::new() };
        // Units that name both, and what they count.
        let mut counts: FxHashMap<usize, (u32, f64)> = FxHashMap::default();
        for unit in own.units.iter().filter_map(|it| self.units.get(*it)) {
            for other in &unit.entities {
                let (n, worth) = counts.entry(*other).or_default();
                *n += 1;
                *worth += unit.worth;
            }
        }
        let with = |(number, (n, worth)): (usize, (u32, f64))| {
            let other = self.entities.get(number)?;
            if n < MIN_TOGETHER || other.namesake == own.namesake {
                return None;
            }
            let ratio = log_likelihood_ratio(worth, [own.worth, other.worth, self.worth]);
            (ratio >= MIN_RATIO)
                .then_some((number, Association { a: entity, b: other.id, n, ratio }))
        };
        let mut found: Vec<(usize, Association)> = counts.into_iter().filter_map(with).collect();
        found.sort_by(|(a, one), (b, other)| {
            other.ratio.total_cmp(&one.ratio).then(other.n.cmp(&one.n)).then(a.cmp(b))
        });
        found.into_iter().take(MAX_OF_ENTITY).map(|it| it.1).collect()
    }

    /// Returns all associations, each once, by the norms of both; counted at the first call.
    pub(crate) fn all(&self) -> &[Association] {
        self.all.get_or_init(|| {
            let number = |it: i64| self.numbers.get(&it).copied().unwrap_or_default();
            let mut all: Vec<Association> =
                self.entities.iter().flat_map(|it| self.of(it.id)).collect();
            for it in &mut all {
                if number(it.a) > number(it.b) {
                    (it.a, it.b) = (it.b, it.a);
                }
            }
            all.sort_by_key(|it| (number(it.a), number(it.b)));
            all.dedup_by_key(|it| (it.a, it.b));
            all
        })
    }

    /// Returns the units that say most about two entities, running text with both names close and few others first:
    /// from the one name to the other, as statements without a confidence.
    pub(crate) fn statements(
        &self,
        ctx: &QueryContext<'_>,
        a: i64,
        b: i64,
        most: usize,
    ) -> Result<Vec<Statement>, AskError> {
        let (Some(one), Some(other)) = (self.named(a), self.named(b)) else {
            return Ok(Vec::new());
        };
        let others: FxHashSet<usize> = other.units.iter().copied().collect();
        let both = one.units.iter().filter(|it| others.contains(it));
        let mut ranked: Vec<_> = both.filter_map(|it| self.shared(*it, [a, b])).collect();
        ranked.sort_unstable();
        // The same words are quoted once.
        let mut seen: FxHashSet<u64> = FxHashSet::default();
        ranked.retain(|it| seen.insert(it.hash));
        let mut found = Vec::new();
        for Shared { doc, first, last, .. } in ranked.into_iter().take(most) {
            let doc = self.docs.get(doc).map_or(0, |it| it.0);
            let mentions = ctx.snapshot.mentions().of_pair(doc, [a, b])?;
            let ends = [first, last].map(|at| mentions.iter().find(|it| it.at == at));
            let [Some(first), Some(last)] = ends else { continue };
            found.push(Statement {
                subject: a,
                predicate: TOGETHER.to_string(),
                object: b,
                confidence: 0.0,
                doc,
                span: (first.at, last.at + last.surface.len()),
                raw: (first.start, last.end),
                pattern: PATTERN.to_string(),
            });
        }
        Ok(found)
    }

    /// Returns where two entities are closest in a unit.
    fn shared(&self, unit: usize, pair: [i64; 2]) -> Option<Shared> {
        let Counted { place: (doc, number), entities, .. } = self.units.get(unit)?;
        let unit = self.docs.get(*doc)?.1.get(*number)?;
        let pair = [self.numbers.get(&pair[0])?, self.numbers.get(&pair[1])?];
        // The closest mention of the other one is the last before.
        let mut before: [Option<usize>; 2] = [None; 2];
        let mut pairs: Vec<(usize, usize)> = Vec::new();
        for (at, name) in &unit.names {
            let number = self.names.get(name);
            let Some(side) = pair.iter().position(|it| Some(*it) == number) else { continue };
            pairs.extend(before[1 - side].map(|other| (other, *at)));
            before[side] = Some(*at);
        }
        let (first, last) = pairs.into_iter().min_by_key(|(first, last)| (last - first, *first))?;
        let of_kind = if unit.is_running { 0 } else { COST_OF_ITEM };
        let cost = last - first + entities.len() * COST_OF_OTHER + of_kind;
        Some(Shared { cost, doc: *doc, first, last, hash: unit.hash })
    }
}

/// A unit that names two entities; the one that says more is less.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Shared {
    cost: usize,
    /// The number of its document.
    doc: usize,
    /// Where the closest mentions of the two begin.
    first: usize,
    last: usize,
    /// Hash of its text.
    hash: u64,
}

/// Returns rows of the dump: associations from one on, at most so many.
pub fn dumped_associations(
    ctx: &QueryContext<'_>,
    offset: usize,
    limit: usize,
) -> Result<Vec<Value>, AskError> {
    let associations = ctx.associations.at(ctx.snapshot)?;
    let paths: FxHashMap<i64, String> = ctx.snapshot.documents().by_path()?.into_iter().collect();
    let mut rows = Vec::new();
    for it in associations.all().iter().skip(offset).take(limit) {
        let [Some(a), Some(b)] = [name_of(ctx, it.a)?, name_of(ctx, it.b)?] else { continue };
        let mut units = Vec::new();
        for unit in associations.statements(ctx, it.a, it.b, MAX_SHOWN)? {
            let mentions = ctx.snapshot.mentions().of_pair(unit.doc, [it.a, it.b])?;
            let line = mentions.iter().find(|it| it.at == unit.span.0).map_or(0, |it| it.line);
            units.push(json!({"path": paths.get(&unit.doc), "line": line, "span": [unit.raw.0, unit.raw.1]}));
        }
        rows.push(json!({
            "kind": "association", "a": a, "b": b, "a_id": it.a, "b_id": it.b, "ratio": it.shown_ratio(),
            "count": it.n, "units": units,
        }));
    }
    Ok(rows)
}

/// Returns whether such things are associated: when, which version and which step say nothing about each other.
fn is_associate(entity_type: EntityType) -> bool {
    !matches!(entity_type, EntityType::Date | EntityType::Version | EntityType::Step)
}

/// Returns Dunning's log-likelihood ratio of `both` units that name two things, given how many name the one, name the
/// other, and exist; 0 if that is no more than chance explains.
fn log_likelihood_ratio(both: f64, [a, b, all]: [f64; 3]) -> f64 {
    if both * all <= a * b {
        return 0.0;
    }
    let term = |observed: f64, expected: f64| {
        if observed > 0.0 { observed * (observed / expected).ln() } else { 0.0 }
    };
    let (not_a, not_b) = (all - a, all - b);
    let sum = term(both, a * b / all)
        + term(a - both, a * not_b / all)
        + term(b - both, not_a * b / all)
        + term(not_a - (b - both), not_a * not_b / all);
    2.0 * sum
}

/// Keeps the associations of the last requested commit.
#[derive(Debug, Default)]
pub struct AssociationCache(Mutex<Option<(Tick, Arc<Associations>)>>);

impl AssociationCache {
    /// Returns the associations of a snapshot; a second caller waits while the first one reads them.
    pub(crate) fn at(&self, snapshot: &Snapshot) -> Result<Arc<Associations>, AskError> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((tick, found)) = &*kept
            && *tick == snapshot.tick()
        {
            return Ok(found.clone());
        }
        let found = Arc::new(Associations::read(snapshot, kept.clone())?);
        // A caller with an older snapshot must not replace what is newer.
        if kept.as_ref().is_none_or(|it| it.0 <= snapshot.tick()) {
            *kept = Some((snapshot.tick(), found.clone()));
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_two_of_a_unit_are_found_in_one_pass() {
        let names: Vec<(usize, i64)> = [(0, 7), (40, 8), (90, 7), (100, 9), (110, 8)].into();
        let unit = Unit { is_running: true, hash: 1, names };
        let mut associations = Associations::default();
        associations.docs.push((1, vec![unit].into()));
        associations.numbers = [(70, 0), (80, 1)].into_iter().collect();
        associations.names = [(7, 0), (8, 1)].into_iter().collect();
        let entities = vec![0, 1].into();
        associations.units.push(Counted { place: (0, 0), entities, worth: 1.0 });
        for pair in [[70, 80], [80, 70]] {
            let found = associations.shared(0, pair).expect("both are there");
            assert_eq!((found.first, found.last), (90, 110));
        }
    }

    #[test]
    fn the_ratio_is_that_of_dunning() {
        // `the swiss` in table 2 of Dunning (1993): 110 of 31,777 bigrams, 2,442 further with `the`, 111 with `swiss`.
        let shown = |both, totals| (log_likelihood_ratio(both, totals) * 100.0).round() / 100.0;
        assert_eq!(shown(110.0, [2552.0, 221.0, 31_777.0]), 270.72);
        assert_eq!(shown(2.0, [2.0, 2.0, 1_000.0]), 28.85, "never one without the other");
        assert_eq!(shown(1.0, [10.0, 100.0, 1_000.0]), 0.0, "no more than chance explains");
    }
}
