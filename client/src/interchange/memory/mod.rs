//! Memory: the graph of the MCP server `server-memory`, and its notes.
//!
//! Facts (`modelcontextprotocol/servers`, `src/memory/index.ts`): the file has one JSON object a line, all entities
//! first: `{"type":"entity","name","entityType","observations":[string]}`, then
//! `{"type":"relation","from","to","relationType"}`. Names are unique, relations are too, observations of one entity
//! are. Older versions and forks write one object `{"entities":[],"relations":[]}`. Versions before 2025 do not check
//! that both ends of a relation are there.

mod import;
pub mod note;
mod read;

pub use import::{FOLDER, Options, import};
pub use read::{Read, read};

use serde::{Deserialize, Serialize};

/// An entity with facts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entity {
    /// Its name; unique.
    pub name: String,
    /// What kind of thing it is.
    #[serde(default)]
    pub entity_type: String,
    /// Facts, in order.
    #[serde(default)]
    pub observations: Vec<String>,
}

/// How two things are related.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Relation {
    /// The name of the one.
    pub from: String,
    /// The name of the other.
    pub to: String,
    /// In active voice, usually.
    pub relation_type: String,
}

/// A line of the file.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Line<'a> {
    /// A thing.
    Entity(&'a Entity),
    /// A relation.
    Relation(&'a Relation),
}
