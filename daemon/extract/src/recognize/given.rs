//! Given: names that a user lists in a table (`recognize.given`) instead of having them recognized.
//!
//! In: where the table's names occur in the file, and what the recognizers found. Out: the mentions
//! of a document that the table covers: the given ones, and the steps of its lists, which are not
//! names.
//! Invariants: words and types come from the table. If a recognizer found exactly the same words,
//! the mention keeps the name read there (a link's target, a date's ISO form), because that is a
//! matter of linking. An entity that the table states is final: no short form, similarity or
//! context changes it. A note keeps its own name even if the table lists it.

#[cfg(test)]
mod tests;

use rustc_hash::FxHashMap;

use super::overlap;
use model::document::{GivenName, Mention, PlaceFeatures, RecognizerKind};
use model::terms::{Confidence, EntityType, Norm, Span};

/// Returns the given names as mentions, with the steps that were found, in order of place. Of
/// overlapping given names the longest stays.
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

/// Returns, for each place, the mention of the most trusted recognizer. The order of `found` does
/// not matter.
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
