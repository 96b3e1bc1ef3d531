//! Projection: the graph of one commit in memory, so that paths through it can be searched.
//!
//! In: evidence, links between documents, further relations that entries state, review decisions.
//! Out: [`Projection`]: entities and the relations between them, each once.
//! Invariants: it contains every relation that [`statements_about`](super::statements_about) finds and no
//! rejected one; the order of an entity's relations does not depend on how the index was built;
//! reading costs one scan of each table.

use std::cmp::Ordering;

use petgraph::Direction;
use petgraph::graph::{DiGraph, EdgeIndex, NodeIndex};
use petgraph::visit::EdgeRef;
use rustc_hash::{FxHashMap, FxHashSet};

use super::associations::{Association, TOGETHER};
use super::confidence::Corroboration;
use crate::{AskError, QueryContext};
use extract::relate::DENIED;
use index::read::{Entity, StatedLink};
use index::store::{Verdict, note_party, relation_key};
use model::terms::norm_of;

/// The relation of a link without a type.
const PLAIN: &str = "links_to";

/// The relation of an embedded document.
const EMBEDS: &str = "embeds";

/// The best source of a relation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    /// Evidence; its rows are found by the ends and the predicate.
    Evidence,
    /// A row of `note_links`.
    Link { doc: i64, seq: i64 },
    /// The entry whose note is this document.
    Entry { doc: i64 },
    /// So many units that name both: an association, which states nothing.
    Together { n: u32 },
}

impl By {
    /// Returns the units of an association; `None` for a relation.
    pub(crate) fn n_together(self) -> Option<u32> {
        if let By::Together { n } = self { Some(n) } else { None }
    }
}

/// A relation without evidence rows, such as one that an entry states.
#[derive(Debug, Clone, PartialEq)]
pub struct FurtherRelation {
    /// The subject's entity.
    pub subject: i64,
    /// Its type.
    pub predicate: String,
    /// The object's entity.
    pub object: i64,
    /// The document that states it.
    pub doc: i64,
    /// Its confidence.
    pub confidence: f32,
}

/// An edge: a stated relation.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Edge {
    predicate: u32,
    confidence: f32,
    by: By,
}

/// A relation, as seen from an entity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Relation<'p> {
    pub subject: i64,
    pub predicate: &'p str,
    pub object: i64,
    pub confidence: f32,
    pub by: By,
}

impl Relation<'_> {
    /// Orders by confidence, surest first; ties by the relation itself.
    pub(crate) fn order(&self, other: &Relation<'_>) -> Ordering {
        let own = |it: &Relation<'_>| (it.subject, it.object);
        let by_confidence = other.confidence.total_cmp(&self.confidence);
        by_confidence.then_with(|| (own(self), self.predicate).cmp(&(own(other), other.predicate)))
    }

    /// Returns whether it is of one of some types; of any if none are given.
    pub(crate) fn is_of(&self, rels: &[String]) -> bool {
        rels.is_empty() || rels.iter().any(|rel| rel == self.predicate)
    }

    /// Returns the end that is not this entity.
    pub(crate) fn other_end(&self, entity: i64) -> i64 {
        if self.subject == entity { self.object } else { self.subject }
    }
}

/// Entities and relations of one commit.
#[derive(Debug, Clone, Default)]
pub struct Projection {
    graph: DiGraph<i64, Edge>,
    nodes: FxHashMap<i64, NodeIndex>,
    predicates: Vec<String>,
}

