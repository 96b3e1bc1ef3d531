//! `status`: indexing progress and daemon health.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{Effect, SurveyView, Tool, ToolSet};
use crate::shape::{Freshness, StallView, WorkersView};

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

/// Progress of the comparison of stored data with its checksums. A round starts every 12 hours.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScrubView {
    /// When the last round was over, RFC 3339; absent before the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<String>,
    /// Documents compared in this round, or in the last one when none goes on.
    pub compared: u64,
    /// Damaged documents since the daemon started; they were read again from their files.
    pub damaged: u64,
}

impl ScrubView {
    /// Returns a description for people.
    pub fn describe(&self) -> String {
        let last = match &self.finished_at {
            Some(at) => format!("last round over at {at}"),
            None => "no round is over yet".to_string(),
        };
        format!("{last}, {} documents compared, {} damaged", self.compared, self.damaged)
    }
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

/// How far the better model's vectors are. Questions are answered by those that are there, and by static vectors where
/// none is yet.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EmbeddingView {
    /// The model, as `embed.model` names it.
    pub model: String,
    /// Model, revision and quantization: vectors of different spaces are never compared.
    pub space: String,
    /// The space of a model before, which answers until this one is done.
    pub answers: Option<String>,
    /// Windows of chunks that have a vector, or whose text the model refused.
    pub done: u64,
    /// Windows of chunks.
    pub total: u64,
    /// Windows, and facts of memory, whose text the model refused: they are found by words and by static vectors.
    #[serde(default, skip_serializing_if = "is_none_refused")]
    pub refused: u64,
    /// `done`; `working`; `waiting`, for documents to be read, questions to be answered, other programs, another daemon
    /// that makes vectors, or a model that is asked again by itself; `off`, by `embed.background`; `failed`: it is not
    /// asked again by itself.
    pub state: String,
    /// Texts a second that the model embeds while it works; absent before it has.
    pub texts_a_second: Option<f32>,
    /// How long the rest takes at the pace so far, seconds, if nothing else is to be done.
    pub eta_seconds: Option<u64>,
    /// When a model that gave no vectors is asked again by itself, in seconds.
    pub again_seconds: Option<u64>,
    /// The last error of the model, and what to do.
    pub trouble: Option<String>,
    /// The models for languages that this one does not know, as far as the folder has text in them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<SpaceView>,
}

/// How far the vectors of one more model are.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SpaceView {
    /// The model, as settings name it.
    pub model: String,
    /// Model, revision and quantization.
    pub space: String,
    /// Windows that have a vector, or whose text the model refused.
    pub done: u64,
    /// Windows that it embeds: those in languages that the first model does not know, and in a folder of several
    /// languages all.
    pub total: u64,
}

fn is_none_refused(n: &u64) -> bool {
    *n == 0
}

impl EmbeddingView {
    /// Returns a description for people.
    pub fn describe(&self) -> String {
        let mut text = format!("{} of {} vectors by {}", self.done, self.total, self.model);
        if self.refused > 0 {
            text.push_str(&format!(", {} of them refused", self.refused));
            // A local model would refuse the same text again, so only a server is worth a retry.
            if self.model == "remote" {
                text.push_str(" (`kgctl retry --all` asks for these again)");
            }
        }
        for other in &self.others {
            text.push_str(&format!(" and {} of {} by {}", other.done, other.total, other.model));
        }
        if self.state != "done" {
            text.push_str(&format!(", {}", self.state));
        }
        // While a server is to be asked again later, nothing is computed, so there is no rate.
        let is_going = self.again_seconds.is_none();
        if let (Some(rate), true, "working" | "waiting") =
            (self.texts_a_second, is_going, self.state.as_str())
        {
            text.push_str(&match rate {
                ..10.0 => format!(", {rate:.1} a second"),
                _ => format!(", {rate:.0} a second"),
            });
        }
        if let (Some(seconds), "working" | "waiting") = (self.eta_seconds, self.state.as_str()) {
            text.push_str(&about(seconds));
        }
        if let Some(seconds) = self.again_seconds {
            text.push_str(&format!(", asked again in{}", about(seconds).trim_start_matches(',')));
        }
        if let Some(trouble) = &self.trouble {
            text.push_str(&format!("; {}", trouble.replace("\nhint: ", "; hint: ")));
        }
        text
    }
}

