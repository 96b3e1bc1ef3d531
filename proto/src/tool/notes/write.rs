//! The tools that change files.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use serde_with::skip_serializing_none;

use super::{OutputFormat, warnings};
use crate::shape::Freshness;
use crate::tool::{Effect, Tool, ToolSet};
use crate::view::{Sheet, Style, View, count, fresh, stored};

/// Parameters of `write_note`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteNote {
    /// The title; the file's name is made from it.
    pub title: String,
    /// The note's Markdown, without front matter. `- [category] fact #tag (context)` states a fact,
    /// `- relation [[Other note]]` a relation.
    pub content: String,
    /// Folder inside the project, made when missing; its root when left out.
    #[serde(default, alias = "folder", skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// Which project; that of this session when left out.
    pub project: Option<String>,
    /// Tags for the front matter.
    pub tags: Option<Vec<String>>,
    /// Frontmatter `type`; `note` when left out.
    pub note_type: Option<String>,
    /// Where its content comes from; becomes `source_url` in the front matter, and hits show it.
    pub source_url: Option<String>,
    /// Further keys of the front matter.
    pub metadata: Option<Map<String, Value>>,
    /// Whether to replace an existing note; false when left out. Its earlier text is kept for 30 days.
    pub overwrite: Option<bool>,
    /// Only if the file still has this checksum, as an earlier reply gave it.
    pub expected_checksum: Option<String>,
    /// `text` or `json`.
    pub output_format: Option<OutputFormat>,
}

/// Reply of the tools that write, edit or delete a note.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WrittenReply {
    /// `created`, `overwritten`, `edited`, `unchanged`, `deleted`, or `would be edited`.
    pub action: String,
    /// Path relative to the project.
    #[serde(alias = "file_path")]
    pub path: String,
    /// The note's title.
    pub title: String,
    /// For `memory://…`.
    pub permalink: Option<String>,
    /// SHA-256 of the file now, for `expected_checksum`; left out when the note was deleted.
    pub checksum: Option<String>,
    /// Facts that the note states now.
    #[serde(default)]
    pub n_observations: u64,
    /// Relations that it states now.
    #[serde(default)]
    pub n_relations: u64,
    /// Those of them whose target does not exist yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unresolved: Vec<String>,
    /// Lines of the file that the edit changed, of the text before; at most 50.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<ChangedLines>,
    /// What the caller might not expect.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Freshness: answers of this tick and later show the note as it is now.
    #[serde(flatten)]
    pub freshness: Freshness,
}

/// One stretch of a file that an edit changed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedLines {
    /// First line, from 1, of the text before.
    pub line: u32,
    /// What stood there.
    pub before: String,
    /// The new text.
    pub after: String,
}

impl Tool for WriteNote {
    const NAME: &'static str = "write_note";
    const SUMMARY: &'static str = "Write a new Markdown note into the project, or replace one with `overwrite`. It \
        is searchable when this returns.";
    const EFFECT: Effect = Effect::Writes;
    const SET: ToolSet = ToolSet::Notes;
    type Reply = WrittenReply;
}

impl View for WrittenReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        let [action, path, title] =
            [&self.action, &self.path, &self.title].map(|it| style.safe(it));
        sheet.line(&format!("{action} {path} ({title})"));
        if let Some(permalink) = &self.permalink {
            let facts = count(self.n_observations, "fact");
            let relations = count(self.n_relations, "relation");
            sheet.line(&format!("memory://{}  {facts}, {relations}", style.safe(permalink)));
        }
        if let Some(checksum) = &self.checksum {
            sheet.line(&format!("checksum {checksum}"));
        }
        warnings(&self.warnings, sheet);
        if !self.unresolved.is_empty() {
            sheet.line(&format!("links to missing notes: {}", style.names(&self.unresolved)));
        }
        sheet.items(self.changed.iter().map(|it| changed(it, style)));
    }
}