impl Projection {
    /// Reads the graph.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn read(ctx: &QueryContext<'_>, further: &[FurtherRelation]) -> Result<Self, AskError> {
        let mut reading = Reading { rejected: Rejections::read(ctx)?, ..Reading::default() };
        reading.read_evidence(ctx)?;
        reading.read_links(ctx)?;
        for it in further {
            if !reading.rejected.hold(it.subject, &it.predicate, it.object) {
                let key = (it.subject, reading.number_of(&it.predicate), it.object);
                reading.add(key, By::Entry { doc: it.doc }, "link:entry", it.confidence);
            }
        }
        Ok(reading.finish(ctx.one_way))
    }

    /// Adds the associations of entities that no relation joins.
    pub(crate) fn with(&self, associations: &[Association]) -> Self {
        let mut all = self.clone();
        let predicate = all.predicates.len() as u32;
        all.predicates.push(TOGETHER.to_string());
        for it in associations {
            let Projection { graph, nodes, .. } = &mut all;
            let [a, b] = [it.a, it.b]
                .map(|entity| *nodes.entry(entity).or_insert_with(|| graph.add_node(entity)));
            if graph.find_edge_undirected(a, b).is_none() {
                let by = By::Together { n: it.n };
                graph.add_edge(a, b, Edge { predicate, confidence: it.weight(), by });
            }
        }
        all
    }

    /// Builds a graph from relations: subject, predicate, object, confidence.
    #[cfg(test)]
    pub(crate) fn of(relations: &[(i64, &str, i64, f32)]) -> Self {
        let mut reading = Reading::default();
        for (subject, predicate, object, confidence) in relations {
            let key = (*subject, reading.number_of(predicate), *object);
            reading.add(key, By::Evidence, "link:test", *confidence);
        }
        reading.finish(&[])
    }

    /// Returns the number of entities with a relation, and of relations.
    pub fn size(&self) -> (usize, usize) {
        (self.graph.node_count(), self.graph.edge_count())
    }

    pub(crate) fn node(&self, entity: i64) -> Option<NodeIndex> {
        self.nodes.get(&entity).copied()
    }

    pub(crate) fn entity(&self, node: NodeIndex) -> i64 {
        self.graph.node_weight(node).copied().unwrap_or_default()
    }

    /// Returns the number of relations at a node.
    pub(crate) fn degree(&self, node: NodeIndex) -> usize {
        let both = [Direction::Outgoing, Direction::Incoming];
        both.map(|direction| self.graph.edges_directed(node, direction).count()).iter().sum()
    }

    /// Returns the relations at a node, each with the node at its other end.
    pub(crate) fn at(
        &self,
        node: NodeIndex,
    ) -> impl Iterator<Item = (NodeIndex, Relation<'_>)> + '_ {
        let outgoing = self.graph.edges_directed(node, Direction::Outgoing);
        let incoming = self.graph.edges_directed(node, Direction::Incoming);
        let outgoing = outgoing.map(|it| (it.target(), it.id()));
        let incoming = incoming.map(|it| (it.source(), it.id()));
        outgoing.chain(incoming).filter_map(|(other, edge)| Some((other, self.relation(edge)?)))
    }

    /// Returns the relations at an entity, surest first.
    pub(crate) fn about(&self, entity: i64) -> Vec<Relation<'_>> {
        let node = self.node(entity);
        let mut found: Vec<_> =
            node.into_iter().flat_map(|it| self.at(it)).map(|it| it.1).collect();
        found.sort_by(Relation::order);
        found
    }

    /// Returns the relations between two entities in either direction, surest first.
    pub(crate) fn between(&self, one: i64, other: i64) -> Vec<Relation<'_>> {
        let (Some(a), Some(b)) = (self.node(one), self.node(other)) else { return Vec::new() };
        let mut found = Vec::new();
        for (from, to) in [(a, b), (b, a)] {
            let edges = self.graph.edges_connecting(from, to);
            found.extend(edges.filter_map(|it| self.relation(it.id())));
        }
        found.sort_by(Relation::order);
        found
    }

    /// Returns the confidence with which answers show a relation; 0 for one that they do not show. Without the noise of
    /// an `f32`.
    pub fn confidence(&self, subject: i64, predicate: &str, object: i64) -> f64 {
        let between = self.between(subject, object).into_iter();
        let mut found = between.filter(|it| it.subject == subject && it.predicate == predicate);
        found.next().map_or(0.0, |it| (f64::from(it.confidence) * 1000.0).round() / 1000.0)
    }

    /// Returns the relations among some entities, each once: those of one subject surest first.
    pub(crate) fn among(&self, entities: &[i64]) -> Vec<Relation<'_>> {
        let known: FxHashSet<i64> = entities.iter().copied().collect();
        let own = entities.iter().flat_map(|entity| {
            let about = self.about(*entity).into_iter();
            about.filter(|it| it.subject == *entity && known.contains(&it.object))
        });
        own.collect()
    }

    fn relation(&self, edge: EdgeIndex) -> Option<Relation<'_>> {
        let (subject, object) = self.graph.edge_endpoints(edge)?;
        let Edge { predicate, confidence, by } = *self.graph.edge_weight(edge)?;
        let predicate = self.predicates.get(predicate as usize)?;
        let [subject, object] = [subject, object].map(|it| self.entity(it));
        Some(Relation { subject, predicate, object, confidence, by })
    }
}

/// Subject, number of the predicate, object.
type Key = (i64, u32, i64);

/// The relations that people rejected.
#[derive(Default)]
struct Rejections<'c> {
    ctx: Option<&'c QueryContext<'c>>,
    /// For each entity: its norm, and its key in decisions.
    parties: FxHashMap<i64, [String; 2]>,
}

impl<'c> Rejections<'c> {
    fn read(ctx: &'c QueryContext<'c>) -> Result<Self, AskError> {
        if ctx.decisions.is_empty() {
            return Ok(Rejections::default());
        }
        let party = |it: Entity| {
            let norm = norm_of(&it.name);
            let party = it.uid.map_or(norm.clone(), |uid| note_party(&uid));
            (it.id, [norm, party])
        };
        let parties = ctx.snapshot.entities().all()?.into_iter().map(party).collect();
        Ok(Rejections { ctx: Some(ctx), parties })
    }

