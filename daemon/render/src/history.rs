//! The text form of a note's history.

use proto::tool::notes::{NoteChangeView, NoteHistoryReply};

use super::clean::one_line;
use super::count;
use super::notes::lines;
use super::sheet::Sheet;

pub fn history(reply: &NoteHistoryReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    let state = match &reply.checksum {
        Some(checksum) => format!("checksum {checksum}"),
        None => "gone".to_string(),
    };
    sheet.line(&format!("{}  {state}", one_line(&reply.path)));
    // One version was asked for: its text follows the change that replaced it.
    if let Some(content) = &reply.content {
        for it in &reply.changes {
            sheet.line(&format!("before: {}", change(it)));
        }
        lines(content, reply.lines.unwrap_or([1, 1]), reply.next_line, sheet);
        return sheet.finish();
    }
    if reply.changes.is_empty() {
        sheet.line("no change is known");
    }
    if reply.n_more > 0 {
        sheet.line(&format!("({} more)", count(reply.n_more.into(), "change")));
    }
    sheet.items(reply.changes.iter().map(change));
    sheet.finish()
}

/// `2026-01-31T09:30:00Z changed +2 -1 by edit_note@claude-code (tick 12); version 20260131T093000.123456Z`.
fn change(it: &NoteChangeView) -> String {
    let mut text = format!("{} {} +{} -{}", it.at, one_line(&it.kind), it.n_added, it.n_removed);
    if let Some(by) = &it.by {
        text += &format!(" by {}", one_line(by));
    }
    if let Some(tick) = it.tick {
        text += &format!(" (tick {tick})");
    }
    if let Some(path) = &it.was_path {
        text += &format!(" at {}", one_line(path));
    }
    if let Some(version) = &it.version {
        text += &format!("; version {}", one_line(version));
    }
    text
}
