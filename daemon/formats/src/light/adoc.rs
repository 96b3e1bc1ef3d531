//! AsciiDoc: what its lines and inline marks mean.

use super::inline::{Inlines, Inside, InsideKind, may_open};
use super::{Found, Light, LightState, Lines};
use crate::target::Target;
use model::document::InlineKind;

pub(crate) static ADOC: Light = Light {
    keys: &["author", "date", "revdate", "lang", "title", "keywords", "tags"],
    slack: 0,
    classify,
    define,
    inlines: Inlines {
        starts: b"`*hlxm<{",
        pairs: &[("`", InlineKind::Code, false), ("*", InlineKind::Bold, false)],
        find: inside,
    },
};

/// What a block between two equal lines holds.
#[derive(Clone, Copy, PartialEq)]
enum Holds {
    Code,
    Comment,
    /// An example, a sidebar, a quotation.
    Text,
}

/// The signs of which the lines around a block are drawn.
const FENCES: &[(char, Holds)] = &[
    ('-', Holds::Code),
    ('.', Holds::Code),
    ('+', Holds::Code),
    ('/', Holds::Comment),
    ('=', Holds::Text),
    ('*', Holds::Text),
    ('_', Holds::Text),
];
/// Lines that are not shown: rules, page breaks, open blocks, list continuations.
const DROPPED: &[&str] = &["'''", "<<<", "--", "+"];
/// Beginnings of lines that are not shown: comments and includes.
const DROPPED_STARTS: &[&str] = &["//", "include::"];
/// What a link begins with, and whether that is part of the address.
const LINKS: &[(&str, bool)] =
    &[("link:", false), ("xref:", false), ("http://", true), ("https://", true), ("mailto:", true)];

fn classify(lines: &Lines<'_>, at: usize, state: &mut LightState) -> Found {
    let text = lines.get(at).trim_ascii_end();
    if let Some(heading) = heading(lines, at) {
        let is_title = matches!(heading, Found::Heading { level: 1, .. });
        state.head = (is_title && state.head.is_none()).then_some(at + 1);
        return heading;
    }
    if state.head == Some(at) && head_line(text, state) {
        state.head = Some(at + 1);
        return Found::Drop(at + 1);
    }
    if text == "|===" {
        state.in_table = !state.in_table;
        state.n_rows = 0;
        return Found::Drop(at + 1);
    }
    if let Some(row) = text.strip_prefix('|').filter(|_| state.in_table) {
        state.n_rows += 1;
        // The first row is a header if a blank line follows it.
        let is_header = state.n_rows == 1 && lines.is_blank(at + 1);
        return lines.row(at, row.split('|'), is_header);
    }
    if let Some(block) = block(lines, at, text, state) {
        return block;
    }
    if DROPPED.contains(&text) || DROPPED_STARTS.iter().any(|start| text.starts_with(start)) {
        return Found::Drop(at + 1);
    }
    if let Some((key, value)) = text.strip_prefix(':').and_then(|it| it.split_once(':')) {
        state.note(key, value);
        return Found::Drop(at + 1);
    }
    // A line of block attributes; only the language of code is used.
    if text.starts_with('[') && text.ends_with(']') {
        state.language = language_of(text);
        return Found::Drop(at + 1);
    }
    if let Some(path) = text.strip_prefix("image::").and_then(|rest| rest.split('[').next()) {
        return Found::Refer { paths: vec![path.to_string()], is_embed: true, end: at + 1 };
    }
    match item(lines, at).unwrap_or_else(|| lines.item(at, &[])) {
        // `.Title` of a block is text; `. item` and `..` are not.
        Found::Text if text.len() > 1 && text.starts_with('.') && !text.starts_with("..") => {
            Found::TextFrom(lines.range(at).start + 1)
        }
        found => found,
    }
}

fn heading(lines: &Lines<'_>, at: usize) -> Option<Found> {
    let line = lines.get(at);
    let sign = line.bytes().next().filter(|byte| *byte == b'=' || *byte == b'#')?;
    let n_signs = line.bytes().take_while(|byte| *byte == sign).count();
    let text = line.get(n_signs..)?.strip_prefix(' ')?.trim_ascii();
    let is_heading = n_signs <= 6 && !text.is_empty();
    let level = u8::try_from(n_signs).unwrap_or(6);
    is_heading.then(|| Found::Heading { level, text: lines.place(at, text), n_lines: 1 })
}

/// Reads a block that begins with a line of at least four equal signs, or with three backticks.
fn block(lines: &Lines<'_>, at: usize, text: &str, state: &mut LightState) -> Option<Found> {
    let sign = text.chars().next()?;
    let is_drawn = text.len() >= 4 && text.chars().all(|c| c == sign);
    let (close, holds) = match text.strip_prefix("```") {
        Some(language) => {
            state.language = language.trim_start_matches('`').trim_ascii().to_string();
            ("```", Holds::Code)
        }
        None => (text, FENCES.iter().find(|(known, _)| is_drawn && *known == sign)?.1),
    };
    if holds == Holds::Text {
        return Some(Found::Drop(at + 1));
    }
    let language = std::mem::take(&mut state.language);
    let language = (holds == Holds::Code).then_some(&*language);
    Some(lines.block(at, language, |line| line.trim_ascii_end() == close))
}

