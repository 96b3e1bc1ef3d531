//! The tool that removes something from everything that is stored.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::shape::Freshness;
use crate::tool::{Effect, Tool, ToolSet};

/// Parameters of `forget`: exactly one of `path`, `entity` and `text`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Forget {
    /// A document, or a folder with all below it, relative to the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The name of an entity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entity: Option<String>,
    /// A string, 6 characters to 64 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// True to read the whole state folder through afterwards; false when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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
    /// Files of the project that hold it, by path, at most 1,000; kgd changes none of them.
    pub in_folder: Vec<String>,
    /// How many those are in all.
    pub n_in_folder: u64,
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
    /// True when it was found nowhere, neither in the state folder nor in a file of the project.
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
