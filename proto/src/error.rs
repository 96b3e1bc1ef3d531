//! Errors a request can end with: a stable code, a message, and a hint.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Stable codes; the text of a code never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// A parameter is missing, unknown or out of range.
    InvalidParams,
    /// Nothing goes by that name or id.
    NotFound,
    /// The name fits several things; the message lists them.
    Ambiguous,
    /// A path leads out of the project.
    OutsideProject,
    /// The project is read-only.
    ReadOnly,
    /// What is to be made is there already.
    Exists,
    /// What is to be changed is not what the caller has read.
    Conflict,
    /// A rule forbids it: a path that is not indexed, a secret that would be lost, an edit that does not fit.
    Refused,
    /// The request took longer than its deadline.
    DeadlineExceeded,
    /// The caller cancelled.
    Cancelled,
    /// The daemon is stopping, or its store is unsound.
    Unavailable,
    /// Client and daemon are of versions that do not understand each other.
    VersionMismatch,
    /// A bug in kgd.
    Internal,
}

/// A refused request, as it stands in a tool result's structured content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorView {
    /// Which kind of trouble.
    pub code: Code,
    /// What failed, on what.
    pub message: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl std::fmt::Display for ErrorView {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for ErrorView {}
