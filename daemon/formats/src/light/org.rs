//! Org: what its lines and inline marks mean.

use super::inline::{Inlines, Inside, InsideKind, between, may_open};
use super::{Found, Light, LightState, Lines, cells_between, marker};
use crate::target::Target;
use model::document::InlineKind;

pub(crate) static ORG: Light =
    Light { classify, define: |_| None, inlines: Inlines { starts: b"[=~*", find: inside } };

/// Keywords and properties that say something about the document.
const META: &[&str] =
    &["title", "author", "date", "language", "filetags", "keywords", "id", "roam_aliases"];

/// Task states that may come before a heading's text.
const STATES: &[&str] = &["TODO ", "DONE ", "NEXT ", "WAITING ", "CANCELLED ", "CANCELED "];

fn classify(lines: &Lines<'_>, at: usize, state: &mut LightState) -> Found {
    let line = lines.get(at);
    let text = line.trim_ascii();
    if text.is_empty() {
        return Found::Blank;
    }
    if line.starts_with('*')
        && let Some(heading) = heading(lines, at, state)
    {
        return heading;
    }
    if let Some(keyword) = text.strip_prefix("#+") {
        return keyword_line(lines, at, keyword, state);
    }
    // A comment.
    if text == "#" || text.starts_with("# ") {
        return Found::Drop(at + 1);
    }
    if at < state.drawer_end {
        if let Some((key, value)) = text.strip_prefix(':').and_then(|it| it.split_once(':')) {
            note(key, value, state);
        }
        return Found::Drop(at + 1);
    }
    // `:PROPERTIES:` and other drawers, up to `:END:`.
    let is_drawer =
        text.len() > 2 && text.starts_with(':') && text.ends_with(':') && !text.contains(' ');
    if is_drawer {
        let end = lines.find(at + 1, |line| line.trim_ascii().eq_ignore_ascii_case(":END:"));
        // If a drawer does not end within 200 lines, only its first line is dropped.
        let has_end = end < lines.len() && end - at < 200;
        if has_end && text.eq_ignore_ascii_case(":PROPERTIES:") {
            state.drawer_end = end + 1;
        }
        return Found::Drop(if has_end && state.drawer_end <= at { end + 1 } else { at + 1 });
    }
    // Time stamps of a task.
    if ["SCHEDULED:", "DEADLINE:", "CLOSED:", "CLOCK:"].iter().any(|word| text.starts_with(word)) {
        return Found::Drop(at + 1);
    }
    if text.starts_with('|') {
        if text.starts_with("|-") {
            return Found::Drop(at + 1);
        }
        let cells =
            cells_between(line, '|').into_iter().map(|cell| lines.place(at, cell)).collect();
        // A rule below the first row makes it a header.
        return Found::Row { cells, is_header: lines.get(at + 1).trim_ascii().starts_with("|-") };
    }
    if text.starts_with(": ") {
        let end = lines.find(at, |line| !line.trim_ascii_start().starts_with(':'));
        return Found::Code { language: String::new(), lines: at..end, end };
    }
    // A `*` at the start of a line is a heading, so it is a bullet only when indented.
    let bullets: &[char] = if lines.indent(at) > 0 { &['-', '+', '*'] } else { &['-', '+'] };
    match marker(line, bullets) {
        Some((ordinal, offset)) => {
            Found::Item { indent: lines.indent(at), ordinal, text: lines.range(at).start + offset }
        }
        None => Found::Text,
    }
}

/// Keeps what a keyword or property says about the document.
fn note(key: &str, value: &str, state: &mut LightState) {
    let key = key.to_lowercase();
    // A time stamp is `[2026-03-01 Sun]`.
    let value = match value.trim_ascii().strip_prefix(['[', '<']) {
        Some(stamp) => stamp.split([' ', ']', '>']).next().unwrap_or(stamp),
        None => value.trim_ascii(),
    };
    if META.contains(&key.as_str()) && !value.is_empty() {
        state.meta.push((key, value.to_string()));
    }
}

