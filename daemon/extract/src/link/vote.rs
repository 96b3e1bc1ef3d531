//! Vote: the type of a name, from the types that its mentions have all over the folder.
//!
//! In: the type of each mention, what speaks for it, and how it is written. Out: one type, and whether it is sure
//! enough to be shown.
//! Invariants: pure, whatever the order of the votes; types from forms, cues and authors outweigh a statistical model,
//! which takes unknown software for a person; what the classifier of names judged weighs as much as it was sure,
//! `Concept` and `Document` like other types; a definition outweighs many of these; else a name that is mostly written
//! like a common noun is a `Concept`, whatever a few of its mentions were taken for.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use model::document::{Naming, PlaceFeatures};
use model::terms::EntityType;

/// Weight of a mention by what gave it its type: a model; form, cue or author; a sentence that defines it.
const GUESSED: u32 = 2;
const STATED: u32 = 6;
const DEFINED: u32 = 60;

/// Weight of a mention without a type that is written like a common noun, `scrape` or `NHCBs`, against all types; and
/// of another, against types that a model guessed alone.
const COMMON: u32 = 6;
const OPEN: u32 = 1;

/// A type needs one part in so many of all weight; below, the name is a general term.
const LEAST_SHARE: u32 = 3;

/// A name needs one place that writes it so for so many that write it as a common noun.
const LEAST_NAMES: u32 = 2;

/// A type is shown that is so likely.
const SHOWN: f32 = 0.75;

/// The types of all mentions of one name.
#[derive(Debug, Clone, Default)]
pub struct Votes {
    /// By type: weight, and the same by how likely the type is.
    likely: BTreeMap<EntityType, (f32, f32)>,
    specific: BTreeMap<EntityType, Weight>,
    /// Mentions by the types that say little.
    other: BTreeMap<EntityType, u32>,
    common: u32,
    open: u32,
    /// Places that write it as a name, and as a common noun.
    n_names: u32,
    n_common: u32,
    is_defined: bool,
}

/// What speaks for the type of a mention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ground {
    /// A statistical model.
    Guess,
    /// Its form, the words beside it, or its author.
    Statement,
    /// A sentence that defines it.
    Definition,
    /// The classifier of names, as sure as that.
    Judgement(u8),
}

impl Ground {
    fn weight(self) -> u32 {
        match self {
            Ground::Guess => GUESSED,
            Ground::Judgement(certainty) => u32::from(certainty),
            Ground::Statement => STATED,
            Ground::Definition => DEFINED,
        }
    }

