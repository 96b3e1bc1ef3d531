//! The memory tools that change notes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{FactView, ItemError, MemoryRelation, fact, failed, names, relation};
use crate::shape::Freshness;
use crate::tool::batch::Item;
use crate::tool::{Effect, Tool, ToolSet};
use crate::view::{Sheet, View, around, count, fresh, joined, stored, tags};

/// An entity to be made.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewMemoryEntity {
    /// Its name, unique in the project; case is ignored.
    pub name: String,
    /// What kind of thing it is, such as `person`.
    #[serde(alias = "entityType")]
    pub entity_type: String,
    /// What is known about it, one statement each, in order.
    pub observations: Option<Vec<String>>,
    /// A sentence or two about it.
    pub summary: Option<String>,
    /// Its tags, without `#`.
    pub tags: Option<Vec<String>>,
}

/// Parameters of `create_entities`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateEntities {
    /// The entities, at most 1000. An existing one stays as it is.
    pub entities: Vec<Item<NewMemoryEntity>>,
}

/// An entity that was made.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CreatedEntity {
    /// Its name.
    pub name: String,
    /// Its type.
    pub entity_type: String,
    /// When, RFC 3339.
    pub created_at: String,
    /// Path of its note.
    pub path: String,
    /// True if a note of that name existed and was turned into the entity.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub was_note: bool,
}

/// An entity that was there.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExistingEntity {
    /// Its existing name.
    pub name: String,
    /// Path of its note.
    pub path: String,
    /// The given observations: they were not written, `add_observations` adds them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_added: Vec<String>,
}

/// Reply of `create_entities`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CreatedEntitiesReply {
    /// Those that were made, in the order of the request.
    pub entities: Vec<CreatedEntity>,
    /// Those that existed already; they were not changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub existing: Vec<ExistingEntity>,
    /// Those that could not be done, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<ItemError>,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

impl Tool for CreateEntities {
    const NAME: &'static str = "create_entities";
    const SUMMARY: &'static str = "Remember new things: name, type, observations. Each becomes a note that \
        people can read and edit.";
    const EFFECT: Effect = Effect::Writes;
    const SET: ToolSet = ToolSet::Memory;
    const IS_IDEMPOTENT: bool = true;
    type Reply = CreatedEntitiesReply;
}

impl View for CreatedEntitiesReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        failed(&self.failed, sheet);
        sheet.items(self.entities.iter().map(|it| {
            let (name, kind) = (stored(&it.name), style.safe(&it.entity_type));
            let how = if it.was_note { "turned the note into an entity" } else { "created" };
            format!("{how} {name} ({kind}, {})", style.safe(&it.path))
        }));
        sheet.items(self.existing.iter().map(|it| {
            let (name, path) = (stored(&it.name), style.safe(&it.path));
            let lost = match it.not_added.len() as u64 {
                0 => String::new(),
                n => {
                    format!("; {} not added: `add_observations` does that", count(n, "observation"))
                }
            };
            format!("already there: {name} ({path}){lost}")
        }));
    }
}

/// Parameters of `delete_entities`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteEntities {
    /// Their names.
    #[serde(alias = "entityNames")]
    pub entity_names: Vec<String>,
}

/// Reply of `delete_entities`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeletedEntitiesReply {
    /// Those that were deleted. Their notes are kept for 30 days (`kgctl restore`).
    pub deleted: Vec<String>,
    /// Names that no entity has.
    pub not_found: Vec<String>,
    /// Relations of others to them, which were removed, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed_relations: Vec<MemoryRelation>,
    /// Those that could not be done, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<ItemError>,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

impl Tool for DeleteEntities {
    const NAME: &'static str = "delete_entities";
    const SUMMARY: &'static str = "Forget entities with all their observations and relations. Their notes are kept \
        for 30 days.";
    const EFFECT: Effect = Effect::Writes;
    const SET: ToolSet = ToolSet::Memory;
    const IS_IDEMPOTENT: bool = true;
    type Reply = DeletedEntitiesReply;
}

impl View for DeletedEntitiesReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        failed(&self.failed, sheet);
        names("deleted", &self.deleted, sheet);
        names("not found", &self.not_found, sheet);
        sheet.list(
            "relations deleted with them:",
            self.removed_relations.iter().map(|it| relation(it, style)),
        );
    }
}

/// Parameters of `set_summary`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetSummary {
    /// The entity.
    pub name: String,
    /// Its summary; an empty one removes it.
    pub summary: String,
}

/// Reply of `set_summary`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SummaryReply {
    /// The entity.
    pub name: String,
    /// Its summary now.
    pub summary: String,
    /// When, RFC 3339.
    pub updated_at: String,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

impl Tool for SetSummary {
    const NAME: &'static str = "set_summary";
    const SUMMARY: &'static str = "Set or replace the summary of an entity.";
    const EFFECT: Effect = Effect::Writes;
    const SET: ToolSet = ToolSet::Memory;
    const IS_IDEMPOTENT: bool = true;
    type Reply = SummaryReply;
}

impl View for SummaryReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        sheet.line(&format!("{}: {}", stored(&self.name), style.safe(&self.summary)));
    }
}

/// Parameters of `set_tags`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetTags {
    /// The entity.
    pub name: String,
    /// All its tags, without `#`; none removes them.
    pub tags: Vec<String>,
}

/// Reply of `set_tags`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TagsReply {
    /// The entity.
    pub name: String,
    /// Its tags now.
    pub tags: Vec<String>,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

