//! Communities: which nodes of a weighted graph belong together (Louvain).
//!
//! In: the number of nodes, undirected edges with weights. Out: the community of each node,
//! numbered from 0.
//! A node moves to the neighboring community that raises the modularity most. When no node moves,
//! each community becomes one node of a smaller graph, and the process repeats until nothing
//! changes.
//! Invariants: deterministic: nodes are visited in order, and ties go to the community with the
//! lowest number. A pass visits each edge once, and there are at most [`MAX_PASSES`] per level.

use std::collections::BTreeMap;

/// Most passes over the nodes of one level. A few are usual; the bound keeps the cost linear.
const MAX_PASSES: usize = 20;

/// Least gain for which a node moves: smaller ones are rounding errors and could alternate forever.
const MIN_GAIN: f64 = 1e-9;

/// Returns the community of each node; the largest is number 0, ties by the first node.
pub(crate) fn communities(n_nodes: usize, edges: &[(usize, usize, f64)]) -> Vec<usize> {
    let mut of: Vec<usize> = (0..n_nodes).collect();
    let mut level = Level::new(n_nodes, edges.iter().copied());
    loop {
        let moved = by_size(&level.settled());
        let n_communities = moved.iter().max().map_or(0, |it| it + 1);
        of.iter_mut().for_each(|it| *it = moved[*it]);
        if n_communities == moved.len() {
            return by_size(&of);
        }
        level = level.merged(&moved, n_communities);
    }
}

/// Renumbers communities from 0, the largest first.
fn by_size(of: &[usize]) -> Vec<usize> {
    let mut members: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    for (node, community) in of.iter().enumerate() {
        members.entry(*community).or_insert((0, node)).0 += 1;
    }
    let mut order: Vec<_> = members.into_iter().collect();
    order.sort_by_key(|(_, (size, first))| (std::cmp::Reverse(*size), *first));
    let numbers: BTreeMap<usize, usize> =
        order.iter().enumerate().map(|(number, (community, _))| (*community, number)).collect();
    of.iter().map(|it| numbers[it]).collect()
}

/// The graph of one level.
struct Level {
    /// The neighbors of each node, with the weight of the edges to them.
    neighbors: Vec<BTreeMap<usize, f64>>,
    /// For each node, twice the weight of the edges inside it.
    inside: Vec<f64>,
}

impl Level {
    fn new(n_nodes: usize, edges: impl Iterator<Item = (usize, usize, f64)>) -> Self {
        let mut level =
            Level { neighbors: vec![BTreeMap::new(); n_nodes], inside: vec![0.0; n_nodes] };
        for (a, b, weight) in edges {
            if a == b {
                level.inside[a] += 2.0 * weight;
            } else {
                *level.neighbors[a].entry(b).or_default() += weight;
                *level.neighbors[b].entry(a).or_default() += weight;
            }
        }
        level
    }

    /// Moves nodes until no move raises the modularity.
    fn settled(&self) -> Vec<usize> {
        let weight_of =
            |node: usize| self.inside[node] + self.neighbors[node].values().sum::<f64>();
        let weights: Vec<f64> = (0..self.neighbors.len()).map(weight_of).collect();
        let whole: f64 = weights.iter().sum();
        let mut of: Vec<usize> = (0..weights.len()).collect();
        let mut totals = weights.clone();
        for _ in 0..MAX_PASSES {
            let mut n_moved = 0;
            for (node, weight) in weights.iter().enumerate() {
                let own = of[node];
                totals[own] -= weight;
                let mut there: BTreeMap<usize, f64> = BTreeMap::from([(own, 0.0)]);
                for (other, weight) in &self.neighbors[node] {
                    *there.entry(of[*other]).or_default() += weight;
                }
                let gain =
                    |community: usize| there[&community] - totals[community] * weight / whole;
                let mut best = (own, gain(own));
                for community in there.keys() {
                    if gain(*community) > best.1 + MIN_GAIN {
                        best = (*community, gain(*community));
                    }
                }
                n_moved += usize::from(best.0 != own);
                of[node] = best.0;
                totals[best.0] += weight;
            }
            if n_moved == 0 {
                break;
            }
        }
        of
    }

    /// Merges each community into one node.
    fn merged(&self, of: &[usize], n_communities: usize) -> Level {
        let between = self.neighbors.iter().enumerate().flat_map(|(node, others)| {
            // Each edge is stored at both ends.
            let once = others.iter().filter(move |(other, _)| node < **other);
            once.map(move |(other, weight)| (of[node], of[*other], *weight))
        });
        let inside =
            self.inside.iter().enumerate().map(|(node, twice)| (of[node], of[node], twice / 2.0));
        Level::new(n_communities, between.chain(inside))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All edges between nodes of a range.
    fn clique(nodes: std::ops::Range<usize>) -> Vec<(usize, usize, f64)> {
        nodes
            .clone()
            .flat_map(|a| nodes.clone().filter(move |b| a < *b).map(move |b| (a, b, 1.0)))
            .collect()
    }

    #[test]
    fn two_cliques_joined_by_one_edge_are_two() {
        let mut edges = clique(0..4);
        edges.extend(clique(4..9));
        edges.push((3, 4, 1.0));
        let found = communities(9, &edges);
        assert_eq!(found, [1, 1, 1, 1, 0, 0, 0, 0, 0], "the larger one is the first");
        edges.reverse();
        assert_eq!(communities(9, &edges), found, "whatever the order of the edges");
    }

    #[test]
    fn a_ring_of_cliques_is_found_clique_by_clique() {
        let n_cliques = 30;
        let mut edges = Vec::new();
        for idx in 0..n_cliques {
            edges.extend(clique(idx * 8..idx * 8 + 8));
            edges.push((idx * 8, ((idx + 1) % n_cliques) * 8 + 1, 1.0));
        }
        let found = communities(n_cliques * 8, &edges);
        assert!((0..n_cliques * 8).all(|node| found[node] == found[node / 8 * 8]));
        assert_eq!(found, communities(n_cliques * 8, &edges));
    }

    #[test]
    fn nodes_without_edges_stand_alone() {
        assert_eq!(communities(0, &[]), Vec::<usize>::new());
        assert_eq!(communities(3, &[]), [0, 1, 2]);
        assert_eq!(communities(3, &[(1, 2, 0.5), (2, 2, 1.0)]), [1, 0, 0]);
    }
}
