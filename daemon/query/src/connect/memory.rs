//! Memory: the graph as the memory tools show it, where every entity is a note first.
//!
//! In: a projection, entities. Out: shortest paths, neighborhoods and relations, by entity id.
//! Invariants: as in `paths.rs`; neighbors are sorted by confidence.

use rustc_hash::FxHashSet;

use super::paths;
use crate::AskError;
use crate::graph::projection::{Projection, Relation};
use index::store::Snapshot;
use model::terms::EntityType;

/// A stated relation: subject, type, object.
pub type Triple = (i64, String, i64);

/// Returns the entity of a document.
///
/// # Errors
/// When the index cannot be read.
pub fn entity_of(snapshot: &Snapshot, doc: i64) -> Result<Option<i64>, AskError> {
    Ok(snapshot.documents().entity(doc)?)
}

/// The name and type of an entity, and its document if it has one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Named {
    /// Its name.
    pub name: String,
    /// Its type.
    pub entity_type: String,
    /// Row of its document.
    pub doc: Option<i64>,
}

/// Returns the name and type of an entity; empty if it is gone.
///
/// # Errors
/// When the index cannot be read.
pub fn named(snapshot: &Snapshot, entity: i64) -> Result<Named, AskError> {
    let found = snapshot.entities().get(entity)?.map(|it| Named {
        name: it.name,
        entity_type: EntityType::shown(it.type_code).to_string(),
        doc: it.doc,
    });
    Ok(found.unwrap_or_default())
}

/// Returns the shortest path between two entities, of any length, both ends included; the surest of
/// several.
pub fn shortest_path(projection: &Projection, ends: [i64; 2]) -> Option<Vec<i64>> {
    let [from, to] = ends;
    if from == to { Some(vec![from]) } else { paths::shortest(projection, ends) }
}

/// Returns the entities within `depth` steps of one, nearest first, at most `most`, and whether
/// there are more.
pub fn around(projection: &Projection, entity: i64, depth: u32, most: usize) -> (Vec<i64>, bool) {
    let mut found = vec![entity];
    let mut seen = FxHashSet::from_iter([entity]);
    let mut level = vec![entity];
    for _ in 0..depth {
        let mut next = Vec::new();
        for at in std::mem::take(&mut level) {
            for Relation { subject, object, .. } in projection.about(at) {
                let other = if subject == at { object } else { subject };
                if seen.contains(&other) {
                    continue;
                }
                if found.len() >= most {
                    return (found, true);
                }
                seen.insert(other);
                found.push(other);
                next.push(other);
            }
        }
        level = next;
    }
    (found, false)
}

/// Returns the notes related to one, surest first, at most `most`, each with the relation:
/// `depends_on →`, or `← depends_on` if it points to this note.
///
/// # Errors
/// When the index cannot be read.
pub fn notes_around(
    snapshot: &Snapshot,
    projection: &Projection,
    doc: i64,
    most: usize,
) -> Result<Vec<(i64, String)>, AskError> {
    let Some(entity) = entity_of(snapshot, doc)? else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for Relation { subject, predicate, object, .. } in projection.about(entity).iter().take(most) {
        let (other, by) = match *subject == entity {
            true => (*object, format!("{predicate} →")),
            false => (*subject, format!("← {predicate}")),
        };
        found.extend(named(snapshot, other)?.doc.map(|doc| (doc, by)));
    }
    Ok(found)
}

/// Returns the relations between two entities, surest first.
pub fn relations_between(projection: &Projection, one: i64, other: i64) -> Vec<Triple> {
    projection.between(one, other).iter().map(triple).collect()
}

/// Returns the relations among some entities.
pub fn relations_among(projection: &Projection, entities: &[i64]) -> Vec<Triple> {
    let known: FxHashSet<i64> = entities.iter().copied().collect();
    let own = entities.iter().flat_map(|entity| {
        let about = projection.about(*entity).into_iter();
        about.filter(|it| it.subject == *entity && known.contains(&it.object))
    });
    own.map(|it| triple(&it)).collect()
}

fn triple(relation: &Relation<'_>) -> Triple {
    (relation.subject, relation.predicate.to_string(), relation.object)
}
