//! The tool that writes the weekly report of memory.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::shape::Freshness;
use crate::tool::{Effect, Tool, ToolSet};
use crate::view::{Sheet, View, fresh, stored};

/// Parameters of `memory_report`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryReport {
    /// True to keep it as a note, one per week; false when left out: it is only returned.
    pub write: Option<bool>,
    /// Instead of the report: the last things that tools did to entities, at most so many, up to 1,000.
    pub history: Option<u32>,
    /// For `history`: only changes of this entity, also if it is deleted.
    pub entity: Option<String>,
}

/// One thing that a tool did to an entity.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryDeed {
    /// When, RFC 3339.
    pub at: String,
    /// Who, as the client calls itself.
    pub client: String,
    /// The tool.
    pub tool: String,
    /// What it did: `create`, `observe`, `forget`, `relate`, `summarize`, `tag` or `delete`.
    pub operation: String,
    /// The entity, as it was called then.
    pub name: String,
}

/// Reply of `memory_report`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryReportReply {
    /// `written`, `there already` (left unchanged), `shown`, or `history`.
    pub action: String,
    /// The note of this week, such as `memory/reports/2026-W48.md`; empty if it was only shown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// The report, as Markdown; empty if this week already had one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// What tools did, the last first; of an entity that was deleted only that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<MemoryDeed>,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

impl Tool for MemoryReport {
    const NAME: &'static str = "memory_report";
    const SUMMARY: &'static str =
        "Report what needs attention in memory as Markdown, or keep that as this week's note.";
    const EFFECT: Effect = Effect::Writes;
    const SET: ToolSet = ToolSet::Admin;
    type Reply = MemoryReportReply;
}

impl View for MemoryReportReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        if self.path.is_empty() {
            sheet.items(self.text.lines().map(|line| stored(line).into_owned()));
        } else {
            sheet.line(&format!("{}  {}", self.action, style.place(&self.path)));
        }
        sheet.items(self.history.iter().map(|it| {
            let (client, name) = (style.safe(&it.client), stored(&it.name));
            format!("{}  {}  {}  {client}  {name}", it.at, it.operation, it.tool)
        }));
    }
}
