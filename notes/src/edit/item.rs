//! List items: adds, replaces and removes single items, such as facts about a thing.
//!
//! In: a text and an item, given by its block id or its words. Out: changes of that item's lines.
//! Invariants: a new item looks like its neighbors (indentation, marker, numbering); ids stay with their items; if
//! several items match, the error lists their lines.

use std::fmt;
use std::ops::Range;

use super::headings::section;
use super::lines::{eol_at, line_end, line_number, line_start, with_eol};
use super::place::{append, append_to_section, is_item};
use super::{Change, EditError};
use crate::parse::{Item, Note, parse};
use crate::target::is_block_id;

/// How an item is addressed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ItemRef {
    /// By its block id, without `^`.
    Id(String),
    /// By its words, with or without block id; all white space is equal.
    Text(String),
}

impl fmt::Display for ItemRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ItemRef::Id(id) => write!(f, "`^{}`", id.trim_start_matches('^')),
            ItemRef::Text(text) => write!(f, "`{text}`"),
        }
    }
}

/// Returns an unused block id with these letters: one more than the highest number with them, and at least `least`.
pub fn next_block_id(text: &str, letters: &str, least: u64) -> String {
    let numbers = parse(text)
        .block_ids
        .into_iter()
        .filter_map(|it| it.id.strip_prefix(letters)?.parse::<u64>().ok());
    let next = numbers.max().map_or(least, |highest| highest.saturating_add(1).max(least));
    format!("{letters}{next}")
}

/// Adds an item.
pub(super) fn add(
    text: &str,
    heading: Option<&str>,
    item: &str,
    id: Option<&str>,
) -> Result<Vec<Change>, EditError> {
    let item = with_id(checked(item)?, id)?;
    let note = parse(text);
    let part = match heading.map(|name| section(text, name)) {
        None => note.body..text.len(),
        Some(Ok(section)) => section.body..section.own_end,
        // No such section: create it at the end, with the level given by `#`, or 2.
        Some(Err(EditError::NoHeading { section, .. })) => {
            let name = section.trim_start_matches('#').trim();
            let level = section.len() - section.trim_start_matches('#').len();
            let marks = "#".repeat(if level == 0 { 2 } else { level });
            return append(
                text,
                &format!("{marks} {name}\n\n{}", lines_of_item("", "-", &item, "\n")),
            );
        }
        Some(Err(other)) => return Err(other),
    };
    // Only outermost items: a nested list is not the section's own.
    let last = note.items.iter().rfind(|it| it.depth == 0 && part.contains(&it.place.span.start));
    let Some(last) = last else {
        let item = lines_of_item("", "-", &item, "\n");
        return heading
            .map_or_else(|| append(text, &item), |name| append_to_section(text, name, &item));
    };
    let end = end_of(text, last);
    let eol = eol_at(text, last.place.span.start);
    let before = line_start(text, last.place.span.start)..last.place.span.start;
    let before = text.get(before).filter(|it| is_indentation(it)).unwrap_or("");
    let marker = next_marker(marker_of(text, last));
    Ok(vec![Change::insert(end, format!("{eol}{}", lines_of_item(before, &marker, &item, eol)))])
}

/// Replaces an item's own text.
pub(super) fn replace(text: &str, item: &ItemRef, with: &str) -> Result<Vec<Change>, EditError> {
    let with = checked(with)?;
    let note = parse(text);
    let found = find(text, &note, item)?;
    let content = content_of(text, found);
    let old_id = id_of(text.get(content.clone()).unwrap_or(""));
    // A new id replaces the old one; otherwise the old one stays.
    let with = if id_of(with).is_some() { with.to_string() } else { with_id(with, old_id)? };
    let eol = eol_at(text, content.start);
    let start = line_start(text, found.place.span.start);
    let before =
        text.get(start..found.place.span.start).filter(|it| is_indentation(it)).unwrap_or("");
    let inner = format!("{before}{}", " ".repeat(marker_of(text, found).len() + 1));
    let with = with_eol(&with, "\n").replace('\n', &format!("{eol}{inner}"));
    // An empty item consists of its marker alone, without a blank after it.
    let is_bare = content.start == found.place.span.start + marker_of(text, found).len();
    Ok(vec![Change::new(content, if is_bare { format!(" {with}") } else { with })])
}

/// Removes an item with its lines.
pub(super) fn remove(text: &str, item: &ItemRef) -> Result<Vec<Change>, EditError> {
    let note = parse(text);
    let found = find(text, &note, item)?;
    let change = remove_span(text, found.place.span.clone());
    let unlined = |_| EditError::NoItem(format!("{item} with a line of its own"));
    Ok(vec![change.map_err(unlined)?])
}

/// Removes the item at a place, with its lines.
pub(super) fn remove_span(text: &str, item: Range<usize>) -> Result<Change, EditError> {
    let start = line_start(text, item.start);
    if !text.get(start..item.start).is_some_and(is_indentation) {
        return Err(EditError::NoItem("with a line of its own".to_string()));
    }
    let end = line_end(text, end_of_item(text, &item));
    let blank =
        |at: usize| text.get(at..line_end(text, at)).is_some_and(|line| line.trim().is_empty());
    let above = start.checked_sub(1).map(|at| line_start(text, at));
    let is_last_line = end == text.len() && !text.ends_with('\n');
    let span = if is_last_line {
        // The previous line becomes the last one, which has no line end.
        let before = text.get(..start).unwrap_or("");
        let before = before.strip_suffix('\n').unwrap_or(before);
        before.strip_suffix('\r').unwrap_or(before).len()..end
    // Of two blank lines around the item, only one stays.
    } else if above.is_some_and(blank) && end < text.len() && blank(end) {
        start..line_end(text, end)
    } else {
        start..end
    };
    Ok(Change::new(span, ""))
}

