//! The text form of `changes`: one line per document, and under it its added and removed lines.

use proto::tool::core::{ChangeView, ChangedLineView, ChangesReply};

use crate::clean::{one_line, stored_line};
use crate::count;
use crate::sheet::Sheet;

/// JSON around the values of a change, of a line, and of a reply, in characters: estimates, not exact.
const AROUND_CHANGE_CHARS: usize = 110;
const AROUND_LINE_CHARS: usize = 60;
const AROUND_REPLY_CHARS: usize = 400;

/// Least size of the structured form.
const SMALLEST_CHARS: usize = 800;

/// The changes, the latest first, and where to go on.
pub fn changes(reply: &ChangesReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    let next = before_changes(reply, reply.next_cursor.as_deref(), sheet);
    sheet.items(reply.changes.iter().map(change));
    if let Some(next) = &next {
        sheet.reserved(next);
    }
    sheet.finish()
}

/// Adds the lines above the changes; returns the line with the cursor, for which it reserves room.
fn before_changes(reply: &ChangesReply, cursor: Option<&str>, sheet: &mut Sheet) -> Option<String> {
    let ChangesReply { n_added, n_changed, n_moved, n_removed, since_tick, until_tick, .. } = reply;
    let counts =
        [(n_added, "added"), (n_changed, "changed"), (n_moved, "moved"), (n_removed, "removed")];
    let counts = counts.iter().filter(|(n, _)| **n > 0).map(|(n, what)| format!("{n} {what}"));
    let counts: Vec<String> = counts.collect();
    let since = one_line(&reply.since);
    let ticks = format!("after tick {since_tick}, to tick {until_tick}");
    match counts.is_empty() {
        true => sheet.line(&format!("No changes since {since} ({ticks})")),
        false => sheet.line(&format!("Changes since {since} ({ticks}): {}", counts.join(", "))),
    };
    if let Some(hint) = &reply.hint {
        sheet.line(&format!("({})", one_line(hint)));
    }
    let next = cursor?;
    let next = format!("… {} more: `changes {{\"cursor\": \"{}\"}}`", reply.n_left, one_line(next));
    sheet.reserve(&next);
    Some(next)
}

/// `~ people/ana.md (tick 838, 2026-11-25T14:02:11Z)` and its lines.
fn change(it: &ChangeView) -> String {
    let sign = match it.kind.as_str() {
        "added" => "+",
        "removed" => "-",
        "moved" => "→",
        _ => "~",
    };
    let from = it.was_path.as_ref().map(|was| format!("{} → ", one_line(was)));
    let (from, path, at) = (from.unwrap_or_default(), one_line(&it.path), one_line(&it.at));
    let unwatched = if it.unwatched { ", while nobody watched" } else { "" };
    let mut text = format!("{sign} {from}{path} (tick {}, {at}{unwatched})", it.tick);
    // Every line of a new document was added, so signs would say nothing.
    let has_signs = it.kind != "added";
    it.lines.iter().for_each(|line| text += &format!("\n  {}", changed_line(line, has_signs)));
    if it.n_more_lines > 0 {
        text += &format!("\n  and {} more", count(it.n_more_lines, "line"));
    }
    text
}

/// `− 4: - [role] Reviewer`.
fn changed_line(line: &ChangedLineView, has_sign: bool) -> String {
    let sign = match (has_sign, line.gone) {
        (false, _) => "",
        (true, true) => "− ",
        (true, false) => "+ ",
    };
    let number = line.line.map(|number| format!("{number}: ")).unwrap_or_default();
    // Observations and relations are recognizable by their text.
    let field = if line.kind == "field" { " (front matter)" } else { "" };
    format!("{sign}{number}{}{field}", stored_line(&line.text))
}

/// The remaining room for changes in both forms of a reply.
pub struct ChangesThatFit {
    sheet: Sheet,
    n_json_left: usize,
}

impl ChangesThatFit {
    /// Measures the room below the head of a reply that may have a cursor of this length.
    pub fn new(head: &ChangesReply, cursor: &str, max_chars: usize) -> Self {
        // Project and tick are not known yet: reserve the usual length.
        let mut sheet = Sheet::with_footer(max_chars, " ".repeat(super::USUAL_FOOTER_CHARS));
        before_changes(head, Some(cursor), &mut sheet);
        // The structured form repeats keys around each value, hence twice the budget of the text.
        let whole = (max_chars * 2).max(SMALLEST_CHARS);
        ChangesThatFit { sheet, n_json_left: whole.saturating_sub(AROUND_REPLY_CHARS) }
    }

    /// Takes the room of a change, if there is enough.
    pub fn take(&mut self, it: &ChangeView) -> bool {
        let lines = it.lines.iter().map(|line| line.text.len() + AROUND_LINE_CHARS);
        // 14 for the key `was_path` with its quotes and punctuation.
        let was = it.was_path.as_ref().map_or(0, |was| was.len() + 14);
        let n_json = AROUND_CHANGE_CHARS + it.path.len() + was + lines.sum::<usize>();
        if n_json > self.n_json_left || !self.sheet.line(&change(it)) {
            return false;
        }
        self.n_json_left -= n_json;
        true
    }
}
