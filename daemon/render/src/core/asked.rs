//! The text form of `ask`: the plan and why, then numbered statements with their places and days.

use proto::tool::core::{AskReply, StatementView};

use crate::clean::{one_line, paragraphs, stored_line};
use crate::sheet::Sheet;

/// The number of a statement, its words, and where they stand: `2. Keys rotate yearly. (ops/keys.md:12, 2026-03-01)`.
pub(crate) fn statement(number: usize, it: &StatementView) -> String {
    let place = one_line(&it.source.place()).into_owned();
    let date =
        if it.date.is_empty() { String::new() } else { format!(", {}", one_line(&it.day())) };
    let words = it.quote().map(|words| paragraphs(words, "   "));
    let words = words.as_deref().map(str::trim);
    let newer = match it.superseded_by.as_slice() {
        [] => String::new(),
        ids => format!(" — superseded by {}", one_line(&ids.join(", "))),
    };
    let also = match it.also.as_slice() {
        [] => String::new(),
        places => format!("; also {}", one_line(&places.join(", "))),
    };
    let text = match (&it.claim, words) {
        (Some(claim), Some(words)) => format!("{} — “{words}”", stored_line(claim)),
        (Some(claim), None) => stored_line(claim).into_owned(),
        (None, words) => words.unwrap_or_default().to_string(),
    };
    let gap = if text.contains('\n') { "\n   " } else { " " };
    format!("{number}. {text}{gap}({place}{date}{also}){newer}")
}

pub fn answered(reply: &AskReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    let names: Vec<String> =
        reply.about.iter().map(|it| stored_line(&it.name).into_owned()).collect();
    let about =
        if names.is_empty() { String::new() } else { format!(" about {}", names.join(", ")) };
    sheet.line(&format!("plan: {}{about} ({})", reply.plan.as_str(), one_line(&reply.reason)));
    if reply.nothing_relevant {
        sheet.line("nothing in the folder fits the question; these are only the nearest:");
    }
    if let Some(hint) = &reply.hint {
        sheet.line(&format!("hint: {}", one_line(hint)));
    }
    for it in &reply.conflicts {
        let [one, other] = it.statements;
        sheet.line(&format!("{one} and {other} contradict each other: {}", one_line(&it.why)));
    }
    sheet.items(reply.statements.iter().enumerate().map(|(idx, it)| statement(idx + 1, it)));
    let further: Vec<String> = reply
        .passages
        .iter()
        .map(|it| match it.section.is_empty() {
            true => one_line(&it.at).into_owned(),
            false => format!("{} § {}", one_line(&it.at), stored_line(&it.section)),
        })
        .collect();
    if !further.is_empty() {
        sheet.line(&format!("more (`read_passage`): {}", further.join("; ")));
    }
    sheet.finish()
}
