//! Nouns shared by several replies.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Public id of an entity, document or chunk; below 2^53. An entity's id is the same in every index of the same folder;
/// the others are valid until the index is rebuilt.
pub type Id = i64;

/// How fresh an answer is. Every reply carries it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Freshness {
    /// The project that answered.
    pub project: String,
    /// The commit this answer saw.
    pub tick: u64,
    /// Set while the index is still being built: `indexed 3,120 of 9,800`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub building: Option<String>,
}

/// An entity in brief.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EntityView {
    /// Its id.
    pub id: Id,
    /// Its canonical name.
    pub name: String,
    /// What kind of thing it is.
    #[serde(rename = "type")]
    pub entity_type: String,
    /// Its other names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// How well it fits the question, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f32>,
}

/// A place in a document that a person can open.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SourceView {
    /// Path relative to the project.
    pub path: String,
    /// First line, from 1.
    pub line: u32,
    /// The words that stand there.
    pub text: String,
}

/// A relation between two entities of the answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EdgeView {
    /// Subject's id.
    pub src: Id,
    /// Object's id.
    pub dst: Id,
    /// The relation.
    pub rel: String,
}

/// Further sources of a text that is indexed once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AlsoIn {
    /// Some of them.
    pub places: Vec<PlaceView>,
    /// How many documents there are, beside the hit's own.
    pub n: u64,
}

/// A line of a document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlaceView {
    /// Path relative to the project.
    pub path: String,
    /// From 1.
    pub line: u32,
}

/// One statement of a relation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EvidenceView {
    /// Where it is stated.
    #[serde(flatten)]
    pub source: SourceView,
    /// Byte span in the file.
    pub span: [u64; 2],
    /// Which pattern found it.
    pub pattern: String,
    /// Pattern weight × proximity × link, 0 to 1.
    pub confidence: f32,
}

/// A relation with its evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RelationView {
    /// Who.
    pub subject: String,
    /// What.
    pub predicate: String,
    /// Whom.
    pub object: String,
    /// Highest confidence of its evidence, raised by each independent source.
    pub confidence: f32,
    /// Hops from the entity asked about, from 1.
    pub hop: u32,
    /// Best evidence first.
    pub evidence: Vec<EvidenceView>,
}
