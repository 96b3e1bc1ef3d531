//! Edits of a note: spans of bytes, each with its replacement.
//!
//! In: the text of one file and the requested edit ([`Op`]). Out: [`Change`]s, or why there can be none.
//! Invariants: bytes outside the spans stay as they are (comments, order, quoting, line ends, unknown syntax);
//! inserted text gets the line ends of its surroundings; the last line of the file keeps or lacks its line end as
//! before; front matter that could be read can be read afterwards and says what was requested, otherwise nothing is
//! changed; an edit that is already done gives no changes.

mod find;
mod front;
mod headings;
mod item;
mod lines;
mod links;
pub mod memory;
mod new;
mod place;
mod span;
mod tags;
#[cfg(test)]
mod tests;
mod yaml;

use std::ops::Range;

use serde_json::Value;

pub use item::{ItemRef, next_block_id};
pub use links::{Move, Retarget, by_path, retarget};
pub use new::{NewNote, render_new};
pub use span::{Change, apply, compose};

/// One edit. Texts may have any line ends; they get those of their surroundings.
#[derive(Debug, Clone, PartialEq)]
pub enum Op {
    /// Adds a block at the end.
    Append(String),
    /// Adds a block at the beginning, below the front matter.
    Prepend(String),
    /// Replaces everything between a heading and the next one of its level or above. An empty text leaves only the
    /// heading.
    ReplaceSection {
        /// The heading, see [`EditError::NoHeading`].
        section: String,
        /// The new content.
        content: String,
    },
    /// Replaces everything between a heading and the next one of any level.
    ReplaceOwnText {
        /// The heading.
        section: String,
        /// The new content.
        content: String,
    },
    /// Adds a block at the end of the text below a heading, above the next heading of any level.
    AppendToSection {
        /// The heading.
        section: String,
        /// The block.
        content: String,
    },
    /// Adds a block above a heading.
    InsertBefore {
        /// The heading.
        section: String,
        /// The block.
        content: String,
    },
    /// Adds a block right below a heading.
    InsertAfter {
        /// The heading.
        section: String,
        /// The block.
        content: String,
    },
    /// Replaces a text in all places.
    Replace {
        /// The text to find, perhaps several lines.
        find: String,
        /// Its replacement.
        with: String,
        /// In how many places it must be found.
        expected: usize,
    },
    /// Sets a key of the front matter, which is created if there is none.
    SetKey {
        /// The key.
        key: String,
        /// Its value.
        value: Value,
    },
    /// Removes a key of the front matter with its value.
    RemoveKey(String),
    /// Adds tags to the front matter, in the form of those already there.
    AddTags(Vec<String>),
    /// Removes tags from the front matter.
    RemoveTags(Vec<String>),
    /// Adds an item at the end of the last list of a section. The section is created if there is none.
    AddItem {
        /// The heading; the whole note when left out.
        section: Option<String>,
        /// The item without its marker.
        text: String,
        /// Its block id, without `^`.
        id: Option<String>,
    },
    /// Replaces the text of an item. Items nested below it stay, and so does its block id unless the text has one.
    ReplaceItem {
        /// Which item.
        item: ItemRef,
        /// The item without its marker.
        text: String,
    },
    /// Removes an item with what is nested below it.
    RemoveItem(ItemRef),
    /// Changes the targets of links.
    Retarget(Vec<Retarget>),
}

