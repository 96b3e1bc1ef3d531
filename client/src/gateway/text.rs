//! Text: renders an answer of several projects.
//!
//! In: the merged answer, projects without one. Out: text within the budget, and how many hits it shows.
//! Invariants: each place is preceded by its project; omitted hits are counted; text of documents
//! cannot break a line, move a cursor or change the reading direction.

use proto::shape::{aside, place};
use proto::tool::core::StatementView;
use serde_json::{Map, Value};

use super::cursor::Onward;
use super::same;
use super::served::Served;
use super::spread::Spread;
use super::trouble::Trouble;
use crate::render::clean;

/// Characters kept free for `… 9,999 more`.
const COUNT_CHARS: usize = 16;

/// Entities listed below the hits of a question.
const MAX_ENTITIES: usize = 8;

/// Further passages listed below an answer.
const MAX_PASSAGES: usize = 4;

/// A text under construction.
struct Sheet {
    text: String,
    n_left: usize,
}

impl Sheet {
    fn line(&mut self, line: &str) -> bool {
        let n = line.chars().count() + 1;
        let fits = n <= self.n_left;
        if fits {
            self.n_left -= n;
            self.text.push_str(line);
            self.text.push('\n');
        }
        fits
    }

    fn cut(&mut self, text: &str) {
        if !self.line(text) && self.n_left > 2 {
            let part: String = text.chars().take(self.n_left - 2).collect();
            self.line(&format!("{part}…"));
        }
    }
}

/// Renders the merged answer `out`; returns the text and how many of its hits it shows.
pub(super) fn write(
    spread: &Spread,
    out: &Map<String, Value>,
    troubles: &[(Onward, Trouble)],
    served: &Served,
) -> (String, usize) {
    let field = |name: &str| out.get(name).and_then(Value::as_str).map(clean);
    let footer: String = footer(out).chars().take(spread.max_chars / 4).collect();
    let more = field("next_cursor").map(|it| format!("more: the same question with cursor {it}"));
    // A tiny budget is for hits; the structured form also has the cursor.
    let more = more.filter(|it| it.chars().count() <= spread.max_chars / 2);
    let kept = footer.chars().count() + more.as_ref().map_or(0, |it| it.chars().count() + 1);
    let n_left = spread.max_chars.saturating_sub(kept + COUNT_CHARS);
    let mut sheet = Sheet { text: String::new(), n_left };
    for (target, trouble) in troubles {
        sheet.cut(&trouble.line(served.name(target.project)));
    }
    if let Some(plan) = field("plan") {
        sheet.cut(&format!("plan: {plan} ({})", field("reason").unwrap_or_default()));
    }
    for note in [field("relaxed"), field("hint")].into_iter().flatten() {
        sheet.cut(&format!("({note})"));
    }
    let none = Vec::new();
    let hits = out.get(spread.spec.hits).and_then(Value::as_array).unwrap_or(&none);
    if let Some(counts) = counts(out) {
        sheet.cut(&counts);
    } else if hits.is_empty() {
        sheet.line("nothing found");
    } else if out.get("nothing_relevant") == Some(&Value::Bool(true)) {
        sheet.line("nothing here has much to do with the question; the nearest passages:");
    }
    for line in conflicts(out) {
        sheet.line(&line);
    }
    let mut n_shown = 0;
    for (idx, hit) in hits.iter().enumerate() {
        let block = block(spread.n_skipped + idx + 1, hit);
        if idx == 0 {
            sheet.cut(&block);
        } else if !sheet.line(&block) {
            break;
        }
        n_shown += 1;
    }
    if n_shown < hits.len() {
        sheet.text += &format!("… {} more\n", hits.len() - n_shown);
        sheet.n_left = 0;
    }
    for part in [
        passages(out),
        entities(spread, out),
        deleted(out),
        hints(out),
        pages(out),
        field("more").map(Into::into),
        field("asked").map(|it| format!("({it})")),
    ] {
        part.into_iter().for_each(|part| _ = sheet.line(&part));
    }
    if let Some(more) = more {
        sheet.text += &(more + "\n");
    }
    if let Some(truncated) = field("truncated") {
        sheet.line(&format!("({truncated})"));
    }
    (sheet.text + &footer, n_shown)
}