/// Reads the line of the author or of the revision, which follow the title: `Ada Moreno <ada@x.org>`, `v1.0,
/// 2026-03-01`. Returns whether it is one.
fn head_line(text: &str, state: &mut LightState) -> bool {
    let has = |key: &str| state.meta.iter().any(|(known, _)| known == key);
    let (has_author, name) = (has("author"), text.split('<').next().unwrap_or(text).trim_ascii());
    let is_number = |it: &str| it.trim_start_matches('v').starts_with(|c: char| c.is_ascii_digit());
    if !has_author {
        // One to three words, with or without an address.
        let is_name = (1..=3).contains(&name.split(' ').count())
            && name.split(' ').all(|it| it.starts_with(char::is_uppercase))
            && (text.ends_with('>') || text == name);
        if is_name {
            state.note("author", name);
        }
        return is_name;
    }
    let date = text.split_once(',').map_or(text, |(_, date)| date).split(':').next();
    let date = date.map(str::trim_ascii).filter(|it| is_number(text) && !it.is_empty());
    date.map(|date| state.note("revdate", date)).is_some()
}

/// Reads `:name: value`.
fn define(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.strip_prefix(':')?.split_once(": ")?;
    Some((name, value.trim_ascii()))
}

/// Returns the language of `[source,rust]`.
fn language_of(text: &str) -> String {
    let mut words = text.trim_matches(['[', ']']).split(',').map(str::trim_ascii);
    match words.next() {
        Some("source" | "listing" | "%linenums") => words.next().unwrap_or("").to_string(),
        _ => String::new(),
    }
}

/// Reads an item: `* item`, `** deeper`, `. numbered`, `- item`.
fn item(lines: &Lines<'_>, at: usize) -> Option<Found> {
    let text = lines.text(at);
    let sign = text.chars().next().filter(|sign| ['*', '.', '-'].contains(sign))?;
    let rest = text.trim_start_matches(sign);
    let n_signs = text.len() - rest.len();
    let shown = rest.strip_prefix(' ')?.trim_ascii_start();
    // Without the box of a task.
    let boxes = ["[x] ", "[ ] ", "[*] "];
    let shown = boxes.iter().find_map(|it| shown.strip_prefix(it)).unwrap_or(shown);
    // `.` numbers automatically; the builder counts on from 1.
    let ordinal = (sign == '.').then_some(1);
    let text = lines.place(at, shown).start;
    (n_signs <= 5 && !shown.is_empty()).then_some(Found::Item {
        indent: n_signs - 1,
        ordinal,
        text,
    })
}

/// Reads the inline mark at the start of `text`; `before` is the character before it.
fn inside(text: &str, before: Option<char>) -> Option<Inside> {
    if text.starts_with("<<") {
        let inner = text.get(2..)?;
        let end = inner.find(">>")?;
        let inner = inner.get(..end)?;
        // `<<id,text>>` shows the text, `<<id>>` the id.
        let (id, shown) = inner.split_once(',').map_or((inner, 0), |(id, _)| (id, id.len() + 1));
        // An id with `#` is that of a place in another document.
        let target = Some(id).filter(|id| id.contains('#')).and_then(Target::of_address);
        let kind = InsideKind::Link(target);
        return Some(Inside { n_bytes: 2 + end + 2, text: 2 + shown..2 + end, kind });
    }
    if let Some(rest) = text.strip_prefix('{') {
        let name = rest.get(..rest.find('}')?)?;
        let kind = InsideKind::Name;
        return Some(Inside { n_bytes: name.len() + 2, text: 1..1 + name.len(), kind });
    }
    link(text).filter(|_| may_open(before))
}

/// Reads a link: `link:path[text]`, `xref:path#part[text]`, `https://…[text]`.
fn link(text: &str) -> Option<Inside> {
    let (prefix, is_shown) = LINKS.iter().find(|(prefix, _)| text.starts_with(prefix))?;
    let n_prefix = if *is_shown { 0 } else { prefix.len() };
    // White space before `[` means that this is not a link.
    let open = text.find(['[', ' ', '\n']).filter(|at| text.as_bytes().get(*at) == Some(&b'['))?;
    let end = open + text.get(open..)?.find(']')?;
    let target = Target::of_address(text.get(n_prefix..open)?);
    // `[]` shows the address.
    let shown = if end > open + 1 { open + 1..end } else { n_prefix..open };
    Some(Inside { n_bytes: end + 1, text: shown, kind: InsideKind::Link(target) })
}
