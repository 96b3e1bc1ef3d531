//! Alias: one document's use of one name for another.

use crate::terms::NormKey;

/// One document's use of one name for another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct AliasUse {
    /// The norm of the name as written.
    pub norm: NormKey,
    /// The norm of the name it is an alias of.
    pub target: NormKey,
    /// How the document shows it.
    pub source: AliasSource,
}

/// How a document shows that one name is used for another, most trusted first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AliasSource {
    /// Initials in parentheses after the name, or the other way round.
    Defined,
    /// A person's handle beside the name.
    Handle,
    /// A part of a name, or its initials, after the whole name. Says nothing about other documents.
    Shortened,
}

impl AliasSource {
    /// Decodes the stored number of a source: its position in the declaration.
    pub fn from_code(code: i64) -> AliasSource {
        match code {
            0 => AliasSource::Defined,
            1 => AliasSource::Handle,
            _ => AliasSource::Shortened,
        }
    }
}