impl Tool for SetTags {
    const NAME: &'static str = "set_tags";
    const SUMMARY: &'static str = "Replace the tags of an entity.";
    const EFFECT: Effect = Effect::Writes;
    const SET: ToolSet = ToolSet::Memory;
    const IS_IDEMPOTENT: bool = true;
    type Reply = TagsReply;
}

impl View for TagsReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        let tags = tags(&self.tags, style);
        let tags = if tags.is_empty() { " no tags" } else { &tags };
        sheet.line(&format!("{}:{tags}", stored(&self.name)));
    }
}

/// Observations to be added to one entity.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewObservations {
    /// The entity.
    #[serde(alias = "entityName")]
    pub entity_name: String,
    /// The observations, in order.
    pub contents: Vec<String>,
}

/// Parameters of `add_observations`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddObservations {
    /// What to add to which entity, at most 1000 entities.
    pub observations: Vec<Item<NewObservations>>,
}

/// What was added to one entity.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AddedObservations {
    /// The entity.
    #[serde(alias = "entityName")]
    pub entity_name: String,
    /// What was added, with its numbers.
    pub added: Vec<FactView>,
    /// What existed already, word for word, and was not added again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub existing: Vec<FactView>,
    /// Nothing is called so.
    #[serde(default)]
    pub not_found: bool,
    /// Why nothing was added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ItemError>,
}

/// Reply of `add_observations`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AddedReply {
    /// One for each entity of the request, in its order.
    pub results: Vec<AddedObservations>,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

impl Tool for AddObservations {
    const NAME: &'static str = "add_observations";
    const SUMMARY: &'static str =
        "Add observations to existing entities. Each entity gets all of its observations or none.";
    const EFFECT: Effect = Effect::Writes;
    const SET: ToolSet = ToolSet::Memory;
    type Reply = AddedReply;
}

impl View for AddedReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        for it in &self.results {
            let name = style.safe(&it.entity_name);
            if let Some(error) = &it.error {
                failed(std::slice::from_ref(error), sheet);
                continue;
            }
            let n = count(it.added.len() as u64, "observation");
            sheet.line(&format!("{name}: {n} added, {} already there", it.existing.len()));
            sheet.items(it.added.iter().map(fact));
        }
    }
}

/// Parameters of `replace_observation`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplaceObservation {
    /// The entity.
    #[serde(alias = "entityName")]
    pub entity_name: String,
    /// The number of the observation.
    pub ordinal: u64,
    /// What it says from now on.
    #[serde(alias = "newContent")]
    pub new_content: String,
}

/// Reply of `replace_observation`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReplacedReply {
    /// The entity.
    pub entity_name: String,
    /// The number, which is the same.
    pub ordinal: u64,
    /// What it said.
    pub old_content: String,
    /// What it says.
    pub new_content: String,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

impl Tool for ReplaceObservation {
    const NAME: &'static str = "replace_observation";
    const SUMMARY: &'static str = "Replace one observation, given by its number, which stays.";
    const EFFECT: Effect = Effect::Writes;
    const SET: ToolSet = ToolSet::Memory;
    type Reply = ReplacedReply;
}

impl View for ReplacedReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        sheet.line(&format!("{} ^o{}", style.safe(&self.entity_name), self.ordinal));
        sheet.line(&format!("- {}", style.safe(&self.old_content)));
        sheet.line(&format!("+ {}", style.safe(&self.new_content)));
    }
}

/// Observations of one entity to be deleted.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ObservationDeletion {
    /// The entity.
    #[serde(alias = "entityName")]
    pub entity_name: String,
    /// Their numbers.
    pub ordinals: Option<Vec<u64>>,
    /// Or their exact text.
    pub observations: Option<Vec<String>>,
}

/// Parameters of `delete_observations`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteObservations {
    /// What to delete of which entity.
    pub deletions: Vec<Item<ObservationDeletion>>,
}

/// What was deleted of one entity.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeletedObservations {
    /// The entity.
    pub entity_name: String,
    /// Those that were deleted. Others keep their numbers.
    pub deleted_ordinals: Vec<u64>,
    /// Numbers of nothing.
    pub not_found_ordinals: Vec<u64>,
    /// Lines that were indented below those and were deleted, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deleted_below: Vec<String>,
    /// Texts that no observation says word for word.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_found_observations: Vec<String>,
    /// Nothing is called so.
    #[serde(default)]
    pub not_found: bool,
    /// Why nothing was deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ItemError>,
}

/// Reply of `delete_observations`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeletedObservationsReply {
    /// One for each entity of the request, in its order.
    pub results: Vec<DeletedObservations>,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

impl Tool for DeleteObservations {
    const NAME: &'static str = "delete_observations";
    const SUMMARY: &'static str =
        "Delete observations by their numbers. The numbers of the others stay.";
    const EFFECT: Effect = Effect::Writes;
    const SET: ToolSet = ToolSet::Memory;
    const IS_IDEMPOTENT: bool = true;
    type Reply = DeletedObservationsReply;
}

impl View for DeletedObservationsReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        for it in &self.results {
            if let Some(error) = &it.error {
                failed(std::slice::from_ref(error), sheet);
                continue;
            }
            let list = |all: &[u64]| joined(all.iter().map(|it| format!("^o{it}")));
            let mut text = format!("{}: ", style.safe(&it.entity_name));
            text += &match it.deleted_ordinals.as_slice() {
                [] => "nothing deleted".to_string(),
                deleted => format!("deleted {}", list(deleted)),
            };
            text += &around(", with everything below: ", &style.names(&it.deleted_below), "");
            text += &around("; not found ", &list(&it.not_found_ordinals), "");
            let unsaid = style.names(&it.not_found_observations);
            sheet.line(&(text + &around("; no observation says ", &unsaid, "")));
        }
    }
}