    /// How likely a type is right: of a judgement as it was calibrated, else as on the training sets and the tuning
    /// half of `corpus/real`.
    fn likelihood(self, entity_type: EntityType) -> f32 {
        match (self, entity_type) {
            (Ground::Judgement(certainty), _) => {
                (f32::from(certainty) + 0.5) / f32::from(PlaceFeatures::CERTAIN + 1)
            }
            (Ground::Statement, EntityType::Standard) => 0.4,
            (Ground::Statement, EntityType::Document) | (Ground::Guess, _) => 0.55,
            // A `Service` may be a program or an office.
            (Ground::Statement, EntityType::Service) => 0.6,
            (Ground::Definition, _) => 0.75,
            (Ground::Statement, _) => 0.93,
        }
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Weight {
    sum: u32,
    is_stated: bool,
}

impl Votes {
    /// Counts how one place writes it.
    pub fn name(&mut self, naming: Naming) {
        self.n_names += u32::from(naming == Naming::Name);
        self.n_common += u32::from(naming == Naming::Common);
        self.is_defined |= naming == Naming::Defined;
    }

    /// Returns whether it is a name, or a term that an author defines, rather than words of general meaning.
    pub fn names_a_thing(&self) -> bool {
        self.is_defined || self.n_names > 0 && self.n_names * LEAST_NAMES >= self.n_common
    }

    /// Counts one mention.
    pub fn add(&mut self, entity_type: EntityType, ground: Ground, surface: &str) {
        let weight = ground.weight();
        let likely = self.likely.entry(entity_type).or_default();
        likely.0 += weight as f32;
        likely.1 += weight as f32 * ground.likelihood(entity_type);
        if entity_type.is_specific() || matches!(ground, Ground::Judgement(_)) {
            let of_type = self.specific.entry(entity_type).or_default();
            of_type.sum += weight;
            of_type.is_stated |= ground != Ground::Guess;
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
    /// ties go to the one declared first; `Document` without a vote. True where it may be shown: that it is a concept
    /// says only that nothing else is known.
    pub fn winner(&self) -> (EntityType, bool) {
        let winner = self.likeliest();
        // What says little does not speak against a type that says more.
        let counts = |it: &EntityType| it.is_specific() || !winner.is_specific();
        let all: f32 = self.likely.iter().filter(|(it, _)| counts(it)).map(|(_, it)| it.0).sum();
        let likely = self.likely.get(&winner).map_or(0.0, |it| it.1);
        (winner, winner != EntityType::Concept && likely >= SHOWN * all)
    }

    fn likeliest(&self) -> EntityType {
        let all = self.specific.values().map(|it| it.sum).sum::<u32>() + self.common;
        let is_enough = |weight: &Weight| {
            let open = if weight.is_stated { 0 } else { self.open };
            weight.sum * LEAST_SHARE >= all + open
        };
        let enough = self.specific.iter().filter(|(_, weight)| is_enough(weight));
        let best = enough.max_by_key(|(t, weight)| (weight.sum, Reverse(**t))).map(|(t, _)| *t);
        let open = || self.other.iter().max_by_key(|(t, n)| (**n, Reverse(**t))).map(|(t, _)| *t);
        let any =
            || self.specific.iter().max_by_key(|(t, it)| (it.sum, Reverse(**t))).map(|(t, _)| *t);
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
    use EntityType::{Concept, Document, Location, Organization, Person, Product, Technology};

    #[test]
    fn a_type_needs_its_share_of_the_votes_and_stated_ones_outweigh_guessed_ones() {
        use Ground::{Definition, Guess, Judgement, Statement};
        type Row<'a> = (&'a [(&'a str, EntityType, Ground, u32)], EntityType);
        let rows: [Row<'_>; 15] = [
            (&[], Document),
            (&[("Priya", Concept, Statement, 3), ("Priya", Person, Guess, 1)], Person),
            (&[("Priya", Concept, Statement, 90), ("Priya", Person, Statement, 1)], Person),
            (&[("TSDB", Concept, Statement, 53), ("TSDB", Location, Guess, 7)], Concept),
            (&[("gauge", Concept, Statement, 9), ("Gauge", Organization, Guess, 6)], Concept),
            (&[("NHCBs", Concept, Statement, 15), ("NHCB", Organization, Guess, 20)], Concept),
            (&[("git", Concept, Statement, 2), ("git", Technology, Statement, 2)], Technology),
            (&[("Ada", Person, Guess, 3), ("Ada", Technology, Statement, 2)], Technology),
            (&[("Ada", Person, Guess, 7), ("Ada", Technology, Statement, 2)], Person),
            (&[("Ada", Person, Guess, 2), ("Ada", Organization, Guess, 3)], Organization),
            (&[("Ada", Organization, Guess, 2), ("Ada", Person, Guess, 2)], Person),
            (&[("DNA", Concept, Judgement(6), 9), ("DNA", Technology, Statement, 4)], Concept),
            (
                &[("BLAST", Concept, Judgement(2), 9), ("BLAST", Technology, Judgement(7), 5)],
                Technology,
            ),
            (&[("Zephyr", Concept, Judgement(5), 9), ("Zephyr", Product, Definition, 1)], Product),
            (&[("Setup", Document, Statement, 5), ("Setup", Concept, Judgement(6), 1)], Concept),
        ];
        for (votes, winner) in rows {
            let mut all = Votes::default();
            for (surface, entity_type, ground, n) in votes {
                (0..*n).for_each(|_| all.add(*entity_type, *ground, surface));
            }
            assert_eq!(all.winner().0, winner, "{votes:?}");
        }
    }

    #[test]
    fn a_type_is_shown_where_it_is_likely_enough() {
        use Ground::{Definition, Guess, Judgement, Statement};
        type Row<'a> = (&'a [(EntityType, Ground, u32)], bool);
        let rows: [Row<'_>; 9] = [
            (&[], true),
            (&[(Technology, Statement, 1)], true),
            (&[(Product, Definition, 1)], true),
            (&[(Document, Statement, 9)], false),
            (&[(Person, Guess, 9)], false),
            (&[(Person, Judgement(6), 1)], true),
            (&[(Person, Judgement(3), 9)], false),
            (&[(Person, Judgement(6), 2), (Organization, Judgement(6), 1)], false),
            (&[(Person, Judgement(6), 2), (Document, Statement, 9)], true),
        ];
        for (votes, is_shown) in rows {
            let mut all = Votes::default();
            for (entity_type, ground, n) in votes {
                (0..*n).for_each(|_| all.add(*entity_type, *ground, "Zephyr"));
            }
            assert_eq!(all.winner().1, is_shown, "{votes:?}");
        }
    }
}
