//! Memory: the graph as the memory tools show it, where every entity is a note first.
//!
//! In: a projection, entities. Out: shortest paths, neighborhoods and relations, by entity id.
//! Invariants: as in `paths.rs`; neighbors are sorted by confidence.

use rustc_hash::FxHashSet;

pub use super::paths::shortest_path;
use crate::AskError;
use crate::graph::projection::{Projection, Relation};
use index::store::Snapshot;

/// A stated relation: subject, type, object.
pub type Triple = (i64, String, i64);

/// Returns the entities within `depth` steps of one, nearest first, at most `most`, and whether
/// there are more.
pub fn around(projection: &Projection, entity: i64, depth: u32, most: usize) -> (Vec<i64>, bool) {
    let mut found = vec![entity];
    let mut seen = FxHashSet::from_iter([entity]);
    let mut level = vec![entity];
    for _ in 0..depth {
        let mut next = Vec::new();
        for at in std::mem::take(&mut level) {
            for other in projection.about(at).iter().map(|it| it.other_end(at)) {
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
    let Some(entity) = snapshot.documents().entity(doc)? else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for Relation { subject, predicate, object, .. } in projection.about(entity).iter().take(most) {
        let (other, by) = match *subject == entity {
            true => (*object, format!("{predicate} →")),
            false => (*subject, format!("← {predicate}")),
        };
        let note = snapshot.entities().get(other)?.and_then(|it| it.doc);
        found.extend(note.map(|doc| (doc, by)));
    }
    Ok(found)
}

/// Returns the relations between two entities, surest first.
pub fn relations_between(projection: &Projection, one: i64, other: i64) -> Vec<Triple> {
    projection.between(one, other).iter().map(triple).collect()
}

/// Returns the relations among some entities.
pub fn relations_among(projection: &Projection, entities: &[i64]) -> Vec<Triple> {
    projection.among(entities).iter().map(triple).collect()
}

fn triple(relation: &Relation<'_>) -> Triple {
    (relation.subject, relation.predicate.to_string(), relation.object)
}
