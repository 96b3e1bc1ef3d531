//! Words: what several views say in the same words.

use super::{Sheet, Style, stored};
use crate::shape::{EntityView, aside};
use crate::visible::show;

/// Aliases shown of an entity.
const MAX_ALIASES: usize = 5;

/// Longest line that says where a note continues.
pub(crate) const MAX_CONTINUE_CHARS: usize = 64;

/// `1 file`, `2 files`, `2 entities`.
pub fn count(n: u64, noun: &str) -> String {
    format!("{n} {}", plural(n, noun))
}

/// As [`count`], with commas between thousands: for people.
pub fn counted(n: u64, noun: &str) -> String {
    format!("{} {}", thousands(n), plural(n, noun))
}

fn plural(n: u64, noun: &str) -> String {
    match noun.strip_suffix('y') {
        _ if n == 1 => noun.to_string(),
        Some(stem) => format!("{stem}ies"),
        None => format!("{noun}s"),
    }
}

/// Joins parts by commas.
pub(crate) fn joined<T: AsRef<str>>(parts: impl IntoIterator<Item = T>) -> String {
    parts.into_iter().fold(String::new(), |mut text, part| {
        text += if text.is_empty() { "" } else { ", " };
        text + part.as_ref()
    })
}

/// Puts something around a text, unless there is none.
pub(crate) fn around(before: &str, text: &str, after: &str) -> String {
    if text.is_empty() { String::new() } else { format!("{before}{text}{after}") }
}

/// Formats a number with commas between thousands.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (idx, digit) in digits.chars().enumerate() {
        if idx > 0 && (digits.len() - idx).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `Key Store (Service, id 12, stores/key.md)`, with aliases when there are any.
pub(crate) fn entity(entity: &EntityView, style: Style) -> String {
    let (name, id) = (style.bold(&stored(&entity.name)), format!("id {}", entity.id));
    let path = entity.path.as_deref().map(|it| style.safe(it)).unwrap_or_default();
    let mut text = format!("{name}{}", aside(&[&style.safe(&entity.entity_type), &id, &path]));
    for (idx, alias) in entity.aliases.iter().take(MAX_ALIASES).enumerate() {
        text += if idx == 0 { " also: " } else { ", " };
        text += &stored(alias);
    }
    if entity.aliases.len() > MAX_ALIASES {
        text += ", …";
    }
    text
}

/// Formats a score as `.83`, `1.00` or `-.05`: further digits would mean nothing.
pub(crate) fn score(value: f32) -> String {
    let text = format!("{value:.2}");
    match (text.strip_prefix("-0"), text.strip_prefix('0')) {
        (Some(below), _) => format!("-{below}"),
        (None, Some(above)) => above.to_string(),
        (None, None) => text,
    }
}

/// Returns stored text as lines, each after `indent`; empty lines are dropped, except in fenced code.
pub(crate) fn indented(text: &str, indent: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut is_code = false;
    for line in text.lines().map(str::trim_end) {
        // An opening fence is code from here on, a closing one no longer is.
        is_code ^= line.trim_start().starts_with("```");
        if line.is_empty() && is_code {
            out.push('\n');
        }
        if line.trim().is_empty() {
            continue;
        }
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(indent);
        out.push_str(&stored(line));
    }
    out
}

/// Returns stored text as lines, each after `indent`, with one empty line where there are some.
pub(crate) fn paragraphs(text: &str, indent: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut is_apart = false;
    for line in text.lines().map(str::trim_end) {
        if line.is_empty() {
            is_apart = !out.is_empty();
            continue;
        }
        out.push_str(if out.is_empty() { "" } else { "\n" });
        out.push_str(if is_apart { "\n" } else { "" });
        is_apart = false;
        out.push_str(indent);
        out.push_str(&stored(line));
    }
    out
}

/// Returns stored text as it is written, blank lines included, so that a client can quote a part of it in an edit.
pub(crate) fn as_written(text: &str) -> String {
    show(text).replace('\r', "")
}

/// `docs/a.md:12`, or the path alone.
pub(crate) fn place(path: &str, line: u32, style: Style) -> String {
    let path = style.safe(path);
    style.cyan(&if line > 0 { format!("{path}:{line}") } else { path.into_owned() })
}

/// ` #one #two`.
pub(crate) fn tags(tags: &[String], style: Style) -> String {
    tags.iter().map(|tag| format!(" #{}", style.safe(tag))).collect()
}

/// Adds as many whole lines of a text as fit, and where it continues; its first and last line are given, and the next
/// one.
pub(crate) fn lines(text: &str, at: [u32; 2], next_line: Option<u32>, sheet: &mut Sheet) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_written_out() {
        assert_eq!(as_written("a\r\n\n\tb \u{1b}[2J"), "a\n\n\tb \\u{1b}[2J");
        assert_eq!(paragraphs("\none\n\n\n1. two\n", "  "), "  one\n\n  1. two");
        assert_eq!(indented("one\r\n\n  two \u{7}\n", "   "), "   one\n     two \\u{7}");
    }

    #[test]
    fn numbers_have_commas_for_people_and_nouns_their_plural() {
        let numbers = [0, 7, 999, 1_000, 123_456, 1_234_567].map(thousands).join(" ");
        assert_eq!(numbers, "0 7 999 1,000 123,456 1,234,567");
        assert_eq!([counted(1, "file"), counted(2_000, "file")], ["1 file", "2,000 files"]);
        assert_eq!([count(1, "entry"), count(2_000, "entity")], ["1 entry", "2000 entities"]);
    }
}