/// Why a text cannot be edited. Lines count from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// There is no such heading. A heading is given by its text; `Text#2` is the second with that text, `A > B` the
    /// one below another, `## Text` one of that level.
    #[error("no heading `{section}`{}", nearest.as_ref().map(|it| format!("; nearest is `{it}`")).unwrap_or_default())]
    NoHeading {
        /// The requested heading.
        section: String,
        /// The most similar heading.
        nearest: Option<String>,
    },
    /// Several headings have this text.
    #[error("{} headings are called `{section}`, in lines {}", lines.len(), listed(lines))]
    AmbiguousHeading {
        /// The requested heading.
        section: String,
        /// Their lines.
        lines: Vec<usize>,
    },
    /// A text occurs more or less often than expected.
    #[error("the text occurs {}, in line{} {}; expected {}",
        times(lines.len()), if lines.len() == 1 { "" } else { "s" }, listed(lines), times(*expected))]
    Count {
        /// The expected number.
        expected: usize,
        /// The lines in which it begins.
        lines: Vec<usize>,
    },
    /// A text does not occur.
    #[error(
        "the text is not there{}",
        nearest.as_ref().map(|(line, it)| format!("; nearest is line {line}: `{it}`")).unwrap_or_default()
    )]
    NotFound {
        /// The line that is most similar to the text's first line, with its number.
        nearest: Option<(usize, String)>,
    },
    /// The text to find, to add, or to name is empty.
    #[error("{0} is empty")]
    Empty(&'static str),
    /// There is no such list item.
    #[error("no list item {0}")]
    NoItem(String),
    /// Several list items match.
    #[error("{} list items are {item}, in lines {}", lines.len(), listed(lines))]
    AmbiguousItem {
        /// The requested item.
        item: String,
        /// Their lines.
        lines: Vec<usize>,
    },
    /// The front matter is not YAML, or not a map of keys with one value each.
    #[error("the front matter cannot be edited: {0}")]
    Frontmatter(String),
    /// A key, tag or block id that would not be read back as one.
    #[error("`{text}` cannot be a {what}: {why}")]
    BadName {
        /// What kind of name it should be.
        what: &'static str,
        /// The name.
        text: String,
        /// Why not.
        why: &'static str,
    },
    /// A place in which there is no link.
    #[error("there is no link at bytes {}..{}", .0.start, .0.end)]
    NoLink(Range<usize>),
}

fn times(n: usize) -> String {
    if n == 1 { "once".to_string() } else { format!("{n} times") }
}

fn listed(lines: &[usize]) -> String {
    const SHOWN: usize = 20;
    let mut out: Vec<String> = lines.iter().take(SHOWN).map(usize::to_string).collect();
    if lines.len() > SHOWN {
        out.push("…".to_string());
    }
    out.join(", ")
}

/// Returns the changes for one edit: in order and disjoint; none when it is already done.
///
/// # Errors
/// [`EditError`] when the edit is impossible or ambiguous.
pub fn edit(text: &str, op: &Op) -> Result<Vec<Change>, EditError> {
    let changes = match op {
        Op::Append(content) => place::append(text, content)?,
        Op::Prepend(content) => place::prepend(text, content)?,
        Op::ReplaceSection { section, content } => {
            place::replace_section(text, section, content, true)?
        }
        Op::ReplaceOwnText { section, content } => {
            place::replace_section(text, section, content, false)?
        }
        Op::AppendToSection { section, content } => {
            place::append_to_section(text, section, content)?
        }
        Op::InsertBefore { section, content } => place::insert_before(text, section, content)?,
        Op::InsertAfter { section, content } => place::insert_after(text, section, content)?,
        Op::Replace { find, with, expected } => find::replace(text, find, with, *expected)?,
        Op::SetKey { key, value } => front::set_key(text, key, value)?,
        Op::RemoveKey(key) => front::remove_key(text, key)?,
        Op::AddTags(tags) => tags::add(text, tags)?,
        Op::RemoveTags(tags) => tags::remove(text, tags)?,
        Op::AddItem { section, text: item, id } => {
            item::add(text, section.as_deref(), item, id.as_deref())?
        }
        Op::ReplaceItem { item, text: with } => item::replace(text, item, with)?,
        Op::RemoveItem(item) => item::remove(text, item)?,
        Op::Retarget(links) => links::rewrite(text, links)?,
    };
    let changes: Vec<Change> = changes.into_iter().filter(|it| it.is_needed(text)).collect();
    // An edit may replace a text with itself.
    front::still_readable(text, &changes)?;
    Ok(changes)
}

/// Returns the changes for several edits, applied one after the other: each refers to the text that the previous ones
/// leave. Spans refer to the given text.
///
/// # Errors
/// As [`edit`], for the first that fails; then nothing is changed.
pub fn edit_all(text: &str, ops: &[Op]) -> Result<Vec<Change>, EditError> {
    let mut done: Vec<Change> = Vec::new();
    let mut now = text.to_string();
    for op in ops {
        let changes = edit(&now, op)?;
        now = apply(&now, &changes);
        done = compose(&done, &changes);
    }
    done.retain(|it| it.is_needed(text));
    Ok(done)
}
