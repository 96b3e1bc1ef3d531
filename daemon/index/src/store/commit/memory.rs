//! Memory: the rows of a note as an entity with facts.
//!
//! In: a document whose row exists. Out: its node, its facts, their vectors; nothing for a document that is not a
//! note.

use notes::resolve::name_key;
use rusqlite::{Transaction, params};

use crate::store::StoreError;
use embed::unit_vector;
use model::document::{Document, Embedded, EmbeddedFact, UnitVector};

/// Replaces the entity of a document.
pub(super) fn write(tx: &Transaction<'_>, id: i64, doc: &Document) -> Result<(), StoreError> {
    remove(tx, id)?;
    let Some(stated) = &doc.note else { return Ok(()) };
    let Embedded { facts, in_memory, .. } = &doc.embedded;
    let node = &stated.node;
    // A note without a title is named after its file.
    let name = node.name.clone().unwrap_or_else(|| doc.title.clone());
    let n_vectors = facts.iter().filter(|it| !it.vector.0.is_empty()).count();
    tx.prepare_cached(
        "INSERT INTO memory_nodes VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
    )?
    .execute(params![
        id,
        name_key(&name),
        name,
        node.node_type,
        *in_memory || node.node_type.is_some(),
        in_memory,
        node.summary,
        serde_json::to_string(&node.tags).unwrap_or_default(),
        node.last_ordinal as i64,
        facts.len() as i64,
        n_vectors as i64
    ])?;
    if n_vectors > 0 {
        let all: Vec<u8> = facts.iter().flat_map(|it| bytes(&it.vector)).collect();
        tx.prepare_cached("INSERT INTO memory_vectors VALUES(?1, ?2, ?3)")?.execute(params![
            id,
            all,
            bytes(&mean(facts)).collect::<Vec<u8>>()
        ])?;
    }
    write_facts(tx, id, facts)
}

fn write_facts(tx: &Transaction<'_>, id: i64, facts: &[EmbeddedFact]) -> Result<(), StoreError> {
    for (seq, fact) in facts.iter().enumerate() {
        tx.prepare_cached("INSERT INTO memory_facts VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")?
            .execute(params![
                id,
                seq as i64,
                fact.ordinal.map(|it| it as i64),
                fact.content,
                fact.lines.0 as i64,
                fact.lines.1 as i64,
                fact.turn.speaker,
                fact.turn.day
            ])?;
    }
    Ok(())
}

/// Deletes all rows of a document.
pub(super) fn remove(tx: &Transaction<'_>, id: i64) -> Result<(), StoreError> {
    for table in ["memory_nodes", "memory_vectors", "memory_facts"] {
        tx.prepare_cached(&format!("DELETE FROM {table} WHERE doc_id = ?1"))?.execute([id])?;
    }
    Ok(())
}

fn bytes(vector: &UnitVector) -> impl Iterator<Item = u8> + '_ {
    vector.0.iter().map(|it| it.cast_unsigned())
}

/// The mean direction of the facts.
fn mean(facts: &[EmbeddedFact]) -> UnitVector {
    let width = facts.iter().map(|it| it.vector.0.len()).max().unwrap_or(0);
    let mut sum = vec![0.0_f32; width];
    for fact in facts {
        sum.iter_mut().zip(&fact.vector.0).for_each(|(total, it)| *total += f32::from(*it));
    }
    unit_vector(&sum)
}
