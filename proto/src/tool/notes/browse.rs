//! The tools that show notes without a search.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{ItemType, NoteView, OutputFormat, ResultView, name, result};
use crate::shape::Freshness;
use crate::tool::{Effect, Tool, ToolSet};
use crate::view::{Sheet, View, around, as_written, count, fresh, joined, stored};

/// The order of the files of a folder.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DirectoryOrder {
    /// By path.
    #[default]
    #[serde(alias = "path", alias = "title")]
    Name,
    /// The last modified first.
    #[serde(
        alias = "updated",
        alias = "updated_at",
        alias = "mtime",
        alias = "recent",
        alias = "date"
    )]
    Modified,
    /// The largest first.
    Size,
}

/// Parameters of `list_directory`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListDirectory {
    /// Folder inside the project; its root when left out.
    #[serde(default, alias = "dir_name", skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Which project; that of this session when left out.
    pub project: Option<String>,
    /// Levels to show, 1 to 10; 1 when left out.
    pub depth: Option<u32>,
    /// Only files whose name matches, such as `*.md`.
    #[serde(default, alias = "file_name_glob", skip_serializing_if = "Option::is_none")]
    pub glob: Option<String>,
    /// Order of the files: `name` (default), `modified` (latest first), `size` (largest first); folders come first.
    pub sort: Option<DirectoryOrder>,
    /// Page, from 1.
    pub page: Option<u32>,
    /// Entries a page, 1 to 1000; 100 when left out.
    pub page_size: Option<u32>,
    /// `text` or `json`.
    pub output_format: Option<OutputFormat>,
}

/// Reply of `list_directory`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DirectoryReply {
    /// The folder; empty for the root.
    pub path: String,
    /// Folders first, then files, by name.
    pub entries: Vec<EntryView>,
    /// How many there are on all pages.
    pub n_entries: u64,
    /// Set when there is a further page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_page: Option<u32>,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

/// A folder or an indexed file.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EntryView {
    /// `directory` or `file`.
    pub kind: String,
    /// Path relative to the project.
    pub path: String,
    /// A file's title.
    pub title: Option<String>,
    /// A note's permalink.
    pub permalink: Option<String>,
    /// A file's frontmatter `type`, or its format.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub note_type: Option<String>,
    /// A file's bytes.
    pub n_bytes: Option<u64>,
    /// When a file was last modified, RFC 3339, to the millisecond.
    pub modified: Option<String>,
    /// How many indexed files a folder holds, at any depth.
    pub n_files: Option<u64>,
}

impl Tool for ListDirectory {
    const NAME: &'static str = "list_directory";
    const SUMMARY: &'static str = "The folders and indexed files of the project.";
    const EFFECT: Effect = Effect::Reads;
    const SET: ToolSet = ToolSet::Notes;
    type Reply = DirectoryReply;
}

impl View for DirectoryReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        let path = if self.path.is_empty() { "/".into() } else { style.safe(&self.path) };
        let next = self.next_page.map(|it| format!("; more on page {it}")).unwrap_or_default();
        sheet.line(&format!("{path}: {}{next}", count(self.n_entries, "entry")));
        sheet.items(self.entries.iter().map(|it| match (it.kind.as_str(), it.n_files) {
            ("directory", n) => {
                format!("  {}/  ({})", style.safe(&it.path), count(n.unwrap_or(0), "file"))
            }
            _ => {
                let title = it.title.as_deref().unwrap_or_default();
                let day = it.modified.as_deref().and_then(|it| it.get(..10)).unwrap_or_default();
                format!("  {}  {}  {day}", style.safe(&it.path), style.safe(title))
            }
        }));
    }
}

/// Parameters of `list_notes`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListNotes {
    /// Which project; that of this session when left out.
    #[serde(default, alias = "vault", skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Only notes in this folder, or whose path matches this: `docs/*.md`.
    pub path: Option<String>,
    /// Only notes with all of these tags, or tags under them.
    pub tags: Option<Vec<String>>,
    /// Only notes of these types.
    pub note_types: Option<Vec<String>>,
    /// Page, from 1.
    pub page: Option<u32>,
    /// Notes a page, 1 to 1000; 100 when left out.
    #[serde(default, alias = "limit", skip_serializing_if = "Option::is_none")]
    pub page_size: Option<u32>,
    /// `text` or `json`.
    pub output_format: Option<OutputFormat>,
}

/// Reply of `list_notes` and `recent_activity`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NotesReply {
    /// By path; of `recent_activity` the last modified first.
    pub notes: Vec<NoteView>,
    /// How many there are on all pages.
    pub n_notes: u64,
    /// Of `recent_activity`: from when on, RFC 3339.
    pub since: Option<String>,
    /// Observations and relations, where they were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub statements: Vec<ResultView>,
    /// Set when there is a further page.
    pub next_page: Option<u32>,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

