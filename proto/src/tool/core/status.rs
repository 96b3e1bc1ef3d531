//! `status`: indexing progress and daemon health.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{DeepView, Effect, EmbeddingView, LlmView, ScrubView, SurveyView, Tool, ToolSet};
use crate::shape::{Freshness, StallView, WorkersView};
use crate::view::{Sheet, Style, View, counted, fresh, thousands};

/// Parameters of `status`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Status {
    /// Also return the last file changes that were noticed, at most 100.
    pub events: Option<bool>,
    /// Also name every path that is not read, at most 10,000, instead of a few for each reason.
    pub not_read: Option<bool>,
}

/// A change of a file that was noticed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FileEventView {
    /// When, RFC 3339.
    pub at: String,
    /// `created`, `modified`, `moved` (to here) or `deleted`.
    pub kind: String,
    /// Which file.
    pub path: String,
}

/// A hub that a project is published to.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HubView {
    /// Role, host and database.
    pub address: String,
    /// The project's name there.
    pub project: String,
    /// The tick that it shows, if that is known.
    pub tick: Option<u64>,
    /// How many ticks it is behind.
    pub lag: u64,
    /// Why nothing is published at the moment.
    pub trouble: Option<String>,
}

impl HubView {
    /// Describes it in a line: `r@db.example/kg as handbook, 3 ticks behind: …`.
    pub fn describe(&self) -> String {
        let HubView { address, project, lag, trouble, .. } = self;
        let ticks = if *lag == 1 { "tick" } else { "ticks" };
        let trouble = trouble.as_ref().map(|it| format!(": {}", it.replace("\nhint: ", "; ")));
        format!("{address} as {project}, {lag} {ticks} behind{}", trouble.unwrap_or_default())
    }
}

/// Reply of `status`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StatusReply {
    /// The folder.
    pub root: String,
    /// The daemon's process id.
    pub pid: u32,
    /// The daemon's version.
    pub version: String,
    /// Version of the tools' contract.
    pub protocol: u32,
    /// Version of the index's schema.
    pub schema: u32,
    /// True when nothing is queued, in work, or waiting to be resolved.
    pub settled: bool,
    /// The parts of `settled`.
    pub stages_settled: SettledView,
    /// Files known to the watcher and documents indexed.
    pub progress: Progress,
    /// Rows a table.
    pub counts: BTreeMap<String, u64>,
    /// The copy of the vectors that questions scan; absent until the first question by vector.
    pub vectors_in_memory: Option<VectorsInMemory>,
    /// Progress of the better model's vectors, which are made in the background; absent without such a model.
    pub embedding: Option<EmbeddingView>,
    /// The language models that the settings name, with their state; absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub llm: Vec<LlmView>,
    /// Where MCP is served over HTTP, such as `http://127.0.0.1:8765/mcp`; absent if it is not.
    pub http: Option<String>,
    /// Documents by format.
    pub formats: BTreeMap<String, u64>,
    /// Depth of each stage's queue, in the order of the belt.
    pub queues: Vec<QueueView>,
    /// Bytes of source files between reading and commit; bounded by `belt.max_bytes_in_flight`.
    #[serde(default)]
    pub bytes_in_flight: u64,
    /// The file committed last.
    pub last_file: Option<String>,
    /// The last thing that went wrong.
    pub last_error: Option<String>,
    /// Why writes are paused, such as a full disk; answers come from the last commit meanwhile.
    pub stalled: Option<StallView>,
    /// Why tools that write are refused: the ledger was lost while the daemon ran, or the folder is missing. Reading
    /// goes on.
    pub writes_refused: Option<StallView>,
    /// What was lost or damaged of the daemon's own files since it started, oldest first, the last 20.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mended: Vec<MendedView>,
    /// The comparison of everything stored with its checksums, which runs in the background.
    pub scrub: Option<ScrubView>,
    /// How far the close reading is that follows when everything is searchable; absent when it is switched off.
    pub deep: Option<DeepView>,
    /// Documents a second over the last minute.
    pub ingest_rate: f32,
    /// When the daemon started, RFC 3339.
    #[serde(default)]
    pub started_at: String,
    /// Times that watching went wrong since then, and files that fail now.
    #[serde(default)]
    pub n_errors: u64,
    /// The last changes of files, newest first; only if `events` was set.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recent_events: Vec<FileEventView>,
    /// Changes of files written since the daemon started; rereads because of new names are not counted.
    #[serde(default)]
    pub n_written: u64,
    /// Average transaction, milliseconds.
    pub average_transaction_ms: f32,
    /// Entities without a mention or home; always 0 on a sound index.
    pub orphaned_entities: u64,
    /// Secrets, and personal data if the settings say so, removed from documents, by kind.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub redacted: BTreeMap<String, u64>,
    /// Personal data that documents hold and that the settings only count, by kind.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub flagged: BTreeMap<String, u64>,
    /// Files that are not indexed by rule, by reason.
    pub skipped: BTreeMap<String, u64>,
    /// What is read of the folder and what is not; absent until the folder has been walked once.
    pub survey: Option<SurveyView>,
    /// Files that failed, newest first, at most 50.
    pub quarantine: Vec<QuarantineView>,
    /// Documents indexed with a warning (such as frontmatter that is not YAML), at most 50.
    pub warnings: Vec<WarningView>,
    /// How changes are noticed: `events`, `poll`, or in parts (`events in 3 folders, poll in 5, because …`), and what
    /// goes on (`events, rescanning`).
    pub watcher: String,
    /// The processes that parse PDF, DOCX and HTML.
    pub workers: Option<WorkersView>,
    /// Clients connected now.
    pub clients: u64,
    /// The hub that the project is published to; absent if there is none.
    pub hub: Option<HubView>,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

