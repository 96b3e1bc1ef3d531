//! Errors a request can end with: a stable code, a message, and a hint.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// Stable codes; the text of a code never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// A parameter is missing, unknown or out of range.
    InvalidParams,
    /// Nothing has that name or id.
    NotFound,
    /// The name fits several things; the message lists them.
    Ambiguous,
    /// A path leads out of the project.
    OutsideProject,
    /// The project is read-only.
    ReadOnly,
    /// It exists already.
    Exists,
    /// It has changed since the caller read it.
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

impl Code {
    /// Returns the code as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Code::InvalidParams => "invalid_params",
            Code::NotFound => "not_found",
            Code::Ambiguous => "ambiguous",
            Code::OutsideProject => "outside_project",
            Code::ReadOnly => "read_only",
            Code::Exists => "exists",
            Code::Conflict => "conflict",
            Code::Refused => "refused",
            Code::DeadlineExceeded => "deadline_exceeded",
            Code::Cancelled => "cancelled",
            Code::Unavailable => "unavailable",
            Code::VersionMismatch => "version_mismatch",
            Code::Internal => "internal",
        }
    }
}

/// A refused request, as the structured content of a tool result.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorView {
    /// The error code.
    pub code: Code,
    /// What failed, on what.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// Of `conflict`: the present text, and the text that was not written.
    pub conflict: Option<Box<ConflictView>>,
}

impl ErrorView {
    /// Returns a refusal: what failed, on what, and what to do about it.
    pub fn hinted(code: Code, message: impl Into<String>, hint: impl Into<String>) -> Self {
        ErrorView { code, message: message.into(), hint: Some(hint.into()), conflict: None }
    }
}

/// Both versions of a note that changed meanwhile.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConflictView {
    /// The path of the note.
    pub path: String,
    /// SHA-256 of the present file, for the next `expected_checksum`; absent when the note is gone.
    pub checksum: Option<String>,
    /// The present lines that differ from the text that was not written, secrets removed; all lines if nothing was to
    /// be written, or the edit no longer applies.
    pub theirs: Option<VersionView>,
    /// The differing lines of the text that was not written.
    pub yours: Option<VersionView>,
    /// The file that keeps the whole text that was not written, for 30 days.
    pub kept: Option<String>,
}

/// Lines of one version. Untrusted data.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VersionView {
    /// The first of them, from 1.
    pub line: u32,
    /// The lines.
    pub text: String,
    /// Whether there are more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_cut: bool,
}

impl std::fmt::Display for ErrorView {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)?;
        if let Some(hint) = &self.hint {
            write!(f, "\nhint: {hint}")?;
        }
        let Some(conflict) = &self.conflict else { return Ok(()) };
        for (whose, version) in [("now there", &conflict.theirs), ("yours", &conflict.yours)] {
            if let Some(VersionView { line, text, is_cut }) = version {
                let more = if *is_cut { "\n…" } else { "" };
                write!(f, "\n{whose}, from line {line}:\n{}{more}", text.trim_end_matches('\n'))?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for ErrorView {}
