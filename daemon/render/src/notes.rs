//! The text form of notes; `results.rs`: what `search_notes` found.

mod results;

use proto::tool::notes::{
    BacklinkView, BacklinksReply, ChangedLines, ContextReply, CreatedProjectReply, DirectoryReply,
    FoundReply, InstructionsReply, LinkView, MovedReply, NoteView, NotesReply, ObservationView,
    ProjectsReply, ReadContentReply, ReadNoteReply, WrittenReply, by_place,
};

use self::results::result;
use super::clean::{as_written, indented, one_line, stored_line};
use super::sheet::Sheet;
use super::{count, score};

pub use self::results::results;

/// `Title (path, type)`; the type only where the author gave one.
fn name(note: &NoteView) -> String {
    let mut text = format!("{} ({}", one_line(&note.title), one_line(&note.path));
    if let Some(note_type) = note.note_type.as_deref().filter(|it| *it != "note" && *it != "md") {
        text += &format!(", {}", one_line(note_type));
    }
    text + ")"
}

pub(super) fn place(path: &str, line: u32) -> String {
    let path = one_line(path);
    if line > 0 { format!("{path}:{line}") } else { path.into_owned() }
}

fn tags(tags: &[String]) -> String {
    tags.iter().map(|tag| format!(" #{}", one_line(tag))).collect()
}

/// `  - [category] content #tag (context)`, as it is written.
fn observation(it: &ObservationView) -> String {
    let context = it.context.as_ref().map(|it| format!(" ({})", one_line(it))).unwrap_or_default();
    let block = it.block.as_ref().map(|it| format!(" ^{}", one_line(it))).unwrap_or_default();
    let (category, content) = (one_line(&it.category), stored_line(&it.content));
    format!("  - [{category}] {content}{}{context}{block}", tags(&it.tags))
}

/// `  - relation → target (path)`.
fn link(it: &LinkView) -> String {
    let leads = match &it.to_path {
        Some(path) => format!(" ({})", one_line(path)),
        None => " (missing)".to_string(),
    };
    let context = it.context.as_ref().map(|it| format!(" ({})", one_line(it))).unwrap_or_default();
    format!("  - {} → {}{leads}{context}", one_line(&it.relation), one_line(&it.target))
}

fn backlink(it: &BacklinkView) -> String {
    let relation = if it.relation == "links_to" {
        String::new()
    } else {
        format!(" {}", one_line(&it.relation))
    };
    format!("  {}{relation}  {}", place(&it.path, it.line), one_line(&it.said))
}

fn statements(observations: &[ObservationView], relations: &[LinkView], sheet: &mut Sheet) {
    if !observations.is_empty() {
        sheet.line("facts:");
        sheet.items(observations.iter().map(observation));
    }
    if !relations.is_empty() {
        sheet.line("relations:");
        sheet.items(relations.iter().map(link));
    }
}

fn warnings(warnings: &[String], sheet: &mut Sheet) {
    for warning in warnings {
        sheet.line(&format!("warning: {}", one_line(warning)));
    }
}

pub fn found(reply: &FoundReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    if reply.notes.is_empty() {
        sheet.line("nothing found");
    }
    if let Some(hint) = &reply.hint {
        sheet.line(&format!("({})", one_line(hint)));
    }
    if reply.nothing_relevant && !reply.notes.is_empty() {
        sheet.line("nothing here has much to do with the question; the nearest notes:");
    }
    // First, because nothing may follow a list that was cut.
    if let Some(more) = &reply.more {
        sheet.line(&format!("({})", one_line(more)));
    }
    sheet.items(reply.notes.iter().enumerate().map(|(idx, it)| {
        let place = place(&it.note.path, it.line);
        let score = (it.score != 0.0).then(|| format!("score {}", score(it.score)));
        let what = score.into_iter().chain((!it.is_whole).then(|| "excerpt".to_string()));
        let what = what.collect::<Vec<_>>().join(", ");
        let what = if what.is_empty() { what } else { format!(" ({what})") };
        let (title, vault) = (one_line(&it.note.title), one_line(&it.vault));
        let mut text = format!("{}. {title} [{vault}] {place}{what}", idx + 1);
        text += &tags(&it.tags);
        text += "\n";
        text + indented(it.content.trim_end(), "   ").trim_end()
    }));
    sheet.finish()
}

