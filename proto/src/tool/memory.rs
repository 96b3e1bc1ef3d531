//! Memory: entities with observations and relations (S1), each a note that people read and change, too.
//!
//! Names, order and parameters of the tools are those of S1. The names that the reference
//! server-memory uses (`entityType`, `entityName`, `from`, …) are accepted, too.
//! Fields that S1 lists are in every reply, also as `null` or `[]`; further fields are left out where they are empty.

mod consolidate;
mod graph;
mod relate;
mod search;
mod write;

pub use self::consolidate::*;
pub use self::graph::*;
pub use self::relate::*;
pub use self::search::*;
pub use self::write::*;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::Code;
use crate::shape::aside;
use crate::view::{Sheet, Style, around, stored, tags};

/// An observation under its number.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FactView {
    /// Its number in its entity, which never changes and is never given again.
    pub ordinal: u64,
    /// What it says.
    pub content: String,
}

/// An entity in brief.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryNode {
    /// Its name.
    pub name: String,
    /// Its type; `note` if none is stated.
    #[serde(default, alias = "entityType")]
    pub entity_type: String,
    /// Its summary.
    #[serde(default)]
    #[schemars(extend("nullable" = true))]
    pub summary: Option<String>,
    /// Its tags.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Path of its note; empty for a thing that documents mention and that has none.
    pub path: String,
    /// When that was last modified, RFC 3339.
    pub updated_at: String,
}

/// An entity whole.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryEntity {
    /// Its name.
    pub name: String,
    /// Its type; `note` if none is stated.
    pub entity_type: String,
    /// Its summary.
    #[serde(default)]
    #[schemars(extend("nullable" = true))]
    pub summary: Option<String>,
    /// Its tags.
    pub tags: Vec<String>,
    /// Its observations, by ordinal.
    pub observations: Vec<FactView>,
    /// Path of its note.
    pub path: String,
    /// When it was first seen, RFC 3339.
    pub created_at: String,
    /// When its note was last modified, RFC 3339.
    pub updated_at: String,
}

/// A relation.
#[derive(
    Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct MemoryRelation {
    /// The name of the entity that states it.
    pub from: String,
    /// The name of the other one.
    pub to: String,
    /// Its type.
    pub relation_type: String,
}

/// A part of a batch that was not done; everything else was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ItemError {
    /// Which entity.
    pub name: String,
    /// The error code.
    pub code: Code,
    /// What failed.
    pub message: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

pub(crate) fn failed(failed: &[ItemError], sheet: &mut Sheet) {
    let style = sheet.style();
    sheet.items(failed.iter().map(|it| {
        let hint = around(" (hint: ", &style.after("", it.hint.as_ref()), ")");
        format!("failed {}: {}{hint}", stored(&it.name), style.safe(&it.message))
    }));
}

pub(crate) fn names(what: &str, names: &[String], sheet: &mut Sheet) {
    if !names.is_empty() {
        sheet.line(&format!("{what}: {}", sheet.style().names(names)));
    }
}

pub(crate) fn fact(it: &FactView) -> String {
    format!("  ^o{} {}", it.ordinal, stored(&it.content))
}

pub(crate) fn relation(it: &MemoryRelation, style: Style) -> String {
    let [from, kind, to] = [&it.from, &it.relation_type, &it.to].map(|it| style.safe(it));
    format!("  {from} → {kind} → {to}")
}

pub(crate) fn node(it: &MemoryNode, style: Style) -> String {
    let about = aside(&[&style.safe(&it.entity_type), &style.safe(&it.path)]);
    let summary = style.after("\n   ", it.summary.as_ref());
    format!("{}{about}{}{summary}", stored(&it.name), tags(&it.tags, style))
}

pub(crate) fn next(page: Option<u32>, sheet: &mut Sheet) {
    if let Some(page) = page {
        sheet.line(&format!("(more on page {page})"));
    }
}

pub(crate) fn nothing(is_empty: bool, sheet: &mut Sheet) {
    if is_empty {
        sheet.line("none");
    }
}