/// Renders `(alpha tick 12, beta tick 7; indexed 3 of 9)`.
fn footer(out: &Map<String, Value>) -> String {
    let rows = out.get("projects").and_then(Value::as_array).into_iter().flatten();
    let row = |row: &Value| {
        let name = row.get("project").and_then(Value::as_str).map(clean).unwrap_or_default();
        let building =
            row.get("building").and_then(Value::as_str).map(|it| format!("; {}", clean(it)));
        let tick = row.get("tick").and_then(Value::as_u64).unwrap_or(0);
        format!("{name} tick {tick}{}", building.unwrap_or_default())
    };
    format!("({})", rows.map(row).collect::<Vec<_>>().join(", "))
}

/// Renders `1. [alpha] docs/keys.md:12-18 § Rotation (score .83; weak)` and the words below it; for an entity its name
/// and type.
fn block(rank: usize, hit: &Value) -> String {
    let text = |name: &str| hit.get(name).and_then(Value::as_str).filter(|it| !it.is_empty());
    let mut head = format!("{rank}. [{}] ", clean(text("project").unwrap_or_default()));
    if let (Some(words), Some(_)) = (text("text"), text("kind")) {
        return head + &statement(hit, words);
    }
    if let (Some(kind), Some(at)) = (text("kind"), text("at")) {
        return format!("{head}{} {} ({})", clean(kind), change(hit), clean(at))
            + &changed_lines(hit);
    }
    match ["short_title", "entity_type", "name", "path"].map(text) {
        [Some(_), ..] => head += &entry(hit),
        [_, Some(_), Some(_), _] => head += &node(hit),
        [_, _, Some(_), _] => head += &entity(hit),
        [.., Some(_)] => head += &note(hit),
        _ => head += &clean(&hit.to_string()),
    }
    let score = hit.get("score").and_then(Value::as_f64).filter(|it| *it != 0.0).map(|it| {
        let shown = format!("{it:.2}");
        let weak = if hit.get("weak") == Some(&Value::Bool(true)) { "; weak" } else { "" };
        format!(" (score {}{weak})", shown.strip_prefix('0').unwrap_or(&shown))
    });
    head += &score.unwrap_or_default();
    let same = hit.get("same_as").and_then(same::line);
    head += &same.map(|it| format!("\n   {it}")).unwrap_or_default();
    let words = ["snippet", "content", "matched_observation", "long_title"];
    let words = words.iter().find_map(|name| text(name)).unwrap_or_default();
    for line in words.lines().map(str::trim_end).filter(|line| !line.trim().is_empty()) {
        head += "\n   ";
        head += &clean(line);
    }
    head
}

/// Renders a statement of an answer: `Keys rotate yearly. (ops/keys.md:12, 2026-03-01)`.
fn statement(hit: &Value, words: &str) -> String {
    let text = |name: &str| hit.get(name).and_then(Value::as_str).filter(|it| !it.is_empty());
    let view: StatementView = serde_json::from_value(hit.clone()).unwrap_or_default();
    let words = view.quote().map(|_| words);
    let lines: Vec<_> = words.unwrap_or_default().lines().map(|it| clean(it.trim_end())).collect();
    let claim = text("claim").map(|claim| clean(claim).into_owned());
    let between = if claim.is_some() && words.is_some() { " — " } else { "" };
    let mut out = claim.unwrap_or_default() + between;
    for (at, line) in lines.iter().enumerate() {
        out += if at == 0 { "" } else { "\n" };
        out += if at == 0 || line.is_empty() { "" } else { "   " };
        out += line;
    }
    let mut at: Vec<String> = vec![note(hit)];
    at.extend(text("date").map(|_| clean(&view.day()).into_owned()));
    out += if lines.len() > 1 { "\n   " } else { " " };
    out += &format!("({})", at.join(", "));
    let newer = hit.get("superseded_by").and_then(Value::as_array).into_iter().flatten();
    let newer: Vec<&str> = newer.filter_map(Value::as_str).collect();
    if !newer.is_empty() {
        out += &format!(" — superseded by {}", clean(&newer.join(", ")));
    }
    out
}

