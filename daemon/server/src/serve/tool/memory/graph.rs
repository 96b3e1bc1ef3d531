//! The memory tools that return entities and their relations.

use std::collections::BTreeSet;

use jiff::Timestamp;
use proto::error::ErrorView;
use proto::tool::memory::{
    GetNeighborhood, GetNodesByType, GetOrphans, GetPath, GetRecentlyModified, GetRelationsBetween,
    MemoryEntity, MemoryGraphReply, MemoryNodesReply, NeighborhoodReply, OpenNodes, PathReply,
    ReadGraph, RelationsReply,
};

use super::entities::EntityGraph;
use super::{fact_view, is_missing, item_error, ledger, node_view, relation_views};
use crate::project::Project;
use crate::serve::tool::{invalid, unreadable};
use index::read::{Edge, Listed, Node};
use index::store::{MemoryLedger, Snapshot};
use query::browse::rfc3339;
use query::connect::memory as walk;
use query::memory as rows;

/// Entities per page of a list, and of whole entities.
const LIST_PAGE: usize = 200;
const GRAPH_PAGE: usize = 50;

/// Most entities opened at once, and most observations and relations per answer.
const MAX_OPENED: usize = 200;
const MAX_FACTS: usize = 5_000;
const MAX_RELATIONS: usize = 2_000;

/// Deepest neighborhood, and most entities in one.
const MAX_DEPTH: u32 = 5;
const MAX_AROUND: usize = 200;

const DAY_MS: i64 = 24 * 3600 * 1000;

pub(super) fn page_of(page: Option<u32>) -> Result<usize, ErrorView> {
    match page.unwrap_or(1) {
        0 => Err(invalid("`page` is 0".into(), "pages are counted from 1")),
        page => Ok(page as usize),
    }
}

pub(super) fn limit_of(limit: Option<u32>, usual: usize, most: usize) -> Result<usize, ErrorView> {
    match limit.map_or(usual, |limit| limit as usize) {
        limit if (1..=most).contains(&limit) => Ok(limit),
        limit => {
            Err(invalid(format!("`limit` is {limit}"), &format!("give a number from 1 to {most}")))
        }
    }
}

/// Returns whole entities.
pub fn open_nodes(
    project: &Project,
    snapshot: &Snapshot,
    request: OpenNodes,
) -> Result<MemoryGraphReply, ErrorView> {
    if request.names.len() > MAX_OPENED {
        let n = request.names.len();
        return Err(invalid(format!("`names` has {n} names"), "give at most 200"));
    }
    let mut reply = MemoryGraphReply::default();
    let mut nodes: Vec<Node> = Vec::new();
    for name in &request.names {
        match rows::named(snapshot, name) {
            Ok(node) if nodes.iter().any(|it| it.doc == node.doc) => {}
            Ok(node) => nodes.push(node),
            Err(error) if is_missing(&error) => reply.not_found.push(name.clone()),
            Err(error) => reply.failed.push(item_error(name, error)),
        }
    }
    add_nodes(project, snapshot, &nodes, &ALL, &mut reply)?;
    Ok(reply)
}

/// Returns all entities, page by page.
pub fn read_graph(
    project: &Project,
    snapshot: &Snapshot,
    request: ReadGraph,
) -> Result<MemoryGraphReply, ErrorView> {
    let page = page_of(request.page)?;
    let (nodes, next_page) = listed(snapshot, Listed::default(), page, GRAPH_PAGE)?;
    let mut reply = MemoryGraphReply { next_page, ..MemoryGraphReply::default() };
    add_nodes(project, snapshot, &nodes, &ALL, &mut reply)?;
    Ok(reply)
}

/// How much of each entity is returned.
#[derive(Debug, Clone, Default)]
pub(super) struct Bounds {
    pub(super) n_facts: usize,
    /// Observations per entity.
    pub(super) of_one: usize,
    pub(super) n_relations: usize,
    /// For each entity, the observations to keep first, by their positions in its note.
    pub(super) first: Vec<Vec<i64>>,
}

const ALL: Bounds =
    Bounds { n_facts: MAX_FACTS, of_one: MAX_FACTS, n_relations: MAX_RELATIONS, first: Vec::new() };

