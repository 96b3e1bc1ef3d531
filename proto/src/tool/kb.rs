//! Kb: entries of knowledge (S2), each a note `kb-00042-…` with a type, tags, a confidence that decays, and versions.
//!
//! Tools and parameters have the names of S2. Wherever an entry or node is named, ids such as
//! `kb-00042`, `tag:python`, `project:kgd`, `person:ada`, `tool:cargo` and `note:docs/a.md` are
//! accepted.

mod ask;
mod ingest;
mod maintain;
mod search;
mod store;

pub use self::ask::*;
pub use self::ingest::*;
pub use self::maintain::*;
pub use self::search::*;
pub use self::store::*;

use crate::view::{Sheet, Style, around, tags};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// What kind of knowledge an entry is; it decides how fast it goes stale.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum EntryType {
    /// Version numbers, details of interfaces: half of its confidence is gone after 90 days.
    #[default]
    FactualReference,
    /// What was chosen, and why: 365 days.
    Decision,
    /// How things are done here: 730 days.
    PatternConvention,
    /// What experience taught: 1825 days.
    LessonLearned,
}

impl EntryType {
    /// Every type.
    pub const ALL: [EntryType; 4] = [
        EntryType::FactualReference,
        EntryType::Decision,
        EntryType::PatternConvention,
        EntryType::LessonLearned,
    ];

    /// Returns the name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            EntryType::FactualReference => "factual_reference",
            EntryType::Decision => "decision",
            EntryType::PatternConvention => "pattern_convention",
            EntryType::LessonLearned => "lesson_learned",
        }
    }

    /// Parses [`EntryType::as_str`], in any case, with underscores, hyphens or spaces.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim().to_lowercase().replace(['-', ' '], "_");
        Self::ALL.into_iter().find(|it| it.as_str() == text)
    }
}

/// An entry in brief: everything but its details.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EntryView {
    /// Its id, such as `kb-00042`.
    pub id: String,
    /// What kind of knowledge it is.
    pub entry_type: EntryType,
    /// Its short title.
    pub short_title: String,
    /// Its long title, where it says more.
    pub long_title: Option<String>,
    /// Its tags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The project that it belongs to.
    pub project_ref: Option<String>,
    /// Its confidence now: the stated one, decayed since the entry was last edited or opened.
    pub confidence: f64,
    /// Set under .5: it may be outdated.
    pub warning: Option<String>,
    /// Set when it is inactive.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inactive: bool,
    /// The entries that took its place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub superseded_by: Vec<String>,
    /// Path of its note.
    pub path: String,
}

/// Formats two or three lines: id, type, title, confidence; the long title; tags and project.
pub(crate) fn brief(it: &EntryView, style: Style) -> String {
    let mut text = format!(
        "[{}] {}: {} ({:.0} %){}",
        it.id,
        it.entry_type.as_str(),
        style.safe(&it.short_title),
        it.confidence * 100.0,
        if it.inactive { ", inactive" } else { "" }
    );
    text += &style.after("\n   ", it.long_title.as_ref());
    let about = tags(&it.tags, style) + &style.after(" project ", it.project_ref.as_ref());
    text += &around("\n  ", &about, "");
    text += &around("\n   superseded by ", &it.superseded_by.join(", "), "");
    text + &style.after("\n   warning: ", it.warning.as_ref())
}

/// Adds lines of our own, which may name what a request did.
pub(crate) fn each(items: &[String], sheet: &mut Sheet) {
    let style = sheet.style();
    sheet.items(items.iter().map(|it| style.safe(it).into_owned()));
}