pub fn note(reply: &ReadNoteReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    let mut head = name(&reply.note);
    head += &tags(&reply.tags);
    sheet.line(&head);
    warnings(&reply.warnings, sheet);
    // The text itself matters more than these lines if room is short.
    let first = as_written(&reply.content)
        .trim_start_matches('\n')
        .lines()
        .next()
        .map_or(0, |it| it.chars().count());
    let needed = first + MAX_CONTINUE_CHARS + 2;
    let mut add = |line: &str| {
        if line.chars().count() + needed < sheet.room() {
            sheet.line(line);
        }
    };
    if let Some(permalink) = &reply.note.permalink {
        let checksum = if reply.checksum.is_empty() {
            String::new()
        } else {
            format!("  checksum {}", reply.checksum)
        };
        add(&format!("memory://{}{checksum}", one_line(permalink)));
    }
    let shown_already = ["title", "type", "tags", "permalink"];
    let stated = reply.metadata.iter().filter(|(key, _)| !shown_already.contains(&key.as_str()));
    let stated = stated.map(|(key, value)| match value.as_str() {
        Some(text) => format!("{}: {}", one_line(key), one_line(text)),
        None => format!("{}: {}", one_line(key), one_line(&value.to_string())),
    });
    let stated: Vec<String> = stated.collect();
    if !stated.is_empty() {
        add(&stated.join("; "));
    }
    content(reply, sheet);
    if !reply.backlinks.is_empty() {
        sheet.line("linked from:");
        sheet.items(by_place(&reply.backlinks).iter().map(backlink));
    }
    if let Some(truncated) = &reply.truncated {
        sheet.line(&format!("({})", one_line(truncated)));
    }
    sheet.finish()
}

/// Longest line that says where a note continues.
const MAX_CONTINUE_CHARS: usize = 64;

/// Adds as many whole lines of a note as fit, and where it continues. The structured form may hold more.
fn content(reply: &ReadNoteReply, sheet: &mut Sheet) {
    lines(&reply.content, reply.lines, reply.next_line, sheet);
}

/// The same of any text, of which the first and last line are given, and the next one.
pub(super) fn lines(text: &str, at: [u32; 2], next_line: Option<u32>, sheet: &mut Sheet) {
    let text = as_written(text);
    let body = text.trim_start_matches('\n');
    let first = at[0] + (text.len() - body.len()) as u32;
    let body = body.trim_end_matches('\n');
    if next_line.is_none() && sheet.has_room(body) {
        sheet.line(body);
        return;
    }
    let on =
        |last: u32, next: u32| format!("(lines {first}-{last}; continue with from_line {next})");
    let mut room = sheet.room().saturating_sub(MAX_CONTINUE_CHARS + 1);
    let mut shown = String::new();
    let mut next = first;
    for line in body.split('\n') {
        let n_chars = line.chars().count() + 1;
        if n_chars > room {
            break;
        }
        room -= n_chars;
        shown += line;
        shown.push('\n');
        next += 1;
    }
    let is_all = next - first == body.split('\n').count() as u32;
    match (is_all, next_line) {
        (true, None) => {}
        (true, Some(next)) => {
            sheet.line(&on(at[1], next));
        }
        (false, _) => {
            // Even a line longer than the budget is shown in part, so the next page starts behind it.
            next = next.max(first + 1);
            sheet.line(&on(next - 1, next));
        }
    }
    if shown.is_empty() {
        sheet.cut(body.split('\n').next().unwrap_or(""));
    } else {
        sheet.line(shown.trim_end_matches('\n'));
    }
}

/// A note for a person: its title and its text.
pub fn viewed(reply: &ReadNoteReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    let title = one_line(&reply.note.title);
    // Most notes begin with their title.
    let text = as_written(&reply.content);
    let heading = format!("# {title}");
    if text.trim_start().lines().next().is_none_or(|first| first.trim() != heading) {
        sheet.line(&heading);
    }
    content(reply, sheet);
    sheet.finish()
}

