//! Stated: the relations of entries, for the graph of the whole folder.
//!
//! In: an entry index. Out: its relations between entities that the folder knows: entries and notes are
//! documents; people, tools, concepts and projects are names.
//! Invariants: tags join nothing, because sharing a tag hardly relates two things.

use notes::entry::id_text;

use super::entry_index::EntryIndex;
use super::graph::By;
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
pub fn relations(
    snapshot: &Snapshot,
    entry_index: &EntryIndex,
) -> Result<Vec<FurtherRelation>, AskError> {
    let mut out = Vec::new();
    for row in entry_index.entries() {
        let Some(subject) = snapshot.documents().entity(row.doc)? else { continue };
        let own = id_text(row.number);
        for it in entry_index.graph.neighbors(&own).filter(|it| it.is_outgoing) {
            let Some(object) = entity_of(snapshot, entry_index, it.node)? else { continue };
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
pub fn entity_of(
    snapshot: &Snapshot,
    entry_index: &EntryIndex,
    node: &str,
) -> Result<Option<i64>, AskError> {
    let doc = match node.split_once(':') {
        None => entry_index.of_node(node).map(|row| row.doc),
        Some(("tag", _)) => None,
        Some(("note", path)) => snapshot.documents().at(path)?,
        Some((_, name)) => {
            let name = snapshot.names().with_norm(&norm_of(name))?;
            return Ok(name.and_then(|it| it.entity));
        }
    };
    Ok(doc.map(|doc| snapshot.documents().entity(doc)).transpose()?.flatten())
}
