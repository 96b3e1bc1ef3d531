//! `memory://` addresses (S0 §7): what an address names.
//!
//! In: an address, or a permalink or path without the scheme. Out: an id, a name, or a pattern.

/// The scheme with its slashes.
pub const SCHEME: &str = "memory://";

/// What an address names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// `memory://id/123`.
    Id(i64),
    /// It contains `*`, and so means all notes that match; folded.
    Pattern(String),
    /// Anything else, as written.
    Note(String),
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
    Ok(match path.contains('*') {
        true => Address::Pattern(names::fold(path)),
        false => Address::Note(path.to_string()),
    })
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
            ("memory://specs/search/", Ok(Address::Note("specs/search".into()))),
            ("Specs/Search API.md", Ok(Address::Note("Specs/Search API.md".into()))),
            ("memory://Specs/*", Ok(Address::Pattern("specs/*".into()))),
        ];
        for (address, expected) in rows {
            assert_eq!(parse(address), expected, "{address:?}");
        }
    }
}
