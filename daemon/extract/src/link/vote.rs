//! Vote: the type of a name, from the types that its mentions have all over the folder.
//!
//! In: how often each type was given, and by whom. Out: one type.
//! Invariants: pure, whatever the order of the votes; a type that says little (`Concept`, `Document`) counts only when
//! there is no other; types from forms, cues and authors outweigh a statistical model, which takes unknown software for
//! a person.
//! Not here: the type of one mention (`recognize/`), the type that a note states for itself (the store).

use std::collections::BTreeMap;

use model::terms::EntityType;

/// Weight of a type from form, cue or author, relative to one that a model guessed.
const STATED: u32 = 3;

/// The types of all mentions of one name.
#[derive(Debug, Clone, Default)]
pub struct Votes(BTreeMap<EntityType, u32>);

impl Votes {
    /// Counts one mention. `is_guess`: a statistical model gave the type.
    pub fn add(&mut self, entity_type: EntityType, is_guess: bool) {
        *self.0.entry(entity_type).or_default() += if is_guess { 1 } else { STATED };
    }

    /// Returns the type with most weight; ties go to the one declared first; `Document` without a vote.
    pub fn winner(&self) -> EntityType {
        self.0
            .iter()
            .max_by_key(|(t, n)| (t.is_telling(), **n, std::cmp::Reverse(**t)))
            .map_or(EntityType::Document, |(t, _)| *t)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use EntityType::{Concept, Document, Organization, Person, Technology};

    #[test]
    fn stated_types_outweigh_guessed_ones() {
        type Row<'a> = (&'a [(EntityType, bool, u32)], EntityType);
        let rows: [Row<'_>; 6] = [
            (&[], Document),
            (&[(Concept, false, 9), (Person, true, 1)], Person),
            (&[(Person, true, 3), (Technology, false, 2)], Technology),
            (&[(Person, true, 7), (Technology, false, 2)], Person),
            (&[(Person, true, 2), (Organization, true, 3)], Organization),
            (&[(Organization, true, 2), (Person, true, 2)], Person),
        ];
        for (votes, winner) in rows {
            let mut all = Votes::default();
            for (entity_type, is_guess, n) in votes {
                (0..*n).for_each(|_| all.add(*entity_type, *is_guess));
            }
            assert_eq!(all.winner(), winner, "{votes:?}");
        }
    }
}
