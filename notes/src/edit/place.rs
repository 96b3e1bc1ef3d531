//! Blocks: adds them at the ends of a note, and around and below headings.
//!
//! In: a text, a place, a block. Out: one change.
//! Invariants: a blank line separates a block from its neighbors, except where items join a list or rows a table; the
//! blank lines below a heading and above the next one stay; the end of the file keeps or lacks its newline as before.

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

/// Adds a block above everything but the front matter.
pub(super) fn prepend(text: &str, content: &str) -> Result<Vec<Change>, EditError> {
    let body = body_start(text);
    match first_text(text, body..text.len()) {
        Some(at) => Ok(vec![insert_above(text, at, block(content)?, body)]),
        None => append(text, content),
    }
}

/// Replaces what stands below a heading.
pub(super) fn replace_section(
    text: &str,
    name: &str,
    content: &str,
) -> Result<Vec<Change>, EditError> {
    let section = section(text, name)?;
    let content = without_heading(trimmed(content), &section);
    let inner =
        first_text(text, section.body..section.end).zip(last_text(text, section.body..section.end));
    let change = match inner {
        None if content.is_empty() => return Ok(vec![]),
        None => insert_below(text, section.head.end, content),
        // At the end there is nothing to separate.
        Some((_, end)) if content.is_empty() && section.end == text.len() => {
            Change::new(section.head.end..end, "")
        }
        Some((start, _)) if content.is_empty() => Change::new(start..section.end, ""),
        Some((start, end)) => Change::new(start..end, with_eol(content, eol_of_line(text, start))),
    };
    Ok(vec![change])
}

/// Adds a block at the end of what stands directly below a heading.
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
        match next.filter(|next| joins(content, line_at(text, *next)) || *next == section.body) {
            Some(next) => insert_above(text, next, content, section.body),
            None => insert_below(text, section.head.end, content),
        },
    ])
}

/// A block without blank lines around it.
fn block(content: &str) -> Result<&str, EditError> {
    let content = trimmed(content);
    if content.trim().is_empty() { Err(EditError::Empty("the content")) } else { Ok(content) }
}

/// Blank lines at both ends are not content; blanks before the first word may be.
fn trimmed(content: &str) -> &str {
    let content = content.trim_end();
    let blank: usize =
        content.split_inclusive('\n').take_while(|line| line.trim().is_empty()).map(str::len).sum();
    content.get(blank..).unwrap_or(content)
}

/// The content of a section without its heading, which many repeat.
fn without_heading<'a>(content: &'a str, section: &Section) -> &'a str {
    let (first, rest) = content.split_once('\n').unwrap_or((content, ""));
    if is_heading_of(first.trim_end(), section) { trimmed(rest) } else { content }
}

/// Returns the start of the first line with words.
pub(super) fn first_text(text: &str, part: Range<usize>) -> Option<usize> {
    lines_of(text, part).find(|line| !line.is_blank()).map(|line| line.span.start)
}

/// Returns the end of the words of the last line that has some.
pub(super) fn last_text(text: &str, part: Range<usize>) -> Option<usize> {
    lines_of(text, part).rev().find(|line| !line.is_blank()).map(|line| line.text_end())
}

fn line_at(text: &str, start: usize) -> &str {
    text.get(start..line_end(text, start)).unwrap_or("").trim_end()
}

/// A block below the line whose words end at `end`.
pub(super) fn insert_below(text: &str, end: usize, content: &str) -> Change {
    let eol = eol_at(text, end);
    let above = text.get(line_start(text, end)..end).unwrap_or("");
    let next = line_end(text, end);
    let below = line_at(text, next);
    let gap = if joins(above, content) { eol.to_string() } else { eol.repeat(2) };
    // The end of the line above goes on behind the block.
    let rest = if next >= text.len() || below.trim().is_empty() || joins(content, below) {
        ""
    } else {
        eol
    };
    Change::insert(end, format!("{gap}{}{rest}", with_eol(content, eol)))
}

/// A block above the line that begins at `at`; nothing parts it from what ends at `edge`.
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

/// Whether a line begins an item of a list.
pub(super) fn is_item(line: &str) -> bool {
    let line = line.trim_start();
    let rest = line.strip_prefix(['-', '*', '+']).or_else(|| {
        let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
        rest.strip_prefix(['.', ')']).filter(|_| (1..10).contains(&(line.len() - rest.len())))
    });
    rest.is_some_and(|rest| rest.starts_with([' ', '\t']) && !rest.trim().is_empty())
}
