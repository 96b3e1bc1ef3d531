//! Neighborhood: the entities within some hops of one and the relations between them, for drawing.
//!
//! In: an entity, hops, bounds. Out: entities with definitions and places, relations with their
//! best evidence.
//! Invariants: the same index gives the same reply; entities are sorted by hop, confidence of the
//! way there, and id, relations by confidence and ends. Everything beyond a limit is counted. The
//! text of a document is read once.

use std::collections::BTreeMap;

use proto::error::ErrorView;
use proto::shape::EntityView;
use proto::tool::admin::{Graph, GraphEdge, GraphNode, GraphReply};
use rustc_hash::{FxHashMap, FxHashSet};

use super::contradict::{against, statements_behind};
use super::definition::definition;
use super::overview::overview;
use super::steps::stated_beside;
use crate::error::invalid;
use crate::graph::entity::{aliases, brief};
use crate::graph::lookup::{find_one, not_found};
use crate::graph::projection::{Projection, Relation};
use crate::graph::{Statement, relations};
use crate::quote::source::{Source, first_place};
use crate::{AskError, QueryContext};

/// Entities in a reply when the caller gives no limit.
pub const LIMIT: u32 = 300;

/// Most entities that may be asked for: as many as the map of a folder holds.
const MOST: u32 = 5_000;

/// Most relations in a reply, per entity of the limit.
pub(super) const EDGES_PER_ENTITY: usize = 4;

/// Most places of one entity.
const MAX_PLACES: usize = 3;

/// Returns the neighborhood of one entity, or the overview of the folder if none is given.
pub fn neighborhood(
    ctx: &QueryContext<'_>,
    projection: &Projection,
    request: &Graph,
) -> Result<GraphReply, ErrorView> {
    let hops = request.hops.unwrap_or(2);
    let limit = request.limit.unwrap_or(LIMIT);
    if !(1..=4).contains(&hops) || !(1..=MOST).contains(&limit) {
        return Err(invalid(
            format!("`hops` is {hops}, `limit` is {limit}"),
            "give 1 to 4 hops and a limit of 1 to 5000",
        ));
    }
    let rels = request.rels.as_deref().unwrap_or(&[]);
    relations::check(ctx, rels)?;
    if request.entity_id.is_none() && request.name.is_none() {
        if request.hops.is_some() {
            return Err(invalid(
                "`hops` without an entity".into(),
                "give `name` or `entity_id`, too",
            ));
        }
        return overview(ctx, projection, limit as usize, rels);
    }
    let center = find_one(ctx, request.entity_id, request.name.as_deref())?;
    let mut walk = Walk::from(center, limit as usize);
    walk.run(projection, hops, rels);
    let mut nodes = Vec::new();
    for (entity, hop) in &walk.order {
        nodes.extend(node(ctx, *entity, *hop)?);
    }
    if nodes.is_empty() {
        return Err(not_found(&format!("entity {center}"), &[]));
    }
    let known: Vec<i64> = walk.order.iter().map(|(entity, _)| *entity).collect();
    let mut kept = projection.among(&known);
    kept.retain(|it| it.is_of(rels));
    let (edges, n_edges_cut) = edges(ctx, kept, limit as usize * EDGES_PER_ENTITY)?;
    let truncated = left_out(walk.left_out.len(), n_edges_cut, "give fewer `hops` or some `rels`");
    Ok(GraphReply { nodes, edges, truncated, ..GraphReply::default() })
}

/// Reports how much is left out, and what helps besides a higher limit.
pub(super) fn left_out(n_entities: usize, n_relations: usize, hint: &str) -> Option<String> {
    let what = match (n_entities, n_relations) {
        (0, 0) => return None,
        (n, 0) => format!("{n} entities"),
        (0, n) => format!("{n} relations"),
        (n, m) => format!("{n} entities and {m} relations"),
    };
    Some(format!("{what} left out; raise `limit`, or {hint}"))
}

/// State of a walk.
struct Walk {
    limit: usize,
    /// Entities with their hop, in the order of the reply.
    order: Vec<(i64, u32)>,
    known: FxHashSet<i64>,
    /// Entities one step away that exceed the limit.
    left_out: FxHashSet<i64>,
}

impl Walk {
    fn from(center: i64, limit: usize) -> Self {
        Walk {
            limit,
            order: vec![(center, 0)],
            known: FxHashSet::from_iter([center]),
            left_out: FxHashSet::default(),
        }
    }

