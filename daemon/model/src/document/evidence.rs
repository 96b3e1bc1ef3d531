//! Evidence: one place where a document states a relation.

use std::borrow::Cow;

use crate::terms::{Confidence, Norm, Span};

/// One statement of a relation, at one place of one document.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    /// The subject.
    pub subject: Party,
    /// The relation's name (S4 §8's vocabulary).
    pub predicate: &'static str,
    /// The object.
    pub object: Party,
    /// The words that state it: a sentence, a list item, a link.
    pub span: Span<Norm>,
    /// Which pattern found it, such as `sentence:depends on` or `section:dependencies`.
    pub pattern: &'static str,
    /// Pattern weight × proximity; the link's score is multiplied in when the relation is read.
    pub confidence: Confidence,
    /// True if an end is not named there: `it`, `the service`.
    pub is_referring: bool,
}

/// Suffix of the pattern's name if the statement was found through words that refer to a name.
const REFERRING: &str = "+coref";

impl Evidence {
    /// Returns the pattern, with a suffix if words that refer to a name are part of the statement.
    pub fn source(&self) -> Cow<'static, str> {
        if self.is_referring {
            return Cow::Owned(format!("{}{REFERRING}", self.pattern));
        }
        Cow::Borrowed(self.pattern)
    }

    /// Returns the pattern in a result of [`Evidence::source`].
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
    /// Index into the document's links: the document that the link leads to.
    Link(u32),
}