fn heading(lines: &Lines<'_>, at: usize, state: &mut LightState) -> Option<Found> {
    let line = lines.get(at);
    let n_stars = line.bytes().take_while(|byte| *byte == b'*').count();
    let mut text = line.get(n_stars..)?.strip_prefix(' ')?.trim_ascii();
    for state in STATES {
        text = text.strip_prefix(state).unwrap_or(text);
    }
    // Tags at the end: `Title :work:home:`.
    if let Some((shown, tags)) = text.rsplit_once(" :")
        && tags.ends_with(':')
        && !tags.contains(' ')
    {
        text = shown.trim_ascii_end();
        state.meta.push(("tags".to_string(), tags.to_string()));
    }
    let level = u8::try_from(n_stars).unwrap_or(6).min(6);
    Some(Found::Heading { level, text: lines.place(at, text), n_lines: 1 })
}

/// Reads a keyword: `#+TITLE: …`, `#+BEGIN_SRC rust`.
fn keyword_line(lines: &Lines<'_>, at: usize, keyword: &str, state: &mut LightState) -> Found {
    let is = |start: &str| {
        keyword.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start))
    };
    if is("begin_src") || is("begin_example") || is("begin_export") || is("begin_comment") {
        let word = keyword.get("begin_".len()..).unwrap_or("").split(' ').next().unwrap_or("");
        let close = format!("#+end_{}", word.to_lowercase());
        let end = lines.find(at + 1, |line| line.trim_ascii().to_lowercase().starts_with(&close));
        let after = (end + 1).min(lines.len());
        // Meant for other output formats, or a comment.
        if is("begin_export") || is("begin_comment") {
            return Found::Drop(after);
        }
        let language =
            keyword.split_ascii_whitespace().nth(1).filter(|_| is("begin_src")).unwrap_or("");
        return Found::Code { language: language.to_lowercase(), lines: at + 1..end, end: after };
    }
    if let Some((key, value)) = keyword.split_once(':') {
        note(key, value, state);
    }
    Found::Drop(at + 1)
}

fn inside(text: &str, before: Option<char>) -> Option<Inside> {
    if text.starts_with("[[") {
        return link(text);
    }
    if !may_open(before) {
        return None;
    }
    match text.as_bytes().first()? {
        b'*' => between(text, "*", InlineKind::Bold),
        b'=' => between(text, "=", InlineKind::Code),
        b'~' => between(text, "~", InlineKind::Code),
        _ => None,
    }
}

/// Reads a link: `[[target][text]]` or `[[target]]`.
fn link(text: &str) -> Option<Inside> {
    let inner = text.get(2..)?;
    let end = inner.find("]]")?;
    let inner = inner.get(..end)?;
    let (address, shown) = match inner.split_once("][") {
        Some((address, shown)) => {
            (address, 2 + address.len() + 2..2 + address.len() + 2 + shown.len())
        }
        None => (inner, 2..2 + inner.len()),
    };
    Some(Inside { n_bytes: 2 + end + 2, text: shown, kind: InsideKind::Link(target_of(address)) })
}

/// Reads the target of a link: `file:a.org::*Heading`, `id:7d31`, `a.org`, an address, or the name of a page.
fn target_of(address: &str) -> Option<Target> {
    // A place in the same document.
    if address.starts_with(['*', '#']) {
        return None;
    }
    if address.starts_with("id:") {
        return Some(Target::of_id(address));
    }
    let path = address.strip_prefix("file:").unwrap_or(address);
    let (path, place) = path.split_once("::").map_or((path, None), |(path, it)| (path, Some(it)));
    let is_name = !address.contains(['/', ':']) && !address.contains('.');
    let target = if is_name { Target::of_wikilink(path) } else { Target::of_address(path) }?;
    let fragment = place.map(|it| it.trim_start_matches(['*', '#']).to_string());
    Some(Target { fragment: fragment.or(target.fragment), ..target })
}
