//! Tools for `kgctl` alone; never listed to agents.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Effect, Tool, ToolSet};
use crate::shape::Freshness;

/// Parameters of `dump`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dump {
    /// Where the last page ended; from the start when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Most rows of a page, 1 to 5000; 1,000 when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// Reply of `dump`: one page of the whole graph in a stable order.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DumpReply {
    /// Rows, each an object with `kind`: `document`, `chunk`, `entity`, `mention`, `relation`.
    pub rows: Vec<serde_json::Value>,
    /// Give this back for the next page; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// How fresh this is; all pages of one dump must name the same tick.
    #[serde(flatten)]
    pub freshness: Freshness,
}

impl Tool for Dump {
    const NAME: &'static str = "dump";
    const SUMMARY: &'static str = "The whole graph, page by page, in a stable order.";
    const EFFECT: Effect = Effect::Reads;
    const SET: ToolSet = ToolSet::Admin;
    type Reply = DumpReply;
}

/// Parameters of `wait`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wait {
    /// Wait for this tick; for everything to be settled when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tick: Option<u64>,
    /// Longest wait, milliseconds, up to 600000; 25,000 when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

/// Reply of `wait`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WaitReply {
    /// False when the deadline came first.
    pub reached: bool,
    /// How fresh this is.
    #[serde(flatten)]
    pub freshness: Freshness,
}

impl Tool for Wait {
    const NAME: &'static str = "wait";
    const SUMMARY: &'static str = "Wait until a tick is committed or everything is settled.";
    const EFFECT: Effect = Effect::Reads;
    const SET: ToolSet = ToolSet::Admin;
    type Reply = WaitReply;
}

/// Parameters of `shutdown`: none.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shutdown {}

/// Reply of `shutdown`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShutdownReply {
    /// Documents still on the belt; they are finished before the daemon exits.
    pub draining: u64,
    /// How fresh this is.
    #[serde(flatten)]
    pub freshness: Freshness,
}

impl Tool for Shutdown {
    const NAME: &'static str = "shutdown";
    const SUMMARY: &'static str = "Finish what is on the belt, then stop the daemon.";
    const EFFECT: Effect = Effect::Writes;
    const SET: ToolSet = ToolSet::Admin;
    type Reply = ShutdownReply;
}
