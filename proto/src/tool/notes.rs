//! Notes: Markdown files that people and agents write (S0 §6.2, S3).
//!
//! Parameters have the names and defaults of S0 where S0 defines them. `project` is checked before
//! a tool is called: a session belongs to one project, which a gateway has chosen.

mod browse;
mod content;
mod context;
mod history;
mod read;
mod schema;
mod search;
mod write;

pub use self::browse::*;
pub use self::content::*;
pub use self::context::*;
pub use self::history::*;
pub use self::read::*;
pub use self::schema::*;
pub use self::search::*;
pub use self::write::*;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::shape::{Id, OriginView, is_zero};
use crate::view::{Sheet, Style};

/// How the text of an answer is written; the structured content is the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OutputFormat {
    /// For reading.
    #[default]
    Text,
    /// The structured content as JSON.
    Json,
}

/// A note in brief.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NoteView {
    /// Its title.
    pub title: String,
    /// Path relative to the project.
    pub path: String,
    /// For `memory://…`; left out for documents that are not notes (such as PDF), and for a moment after a note was
    /// made.
    pub permalink: Option<String>,
    /// Frontmatter `type`, or the format.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub note_type: Option<String>,
    /// Its entity in the graph, for `memory://id/…` and `explain_entity`.
    pub entity_id: Option<Id>,
    /// When the file was last modified, RFC 3339.
    pub modified: Option<String>,
    /// What it states about itself.
    #[serde(flatten)]
    pub origin: OriginView,
}

/// A stated fact: `- [category] content #tag (context) ^block`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ObservationView {
    /// The word in brackets.
    pub category: String,
    /// The fact.
    pub content: String,
    /// Its tags, without `#`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The words in parentheses at its end.
    pub context: Option<String>,
    /// Its block id, without `^`.
    pub block: Option<String>,
    /// Line of the file, from 1.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub line: u32,
    /// `note/observations/category/content` (S0 §14.2).
    pub permalink: Option<String>,
}

/// A relation that a note states by a link.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkView {
    /// The type that the author gave, such as `implements`; else `links_to`.
    pub relation: String,
    /// The target as written.
    pub target: String,
    /// The path of the target document; left out while there is none.
    pub to_path: Option<String>,
    /// The heading of the target, and its block.
    pub heading: Option<String>,
    /// See `heading`; without `^`.
    pub block: Option<String>,
    /// The words in parentheses after a typed relation.
    pub context: Option<String>,
    /// Line of the file, from 1.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub line: u32,
}

/// A link from another note, with its line.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BacklinkView {
    /// The note that holds it.
    pub title: String,
    /// Where that lies.
    pub path: String,
    /// Line of that file, from 1.
    pub line: u32,
    /// `links_to`, or the type that the author gave; `embeds` for `![[…]]`.
    pub relation: String,
    /// The words of the line, or a part of them.
    pub said: String,
    /// The heading it links to.
    pub heading: Option<String>,
    /// The block it links to, without its `^`.
    pub block: Option<String>,
}

/// Returns one backlink for each line, with the relations of all links on it, for people.
pub fn by_place(backlinks: &[BacklinkView]) -> Vec<BacklinkView> {
    let mut places: Vec<BacklinkView> = Vec::new();
    for it in backlinks {
        // Backlinks of one line follow each other.
        match places.last_mut().filter(|last| (&last.path, last.line) == (&it.path, it.line)) {
            None => places.push(it.clone()),
            Some(last) if last.relation.split(", ").any(|relation| relation == it.relation) => {}
            Some(last) => last.relation += &format!(", {}", it.relation),
        }
    }
    places
}

/// `Title (path, type)`; the type only where the author gave one.
pub(crate) fn name(note: &NoteView, style: Style) -> String {
    let kind = note.note_type.as_ref().filter(|it| *it != "note" && *it != "md");
    let (title, path) = (style.safe(&note.title), style.safe(&note.path));
    format!("{title} ({path}{})", style.after(", ", kind))
}

pub(crate) fn warnings(warnings: &[String], sheet: &mut Sheet) {
    let style = sheet.style();
    for it in warnings {
        sheet.line(&style.yellow(&format!("warning: {}", style.safe(it))));
    }
}
