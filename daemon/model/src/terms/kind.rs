//! Kinds: the few classes of things that separate two bearers of one name.

use super::EntityType;

/// What kind of thing a document says a name is.
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
    /// Something of nature, food, myth or art, as its definition says: a fruit, a planet, a titan.
    Nature,
    /// No name at all: written small, as an ordinary word.
    Common,
}

impl Kind {
    /// True for what ordinary words denote.
    pub fn is_word(&self) -> bool {
        matches!(self, Kind::Nature | Kind::Common)
    }

    /// The kind of a type; `None` for types that say little.
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
