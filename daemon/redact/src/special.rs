//! Special: shapes that a row of the table cannot describe; a row refers to them by `@name:literal`.
//!
//! In: a text and the place of a literal. Out: the range to replace, if it is a secret.
//! Invariant: each check reads no more than it accepts or a fixed number of bytes.

use std::ops::Range;

use memchr::memchr;

use super::key::putty_key;
use super::likely::is_stand_in;

/// Longest authority part of a URL, in bytes.
const MAX_AUTHORITY_BYTES: usize = 512;

/// Checks the surroundings of a literal.
pub(super) type Special = fn(&str, Range<usize>) -> Option<Range<usize>>;

/// Returns the check with this name.
pub(super) fn by_name(name: &str) -> Option<Special> {
    Some(match name {
        "putty" => putty_key,
        "url" => url_password,
        _ => return None,
    })
}

/// The password in `scheme://user:password@host`, unless it is a placeholder; for `token:x-oauth-basic`, the token.
fn url_password(text: &str, literal: Range<usize>) -> Option<Range<usize>> {
    let bytes = text.as_bytes().get(literal.end..)?;
    let is_end = |byte: &u8| byte.is_ascii_whitespace() || b"/?#\"'`<>|\\".contains(byte);
    let n = bytes.iter().take(MAX_AUTHORITY_BYTES).position(is_end);
    let authority = bytes.get(..n.unwrap_or(bytes.len().min(MAX_AUTHORITY_BYTES)))?;
    // The last `@`: a password may contain others.
    let at = memchr::memrchr(b'@', authority)?;
    let colon = memchr(b':', authority.get(..at)?)?;
    let has_host =
        authority.get(at + 1).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'[');
    let (user, password) = (0..colon, colon + 1..at);
    let is_oauth = authority.get(password.clone())? == b"x-oauth-basic";
    let secret = if is_oauth { user } else { password };
    let shown = std::str::from_utf8(authority.get(secret.clone())?).ok()?;
    (has_host && !is_stand_in(shown))
        .then_some(literal.end + secret.start..literal.end + secret.end)
}
