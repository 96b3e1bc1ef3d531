//! The memory tools that change relations.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ItemError, MemoryRelation, failed, names, relation};
use crate::shape::Freshness;
use crate::tool::batch::Item;
use crate::tool::{Effect, Tool, ToolSet};
use crate::view::{Sheet, View, count, fresh};

/// A relation as a request names it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RelationKey {
    /// The entity that states it.
    #[serde(alias = "from")]
    pub from_entity: String,
    /// The other one.
    #[serde(alias = "to")]
    pub to_entity: String,
    /// Its type, in active voice, such as `works_with`.
    #[serde(alias = "relationType")]
    pub relation_type: String,
}

/// Parameters of `create_relations`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateRelations {
    /// The relations, at most 1000.
    pub relations: Vec<Item<RelationKey>>,
}

/// Reply of `create_relations`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CreatedRelationsReply {
    /// Those that were made.
    pub created: Vec<MemoryRelation>,
    /// Those that were there.
    pub already_existed: Vec<MemoryRelation>,
    /// Names that no entity has.
    pub not_found: Vec<String>,
    /// Those that could not be done, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<ItemError>,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

impl Tool for CreateRelations {
    const NAME: &'static str = "create_relations";
    const SUMMARY: &'static str = "Create typed relations between existing entities.";
    const EFFECT: Effect = Effect::Writes;
    const SET: ToolSet = ToolSet::Memory;
    const IS_IDEMPOTENT: bool = true;
    type Reply = CreatedRelationsReply;
}

impl View for CreatedRelationsReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        failed(&self.failed, sheet);
        names("not found", &self.not_found, sheet);
        let n = count(self.created.len() as u64, "relation");
        sheet.line(&format!("{n} created, {} already there", self.already_existed.len()));
        sheet.items(self.created.iter().map(|it| relation(it, style)));
    }
}

/// Parameters of `delete_relations`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteRelations {
    /// The relations.
    pub relations: Vec<Item<RelationKey>>,
}

/// Reply of `delete_relations`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeletedRelationsReply {
    /// How many were deleted.
    pub deleted: u64,
    /// How many were not there.
    pub not_found: u64,
    /// Those that could not be done, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<ItemError>,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

impl Tool for DeleteRelations {
    const NAME: &'static str = "delete_relations";
    const SUMMARY: &'static str = "Delete relations.";
    const EFFECT: Effect = Effect::Writes;
    const SET: ToolSet = ToolSet::Memory;
    const IS_IDEMPOTENT: bool = true;
    type Reply = DeletedRelationsReply;
}

impl View for DeletedRelationsReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        failed(&self.failed, sheet);
        let n = count(self.deleted, "relation");
        sheet.line(&format!("{n} deleted, {} not found", self.not_found));
    }
}

/// Parameters of `update_relation_type`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateRelationType {
    /// The entity that states it.
    #[serde(alias = "from")]
    pub from_entity: String,
    /// The other one.
    #[serde(alias = "to")]
    pub to_entity: String,
    /// Its type.
    pub old_type: String,
    /// Its type from now on.
    pub new_type: String,
}

/// Reply of `update_relation_type`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UpdatedRelationReply {
    /// The entity that states it.
    pub from_entity: String,
    /// The other one.
    pub to_entity: String,
    /// Its type before.
    pub old_type: String,
    /// Its type now.
    pub new_type: String,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

impl Tool for UpdateRelationType {
    const NAME: &'static str = "update_relation_type";
    const SUMMARY: &'static str = "Rename the type of a relation.";
    const EFFECT: Effect = Effect::Writes;
    const SET: ToolSet = ToolSet::Memory;
    type Reply = UpdatedRelationReply;
}

impl View for UpdatedRelationReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        let (from, to) = (style.safe(&self.from_entity), style.safe(&self.to_entity));
        let (old, new) = (style.safe(&self.old_type), style.safe(&self.new_type));
        sheet.line(&format!("{from} → {new} → {to} (was {old})"));
    }
}
