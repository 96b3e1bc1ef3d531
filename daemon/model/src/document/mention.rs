//! Mentions: what recognizers find in a document.

use super::Party;
use crate::terms::{Confidence, EntityType, Norm, Span};

/// A surface at a place that names something.
#[derive(Debug, Clone, PartialEq)]
pub struct Mention {
    /// Place in the normalized text.
    pub span: Span<Norm>,
    /// Its name: the surface as written or, for a wikilink with other text, the target's name.
    pub name: String,
    /// The kind of thing, as far as this recognizer knows.
    pub entity_type: EntityType,
    /// The recognizer that found it.
    pub recognizer: RecognizerKind,
    /// The recognizer's own confidence.
    pub score: Confidence,
    /// Features of its place.
    pub place: PlaceFeatures,
}

/// The recognizers, most trusted first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RecognizerKind {
    /// Titles, aliases and links that authors wrote.
    Stated,
    /// A known name or mined term, matched exactly.
    Gazetteer,
    /// A pattern: CamelCase, versions, identifiers, dates, steps.
    Pattern,
    /// A statistical model.
    Statistical,
    /// A part of a name that the document gives in full before.
    Coreference,
    /// The user's table (`recognize.given`), where no recognizer found the same words.
    Given,
}

/// A name that the user's table states for the document (`recognize.given`).
#[derive(Debug, Clone, PartialEq)]
pub struct GivenName {
    /// Place in the normalized text.
    pub span: Span<Norm>,
    /// The kind of thing.
    pub entity_type: EntityType,
    /// The name of the entity it denotes; `None` leaves that to linking.
    pub entity: Option<String>,
}

/// Words that refer to an earlier name: `it`, `the service`. Not a mention: they count only in relations.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Anaphor {
    /// Place in the normalized text.
    pub span: Span<Norm>,
    /// What it refers to.
    pub antecedent: Party,
    /// Confidence in that.
    pub score: Confidence,
}

/// What a place says about the words of a mention by the way in which it writes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Naming {
    /// Nothing: a heading, a label, the start of a sentence.
    #[default]
    Open,
    /// They are a name.
    Name,
    /// They are a common noun.
    Common,
    /// Its author defines them as a term.
    Defined,
}

impl Naming {
    /// Decodes the number of a variant; an unknown one says nothing.
    pub fn from_code(code: i64) -> Naming {
        let all = [Naming::Open, Naming::Name, Naming::Common, Naming::Defined];
        usize::try_from(code).ok().and_then(|idx| all.get(idx).copied()).unwrap_or_default()
    }
}

/// Features of a mention's place (S4 §6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct PlaceFeatures {
    /// In a heading or the title.
    pub in_heading: bool,
    /// In bold text.
    pub in_bold: bool,
    /// In a code span or block.
    pub in_code: bool,
    /// The visible text of a link.
    pub in_link: bool,
    /// Its type is the guess of a statistical model.
    pub is_type_guessed: bool,
    /// Its entity is stated by the user's table, which is final.
    pub is_entity_given: bool,
    /// The words after it define it: `is a fruit`, `is a company`.
    pub is_defined: bool,
    /// What the place says about its words.
    pub naming: Naming,
    /// How likely its type is by the classifier of names, in parts of [`PlaceFeatures::CERTAIN`]; 0 if not judged.
    pub certainty: u8,
}

impl PlaceFeatures {
    /// The greatest [`PlaceFeatures::certainty`].
    pub const CERTAIN: u8 = 7;

    /// Returns them as bits, for an index.
    pub fn bits(self) -> i64 {
        i64::from(self.in_heading)
            | i64::from(self.in_bold) << 1
            | i64::from(self.in_code) << 2
            | i64::from(self.in_link) << 3
            | i64::from(self.is_type_guessed) << 4
            | i64::from(self.is_entity_given) << 5
            | i64::from(self.is_defined) << 6
            | i64::from(self.certainty) << 7
            | (self.naming as i64) << 10
    }

    /// Returns the features that [`PlaceFeatures::bits`] encoded.
    pub fn from_bits(bits: i64) -> PlaceFeatures {
        let has = |bit: u32| bits >> bit & 1 != 0;
        PlaceFeatures {
            in_heading: has(0),
            in_bold: has(1),
            in_code: has(2),
            in_link: has(3),
            is_type_guessed: has(4),
            is_entity_given: has(5),
            is_defined: has(6),
            certainty: (bits >> 7) as u8 & Self::CERTAIN,
            naming: Naming::from_code(bits >> 10 & 3),
        }
    }
}
