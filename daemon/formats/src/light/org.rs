//! Org: what its lines and inline marks mean.

use super::inline::{Inlines, Inside, InsideKind};
use super::{Found, Light, LightState, Lines, cells_between};
use crate::target::Target;
use model::document::InlineKind;

pub(crate) static ORG: Light = Light {
    keys: &["title", "author", "date", "language", "filetags", "keywords", "id", "roam_aliases"],
    slack: 0,
    classify,
    define: |_| None,
    inlines: Inlines {
        starts: b"[=~*",
        pairs: &[
            ("*", InlineKind::Bold, false),
            ("=", InlineKind::Code, false),
            ("~", InlineKind::Code, false),
        ],
        find: link,
    },
};

/// Task states that may come before a heading's text.
const STATES: &[&str] = &["TODO ", "DONE ", "NEXT ", "WAITING ", "CANCELLED ", "CANCELED "];
/// Beginnings of lines that are not shown: comments, rules of tables, time stamps of a task.
const DROPPED: &[&str] = &["# ", "|-", "SCHEDULED:", "DEADLINE:", "CLOSED:", "CLOCK:"];
/// Blocks that are not read as text, and whether they are shown; others are comments, or for other output formats.
const BLOCKS: &[(&str, bool)] =
    &[("src", true), ("example", true), ("export", false), ("comment", false)];
/// Most lines of a drawer. If one does not end within them, only its first line is dropped.
const MAX_DRAWER: usize = 200;

fn classify(lines: &Lines<'_>, at: usize, state: &mut LightState) -> Found {
    let (line, text) = (lines.get(at), lines.text(at));
    if let Some(heading) = heading(lines, at, state) {
        return heading;
    }
    if let Some(keyword) = text.strip_prefix("#+") {
        return keyword_line(lines, at, keyword, state);
    }
    if at < state.drawer_end {
        if let Some((key, value)) = text.strip_prefix(':').and_then(|it| it.split_once(':')) {
            note(key, value, state);
        }
        return Found::Drop(at + 1);
    }
    if text == "#" || DROPPED.iter().any(|start| text.starts_with(start)) {
        return Found::Drop(at + 1);
    }
    // `:PROPERTIES:` and other drawers, up to `:END:`.
    let is_drawer =
        text.len() > 2 && text.starts_with(':') && text.ends_with(':') && !text.contains(' ');
    if is_drawer {
        let is_end = |at: &usize| lines.text(*at).eq_ignore_ascii_case(":END:");
        let end = (at + 1..at + MAX_DRAWER).find(is_end).map_or(at + 1, |end| end + 1);
        if !text.eq_ignore_ascii_case(":PROPERTIES:") {
            return Found::Drop(end);
        }
        state.drawer_end = end;
        return Found::Drop(at + 1);
    }
    if text.starts_with('|') {
        // A rule below the first row makes it a header.
        return lines.row(at, cells_between(line), lines.text(at + 1).starts_with("|-"));
    }
    if text.starts_with(": ") {
        let end = lines.find(at, |line| !line.trim_ascii_start().starts_with(':'));
        return Found::Code { language: String::new(), lines: at..end, end };
    }
    // A `*` at the start of a line is a heading, so it is a bullet only when indented.
    lines.item(at, if lines.indent(at) > 0 { &['-', '+', '*'] } else { &['-', '+'] })
}

/// Keeps what a keyword or property says about the document.
fn note(key: &str, value: &str, state: &mut LightState) {
    // A time stamp is `[2026-03-01 Sun]`.
    let value = match value.trim_ascii().strip_prefix(['[', '<']) {
        Some(stamp) => stamp.split([' ', ']', '>']).next().unwrap_or(stamp),
        None => value,
    };
    state.note(key, value);
}

fn heading(lines: &Lines<'_>, at: usize, state: &mut LightState) -> Option<Found> {
    let line = lines.get(at);
    let n_stars = line.bytes().take_while(|byte| *byte == b'*').count();
    let mut text = line.get(n_stars..)?.strip_prefix(' ').filter(|_| n_stars > 0)?.trim_ascii();
    for state in STATES {
        text = text.strip_prefix(state).unwrap_or(text);
    }
    // Tags at the end: `Title :work:home:`.
    if let Some((shown, tags)) = text.rsplit_once(" :")
        && tags.ends_with(':')
        && !tags.contains(' ')
    {
        text = shown.trim_ascii_end();
        state.note("filetags", tags);
    }
    let level = u8::try_from(n_stars).unwrap_or(6).min(6);
    Some(Found::Heading { level, text: lines.place(at, text), n_lines: 1 })
}

/// Reads a keyword: `#+TITLE: …`, `#+BEGIN_SRC rust`.
fn keyword_line(lines: &Lines<'_>, at: usize, keyword: &str, state: &mut LightState) -> Found {
    let mut words = keyword.split_ascii_whitespace();
    let name = words.next().unwrap_or("").to_lowercase();
    let known = name
        .strip_prefix("begin_")
        .and_then(|kind| BLOCKS.iter().find(|(known, _)| *known == kind));
    if let Some((kind, is_shown)) = known {
        let language = words.next().filter(|_| *kind == "src").unwrap_or("");
        let close = format!("#+end_{kind}");
        let is_end = |line: &str| line.trim_ascii().to_lowercase().starts_with(&close);
        return lines.block(at, is_shown.then_some(language), is_end);
    }
    if let Some((key, value)) = keyword.split_once(':') {
        note(key, value, state);
    }
    Found::Drop(at + 1)
}

/// Reads a link: `[[target][text]]` or `[[target]]`.
fn link(text: &str, _: Option<char>) -> Option<Inside> {
    let inner = text.strip_prefix("[[")?;
    let inner = inner.get(..inner.find("]]")?)?;
    let (address, n_before) =
        inner.split_once("][").map_or((inner, 0), |(address, _)| (address, address.len() + 2));
    let kind = InsideKind::Link(target_of(address));
    Some(Inside { n_bytes: inner.len() + 4, text: 2 + n_before..2 + inner.len(), kind })
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
    let is_name = !address.contains(['/', ':', '.']);
    let target = if is_name { Target::of_wikilink(path) } else { Target::of_address(path) }?;
    let fragment = place.map(|it| it.trim_start_matches(['*', '#']).to_string());
    Some(Target { fragment: fragment.or(target.fragment), ..target })
}
