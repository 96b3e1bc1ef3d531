//! Stated: the relations of entries, for the graph of the whole folder.
//!
//! In: a shelf. Out: its relations between parties that the folder knows: entries and notes are
//! documents; people, tools, concepts and projects are names.
//! Invariants: tags join nothing, because sharing a tag hardly relates two things.
//! Not here: the graph of entries alone (`graph.rs`).

use notes::entry::id_text;
use rusqlite::OptionalExtension;

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
        let own = id_text(row.number);
        for it in shelf.graph.neighbors(&own).filter(|it| it.is_outgoing) {
            let Some(object) = party_of(snapshot, shelf, it.node)? else { continue };
            out.push(FurtherRelation {
                subject: -row.doc,
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
    let Some(party) = party_of(snapshot, shelf, node)? else { return Ok(None) };
    let sql = match party < 0 {
        true => "SELECT entity_id FROM docs WHERE id = -?1",
        false => "SELECT entity_id FROM names WHERE id = ?1",
    };
    let entity = snapshot.prepare_cached(sql)?.query_row([party], |row| row.get(0));
    Ok(entity.optional()?.flatten())
}

/// Returns the party of evidence for a node of the entry graph: a name id, or a negated document
/// id.
fn party_of(snapshot: &Snapshot, shelf: &Shelf, node: &str) -> Result<Option<i64>, AskError> {
    let (sql, value) = match node.split_once(':') {
        None => return Ok(shelf.of_node(node).map(|row| -row.doc)),
        Some(("tag", _)) => return Ok(None),
        Some(("note", path)) => ("SELECT -id FROM docs WHERE path = ?1", path.to_string()),
        Some((_, name)) => ("SELECT id FROM names WHERE norm = ?1 AND sense = 0", norm_of(name)),
    };
    Ok(snapshot.prepare_cached(sql)?.query_row([value], |row| row.get(0)).optional()?)
}
