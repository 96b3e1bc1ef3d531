//! Link: the target of a link, and how it was written.

use serde::{Deserialize, Serialize};

use crate::terms::{Norm, Span};

/// The kinds of link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum LinkKind {
    /// `[[Target]]`, `[[Target|text]]`.
    Wiki,
    /// `![[Target]]` or an image.
    Embed,
    /// `[text](path)` or `<a href="path">` to a path in the project.
    Path,
    /// Any target with a scheme.
    Url,
}

/// A link as written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// How it was written.
    pub kind: LinkKind,
    /// The target without heading, alias or query: a note name, a path, or a URL; percent-decoded if a path.
    pub target: String,
    /// What follows `#` in the target, if anything.
    pub fragment: Option<String>,
    /// The visible text; empty span for an embed.
    pub span: Span<Norm>,
}

impl Link {
    /// Returns whether it points to a document and its visible text is a name for it.
    pub fn names_a_document(&self) -> bool {
        matches!(self.kind, LinkKind::Wiki | LinkKind::Path)
    }
}
