//! The memory tools that return entities and their relations.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{
    ItemError, MemoryEntity, MemoryNode, MemoryRelation, fact, failed, names, next, node, nothing,
    relation,
};
use crate::shape::Freshness;
use crate::tool::{Effect, Tool, ToolSet};
use crate::view::{Sheet, View, fresh};

/// Parameters of `open_nodes`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpenNodes {
    /// Their names, at most 200.
    pub names: Vec<String>,
}

/// Reply of `open_nodes` and `read_graph`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryGraphReply {
    /// The entities, whole.
    pub entities: Vec<MemoryEntity>,
    /// All relations that begin or end in one of them.
    pub relations: Vec<MemoryRelation>,
    /// Names that no entity has.
    #[serde(default)]
    pub not_found: Vec<String>,
    /// Those that could not be done, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<ItemError>,
    /// What was left out.
    pub truncated: Option<String>,
    /// The next page, if there is one.
    pub next_page: Option<u32>,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

impl Tool for OpenNodes {
    const NAME: &'static str = "open_nodes";
    const SUMMARY: &'static str =
        "Open whole entities by name: observations in order, summary, tags, relations.";
    const EFFECT: Effect = Effect::Reads;
    const SET: ToolSet = ToolSet::Memory;
    type Reply = MemoryGraphReply;
}

impl View for MemoryGraphReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        failed(&self.failed, sheet);
        names("not found", &self.not_found, sheet);
        sheet.remark(self.truncated.as_ref());
        next(self.next_page, sheet);
        nothing(self.entities.is_empty() && self.not_found.is_empty(), sheet);
        sheet.items(self.entities.iter().map(|it| {
            // Only for `node`, which shows both kinds of replies.
            let head = MemoryNode {
                name: it.name.clone(),
                entity_type: it.entity_type.clone(),
                summary: it.summary.clone(),
                tags: it.tags.clone(),
                path: it.path.clone(),
                ..MemoryNode::default()
            };
            let facts = it.observations.iter().map(|it| format!("\n{}", fact(it)));
            let facts: String = facts.collect();
            format!("{}{facts}", node(&head, style))
        }));
        sheet.list("relations:", self.relations.iter().map(|it| relation(it, style)));
    }
}

/// Reply of the tools that list entities.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryNodesReply {
    /// The entities.
    pub nodes: Vec<MemoryNode>,
    /// The next page, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_page: Option<u32>,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

/// Parameters of `get_nodes_by_type`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetNodesByType {
    /// The type; case is ignored.
    #[serde(alias = "entityType")]
    pub entity_type: String,
    /// Which page, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<u32>,
}

impl Tool for GetNodesByType {
    const NAME: &'static str = "get_nodes_by_type";
    const SUMMARY: &'static str = "List the entities of one type.";
    const EFFECT: Effect = Effect::Reads;
    const SET: ToolSet = ToolSet::Memory;
    type Reply = MemoryNodesReply;
}

impl View for MemoryNodesReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        next(self.next_page, sheet);
        nothing(self.nodes.is_empty(), sheet);
        sheet.items(self.nodes.iter().map(|it| node(it, style)));
    }
}

/// Parameters of `get_recently_modified`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetRecentlyModified {
    /// How many days back; 7 when left out.
    pub days: Option<u32>,
    /// Most to return; 20 when left out, at most 500.
    pub limit: Option<u32>,
}

impl Tool for GetRecentlyModified {
    const NAME: &'static str = "get_recently_modified";
    const SUMMARY: &'static str = "List the entities that changed in the last days, newest first.";
    const EFFECT: Effect = Effect::Reads;
    const SET: ToolSet = ToolSet::Memory;
    type Reply = MemoryNodesReply;
}

/// Parameters of `get_relations_between`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetRelationsBetween {
    /// The one.
    pub entity_a: String,
    /// The other.
    pub entity_b: String,
}

/// Reply of `get_relations_between`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RelationsReply {
    /// The relations, in both directions.
    pub relations: Vec<MemoryRelation>,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

impl Tool for GetRelationsBetween {
    const NAME: &'static str = "get_relations_between";
    const SUMMARY: &'static str = "List all relations between two entities, in both directions.";
    const EFFECT: Effect = Effect::Reads;
    const SET: ToolSet = ToolSet::Memory;
    type Reply = RelationsReply;
}

impl View for RelationsReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        nothing(self.relations.is_empty(), sheet);
        sheet.items(self.relations.iter().map(|it| relation(it, style)));
    }
}

/// Parameters of `get_neighborhood`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetNeighborhood {
    /// The entity.
    pub name: String,
    /// How many steps; 1 when left out, at most 5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
}

/// Reply of `get_neighborhood`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NeighborhoodReply {
    /// The entity, then those around it, nearest first.
    pub nodes: Vec<MemoryNode>,
    /// All relations between these.
    pub relations: Vec<MemoryRelation>,
    /// What was left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncated: Option<String>,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

impl Tool for GetNeighborhood {
    const NAME: &'static str = "get_neighborhood";
    const SUMMARY: &'static str =
        "Return an entity and all entities within some steps of it, with their relations.";
    const EFFECT: Effect = Effect::Reads;
    const SET: ToolSet = ToolSet::Memory;
    type Reply = NeighborhoodReply;
}

impl View for NeighborhoodReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        sheet.remark(self.truncated.as_ref());
        sheet.items(self.nodes.iter().map(|it| node(it, style)));
        sheet.list("relations:", self.relations.iter().map(|it| relation(it, style)));
    }
}

/// Parameters of `get_path`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetPath {
    /// Where it begins.
    #[serde(alias = "from")]
    pub from_entity: String,
    /// Where it ends.
    #[serde(alias = "to")]
    pub to_entity: String,
}

/// Reply of `get_path`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PathReply {
    /// Whether there is one.
    pub found: bool,
    /// The names on it, from the one to the other.
    pub path: Vec<String>,
    /// The relations on it, in order; each may be followed in either direction.
    pub relations: Vec<MemoryRelation>,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

impl Tool for GetPath {
    const NAME: &'static str = "get_path";
    const SUMMARY: &'static str = "Find the shortest path of relations between two entities.";
    const EFFECT: Effect = Effect::Reads;
    const SET: ToolSet = ToolSet::Memory;
    type Reply = PathReply;
}

impl View for PathReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        if !self.found {
            sheet.line("no path");
            return;
        }
        names("path", &self.path, sheet);
        sheet.items(self.relations.iter().map(|it| relation(it, style)));
    }
}

/// Parameters of `get_orphans`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetOrphans {
    /// Which page, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<u32>,
}

impl Tool for GetOrphans {
    const NAME: &'static str = "get_orphans";
    const SUMMARY: &'static str = "List the entities without any relation.";
    const EFFECT: Effect = Effect::Reads;
    const SET: ToolSet = ToolSet::Memory;
    type Reply = MemoryNodesReply;
}

/// Parameters of `read_graph`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadGraph {
    /// Which page, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<u32>,
}

impl Tool for ReadGraph {
    const NAME: &'static str = "read_graph";
    const SUMMARY: &'static str =
        "List all entities with their observations and relations, page by page.";
    const EFFECT: Effect = Effect::Reads;
    const SET: ToolSet = ToolSet::Memory;
    type Reply = MemoryGraphReply;
}