/// How a slot for a language model is. Whatever it is, all goes on without it.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LlmView {
    /// `extraction` or `query`.
    pub slot: String,
    /// What it is asked by: `openai`, `anthropic`, `bedrock`, `ollama` or `sampling`.
    pub api: String,
    /// The model, as the settings name it.
    pub model: String,
    /// `untried`; `ready`: the last call gave a text; `failing`: it did not, and the next one is made; `waiting`: it
    /// failed repeatedly and is left alone for a while; `spent`: the calls of this hour are used up; `failed`: its
    /// settings are not whole.
    pub state: String,
    /// Requests since the daemon started.
    pub calls: u64,
    /// Calls of tools that got no text.
    pub failures: u64,
    /// Requests of the last 60 minutes.
    pub calls_last_hour: u64,
    /// Most of them.
    pub max_calls_per_hour: u64,
    /// When it is asked again, in seconds.
    pub again_seconds: Option<u64>,
    /// Why the last call returned no text, and what to do.
    pub trouble: Option<String>,
}

impl LlmView {
    /// Returns a description for people.
    pub fn describe(&self) -> String {
        let of = if self.model.is_empty() { "the client's model" } else { &self.model };
        let mut text = format!("{}: {of} by {}, {}", self.slot, self.api, self.state);
        if self.calls > 0 {
            text.push_str(&format!(
                ", {} of {} calls this hour",
                self.calls_last_hour, self.max_calls_per_hour
            ));
        }
        if let Some(seconds) = self.again_seconds {
            text.push_str(&format!(", asked again in{}", about(seconds).trim_start_matches(',')));
        }
        if let Some(trouble) = &self.trouble {
            text.push_str(&format!("; {}", trouble.replace("\nhint: ", "; hint: ")));
        }
        text
    }
}

/// Renders a duration like `, about 5 min`.
fn about(seconds: u64) -> String {
    match seconds {
        0..=89 => format!(", about {} s", seconds.max(1)),
        90..=5_399 => format!(", about {} min", (seconds + 30) / 60),
        _ => format!(", about {} h", (seconds + 1_800) / 3_600),
    }
}

/// How far the deep pass is: statistical names and dependencies, read in the background at the lowest priority.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeepView {
    /// Documents that wait for it, as far as that is known.
    pub left: u64,
    /// True before it begins, while not everything is searchable and linked; what is left is unknown until then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub waits: bool,
    /// Documents that it could not read; they wait for a change.
    #[serde(default)]
    pub stuck: u64,
    /// True when a person has stopped it (`kgctl deep --pause`).
    pub paused: bool,
    /// Why it rests now, such as `the machine runs on battery`; it goes on while somebody waits for work, as
    /// `kgctl wait` does.
    pub rests_for: Option<String>,
    /// How long the rest takes at the pace so far, seconds; absent before the pace is known and when nothing is left.
    pub eta_seconds: Option<u64>,
}

impl DeepView {
    /// Returns a description for people.
    pub fn describe(&self) -> String {
        let n = |n: u64| if n == 1 { "1 document".to_string() } else { format!("{n} documents") };
        let mut text = match (self.left, self.paused) {
            (0, _) if self.waits => "begins when everything is searchable and linked".to_string(),
            (0, false) => "every document has been read closely".to_string(),
            (0, true) => "paused; every document so far has been read closely".to_string(),
            (left, false) => format!("{} left to read closely", n(left)),
            (left, true) => format!("paused, {} left to read closely", n(left)),
        };
        if let Some(why) = &self.rests_for {
            text.push_str(&format!("; rests while {why}"));
        } else if let Some(seconds) = self.eta_seconds.filter(|_| !self.paused) {
            text.push_str(&about(seconds));
        }
        if self.stuck > 0 {
            text.push_str(&format!("; {} could not be read again", n(self.stuck)));
        }
        text
    }
}

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