/// The parts of `settled`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SettledView {
    /// Every known change can be found by text.
    pub searchable: bool,
    /// Every name is resolved and the gazetteer applied everywhere.
    pub resolved: bool,
    /// Every chunk has its vectors.
    pub vectors: bool,
    /// Every document has been read closely, for statistical names and dependencies; true, too, while that is paused.
    #[serde(default)]
    pub deep: bool,
}

/// Something of the daemon's own that was lost or damaged.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MendedView {
    /// When that was noticed, RFC 3339.
    pub at: String,
    /// Which part: `index`, `ledger`, `lock`, `socket`, `state folder`, `text` or `vectors`.
    pub part: String,
    /// The damage, and the repair.
    pub what: String,
}

/// The copy of the vectors in memory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VectorsInMemory {
    /// Vectors that are searched.
    pub rows: u64,
    /// Bytes used, including deleted rows that were not overwritten yet.
    pub bytes: u64,
    /// How a number is held, as `vectors.precision` says: `int8`, `bit` or `float32`.
    #[serde(default)]
    pub precision: String,
}

/// Prefix of the warning that the reranking model cannot be used.
pub const UNRANKED: &str = "`retrieval.rerank.model` cannot be used";

/// How far the index is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Progress {
    /// Files that should be indexed.
    pub known: u64,
    /// Documents that are.
    pub indexed: u64,
}

/// The queue in front of one stage.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QueueView {
    /// The stage.
    pub stage: String,
    /// Documents waiting in the interactive lane.
    pub interactive: u64,
    /// Documents waiting in the bulk lane.
    pub bulk: u64,
}

/// A file that failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QuarantineView {
    /// Path relative to the project.
    pub path: String,
    /// The stage that failed.
    pub stage: String,
    /// Why it failed.
    pub reason: String,
}

/// A warning about a document, or about the folder as a whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WarningView {
    /// Path relative to the project; `.` for the whole folder.
    pub path: String,
    /// Warnings.
    pub warning: String,
}

impl WarningView {
    /// Returns whether it concerns the folder rather than a document.
    pub fn is_of_folder(&self) -> bool {
        self.path == "."
    }

    /// Returns what was found in the document if the warning is about secrets or personal data.
    pub fn of_secrets(&self) -> Option<&str> {
        let (what, _) = self.warning.split_once(": ")?;
        ["redacted", "personal data, kept"].contains(&what).then_some(what)
    }
}

impl Tool for Status {
    const NAME: &'static str = "status";
    const SUMMARY: &'static str =
        "Indexing progress, queue depths, counts, skipped and failed files, last error.";
    const EFFECT: Effect = Effect::Reads;
    const SET: ToolSet = ToolSet::Core;
    type Reply = StatusReply;
}

