//! Paths: the best paths from one entity to another.
//!
//! In: a projection, two entities, bounds. Out: paths, best first.
//! The score of a path is the product of the confidences of its steps, each weighted by its
//! relation type, with a penalty for every further step and for passing through a hub, because
//! something related to everything explains nothing.
//! The search is A* over acyclic paths. A first walk from the target computes the least cost from
//! each entity for each number of steps, so that only paths that can still arrive are followed, the
//! best first.
//! Invariants: two paths differ in at least one entity; at most [`MAX_VISITS`] relations are
//! visited; ties are broken by entity id, not by row.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap};

use petgraph::graph::NodeIndex;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::graph::projection::{Projection, Relation};

/// Most relations visited in one search: takes some tens of milliseconds.
const MAX_VISITS: usize = 300_000;

/// Factor by which each step after the first lowers the score.
const FURTHER: f32 = 0.7;

/// Number of relations from which on passing through an entity has a cost.
const USUAL_DEGREE: f32 = 12.0;

/// Least confidence of a step, so that a score is never 0.
const MIN_CONFIDENCE: f32 = 0.01;

/// Number of paths and their length.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub max_hops: usize,
    pub limit: usize,
}

/// A path from one entity to another.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Path {
    /// Both ends and the entities between, in order.
    pub entities: Vec<i64>,
    /// Score in (0, 1].
    pub score: f32,
}

/// The result of a search.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Found {
    pub paths: Vec<Path>,
    /// Whether relations were skipped because of the limit.
    pub is_cut: bool,
}

/// Returns the best paths.
pub(super) fn best(
    projection: &Projection,
    weights: &BTreeMap<String, f32>,
    ends: [i64; 2],
    bounds: &Bounds,
) -> Found {
    let [Some(from), Some(to)] = ends.map(|end| projection.node(end)) else {
        return Found::default();
    };
    let mut walk = Walk { projection, weights, n_visits: 0 };
    let rests = rests(&mut walk, from, to, bounds.max_hops);
    // The second walk follows the result of the first, and has a budget of its own.
    let n_visits = std::mem::take(&mut walk.n_visits);
    let paths = paths(&mut walk, [from, to], &rests, bounds);
    Found { paths, is_cut: n_visits.max(walk.n_visits) > MAX_VISITS }
}

/// Visits relations, and counts the visits.
struct Walk<'p> {
    projection: &'p Projection,
    weights: &'p BTreeMap<String, f32>,
    n_visits: usize,
}

impl Walk<'_> {
    /// Returns the neighbors of a node, each with the cost of the best step; empty once the limit
    /// is exceeded.
    fn neighbors(&mut self, node: NodeIndex) -> FxHashMap<NodeIndex, f32> {
        let mut nearest: FxHashMap<NodeIndex, f32> = FxHashMap::default();
        self.n_visits += self.projection.degree(node);
        if self.n_visits > MAX_VISITS {
            return nearest;
        }
        for (other, relation) in self.projection.at(node) {
            let cost = self.step(&relation);
            let known = nearest.entry(other).or_insert(cost);
            *known = known.min(cost);
        }
        nearest
    }

    fn step(&self, relation: &Relation<'_>) -> f32 {
        let usual = || self.weights.get("default").copied().unwrap_or(0.5);
        let weight = self.weights.get(relation.predicate).copied().unwrap_or_else(usual);
        // A weak relation type halves the worth at most, so a certain link still beats a guess.
        let worth = relation.confidence * (1.0 + weight.clamp(0.0, 1.0)) / 2.0;
        -(worth.max(MIN_CONFIDENCE) * FURTHER).ln()
    }

    /// Returns the cost of passing through a node.
    fn hub(&self, node: NodeIndex) -> f32 {
        (self.projection.degree(node) as f32 / USUAL_DEGREE).max(1.0).ln()
    }

    fn order(&self, one: (NodeIndex, f32), other: (NodeIndex, f32)) -> Ordering {
        let entity = |it: (NodeIndex, f32)| self.projection.entity(it.0);
        one.1.total_cmp(&other.1).then_with(|| entity(one).cmp(&entity(other)))
    }
}

/// The least costs from nodes to the target, indexed by the number of steps left.
type Rests = Vec<FxHashMap<NodeIndex, f32>>;