    /// Returns whether a relation was rejected; see
    /// [`KnownRelation::verdict`](super::KnownRelation::verdict).
    fn hold(&self, subject: i64, predicate: &str, object: i64) -> bool {
        let Some(ctx) = self.ctx else { return false };
        let ends = (self.parties.get(&subject), self.parties.get(&object));
        let (Some([from_norm, from]), Some([to_norm, to])) = ends else { return false };
        let decided = |from, to| ctx.decisions.get(&relation_key(from, predicate, to));
        decided(from, to).or_else(|| decided(from_norm, to_norm)) == Some(Verdict::Rejected)
    }
}

/// A relation under construction.
#[derive(Debug, Clone, Copy)]
struct Draft {
    stated: Corroboration,
    by: By,
}

/// The graph while it is being read.
#[derive(Default)]
struct Reading<'c> {
    rejected: Rejections<'c>,
    numbers: FxHashMap<String, u32>,
    predicates: Vec<String>,
    drafts: FxHashMap<Key, Draft>,
    /// Statements that deny such a relation.
    denied: FxHashMap<Key, Corroboration>,
    /// Pairs of subject and object that some relation joins.
    joined: FxHashSet<(i64, i64)>,
}

impl Reading<'_> {
    fn number_of(&mut self, predicate: &str) -> u32 {
        if let Some(known) = self.numbers.get(predicate) {
            return *known;
        }
        let number = self.predicates.len() as u32;
        self.predicates.push(predicate.to_string());
        self.numbers.insert(predicate.to_string(), number);
        number
    }

    fn add(&mut self, key: Key, by: By, pattern: &str, confidence: f32) {
        let (subject, _, object) = key;
        if subject == object {
            return;
        }
        self.joined.insert((subject, object));
        let draft =
            self.drafts.entry(key).or_insert(Draft { stated: Corroboration::default(), by });
        draft.stated.add(pattern, confidence);
    }

    fn read_evidence(&mut self, ctx: &QueryContext<'_>) -> Result<(), AskError> {
        ctx.snapshot.relations().each(|it| {
            if let Some(predicate) = it.predicate.strip_prefix(DENIED) {
                let key = (it.subject, self.number_of(predicate), it.object);
                self.denied.entry(key).or_default().add(it.pattern, it.confidence);
                return;
            }
            let key = (it.subject, self.number_of(it.predicate), it.object);
            self.add(key, By::Evidence, it.pattern, it.confidence);
        })?;
        let (rejected, predicates) = (&self.rejected, &self.predicates);
        if rejected.ctx.is_some() {
            self.drafts.retain(|(subject, predicate, object), _| {
                let name = predicates.get(*predicate as usize).map_or("", String::as_str);
                !rejected.hold(*subject, name, *object)
            });
            self.joined =
                self.drafts.keys().map(|(subject, _, object)| (*subject, *object)).collect();
        }
        Ok(())
    }

    /// Adds links without evidence: those in front matter, embeds, and typed links whose relation
    /// was rejected, which become plain links.
    fn read_links(&mut self, ctx: &QueryContext<'_>) -> Result<(), AskError> {
        for StatedLink { doc, seq, relation, subject, object } in
            ctx.snapshot.relations().links()?
        {
            if self.joined.contains(&(subject, object)) {
                continue;
            }
            let predicate = relation.map_or(EMBEDS.to_string(), |it| predicate_of(&it));
            let is_rejected = self.rejected.hold(subject, &predicate, object);
            let number = self.number_of(if is_rejected { PLAIN } else { &predicate });
            let key = (subject, number, object);
            self.add(key, By::Link { doc, seq }, "link:note", 1.0);
        }
        Ok(())
    }

    fn finish(self, one_way: &[&str]) -> Projection {
        let Reading { numbers, predicates, drafts, denied, .. } = self;
        let one_way: FxHashSet<u32> =
            one_way.iter().filter_map(|it| numbers.get(*it)).copied().collect();
        let mut graph = DiGraph::with_capacity(0, drafts.len());
        let mut nodes: FxHashMap<i64, NodeIndex> = FxHashMap::default();
        for (key, draft) in &drafts {
            let (subject, predicate, object) = *key;
            let mut against = denied.get(key).copied().unwrap_or_default();
            let opposite = drafts.get(&(object, predicate, subject));
            if let Some(opposite) = opposite.filter(|_| one_way.contains(&predicate)) {
                against.join(&opposite.stated);
            }
            let confidence = draft.stated.weighed(&against);
            let [from, to] = [subject, object]
                .map(|entity| *nodes.entry(entity).or_insert_with(|| graph.add_node(entity)));
            graph.add_edge(from, to, Edge { predicate, confidence, by: draft.by });
        }
        Projection { graph, nodes, predicates }
    }
}

/// Turns a link's type into a predicate: `Part of` becomes `part_of`.
fn predicate_of(relation_type: &str) -> String {
    let words = relation_type.to_lowercase();
    let words = words.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("_")
}
