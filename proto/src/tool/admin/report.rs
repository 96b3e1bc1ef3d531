//! The tool that makes the weekly report of memory.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::shape::Freshness;
use crate::tool::{Effect, Tool, ToolSet};

/// Parameters of `memory_report`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryReport {
    /// True to keep it as a note, one a week; false when left out: it is only told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<bool>,
}

/// Reply of `memory_report`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryReportReply {
    /// `written`, `there already` (it is left as it is), or `shown`.
    pub action: String,
    /// The note of this week, such as `memory/reports/2026-W48.md`; empty where it was only shown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// The report, as Markdown; empty where it was there already.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// How fresh this is.
    #[serde(flatten)]
    pub freshness: Freshness,
}

impl Tool for MemoryReport {
    const NAME: &'static str = "memory_report";
    const SUMMARY: &'static str =
        "Tell where memory needs attention, as Markdown, or keep that as the note of this week.";
    const EFFECT: Effect = Effect::Writes;
    const SET: ToolSet = ToolSet::Admin;
    type Reply = MemoryReportReply;
}
