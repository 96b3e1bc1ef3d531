//! Neighborhood: the entities within some hops of one, and the relations between them, to be drawn.
//!
//! In: an entity, hops, bounds. Out: entities with definitions and places, relations with their best evidence.
//! Invariants: the same index gives the same reply: entities in the order of hop, confidence of the way there, and id;
//! relations in the order of confidence and ends. What a bound leaves out is counted. A document's text is read once.
//! Not here: drawing (`client/src/page/`).

use proto::error::ErrorView;
use proto::shape::{EvidenceView, Freshness};
use proto::tool::admin::{Graph, GraphEdge, GraphNode, GraphReply};
use rusqlite::params;
use rustc_hash::{FxHashMap, FxHashSet};

use super::contradict::{against, weighed};
use super::definition::definition;
use super::entity::{aliases, counts, grouped, home};
use super::error::invalid;
use super::explain::entity_view;
use super::graph::{Statement, statements_about};
use super::lookup::{find_one, not_found};
use super::source::{Source, first_place};
use super::{AskError, Desk, check_relations};

/// Entities told when the caller does not say.
pub const LIMIT: u32 = 300;

/// Relations told, for each entity that may be.
const EDGES_PER_ENTITY: usize = 4;

/// Places told of one entity.
const MAX_PLACES: i64 = 3;

/// Statements of one relation, the surest first.
type Group = Vec<Statement>;

/// The neighborhood of one entity.
pub fn neighborhood(desk: &Desk<'_>, request: &Graph) -> Result<GraphReply, ErrorView> {
    let hops = request.hops.unwrap_or(2);
    let limit = request.limit.unwrap_or(LIMIT);
    if !(1..=4).contains(&hops) || !(1..=1000).contains(&limit) {
        return Err(invalid(
            format!("`hops` is {hops}, `limit` is {limit}"),
            "give 1 to 4 hops and a limit of 1 to 1000",
        ));
    }
    let rels = request.rels.as_deref().unwrap_or(&[]);
    check_relations(desk, rels)?;
    let center = find_one(desk, (request.entity_id, request.name.as_deref()))?;
    let mut walk = Walk::from(center, limit as usize);
    walk.run(desk, hops, rels)?;
    let mut nodes = Vec::new();
    for (entity, hop) in &walk.order {
        nodes.extend(node(desk, *entity, *hop)?);
    }
    if nodes.is_empty() {
        return Err(not_found(&format!("entity {center}"), &[]));
    }
    let (edges, n_edges_cut) = edges(desk, walk.groups, limit as usize * EDGES_PER_ENTITY)?;
    let truncated = left_out(walk.left_out.len(), n_edges_cut);
    Ok(GraphReply { nodes, edges, truncated, freshness: Freshness::default() })
}

fn left_out(n_entities: usize, n_relations: usize) -> Option<String> {
    let what = match (n_entities, n_relations) {
        (0, 0) => return None,
        (n, 0) => format!("{n} entities"),
        (0, n) => format!("{n} relations"),
        (n, m) => format!("{n} entities and {m} relations"),
    };
    Some(format!("{what} left out; raise `limit`, or give fewer `hops` or some `rels`"))
}

/// Where a walk has been.
struct Walk {
    limit: usize,
    /// Entities with their hop, in the order they are told.
    order: Vec<(i64, u32)>,
    known: FxHashSet<i64>,
    /// Entities one step away that found no room.
    left_out: FxHashSet<i64>,
    /// The relations between `known`.
    groups: Vec<Group>,
}

impl Walk {
    fn from(center: i64, limit: usize) -> Self {
        Walk {
            limit,
            order: vec![(center, 0)],
            known: FxHashSet::from_iter([center]),
            left_out: FxHashSet::default(),
            groups: Vec::new(),
        }
    }

    fn run(&mut self, desk: &Desk<'_>, hops: u32, rels: &[String]) -> Result<(), AskError> {
        let center = self.order.first().map_or(0, |it| it.0);
        let mut frontier: Vec<(f32, i64)> = vec![(1.0, center)];
        let mut read: Vec<Group> = Vec::new();
        for hop in 1..=hops {
            let mut ways: FxHashMap<i64, f32> = FxHashMap::default();
            for (confidence, entity) in std::mem::take(&mut frontier) {
                for group in grouped(statements_about(desk, entity, rels)?) {
                    let Some(best) = group.first() else { continue };
                    let other = if best.subject == entity { best.object } else { best.subject };
                    if !self.known.contains(&other) {
                        let way = ways.entry(other).or_insert(0.0);
                        *way = way.max(confidence * best.confidence);
                    }
                    read.push(group);
                }
            }
            frontier = self.take(ways, hop);
        }
        // Those of the last hop lead no further, but may be related to each other.
        for (_, entity) in frontier {
            read.extend(grouped(statements_about(desk, entity, rels)?));
        }
        self.keep(read);
        Ok(())
    }

    /// The surest of the entities one hop further, as many as there is room for.
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

