//! Tools for `kgctl` alone, never listed to agents.

mod forget;
mod graph;
mod page;
mod reload;
mod report;
mod upkeep;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

pub use self::forget::*;
pub use self::graph::*;
pub use self::page::*;
pub use self::reload::*;
pub use self::report::*;
pub use self::upkeep::*;
use super::{Effect, Tool, ToolSet};
use crate::shape::Freshness;
use crate::view::{Sheet, View, count, fresh};

/// Parameters of `dump`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dump {
    /// Where the last page ended; from the start when left out.
    pub cursor: Option<String>,
    /// Most rows of a page, 1 to 5000; 1,000 when left out.
    pub limit: Option<u32>,
}

/// Reply of `dump`: one page of the whole graph in a stable order.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DumpReply {
    /// Rows, each an object with `kind`: `document`, `chunk`, `entity`, `mention`, `relation`,
    /// `observation`, `fact`, `link`, `association` (`a`, `b`, `a_id`, `b_id`; `ratio`, the log-likelihood ratio;
    /// `count`, how many sentences, items and rows name both; `units`, up to three of them: `path`, `line`, and `span`,
    /// the bytes of the file from the first of the two names to the last).
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

impl View for DumpReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        let next = self.cursor.as_ref().map(|it| format!("; next cursor `{}`", style.safe(it)));
        let next = next.unwrap_or_else(|| "; the end".to_string());
        sheet.line(&format!("{}{next}", count(self.rows.len() as u64, "row")));
    }
}

/// Parameters of `wait`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wait {
    /// Wait for this tick; for everything to be settled when left out.
    pub tick: Option<u64>,
    /// Longest wait, milliseconds, up to 600000; 25,000 when left out.
    pub timeout_ms: Option<u64>,
}

/// Reply of `wait`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WaitReply {
    /// False when the deadline came first.
    pub reached: bool,
    /// Freshness.
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

impl View for WaitReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        sheet.line(if self.reached { "reached" } else { "the deadline came first" });
    }
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
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

impl Tool for Shutdown {
    const NAME: &'static str = "shutdown";
    const SUMMARY: &'static str = "Finish the documents in work, then stop the daemon.";
    const EFFECT: Effect = Effect::Writes;
    const SET: ToolSet = ToolSet::Admin;
    type Reply = ShutdownReply;
}

impl View for ShutdownReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        sheet.line(&format!("stopping; {} still on the belt", count(self.draining, "document")));
    }
}

/// Parameters of `broken_links`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BrokenLinks {
    /// Only links in notes whose path begins with this.
    pub path: Option<String>,
    /// Most links, 1 to 10000; 1,000 when left out.
    pub limit: Option<u32>,
}

/// Reply of `broken_links`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BrokenLinksReply {
    /// By path and line.
    pub links: Vec<BrokenLinkView>,
    /// Whether there are more.
    pub has_more: bool,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

/// A broken link.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BrokenLinkView {
    /// The note that holds it.
    pub path: String,
    /// Its line, from 1.
    pub line: u32,
    /// Its target as written, with heading and block.
    pub target: String,
    /// What is missing: `document`, `heading` or `block`.
    pub missing: String,
    /// The document that lacks the heading or block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_path: Option<String>,
}

impl Tool for BrokenLinks {
    const NAME: &'static str = "broken_links";
    const SUMMARY: &'static str =
        "Broken links of notes: the document, heading or block is missing.";
    const EFFECT: Effect = Effect::Reads;
    const SET: ToolSet = ToolSet::Admin;
    type Reply = BrokenLinksReply;
}

impl View for BrokenLinksReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        if self.links.is_empty() {
            sheet.line("there are no broken links");
        }
        sheet.table(
            &["place", "target", "missing"],
            self.links.iter().map(|it| {
                let of = it.to_path.as_ref().map(|path| format!(" in {path}")).unwrap_or_default();
                [
                    format!("{}:{}", it.path, it.line),
                    it.target.clone(),
                    format!("{}{of}", it.missing),
                ]
                .map(|cell| style.safe(&cell).into_owned())
                .to_vec()
            }),
        );
        if self.has_more {
            sheet.line("there are more: raise `--limit`");
        }
    }
}