/// Renders `drafts/a.md → notes/a.md`.
fn change(hit: &Value) -> String {
    let text = |name: &str| hit.get(name).and_then(Value::as_str).map(clean);
    let was = text("was_path").map(|was| format!("{was} → ")).unwrap_or_default();
    was + &text("path").unwrap_or_default()
}

/// Renders `− 4: - [role] Reviewer`, one line each; lines of an added document have no signs.
fn changed_lines(hit: &Value) -> String {
    let lines = hit.get("lines").and_then(Value::as_array).into_iter().flatten();
    let is_added = hit.get("kind").and_then(Value::as_str) == Some("added");
    let mut out = String::new();
    for line in lines {
        let is_gone = line.get("gone") == Some(&Value::Bool(true));
        let sign = match (is_added, is_gone) {
            (true, _) => "",
            (false, true) => "− ",
            (false, false) => "+ ",
        };
        let number = line.get("line").and_then(Value::as_u64).map(|it| format!("{it}: "));
        let words = line.get("text").and_then(Value::as_str).map(clean).unwrap_or_default();
        out += &format!("\n   {sign}{}{words}", number.unwrap_or_default());
    }
    let n_more = hit.get("n_more_lines").and_then(Value::as_u64).unwrap_or(0);
    out + &if n_more > 0 { format!("\n   and {n_more} more") } else { String::new() }
}

/// Renders `Changes since yesterday: 3 added, 1 removed`.
fn counts(out: &Map<String, Value>) -> Option<String> {
    let since = clean(out.get("since")?.as_str()?);
    let counted = ["added", "changed", "moved", "removed"].into_iter().filter_map(|what| {
        let n = out.get(&format!("n_{what}"))?.as_u64()?;
        (n > 0).then(|| format!("{n} {what}"))
    });
    let counted: Vec<String> = counted.collect();
    out.contains_key("n_added").then(|| match counted.is_empty() {
        true => format!("No changes since {since}"),
        false => format!("Changes since {since}: {}", counted.join(", ")),
    })
}

/// Renders `1 and 3 contradict each other: the numbers differ`.
fn conflicts(out: &Map<String, Value>) -> Vec<String> {
    let list = out.get("conflicts").and_then(Value::as_array).into_iter().flatten();
    let line = |it: &Value| {
        let why = it.get("why").and_then(Value::as_str).map(clean).unwrap_or_default();
        let [one, other] = [0, 1].map(|at| it["statements"][at].as_u64().unwrap_or_default());
        format!("{one} and {other} contradict each other: {why}")
    };
    list.map(line).collect()
}

/// Renders `more (`read_passage`): [alpha] ops/keys.md:10-24`.
fn passages(out: &Map<String, Value>) -> Option<String> {
    let list = out.get("passages")?.as_array()?;
    let text =
        |it: &Value, name: &str| it[name].as_str().map(clean).unwrap_or_default().into_owned();
    let named = list.iter().take(MAX_PASSAGES);
    let named: Vec<String> =
        named.map(|it| format!("[{}] {}", text(it, "project"), text(it, "at"))).collect();
    (!named.is_empty()).then(|| format!("more (`read_passage`): {}", named.join("; ")))
}

/// Renders `kb-00042 decision: WAL mode kb/kb-00042-wal-mode.md`.
fn entry(hit: &Value) -> String {
    let text = |name: &str| hit.get(name).and_then(Value::as_str).unwrap_or_default();
    let (id, kind, title) = (text("id"), text("entry_type"), text("short_title"));
    clean(&format!("{id} {kind}: {title} {}", text("path"))).into_owned()
}

/// Renders `Ada Lovelace (person) memory/ada-lovelace.md`.
fn node(hit: &Value) -> String {
    let text = |name: &str| hit.get(name).and_then(Value::as_str).unwrap_or_default();
    let (name, kind) = (text("name"), text("entity_type"));
    clean(&format!("{name} ({kind}) {}", text("path"))).into_owned()
}

