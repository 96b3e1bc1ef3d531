//! The memory tools that search.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{MemoryEntity, MemoryRelation, nothing, relation};
use crate::shape::Freshness;
use crate::tool::{Effect, Tool, ToolSet};
use crate::view::{Sheet, View, fresh, score, stored};

/// How a search compares.
#[derive(Debug, Clone, Copy, Default, Eq, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MemoryMode {
    /// By meaning, words and names, as documents are found.
    #[default]
    Embedding,
    /// By its words.
    Text,
}

/// Parameters of `query_observations`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueryObservations {
    /// The entity.
    #[serde(alias = "entityName")]
    pub entity_name: String,
    /// The question or keywords.
    pub query: String,
    /// `embedding` (by meaning, words and names, the default) or `text` (by words).
    pub mode: Option<MemoryMode>,
    /// Most to return; 50 when left out, at most 1000.
    pub limit: Option<u32>,
    /// Only observations of this day or later, `YYYY-MM-DD`: of the first day that one names, else of its note's.
    pub after: Option<String>,
    /// Only observations before this day.
    pub before: Option<String>,
}

/// An observation that was found.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FoundObservation {
    /// Its number.
    pub ordinal: u64,
    /// What it says.
    pub content: String,
    /// By which it is ordered; only compares within one answer.
    pub score: f32,
    /// How probable it is that it has to do with the question, 0 to 1.
    #[serde(default)]
    pub relevance: f32,
    /// It has little to do with the question.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub weak: bool,
    /// The line of its note on which it begins.
    #[serde(default, skip_serializing_if = "is_none")]
    pub line: u64,
    /// Who says it, in a conversation.
    pub speaker: Option<String>,
    /// Its day, as far as its text or heading names one.
    pub date: Option<String>,
}

fn is_none(line: &u64) -> bool {
    *line == 0
}

/// Reply of `query_observations`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ObservationsReply {
    /// The best first.
    pub results: Vec<FoundObservation>,
    /// All that was found is weak.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub nothing_relevant: bool,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

impl Tool for QueryObservations {
    const NAME: &'static str = "query_observations";
    const SUMMARY: &'static str = "Search within the observations of one entity.";
    const EFFECT: Effect = Effect::Reads;
    const SET: ToolSet = ToolSet::Memory;
    type Reply = ObservationsReply;
}

impl View for ObservationsReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        nothing(self.results.is_empty(), sheet);
        if self.nothing_relevant {
            sheet.line(&sheet.style().yellow("nothing relevant; the nearest observations:"));
        }
        sheet.items(self.results.iter().map(|it| {
            let weak = if it.weak { ", weak" } else { "" };
            let text = stored(&it.content);
            format!("^o{} {text} (score {}{weak})", it.ordinal, score(it.score))
        }));
    }
}

/// Parameters of `search_nodes`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchNodes {
    /// The question or keywords.
    pub query: String,
    /// Most entities to return; 10 when left out, at most 100.
    pub limit: Option<u32>,
    /// `embedding` (by meaning, words and names, the default) or `text` (by words).
    pub mode: Option<MemoryMode>,
    /// Page of the results, from 1.
    pub page: Option<u32>,
    /// Only entities of this type.
    pub entity_type: Option<String>,
    /// Only entities with all of these tags.
    pub tags: Option<Vec<String>>,
    /// Only observations that mention this entity, or are its own.
    pub entity: Option<String>,
    /// Only observations of this day or later, `YYYY-MM-DD`: of the first day that one names, else of its note's.
    pub after: Option<String>,
    /// Only observations before this day.
    pub before: Option<String>,
}

/// An entity that was found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FoundNode {
    /// Its name.
    pub name: String,
    /// Its type.
    pub entity_type: String,
    /// Its summary.
    #[schemars(extend("nullable" = true))]
    pub summary: Option<String>,
    /// The observation that fits best; empty where only the name does.
    pub matched_observation: String,
    /// The perspective under which it fits, in mode `embedding`; `name` where the name does.
    #[schemars(extend("nullable" = true))]
    pub matched_perspective: Option<String>,
    /// The observations that fit, at most 20, the best first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub observations: Vec<FoundObservation>,
    /// By which it is ordered; only compares within one answer.
    pub score: f32,
    /// How probable it is that it has to do with the question, 0 to 1; comparable between answers and projects.
    #[serde(default)]
    pub relevance: f32,
    /// It has little to do with the question: neither near in meaning, nor does it hold the words that count.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub weak: bool,
    /// Path of its note.
    pub path: String,
}

/// Reply of `search_nodes`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FoundNodesReply {
    /// The best first, each entity once.
    pub results: Vec<FoundNode>,
    /// All that was found is weak.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub nothing_relevant: bool,
    /// The first 10 results that are not weak, as `open_nodes` returns them, with at most 20 observations each,
    /// among them those that fit.
    #[serde(default)]
    pub entities: Vec<MemoryEntity>,
    /// At most 100 relations that begin or end in one of these.
    #[serde(default)]
    pub relations: Vec<MemoryRelation>,
    /// The next page, if there may be one.
    pub next_page: Option<u32>,
    /// What is left out of these.
    pub truncated: Option<String>,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

impl Tool for SearchNodes {
    const NAME: &'static str = "search_nodes";
    const SUMMARY: &'static str =
        "Find entities by their names and observations, by meaning or by words.";
    const EFFECT: Effect = Effect::Reads;
    const SET: ToolSet = ToolSet::Memory;
    type Reply = FoundNodesReply;
}

impl View for FoundNodesReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        if self.results.is_empty() {
            sheet.line("nothing found");
        }
        if self.nothing_relevant {
            sheet.line(&style.yellow("nothing relevant; the nearest entities:"));
        }
        sheet.items(self.results.iter().enumerate().map(|(idx, it)| {
            let weak = if it.weak { ", weak" } else { "" };
            let by = style.after(", ", it.matched_perspective.as_ref());
            let (name, kind) = (stored(&it.name), style.safe(&it.entity_type));
            let (rank, path, score) = (idx + 1, style.safe(&it.path), score(it.score));
            let mut text = format!("{rank}. {name} ({kind}, {path}; score {score}{by}{weak})");
            // The first observation is shown even if it is weak, so that every entity shows why it was found.
            let shown = it.observations.iter().enumerate().filter(|(at, it)| *at == 0 || !it.weak);
            for (_, it) in shown {
                text += &format!("\n   ^o{} {}", it.ordinal, stored(&it.content));
            }
            text
        }));
        sheet.items(self.relations.iter().map(|it| relation(it, style)));
        if let Some(page) = self.next_page {
            sheet.line(&format!("more with `page: {page}`"));
        }
    }
}
