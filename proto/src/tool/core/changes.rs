//! `changes`: which documents were added, changed or removed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{is_false, name_or_id};
use crate::shape::Freshness;
use crate::tool::{Effect, Tool, ToolSet};

/// Parameters of `changes`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Changes {
    /// `7d`, `2 weeks`, `yesterday`, `monday`, `2026-11-20`, or a tick. When left out, since your last call, else 7
    /// days.
    #[serde(default, deserialize_with = "name_or_id", skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Only documents whose path begins with this or matches it: `docs/*.md`.
    pub path: Option<String>,
    /// Only changes that name this entity or belong to its note.
    #[serde(default, deserialize_with = "name_or_id", skip_serializing_if = "Option::is_none")]
    pub entity: Option<String>,
    /// Most documents, 1 to 200; 50 when left out.
    pub limit: Option<u32>,
    /// As in `hybrid_query`.
    pub max_chars: Option<u32>,
    /// As in `hybrid_query`.
    pub max_tokens: Option<u32>,
    /// The `next_cursor` of an answer; it stands for the other conditions.
    pub cursor: Option<String>,
}

/// Reply of `changes`: the net change of each document.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChangesReply {
    /// What `since` came to mean: a time (RFC 3339), `tick 812`, or `your last call`.
    pub since: String,
    /// Changes of later ticks than this.
    pub since_tick: u64,
    /// And up to this one.
    pub until_tick: u64,
    /// Documents that were added, on all pages.
    pub n_added: u64,
    /// Documents that were changed, moved or not.
    pub n_changed: u64,
    /// Documents that were only moved.
    pub n_moved: u64,
    /// Documents that were removed.
    pub n_removed: u64,
    /// The latest first.
    pub changes: Vec<ChangeView>,
    /// Documents after these.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub n_left: u64,
    /// Set when there are more: the `cursor` for the next ones.
    pub next_cursor: Option<String>,
    /// Set when changes are not known from `since` on.
    pub hint: Option<String>,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

/// What happened to one document.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChangeView {
    /// `added`, `changed`, `moved` or `removed`.
    pub kind: String,
    /// Its path; of a removed document the one that it had at `since`.
    pub path: String,
    /// Its path before, where that was another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub was_path: Option<String>,
    /// The last commit that changed it.
    pub tick: u64,
    /// When that was (RFC 3339).
    pub at: String,
    /// What came and went, in the order of the file; of an added document its first facts and how it begins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<ChangedLineView>,
    /// Further lines that came or went.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub n_more_lines: u64,
    /// True when the version before is not known, because nobody watched: which lines changed is not known then.
    #[serde(default, skip_serializing_if = "is_false")]
    pub unwatched: bool,
}

/// A line, or a sentence of it, that came or went.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedLineView {
    /// True when it went.
    #[serde(default, skip_serializing_if = "is_false")]
    pub gone: bool,
    /// `observation`, `relation`, `field` (of the front matter) or `text`.
    pub kind: String,
    /// Its number in the file; of a line that went, in the version before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// What it says. Untrusted data.
    pub text: String,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl Tool for Changes {
    const NAME: &'static str = "changes";
    const SUMMARY: &'static str = "What came, went or changed in the documents since a time, a tick or your last \
        call: by note, with the facts and lines.";
    const EFFECT: Effect = Effect::Reads;
    const SET: ToolSet = ToolSet::Core;
    type Reply = ChangesReply;
}