#[cfg(test)]
mod tests {
    use super::{DeepView, EmbeddingView, LlmView, SpaceView};

    #[test]
    fn slots_are_told_with_what_is_left_and_what_is_wrong() {
        let mut view = LlmView {
            slot: "query".into(),
            api: "ollama".into(),
            model: "qwen3:4b".into(),
            state: "untried".into(),
            max_calls_per_hour: 120,
            ..LlmView::default()
        };
        assert_eq!(view.describe(), "query: qwen3:4b by ollama, untried");
        (view.calls, view.calls_last_hour, view.state) = (9, 3, "ready".into());
        assert_eq!(view.describe(), "query: qwen3:4b by ollama, ready, 3 of 120 calls this hour");
        (view.state, view.again_seconds) = ("waiting".into(), Some(30));
        view.trouble = Some("it answered 401\nhint: check the key".into());
        assert_eq!(
            view.describe(),
            "query: qwen3:4b by ollama, waiting, 3 of 120 calls this hour, asked again in about 30 s; it answered 401; \
             hint: check the key"
        );
        let sampled =
            LlmView { model: String::new(), api: "sampling".into(), ..LlmView::default() };
        assert_eq!(sampled.describe(), ": the client's model by sampling, ");
    }

    #[test]
    fn better_vectors_are_told_with_pace_and_rest() {
        let mut view = EmbeddingView {
            model: "minilm-l6".into(),
            done: 120,
            total: 9_720,
            state: "working".into(),
            texts_a_second: Some(16.2),
            eta_seconds: Some(600),
            ..EmbeddingView::default()
        };
        assert_eq!(
            view.describe(),
            "120 of 9720 vectors by minilm-l6, working, 16 a second, about 10 min"
        );
        (view.done, view.state) = (9_720, "done".into());
        assert_eq!(view.describe(), "9720 of 9720 vectors by minilm-l6");
        let (model, space) = ("e5-small".to_string(), "multilingual-e5-small".to_string());
        let others = vec![SpaceView { model, space, done: 4, total: 6 }];
        let two = EmbeddingView { others, ..view.clone() };
        assert_eq!(two.describe(), "9720 of 9720 vectors by minilm-l6 and 4 of 6 by e5-small");
        let refused = EmbeddingView { refused: 2, ..view };
        assert_eq!(refused.describe(), "9720 of 9720 vectors by minilm-l6, 2 of them refused");
        let waiting = EmbeddingView {
            model: "remote".into(),
            total: 9,
            state: "waiting".into(),
            again_seconds: Some(7),
            texts_a_second: Some(434.0),
            trouble: Some("it answered 429".into()),
            ..EmbeddingView::default()
        };
        let expected =
            "0 of 9 vectors by remote, waiting, asked again in about 7 s; it answered 429";
        assert_eq!(waiting.describe(), expected);
        let trouble = Some("it answered 401\nhint: check the key".into());
        let failed =
            EmbeddingView { state: "failed".into(), again_seconds: None, trouble, ..waiting };
        let expected = "0 of 9 vectors by remote, failed; it answered 401; hint: check the key";
        assert_eq!(failed.describe(), expected);
    }

    #[test]
    fn what_has_not_begun_is_not_called_done() {
        let rests_for = Some("the machine runs on battery".to_string());
        let deep = DeepView { left: 2, rests_for, eta_seconds: Some(90), ..DeepView::default() };
        assert_eq!(
            deep.describe(),
            "2 documents left to read closely; rests while the machine runs on battery"
        );
        let deep = DeepView { waits: true, ..DeepView::default() };
        assert_eq!(deep.describe(), "begins when everything is searchable and linked");
        let deep = DeepView::default();
        assert_eq!(deep.describe(), "every document has been read closely");
    }
}