fn rests(walk: &mut Walk<'_>, from: NodeIndex, to: NodeIndex, max_hops: usize) -> Rests {
    let mut rests: Rests = vec![FxHashMap::from_iter([(to, 0.0)])];
    let mut changed = vec![(to, 0.0)];
    for _ in 1..max_hops {
        let mut next = rests.last().cloned().unwrap_or_default();
        let mut nearer: FxHashSet<NodeIndex> = FxHashSet::default();
        for (node, rest) in std::mem::take(&mut changed) {
            let through = if node == to { rest } else { rest + walk.hub(node) };
            for (other, cost) in walk.neighbors(node) {
                let known = next.entry(other).or_insert(f32::INFINITY);
                // No path passes through its own start.
                if through + cost < *known && node != from {
                    *known = through + cost;
                    nearer.insert(other);
                }
            }
        }
        let cost = |node: NodeIndex| Some((node, *next.get(&node)?));
        changed = nearer.into_iter().filter_map(cost).collect();
        // Cheapest first, in case the limit is reached.
        changed.sort_by(|one, other| walk.order(*one, *other));
        rests.push(next);
    }
    rests
}

/// A path that has not reached the target yet.
#[derive(Debug, Clone, PartialEq)]
struct Partial {
    nodes: Vec<NodeIndex>,
    entities: Vec<i64>,
    cost: f32,
    /// Lower bound of its cost at the target.
    estimate: f32,
}

impl Eq for Partial {}

impl Ord for Partial {
    /// Reversed: the heap pops the greatest, which has to be the cheapest.
    fn cmp(&self, other: &Self) -> Ordering {
        let by_estimate = other.estimate.total_cmp(&self.estimate);
        by_estimate.then_with(|| other.entities.cmp(&self.entities))
    }
}