fn checked(item: &str) -> Result<&str, EditError> {
    let item = item.trim();
    if item.is_empty() { Err(EditError::Empty("the item")) } else { Ok(item) }
}

fn with_id(item: &str, id: Option<&str>) -> Result<String, EditError> {
    let Some(id) = id.map(|id| id.trim_start_matches('^')) else { return Ok(item.to_string()) };
    if !is_block_id(id) {
        let why = "it has only letters and digits of ASCII, and hyphens";
        return Err(EditError::BadName { what: "block id", text: id.to_string(), why });
    }
    Ok(format!("{item} ^{id}"))
}

/// Returns the block id at the end of an item's text.
fn id_of(content: &str) -> Option<&str> {
    let (_, id) = content.trim_end().rsplit_once([' ', '\t', '\n'])?;
    id.strip_prefix('^').filter(|id| is_block_id(id))
}

fn find<'n>(text: &str, note: &'n Note, item: &ItemRef) -> Result<&'n Item, EditError> {
    let fits: Vec<&Item> = match item {
        ItemRef::Id(id) => {
            let id = id.trim_start_matches('^');
            let holds = |it: &&Item, place: &Range<usize>| {
                it.place.span.start <= place.start && place.end <= it.place.span.end
            };
            let places = note.block_ids.iter().filter(|it| it.id == id).map(|it| &it.place.span);
            // Of nested items that contain the place, the innermost is the last.
            places.filter_map(|place| note.items.iter().rfind(|it| holds(it, place))).collect()
        }
        ItemRef::Text(words) => {
            let marker = is_marked(words);
            let wanted = [normal(words), normal(marker.unwrap_or(words))];
            let is_it = |it: &&Item| {
                let content = text.get(content_of(text, it)).unwrap_or("");
                let own = normal(content);
                let bare = id_of(content).map(|id| {
                    normal(content.trim_end().trim_end_matches(id).trim_end_matches('^'))
                });
                wanted.iter().any(|it| *it == own || bare.as_ref() == Some(it))
            };
            note.items.iter().filter(is_it).collect()
        }
    };
    match fits.as_slice() {
        [one] => Ok(one),
        [] => Err(EditError::NoItem(item.to_string())),
        several => {
            let lines = several.iter().map(|it| line_number(text, it.place.span.start)).collect();
            Err(EditError::AmbiguousItem { item: item.to_string(), lines })
        }
    }
}

/// Returns the text after the marker, if there is one.
fn is_marked(words: &str) -> Option<&str> {
    is_item(words)
        .then(|| words.trim_start().split_once([' ', '\t']).map_or(words, |(_, rest)| rest))
}

/// Returns words as they look, with single blanks.
fn normal(words: &str) -> String {
    names::Look::of(words).text().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the range of an item's own text, trimmed.
fn content_of(text: &str, item: &Item) -> Range<usize> {
    let content = text.get(item.content.clone()).unwrap_or("");
    if content.trim().is_empty() {
        let end = item.place.span.start + marker_of(text, item).len();
        return end..end;
    }
    let start = item.content.start + (content.len() - content.trim_start().len());
    start..item.content.start + content.trim_end().len()
}

/// Returns the end of an item's last line, nested items included.
fn end_of(text: &str, item: &Item) -> usize {
    end_of_item(text, &item.place.span)
}

/// Like [`end_of`], for the item at a place.
pub(super) fn end_of_item(text: &str, item: &Range<usize>) -> usize {
    let whole = text.get(item.clone()).unwrap_or("");
    let end = item.start + whole.trim_end().len();
    let line = line_end(text, end);
    text.get(end..line).map_or(end, |rest| end + rest.trim_end_matches(['\n', '\r']).len())
}

fn marker_of<'a>(text: &'a str, item: &Item) -> &'a str {
    marker_at(text, item.place.span.start)
}

/// Returns the marker of the item at a place.
pub(super) fn marker_at(text: &str, at: usize) -> &str {
    let from = text.get(at..).unwrap_or("");
    from.split(|c: char| c.is_whitespace()).next().unwrap_or("-")
}

/// Returns the marker of the next item: `-` after `-`, `4.` after `3.`.
pub(super) fn next_marker(marker: &str) -> String {
    let digits = marker.trim_end_matches(['.', ')']);
    let number = digits.parse::<u32>().ok().and_then(|number| number.checked_add(1));
    number.map_or(marker.to_string(), |number| {
        format!("{number}{}", marker.get(digits.len()..).unwrap_or("."))
    })
}

/// True when the text before a marker is repeated on every line of the item: blanks and quotation signs.
pub(super) fn is_indentation(text: &str) -> bool {
    text.chars().all(|c| matches!(c, ' ' | '\t' | '>'))
}

/// Formats an item as lines, each with the text before the marker.
pub(super) fn lines_of_item(before: &str, marker: &str, item: &str, eol: &str) -> String {
    let inner = format!("{eol}{before}{}", " ".repeat(marker.len() + 1));
    format!("{before}{marker} {}", with_eol(item, "\n").replace('\n', &inner))
}
