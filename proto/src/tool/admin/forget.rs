//! The tool that removes something from everything that is stored.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::shape::{Freshness, is_zero};
use crate::tool::{Effect, Tool, ToolSet};

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
