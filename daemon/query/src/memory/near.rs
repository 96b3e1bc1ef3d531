//! Near: the note whose name is most similar to a given name.
//!
//! In: a name that no note has. Out: the note with the most similar name, and whether the given
//! name is a typo.
//! Invariants: names that differ in a number are never confused; if several are equally similar,
//! none is a typo.

use notes::resolve::name_key;

use crate::AskError;
use index::read::Node;
use index::store::Snapshot;

/// Shortest name that may be a typo, characters: in a shorter one a single letter makes another
/// name.
const MIN_SLIP_CHARS: usize = 6;

/// Least similarity of names that is worth reporting, 0 to 1.
const MIN_LIKENESS: f64 = 0.8;

/// A note with a similar name.
#[derive(Debug, Clone)]
pub struct Near {
    /// The note.
    pub node: Node,
    /// Whether one letter is wrong, missing or extra, or two are swapped.
    pub is_slip: bool,
}

/// Returns the note whose name or alias is most similar to a name that no note has.
///
/// # Errors
/// When the index cannot be read.
pub fn near(snapshot: &Snapshot, name: &str) -> Result<Option<Near>, AskError> {
    let key = name_key(name);
    let mut best: Option<(f64, i64, bool)> = None;
    let mut is_alone = true;
    snapshot.memory().each_name(|(doc, other)| {
        let other = &*name_key(&other);
        if digits(other).ne(digits(&key)) {
            return;
        }
        let likeness = strsim::normalized_damerau_levenshtein(&key, other);
        match best {
            Some((so_far, of, _)) if likeness == so_far => is_alone &= of == doc,
            Some((so_far, ..)) if likeness < so_far => {}
            _ => {
                let is_long = key.chars().count().min(other.chars().count()) >= MIN_SLIP_CHARS;
                let is_slip = is_long && strsim::damerau_levenshtein(&key, other) == 1;
                (best, is_alone) = (Some((likeness, doc, is_slip)), true);
            }
        }
    })?;
    let Some((_, doc, is_slip)) = best.filter(|it| it.0 >= MIN_LIKENESS) else { return Ok(None) };
    let node = snapshot.memory().get(doc)?;
    Ok(node.map(|node| Near { node, is_slip: is_slip && is_alone }))
}

fn digits(text: &str) -> impl Iterator<Item = char> + '_ {
    text.chars().filter(|c| c.is_numeric())
}
