//! Kinds: the few classes of things that separate two bearers of one name.

use super::EntityType;

/// The kind of thing that a name is in a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A person.
    Person,
    /// A company, team, institution.
    Organization,
    /// A place.
    Location,
    /// A product, service, technology, interface or project.
    Thing,
    /// Something of nature, food, myth or art, according to a definition: a fruit, a planet, a titan.
    Nature,
    /// No name at all: written in lowercase, as an ordinary word.
    Common,
}

impl Kind {
    /// Returns true for the kinds that ordinary words denote.
    pub fn is_word(&self) -> bool {
        matches!(self, Kind::Nature | Kind::Common)
    }

    /// Returns the kind of a type; `None` for types that say little.
    pub fn of(entity_type: EntityType) -> Option<Kind> {
        match entity_type {
            EntityType::Person => Some(Kind::Person),
            EntityType::Organization => Some(Kind::Organization),
            EntityType::Location => Some(Kind::Location),
            EntityType::Product
            | EntityType::Service
            | EntityType::Technology
            | EntityType::Api
            | EntityType::Project => Some(Kind::Thing),
            _ => None,
        }
    }
}
