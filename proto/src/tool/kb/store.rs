//! The tools that write entries.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use serde_with::skip_serializing_none;

use super::{EntryType, EntryView, brief, each};
use crate::shape::Freshness;
use crate::tool::batch::Item;
use crate::tool::memory::{ItemError, failed};
use crate::tool::{Effect, Tool, ToolSet};
use crate::view::{Sheet, View, fresh};

/// Parameters of `kb_store`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KbStore {
    /// A brief name. A new entry needs it.
    pub short_title: Option<String>,
    /// A title that sums up the entry; the short one when left out.
    pub long_title: Option<String>,
    /// The whole content, Markdown. `kb-00042` in it refers to that entry. A new entry needs it.
    pub knowledge_details: Option<String>,
    /// `factual_reference` (default), `decision`, `pattern_convention` or `lesson_learned`.
    pub entry_type: Option<EntryType>,
    /// The project that it belongs to; an empty one takes it away.
    pub project_ref: Option<String>,
    /// Where the knowledge came from.
    pub source_context: Option<String>,
    /// How sure it is, 0 to 1; 0.9 when left out. It decays with the half-life of its type.
    pub confidence_level: Option<f64>,
    /// Its tags, single words.
    pub tags: Option<Vec<String>>,
    /// For the graph: `supersedes` and `superseded_by` (ids), `related_entities` (node ids, or `{id, type}`), `person`,
    /// `tool` (a name or several). In a change hints that are left out stay, `null` takes one away.
    pub hints: Option<Map<String, Value>>,
    /// The entry to change instead of making a new one. Omitted fields stay unchanged.
    pub update_entry_id: Option<String>,
    /// The entry to deactivate; nothing else is done then. `kb_maintain` reactivates it.
    pub deactivate_entry_id: Option<String>,
    /// Why; kept with the version.
    pub change_reason: Option<String>,
}

/// Reply of `kb_store`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KbStored {
    /// `created`, `updated`, `unchanged` or `deactivated`.
    pub action: String,
    /// The entry as it is now.
    pub entry: EntryView,
    /// Its version, from 1.
    pub version: u64,
    /// Nodes that it is related to: `has_tag tag:python`.
    pub edges: Vec<String>,
    /// What a person might not expect.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

impl Tool for KbStore {
    const NAME: &'static str = "kb_store";
    const SUMMARY: &'static str = "Store a piece of knowledge (fact, decision, convention, lesson) as an entry with an \
        id, or change one; every version is kept.";
    const EFFECT: Effect = Effect::Writes;
    const SET: ToolSet = ToolSet::Kb;
    type Reply = KbStored;
}

impl View for KbStored {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        let entry = &self.entry;
        let (action, id, version) = (&self.action, &entry.id, self.version);
        sheet.line(&format!("{action} {id} (version {version}, {})", style.safe(&entry.path)));
        sheet.line(&brief(entry, style));
        each(&self.warnings, sheet);
        if !self.edges.is_empty() {
            sheet.line(&style.safe(&self.edges.join(", ")));
        }
    }
}

/// An entry to be made.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewKbEntry {
    /// A brief name.
    pub short_title: String,
    /// A title that sums up the entry; the short one when left out.
    pub long_title: Option<String>,
    /// The whole content, Markdown.
    pub knowledge_details: String,
    /// `factual_reference` (default), `decision`, `pattern_convention` or `lesson_learned`.
    pub entry_type: Option<EntryType>,
    /// The project that it belongs to.
    pub project_ref: Option<String>,
    /// Where the knowledge came from.
    pub source_context: Option<String>,
    /// How sure it is, 0 to 1; 0.9 when left out.
    pub confidence_level: Option<f64>,
    /// Its tags, single words.
    pub tags: Option<Vec<String>>,
    /// For the graph, as in `kb_store`.
    pub hints: Option<Map<String, Value>>,
}

/// Parameters of `kb_store_batch`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KbStoreBatch {
    /// The entries, at most 10.
    pub entries: Vec<Item<NewKbEntry>>,
}

/// Reply of `kb_store_batch`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KbBatchReply {
    /// Those that were made, in the order of the request.
    pub entries: Vec<EntryView>,
    /// Those that could not be made, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<ItemError>,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

impl Tool for KbStoreBatch {
    const NAME: &'static str = "kb_store_batch";
    const SUMMARY: &'static str =
        "Store up to 10 new entries in one call; an invalid one does not stop the others.";
    const EFFECT: Effect = Effect::Writes;
    const SET: ToolSet = ToolSet::Kb;
    type Reply = KbBatchReply;
}

impl View for KbBatchReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        failed(&self.failed, sheet);
        sheet.items(self.entries.iter().map(|it| format!("created {}", brief(it, style))));
    }
}
