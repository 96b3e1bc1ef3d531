//! Bridge: passages that have nothing in common with the question, but that its best passages lead
//! to.
//!
//! "Who directed the film that X wrote?" finds the passage about the film; its director has a
//! passage of their own, which has nothing in common with the question except the name in the first
//! passage. So the names in the few best passages are followed one step: to the document about the
//! name, else to the few that mention it.
//! In: the best candidates of text and vectors, and the entities that the question names. Out: for
//! each reached chunk, how strongly, through which entity and from which chunk.
//! Invariants: a hub leads nowhere (`neighbors.rs`); a document leads only to others, so that a
//! long document does not boost itself; the best passages count as reached, too, so that the ones
//! they lead to do not overtake them. If no rare name joins anything, as for most questions that a
//! single passage answers, all values are 0.

use rustc_hash::{FxHashMap, FxHashSet};

use super::neighbors::Neighbors;
use crate::AskError;
use crate::recall::naming::Seed;

/// Best candidates whose names are followed.
const MAX_FROM: usize = 3;

/// Exponent of a candidate's share of the best score: how fast its weight falls off.
const STEEPNESS: i32 = 4;

/// Value of the best candidates themselves, relative to those that they lead to.
const OWN: f32 = 0.7;

/// How a chunk was reached.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Reach {
    /// In [0, 1].
    pub value: f32,
    /// The entity that leads there; `None` for a best candidate.
    pub entity: Option<i64>,
    /// The chunk that mentions it; `None` if the question names it.
    pub from: Option<i64>,
}

/// Reached chunks.
pub(crate) type Reaches = FxHashMap<i64, Reach>;

/// Returns the best candidates, each with a weight in (0, 1]; the best one has 1.
pub(crate) fn best(fused: &[(i64, f32)]) -> Vec<(i64, f32)> {
    let Some((_, most)) = fused.first().filter(|(_, score)| *score > 0.0) else {
        return Vec::new();
    };
    let weight = |score: f32| (score / most).max(0.0).powi(STEEPNESS);
    fused.iter().take(MAX_FROM).map(|(chunk, score)| (*chunk, weight(*score))).collect()
}

/// Returns the chunks that the names in the best candidates lead to.
pub(crate) fn bridges(
    neighbors: &mut Neighbors<'_>,
    best: &[(i64, f32)],
    candidates: &[i64],
) -> Result<Reaches, AskError> {
    let mut reached = Reaches::default();
    neighbors.read_entities(best.iter().map(|(chunk, _)| *chunk))?;
    for (chunk, weight) in best {
        let (doc, entities) = (neighbors.doc(*chunk), neighbors.entities(*chunk));
        let names: Vec<(i64, f32)> = entities.iter().map(|entity| (*entity, 1.0)).collect();
        for (to, mut reach) in step(neighbors, &names, Some(doc), candidates)? {
            reach.value *= weight;
            reach.from = Some(*chunk);
            keep(&mut reached, to, reach);
        }
    }
    for (chunk, weight) in best {
        keep(&mut reached, *chunk, Reach { value: OWN * weight, entity: None, from: None });
    }
    Ok(reached)
}

/// Returns the chunks that the entities of the question lead to. A single entity has full weight;
/// each of the eight in a pasted paragraph has an eighth.
pub(crate) fn named(
    neighbors: &mut Neighbors<'_>,
    seeds: &[Seed],
    candidates: &[i64],
) -> Result<Reaches, AskError> {
    let mut names: Vec<(i64, f32)> = Vec::new();
    for seed in seeds {
        if neighbors.leads(seed.entity)?.n_from(None) > 0 {
            names.push((seed.entity, seed.link));
        }
    }
    let n = names.len() as f32;
    names.iter_mut().for_each(|(_, worth)| *worth /= n);
    Ok(step(neighbors, &names, None, candidates)?.into_iter().collect())
}

fn keep(reached: &mut Reaches, chunk: i64, reach: Reach) {
    let known = reached.entry(chunk).or_default();
    if reach.value > known.value {
        *known = reach;
    }
}

/// Follows names from a document (`None`: from the question) one step: to the candidates that share
/// them, and to one chunk in each document that they lead to. The worth of a name is divided among
/// those documents; several names add up to at most 1.
fn step(
    neighbors: &mut Neighbors<'_>,
    names: &[(i64, f32)],
    from: Option<i64>,
    candidates: &[i64],
) -> Result<Vec<(i64, Reach)>, AskError> {
    let (mut shares, mut docs): (FxHashMap<i64, f32>, FxHashSet<i64>) = Default::default();
    let mut reached: FxHashMap<i64, Vec<(f32, i64)>> = FxHashMap::default();
    for (entity, worth) in names {
        let leads = neighbors.leads(*entity)?;
        let n = leads.n_from(from);
        if n > 0 {
            shares.insert(*entity, worth / n as f32);
            docs.extend(leads.docs().filter(|doc| Some(*doc) != from));
        }
    }
    if shares.is_empty() {
        return Ok(Vec::new());
    }
    let near = candidates.iter().filter(|chunk| docs.contains(&neighbors.doc(**chunk)));
    let near: Vec<i64> = near.copied().collect();
    neighbors.read_entities(near.iter().copied())?;
    for chunk in &near {
        let doc = neighbors.doc(*chunk);
        for entity in neighbors.entities(*chunk).iter() {
            let Some(share) = shares.get(entity) else { continue };
            if neighbors.leads(*entity)?.lead_to(doc) {
                reached.entry(*chunk).or_default().push((*share, *entity));
            }
        }
    }
    let known: FxHashSet<i64> = candidates.iter().copied().collect();
    for (entity, _) in names {
        let Some(share) = shares.get(entity) else { continue };
        for chunk in neighbors.chunks(*entity, from)?.into_iter().filter(|it| !known.contains(it)) {
            reached.entry(chunk).or_default().push((*share, *entity));
        }
    }
    Ok(reached.into_iter().map(|(chunk, by)| (chunk, sum(by))).collect())
}

/// Adds up shares; the entity with the largest share is reported as the way.
fn sum(mut by: Vec<(f32, i64)>) -> Reach {
    by.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let value: f32 = by.iter().map(|(share, _)| share).sum();
    Reach { value: value.min(1.0), entity: by.first().map(|(_, entity)| *entity), from: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_count_by_how_near_they_are_to_the_best() {
        let found = best(&[(7, 0.8), (3, 0.4), (9, 0.2), (1, 0.1)]);
        assert_eq!(found, [(7, 1.0), (3, 0.0625), (9, 0.003_906_25)]);
        assert_eq!(best(&[(7, 0.0)]), []);
        assert_eq!(best(&[]), []);
    }

    #[test]
    fn shares_add_up_to_one_and_the_largest_names_the_way() {
        let reach = sum(vec![(0.25, 5), (0.5, 9), (0.5, 4)]);
        assert_eq!((reach.value, reach.entity), (1.0, Some(4)));
        assert_eq!(sum(vec![(0.125, 5)]).value, 0.125);
    }
}
