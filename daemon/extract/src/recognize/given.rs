//! Given: names that a user states in a table (`recognize.given`) instead of having them recognized.
//!
//! In: the places of the table's names in the file, and what the recognizers found. Out: the mentions of a document
//! that the table names: the given ones, and the steps of its lists, which are not names.
//! Invariants: words and types are the table's; where a recognizer found the very same words, the mention keeps the
//! name that was read there (a link's target, a date's ISO form), since that is a matter of linking; an entity that the
//! table states is final: no short form, similarity or context changes it. A note's own name stays the note's, also
//! when the table has it.
//! Not here: the table and its places in a file (`given.rs` of the crate `formats`).

#[cfg(test)]
mod tests;

use rustc_hash::FxHashMap;

use super::overlap;
use model::parcel::{GivenName, Mention, PlaceFeatures, RecognizerKind};
use model::terms::{Confidence, EntityType, Norm, Span};

/// Returns the given names as mentions, with the steps that were found, in order of place. Of given names that overlap,
/// the longest stays.
pub(super) fn replace(text: &str, given: &[GivenName], found: Vec<Mention>) -> Vec<Mention> {
    let is_step = |mention: &Mention| mention.entity_type == EntityType::Step;
    let (mut mentions, others): (Vec<Mention>, Vec<Mention>) = found.into_iter().partition(is_step);
    mentions.extend(given.iter().map(|name| mention_of(text, name)));
    let mut mentions = overlap::resolve(text, mentions);
    let read = most_trusted(others);
    for mention in mentions.iter_mut().filter(|it| it.recognizer == RecognizerKind::Given) {
        let Some(read) = read.get(&mention.span) else { continue };
        mention.recognizer = read.recognizer;
        if !mention.place.is_entity_given {
            mention.name.clone_from(&read.name);
        }
    }
    mentions
}

fn mention_of(text: &str, given: &GivenName) -> Mention {
    Mention {
        span: given.span,
        name: given.entity.as_deref().unwrap_or(given.span.of(text)).to_string(),
        entity_type: given.entity_type,
        recognizer: RecognizerKind::Given,
        score: Confidence::STATED,
        place: PlaceFeatures { is_entity_given: given.entity.is_some(), ..Default::default() },
    }
}

/// Returns for each place the mention of the most trusted recognizer, in whatever order they were found.
fn most_trusted(found: Vec<Mention>) -> FxHashMap<Span<Norm>, Mention> {
    let mut best: FxHashMap<Span<Norm>, Mention> = FxHashMap::default();
    for mention in found {
        let is_better = best.get(&mention.span).is_none_or(|known| {
            (mention.recognizer, &mention.name) < (known.recognizer, &known.name)
        });
        if is_better {
            best.insert(mention.span, mention);
        }
    }
    best
}
