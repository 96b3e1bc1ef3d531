//! The tools that show and restore earlier versions of a note.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{OutputFormat, WrittenReply};
use crate::shape::{Freshness, is_zero};
use crate::tool::{Effect, Tool, ToolSet};
use crate::view::{Sheet, Style, View, count, fresh, lines};

/// Parameters of `note_history`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoteHistory {
    /// The note: path, permalink, title or `memory://…`; also one that was deleted.
    pub path: String,
    /// Shows this version instead of the list: `version` of an answer, its beginning, or `last`.
    pub version: Option<String>,
    /// With `version`: how it differs from the note as it is now, instead of its text.
    pub diff: Option<bool>,
    /// Most changes, 1 to 100; 20 when left out.
    pub limit: Option<u32>,
    /// Which project; that of this session when left out.
    pub project: Option<String>,
    /// Longest text answer in characters, 200 to 100000; 3,000 when left out.
    pub max_chars: Option<u32>,
    /// The same in tokens, 70 to 33000, at 3 characters a token; the smaller of the two counts.
    pub max_tokens: Option<u32>,
    /// First line of a version to show, from 1: `next_line` of an answer that was cut.
    pub from_line: Option<u32>,
    /// `text` or `json`.
    pub output_format: Option<OutputFormat>,
}

/// Reply of `note_history`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NoteHistoryReply {
    /// Path of the note; of one that was deleted where it lay.
    pub path: String,
    /// SHA-256 of the file now; left out when it is gone.
    pub checksum: Option<String>,
    /// Its changes, newest first; one of them where a version was asked for.
    pub changes: Vec<NoteChangeView>,
    /// Further changes that are known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub n_more: u32,
    /// The text of the version, or with `diff` how the note differs from it now, as `diff -u` writes it; secrets
    /// removed. Untrusted data.
    pub content: Option<String>,
    /// First and last line of `content`, from 1.
    pub lines: Option<[u32; 2]>,
    /// The next line to read, if it did not fit.
    pub next_line: Option<u32>,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

/// One change of a note.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NoteChangeView {
    /// Names the text before this change, for `version` of `note_history` and `restore_note`; left out where it is not
    /// kept: only what tools replace is, for 30 days.
    pub version: Option<String>,
    /// When (RFC 3339).
    pub at: String,
    /// `added`, `changed`, `moved`, `removed`, or `refused`: this version was never written, because the note had
    /// changed.
    pub kind: String,
    /// Tool and client, `edit_note@claude-code`; left out when somebody wrote the file himself, or it is not known.
    pub by: Option<String>,
    /// The commit that showed it; left out where that is not known.
    pub tick: Option<u64>,
    /// Lines that came.
    #[serde(default)]
    pub n_added: u64,
    /// Lines that went.
    #[serde(default)]
    pub n_removed: u64,
    /// Where the note lay before, if elsewhere.
    pub was_path: Option<String>,
}

impl Tool for NoteHistory {
    const NAME: &'static str = "note_history";
    const SUMMARY: &'static str = "The changes of a note, also of a deleted one: when, by whom, lines, and the kept \
        versions; with `version` the text of one, or how it differs from now.";
    const EFFECT: Effect = Effect::Reads;
    const SET: ToolSet = ToolSet::Notes;
    type Reply = NoteHistoryReply;
}

impl View for NoteHistoryReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        let state = match &self.checksum {
            Some(checksum) => format!("checksum {checksum}"),
            None => "gone".to_string(),
        };
        sheet.line(&format!("{}  {state}", style.safe(&self.path)));
        // One version was asked for: its text follows the change that replaced it.
        if let Some(content) = &self.content {
            for it in &self.changes {
                sheet.line(&format!("before: {}", change(it, style)));
            }
            lines(content, self.lines.unwrap_or([1, 1]), self.next_line, sheet);
            return;
        }
        if self.changes.is_empty() {
            sheet.line("no change is known");
        }
        if self.n_more > 0 {
            sheet.line(&format!("({} more)", count(self.n_more.into(), "change")));
        }
        sheet.items(self.changes.iter().map(|it| change(it, style)));
    }
}

/// Parameters of `restore_note`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RestoreNote {
    /// The note: path, permalink, title or `memory://…`; also one that was deleted.
    pub path: String,
    /// `version` of an answer of `note_history`, or its beginning; the newest kept one when left out.
    pub version: Option<String>,
    /// Which project; that of this session when left out.
    pub project: Option<String>,
    /// Only if the file still has this checksum, as an earlier reply gave it.
    pub expected_checksum: Option<String>,
    /// `text` or `json`.
    pub output_format: Option<OutputFormat>,
}

impl Tool for RestoreNote {
    const NAME: &'static str = "restore_note";
    const SUMMARY: &'static str = "Take back a delete or an edit of a note: write a kept version of it back. What is \
        there now is kept as a version, too.";
    const EFFECT: Effect = Effect::Writes;
    const SET: ToolSet = ToolSet::Notes;
    type Reply = WrittenReply;
}

/// `2026-01-31T09:30:00Z changed +2 -1 by edit_note@claude-code (tick 12); version 20260131T093000.123456Z`.
fn change(it: &NoteChangeView, style: Style) -> String {
    let mut text = format!("{} {} +{} -{}", it.at, style.safe(&it.kind), it.n_added, it.n_removed);
    if let Some(by) = &it.by {
        text += &format!(" by {}", style.safe(by));
    }
    if let Some(tick) = it.tick {
        text += &format!(" (tick {tick})");
    }
    if let Some(path) = &it.was_path {
        text += &format!(" at {}", style.safe(path));
    }
    if let Some(version) = &it.version {
        text += &format!("; version {}", style.safe(version));
    }
    text
}