impl Tool for ListNotes {
    const NAME: &'static str = "list_notes";
    const SUMMARY: &'static str = "The titles and paths of the notes, for browsing.";
    const EFFECT: Effect = Effect::Reads;
    const SET: ToolSet = ToolSet::Notes;
    type Reply = NotesReply;
}

impl View for NotesReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        let since = style.after(" modified since ", self.since.as_ref());
        let next = self.next_page.map(|it| format!("; more on page {it}")).unwrap_or_default();
        let what = if self.since.is_some() { "document" } else { "note" };
        sheet.line(&format!("{}{since}{next}", count(self.n_notes, what)));
        sheet.items(self.notes.iter().map(|it| {
            let modified = self.since.as_ref().and(it.modified.as_ref());
            format!("  {}{}", name(it, style), style.after("  ", modified))
        }));
        sheet.list(
            "stated there:",
            self.statements.iter().map(|it| format!("  {}", result(it, style))),
        );
    }
}

/// Parameters of `recent_activity`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecentActivity {
    /// How far back: `1 day` (default), `2h`, `last week`, `yesterday`, `3 months ago`, `2026-01-31`.
    pub timeframe: Option<String>,
    /// Which project; that of this session when left out.
    pub project: Option<String>,
    /// Only documents of these types.
    pub note_types: Option<Vec<String>>,
    /// What to return: `entity` (default), `observation`, `relation`; the latter are those of notes that were modified.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub item_types: Option<Vec<ItemType>>,
    /// Without effect: `build_context` shows what is near.
    pub depth: Option<u32>,
    /// Page, from 1.
    pub page: Option<u32>,
    /// Documents a page, 1 to 500; 20 when left out.
    #[serde(default, alias = "limit", skip_serializing_if = "Option::is_none")]
    pub page_size: Option<u32>,
    /// `text` or `json`.
    pub output_format: Option<OutputFormat>,
}

impl Tool for RecentActivity {
    const NAME: &'static str = "recent_activity";
    const SUMMARY: &'static str = "Recently modified notes and documents, newest first.";
    const EFFECT: Effect = Effect::Reads;
    const SET: ToolSet = ToolSet::Notes;
    type Reply = NotesReply;
}

/// Parameters of `list_memory_projects`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListMemoryProjects {
    /// `text` or `json`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_format: Option<OutputFormat>,
}

/// Reply of `list_memory_projects`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProjectsReply {
    /// By name.
    pub projects: Vec<ProjectView>,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

/// A registered project.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProjectView {
    /// Its name.
    pub name: String,
    /// Its name as a permalink.
    pub permalink: String,
    /// Its folder.
    pub path: String,
    /// Whether its folder is there.
    pub is_active: bool,
    /// Whether it is the default project.
    pub is_default: bool,
    /// Whether this session is about it.
    pub is_current: bool,
    /// Whether its user lets no tool write there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_read_only: bool,
    /// Entities, as far as it is indexed.
    pub n_entities: Option<u64>,
    /// Notes and documents, as far as it is indexed.
    pub n_documents: Option<u64>,
}

impl Tool for ListMemoryProjects {
    const NAME: &'static str = "list_memory_projects";
    const SUMMARY: &'static str = "The registered projects, the one of this session marked.";
    const EFFECT: Effect = Effect::Reads;
    const SET: ToolSet = ToolSet::Notes;
    type Reply = ProjectsReply;
}

impl View for ProjectsReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        sheet.items(self.projects.iter().map(|it| {
            let marks = [
                (it.is_current, "this session"),
                (it.is_default, "default"),
                (it.is_read_only, "read-only"),
                (!it.is_active, "folder missing"),
            ];
            let marks = marks.into_iter().filter(|(is_so, _)| *is_so).map(|(_, it)| it.to_string());
            let counts = it.n_documents.zip(it.n_entities).map(|(documents, entities)| {
                format!("{}, {}", count(documents, "document"), count(entities, "entity"))
            });
            let marks = around("  (", &joined(marks.chain(counts)), ")");
            format!("{}  {}{marks}", stored(&it.name), style.safe(&it.path))
        }));
    }
}

/// Parameters of `get_mcp_instructions`: none.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetMcpInstructions {}

/// Reply of `get_mcp_instructions`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InstructionsReply {
    /// Markdown.
    pub text: String,
    /// Settings that matter to writers, as they are for this project.
    pub settings: BTreeMap<String, String>,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

impl Tool for GetMcpInstructions {
    const NAME: &'static str = "get_mcp_instructions";
    const SUMMARY: &'static str = "How to use and configure this server, for users who ask.";
    const EFFECT: Effect = Effect::Reads;
    const SET: ToolSet = ToolSet::Notes;
    type Reply = InstructionsReply;
}

impl View for InstructionsReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        sheet.cut(&as_written(self.text.trim_end()));
        sheet.items(
            self.settings
                .iter()
                .map(|(key, value)| format!("{}: {}", style.safe(key), style.safe(value))),
        );
    }
}
