//! `memory://` addresses (S0 §7): what an address names, and the order of lookups.
//!
//! In: an address, or a permalink or path without the scheme. Out: an id, or the forms under which a note may be found.
//! Not here: looking them up (the daemon).

use crate::slug::{path_slug, without_extension};

/// The scheme with its slashes.
pub const SCHEME: &str = "memory://";

/// What an address names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// `memory://id/123`.
    Id(i64),
    /// Anything else.
    Note(Lookup),
}

/// The lookups for a note, in order; the first one that finds a note (several for a pattern) decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lookup {
    /// First: a permalink, as written.
    pub permalink: String,
    /// Second: a file's path, as written.
    pub path: String,
    /// Third: the same path with `.md`, unless it has an extension of Markdown.
    pub path_with_extension: Option<String>,
    /// Last: the permalink for such a title or path.
    pub slug: String,
    /// True when it contains `*`, and so means all that match.
    pub is_pattern: bool,
}

/// Why an address is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UriError {
    /// It is empty.
    #[error("the address is empty; hint: `memory://folder/note-title`")]
    Empty,
    /// A second `://`.
    #[error("the address `{0}` holds a second `://`")]
    SecondScheme(String),
    /// `//` within the path.
    #[error("the address `{0}` holds `//`")]
    DoubleSlash(String),
    /// A character that no path may contain.
    #[error("the address `{0}` holds `{1}`; not allowed are < > \" | ?")]
    Forbidden(String, char),
    /// `..` or a control character.
    #[error("the address `{0}` holds `..` or a control character")]
    Unsafe(String),
    /// `id/` without a number after it.
    #[error("`{0}` is no id; hint: `memory://id/123`")]
    Id(String),
}

/// Parses an address; the scheme is optional.
pub fn parse(address: &str) -> Result<Address, UriError> {
    let address = address.trim();
    let path = address.strip_prefix(SCHEME).unwrap_or(address);
    check(path)?;
    if let Some(id) = path.strip_prefix("id/") {
        return id.parse().map(Address::Id).map_err(|_| UriError::Id(path.to_string()));
    }
    let path = path.trim_matches('/');
    if path.is_empty() {
        return Err(UriError::Empty);
    }
    let is_named = without_extension(path).len() < path.len();
    let is_pattern = path.contains('*');
    Ok(Address::Note(Lookup {
        permalink: path.to_string(),
        path: path.to_string(),
        path_with_extension: (!is_named && !is_pattern).then(|| format!("{path}.md")),
        slug: if is_pattern { names::fold(path) } else { path_slug(path) },
        is_pattern,
    }))
}

/// Checks the rules for the path of an address.
fn check(path: &str) -> Result<(), UriError> {
    if path.is_empty() {
        return Err(UriError::Empty);
    }
    if path.contains("://") {
        return Err(UriError::SecondScheme(path.to_string()));
    }
    if path.contains("//") {
        return Err(UriError::DoubleSlash(path.to_string()));
    }
    if let Some(c) = path.chars().find(|c| "<>\"|?".contains(*c)) {
        return Err(UriError::Forbidden(path.to_string(), c));
    }
    if path.split('/').any(|part| part == "..") || path.chars().any(char::is_control) {
        return Err(UriError::Unsafe(path.to_string()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Address, UriError, parse};

    #[test]
    fn addresses_are_validated() {
        let rows = [
            ("", Err(UriError::Empty)),
            ("memory://", Err(UriError::Empty)),
            ("memory:///", Err(UriError::Empty)),
            ("memory://a://b", Err(UriError::SecondScheme("a://b".into()))),
            ("memory://a//b", Err(UriError::DoubleSlash("a//b".into()))),
            ("memory://a<b", Err(UriError::Forbidden("a<b".into(), '<'))),
            ("memory://a>b", Err(UriError::Forbidden("a>b".into(), '>'))),
            ("memory://a\"b", Err(UriError::Forbidden("a\"b".into(), '"'))),
            ("memory://a|b", Err(UriError::Forbidden("a|b".into(), '|'))),
            ("memory://a?b", Err(UriError::Forbidden("a?b".into(), '?'))),
            ("memory://../etc", Err(UriError::Unsafe("../etc".into()))),
            ("memory://a\nb", Err(UriError::Unsafe("a\nb".into()))),
            ("memory://id/x", Err(UriError::Id("id/x".into()))),
            ("memory://id/123", Ok(Address::Id(123))),
            ("id/123", Ok(Address::Id(123))),
        ];
        for (address, expected) in rows {
            assert_eq!(parse(address), expected, "{address:?}");
        }
    }

    #[test]
    fn a_note_is_looked_up_in_steps() {
        let steps = |address: &str| match parse(address) {
            Ok(Address::Note(it)) => {
                let with = it.path_with_extension.unwrap_or_default();
                format!("{} | {} | {with} | {} | {}", it.permalink, it.path, it.slug, it.is_pattern)
            }
            other => format!("{other:?}"),
        };
        let rows = [
            (
                "memory://machine-learning-basics",
                "machine-learning-basics | machine-learning-basics | machine-learning-basics.md | \
              machine-learning-basics | false",
            ),
            (
                "memory://specs/search-implementation",
                "specs/search-implementation | specs/search-implementation | specs/search-implementation.md | \
              specs/search-implementation | false",
            ),
            (
                "Specs/Search API.md",
                "Specs/Search API.md | Specs/Search API.md |  | specs/search-api | false",
            ),
            ("memory://specs/*", "specs/* | specs/* |  | specs/* | true"),
        ];
        for (address, expected) in rows {
            assert_eq!(steps(address), expected);
        }
    }
}
