//! The tool that removes something from everything that is stored.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::shape::{Freshness, is_zero};
use crate::tool::{Effect, Tool, ToolSet};
use crate::view::{Sheet, View, counted, fresh, thousands};

/// Parameters of `forget`: exactly one of `path`, `entity` and `text`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Forget {
    /// A document, or a folder with all below it, relative to the project; or the id of an entry.
    pub path: Option<String>,
    /// The name of an entity.
    pub entity: Option<String>,
    /// A string, 6 characters to 64 KiB.
    pub text: Option<String>,
    /// True to read the whole state folder through afterwards; false when left out.
    pub prove: Option<bool>,
}

/// Reply of `forget`. It never repeats what was to be forgotten.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ForgetReply {
    /// What went, by store.
    pub removed: Vec<Removed>,
    /// True when kgd has never kept anything of the document or entity that was named: check its spelling.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unknown: bool,
    /// If so, what was looked for, and where.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub looked_for: Vec<String>,
    /// Files of the project that are the documents, or hold the string, by path, at most 1,000; kgd changes none of
    /// them.
    pub in_folder: Vec<String>,
    /// How many those are in all.
    pub n_in_folder: u64,
    /// Other documents, entries and records that say the same, or name it, at most 1,000. What they say is theirs, and
    /// nothing of it was changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also_in: Vec<String>,
    /// How many those are in all.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub n_also_in: u32,
    /// The result of a scan of the state folder; absent unless `prove` was set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
    /// How fresh this is.
    #[serde(flatten)]
    pub freshness: Freshness,
}

/// Things of one kind that went.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Removed {
    /// `ledger`, `backups`, `kept`, `log`, `exports`, `leftovers`, `vectors` or `index`.
    pub store: String,
    /// A table, or what was removed or rewritten.
    pub what: String,
    /// How many.
    pub n: u64,
}

/// A scan of every byte of the state folder.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Proof {
    /// True when it was found nowhere, neither in the state folder nor in a file of the project; what others say as
    /// well (`also_in`) is not it.
    pub gone: bool,
    /// Files that were read.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Where it was still found.
    pub left: Vec<Left>,
}

/// A file of the state folder that still holds it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Left {
    /// Its path in the state folder.
    pub file: String,
    /// `name`, `bytes`, `index words`, or a table.
    pub place: String,
    /// How often.
    pub n: u64,
    /// True when it is there only because of the files in `in_folder`: the index holds what they say, and the ledger
    /// their names, as long as they are there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub of_files: bool,
}

impl Tool for Forget {
    const NAME: &'static str = "forget";
    const SUMMARY: &'static str = "Take a document, an entity or a string out of everything that is kept: index, \
        vectors, ledger, kept versions, backups, logs and pages. Files of the project are not changed.";
    const EFFECT: Effect = Effect::Writes;
    const SET: ToolSet = ToolSet::Admin;
    type Reply = ForgetReply;
}

impl View for ForgetReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        if self.unknown {
            sheet.line("not found: nothing was ever stored for it");
            sheet.items(self.looked_for.iter().map(|it| format!("looked for {}", style.safe(it))));
            sheet.line(
                "hint: a path is relative to the project; `kgctl forget --text -` forgets a string, wherever it stands",
            );
            return;
        }
        if self.removed.is_empty() {
            sheet.line("it was not stored outside the index");
        }
        sheet.table(
            &["STORE", "WHAT", "REMOVED"],
            self.removed.iter().map(|it| {
                vec![it.store.clone(), style.safe(&it.what).into_owned(), thousands(it.n)]
            }),
        );
        let still = style.yellow("still in");
        sheet.items(self.in_folder.iter().map(|it| format!("{still} {}", style.place(it))));
        // Only the first files are listed, and all are counted.
        let more = self.n_in_folder.saturating_sub(self.in_folder.len() as u64);
        if more > 0 {
            sheet.line(&format!("and in {}", counted(more, "more file")));
        }
        if self.n_in_folder > 0 {
            sheet.line(
                "hint: these files are yours, and are indexed as they are: edit or delete them, or list them in \
                 `.kgignore`, then again",
            );
        }
        let others = self.also_in.iter().take(MAX_OTHERS);
        sheet.items(others.map(|it| format!("also in {}", style.place(it))));
        let more = self.n_also_in.saturating_sub(self.also_in.len().min(MAX_OTHERS) as u32);
        if more > 0 {
            sheet.line(&format!("and in {more} more"));
        }
        if self.n_also_in > 0 {
            sheet.line(
                "these share lines with it or mention it; what they say is theirs, and was not changed",
            );
        }
        if let Some(proof) = &self.proof {
            proof.view(sheet);
        }
    }
}

impl Proof {
    fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        if self.left.iter().any(|it| it.of_files) {
            sheet.line(
                "the index, and the ledger for their names, hold it as long as these files do",
            );
        }
        let left = self.left.iter().filter(|it| !it.of_files);
        sheet.items(left.map(|it| {
            let (file, place) = (style.safe(&it.file), style.safe(&it.place));
            format!("{} {file}: {} ({place})", style.red("left in"), thousands(it.n))
        }));
        let (files, bytes) = (counted(self.files, "file"), thousands(self.bytes));
        let verdict = if self.gone { style.green("gone") } else { style.red("not gone") };
        sheet.line(&format!("{verdict}: {files} of the state folder read, {bytes} bytes"));
    }
}

/// Most other documents that say the same and are listed.
const MAX_OTHERS: usize = 20;
