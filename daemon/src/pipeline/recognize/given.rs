//! Given: names that a user states in a table (`recognize.given`) instead of having them recognized.
//!
//! In: what the normalizer found of the table in the file, and what the recognizers found. Out: the mentions of a document
//! that the table names: the given ones, and the steps of its lists, which are no names.
//! Invariants: words and types are the table's; where a recognizer found the very same words, the mention goes by the
//! name that it read there (a link's target, a date's ISO form), since that is a matter of linking; an entity that the
//! table states is the name, and stays so: no short form, likeness or context makes it another one's.
//! Not here: the table (`given/table.rs`), its places in a file (`given/place.rs`).

mod place;
mod table;

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

pub(crate) use place::Ground;
pub use table::{GivenError, GivenNames};

use crate::pipeline::parcel::{GivenName, Mention, PlaceFeatures, RecognizerKind};
use crate::terms::{Confidence, EntityType, Norm, Span};

/// The given names as mentions, with the steps that were found; in any order.
pub(super) fn replace(text: &str, given: &[GivenName], found: Vec<Mention>) -> Vec<Mention> {
    let mut known: FxHashMap<Span<Norm>, Mention> = FxHashMap::default();
    let mut out = Vec::with_capacity(given.len());
    for mention in found {
        if mention.entity_type == EntityType::Step {
            out.push(mention);
            continue;
        }
        match known.entry(mention.span) {
            Entry::Vacant(free) => {
                free.insert(mention);
            }
            Entry::Occupied(mut known) => {
                let key = |it: &Mention| (it.recognizer, it.name.clone());
                if key(&mention) < key(known.get()) {
                    known.insert(mention);
                }
            }
        }
    }
    out.extend(given.iter().map(|name| mention_of(text, name, known.get(&name.span))));
    out
}

fn mention_of(text: &str, given: &GivenName, known: Option<&Mention>) -> Mention {
    let read = known.map_or_else(|| given.span.of(text), |known| known.name.as_str());
    Mention {
        span: given.span,
        name: given.entity.as_deref().unwrap_or(read).to_string(),
        entity_type: given.entity_type,
        recognizer: known.map_or(RecognizerKind::Given, |known| known.recognizer),
        score: Confidence::STATED,
        place: PlaceFeatures {
            is_entity_given: given.entity.is_some(),
            ..PlaceFeatures::default()
        },
    }
}
