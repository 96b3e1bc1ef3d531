//! All settings with their defaults. `kg.yaml` is generated from here.
//!
//! Keys marked *user only* can be set by the user's own configuration, the environment and flags; in a folder's
//! `kg.yaml` they are an error, because a folder may come from a stranger.

use crate::formats::{self, Source};
use serde::{Deserialize, Serialize};

mod embed;
mod http;
mod kb;
mod keep;
mod llm;
mod memory;
mod privacy;
mod projects;
mod publish;
mod recognize;
mod retrieval;
mod vectors;
mod word;

pub use embed::{Background, Embed, Remote, RemoteApi};
pub use http::{Http, HttpToken};
pub use kb::Kb;
pub use keep::{Log, LogFormat, Telemetry, Update};
pub use llm::{Llm, LlmApi, LlmSlot};
pub use memory::{Memory, WeeklyReport};
pub use privacy::{PiiKind, PiiMode};
pub use projects::Projects;
pub use publish::Publish;
pub use recognize::{Gazetteer, Recognize};
pub use retrieval::{Floor, Formula, Rerank, Retrieval, Weights};
pub use vectors::{Precision, Vectors};

use word::words;

/// All settings of one project.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Whether tools may write notes in this folder. If your own setting is `false`, a folder cannot make it `true`.
    pub write: bool,
    /// Folders in which agents may create projects. User only.
    pub projects: Projects,
    /// The hub that the project is published to. User only.
    pub publish: Publish,
    /// Which files are read, and when.
    pub watch: Watch,
    /// How much is processed at once. User only.
    pub belt: Belt,
    /// The processes that parse documents. User only.
    pub worker: Worker,
    /// What is never stored, and what may be.
    pub privacy: Privacy,
    /// How documents are split for retrieval.
    pub chunk: Chunk,
    /// How names are recognized.
    pub recognize: Recognize,
    /// How names become entities.
    pub link: Link,
    /// Which relations are extracted.
    pub relate: Relate,
    /// How text becomes vectors.
    pub embed: Embed,
    /// How vectors are stored for the search. User only.
    pub vectors: Vectors,
    /// Text that occurs in several places and is indexed once.
    pub dedup: Dedup,
    /// What agents remember, stored as notes.
    pub memory: Memory,
    /// Knowledge entries, stored as notes.
    pub kb: Kb,
    /// Language models of other providers. User only.
    pub llm: Llm,
    /// How questions are answered.
    pub retrieval: Retrieval,
    /// The daemon's socket. User only.
    pub serve: Serve,
    /// MCP over HTTP, beside the socket. User only, because it can be reached by others.
    pub http: Http,
    /// The daemon's log. User only.
    pub log: Log,
    /// Traces of requests and of indexing, for OpenTelemetry. User only, because they leave the daemon.
    pub telemetry: Telemetry,
    /// Where `kgctl update` looks for a newer version. User only.
    pub update: Update,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            write: true,
            projects: Projects::default(),
            publish: Publish::default(),
            watch: Watch::default(),
            belt: Belt::default(),
            worker: Worker::default(),
            privacy: Privacy::default(),
            chunk: Chunk::default(),
            recognize: Recognize::default(),
            link: Link::default(),
            relate: Relate::default(),
            embed: Embed::default(),
            vectors: Vectors::default(),
            dedup: Dedup::default(),
            memory: Memory::default(),
            kb: Kb::default(),
            llm: Llm::default(),
            retrieval: Retrieval::default(),
            serve: Serve::default(),
            http: Http::default(),
            log: Log::default(),
            telemetry: Telemetry::default(),
            update: Update::default(),
        }
    }
}

/// Which files are read, and when.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Watch {
    /// Quiet time after which a changed path counts as settled, milliseconds, 20 to 5000.
    pub debounce_ms: u64,
    /// Check every file periodically instead of waiting for events: `auto` (on file systems that do not report changes
    /// by other machines: NFS, SMB, 9P, FUSE and the like), `true` or `false`.
    pub poll: Poll,
    /// Interval of checks in poll mode, milliseconds, at least 100.
    pub poll_interval_ms: u64,
    /// Interval of comparing everything with the index even when events work, seconds; 0 means never.
    pub reconcile_seconds: u64,
    /// Larger files are skipped and listed in `status`, bytes. User only.
    pub max_file_bytes: u64,
    /// The same for files whose bytes are not text (PDF, DOCX), which are largely pictures and fonts. User only.
    pub max_document_bytes: u64,
    /// Also read files and folders whose name starts with a dot.
    pub hidden: bool,
    /// Glob patterns to leave out, in addition to `.gitignore` and `.kgignore`.
    pub ignore: Vec<String>,
    /// Extensions to read in addition to those of documents (`md`, `txt`, `pdf` and so on), without the dot; `-pdf`
    /// takes one out, and `-*` all, so that `[-*, md]` reads only `md`. Code and configuration files are not read by
    /// default: beside documents they outnumber them, and questions would find identifiers instead of sentences.
    /// `code` and `config` stand for all extensions of that kind; names such as `README` count as `txt`.
    pub extensions: Vec<String>,
}

