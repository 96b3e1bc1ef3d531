//! AsciiDoc: what its lines and inline marks mean.

use super::inline::{Inlines, Inside, InsideKind, between, may_open};
use super::{Found, Light, LightState, Lines};
use crate::target::Target;
use model::document::InlineKind;

pub(crate) static ADOC: Light =
    Light { classify, define, inlines: Inlines { starts: b"`*hlxm<{", find: inside } };

fn classify(lines: &Lines<'_>, at: usize, state: &mut LightState) -> Found {
    let line = lines.get(at);
    let text = line.trim_ascii_end();
    if text.trim_ascii_start().is_empty() {
        return Found::Blank;
    }
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
    if state.in_table && text.starts_with('|') {
        state.n_rows += 1;
        let cells =
            text.get(1..).unwrap_or("").split('|').map(|cell| lines.place(at, cell)).collect();
        // The first row is a header if a blank line follows it.
        return Found::Row { cells, is_header: state.n_rows == 1 && lines.is_blank(at + 1) };
    }
    // `//` is a comment; `////` opens a comment block and is handled as a fence.
    if text.starts_with("//") && !text.starts_with("////") {
        return Found::Drop(at + 1);
    }
    if let Some(fence) = fence(text) {
        return fenced(lines, at, fence, state);
    }
    if let Some((key, value)) = attribute(text) {
        state.meta.push((key.to_lowercase(), value.to_string()));
        return Found::Drop(at + 1);
    }
    // A line of block attributes; only the language of code is used.
    if text.starts_with('[') && text.ends_with(']') {
        state.language = language_of(text);
        return Found::Drop(at + 1);
    }
    if let Some(path) = text.strip_prefix("image::").and_then(|rest| rest.split('[').next()) {
        return Found::Embed(path.to_string(), at + 1);
    }
    // Unknown attributes, includes, rules, page breaks and list continuations.
    if text.starts_with(':')
        || text.starts_with("include::")
        || text == "'''"
        || text == "<<<"
        || text == "+"
    {
        return Found::Drop(at + 1);
    }
    if let Some(offset) = admonition(text) {
        return Found::TextFrom(lines.range(at).start + offset);
    }
    match item(lines, at) {
        Some(item) => item,
        // `.Title` of a block is text; `. item` and `..` are not.
        None if text.starts_with('.')
            && text.len() > 1
            && !text.starts_with(". ")
            && !text.starts_with("..") =>
        {
            Found::TextFrom(lines.range(at).start + 1)
        }
        None => Found::Text,
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

/// Returns the line if it opens or closes a block.
fn fence(text: &str) -> Option<&str> {
    let is = |byte: u8, n: usize| text.len() >= n && text.bytes().all(|b| b == byte);
    let is_code = is(b'-', 4) || is(b'.', 4) || is(b'/', 4) || is(b'+', 4);
    let is_open = text == "--" || is(b'=', 4) || is(b'*', 4) || is(b'_', 4);
    let is_ticks = text.starts_with("```");
    (is_code || is_open || is_ticks).then_some(text)
}

fn fenced(lines: &Lines<'_>, at: usize, fence: &str, state: &mut LightState) -> Found {
    let language = std::mem::take(&mut state.language);
    if !fence.starts_with(['-', '.', '/', '+', '`']) || fence == "--" {
        // The content of examples, sidebars and quotations is text.
        return Found::Drop(at + 1);
    }
    let close = if fence.starts_with('`') { "```" } else { fence };
    let end = lines.find(at + 1, |line| line.trim_ascii_end() == close);
    let after = (end + 1).min(lines.len());
    // A comment block.
    if fence.starts_with('/') {
        return Found::Drop(after);
    }
    let ticked = fence.trim_start_matches('`').trim_ascii();
    let language = if fence.starts_with('`') { ticked.to_lowercase() } else { language };
    Found::Code { language, lines: at + 1..end, end: after }
}

/// Reads an attribute such as `:author: Ada`; `None` for unknown keys.
fn attribute(text: &str) -> Option<(&str, &str)> {
    let (key, value) = text.strip_prefix(':')?.split_once(": ")?;
    let is_known =
        ["author", "date", "revdate", "lang", "title", "keywords", "tags"].contains(&key);
    is_known.then_some((key, value.trim_ascii()))
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
            state.meta.push(("author".to_string(), name.to_string()));
        }
        return is_name;
    }
    let date = text.split_once(',').map_or(text, |(_, date)| date).split(':').next();
    let date = date.map(str::trim_ascii).filter(|it| is_number(text) && !it.is_empty());
    state.meta.extend(date.map(|it| ("revdate".to_string(), it.to_string())));
    date.is_some()
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
        Some("source" | "listing" | "%linenums") => words.next().unwrap_or("").to_lowercase(),
        _ => String::new(),
    }
}

