//! The memory tools that list what needs attention.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{MemoryNode, next, nothing};
use crate::shape::Freshness;
use crate::tool::{Effect, Tool, ToolSet};
use crate::view::{Sheet, View, around, count, fresh, score, stored};

/// Parameters of `get_relation_gaps`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetRelationGaps {
    /// Which page, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<u32>,
}

/// An entity that is mentioned without a relation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RelationGap {
    /// The entity whose observations mention the other.
    pub node: String,
    /// The other.
    pub referenced_name: String,
    /// In how many of its observations.
    pub reference_count: u64,
    /// `review_links` rejects it by this key, for good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// Reply of `get_relation_gaps`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GapsReply {
    /// Most mentioned first.
    pub gaps: Vec<RelationGap>,
    /// The next page, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_page: Option<u32>,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

impl Tool for GetRelationGaps {
    const NAME: &'static str = "get_relation_gaps";
    const SUMMARY: &'static str =
        "List entities whose observations mention others to which they have no relation.";
    const EFFECT: Effect = Effect::Reads;
    const SET: ToolSet = ToolSet::Memory;
    type Reply = GapsReply;
}

impl View for GapsReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        next(self.next_page, sheet);
        nothing(self.gaps.is_empty(), sheet);
        sheet.items(self.gaps.iter().map(|it| {
            let times = match it.reference_count {
                1 => "once".to_string(),
                n => format!("{n} times"),
            };
            format!("{} mentions {} {times}", style.safe(&it.node), style.safe(&it.referenced_name))
        }));
    }
}

/// Parameters of `find_similar_nodes`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FindSimilarNodes {
    /// Most pairs to return; 20 when left out, at most 500.
    pub limit: Option<u32>,
    /// Least cosine; .75 when left out.
    pub min_score: Option<f32>,
}

/// Two entities that are alike.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SimilarPair {
    /// The one.
    pub node_a: String,
    /// The other.
    pub node_b: String,
    /// Cosine of their observations.
    pub similarity: f32,
    /// Type of the one.
    pub node_a_type: String,
    /// Type of the other.
    pub node_b_type: String,
}

/// Reply of `find_similar_nodes`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SimilarReply {
    /// The most alike first.
    pub pairs: Vec<SimilarPair>,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

impl Tool for FindSimilarNodes {
    const NAME: &'static str = "find_similar_nodes";
    const SUMMARY: &'static str =
        "Find pairs of entities with similar observations and no relation.";
    const EFFECT: Effect = Effect::Reads;
    const SET: ToolSet = ToolSet::Memory;
    type Reply = SimilarReply;
}

impl View for SimilarReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        nothing(self.pairs.is_empty(), sheet);
        sheet.items(self.pairs.iter().map(|it| {
            let (one, other) = (style.safe(&it.node_a), style.safe(&it.node_b));
            let (kind, other_kind) = (style.safe(&it.node_a_type), style.safe(&it.node_b_type));
            format!("{one} ({kind}) ~ {other} ({other_kind}) {}", score(it.similarity))
        }));
    }
}

/// Parameters of `get_consolidation_report`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetConsolidationReport {
    /// From when on events are counted: `7d`, `last friday`, `2026-01-31`; 7 days when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
}

/// An entity whose summary is older than its observations.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StaleSummary {
    /// Its name.
    pub name: String,
    /// Its type.
    pub entity_type: String,
    /// When its note was last modified, RFC 3339.
    pub last_modified: String,
    /// How many observations it has.
    pub observation_count: u64,
    /// A summary to start from: its most informative observations, word for word, or a summary by a model.
    #[schemars(extend("nullable" = true))]
    pub draft_summary: Option<String>,
    /// Who wrote the draft: `extract`, or `llm:` and the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draft_by: Option<String>,
}

/// Two entities that may be related.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RelationCandidate {
    /// The one.
    pub node_a: String,
    /// The other.
    pub node_b: String,
    /// Cosine of their observations.
    pub similarity_score: f32,
    /// The reasons for it.
    #[schemars(extend("nullable" = true))]
    pub rationale: Option<String>,
    /// `review_links` rejects it by this key, for good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// Entities that belong together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClusterView {
    /// Its number in this report, from 1, the largest first.
    pub cluster_id: u64,
    /// Their names; at most 50.
    pub node_names: Vec<String>,
    /// The words that set them apart.
    #[serde(default)]
    #[schemars(extend("nullable" = true))]
    pub centroid_label: Option<String>,
}

/// What tools did.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventSummary {
    /// From when on, RFC 3339.
    pub since: String,
    /// Entities made.
    pub creates: u64,
    /// Changes of entities.
    pub updates: u64,
    /// Entities deleted.
    pub deletes: u64,
}