    fn run(&mut self, projection: &Projection, hops: u32, rels: &[String]) {
        let center = self.order.first().map_or(0, |it| it.0);
        let mut frontier: Vec<(f32, i64)> = vec![(1.0, center)];
        for hop in 1..=hops {
            let mut ways: FxHashMap<i64, f32> = FxHashMap::default();
            for (confidence, entity) in std::mem::take(&mut frontier) {
                for relation in projection.about(entity).iter().filter(|it| it.is_of(rels)) {
                    let other = relation.other_end(entity);
                    if !self.known.contains(&other) {
                        let way = ways.entry(other).or_insert(0.0);
                        *way = way.max(confidence * relation.confidence);
                    }
                }
            }
            frontier = self.take(ways, hop);
        }
    }

    /// Takes the surest entities one hop further, up to the limit.
    fn take(&mut self, ways: FxHashMap<i64, f32>, hop: u32) -> Vec<(f32, i64)> {
        let mut next: Vec<(f32, i64)> =
            ways.into_iter().map(|(entity, way)| (way, entity)).collect();
        next.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let room = self.limit.saturating_sub(self.order.len()).min(next.len());
        self.left_out.extend(next.drain(room..).map(|(_, entity)| entity));
        for (_, entity) in &next {
            self.known.insert(*entity);
            self.order.push((*entity, hop));
        }
        next
    }
}

/// Returns the entity of the note at `path` as part of a neighborhood, or `None`.
///
/// # Errors
/// When the index cannot be read.
pub fn node_at(
    ctx: &QueryContext<'_>,
    path: &str,
    hop: u32,
) -> Result<Option<GraphNode>, AskError> {
    let Ok(entity) = find_one(ctx, None, Some(path)) else { return Ok(None) };
    Ok(node(ctx, entity, hop)?.filter(|it| it.home.as_deref() == Some(path)))
}

pub(super) fn node(
    ctx: &QueryContext<'_>,
    entity: i64,
    hop: u32,
) -> Result<Option<GraphNode>, AskError> {
    let Some(entity) = ctx.snapshot.entities().get(entity)? else { return Ok(None) };
    let mentioning = ctx.snapshot.mentions().by_doc(entity.id)?;
    let mut places = Vec::new();
    for it in mentioning.iter().take(MAX_PLACES) {
        places.extend(first_place(ctx, entity.id, it)?);
    }
    Ok(Some(GraphNode {
        entity: EntityView { aliases: aliases(ctx, entity.id, &entity.name)?, ..brief(&entity) },
        definition: definition(ctx, &entity)?,
        home: entity.path,
        community: None,
        entry: None,
        hop,
        n_mentions: mentioning.iter().map(|it| it.n).sum(),
        n_documents: mentioning.len() as u64,
        places,
    }))
}

/// Returns relations, surest first, and how many exceeded the limit.
pub(super) fn edges(
    ctx: &QueryContext<'_>,
    mut kept: Vec<Relation<'_>>,
    limit: usize,
) -> Result<(Vec<GraphEdge>, usize), AskError> {
    kept.sort_by(Relation::order);
    let n_cut = kept.len().saturating_sub(limit);
    kept.truncate(limit);
    let mut edges = Vec::new();
    // By document, so that each text is read once and only one is held.
    let mut cited: BTreeMap<i64, Vec<(usize, Statement)>> = BTreeMap::new();
    for (at, relation) in kept.iter().enumerate() {
        let Relation { subject, predicate, object, confidence, by } = *relation;
        let stated = statements_behind(ctx, relation)?;
        let against = against(ctx, subject, predicate, object)?;
        edges.push(GraphEdge {
            src: subject,
            dst: object,
            rel: predicate.to_string(),
            confidence,
            n_together: by.n_together(),
            n_evidence: stated.len().max(1) as u64,
            n_against: against.len() as u64,
            evidence: stated_beside(ctx, relation)?,
        });
        if let Some(first) = stated.into_iter().next() {
            cited.entry(first.doc).or_default().push((at, first));
        }
    }
    for (doc, statements) in cited {
        let Some(source) = Source::load(ctx, doc)? else { continue };
        for (at, statement) in statements {
            edges[at].evidence = Some(source.evidence(&statement));
        }
    }
    Ok((edges, n_cut))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_surest_are_taken_and_the_rest_is_counted() {
        let mut walk = Walk::from(1, 3);
        let ways = [(5, 0.4), (4, 0.9), (3, 0.9), (2, 0.5)];
        let next = walk.take(ways.into_iter().collect(), 1);
        assert_eq!(next, [(0.9, 3), (0.9, 4)]);
        assert_eq!(walk.order, [(1, 0), (3, 1), (4, 1)]);
        assert_eq!(
            left_out(walk.left_out.len(), 0, "wait").as_deref().map(|it| &it[..10]),
            Some("2 entities")
        );
    }
}