impl PartialOrd for Partial {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

fn paths(walk: &mut Walk<'_>, ends: [NodeIndex; 2], rests: &Rests, bounds: &Bounds) -> Vec<Path> {
    let [from, to] = ends;
    let start = vec![walk.projection.entity(from)];
    let start = Partial { nodes: vec![from], entities: start, cost: 0.0, estimate: 0.0 };
    let mut open = BinaryHeap::from([start]);
    let mut found: Vec<Path> = Vec::new();
    let mut seen: FxHashSet<Vec<i64>> = FxHashSet::default();
    while let Some(partial) = open.pop() {
        let n_steps = partial.nodes.len();
        let Some(last) = partial.nodes.last().copied() else { continue };
        if last == to {
            let mut same = partial.entities.clone();
            same.sort_unstable();
            if seen.insert(same) {
                // The first step has no penalty.
                let score = (-partial.cost).exp() / FURTHER;
                found.push(Path { entities: partial.entities, score: rounded(score) });
            }
            if found.len() >= bounds.limit {
                break;
            }
            continue;
        }
        let left = bounds.max_hops.checked_sub(n_steps);
        let Some(rest) = left.and_then(|left| rests.get(left)) else { continue };
        for (other, cost) in walk.neighbors(last) {
            let Some(rest) = rest.get(&other) else { continue };
            if partial.nodes.contains(&other) {
                continue;
            }
            let through = if other == to { 0.0 } else { walk.hub(other) };
            let mut next = partial.clone();
            next.nodes.push(other);
            next.entities.push(walk.projection.entity(other));
            next.cost += cost + through;
            next.estimate = next.cost + rest;
            open.push(next);
        }
    }
    found
}

/// Returns the shortest path between two entities, of any length, both ends included; the surest of
/// several.
pub fn shortest_path(projection: &Projection, ends: [i64; 2]) -> Option<Vec<i64>> {
    if ends[0] == ends[1] {
        return Some(vec![ends[0]]);
    }
    let [from, to] = ends.map(|end| projection.node(end));
    let (from, to) = (from?, to?);
    let mut came: FxHashMap<NodeIndex, (NodeIndex, f32)> =
        FxHashMap::from_iter([(from, (from, 1.0))]);
    let mut level = vec![from];
    while !level.is_empty() && !came.contains_key(&to) {
        let mut next: FxHashMap<NodeIndex, (NodeIndex, f32)> = FxHashMap::default();
        for node in level {
            let so_far = came.get(&node).map_or(0.0, |it| it.1);
            for (other, relation) in projection.at(node).filter(|it| !came.contains_key(&it.0)) {
                let way = (node, so_far * relation.confidence);
                let is_better = |known: &(NodeIndex, f32)| {
                    let entity = |node| std::cmp::Reverse(projection.entity(node));
                    way.1.total_cmp(&known.1).then(entity(node).cmp(&entity(known.0))).is_gt()
                };
                if next.get(&other).is_none_or(is_better) {
                    next.insert(other, way);
                }
            }
        }
        level = next.keys().copied().collect();
        came.extend(next);
    }
    let mut path = vec![to];
    while let Some(last) = path.last().copied().filter(|last| *last != from) {
        path.push(came.get(&last)?.0);
    }
    Some(path.into_iter().rev().map(|node| projection.entity(node)).collect())
}

fn rounded(score: f32) -> f32 {
    (score * 1e4).round() / 1e4
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(projection: &Projection, ends: [i64; 2], max_hops: usize, limit: usize) -> Vec<Path> {
        best(projection, &BTreeMap::new(), ends, &Bounds { max_hops, limit }).paths
    }

    fn entities(paths: &[Path]) -> Vec<&[i64]> {
        paths.iter().map(|it| it.entities.as_slice()).collect()
    }

    #[test]
    fn sure_and_short_paths_come_first_whichever_way_their_relations_point() {
        let graph = Projection::of(&[
            (1, "uses", 2, 0.9),
            (3, "uses", 2, 0.9),
            (1, "uses", 4, 0.4),
            (4, "uses", 3, 0.4),
            (1, "uses", 5, 1.0),
            (5, "uses", 6, 1.0),
            (6, "uses", 3, 1.0),
        ]);
        let paths = found(&graph, [1, 3], 4, 9);
        assert_eq!(entities(&paths), [&[1, 2, 3][..], &[1, 5, 6, 3], &[1, 4, 3]]);
        assert!(paths.is_sorted_by(|a, b| a.score >= b.score), "{paths:?}");
        assert_eq!(entities(&found(&graph, [1, 3], 2, 1)), [&[1, 2, 3][..]]);
        assert_eq!(found(&graph, [1, 3], 1, 9), []);
        assert_eq!(shortest_path(&graph, [3, 1]), Some(vec![3, 2, 1]));
        assert_eq!(shortest_path(&graph, [1, 7]), None);
    }

    #[test]
    fn what_is_related_to_everything_explains_nothing() {
        let spokes = (100..200).map(|spoke| (9, "uses", spoke, 1.0));
        let ways =
            [(1, "uses", 9, 1.0), (9, "uses", 2, 1.0), (1, "uses", 3, 0.6), (3, "uses", 2, 0.6)];
        let graph = Projection::of(&ways.into_iter().chain(spokes).collect::<Vec<_>>());
        assert_eq!(entities(&found(&graph, [1, 2], 4, 2)), [&[1, 3, 2][..], &[1, 9, 2]]);
    }

    /// The scores of all acyclic paths, best first, by brute force.
    fn tried(graph: &Projection, ends: [i64; 2], max_hops: usize) -> Vec<f32> {
        let mut walk = Walk { projection: graph, weights: &BTreeMap::new(), n_visits: 0 };
        let [Some(from), Some(to)] = ends.map(|it| graph.node(it)) else { return vec![] };
        let mut open = vec![(vec![from], 0.0)];
        let mut found: BTreeMap<Vec<i64>, f32> = BTreeMap::new();
        while let Some((nodes, cost)) = open.pop() {
            let last = nodes[nodes.len() - 1];
            if last == to {
                let mut same: Vec<i64> = nodes.iter().map(|it| graph.entity(*it)).collect();
                same.sort_unstable();
                let known = found.entry(same).or_insert(f32::INFINITY);
                *known = known.min(cost);
                continue;
            }
            let through = if last == from { 0.0 } else { walk.hub(last) };
            for (other, step) in walk.neighbors(last) {
                if nodes.len() <= max_hops && !nodes.contains(&other) {
                    let mut nodes = nodes.clone();
                    nodes.push(other);
                    open.push((nodes, cost + through + step));
                }
            }
        }
        let mut scores: Vec<f32> =
            found.into_values().map(|cost| (-cost).exp() / FURTHER).collect();
        scores.sort_by(|a, b| b.total_cmp(a));
        scores
    }

    proptest! {
        #[test]
        fn the_search_finds_what_trying_all_paths_finds(
            edges in prop::collection::vec((0_i64..7, 0_i64..7, 1_u8..=10), 1..20),
            max_hops in 1_usize..=4,
        ) {
            let edges: Vec<_> = edges
                .into_iter()
                .map(|(from, to, tenths)| (from, "uses", to, f32::from(tenths) / 10.0))
                .collect();
            let graph = Projection::of(&edges);
            let paths = found(&graph, [0, 1], max_hops, 3);
            let all = tried(&graph, [0, 1], max_hops);
            prop_assert_eq!(paths.len(), all.len().min(3));
            for (path, score) in paths.iter().zip(all) {
                prop_assert!((path.score - score).abs() < 2e-4, "{:?} {}", path, score);
            }
        }
    }
}
