//! Insert: where new facts and relations of an entity go.
//!
//! In: a text, what it states, items. Out: one change.
//! Invariant: facts join facts and relations join relations, with the markers used there; a blank line separates the
//! first relation from the facts.

use std::ops::Range;

use super::super::item::{end_of_item, is_indentation, lines_of_item, marker_at, next_marker};
use super::super::lines::{eol_at, line_end, line_start};
use super::super::place::{append, append_to_section};
use super::super::{Change, EditError};
use super::Scope;
use crate::memory::{Node, OBSERVATIONS, RELATIONS, Stated};

/// Inserts facts after the last one with a number, after the last one, above the first relation, or at the end.
pub(super) fn insert_facts(
    text: &str,
    node: &Node,
    scope: Scope,
    items: &[String],
) -> Result<Vec<Change>, EditError> {
    let last = node.facts(scope.in_folder).filter(|it| it.ordinal.is_some()).last();
    if let Some(last) = last.or_else(|| node.facts(scope.in_folder).last()) {
        return Ok(vec![below(text, &last.item, items, false)]);
    }
    let outermost = |it: &&Stated| {
        it.item.as_ref().is_some_and(|(item, _)| column(text, item.start) == Some(""))
    };
    if let Some((item, _)) = node.relations.iter().find(outermost).and_then(|it| it.item.as_ref()) {
        let eol = eol_at(text, item.start);
        let lines: String =
            items.iter().map(|it| format!("{}{eol}", lines_of_item("", "-", it, eol))).collect();
        return Ok(vec![Change::insert(line_start(text, item.start), format!("{lines}{eol}"))]);
    }
    let block: Vec<String> = items.iter().map(|it| lines_of_item("", "-", it, "\n")).collect();
    let block = block.join("\n");
    append_to_section(text, OBSERVATIONS, &block).or_else(|_| append(text, &block))
}

/// Inserts a relation after the last one, separately after the last fact, or at the end.
pub(super) fn insert_relation(
    text: &str,
    node: &Node,
    scope: Scope,
    item: &str,
) -> Result<Vec<Change>, EditError> {
    let items = [item.to_string()];
    let outermost = |it: &&Stated| {
        it.item.as_ref().is_some_and(|(item, _)| column(text, item.start) == Some(""))
    };
    if let Some((last, _)) = node.relations.iter().rfind(outermost).and_then(|it| it.item.as_ref())
    {
        return Ok(vec![below(text, last, &items, false)]);
    }
    let block = lines_of_item("", "-", item, "\n");
    if let Ok(change) = append_to_section(text, RELATIONS, &block) {
        return Ok(change);
    }
    match node.facts(scope.in_folder).last() {
        Some(last) => Ok(vec![below(text, &last.item, &items, true)]),
        None => append(text, &block),
    }
}

/// Returns the blanks before an item on its line; `None` if there is anything else.
fn column(text: &str, at: usize) -> Option<&str> {
    text.get(line_start(text, at)..at).filter(|it| is_indentation(it))
}

/// Inserts items after another one. `is_apart`: separated by a blank line, as a list of their own.
fn below(text: &str, item: &Range<usize>, items: &[String], is_apart: bool) -> Change {
    let end = end_of_item(text, item);
    let eol = eol_at(text, item.start);
    let before = if is_apart { "" } else { column(text, item.start).unwrap_or("") };
    let mut marker = if is_apart { "-" } else { marker_at(text, item.start) }.to_string();
    let mut out = if is_apart { eol.to_string() } else { String::new() };
    for it in items {
        if !is_apart {
            marker = next_marker(&marker);
        }
        out += &format!("{eol}{}", lines_of_item(before, &marker, it, eol));
    }
    let next = line_end(text, end);
    let follows = text.get(next..line_end(text, next)).is_some_and(|line| !line.trim().is_empty());
    if is_apart && follows {
        out += eol;
    }
    Change::insert(end, out)
}
