//! The tools that look after the index and the ledger: compare, read again, copy.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::shape::Freshness;
use crate::tool::core::{DeepView, EmbeddingView};
use crate::tool::{Effect, Tool, ToolSet};
use crate::view::{Sheet, View, count, counted, fresh, thousands};

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

impl View for VerifyReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        // A repaired index did differ, so `same` is false then.
        let verdict = match (self.same, self.repaired) {
            (true, _) => style.green("same"),
            (false, true) => style.yellow("differed; the rebuilt index is in use now"),
            (false, false) => style.red("differs"),
        };
        let name = style.bold(&style.safe(&self.freshness.project));
        let (rows, seconds) = (counted(self.n_rows, "row"), self.seconds);
        sheet.line(&format!("{name}  {verdict}: {rows} compared in {seconds:.1} s"));
        sheet.section(
            &["PART", "LIVE", "REBUILT", "DIFFERING"],
            self.parts.iter().map(|it| {
                let [live, rebuilt, differing] = [it.live, it.rebuilt, it.differing].map(thousands);
                vec![style.safe(&it.part).into_owned(), live, rebuilt, differing]
            }),
        );
        if !self.differences.is_empty() {
            sheet.line("");
        }
        sheet.items(self.differences.iter().map(|it| {
            let side = match it.side.as_str() {
                "live" => style.red("- live   "),
                "rebuilt" => style.green("+ rebuilt"),
                other => style.safe(other).into_owned(),
            };
            format!("{side} {}: {}", style.safe(&it.part), style.safe(&it.row))
        }));
        let differing: u64 = self.parts.iter().map(|it| it.differing).sum();
        let left = differing.saturating_sub(self.differences.len() as u64);
        if left > 0 {
            sheet.line(&format!("{} more; `--limit` prints more of them", thousands(left)));
        }
        if !self.same && !self.repaired {
            sheet.line("hint: `kgctl verify --repair` replaces it with the rebuilt index");
        }
    }
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

impl View for RescanReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let name = sheet.style().safe(&self.freshness.project).into_owned();
        let (files, seconds) = (counted(self.files, "file"), self.seconds);
        let found = match self.commits {
            0 => "nothing had changed".to_string(),
            n => format!("changes were indexed in {}", counted(n, "commit")),
        };
        sheet.line(&format!("{name}: {files} compared in {seconds:.1} s, {found}"));
    }
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

impl View for RetryReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        // With an embedding model to retry, no files are not yet "nothing failed".
        if let Some(embedding) = &self.embedding {
            sheet.line(&format!("embedding: {}", style.safe(&embedding.describe())));
        } else if self.files.is_empty() {
            sheet.line("nothing has failed");
        }
        sheet.items(self.files.iter().map(|it| {
            let outcome = match it.outcome.as_str() {
                "failed" => style.red("failed"),
                "indexed" => style.green("indexed"),
                other => style.safe(other).into_owned(),
            };
            let stage = it.stage.as_ref().map(|stage| format!(" ({stage})")).unwrap_or_default();
            let reason = it.reason.as_ref().map(|reason| format!(": {}", style.safe(reason)));
            let place = style.place(&format!("{}{stage}", it.path));
            format!("{outcome} {place}{}", reason.unwrap_or_default())
        }));
    }
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

impl View for DeepPassReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let off = || "the deep pass is switched off (`recognize.deep`)".to_string();
        let progress = self.deep.as_ref().map_or_else(off, DeepView::describe);
        let name = sheet.style().safe(&self.freshness.project).into_owned();
        sheet.line(&format!("{name}: {progress}"));
    }
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

impl View for CheckupReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        let (index, ledger) = (style.safe(&self.index), style.safe(&self.ledger));
        sheet.line(&format!("index: {index}; ledger (version {}): {ledger}", self.ledger_version));
        let newest =
            self.newest_backup.as_deref().map_or_else(|| "none".into(), |it| style.safe(it));
        sheet.line(&format!("newest backup: {newest}; {} failed", count(self.n_failed, "file")));
        sheet.items(self.failed.iter().map(|it| {
            let skipped = if it.skipped { ", skipped" } else { "" };
            let (path, reason, stage) =
                (style.safe(&it.path), style.safe(&it.reason), style.safe(&it.stage));
            format!("  {path}: {reason} ({stage}, failures {}{skipped})", it.failures)
        }));
    }
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

impl View for BackupReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let rows: Vec<_> =
            self.rows.iter().map(|(table, n)| format!("{} {table}", thousands(*n))).collect();
        sheet.line(&format!(
            "{}: {} bytes, checked; {}",
            sheet.style().safe(&self.path),
            thousands(self.bytes),
            rows.join(", ")
        ));
    }
}
