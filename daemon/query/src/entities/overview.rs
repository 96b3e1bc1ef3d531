//! Overview: the whole folder as one graph, for drawing.
//!
//! In: the projection, a limit, relation types. Out: the most mentioned entities that are related
//! to each other, most mentioned first, the relations and associations between them, and the
//! communities that these form.
//! Invariants: each entity has a relation or association to another one of the reply; the same index
//! gives the same reply.

use std::collections::BTreeSet;

use model::terms::EntityType;
use proto::error::ErrorView;
use proto::shape::Freshness;
use proto::tool::admin::{Community, GraphNode, GraphReply};
use rustc_hash::{FxHashMap, FxHashSet};

use super::neighborhood::{EDGES_PER_ENTITY, edges, left_out, node};
use crate::graph::communities::communities;
use crate::graph::projection::{Projection, Relation};
use crate::{AskError, QueryContext};

/// Most entities in the name of a community.
const NAMES_OF_COMMUNITY: usize = 2;

/// Returns the overview: at most `limit` entities, and only the relation types `rels`, unless that
/// is empty.
pub(super) fn overview(
    ctx: &QueryContext<'_>,
    projection: &Projection,
    limit: usize,
    rels: &[String],
) -> Result<GraphReply, ErrorView> {
    let associations = ctx.associations.at(ctx.snapshot)?;
    let projection = &projection.with(associations.all());
    let chosen = Chosen::from(projection, &by_mentions(ctx)?, limit, rels);
    let mut nodes = Vec::new();
    for entity in &chosen.entities {
        nodes.extend(node(ctx, *entity, 0)?);
    }
    let (edges, n_edges_cut) = edges(ctx, chosen.relations, limit * EDGES_PER_ENTITY)?;
    let number: FxHashMap<i64, usize> =
        nodes.iter().enumerate().map(|(idx, it)| (it.entity.id, idx)).collect();
    let joined = edges.iter().filter_map(|it| {
        Some((*number.get(&it.src)?, *number.get(&it.dst)?, f64::from(it.confidence)))
    });
    let found = communities(nodes.len(), &joined.collect::<Vec<_>>());
    let communities = named(&mut nodes, &found);
    let truncated = left_out(chosen.n_left_out, n_edges_cut, "give some `rels`");
    Ok(GraphReply { nodes, edges, communities, truncated, freshness: Freshness::default() })
}

/// Returns all things, most mentioned first; ties by norm.
fn by_mentions(ctx: &QueryContext<'_>) -> Result<Vec<i64>, AskError> {
    let found = ctx.snapshot.entities().by_mentions()?;
    let things = found.into_iter().filter(|(_, code)| EntityType::is_shown(*code));
    Ok(things.map(|(id, _)| id).collect())
}

/// The part of the graph to draw.
struct Chosen<'p> {
    entities: Vec<i64>,
    relations: Vec<Relation<'p>>,
    /// Entities that have a relation but exceed the limit.
    n_left_out: usize,
}

impl<'p> Chosen<'p> {
    /// Chooses the entities that are related to a more frequently mentioned one, and the latter.
    fn from(projection: &'p Projection, ranked: &[i64], limit: usize, rels: &[String]) -> Self {
        let rank: FxHashMap<i64, usize> =
            ranked.iter().enumerate().map(|(idx, it)| (*it, idx)).collect();
        let mut chosen: BTreeSet<usize> = BTreeSet::new();
        let mut related: FxHashSet<usize> = FxHashSet::default();
        for (idx, entity) in ranked.iter().enumerate() {
            let Some(node) = projection.node(*entity) else { continue };
            let wanted = projection.at(node).filter(|(_, relation)| relation.is_of(rels));
            let others = wanted.filter_map(|(other, _)| rank.get(&projection.entity(other)));
            let earlier: BTreeSet<usize> = others.copied().filter(|other| *other < idx).collect();
            if earlier.is_empty() {
                continue;
            }
            related.extend(earlier.iter().copied().chain([idx]));
            // An entity is added only together with one that it is related to.
            let n_new = if earlier.is_disjoint(&chosen) { 2 } else { 1 };
            if chosen.len() + n_new > limit {
                continue;
            }
            for it in [idx].into_iter().chain(earlier) {
                if chosen.len() < limit {
                    chosen.insert(it);
                }
            }
        }
        let n_left_out = related.len() - chosen.len();
        let entities: Vec<i64> = chosen.into_iter().map(|it| ranked[it]).collect();
        let mut relations = projection.among(&entities);
        relations.retain(|it| it.is_of(rels));
        Chosen { entities, relations, n_left_out }
    }
}

/// Writes the communities into their nodes, and returns them with their names.
fn named(nodes: &mut [GraphNode], found: &[usize]) -> Vec<Community> {
    let n_communities = found.iter().max().map_or(0, |it| it + 1);
    let mut names: Vec<Vec<&str>> = vec![Vec::new(); n_communities];
    for (node, community) in nodes.iter().zip(found) {
        names[*community].push(&node.entity.name);
    }
    let of_names = |(idx, names): (usize, Vec<&str>)| Community {
        id: idx as u32 + 1,
        label: names.iter().take(NAMES_OF_COMMUNITY).copied().collect::<Vec<_>>().join(", "),
        size: names.len() as u64,
    };
    let communities = names.into_iter().enumerate().map(of_names).collect();
    for (node, community) in nodes.iter_mut().zip(found) {
        node.community = Some(*community as u32 + 1);
    }
    communities
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_mentioned_that_are_related_to_each_other_are_drawn() {
        let relations =
            [(1, "uses", 2, 0.9), (3, "uses", 5, 0.9), (4, "owns", 1, 0.9), (2, "uses", 4, 0.4)];
        let projection = Projection::of(&relations);
        // 3 is mentioned less than 5, and 6 has no relation.
        let ranked = [6, 1, 5, 4, 2, 3];
        let check = |limit: usize, rels: &[&str], entities: &[i64], n_relations, n_left_out| {
            let rels: Vec<String> = rels.iter().map(|it| it.to_string()).collect();
            let chosen = Chosen::from(&projection, &ranked, limit, &rels);
            assert_eq!(chosen.entities, entities);
            assert_eq!((chosen.relations.len(), chosen.n_left_out), (n_relations, n_left_out));
        };
        check(9, &[], &[1, 5, 4, 2, 3], 4, 0);
        check(3, &[], &[1, 4, 2], 3, 2);
        check(4, &[], &[1, 4, 2], 3, 2);
        check(9, &["uses"], &[1, 5, 4, 2, 3], 3, 0);
        check(9, &["owns"], &[1, 4], 1, 0);
        check(1, &[], &[], 0, 5);
    }
}
