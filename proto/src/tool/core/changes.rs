//! `changes`: which documents were added, changed or removed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{is_false, name_or_id};
use crate::shape::Freshness;
use crate::tool::{Effect, Tool, ToolSet};
use crate::view::{Sheet, Style, View, count, fresh, joined, stored};

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

/// The changes, the latest first, and where to go on.
impl View for ChangesReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        let next = before_changes(self, self.next_cursor.as_deref(), sheet);
        sheet.items(self.changes.iter().map(|it| change(it, style)));
        if let Some(next) = &next {
            sheet.reserved(next);
        }
    }
}

/// JSON around the values of a change, of a line, and of a reply, in characters: estimates, not exact.
const AROUND_CHANGE_CHARS: usize = 110;
const AROUND_LINE_CHARS: usize = 60;
const AROUND_REPLY_CHARS: usize = 400;

/// Least size of the structured form.
const SMALLEST_CHARS: usize = 800;

/// Adds the lines above the changes; returns the line with the cursor, for which it reserves room.
fn before_changes(reply: &ChangesReply, cursor: Option<&str>, sheet: &mut Sheet) -> Option<String> {
    let style = sheet.style();
    let ChangesReply { n_added, n_changed, n_moved, n_removed, since_tick, until_tick, .. } = reply;
    let counts =
        [(n_added, "added"), (n_changed, "changed"), (n_moved, "moved"), (n_removed, "removed")];
    let counts = counts.iter().filter(|(n, _)| **n > 0).map(|(n, what)| format!("{n} {what}"));
    let counts = joined(counts);
    let since = style.safe(&reply.since);
    let ticks = format!("after tick {since_tick}, to tick {until_tick}");
    match counts.is_empty() {
        true => sheet.line(&format!("No changes since {since} ({ticks})")),
        false => sheet.line(&format!("Changes since {since} ({ticks}): {counts}")),
    };
    sheet.remark(reply.hint.as_ref());
    let next = cursor?;
    let next = match style.is_terminal() {
        true => format!("`--cursor {}`", style.safe(next)),
        false => format!("`changes {{\"cursor\": \"{}\"}}`", style.safe(next)),
    };
    let next = format!("… {} more: {next}", reply.n_left);
    sheet.reserve(&next);
    Some(next)
}

/// `~ people/ana.md (tick 838, 2026-11-25T14:02:11Z)` and its lines.
fn change(it: &ChangeView, style: Style) -> String {
    let sign = match it.kind.as_str() {
        "added" => "+",
        "removed" => "-",
        "moved" => "→",
        _ => "~",
    };
    let from = it.was_path.as_ref().map(|was| format!("{} → ", style.safe(was)));
    let (from, at) = (from.unwrap_or_default(), style.safe(&it.at));
    let path = style.bold(&format!("{from}{}", style.safe(&it.path)));
    let unwatched = if it.unwatched { ", while nobody watched" } else { "" };
    let when = style.dim(&format!("(tick {}, {at}{unwatched})", it.tick));
    let mut text = format!("{sign} {path} {when}");
    // Every line of a new document was added, so signs would say nothing.
    let has_signs = it.kind != "added";
    it.lines
        .iter()
        .for_each(|line| text += &format!("\n  {}", changed_line(line, has_signs, style)));
    if it.n_more_lines > 0 {
        text += &format!("\n  and {} more", count(it.n_more_lines, "line"));
    }
    text
}

/// `− 4: - [role] Reviewer`.
fn changed_line(line: &ChangedLineView, has_sign: bool, style: Style) -> String {
    let sign = match (has_sign, line.gone) {
        (false, _) => "",
        (true, true) => "− ",
        (true, false) => "+ ",
    };
    let number = line.line.map(|number| format!("{number}: ")).unwrap_or_default();
    // Observations and relations are recognizable by their text.
    let field = if line.kind == "field" { " (front matter)" } else { "" };
    let text = format!("{sign}{number}{}{field}", stored(&line.text));
    if line.gone { style.red(&text) } else { style.green(&text) }
}

/// The remaining room for changes in both forms of a reply.
pub struct ChangesThatFit {
    sheet: Sheet,
    n_json_left: usize,
}

impl ChangesThatFit {
    /// Measures the room below the head of a reply that may have a cursor of this length.
    pub fn new(head: &ChangesReply, cursor: &str, style: Style) -> Self {
        let mut sheet = Sheet::to_measure(style);
        before_changes(head, Some(cursor), &mut sheet);
        // The structured form repeats keys around each value, hence twice the budget of the text.
        let whole = (style.max_chars() * 2).max(SMALLEST_CHARS);
        ChangesThatFit { sheet, n_json_left: whole.saturating_sub(AROUND_REPLY_CHARS) }
    }

    /// Takes the room of a change, if there is enough.
    pub fn take(&mut self, it: &ChangeView) -> bool {
        let lines = it.lines.iter().map(|line| line.text.len() + AROUND_LINE_CHARS);
        // 14 for the key `was_path` with its quotes and punctuation.
        let was = it.was_path.as_ref().map_or(0, |was| was.len() + 14);
        let n_json = AROUND_CHANGE_CHARS + it.path.len() + was + lines.sum::<usize>();
        if n_json > self.n_json_left || !self.sheet.line(&change(it, self.sheet.style())) {
            return false;
        }
        self.n_json_left -= n_json;
        true
    }
}