/// Returns where the text of `NOTE: text` begins; the word stays part of the text, so that is always 0.
fn admonition(text: &str) -> Option<usize> {
    let words = ["NOTE: ", "TIP: ", "IMPORTANT: ", "WARNING: ", "CAUTION: "];
    words.iter().find(|word| text.starts_with(**word)).map(|_| 0)
}

/// Reads an item: `* item`, `** deeper`, `. numbered`, `- item`, `1. item`.
fn item(lines: &Lines<'_>, at: usize) -> Option<Found> {
    let line = lines.get(at);
    let text = line.trim_ascii_start();
    let first = text.bytes().next()?;
    if first == b'*' || first == b'.' || first == b'-' {
        let n_signs = text.bytes().take_while(|byte| *byte == first).count();
        let rest = text.get(n_signs..)?;
        let shown = rest.strip_prefix(' ')?.trim_ascii_start();
        let shown =
            // Without the box of a task.
            ["[x] ", "[ ] ", "[*] "].iter().find_map(|b| shown.strip_prefix(b)).unwrap_or(shown);
        let is_item = n_signs <= 5 && !shown.is_empty();
        let offset = line.len() - shown.len();
        // `.` numbers automatically; the builder counts on from 1.
        let ordinal = (first == b'.').then_some(1);
        return is_item.then(|| Found::Item {
            indent: n_signs,
            ordinal,
            text: lines.range(at).start + offset,
        });
    }
    let (ordinal, offset) = super::marker(line, &[])?;
    Some(Found::Item { indent: 1, ordinal, text: lines.range(at).start + offset })
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
        let kind = match id.contains('#') {
            true => InsideKind::Link(Target::of_address(id)),
            false => InsideKind::Plain,
        };
        return Some(Inside { n_bytes: 2 + end + 2, text: 2 + shown..2 + end, kind });
    }
    if let Some(rest) = text.strip_prefix('{') {
        let name = rest.get(..rest.find('}')?)?;
        let kind = InsideKind::Name;
        return Some(Inside { n_bytes: name.len() + 2, text: 1..1 + name.len(), kind });
    }
    if !may_open(before) {
        return None;
    }
    match text.as_bytes().first()? {
        b'`' => between(text, "`", InlineKind::Code),
        b'*' => between(text, "*", InlineKind::Bold),
        _ => link(text),
    }
}

/// Reads a link: `link:path[text]`, `xref:path#part[text]`, `https://…[text]`.
fn link(text: &str) -> Option<Inside> {
    let prefix = ["link:", "xref:", "http://", "https://", "mailto:"]
        .iter()
        .find(|p| text.starts_with(**p))?;
    // `link:` and `xref:` are not part of the address; the scheme of a URL is.
    let n_prefix = if prefix.ends_with("//") || *prefix == "mailto:" { 0 } else { prefix.len() };
    // White space before `[` means that this is not a link.
    let open = text.find(['[', ' ', '\n']).filter(|at| text.as_bytes().get(*at) == Some(&b'['))?;
    let end = open + text.get(open..)?.find(']')?;
    let target = Target::of_address(text.get(n_prefix..open)?);
    // `[]` shows the address.
    let shown = if end > open + 1 { open + 1..end } else { n_prefix..open };
    Some(Inside { n_bytes: end + 1, text: shown, kind: InsideKind::Link(target) })
}
