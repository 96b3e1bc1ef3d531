//! The tool that makes entries from files.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::EntryType;
use crate::shape::Freshness;
use crate::tool::{Effect, Tool, ToolSet};
use crate::view::{Sheet, View, around, fresh};

/// Parameters of `kb_ingest`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KbIngest {
    /// A file, a folder, or a pattern such as `docs/**/*.md`, inside the project.
    #[serde(default, alias = "file_path", skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// Instead of `path`: a Markdown text that is not a file of the project; needs `source_url`.
    pub content: Option<String>,
    /// Where `content` came from; the same one again replaces the entries of the time before.
    pub source_url: Option<String>,
    /// The project that the entries belong to; that of the last time when left out.
    pub project_ref: Option<String>,
    /// Return what would be done, and do nothing.
    pub dry_run: Option<bool>,
    /// Whether folders below a folder are read, too; true when left out.
    pub recursive: Option<bool>,
}

/// An entry that was made of a part of a file, or would be.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExtractedEntry {
    /// Its id; none in a dry run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Its short title.
    pub short_title: String,
    /// What kind of knowledge it is.
    pub entry_type: EntryType,
}

/// What became of one file.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IngestedView {
    /// Its path.
    pub path: String,
    /// `ingested`, `unchanged`, `skipped` (not meant to be read), `flagged` (holds a secret), `error` or `dry_run`.
    pub action: String,
    /// Why it was not ingested.
    pub reason: Option<String>,
    /// What it is about.
    pub summary: Option<String>,
    /// Who wrote summary and entries: `llm:` and the model; absent where both were taken from the file by rules.
    pub written_by: Option<String>,
    /// Why a model did not write them, where one is set. A file for which the call had no time left, or the model no
    /// budget, is read by it when it is ingested again.
    pub llm: Option<String>,
    /// The entries that were made of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<ExtractedEntry>,
    /// Sections that gave no entry: under 8 words, and not a decision, lesson or convention of at least 3.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// Earlier entries that were deactivated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaced: Vec<String>,
    /// What was hidden in it, by kind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redactions: Vec<String>,
}

/// Reply of `kb_ingest`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KbIngestReply {
    /// True for a dry run: nothing was done.
    pub dry_run: bool,
    /// Files that were looked at.
    pub total: u64,
    /// Files of which entries were made, or would be.
    pub ingested: u64,
    /// Files that are as they were.
    pub unchanged: u64,
    /// Files that are not meant to be read.
    pub skipped: u64,
    /// Files that hold secrets.
    pub flagged: u64,
    /// Files that could not be read.
    pub errors: u64,
    /// Entries that were made, or would be.
    pub entries_created: u64,
    /// Every file, by path; of more than 500 only the first.
    pub files: Vec<IngestedView>,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

impl Tool for KbIngest {
    const NAME: &'static str = "kb_ingest";
    const SUMMARY: &'static str = "Create entries from files of the project: one per section, at most 10 per file. \
        Files with secrets are skipped; a changed file replaces its entries.";
    const EFFECT: Effect = Effect::Writes;
    const SET: ToolSet = ToolSet::Kb;
    type Reply = KbIngestReply;
}

impl View for KbIngestReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        sheet.line(&format!(
            "{}{} files: {} ingested, {} unchanged, {} skipped, {} flagged, {} errors; {} entries",
            if self.dry_run { "dry run: of " } else { "" },
            self.total,
            self.ingested,
            self.unchanged,
            self.skipped,
            self.flagged,
            self.errors,
            self.entries_created
        ));
        sheet.items(self.files.iter().map(|it| {
            let reason = style.after(" — ", it.reason.as_ref());
            let mut text = format!("{}: {}{reason}", it.action, style.safe(&it.path));
            text.extend(it.llm.iter().map(|it| format!("\n   ({})", style.safe(it))));
            for entry in &it.entries {
                let id = entry.id.as_ref().map(|it| format!("[{it}] ")).unwrap_or_default();
                let (kind, title) = (entry.entry_type.as_str(), style.safe(&entry.short_title));
                text += &format!("\n   {id}{kind}: {title}");
            }
            text += &around("\n   too short for an entry: ", &style.names(&it.left_out), "");
            text + &around("\n   replaces ", &it.replaced.join(", "), "")
        }));
    }
}
