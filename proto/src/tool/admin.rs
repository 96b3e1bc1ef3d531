//! Tools for `kgctl` alone, never listed to agents.

mod forget;
mod graph;
mod page;
mod reload;
mod report;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

pub use self::forget::*;
pub use self::graph::*;
pub use self::page::*;
pub use self::reload::*;
pub use self::report::*;
use super::core::{DeepView, EmbeddingView};
use super::{Effect, Tool, ToolSet};
use crate::shape::Freshness;

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

/// Parameters of `verify`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Verify {
    /// True to replace an index that differs by the rebuilt one; false when left out.
    pub repair: Option<bool>,
    /// Most differences to list, 0 to 1000; 20 when left out.
    pub limit: Option<u32>,
}

/// Reply of `verify`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VerifyReply {
    /// True when every row of the index agrees with the files.
    pub same: bool,
    /// True when the rebuilt index has taken the place of the one that differed.
    pub repaired: bool,
    /// Rows that were compared.
    pub n_rows: u64,
    /// The parts of the index, in the order in which they are compared.
    pub parts: Vec<VerifiedPart>,
    /// The first rows that only one side has.
    pub differences: Vec<Difference>,
    /// How long it took.
    pub seconds: f64,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

/// One part of the index, compared.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VerifiedPart {
    /// Its name, such as `chunks`.
    pub part: String,
    /// Rows of the live index.
    pub live: u64,
    /// Rows of the rebuilt one.
    pub rebuilt: u64,
    /// Rows that only one of them has.
    pub differing: u64,
}

/// One row that only one side has.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// The part it belongs to.
    pub part: String,
    /// The side that has it: `live` or `rebuilt`.
    pub side: String,
    /// The row as canonical text.
    pub row: String,
}

impl Tool for Verify {
    const NAME: &'static str = "verify";
    const SUMMARY: &'static str =
        "Rebuild the index from the files beside the live one and compare row by row.";
    const EFFECT: Effect = Effect::Writes;
    const SET: ToolSet = ToolSet::Admin;
    type Reply = VerifyReply;
}

/// Parameters of `rescan`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rescan {
    /// True to read every file and compare its content; false, or left out, to compare sizes and times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full: Option<bool>,
}

/// Reply of `rescan`, once every change is searchable and linked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RescanReply {
    /// Files that should be indexed.
    pub files: u64,
    /// Commits that followed; 0 when everything was as the index says.
    pub commits: u64,
    /// How long it took.
    pub seconds: f64,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

impl Tool for Rescan {
    const NAME: &'static str = "rescan";
    const SUMMARY: &'static str =
        "Compare every file with the index, index what differs, and wait.";
    const EFFECT: Effect = Effect::Writes;
    const SET: ToolSet = ToolSet::Admin;
    type Reply = RescanReply;
}

/// Parameters of `retry`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Retry {
    /// Files that failed, or folders with such files, relative to the project; all that failed when left out, and the
    /// better model too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paths: Option<Vec<String>>,
}

/// Reply of `retry`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RetryReply {
    /// What became of each file, by path.
    pub files: Vec<Retried>,
    /// The outcome for a better model that had been given up and was asked again; absent if there was none, or if
    /// paths were named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embedding: Option<EmbeddingView>,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

/// What became of one file.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Retried {
    /// Path relative to the project.
    pub path: String,
    /// `indexed`, `failed`, or `gone` when the path no longer exists.
    pub outcome: String,
    /// The stage that failed, if any.
    pub stage: Option<String>,
    /// Why it failed, if it did.
    pub reason: Option<String>,
}

impl Tool for Retry {
    const NAME: &'static str = "retry";
    const SUMMARY: &'static str =
        "Retry failed files at once, wait, and report what became of each.";
    const EFFECT: Effect = Effect::Writes;
    const SET: ToolSet = ToolSet::Admin;
    type Reply = RetryReply;
}

/// Parameters of `deep_pass`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeepPass {
    /// True to pause the deep pass until it is resumed or the daemon restarts, false to resume it; left out, only the
    /// progress is returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<bool>,
}

/// Reply of `deep_pass`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeepPassReply {
    /// How far it is; absent when the settings switch it off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deep: Option<DeepView>,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

impl Tool for DeepPass {
    const NAME: &'static str = "deep_pass";
    const SUMMARY: &'static str =
        "Report the progress of the deep pass (statistical names, grammar); pause or resume it.";
    const EFFECT: Effect = Effect::Writes;
    const SET: ToolSet = ToolSet::Admin;
    type Reply = DeepPassReply;
}

/// Parameters of `checkup`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Checkup {
    /// True to first compare everything stored with its checksums, as the background does every 12 hours; false
    /// when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scrub: Option<bool>,
}

/// Reply of `checkup`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckupReply {
    /// `ok`, or SQLite's first complaint about the index (`PRAGMA quick_check`).
    pub index: String,
    /// `ok`, or SQLite's first complaint about the ledger (`PRAGMA integrity_check`).
    pub ledger: String,
    /// Version of the ledger's tables.
    pub ledger_version: u32,
    /// The newest full backup in the project's own folder of backups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newest_backup: Option<String>,
    /// Files that failed last, by path, at most 1,000.
    pub failed: Vec<FailedFile>,
    /// How many failed in all.
    pub n_failed: u64,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

/// A file that failed when it was read last.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FailedFile {
    /// Path relative to the project.
    pub path: String,
    /// The stage that failed.
    pub stage: String,
    /// Why it failed.
    pub reason: String,
    /// Failures in a row of this version of the file.
    pub failures: u32,
    /// True when it is left alone until it changes or `retry` is called.
    pub skipped: bool,
    /// What to do about it.
    pub hint: String,
}

impl Tool for Checkup {
    const NAME: &'static str = "checkup";
    const SUMMARY: &'static str = "Check both databases for damage and list the files that failed.";
    const EFFECT: Effect = Effect::Reads;
    const SET: ToolSet = ToolSet::Admin;
    type Reply = CheckupReply;
}

/// Parameters of `backup`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Backup {
    /// The file to write, absolute; a new one in the project's folder of backups when left out, of which the last 7
    /// are kept.
    pub path: Option<String>,
    /// True to replace that file if it exists; false when left out.
    pub force: Option<bool>,
}

/// Reply of `backup`: a copy that was read back and found sound.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BackupReply {
    /// The file.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// Version of the ledger's tables.
    pub version: u32,
    /// Rows a table, the same as in the ledger at that instant.
    pub rows: BTreeMap<String, u64>,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

impl Tool for Backup {
    const NAME: &'static str = "backup";
    const SUMMARY: &'static str = "Copy the ledger (uids, ingestion records, review decisions) while the daemon \
        goes on. The index needs no backup: it is built from the files.";
    const EFFECT: Effect = Effect::Writes;
    const SET: ToolSet = ToolSet::Admin;
    type Reply = BackupReply;
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