/// A file as it is.
pub fn raw(reply: &ReadContentReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    let (path, kind) = (one_line(&reply.path), one_line(&reply.content_type));
    sheet.line(&format!("{path} ({kind}, {} bytes)  checksum {}", reply.n_bytes, reply.checksum));
    lines(&reply.text, reply.lines, reply.next_line, sheet);
    sheet.finish()
}

pub fn written(reply: &WrittenReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    sheet.line(&format!(
        "{} {} ({})",
        one_line(&reply.action),
        one_line(&reply.path),
        one_line(&reply.title)
    ));
    if let Some(permalink) = &reply.permalink {
        let facts = count(reply.n_observations, "fact");
        let relations = count(reply.n_relations, "relation");
        sheet.line(&format!("memory://{}  {facts}, {relations}", one_line(permalink)));
    }
    if let Some(checksum) = &reply.checksum {
        sheet.line(&format!("checksum {checksum}"));
    }
    warnings(&reply.warnings, sheet);
    if !reply.unresolved.is_empty() {
        let targets: Vec<_> = reply.unresolved.iter().map(|it| one_line(it).into_owned()).collect();
        sheet.line(&format!("links to missing notes: {}", targets.join(", ")));
    }
    sheet.items(reply.changed.iter().map(changed));
    sheet.finish()
}

/// The lines as `diff` shows them.
fn changed(it: &ChangedLines) -> String {
    let marked = |mark: &str, text: &str| -> String {
        text.trim_end_matches('\n')
            .split('\n')
            .filter(|_| !text.is_empty())
            .map(|line| format!("\n  {mark} {}", one_line(line)))
            .collect()
    };
    format!("line {}:{}{}", it.line, marked("-", &it.before), marked("+", &it.after))
}

pub fn moved(reply: &MovedReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    let verb = if reply.dry_run { "would move" } else { "moved" };
    sheet.line(&format!("{verb} {} to {}", one_line(&reply.from), one_line(&reply.to)));
    if let Some(permalink) = &reply.permalink {
        sheet.line(&format!("memory://{}", one_line(permalink)));
    }
    if reply.rewritten.is_empty() {
        sheet.line("no link had to be rewritten");
    }
    sheet.items(reply.rewritten.iter().map(|it| {
        let path = one_line(&it.path);
        match &it.error {
            Some(error) if path.is_empty() => one_line(error).into_owned(),
            Some(error) => format!("{path}: {}", one_line(error)),
            None => format!(
                "{path}: {}",
                it.changed.iter().map(changed).collect::<Vec<_>>().join("\n  ")
            ),
        }
    }));
    sheet.finish()
}

pub fn context(reply: &ContextReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    if reply.n_notes > 1 {
        let next = reply.next_page.map(|it| format!("; more on page {it}")).unwrap_or_default();
        sheet.line(&format!("{}{next}", count(reply.n_notes, "note")));
    }
    if let Some(truncated) = &reply.truncated {
        sheet.line(&format!("({})", one_line(truncated)));
    }
    for it in &reply.notes {
        let mut head = name(&it.note);
        head += &tags(&it.tags);
        sheet.line(&head);
        sheet.cut(&indented(it.content.trim_end(), "  "));
        statements(&it.observations, &it.relations, sheet);
        if !it.stated_elsewhere.is_empty() {
            sheet.line("stated elsewhere:");
            sheet.items(it.stated_elsewhere.iter().map(|it| {
                let at =
                    it.evidence.first().map(|it| format!(" ({})", one_line(&it.source.place())));
                let [subject, object] = it.ends();
                let (subject, object) = (one_line(&subject), one_line(&object));
                format!(
                    "  {subject} → {} → {object}{}",
                    one_line(&it.predicate),
                    at.unwrap_or_default()
                )
            }));
        }
    }
    if !reply.related.is_empty() {
        sheet.line("near:");
        sheet.items(reply.related.iter().map(|it| {
            let summary = if it.summary.is_empty() {
                String::new()
            } else {
                format!("\n     {}", one_line(&it.summary))
            };
            let from =
                if it.depth > 1 { format!(" from {}", one_line(&it.from)) } else { String::new() };
            format!("  {} {}{from}{summary}", one_line(&it.by), name(&it.note))
        }));
    }
    sheet.finish()
}

