//! Alias: one document's use of one name for another, as `link` finds it and the index keeps it.

use crate::terms::NormKey;

/// One document's use of one name for another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct AliasUse {
    /// The norm of what is written.
    pub norm: NormKey,
    /// The norm of the name that is meant.
    pub target: NormKey,
    /// How the document shows it.
    pub source: AliasSource,
}

/// How a document shows that one name is used for another, most trusted first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AliasSource {
    /// The visible text of a link to a document.
    LinkText,
    /// Initials in parentheses after the name, or the other way round.
    Defined,
    /// A part of a name, or its initials, after the whole name. Says nothing about other documents.
    Shortened,
}

impl AliasSource {
    /// Reads the number a source is stored as: its place in the declaration.
    pub fn from_code(code: i64) -> AliasSource {
        match code {
            0 => AliasSource::LinkText,
            1 => AliasSource::Defined,
            _ => AliasSource::Shortened,
        }
    }
}
