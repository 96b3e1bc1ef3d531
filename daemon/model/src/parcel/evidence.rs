//! Evidence: one place at which a document states a relation.

use std::borrow::Cow;

use crate::terms::{Confidence, Norm, Span};

/// One statement of a relation, at one place of one document.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    /// Who.
    pub subject: Party,
    /// The relation's name (S4 §8's vocabulary).
    pub predicate: &'static str,
    /// Whom.
    pub object: Party,
    /// The words that state it: a sentence, a list item, a link.
    pub span: Span<Norm>,
    /// Which pattern found it, such as `sentence:depends on` or `section:dependencies`.
    pub pattern: &'static str,
    /// Pattern weight × proximity; the link's score joins when the relation is read.
    pub confidence: Confidence,
    /// An end is not named there: `it`, `the service`.
    pub is_referring: bool,
}

/// Ends the name of a pattern that found its statement through words which refer to a name.
const REFERRING: &str = "+coref";

impl Evidence {
    /// Returns how the statement was found: its pattern, and whether words that refer to a name are part of it.
    pub fn source(&self) -> Cow<'static, str> {
        if self.is_referring {
            return Cow::Owned(format!("{}{REFERRING}", self.pattern));
        }
        Cow::Borrowed(self.pattern)
    }

    /// Returns the pattern in what [`Evidence::source`] returns.
    pub fn pattern_of(source: &str) -> &str {
        source.strip_suffix(REFERRING).unwrap_or(source)
    }
}

/// One end of a relation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Party {
    /// The entity this document is the home of.
    Document,
    /// Index into the document's mentions.
    Mention(u32),
}
