//! PageRank: how much of a walk that begins at the question, and begins anew at every other step, ends in each chunk.
//!
//! Personalised PageRank over entities, chunks and their mentions, as HippoRAG has it, without a language model. The
//! walk begins at the entities that the question names and at the best candidates of text and vectors. It is pushed
//! from where most is left (Andersen, Chung, Lang 2006: local partitioning), so that only the surroundings are read.
//! In: where walks begin, with weights; the neighbors of a node. Out: the share that ends at each chunk, beyond what
//! began there.
//! Invariants: at most [`MAX_PUSHES`] nodes are expanded; the same web gives the same numbers; what is left unpushed
//! counts where it stands.
//! Not here: which neighbors there are (`web.rs`).

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::AskError;
use super::naming::Seed;
use super::web::Web;

/// Share of a walk that ends at each step.
const ENDS: f32 = 0.5;

/// What is not worth a push.
const LEAST: f32 = 0.005;

/// Nodes expanded at most.
const MAX_PUSHES: usize = 60;

/// Weight of the question's own entities together, where the best candidates together have 1.
const QUESTION: f32 = 0.5;

/// The share from which on a chunk counts fully.
const FULL: f32 = 0.02;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Node {
    Chunk(i64),
    Entity(i64),
}

/// Chunks with what they are worth, in (0, 1].
pub(super) fn pagerank(
    web: &mut Web<'_>,
    seeds: &[Seed],
    best: &[(i64, f32)],
) -> Result<FxHashMap<i64, f32>, AskError> {
    let mut starts: BTreeMap<Node, f32> = BTreeMap::new();
    let chunks: f32 = best.iter().map(|(_, weight)| weight).sum();
    for (chunk, weight) in best {
        starts.insert(Node::Chunk(*chunk), weight / chunks.max(f32::EPSILON));
    }
    // A hub that the question names would only lose its share.
    let mut named: Vec<(i64, f32)> = Vec::new();
    for seed in seeds {
        let n = web.leads(seed.entity)?.n_from(None);
        if n > 0 {
            named.push((seed.entity, seed.link / n as f32));
        }
    }
    let links: f32 = named.iter().map(|(_, link)| link).sum();
    for (entity, link) in named {
        starts.insert(Node::Entity(entity), QUESTION * link / links.max(f32::EPSILON));
    }
    let ended = push(starts, |node| neighbors(web, node))?;
    let value = |(node, share): (Node, f32)| match node {
        Node::Chunk(chunk) if share > 0.0 => Some((chunk, (share / FULL).min(1.0))),
        _ => None,
    };
    Ok(ended.into_iter().filter_map(value).collect())
}

/// Entities of a chunk, those of fewer documents more likely; chunks that an entity leads to, all alike.
fn neighbors(web: &mut Web<'_>, node: Node) -> Result<Vec<(Node, f32)>, AskError> {
    let mut found = Vec::new();
    match node {
        Node::Chunk(chunk) => {
            for entity in web.entities(chunk)?.iter() {
                let n = web.leads(*entity)?.n_from(None);
                if n > 0 {
                    found.push((Node::Entity(*entity), 1.0 / (1.0 + n as f32).ln()));
                }
            }
        }
        Node::Entity(entity) => {
            found.extend(web.chunks(entity, None)?.into_iter().map(|it| (Node::Chunk(it), 1.0)));
        }
    }
    Ok(found)
}

/// Where walks end, beyond what ends where it began.
fn push(
    starts: BTreeMap<Node, f32>,
    mut neighbors: impl FnMut(Node) -> Result<Vec<(Node, f32)>, AskError>,
) -> Result<BTreeMap<Node, f32>, AskError> {
    let whole: f32 = starts.values().sum();
    let starts: BTreeMap<Node, f32> =
        starts.into_iter().map(|(node, weight)| (node, weight / whole)).collect();
    let mut left = starts.clone();
    let mut ended: BTreeMap<Node, f32> = BTreeMap::new();
    for _ in 0..MAX_PUSHES {
        let most = left.iter().max_by(|a, b| a.1.total_cmp(b.1).then(b.0.cmp(a.0)));
        let Some((node, share)) = most.map(|(node, share)| (*node, *share)) else { break };
        if share < LEAST {
            break;
        }
        left.remove(&node);
        *ended.entry(node).or_default() += ENDS * share;
        let around = neighbors(node)?;
        let sum: f32 = around.iter().map(|(_, weight)| weight).sum();
        for (next, weight) in around {
            *left.entry(next).or_default() += (1.0 - ENDS) * share * weight / sum;
        }
    }
    for (node, share) in left {
        *ended.entry(node).or_default() += ENDS * share;
    }
    for (node, share) in starts {
        *ended.entry(node).or_default() -= ENDS * share;
    }
    Ok(ended)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Chunk 1 names 10 and 11; 10 stands in 1 and 2 alone, 11 in 1, 3, 4 and 5; chunk 2 names 12, which leads to 6.
    fn around(node: Node) -> Result<Vec<(Node, f32)>, AskError> {
        let nodes: Vec<Node> = match node {
            Node::Chunk(1) => vec![Node::Entity(10), Node::Entity(11)],
            Node::Chunk(2) => vec![Node::Entity(10), Node::Entity(12)],
            Node::Entity(10) => [1, 2].map(Node::Chunk).into(),
            Node::Entity(11) => [1, 3, 4, 5].map(Node::Chunk).into(),
            Node::Entity(12) => [2, 6].map(Node::Chunk).into(),
            _ => Vec::new(),
        };
        Ok(nodes.into_iter().map(|node| (node, 1.0)).collect())
    }

    #[test]
    fn a_walk_ends_rather_where_few_ways_lead_and_also_two_names_away() {
        let ended = push([(Node::Chunk(1), 3.0)].into(), around).expect("pushed");
        let of = |chunk| ended.get(&Node::Chunk(chunk)).copied().unwrap_or_default();
        assert!(of(2) > of(3), "{ended:?}");
        assert!(of(3) > of(6) && of(6) > 0.0, "{ended:?}");
        assert_eq!(of(3), of(5));
        assert_eq!(ended, push([(Node::Chunk(1), 3.0)].into(), around).expect("again"));
    }

    #[test]
    fn no_start_is_no_walk_and_a_large_web_is_not_walked_through() {
        assert!(push(BTreeMap::new(), around).expect("pushed").is_empty());
        let mut asked = 0;
        let endless = |node: Node| {
            asked += 1;
            let Node::Chunk(chunk) = node else { return Ok(Vec::new()) };
            Ok((1..=2).map(|next| (Node::Chunk(chunk * 2 + next), 1.0)).collect())
        };
        push([(Node::Chunk(0), 1.0)].into(), endless).expect("pushed");
        assert!(asked <= MAX_PUSHES, "{asked}");
    }
}
