//! Memory: the row of a note as an entity with facts.
//!
//! In: a document whose row exists. Out: a row; none for a document that is not a note.

use notes::resolve::name_key;
use rusqlite::{Transaction, params};

use crate::store::StoreError;
use embed::unit_vector;
use model::document::{Document, Embedded, EmbeddedFact, UnitVector};

/// Replaces the entity of a document.
pub(super) fn write(tx: &Transaction<'_>, id: i64, doc: &Document) -> Result<(), StoreError> {
    let Some(stated) = &doc.note else { return remove(tx, id) };
    let Embedded { facts, in_memory, .. } = &doc.embedded;
    let node = &stated.node;
    // A note without a title is named after its file.
    let name = node.name.clone().unwrap_or_else(|| doc.title.clone());
    let n_vectors = facts.iter().filter(|it| !it.vector.0.is_empty()).count();
    let all = || facts.iter().flat_map(|it| bytes(&it.vector)).collect::<Vec<u8>>();
    let mean = || bytes(&mean(facts)).collect::<Vec<u8>>();
    tx.prepare_cached(
        "INSERT OR REPLACE INTO memory
         VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
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
        n_vectors as i64,
        (n_vectors > 0).then(mean),
        packed(facts),
        (n_vectors > 0).then(all)
    ])?;
    Ok(())
}

/// Packs facts; the view `memory_facts` names the values.
fn packed(facts: &[EmbeddedFact]) -> String {
    let rows = facts.iter().map(|it| {
        let (ordinal, turn) = (it.ordinal.map(|it| it as i64), &it.turn);
        (ordinal, &it.content, it.lines.0, it.lines.1, &turn.speaker, &turn.day)
    });
    // Packing into memory fails for no value of these types.
    serde_json::to_string(&rows.collect::<Vec<_>>()).unwrap_or_default()
}

/// Deletes the entity of a document.
pub(super) fn remove(tx: &Transaction<'_>, id: i64) -> Result<(), StoreError> {
    tx.prepare_cached("DELETE FROM memory WHERE doc_id = ?1")?.execute([id])?;
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
