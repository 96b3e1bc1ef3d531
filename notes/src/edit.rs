//! Edits of a note: spans of its bytes, each with its replacement.
//!
//! In: the text of one file and what is to be different ([`Op`]). Out: [`Change`]s, or why there can be none.
//! Invariants: bytes outside the spans stay as they are (comments, order, quoting, line ends, unknown syntax); what is
//! inserted has the line ends of its place; the end of the file keeps or lacks its newline as before; front matter that
//! could be read can be read afterwards, and says what it was meant to say, else nothing is changed; an edit that is
//! done already is no change.
//! Not here: reading and replacing files, what a write may do to secrets (the daemon).

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
pub use yaml::render_scalar;

/// One thing that is to be different. Texts may have any line ends; they get those of their place.
#[derive(Debug, Clone, PartialEq)]
pub enum Op {
    /// Adds a block at the end.
    Append(String),
    /// Adds a block at the beginning, below the front matter.
    Prepend(String),
    /// Puts a text in the place of everything between a heading and the next one of its level or above. An empty text
    /// leaves the heading alone.
    ReplaceSection {
        /// The heading, see [`EditError::NoHeading`].
        section: String,
        /// What stands below it.
        content: String,
    },
    /// Adds a block at the end of what stands below a heading, above the next heading of any level.
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
    /// Puts a text in the place of another, wherever that stands.
    Replace {
        /// The text as it stands, several lines if wanted.
        find: String,
        /// What stands there instead.
        with: String,
        /// How often it must be there.
        expected: usize,
    },
    /// States a key of the front matter, which is made if there is none.
    SetKey {
        /// The key.
        key: String,
        /// Its value.
        value: Value,
    },
    /// Removes a key of the front matter with its value.
    RemoveKey(String),
    /// Adds tags to those that the front matter states, in the form that they have there.
    AddTags(Vec<String>),
    /// Removes tags from the front matter.
    RemoveTags(Vec<String>),
    /// Adds an item at the end of the last list of a section, which is made if there is none.
    AddItem {
        /// The heading; the whole note when left out.
        section: Option<String>,
        /// The item without its marker.
        text: String,
        /// Its block id, without `^`.
        id: Option<String>,
    },
    /// Puts a text in the place of an item's own; what is nested below it and, unless the text has one, its block id
    /// stay.
    ReplaceItem {
        /// Which item.
        item: ItemRef,
        /// The item without its marker.
        text: String,
    },
    /// Removes an item with what is nested below it.
    RemoveItem(ItemRef),
    /// Makes links lead elsewhere.
    Retarget(Vec<Retarget>),
}

/// Why a text is not edited. Lines count from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// No heading is called so. A heading is given by its text; `Text#2` is the second of that text, `A > B` the one
    /// below another, `## Text` one of that level.
    #[error("no heading `{section}`{}", nearest.as_ref().map(|it| format!("; nearest is `{it}`")).unwrap_or_default())]
    NoHeading {
        /// What was asked for.
        section: String,
        /// The heading that is most like it.
        nearest: Option<String>,
    },
    /// Several headings are called so.
    #[error("{} headings are called `{section}`, in lines {}", lines.len(), listed(lines))]
    AmbiguousHeading {
        /// What was asked for.
        section: String,
        /// Where they stand.
        lines: Vec<usize>,
    },
    /// A text stands there more or less often than expected.
    #[error("the text is there {}, in line{} {}, and was expected {}",
        times(lines.len()), if lines.len() == 1 { "" } else { "s" }, listed(lines), times(*expected))]
    Count {
        /// How often it was expected.
        expected: usize,
        /// Where it begins.
        lines: Vec<usize>,
    },
    /// A text is not there.
    #[error(
        "the text is not there{}",
        nearest.as_ref().map(|(line, it)| format!("; nearest is line {line}: `{it}`")).unwrap_or_default()
    )]
    NotFound {
        /// The line that is most like its first.
        nearest: Option<(usize, String)>,
    },
    /// Nothing to find, to add, or to name was given.
    #[error("{0} is empty")]
    Empty(&'static str),
    /// No list item is called so.
    #[error("no list item {0}")]
    NoItem(String),
    /// Several list items are called so.
    #[error("{} list items are {item}, in lines {}", lines.len(), listed(lines))]
    AmbiguousItem {
        /// What was asked for.
        item: String,
        /// Where they stand.
        lines: Vec<usize>,
    },
    /// The front matter is not YAML, or not a map of keys with one value each.
    #[error("the front matter cannot be edited: {0}")]
    Frontmatter(String),
    /// A name that cannot be written so that it is read as one: a key, tag or block id.
    #[error("`{text}` cannot be a {what}: {why}")]
    BadName {
        /// What it should name.
        what: &'static str,
        /// The name.
        text: String,
        /// Why not.
        why: &'static str,
    },
    /// A place that is no link of this text.
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

/// The changes that make one thing different: in order, apart from each other. None when it is so already.
///
/// # Errors
/// [`EditError`], for what cannot be done without a guess.
pub fn edit(text: &str, op: &Op) -> Result<Vec<Change>, EditError> {
    let changes = match op {
        Op::Append(content) => place::append(text, content)?,
        Op::Prepend(content) => place::prepend(text, content)?,
        Op::ReplaceSection { section, content } => place::replace_section(text, section, content)?,
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
    front::still_readable(text, &changes)?;
    Ok(changes)
}

/// The changes that make several things different, one after the other: each is meant for the text that those before
/// it leave. Spans are of the text as it is given.
///
/// # Errors
/// As [`edit`], for the first that cannot be done; then nothing is.
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
