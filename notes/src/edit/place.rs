//! Blocks: adds them at either end of a note, and around headings.
//!
//! In: a text, a place, a block. Out: one change.
//! Invariants: a blank line separates a block from its neighbors, except where items join a list or rows a table; the
//! blank lines below a heading and above the next one stay; the last line of the file keeps or lacks its line end.

use std::ops::Range;

use super::front::body_start;
use super::headings::{Section, is_heading_of, section};
use super::lines::{bom_len, eol_at, eol_of_line, line_end, line_start, lines_of, with_eol};
use super::{Change, EditError};

/// Adds a block at the end.
pub(super) fn append(text: &str, content: &str) -> Result<Vec<Change>, EditError> {
    let content = block(content)?;
    let start = bom_len(text);
    Ok(vec![match last_text(text, start..text.len()) {
        Some(end) => insert_below(text, end, content),
        None if text.len() == start => Change::insert(start, format!("{content}\n")),
        None => Change::insert(start, with_eol(content, eol_at(text, start))),
    }])
}

/// Adds a block at the start, below the front matter.
pub(super) fn prepend(text: &str, content: &str) -> Result<Vec<Change>, EditError> {
    let body = body_start(text);
    match first_text(text, body..text.len()) {
        Some(at) => Ok(vec![insert_above(text, at, block(content)?, body)]),
        None => append(text, content),
    }
}

/// Replaces the text below a heading.
pub(super) fn replace_section(
    text: &str,
    name: &str,
    content: &str,
    with_subsections: bool,
) -> Result<Vec<Change>, EditError> {
    let section = section(text, name)?;
    let content = without_heading(trimmed(content), &section);
    let section_end = if with_subsections { section.end } else { section.own_end };
    let inner =
        first_text(text, section.body..section_end).zip(last_text(text, section.body..section_end));
    let change = match inner {
        None if content.is_empty() => return Ok(vec![]),
        None => insert_below(text, section.head.end, content),
        // Emptying the last section: also remove the blank lines below its heading.
        Some((_, end)) if content.is_empty() && section_end == text.len() => {
            Change::new(section.head.end..end, "")
        }
        Some((start, _)) if content.is_empty() => Change::new(start..section_end, ""),
        Some((start, end)) => Change::new(start..end, with_eol(content, eol_of_line(text, start))),
    };
    Ok(vec![change])
}

/// Adds a block at the end of the text directly below a heading.
pub(super) fn append_to_section(
    text: &str,
    name: &str,
    content: &str,
) -> Result<Vec<Change>, EditError> {
    let section = section(text, name)?;
    let content = block(without_heading(trimmed(content), &section))?;
    let end = last_text(text, section.body..section.own_end).unwrap_or(section.head.end);
    Ok(vec![insert_below(text, end, content)])
}

/// Adds a block above a heading.
pub(super) fn insert_before(
    text: &str,
    name: &str,
    content: &str,
) -> Result<Vec<Change>, EditError> {
    let section = section(text, name)?;
    Ok(vec![insert_above(text, section.head.start, block(content)?, body_start(text))])
}

/// Adds a block right below a heading.
pub(super) fn insert_after(
    text: &str,
    name: &str,
    content: &str,
) -> Result<Vec<Change>, EditError> {
    let section = section(text, name)?;
    let content = block(content)?;
    let next = first_text(text, section.body..section.own_end);
    Ok(vec![
        // Without a blank line below the heading, or when the block joins what follows, insert above that text.
        match next.filter(|next| joins(content, line_at(text, *next)) || *next == section.body) {
            Some(next) => insert_above(text, next, content, section.body),
            None => insert_below(text, section.head.end, content),
        },
    ])
}

/// Returns a block without blank lines around it.
fn block(content: &str) -> Result<&str, EditError> {
    let content = trimmed(content);
    if content.trim().is_empty() { Err(EditError::Empty("the content")) } else { Ok(content) }
}

/// Removes blank lines at both ends, but not the blanks before the first word, which may be indentation.
fn trimmed(content: &str) -> &str {
    let content = content.trim_end();
    let blank: usize =
        content.split_inclusive('\n').take_while(|line| line.trim().is_empty()).map(str::len).sum();
    content.get(blank..).unwrap_or(content)
}

/// Removes the section's own heading from the start of its content, where callers often repeat it.
fn without_heading<'a>(content: &'a str, section: &Section) -> &'a str {
    let (first, rest) = content.split_once('\n').unwrap_or((content, ""));
    if is_heading_of(first.trim_end(), section) { trimmed(rest) } else { content }
}

/// Returns the start of the first nonblank line.
pub(super) fn first_text(text: &str, part: Range<usize>) -> Option<usize> {
    lines_of(text, part).find(|line| !line.is_blank()).map(|line| line.span.start)
}

/// Returns the end of the text of the last nonblank line.
pub(super) fn last_text(text: &str, part: Range<usize>) -> Option<usize> {
    lines_of(text, part).rev().find(|line| !line.is_blank()).map(|line| line.text_end())
}

fn line_at(text: &str, start: usize) -> &str {
    text.get(start..line_end(text, start)).unwrap_or("").trim_end()
}

/// Inserts a block below the line whose text ends at `end`.
pub(super) fn insert_below(text: &str, end: usize, content: &str) -> Change {
    let eol = eol_at(text, end);
    let above = text.get(line_start(text, end)..end).unwrap_or("");
    let next = line_end(text, end);
    let below = line_at(text, next);
    let gap = if joins(above, content) { eol.to_string() } else { eol.repeat(2) };
    // The line end of the line above now follows the block, so a second one is needed only before text.
    let rest = if next >= text.len() || below.trim().is_empty() || joins(content, below) {
        ""
    } else {
        eol
    };
    Change::insert(end, format!("{gap}{}{rest}", with_eol(content, eol)))
}

/// Inserts a block above the line that begins at `at`; no blank line precedes it if that is `edge`.
fn insert_above(text: &str, at: usize, content: &str, edge: usize) -> Change {
    let eol = eol_at(text, at);
    let before = at.saturating_sub(1);
    let above = text.get(line_start(text, before)..before).unwrap_or("");
    let is_apart = at == edge || above.trim().is_empty() || joins(above, content);
    let gap = if joins(content, line_at(text, at)) { eol.to_string() } else { eol.repeat(2) };
    let start = if is_apart { "" } else { eol };
    Change::insert(at, format!("{start}{}{gap}", with_eol(content, eol)))
}

/// Returns whether two neighbors belong together: items of a list, or rows of a table.
fn joins(above: &str, below: &str) -> bool {
    let above = above.lines().next_back().unwrap_or("");
    let below = below.lines().next().unwrap_or("");
    (is_item(above) && is_item(below))
        || (above.trim_start().starts_with('|') && below.trim_start().starts_with('|'))
}

/// Returns whether a line begins a list item.
pub(super) fn is_item(line: &str) -> bool {
    let line = line.trim_start();
    let rest = line.strip_prefix(['-', '*', '+']).or_else(|| {
        let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
        // CommonMark: at most nine digits.
        rest.strip_prefix(['.', ')']).filter(|_| (1..10).contains(&(line.len() - rest.len())))
    });
    rest.is_some_and(|rest| rest.starts_with([' ', '\t']) && !rest.trim().is_empty())
}