/// Adds entities with their relations to a reply, within bounds.
pub(super) fn add_nodes(
    project: &Project,
    snapshot: &Snapshot,
    nodes: &[Node],
    bounds: &Bounds,
    reply: &mut MemoryGraphReply,
) -> Result<(), ErrorView> {
    let ledger = ledger(project)?;
    let mut edges: BTreeSet<Edge> = BTreeSet::new();
    let mut n_facts = 0;
    for (at, node) in nodes.iter().enumerate() {
        let first = bounds.first.get(at).map(Vec::as_slice).unwrap_or_default();
        let most = bounds.n_facts.saturating_sub(n_facts).min(bounds.of_one);
        let entity = entity(snapshot, &ledger, node, first, most)?;
        n_facts += entity.observations.len();
        if entity.observations.len() < node.n_facts as usize {
            let Bounds { n_facts, of_one, .. } = *bounds;
            reply.truncated = Some(match of_one < n_facts {
                true => format!(
                    "only {of_one} observations of each entity are shown; `open_nodes` returns all"
                ),
                false => format!("only {n_facts} observations are shown; open fewer at once"),
            });
        }
        reply.entities.push(entity);
        edges.extend(snapshot.memory().edges(Some(node.doc)).map_err(unreadable)?);
    }
    reply.relations = relation_views(snapshot, edges.iter().take(bounds.n_relations))?;
    if let Some(n) = edges.len().checked_sub(bounds.n_relations).filter(|n| *n > 0) {
        reply.truncated = Some(format!("{n} relations are left out"));
    }
    reply.freshness = project.freshness(snapshot);
    Ok(())
}

fn entity(
    snapshot: &Snapshot,
    ledger: &MemoryLedger,
    node: &Node,
    first: &[i64],
    most: usize,
) -> Result<MemoryEntity, ErrorView> {
    let mut facts: Vec<_> = rows::facts(snapshot, ledger, node)?.into_iter().enumerate().collect();
    let place = |seq: i64| first.iter().position(|it| *it == seq).unwrap_or(first.len());
    facts.sort_by_cached_key(|(_, (_, it))| place(it.seq));
    facts.truncate(most);
    facts.sort_by_key(|(at, _)| *at);
    let seen = ledger.first_seen_ms(&node.path).map_err(unreadable)?;
    Ok(MemoryEntity {
        name: node.name.clone(),
        entity_type: node.entity_type.clone(),
        summary: node.summary.clone(),
        tags: node.tags.clone(),
        observations: facts.into_iter().map(|(_, it)| fact_view(it)).collect(),
        path: node.path.clone(),
        // A note is seen a moment after it was written.
        created_at: rfc3339(seen.map_or(node.modified_ms, |it| it.min(node.modified_ms))),
        updated_at: rfc3339(node.modified_ms),
    })
}

/// Returns a page of nodes, and the number of the next one.
fn listed(
    snapshot: &Snapshot,
    wanted: Listed,
    page: usize,
    size: usize,
) -> Result<(Vec<Node>, Option<u32>), ErrorView> {
    let skip = (page - 1).saturating_mul(size);
    let wanted = Listed { skip, most: size + 1, ..wanted };
    let mut nodes = snapshot.memory().list(&wanted).map_err(unreadable)?;
    let next = (nodes.len() > size).then(|| u32::try_from(page + 1).unwrap_or(u32::MAX));
    nodes.truncate(size);
    Ok((nodes, next))
}

fn nodes_reply(
    project: &Project,
    snapshot: &Snapshot,
    nodes: Vec<Node>,
    next_page: Option<u32>,
) -> MemoryNodesReply {
    let freshness = project.freshness(snapshot);
    MemoryNodesReply { nodes: nodes.iter().map(node_view).collect(), next_page, freshness }
}

/// Lists the entities of one type.
pub fn get_nodes_by_type(
    project: &Project,
    snapshot: &Snapshot,
    request: GetNodesByType,
) -> Result<MemoryNodesReply, ErrorView> {
    let entity_type = Some(request.entity_type.trim().to_string());
    let wanted = Listed { entity_type, ..Listed::default() };
    let (nodes, next) = listed(snapshot, wanted, page_of(request.page)?, LIST_PAGE)?;
    Ok(nodes_reply(project, snapshot, nodes, next))
}