    /// Keeps the relations between known entities, each once.
    fn keep(&mut self, read: Vec<Group>) {
        let mut told: FxHashSet<(i64, String, i64)> = FxHashSet::default();
        for group in read {
            let Some(best) = group.first() else { continue };
            let are_known = self.known.contains(&best.subject) && self.known.contains(&best.object);
            if are_known && told.insert((best.subject, best.predicate.clone(), best.object)) {
                self.groups.push(group);
            }
        }
    }
}

/// The entity whose home is the note at `path`, as one of a neighborhood; none where there is none.
///
/// # Errors
/// When the index cannot be read.
pub fn node_at(desk: &Desk<'_>, path: &str, hop: u32) -> Result<Option<GraphNode>, AskError> {
    let Ok(entity) = find_one(desk, (None, Some(path))) else { return Ok(None) };
    Ok(node(desk, entity, hop)?.filter(|it| it.home.as_deref() == Some(path)))
}

fn node(desk: &Desk<'_>, entity: i64, hop: u32) -> Result<Option<GraphNode>, AskError> {
    let Some(mut view) = entity_view(desk, entity, None)? else { return Ok(None) };
    view.aliases = aliases(desk, entity, &view.name)?;
    let (n_mentions, n_documents) = counts(desk, entity)?;
    let mut rows = desk.snapshot.prepare_cached(
        "SELECT t.doc FROM (SELECT m.doc_id AS doc, count(*) AS n FROM names n JOIN mentions m ON m.name_id = n.id
           WHERE n.entity_id = ?1 GROUP BY m.doc_id) t
         JOIN docs d ON d.id = t.doc ORDER BY t.n DESC, d.path LIMIT ?2",
    )?;
    let docs = rows.query_map(params![entity, MAX_PLACES], |row| row.get(0))?;
    let docs: Vec<i64> = docs.collect::<Result<_, _>>()?;
    let mut places = Vec::new();
    for doc in docs {
        places.extend(first_place(desk, entity, doc)?);
    }
    Ok(Some(GraphNode {
        definition: definition(desk, entity)?,
        home: home(desk, entity)?,
        entry: None,
        entity: view,
        hop,
        n_mentions,
        n_documents,
        places,
    }))
}

/// Relations, surest first, and how many there was no room for.
fn edges(
    desk: &Desk<'_>,
    groups: Vec<Group>,
    limit: usize,
) -> Result<(Vec<GraphEdge>, usize), AskError> {
    let mut found: Vec<(GraphEdge, Statement)> = Vec::new();
    for group in groups {
        let Some(best) = group.first().cloned() else { continue };
        let against = against(desk, (best.subject, &best.predicate, best.object))?;
        let edge = GraphEdge {
            src: best.subject,
            dst: best.object,
            rel: best.predicate.clone(),
            confidence: weighed(&group, &against),
            n_evidence: group.len() as u64,
            n_against: against.len() as u64,
            evidence: None,
        };
        found.push((edge, best));
    }
    found.sort_by(|(a, _), (b, _)| {
        let ends = |it: &GraphEdge| (it.src, it.dst, it.rel.clone());
        b.confidence.total_cmp(&a.confidence).then_with(|| ends(a).cmp(&ends(b)))
    });
    let n_cut = found.len().saturating_sub(limit);
    found.truncate(limit);
    cite(desk, &mut found)?;
    Ok((found.into_iter().map(|(edge, _)| edge).collect(), n_cut))
}

/// Adds the evidence, document by document, so that each text is read once and only one is held.
fn cite(desk: &Desk<'_>, found: &mut [(GraphEdge, Statement)]) -> Result<(), AskError> {
    let mut by_doc: Vec<usize> = (0..found.len()).collect();
    by_doc.sort_by_key(|idx| found.get(*idx).map(|(_, statement)| statement.doc));
    let mut open: Option<(i64, Option<Source>)> = None;
    for idx in by_doc {
        let Some((edge, statement)) = found.get_mut(idx) else { continue };
        if open.as_ref().is_none_or(|(doc, _)| *doc != statement.doc) {
            open = Some((statement.doc, Source::load(desk, statement.doc)?));
        }
        let source = open.as_ref().and_then(|(_, source)| source.as_ref());
        edge.evidence = source.map(|source| EvidenceView {
            source: source.quote(statement.span),
            span: [statement.raw.0, statement.raw.1],
            pattern: statement.pattern.clone(),
            confidence: statement.confidence,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_finds_no_room_is_counted_and_the_surest_are_taken() {
        let mut walk = Walk::from(1, 3);
        let ways = [(5, 0.4), (4, 0.9), (3, 0.9), (2, 0.5)];
        let next = walk.take(ways.into_iter().collect(), 1);
        assert_eq!(next, [(0.9, 3), (0.9, 4)]);
        assert_eq!(walk.order, [(1, 0), (3, 1), (4, 1)]);
        assert_eq!(
            left_out(walk.left_out.len(), 0).as_deref().map(|it| &it[..10]),
            Some("2 entities")
        );
    }
}
