//! Memory: the facts of a note, packed for its row.

use embed::unit_vector;
use model::document::{EmbeddedFact, UnitVector};

/// Packs facts; the view `memory_facts` names the values.
pub(super) fn pack(facts: &[EmbeddedFact]) -> String {
    let rows = facts.iter().map(|it| {
        let (ordinal, turn) = (it.ordinal.map(|it| it as i64), &it.turn);
        (ordinal, &it.content, it.lines.0, it.lines.1, &turn.speaker, &turn.day)
    });
    // Packing into memory fails for no value of these types.
    serde_json::to_string(&rows.collect::<Vec<_>>()).unwrap_or_default()
}

/// Returns the vectors of the facts, concatenated.
pub(super) fn vectors(facts: &[EmbeddedFact]) -> Vec<u8> {
    facts.iter().flat_map(|it| bytes(&it.vector)).collect()
}

/// Returns the mean direction of the facts.
pub(super) fn mean(facts: &[EmbeddedFact]) -> Vec<u8> {
    let width = facts.iter().map(|it| it.vector.0.len()).max().unwrap_or(0);
    let mut sum = vec![0.0_f32; width];
    for fact in facts {
        sum.iter_mut().zip(&fact.vector.0).for_each(|(total, it)| *total += f32::from(*it));
    }
    bytes(&unit_vector(&sum)).collect()
}

fn bytes(vector: &UnitVector) -> impl Iterator<Item = u8> + '_ {
    vector.0.iter().map(|it| it.cast_unsigned())
}
