//! Render: the text form of replies, for models and people. One function per reply; `server` names it in the tool's
//! route, so a reply is rendered as the type it is.
//!
//! In: a typed reply, a budget in characters. Out: text.
//! Invariants: the text has at most the budget's characters (200 at least), and what is left out is counted (`… 3
//! more`); it ends with the project and the tick; nothing from a document moves a terminal's cursor, breaks a line or
//! changes the reading direction; secrets are removed from everything but stored text, which was cleaned when its
//! document was read.

#![expect(missing_docs, reason = "each function renders the reply that its parameter names")]

use proto::shape::{EntityView, aside};

pub mod admin;
mod clean;
pub mod core;
pub mod document;
pub mod history;
pub mod kb;
pub mod memory;
pub mod notes;
pub mod schema;
mod sheet;

use clean::{one_line, stored_line};

/// Aliases shown of an entity.
const MAX_ALIASES: usize = 5;

/// `Key Store (Service, id 12, stores/key.md)`, with aliases when there are any.
fn entity(entity: &EntityView) -> String {
    let (name, id) = (stored_line(&entity.name), format!("id {}", entity.id));
    let path = entity.path.as_deref().map(one_line).unwrap_or_default();
    let mut text = format!("{name}{}", aside(&[&one_line(&entity.entity_type), &id, &path]));
    for (idx, alias) in entity.aliases.iter().take(MAX_ALIASES).enumerate() {
        text += if idx == 0 { " also: " } else { ", " };
        text += &stored_line(alias);
    }
    if entity.aliases.len() > MAX_ALIASES {
        text += ", …";
    }
    text
}

/// Formats a score as `.83`, `1.00` or `-.05`: further digits would mean nothing.
fn score(value: f32) -> String {
    let text = format!("{value:.2}");
    match (text.strip_prefix("-0"), text.strip_prefix('0')) {
        (Some(below), _) => format!("-{below}"),
        (None, Some(above)) => above.to_string(),
        (None, None) => text,
    }
}

/// `1 file`, `2 files`.
fn count(n: u64, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

#[cfg(test)]
mod tests;