/// Renders `docs/keys.md:12-18 § Rotation`, or `docs/keys.md “Keys” 2026-01-31`.
fn note(hit: &Value) -> String {
    let text = |name: &str| hit.get(name).and_then(Value::as_str).filter(|it| !it.is_empty());
    let number = |value: Option<&Value>| value.and_then(Value::as_u64).map(|n| n as u32);
    let pair = |name: &str| {
        hit.get(name).and_then(Value::as_array).map(|it| [number(it.first()), number(it.get(1))])
    };
    let lines = match (pair("lines"), number(hit.get("line"))) {
        (Some([Some(first), Some(last)]), _) => [first, last],
        (_, Some(line)) => [line, line],
        _ => [0, 0],
    };
    let mut out = place(text("path").unwrap_or_default(), lines, pair("pages").unwrap_or_default());
    if let Some(section) = text("section") {
        out += &format!(" § {section}");
    } else if let Some(title) = text("title") {
        out += &format!(" “{title}”");
    }
    for (name, around) in [("category", ["[", "]"]), ("relation", ["→ ", ""])] {
        if let Some(value) = text(name) {
            out += &format!(" {}{value}{}", around[0], around[1]);
        }
    }
    if hit.get("score").is_none()
        && let Some(modified) = text("modified")
    {
        out += &format!(" {modified}");
    }
    clean(&out).into_owned()
}

/// Renders `Key Store (Service, id 12, stores/key.md) also: the store`.
fn entity(hit: &Value) -> String {
    let text = |name: &str| hit.get(name).and_then(Value::as_str).unwrap_or_default();
    let id = hit.get("id").and_then(Value::as_i64).map(|id| format!("id {id}"));
    let about = aside(&[text("type"), &id.unwrap_or_default(), text("path")]);
    let aliases = hit.get("aliases").and_then(Value::as_array).into_iter().flatten();
    let aliases: Vec<&str> = aliases.filter_map(Value::as_str).take(5).collect();
    let also =
        if aliases.is_empty() { String::new() } else { format!(" also: {}", aliases.join(", ")) };
    clean(&format!("{}{about}{also}", text("name"))).into_owned()
}

fn entities(spread: &Spread, out: &Map<String, Value>) -> Option<String> {
    let list = out.get("entities").filter(|_| spread.spec.hits != "entities")?.as_array()?;
    let named = list.iter().take(MAX_ENTITIES).map(|it| {
        let text = |name: &str| it.get(name).and_then(Value::as_str).unwrap_or_default();
        clean(&format!("{} ({}, [{}])", text("name"), text("type"), text("project"))).into_owned()
    });
    let rest = list.len().saturating_sub(MAX_ENTITIES);
    let rest = if rest > 0 { format!(", … {rest} more") } else { String::new() };
    let named: Vec<_> = named.collect();
    (!named.is_empty()).then(|| format!("entities: {}{rest}", named.join(", ")))
}

fn deleted(out: &Map<String, Value>) -> Option<String> {
    let list: Vec<&str> =
        out.get("deleted")?.as_array()?.iter().filter_map(Value::as_str).collect();
    Some(clean(&format!("deleted: {}", list.join(", "))).into_owned())
}

/// Renders the hints that come from the graph of each project's entries.
fn hints(out: &Map<String, Value>) -> Option<String> {
    let list = out.get("hints")?.as_array()?.iter().filter_map(Value::as_str);
    Some(list.map(clean).collect::<Vec<_>>().join("\n"))
}

fn pages(out: &Map<String, Value>) -> Option<String> {
    let page = out.get("page").and_then(Value::as_u64).unwrap_or(1);
    let next = match out.get("next_page").and_then(Value::as_u64) {
        Some(next) => next,
        None if out.get("has_more") == Some(&Value::Bool(true)) => page + 1,
        None => return None,
    };
    Some(format!("more: page {next}"))
}
