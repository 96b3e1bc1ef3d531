//! Stated: the relations of entries, for the graph of the whole folder.
//!
//! In: a shelf. Out: its relations between entities that the folder knows: entries and notes are
//! documents; people, tools, concepts and projects are names.
//! Invariants: tags join nothing, because sharing a tag hardly relates two things.

use notes::entry::id_text;

use super::graph::By;
use super::shelf::Shelf;
use crate::AskError;
use crate::graph::projection::FurtherRelation;
use index::store::Snapshot;
use model::terms::norm_of;

/// Confidence of a relation that a model read in an entry.
const BY_LLM: f32 = 0.6;

/// Returns the relations of all entries.
///
/// # Errors
/// When the index cannot be read.
pub fn relations(snapshot: &Snapshot, shelf: &Shelf) -> Result<Vec<FurtherRelation>, AskError> {
    let mut out = Vec::new();
    for row in shelf.entries() {
        let Some(subject) = snapshot.documents().entity(row.doc)? else { continue };
        let own = id_text(row.number);
        for it in shelf.graph.neighbors(&own).filter(|it| it.is_outgoing) {
            let Some(object) = entity_of(snapshot, shelf, it.node)? else { continue };
            out.push(FurtherRelation {
                subject,
                predicate: it.edge.to_string(),
                object,
                doc: row.doc,
                confidence: if it.by == By::Llm { BY_LLM } else { 1.0 },
            });
        }
    }
    Ok(out)
}

/// Returns the entity for a node of the entry graph, if the folder knows it.
///
/// # Errors
/// When the index cannot be read.
pub fn entity_of(snapshot: &Snapshot, shelf: &Shelf, node: &str) -> Result<Option<i64>, AskError> {
    let doc = match node.split_once(':') {
        None => shelf.of_node(node).map(|row| row.doc),
        Some(("tag", _)) => None,
        Some(("note", path)) => snapshot.documents().at(path)?,
        Some((_, name)) => {
            let name = snapshot.names().with_norm(&norm_of(name))?;
            return Ok(name.and_then(|it| it.entity));
        }
    };
    Ok(doc.map(|doc| snapshot.documents().entity(doc)).transpose()?.flatten())
}
