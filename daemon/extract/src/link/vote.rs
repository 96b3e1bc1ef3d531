//! Vote: the type of a name, from the types that its mentions have all over the folder.
//!
//! In: the type of each mention, who gave it, and how it is written. Out: one type.
//! Invariants: pure, whatever the order of the votes; types from forms, cues and authors outweigh a statistical model,
//! which takes unknown software for a person; a name that is mostly written like a common noun is a `Concept`, whatever
//! a few of its mentions were taken for.
//! Not here: the type of one mention (`recognize/`), the type that a note states for itself (the store).

use std::cmp::Reverse;
use std::collections::BTreeMap;

use model::terms::EntityType;

/// Weight of a mention by what gave it its type: a model, or form, cue or author.
const GUESSED: u32 = 2;
const STATED: u32 = 6;

/// Weight of a mention without a type that is written like a common noun, `scrape` or `NHCBs`, against all types; and
/// of another, against types that a model guessed alone.
const COMMON: u32 = 6;
const OPEN: u32 = 1;

/// A type needs one part in so many of all weight; below, the name is a general term.
const LEAST_SHARE: u32 = 3;

/// The types of all mentions of one name.
#[derive(Debug, Clone, Default)]
pub struct Votes {
    telling: BTreeMap<EntityType, Weight>,
    /// Mentions by the types that say little.
    other: BTreeMap<EntityType, u32>,
    common: u32,
    open: u32,
}

#[derive(Debug, Clone, Copy, Default)]
struct Weight {
    sum: u32,
    is_stated: bool,
}

impl Votes {
    /// Counts one mention. `is_guess`: a statistical model gave the type.
    pub fn add(&mut self, entity_type: EntityType, is_guess: bool, surface: &str) {
        if entity_type.is_telling() {
            let weight = self.telling.entry(entity_type).or_default();
            weight.sum += if is_guess { GUESSED } else { STATED };
            weight.is_stated |= !is_guess;
            return;
        }
        *self.other.entry(entity_type).or_default() += 1;
        if is_common(surface) {
            self.common += COMMON;
        } else {
            self.open += OPEN;
        }
    }

    /// Returns the type with most weight, if that is enough, or else the one that says little and is most frequent;
    /// ties go to the one declared first; `Document` without a vote.
    pub fn winner(&self) -> EntityType {
        let all = self.telling.values().map(|it| it.sum).sum::<u32>() + self.common;
        let is_enough = |weight: &Weight| {
            let against = if weight.is_stated { all } else { all + self.open };
            weight.sum * LEAST_SHARE >= against
        };
        let enough = self.telling.iter().filter(|(_, weight)| is_enough(weight));
        let best = enough.max_by_key(|(t, weight)| (weight.sum, Reverse(**t))).map(|(t, _)| *t);
        let open = || self.other.iter().max_by_key(|(t, n)| (**n, Reverse(**t))).map(|(t, _)| *t);
        let any =
            || self.telling.iter().max_by_key(|(t, it)| (it.sum, Reverse(**t))).map(|(t, _)| *t);
        best.or_else(open).or_else(any).unwrap_or(EntityType::Document)
    }
}

/// True for a word in small letters, and for the plural of an acronym.
fn is_common(surface: &str) -> bool {
    let is_plural = || {
        let stem = surface.strip_suffix('s').unwrap_or("");
        stem.len() > 1 && stem.bytes().all(|b| b.is_ascii_uppercase())
    };
    surface.starts_with(char::is_lowercase) && !surface.contains(char::is_uppercase) || is_plural()
}

#[cfg(test)]
mod tests {
    use super::*;
    use EntityType::{Concept, Document, Location, Organization, Person, Technology};

    #[test]
    fn a_type_needs_its_share_of_the_votes_and_stated_ones_outweigh_guessed_ones() {
        type Row<'a> = (&'a [(&'a str, EntityType, bool, u32)], EntityType);
        let rows: [Row<'_>; 11] = [
            (&[], Document),
            (&[("Priya", Concept, false, 3), ("Priya", Person, true, 1)], Person),
            (&[("Priya", Concept, false, 90), ("Priya", Person, false, 1)], Person),
            (&[("TSDB", Concept, false, 53), ("TSDB", Location, true, 7)], Concept),
            (&[("gauge", Concept, false, 9), ("Gauge", Organization, true, 6)], Concept),
            (&[("NHCBs", Concept, false, 15), ("NHCB", Organization, true, 20)], Concept),
            (&[("git", Concept, false, 2), ("git", Technology, false, 2)], Technology),
            (&[("Ada", Person, true, 3), ("Ada", Technology, false, 2)], Technology),
            (&[("Ada", Person, true, 7), ("Ada", Technology, false, 2)], Person),
            (&[("Ada", Person, true, 2), ("Ada", Organization, true, 3)], Organization),
            (&[("Ada", Organization, true, 2), ("Ada", Person, true, 2)], Person),
        ];
        for (votes, winner) in rows {
            let mut all = Votes::default();
            for (surface, entity_type, is_guess, n) in votes {
                (0..*n).for_each(|_| all.add(*entity_type, *is_guess, surface));
            }
            assert_eq!(all.winner(), winner, "{votes:?}");
        }
    }
}