/// What `edit_note` does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EditOperation {
    /// Adds `content` at the end, or at the end of `section`.
    Append,
    /// Adds `content` at the beginning, below the front matter.
    Prepend,
    /// Replaces the text below the heading `section` by `content`.
    ReplaceSection,
    /// Adds `content` above the heading `section`.
    #[serde(alias = "insert_before_section")]
    InsertBefore,
    /// Adds `content` right below the heading `section`.
    #[serde(alias = "insert_after_section")]
    InsertAfter,
    /// Replaces `find`, which must occur `expected_count` times, by `content`.
    FindReplace,
    /// Sets `key` of the front matter to `value`.
    SetFrontmatter,
    /// Removes `key` from the front matter.
    RemoveFrontmatter,
}

/// Parameters of `edit_note`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EditNote {
    /// The note: path, permalink, title or `memory://…`.
    #[serde(alias = "identifier")]
    pub path: String,
    /// `append`, `prepend`, `replace_section`, `insert_before`, `insert_after`, `find_replace`, `set_frontmatter` or
    /// `remove_frontmatter`; when left out `find_replace` with `find`, `replace_section` with `section`, else `append`.
    pub operation: Option<EditOperation>,
    /// The new text.
    #[serde(default, alias = "content", skip_serializing_if = "Option::is_none")]
    pub content_updates: Option<String>,
    /// A heading: its words; `Words#2` the second of that name, `Above > Words` one below another.
    pub section: Option<String>,
    /// The text to replace, exactly.
    #[serde(default, alias = "find_text", skip_serializing_if = "Option::is_none")]
    pub find: Option<String>,
    /// How often `find` must be there; 1 when left out.
    #[serde(default, alias = "expected_replacements", skip_serializing_if = "Option::is_none")]
    pub expected_count: Option<u32>,
    /// Whether `replace_section` replaces the sections below that heading, too; true when left out.
    pub replace_subsections: Option<bool>,
    /// Keys of the front matter with their values, set beside whatever else is done.
    pub metadata: Option<Map<String, Value>>,
    /// A key of the front matter.
    pub key: Option<String>,
    /// Its value.
    pub value: Option<Value>,
    /// Which project; that of this session when left out.
    pub project: Option<String>,
    /// Only if the file still has this checksum, as an earlier reply gave it.
    pub expected_checksum: Option<String>,
    /// Return what would change, and change nothing.
    pub dry_run: Option<bool>,
    /// `text` or `json`.
    pub output_format: Option<OutputFormat>,
}

impl Tool for EditNote {
    const NAME: &'static str = "edit_note";
    const SUMMARY: &'static str = "Change a part of a note and nothing else: append, prepend, replace or insert at a \
        heading, find and replace, front matter.";
    const EFFECT: Effect = Effect::Writes;
    const SET: ToolSet = ToolSet::Notes;
    type Reply = WrittenReply;
}

/// Parameters of `move_note`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MoveNote {
    /// The note: path, permalink, title or `memory://…`.
    #[serde(alias = "identifier")]
    pub path: String,
    /// Its new path, such as `archive/plan.md`; a folder when it ends with `/`.
    #[serde(default, alias = "destination_path", skip_serializing_if = "Option::is_none")]
    pub destination: Option<String>,
    /// Its new folder, instead of `destination`; the note keeps the name of its file.
    pub destination_folder: Option<String>,
    /// Which project; that of this session when left out.
    pub project: Option<String>,
    /// Return what would change, and change nothing.
    pub dry_run: Option<bool>,
    /// Only if the file still has this checksum, as an earlier reply gave it.
    pub expected_checksum: Option<String>,
    /// `text` or `json`.
    pub output_format: Option<OutputFormat>,
}

/// Reply of `move_note`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MovedReply {
    /// True for a dry run: nothing was changed.
    #[serde(default)]
    pub dry_run: bool,
    /// The path before.
    pub from: String,
    /// The path now.
    pub to: String,
    /// The permalink now.
    pub permalink: Option<String>,
    /// SHA-256 of the file now.
    pub checksum: Option<String>,
    /// Files whose links were rewritten to the new place, the moved note among them.
    pub rewritten: Vec<RewrittenView>,
    /// How fresh this is: answers of this tick and later know the note at its new place.
    #[serde(flatten)]
    pub freshness: Freshness,
}

