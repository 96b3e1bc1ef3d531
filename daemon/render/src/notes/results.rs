//! The text form of `search_notes`.

use proto::tool::notes::{ItemType, NoteView, ResultView, SearchReply};

use super::{name, place};
use crate::clean::{indented, one_line, stored_line};
use crate::score;
use crate::sheet::Sheet;

pub fn results(reply: &SearchReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    if reply.results.is_empty() {
        sheet.line("nothing found");
    }
    if let Some(hint) = &reply.hint {
        sheet.line(&format!("({})", one_line(hint)));
    }
    if reply.nothing_relevant {
        sheet.line("nothing here has much to do with the question; the nearest results:");
    }
    if reply.has_more {
        sheet.line(&format!("(page {}; more on page {})", reply.page, reply.page + 1));
    }
    let first = (reply.page.max(1) as usize - 1) * reply.page_size as usize;
    sheet.items(reply.results.iter().enumerate().map(|(idx, it)| {
        let rank = first + idx + 1;
        format!("{rank}. {}", result(it))
    }));
    sheet.finish()
}

pub(super) fn result(it: &ResultView) -> String {
    let place = place(&it.note.path, it.line);
    // What only had to fit conditions has no score.
    let mut why = if it.score == 0.0 { vec![] } else { vec![format!("score {}", score(it.score))] };
    if it.weak {
        why.push("weak".to_string());
    }
    let mut why = why.join(", ");
    let parts = [("text", it.text), ("similarity", it.similarity)];
    let parts =
        parts.into_iter().filter_map(|(name, value)| Some(format!("{name} {}", score(value?))));
    let parts: Vec<String> = parts.collect();
    if !parts.is_empty() {
        why += &format!(": {}", parts.join(" "));
    }
    let also = if why.is_empty() { String::new() } else { format!("; {why}") };
    let snippet = stored_line(&it.snippet);
    let title = one_line(&it.note.title);
    match it.item {
        ItemType::Entity => {
            let shown = NoteView { path: place, ..it.note.clone() };
            let origin = it.note.origin.words();
            let origin = origin.map(|origin| format!("\n   {}", one_line(&origin)));
            let text = indented(&it.snippet, "   ");
            let why = if why.is_empty() { why } else { format!(" ({why})") };
            let text = format!("{}{why}\n{}", name(&shown), text.trim_end());
            text + &origin.unwrap_or_default()
        }
        ItemType::Observation => {
            let category = it.category.as_deref().unwrap_or_default();
            format!("[{}] {snippet} ({title}, {place}{also})", one_line(category))
        }
        ItemType::Relation => {
            let relation = one_line(it.relation.as_deref().unwrap_or_default()).into_owned();
            let target = one_line(it.target.as_deref().unwrap_or_default()).into_owned();
            format!("{title} → {relation} → {target} ({place}{also})")
        }
    }
}