impl Default for Watch {
    fn default() -> Self {
        Watch {
            debounce_ms: 300,
            poll: Poll::Auto,
            poll_interval_ms: 2_000,
            reconcile_seconds: 600,
            max_file_bytes: 2_000_000,
            max_document_bytes: 50_000_000,
            hidden: false,
            ignore: Vec::new(),
            extensions: Vec::new(),
        }
    }
}

impl Watch {
    /// Returns the size limit for an extension (lowercase, without the dot), bytes.
    pub fn max_bytes_of(&self, extension: &str) -> u64 {
        match formats::of(extension).map(|format| format.source) {
            Some(Source::Bytes) => self.max_document_bytes,
            _ => self.max_file_bytes,
        }
    }
}

/// Whether every file is checked periodically. Written `auto`, `true` or `false`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Poll {
    /// Where the file system reports too little.
    Auto,
    /// Everywhere.
    Always,
    /// Nowhere.
    Never,
}

words!(Poll, "auto" => Poll::Auto, "true" => Poll::Always, "false" => Poll::Never);

/// How much is processed at once. User only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Belt {
    /// Bytes of source files between reading and commit, a quarter of them reserved for files just saved. A parsed
    /// document takes several times its source; a larger file is processed alone.
    pub max_bytes_in_flight: u64,
}

impl Default for Belt {
    fn default() -> Self {
        Belt { max_bytes_in_flight: 8_000_000 }
    }
}

/// The sandboxed processes that parse PDF, DOCX and HTML, each one document at a time. A document that exceeds a limit
/// is listed in `status` and left out. User only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Worker {
    /// Number of processes, in addition to one for files just saved; 0: one per core, at most 8.
    pub processes: u64,
    /// Longest time per document, seconds; a document that takes longer is retried later.
    pub max_seconds: u64,
    /// Longest processor time per document, seconds.
    pub max_cpu_seconds: u64,
    /// Most memory for parsing, bytes.
    pub max_memory_bytes: u64,
    /// An idle process ends after so many seconds.
    pub idle_seconds: u64,
}

impl Default for Worker {
    fn default() -> Self {
        Worker {
            processes: 0,
            max_seconds: 60,
            max_cpu_seconds: 20,
            max_memory_bytes: 512_000_000,
            idle_seconds: 20,
        }
    }
}

/// What is never stored, and what may be. Secrets are always removed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
pub struct Privacy {
    /// Glob patterns of paths without secrets: files there are read even if their names are on the deny list, and
    /// nothing in them is redacted. User only.
    pub allow_paths: Vec<String>,
    /// Security labels by path: a label and a glob pattern each, `internal hr/**`. The first that fits a document
    /// counts, unless its front matter states `security`.
    pub labels: Vec<String>,
    /// Whether a line with `kg:allow` (or the line after `kg:allow-next`) keeps its secrets. Anyone who can write in
    /// the folder can add such a mark. User only.
    pub allow_marks: bool,
    /// Personal data: `off` (kept), `flag` (kept; kinds and numbers are reported) or `redact` (removed). A folder can
    /// only make this stricter.
    pub pii: PiiMode,
    /// Exceptions from `pii` for single kinds of personal data; `general` means no exception.
    pub pii_kinds: PiiKinds,
}

/// Kinds of personal data: `general`, `off`, `flag` or `redact` each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PiiKinds {
    /// E-mail addresses.
    pub email: PiiKind,
    /// Telephone numbers.
    pub phone: PiiKind,
    /// Payment card numbers with a valid check digit.
    pub card: PiiKind,
    /// Bank account numbers (IBAN) with valid check digits.
    pub iban: PiiKind,
    /// National identification numbers, with valid check digits where they have some.
    pub national_id: PiiKind,
    /// IP addresses, v4 and v6.
    pub ip: PiiKind,
    /// Streets with house numbers, and post office boxes.
    pub address: PiiKind,
    /// Postal codes that are labeled as such.
    pub zip: PiiKind,
    /// Host names and URLs.
    pub domain: PiiKind,
    /// Names of people, recognized by titles and common first names: many are missed.
    pub person: PiiKind,
}

/// How documents are split for retrieval. Sizes are tokens of the built-in WordPiece tokenizer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Chunk {
    /// Most tokens of a chunk of running text, 50 to 4000 (S4: 500 to 1,000; smaller ones find more,
    /// `tests/benches/RESULTS.md`).
    pub max_tokens: u32,
    /// Sections smaller than this are joined with the next one, tokens.
    pub min_tokens: u32,
    /// Tokens of the previous chunk repeated at the start of the next, whole sentences only (S4: 10 to 20 %).
    pub overlap_tokens: u32,
    /// The same for other kinds of text, recognized by their structure.
    pub profiles: ChunkProfiles,
}

