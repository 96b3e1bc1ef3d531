//! The tools that find and open entries.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use serde_with::skip_serializing_none;

use super::{EntryType, EntryView, brief, each};
use crate::shape::Freshness;
use crate::tool::memory::{ItemError, failed};
use crate::tool::{Effect, Tool, ToolSet};
use crate::view::{Sheet, View, around, count, fresh, stored};

/// Parameters of `kb_search`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KbSearch {
    /// The question or keywords, up to 1,000 characters.
    pub query: String,
    /// Only entries of this project.
    pub project_ref: Option<String>,
    /// Only entries of this type.
    pub entry_type: Option<EntryType>,
    /// Only entries with all of these tags.
    pub tags: Option<Vec<String>>,
    /// Most entries to return, 1 to 100; 10 when left out.
    pub limit: Option<u32>,
    /// Also entries whose confidence has fallen under .3.
    pub include_stale: Option<bool>,
}

/// An entry that was found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KbHit {
    /// The entry in brief; `kb_get` returns its details.
    #[serde(flatten)]
    pub entry: EntryView,
    /// Its score: over words and meaning, the sum of 1 / (60 + rank), rank from 1.
    pub score: f64,
    /// `id` for the entry that is asked for, `graph` for those of a node such as `tag:python`; `hybrid` when words and
    /// meaning found something, else `fts` or `vector`.
    pub match_source: String,
    /// How probable it is that it has to do with the question, 0 to 1; comparable between answers and projects.
    #[serde(default)]
    pub relevance: f32,
    /// It has little to do with the question.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub weak: bool,
}

/// Reply of `kb_search`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KbSearchReply {
    /// The best first.
    pub results: Vec<KbHit>,
    /// All that was found is weak.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub nothing_relevant: bool,
    /// With fewer than 3 results: at most 3 related entries, each with its path in the graph.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<String>,
    /// Stale entries that matched but are hidden; set `include_stale` to see them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub hidden_stale: u64,
    /// How the question was read, where that differs from its wording.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

pub(super) fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl Tool for KbSearch {
    const NAME: &'static str = "kb_search";
    const SUMMARY: &'static str =
        "Find entries by words and meaning, in brief; `kb_get` opens them.";
    const EFFECT: Effect = Effect::Reads;
    const SET: ToolSet = ToolSet::Kb;
    type Reply = KbSearchReply;
}

impl View for KbSearchReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        sheet.line(&count(self.results.len() as u64, "entry"));
        sheet.remark(self.hint.as_ref());
        if self.nothing_relevant {
            sheet.line(
                &style
                    .yellow("nothing here has much to do with the question; the nearest entries:"),
            );
        }
        let weak = |weak: bool| if weak { "weak: " } else { "" };
        sheet.items(
            self.results.iter().map(|it| format!("{}{}", weak(it.weak), brief(&it.entry, style))),
        );
        each(&self.hints, sheet);
    }
}

/// Parameters of `kb_get`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KbGet {
    /// One id or several, at most 20.
    #[serde(alias = "ids", alias = "entry_ids", deserialize_with = "one_or_several")]
    pub entry_id: Vec<String>,
    /// Also inactive entries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include_inactive: Option<bool>,
}

/// Parses an id, or a list of ids.
fn one_or_several<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Given {
        One(String),
        Several(Vec<String>),
    }
    Ok(match Given::deserialize(deserializer)? {
        Given::One(id) => vec![id],
        Given::Several(ids) => ids,
    })
}

/// An entry whole.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KbEntry {
    /// The entry in brief.
    #[serde(flatten)]
    pub entry: EntryView,
    /// Its content.
    pub knowledge_details: String,
    /// The confidence that it was written with.
    pub base_confidence: f64,
    /// Its hints.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub hints: Map<String, Value>,
    /// The entries that it takes the place of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub supersedes: Vec<String>,
    /// Its relations, such as `has_tag tag:python`, or `uses (llm) technology:sqlite` if a model found it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edges: Vec<String>,
    /// What is written in its note, cannot be meant, and counts as something else.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<String>,
    /// Where the knowledge came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_context: Option<String>,
    /// The newest version, from 1; 0 for a note that no tool has written yet.
    pub version: u64,
    /// When it was made, RFC 3339.
    pub created_at: String,
    /// When it was last changed, by a tool or by hand, RFC 3339.
    pub updated_at: String,
}

/// Reply of `kb_get`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KbGetReply {
    /// The entries, in the order of the request.
    pub entries: Vec<KbEntry>,
    /// The entries of nodes such as `tag:python`, in brief.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub listed: Vec<EntryView>,
    /// Ids without an active entry.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_found: Vec<String>,
    /// Ids that could not be read or opened, and why; the others were.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<ItemError>,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

impl Tool for KbGet {
    const NAME: &'static str = "kb_get";
    const SUMMARY: &'static str =
        "Open whole entries by id. This counts as use and restarts the decay of their confidence.";
    const EFFECT: Effect = Effect::Reads;
    const SET: ToolSet = ToolSet::Kb;
    type Reply = KbGetReply;
}

impl View for KbGetReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        sheet.items(self.not_found.iter().map(|id| format!("[{}] not found", style.safe(id))));
        failed(&self.failed, sheet);
        sheet.items(self.listed.iter().map(|it| brief(it, style)));
        for it in &self.entries {
            let mut text = brief(&it.entry, style);
            text += &around("\n   supersedes ", &it.supersedes.join(", "), "");
            text += &around("\n   ", &style.names(&it.edges), "");
            for doubt in &it.doubts {
                text += &format!("\n   warning: {}", style.safe(doubt));
            }
            if style.is_terminal() {
                let path = style.place(&it.entry.path);
                text += &format!("\n   version {}, {path}", it.version);
            }
            sheet.line(&text);
            for line in it.knowledge_details.lines() {
                sheet.line(&stored(line));
            }
        }
    }
}