/// Reply of `get_consolidation_report`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConsolidationReply {
    /// At most 50.
    pub stale_summaries: Vec<StaleSummary>,
    /// At most 20.
    pub relation_candidates: Vec<RelationCandidate>,
    /// At most 50.
    pub orphaned_nodes: Vec<MemoryNode>,
    /// Of two entities and more, at most 50.
    pub cluster_summary: Vec<ClusterView>,
    /// What tools did.
    pub event_summary: EventSummary,
    /// What was left out.
    pub truncated: Option<String>,
    /// Why drafts are not by the model of `llm.query`, where one is set.
    pub llm: Option<String>,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

impl Tool for GetConsolidationReport {
    const NAME: &'static str = "get_consolidation_report";
    const SUMMARY: &'static str = "Report what needs attention in memory: stale summaries, likely relations, orphans, \
        clusters, events.";
    const EFFECT: Effect = Effect::Reads;
    const SET: ToolSet = ToolSet::Memory;
    type Reply = ConsolidationReply;
}

impl View for ConsolidationReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        let it = &self.event_summary;
        let since = style.safe(&it.since);
        sheet.line(&format!(
            "since {since}: {} created, {} updated, {} deleted",
            it.creates, it.updates, it.deletes
        ));
        sheet.remark(self.truncated.as_ref());
        sheet.remark(self.llm.as_ref());
        sheet.list(
            "need a summary:",
            self.stale_summaries.iter().map(|it| {
                let n = count(it.observation_count, "observation");
                // Drafts by other means than a model are not marked.
                let by = it.draft_by.as_ref().filter(|by| by.starts_with("llm:"));
                let by = around(" (", &style.after("", by), ")");
                let draft = around("\n     ", &style.after("", it.draft_summary.as_ref()), &by);
                format!("  {} ({n}){draft}", stored(&it.name))
            }),
        );
        sheet.list(
            "may be related:",
            self.relation_candidates.iter().map(|it| {
                let (one, other) = (style.safe(&it.node_a), style.safe(&it.node_b));
                format!("  {one} ~ {other} {}", score(it.similarity_score))
            }),
        );
        sheet.list(
            "clusters:",
            self.cluster_summary.iter().map(|it| {
                let label = style.after("", it.centroid_label.as_ref());
                format!("  {}. {label}: {}", it.cluster_id, style.names(&it.node_names))
            }),
        );
        sheet.list(
            "without relations:",
            self.orphaned_nodes.iter().map(|it| format!("  {}", stored(&it.name))),
        );
    }
}

/// Parameters of `get_pending_consolidation`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetPendingConsolidation {
    /// Which page, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<u32>,
}

/// An entity that needs a summary.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PendingNode {
    /// Its name.
    pub name: String,
    /// Its type.
    pub entity_type: String,
    /// How many observations it has.
    pub observation_count: u64,
    /// When the last one came, RFC 3339; of one made by hand when the note was modified.
    pub last_observation_at: String,
    /// When a tool set its summary, RFC 3339.
    #[serde(default)]
    #[schemars(extend("nullable" = true))]
    pub summary_updated_at: Option<String>,
}

/// Reply of `get_pending_consolidation`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PendingReply {
    /// The entities.
    pub nodes: Vec<PendingNode>,
    /// The next page, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_page: Option<u32>,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

impl Tool for GetPendingConsolidation {
    const NAME: &'static str = "get_pending_consolidation";
    const SUMMARY: &'static str =
        "List entities without a summary, or with observations that are newer than it.";
    const EFFECT: Effect = Effect::Reads;
    const SET: ToolSet = ToolSet::Memory;
    type Reply = PendingReply;
}

impl View for PendingReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        next(self.next_page, sheet);
        nothing(self.nodes.is_empty(), sheet);
        sheet.items(self.nodes.iter().map(|it| {
            let n = count(it.observation_count, "observation");
            let last = style.safe(&it.last_observation_at);
            format!("{} ({}, {n}, last {last})", stored(&it.name), style.safe(&it.entity_type))
        }));
    }
}

/// Parameters of `get_stats`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetStats {}

/// Reply of `get_stats`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StatsReply {
    /// Entities.
    pub node_count: u64,
    /// Their observations.
    pub observation_count: u64,
    /// Their relations.
    pub relation_count: u64,
    /// Share of observations with a vector.
    pub embedding_coverage: f32,
    /// The project.
    pub workspace: String,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

impl Tool for GetStats {
    const NAME: &'static str = "get_stats";
    const SUMMARY: &'static str = "Count entities, observations and relations.";
    const EFFECT: Effect = Effect::Reads;
    const SET: ToolSet = ToolSet::Memory;
    type Reply = StatsReply;
}

impl View for StatsReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let nodes = count(self.node_count, "entity");
        let observations = count(self.observation_count, "observation");
        let relations = count(self.relation_count, "relation");
        let percent = (self.embedding_coverage * 100.0).round();
        sheet.line(&format!("{nodes}, {observations}, {relations}; {percent} % with vectors"));
    }
}
