//! Asked: renders answers from everything in the folder, and the results of storing something.
//!
//! Invariant: control characters of documents do not reach the terminal.

use std::fmt::Write;

use proto::shape::SourceView;
use proto::tool::core::{AskReply, RememberReply};

use super::{Style, clean};

/// Renders an answer: the plan, its statements with their places, and where to read on.
pub fn answer(reply: &AskReply, style: Style) -> String {
    let names: Vec<String> = reply.about.iter().map(|it| clean(&it.name).into_owned()).collect();
    let about =
        if names.is_empty() { String::new() } else { format!(" about {}", names.join(", ")) };
    let plan = format!("{}{about} ({})", reply.plan.as_str(), clean(&reply.reason));
    let mut text = format!("{}\n", style.dim(&plan));
    if reply.nothing_relevant {
        let _ = writeln!(
            text,
            "{}",
            style.yellow("nothing in the folder fits the question; the nearest:")
        );
    }
    if let Some(hint) = &reply.hint {
        let _ = writeln!(text, "{}", style.yellow(&clean(hint)));
    }
    for (idx, it) in reply.statements.iter().enumerate() {
        let words = it.quote().map(|words| indented(words, "   "));
        let parts: Vec<String> = it
            .claim
            .as_deref()
            .map(|claim| clean(claim).into_owned())
            .into_iter()
            .chain(words)
            .collect();
        let _ = writeln!(text, "{}. {}", idx + 1, parts.join(" — "));
        let newer = match it.superseded_by.as_slice() {
            [] => String::new(),
            ids => format!(", superseded by {}", ids.join(", ")),
        };
        let _ = writeln!(
            text,
            "   {}",
            style.dim(&format!("{}  {}{newer}", place(&it.source), it.day()))
        );
    }
    for it in &reply.conflicts {
        let [one, other] = it.statements;
        let why = format!("{one} and {other} contradict each other: {}", clean(&it.why));
        let _ = writeln!(text, "{}", style.yellow(&why));
    }
    let further: Vec<String> = reply.passages.iter().map(|it| clean(&it.at).into_owned()).collect();
    if !further.is_empty() {
        let _ = writeln!(text, "more: {}", further.join(", "));
    }
    text
}

/// Renders where something was stored, what is similar, and what it contradicts.
pub fn remembered(reply: &RememberReply, style: Style) -> String {
    let done = if reply.was_known { "known already" } else { "remembered" };
    let whose = reply.about.as_ref().or(reply.id.as_ref()).map(|it| format!(" {}", clean(it)));
    let mut text = format!(
        "{done}: {} {}  {}\n",
        reply.kind.as_str(),
        whose.unwrap_or_default().trim(),
        style.dim(&clean(&reply.path))
    );
    for it in &reply.warnings {
        let _ = writeln!(text, "{}", style.yellow(&clean(it)));
    }
    for it in &reply.contradicts {
        let line = format!(
            "contradicts “{}” ({}; {})",
            clean(&it.source.text),
            place(&it.source),
            clean(&it.why)
        );
        let _ = writeln!(text, "{}", style.yellow(&line));
    }
    for it in &reply.similar {
        let _ = writeln!(text, "similar: “{}” ({})", clean(&it.text), place(it));
    }
    text
}

/// Lines of a text, all but the first after `indent`; blank ones stay blank.
fn indented(text: &str, indent: &str) -> String {
    let mut out = String::new();
    for (at, line) in text.lines().map(str::trim_end).enumerate() {
        out += if at == 0 { "" } else { "\n" };
        out += if at == 0 || line.is_empty() { "" } else { indent };
        out += &clean(line);
    }
    out
}

fn place(source: &SourceView) -> String {
    clean(&source.place()).into_owned()
}