/// Lists the entities that changed in the last days.
pub fn get_recently_modified(
    project: &Project,
    snapshot: &Snapshot,
    request: GetRecentlyModified,
) -> Result<MemoryNodesReply, ErrorView> {
    let limit = limit_of(request.limit, 20, 500)?;
    let days = i64::from(request.days.unwrap_or(7));
    let since_ms = Some(Timestamp::now().as_millisecond().saturating_sub(days * DAY_MS));
    let wanted = Listed { since_ms, most: limit, ..Listed::default() };
    let nodes = snapshot.memory().list(&wanted).map_err(unreadable)?;
    Ok(nodes_reply(project, snapshot, nodes, None))
}

/// Lists the entities without any relation.
pub fn get_orphans(
    project: &Project,
    snapshot: &Snapshot,
    request: GetOrphans,
) -> Result<MemoryNodesReply, ErrorView> {
    let wanted = Listed { is_orphan: true, ..Listed::default() };
    let (nodes, next) = listed(snapshot, wanted, page_of(request.page)?, LIST_PAGE)?;
    Ok(nodes_reply(project, snapshot, nodes, next))
}

/// Returns all relations between two entities.
pub fn get_relations_between(
    project: &Project,
    snapshot: &Snapshot,
    request: GetRelationsBetween,
) -> Result<RelationsReply, ErrorView> {
    let one = rows::named(snapshot, &request.entity_a)?;
    let other = rows::named(snapshot, &request.entity_b)?;
    let edges = snapshot.memory().edges(Some(one.doc)).map_err(unreadable)?;
    let between = |it: &&Edge| {
        (it.from, it.to) == (one.doc, Some(other.doc))
            || (it.from, it.to) == (other.doc, Some(one.doc))
    };
    let relations = relation_views(snapshot, edges.iter().filter(between))?;
    Ok(RelationsReply { relations, freshness: project.freshness(snapshot) })
}

/// Returns an entity and those around it.
pub fn get_neighborhood(
    project: &Project,
    snapshot: &Snapshot,
    request: GetNeighborhood,
) -> Result<NeighborhoodReply, ErrorView> {
    let depth = request.depth.unwrap_or(1);
    if depth > MAX_DEPTH {
        return Err(invalid(format!("`depth` is {depth}"), "give a number from 0 to 5"));
    }
    let mut graph = EntityGraph::open(project, snapshot)?;
    let center = graph.named("name", &request.name)?;
    let (entities, is_cut) = walk::around(&graph.projection, center, depth, MAX_AROUND);
    let mut truncated = is_cut.then(|| format!("only the nearest {MAX_AROUND} entities are shown"));
    let mut relations = graph.relations(walk::relations_among(&graph.projection, &entities))?;
    if relations.len() > MAX_RELATIONS {
        truncated = Some(format!("{} relations are left out", relations.len() - MAX_RELATIONS));
    }
    relations.truncate(MAX_RELATIONS);
    let mut nodes = Vec::new();
    for entity in &entities {
        nodes.push(graph.node_view(*entity)?);
    }
    Ok(NeighborhoodReply { nodes, relations, truncated, freshness: project.freshness(snapshot) })
}

/// Finds the shortest path between two entities.
pub fn get_path(
    project: &Project,
    snapshot: &Snapshot,
    request: GetPath,
) -> Result<PathReply, ErrorView> {
    let mut graph = EntityGraph::open(project, snapshot)?;
    let from = graph.named("from_entity", &request.from_entity)?;
    let to = graph.named("to_entity", &request.to_entity)?;
    let freshness = project.freshness(snapshot);
    let Some(entities) = walk::shortest_path(&graph.projection, [from, to]) else {
        return Ok(PathReply { freshness, ..PathReply::default() });
    };
    let mut relations = Vec::new();
    for step in entities.windows(2) {
        let &[one, other] = step else { continue };
        let mut joining =
            graph.relations(walk::relations_between(&graph.projection, one, other))?;
        // Prefer a relation that points along the path.
        let begin = graph.name(one)?;
        joining.sort_by_key(|it| it.from != begin);
        relations.extend(joining.into_iter().next());
    }
    let mut path = Vec::new();
    for entity in entities {
        path.push(graph.name(entity)?);
    }
    Ok(PathReply { found: true, path, relations, freshness })
}