/// A file whose links were rewritten.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RewrittenView {
    /// Path relative to the project.
    pub path: String,
    /// What was changed.
    pub changed: Vec<ChangedLines>,
    /// Why its links could not be changed; they still link to the old place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Tool for MoveNote {
    const NAME: &'static str = "move_note";
    const SUMMARY: &'static str = "Move or rename a note and rewrite the links of other notes that would break. Try \
        `dry_run` first.";
    const EFFECT: Effect = Effect::Writes;
    const SET: ToolSet = ToolSet::Notes;
    type Reply = MovedReply;
}

impl View for MovedReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        let verb = if self.dry_run { "would move" } else { "moved" };
        sheet.line(&format!("{verb} {} to {}", style.safe(&self.from), style.safe(&self.to)));
        if let Some(permalink) = &self.permalink {
            sheet.line(&format!("memory://{}", style.safe(permalink)));
        }
        if self.rewritten.is_empty() {
            sheet.line("no link had to be rewritten");
        }
        sheet.items(self.rewritten.iter().map(|it| {
            let path = style.safe(&it.path);
            match &it.error {
                Some(error) if path.is_empty() => style.safe(error).into_owned(),
                Some(error) => format!("{path}: {}", style.safe(error)),
                None => format!(
                    "{path}: {}",
                    it.changed.iter().map(|it| changed(it, style)).collect::<Vec<_>>().join("\n  ")
                ),
            }
        }));
    }
}

/// Parameters of `delete_note`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteNote {
    /// The note: path (of a symlink that of its target), permalink, title or `memory://…`.
    #[serde(alias = "identifier")]
    pub path: String,
    /// Which project; that of this session when left out.
    pub project: Option<String>,
    /// Only if the file still has this checksum, as an earlier reply gave it.
    pub expected_checksum: Option<String>,
    /// `false`: a tool deletes one note; a folder is deleted by a person.
    #[serde(default, alias = "is_dir", skip_serializing_if = "Option::is_none")]
    pub is_directory: Option<bool>,
    /// `text` or `json`.
    pub output_format: Option<OutputFormat>,
}

impl Tool for DeleteNote {
    const NAME: &'static str = "delete_note";
    const SUMMARY: &'static str =
        "Delete a note with all that it states. Its text is kept for 30 days.";
    const EFFECT: Effect = Effect::Writes;
    const SET: ToolSet = ToolSet::Notes;
    const IS_IDEMPOTENT: bool = true;
    type Reply = WrittenReply;
}

/// Parameters of `create_memory_project`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateMemoryProject {
    /// Its name.
    #[serde(alias = "project_name")]
    pub name: String,
    /// Its folder, absolute or from the home folder (`~/notes`); made when missing.
    #[serde(alias = "project_path")]
    pub path: String,
    /// Whether it becomes the default project; false when left out.
    pub set_default: Option<bool>,
    /// `text` or `json`.
    pub output_format: Option<OutputFormat>,
}

/// Reply of `create_memory_project`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CreatedProjectReply {
    /// Its name.
    pub name: String,
    /// Its folder, absolute.
    pub path: String,
    /// False when it was registered already.
    pub is_new: bool,
    /// How to work with it.
    pub hint: String,
    /// How fresh this is; of the project that was asked.
    #[serde(flatten)]
    pub freshness: Freshness,
}

impl Tool for CreateMemoryProject {
    const NAME: &'static str = "create_memory_project";
    const SUMMARY: &'static str = "Register a folder as a project of its own, below a folder that the user \
        set aside for this (`projects.roots`). Its daemon starts when it is first used.";
    const EFFECT: Effect = Effect::Writes;
    const SET: ToolSet = ToolSet::Notes;
    type Reply = CreatedProjectReply;
}

impl View for CreatedProjectReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        let verb = if self.is_new { "registered" } else { "registered already:" };
        sheet.line(&format!("{verb} {}  {}", stored(&self.name), style.safe(&self.path)));
        sheet.line(&style.safe(&self.hint));
    }
}

/// The lines as `diff` shows them.
fn changed(it: &ChangedLines, style: Style) -> String {
    let marked = |mark: &str, text: &str| -> String {
        text.trim_end_matches('\n')
            .split('\n')
            .filter(|_| !text.is_empty())
            .map(|line| format!("\n  {mark} {}", style.safe(line)))
            .collect()
    };
    format!("line {}:{}{}", it.line, marked("-", &it.before), marked("+", &it.after))
}
