//! The tool that maintains entries.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{EntryView, brief, each};
use crate::shape::Freshness;
use crate::tool::{Effect, Tool, ToolSet};
use crate::view::{Sheet, View, fresh, joined, stored};

/// What is done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KbAction {
    /// Counts: entries, types, projects, the graph, vectors, files.
    #[default]
    Stats,
    /// Deactivates an entry: searches leave it out.
    Deactivate,
    /// It counts again.
    Reactivate,
    /// Every version of an entry, with its reason; with `version`, the text of one.
    EntryVersions,
    /// Restores an entry to a version, as a new version.
    Restore,
    /// Entries without vectors get them; with `force` all are read again.
    RebuildEmbeddings,
    /// The graph is read again from the notes.
    RebuildGraph,
    /// The model of `llm.extraction` reads an entry again, or all of them, in the background; what it read before
    /// counts until then.
    Enrich,
    /// What a model read in an entry is forgotten, or all of it; it is read again when its text changes, or by
    /// `enrich`.
    ForgetEnriched,
    /// Entries that have not counted for some days are deleted with their versions.
    PurgeInactive,
    /// The index gives free room back.
    Vacuum,
}

/// Parameters of `kb_maintain`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KbMaintain {
    /// `stats`, `deactivate`, `reactivate`, `entry_versions`, `restore`, `rebuild_embeddings`, `rebuild_graph`,
    /// `enrich`, `forget_enriched`, `purge_inactive` or `vacuum`.
    #[serde(alias = "operation")]
    pub action: KbAction,
    /// The entry, for `deactivate`, `reactivate`, `entry_versions` and `restore`; for `enrich` and `forget_enriched`,
    /// all when left out.
    pub entry_id: Option<String>,
    /// The version, for `restore` and `entry_versions`.
    pub version: Option<u64>,
    /// Why; kept with the version.
    pub change_reason: Option<String>,
    /// For `purge_inactive`: days since they were last changed, at least 1; 90 when left out.
    pub days_inactive: Option<u32>,
    /// For `rebuild_embeddings`: all entries.
    pub force: Option<bool>,
    /// For `purge_inactive`: it is meant.
    pub confirm: Option<bool>,
}

/// A version of an entry.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VersionView {
    /// Its number, from 1.
    pub version: u64,
    /// When it was made, RFC 3339.
    pub created_at: String,
    /// Who made it.
    pub client: String,
    /// Why.
    pub change_reason: String,
    /// Its confidence.
    pub confidence: f64,
    /// The short title.
    pub short_title: String,
    /// The text of its note, where that version was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// Counts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KbStats {
    /// Entries.
    pub entries: u64,
    /// Entries that count.
    pub active: u64,
    /// Those of them whose confidence is under .5.
    pub stale: u64,
    /// Those of them whose confidence is under .3; they are hidden unless asked for.
    pub hidden: u64,
    /// Entries that count, by type.
    pub by_type: BTreeMap<String, u64>,
    /// Entries that count, by project.
    pub by_project: BTreeMap<String, u64>,
    /// Entries with vectors.
    pub with_embeddings: u64,
    /// Nodes of the graph, by type.
    pub nodes: BTreeMap<String, u64>,
    /// Relations, by type.
    pub edges: BTreeMap<String, u64>,
    /// What a model has read in entries, where one is set or has read any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enrichment: Option<Enrichment>,
    /// Files that were ingested.
    pub ingested_files: u64,
    /// Notes with an id that another one has, too: `kb/a.md (kb-00001 is kb/kb-00001-b.md)`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub duplicates: Vec<String>,
    /// What is written in notes, cannot be meant, and counts as something else: `kb/a.md: …`; at most 100.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<String>,
}

/// What a model has read in entries that count.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Enrichment {
    /// Relations that it read.
    pub relations: u64,
    /// Entries that it has read as they are now.
    pub read: u64,
    /// Entries that it has not read yet; 0 where none is set.
    pub waiting: u64,
    /// Entries for which its answer could not be read.
    pub unreadable: u64,
}

/// Reply of `kb_maintain`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KbMaintainReply {
    /// What was done.
    pub action: KbAction,
    /// In words.
    pub message: String,
    /// The entry, where one was named.
    pub entry: Option<EntryView>,
    /// Its versions, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub versions: Vec<VersionView>,
    /// Counts.
    pub stats: Option<KbStats>,
    /// Entries that were deleted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub purged: Vec<String>,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

impl Tool for KbMaintain {
    const NAME: &'static str = "kb_maintain";
    const SUMMARY: &'static str = "Counts and upkeep of entries: versions and restore, deactivate and reactivate, \
        purge, vectors, graph, rereading by a model.";
    const EFFECT: Effect = Effect::Writes;
    const SET: ToolSet = ToolSet::Kb;
    type Reply = KbMaintainReply;
}

impl View for KbMaintainReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        sheet.line(&style.safe(&self.message));
        if let Some(entry) = &self.entry {
            sheet.line(&brief(entry, style));
        }
        for it in &self.versions {
            sheet.line(&format!(
                "v{} {} {} [{:.0} %] by {}",
                it.version,
                it.created_at,
                style.safe(&it.change_reason),
                it.confidence * 100.0,
                style.safe(&it.client)
            ));
            for line in it.text.iter().flat_map(|text| text.lines()) {
                sheet.line(&format!("   {}", stored(line)));
            }
        }
        if let Some(stats) = &self.stats {
            sheet.line(&format!(
                "stale {}, hidden {}, with vectors {}",
                stats.stale, stats.hidden, stats.with_embeddings
            ));
            for (what, counts) in [
                ("types", &stats.by_type),
                ("projects", &stats.by_project),
                ("nodes", &stats.nodes),
                ("relations", &stats.edges),
            ] {
                if !counts.is_empty() {
                    let counts = counts.iter().map(|(key, n)| format!("{} {n}", style.safe(key)));
                    sheet.line(&format!("{what}: {}", joined(counts)));
                }
            }
            if let Some(it) = &stats.enrichment {
                sheet.line(&format!(
                    "read by a model: {} entries, {} relations; {} waiting, {} unreadable answers",
                    it.read, it.relations, it.waiting, it.unreadable
                ));
            }
            sheet.line(&format!("ingested files: {}", stats.ingested_files));
            each(&stats.duplicates, sheet);
            each(&stats.doubts, sheet);
        }
        if !self.purged.is_empty() {
            sheet.line(&self.purged.join(", "));
        }
    }
}