/// Chunk sizes for kinds of text that are recognized by their structure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ChunkProfiles {
    /// Questions with their answers and terms with their meanings (S4: 150 to 400).
    pub definition: ChunkSizes,
    /// Steps in order (S4: 1,000 to 2,000; an ordered list stays whole up to twice `max_tokens`).
    pub procedure: ChunkSizes,
    /// Tables, and sections headed by an identifier.
    pub reference: ChunkSizes,
    /// Mostly code.
    pub code: ChunkSizes,
}

/// Sizes as in `chunk`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChunkSizes {
    /// Most tokens of a chunk, 50 to 4000.
    pub max_tokens: u32,
    /// Smaller sections are joined with the next one of the same kind, tokens.
    pub min_tokens: u32,
    /// Tokens repeated, whole sentences only.
    pub overlap_tokens: u32,
}

impl Default for ChunkProfiles {
    fn default() -> Self {
        let sizes = |max_tokens, min_tokens, overlap_tokens| ChunkSizes {
            max_tokens,
            min_tokens,
            overlap_tokens,
        };
        ChunkProfiles {
            definition: sizes(400, 80, 0),
            procedure: sizes(1_000, 80, 80),
            reference: sizes(600, 80, 0),
            code: sizes(600, 80, 0),
        }
    }
}

impl Default for Chunk {
    fn default() -> Self {
        let profiles = ChunkProfiles::default();
        Chunk { max_tokens: 300, min_tokens: 80, overlap_tokens: 40, profiles }
    }
}

/// How names become entities (S4 §7).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Link {
    /// τ₁: least cosine of two names' vectors for them to be compared at all, 0 to 1.
    pub tau1: f32,
    /// τ₂: least score for an inexact candidate to be linked, 0 to 1.
    pub tau2: f32,
    /// Least score for an unlinked candidate to be proposed for review, 0 to τ₂.
    pub propose: f32,
    /// When the next candidate's score is within this of the best one, the name is unsure, 0 to 1.
    pub margin: f32,
    /// Weight of the cosine between surface with context and entity.
    pub cosine: f32,
    /// Weight of string similarity.
    pub string: f32,
    /// Weight of type agreement.
    pub entity_type: f32,
    /// Weight of shared headings and tags.
    pub context: f32,
    /// Weight of popularity.
    pub popularity: f32,
}

impl Default for Link {
    fn default() -> Self {
        Link {
            tau1: 0.9,
            tau2: 0.72,
            propose: 0.65,
            margin: 0.01,
            cosine: 0.45,
            string: 0.25,
            entity_type: 0.15,
            context: 0.10,
            popularity: 0.05,
        }
    }
}

/// Which relations are extracted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Relate {
    /// Files like kgd's `config/predicates.toml` that add relations and the words for them, at most 64 KiB each; later
    /// ones override earlier ones. A folder's `kg.yaml` can name only files in the folder; `kg.predicates.toml` may be
    /// missing.
    pub predicates: Vec<String>,
}

impl Default for Relate {
    fn default() -> Self {
        Relate { predicates: vec![crate::limits::DEFAULT_PREDICATES.to_string()] }
    }
}

/// Text that occurs in several places and is indexed once. Its other places are shown as further sources.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Dedup {
    /// Index equal and nearly equal passages only once.
    pub enabled: bool,
    /// Shorter passages are always indexed, words, 4 to 1000.
    pub min_words: u32,
    /// Share of common word pairs for two passages to count as nearly equal, .5 to 1; 1: only equal ones. Words that
    /// only one of them has stay searchable.
    pub similarity: f32,
}

impl Default for Dedup {
    fn default() -> Self {
        Dedup { enabled: true, min_words: 10, similarity: 0.8 }
    }
}

/// The daemon's socket and lifetime. User only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Serve {
    /// Longest time per request, milliseconds. Tools that exist to wait for indexing, such as `wait` and `ingest_docs`,
    /// have ten minutes; a language model gets at most four fifths of this per call.
    pub request_deadline_ms: u64,
    /// A daemon that an agent started exits after this many minutes without a client; 0 means never.
    pub idle_exit_minutes: u64,
    /// Whether agents get structured content beside the text of every result, and the schemas of replies, as with
    /// `kg-mcp --structured`. Most clients hand a model only one of them; both cost it twice.
    pub structured: bool,
}

impl Default for Serve {
    fn default() -> Self {
        Serve { request_deadline_ms: 30_000, idle_exit_minutes: 30, structured: false }
    }
}
