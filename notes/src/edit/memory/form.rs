//! Form: a fact as the text of a list item.
//!
//! In: any text. Out: the text itself if an item shows it unchanged, otherwise the text with escapes.
//! Invariant: the text is read back exactly, whatever surrounds the item, and the item is nothing but a fact.

use super::super::item::lines_of_item;
use crate::memory::CATEGORY;
use crate::plain;

/// Returns a fact as the text of an item: unchanged if it is read back so, otherwise with escapes. Lines after the
/// first become lines of the item.
pub(super) fn form(content: &str) -> String {
    let escaped = || plain::encoded(content);
    [content.to_string(), escaped()]
        .into_iter()
        .find(|form| is_read_as(form, content))
        .unwrap_or_else(|| exact_form(content))
}

/// Returns the form that can hold every text.
pub(super) fn exact_form(content: &str) -> String {
    format!("[{CATEGORY}] {}", plain::encoded(content))
}

fn is_read_as(form: &str, content: &str) -> bool {
    let ends_in_id = form.split_whitespace().next_back().is_some_and(|word| word.starts_with('^'));
    if form.trim() != form || form.contains('\r') || form.starts_with('>') || ends_in_id {
        return false;
    }
    // Parse it between neighbors and before a heading: it must affect none of them.
    let item = lines_of_item("", "-", &format!("{form} ^o1"), "\n");
    let text = format!("- before ^o8\n{item}\n- next ^o2\n\nAfter.\n\n# End\n\n- last ^o3\n");
    let note = crate::parse::parse(&text);
    let node = crate::memory::of(&text, &note);
    let read: Vec<_> = node.items.iter().map(|it| (it.ordinal, it.content.as_str())).collect();
    let tasks = note.items.iter().any(|it| it.task.is_some());
    read == [(Some(8), "before"), (Some(1), content), (Some(2), "next"), (Some(3), "last")]
        && node.relations.is_empty()
        && note.items.len() == read.len()
        && note.headings.len() == 1
        && note.footnotes.is_empty()
        && !tasks
}