pub fn backlinks(reply: &BacklinksReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    let path = one_line(&reply.path);
    match reply.backlinks.is_empty() {
        true => sheet.line(&format!("no other note links to {path}")),
        false => sheet.line(&format!("notes that link to {path}:")),
    };
    if let Some(next) = reply.next_page {
        sheet.line(&format!("(more on page {next})"));
    }
    sheet.items(by_place(&reply.backlinks).iter().map(backlink));
    sheet.finish()
}

pub fn directory(reply: &DirectoryReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    let path =
        if reply.path.is_empty() { "/".to_string() } else { one_line(&reply.path).into_owned() };
    let next = reply.next_page.map(|it| format!("; more on page {it}")).unwrap_or_default();
    let entries = if reply.n_entries == 1 {
        "1 entry".to_string()
    } else {
        format!("{} entries", reply.n_entries)
    };
    sheet.line(&format!("{path}: {entries}{next}"));
    sheet.items(reply.entries.iter().map(|it| match (it.kind.as_str(), it.n_files) {
        ("directory", n) => {
            format!("  {}/  ({})", one_line(&it.path), count(n.unwrap_or(0), "file"))
        }
        _ => {
            let title = it.title.as_deref().unwrap_or_default();
            let day = it.modified.as_deref().and_then(|it| it.get(..10)).unwrap_or_default();
            format!("  {}  {}  {day}", one_line(&it.path), one_line(title))
        }
    }));
    sheet.finish()
}

pub fn list(reply: &NotesReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    let since = reply
        .since
        .as_ref()
        .map(|it| format!(" modified since {}", one_line(it)))
        .unwrap_or_default();
    let next = reply.next_page.map(|it| format!("; more on page {it}")).unwrap_or_default();
    let what = if reply.since.is_some() { "document" } else { "note" };
    sheet.line(&format!("{}{since}{next}", count(reply.n_notes, what)));
    sheet.items(reply.notes.iter().map(|it| {
        let modified = reply.since.as_ref().and(it.modified.as_ref());
        let modified = modified.map(|it| format!("  {}", one_line(it))).unwrap_or_default();
        format!("  {}{modified}", name(it))
    }));
    if !reply.statements.is_empty() {
        sheet.line("stated there:");
        sheet.items(reply.statements.iter().map(|it| format!("  {}", result(it))));
    }
    sheet.finish()
}

pub fn projects(reply: &ProjectsReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    sheet.items(reply.projects.iter().map(|it| {
        let mut marks = Vec::new();
        if it.is_current {
            marks.push("this session".to_string());
        }
        if it.is_default {
            marks.push("default".to_string());
        }
        if it.is_read_only {
            marks.push("read-only".to_string());
        }
        if !it.is_active {
            marks.push("folder missing".to_string());
        }
        if let (Some(documents), Some(entities)) = (it.n_documents, it.n_entities) {
            marks.push(count(documents, "document"));
            marks.push(if entities == 1 {
                "1 entity".to_string()
            } else {
                format!("{entities} entities")
            });
        }
        let marks =
            if marks.is_empty() { String::new() } else { format!("  ({})", marks.join(", ")) };
        format!("{}  {}{marks}", stored_line(&it.name), one_line(&it.path))
    }));
    sheet.finish()
}

pub fn created_project(reply: &CreatedProjectReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    let verb = if reply.is_new { "registered" } else { "registered already:" };
    sheet.line(&format!("{verb} {}  {}", stored_line(&reply.name), one_line(&reply.path)));
    sheet.line(&one_line(&reply.hint));
    sheet.finish()
}

pub fn instructions(reply: &InstructionsReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    sheet.cut(&as_written(reply.text.trim_end()));
    sheet.items(
        reply.settings.iter().map(|(key, value)| format!("{}: {}", one_line(key), one_line(value))),
    );
    sheet.finish()
}