impl View for StatusReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        sheet.line(&self.headline(style));
        sheet.table(
            &[],
            self.facts(style).into_iter().map(|(name, value)| vec![name.into(), value]),
        );
        let stopped = [("stalled:", &self.stalled), ("writes refused:", &self.writes_refused)];
        for (what, it) in stopped.into_iter().filter_map(|(what, it)| Some((what, it.as_ref()?))) {
            sheet.line(&format!("\n{} {}", style.red(what), style.safe(&it.why)));
            sheet.line(&format!("hint: {}", style.safe(&it.hint)));
        }
        if let Some(error) = &self.last_error {
            sheet.line(&format!("\n{} {}", style.red("last error:"), style.safe(error)));
        }
        let busy = self.queues.iter().filter(|it| it.interactive + it.bulk > 0);
        sheet.section(
            &["QUEUE", "INTERACTIVE", "BULK"],
            busy.map(|it| vec![it.stage.clone(), thousands(it.interactive), thousands(it.bulk)]),
        );
        if let Some(survey) = &self.survey {
            survey.view(sheet);
        }
        let cells = |cells: [&str; 3]| cells.map(|cell| style.safe(cell).into_owned()).to_vec();
        sheet.section(
            &["AT", "LOST", "WHAT"],
            self.mended.iter().map(|it| cells([&it.at, &it.part, &it.what])),
        );
        sheet.section(
            &["FAILED", "STAGE", "REASON"],
            self.quarantine.iter().map(|it| cells([&it.path, &it.stage, &it.reason])),
        );
        sheet.section(
            &["WARNED", "WARNING"],
            self.warnings.iter().map(|it| {
                // A warning is one cell of a table, so its hint goes on the same line.
                let path = if it.is_of_folder() { "(folder)" } else { &it.path };
                let warning = it.warning.replace("\nhint: ", "; hint: ");
                [path, &warning].map(|cell| style.safe(cell).into_owned()).to_vec()
            }),
        );
        sheet.section(
            &["AT", "EVENT", "FILE"],
            self.recent_events.iter().map(|it| cells([&it.at, &it.kind, &it.path])),
        );
    }
}

impl StatusReply {
    fn headline(&self, style: Style) -> String {
        let name = style.bold(&style.safe(&self.freshness.project));
        let (indexed, known) = (self.progress.indexed, self.progress.known);
        let progress = format!("{} of {}", thousands(indexed), counted(known, "file"));
        let parts = &self.stages_settled;
        let parts = [
            (parts.searchable, "searchable"),
            (parts.resolved, "resolved"),
            (parts.vectors, "vectors"),
            (parts.deep, "deep"),
        ];
        let missing: Vec<_> = parts.iter().filter(|part| !part.0).map(|part| part.1).collect();
        let state = match self.settled {
            true => style.green(&format!("settled, {progress}")),
            false => style.yellow(&format!("working, {progress}; not yet: {}", missing.join(", "))),
        };
        format!("{name}  {state}")
    }

    fn facts(&self, style: Style) -> Vec<(&'static str, String)> {
        let safe = |text: &str| style.safe(text).into_owned();
        let counts = |map: &BTreeMap<String, u64>| {
            let cells: Vec<_> =
                map.iter().map(|(name, n)| format!("{} {}", thousands(*n), safe(name))).collect();
            if cells.is_empty() { "none".to_string() } else { cells.join(", ") }
        };
        let speed = format!(
            "{:.1} documents a second, {:.1} ms a transaction, tick {}",
            self.ingest_rate, self.average_transaction_ms, self.freshness.tick
        );
        let daemon = format!(
            "pid {}, version {}, since {}, {}, {}, watching by {}",
            self.pid,
            self.version,
            safe(&self.started_at),
            counted(self.n_errors, "error"),
            counted(self.clients, "client"),
            safe(&self.watcher)
        );
        let mut rows = vec![
            ("folder", safe(&self.root)),
            ("index", counts(&self.counts)),
            ("formats", counts(&self.formats)),
            ("last file", safe(self.last_file.as_deref().unwrap_or_default())),
            ("speed", speed),
            ("daemon", daemon),
        ];
        rows.extend(self.deep.iter().map(|it| ("deep", it.describe())));
        rows.extend(self.embedding.iter().map(|it| ("embedding", safe(&it.describe()))));
        rows.extend(self.llm.iter().map(|slot| ("llm", safe(&slot.describe()))));
        rows.extend(self.http.iter().map(|at| ("http", safe(at))));
        rows.extend(self.hub.iter().map(|it| ("hub", safe(&it.describe()))));
        rows.extend(self.scrub.iter().map(|it| ("scrub", it.describe())));
        rows.extend(self.workers.iter().map(|it| ("parsing", safe(&it.describe()))));
        let found = [("redacted", &self.redacted), ("personal", &self.flagged)];
        let found = found.into_iter().filter(|(_, found)| !found.is_empty());
        rows.extend(found.map(|(name, found)| (name, counts(found))));
        if self.orphaned_entities > 0 {
            let n = self.orphaned_entities;
            rows.push(("orphans", format!("entities without a mention: {n}; report this")));
        }
        rows
    }
}
