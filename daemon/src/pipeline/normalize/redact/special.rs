//! Tokens of several parts, and secrets that only their surroundings tell.
//!
//! In: a text and the place of a literal. Out: the range to replace, if it is a secret.
//! Invariant: as in `token.rs`, each check reads no more than it accepts or a fixed number of bytes.

use std::ops::Range;

use memchr::memchr;

use super::likely::is_placeholder;
use super::token::{ALNUM, HEX, URL_SAFE, URL_SAFE_DOT, begins_token, is_in, is_uuid, run, token};

/// Longest authority part of a URL looked at, bytes.
const MAX_AUTHORITY_BYTES: usize = 512;

/// Words that stand for a password in documentation.
const PASSWORD_WORDS: [&str; 14] = [
    "password",
    "passwd",
    "pass",
    "pwd",
    "pw",
    "secret",
    "token",
    "passphrase",
    "mypassword",
    "mypass",
    "userpass",
    "userpassword",
    "mysecretpassword",
    "p",
];

/// `abc8Q~…`: three characters before the literal, 31 to 34 after it.
pub(super) fn azure_client_secret(text: &str, literal: Range<usize>) -> Option<Range<usize>> {
    let start = literal.start.checked_sub(3)?;
    let head = text.as_bytes().get(start..literal.start)?;
    let is_part = |byte: &u8| is_in(&URL_SAFE_DOT, *byte) || *byte == b'~';
    let rest = text.as_bytes().get(literal.end..)?;
    let n = rest.iter().take(40).take_while(|byte| is_part(byte)).count();
    (head.iter().all(is_part) && begins_token(text, start) && (31..=34).contains(&n))
        .then_some(start..literal.end + n)
}

/// Slack tokens are groups of digits and letters; names such as `xoxb-token` have no digit.
pub(super) fn slack_token(text: &str, literal: Range<usize>) -> Option<Range<usize>> {
    let range = token(text, literal, &URL_SAFE, 15..=400)?;
    let n_digits = text.get(range.clone())?.bytes().filter(u8::is_ascii_digit).count();
    (n_digits >= 4).then_some(range)
}

/// Three (signed) or five (encrypted) parts of base64url, of which the first two begin as JSON objects do
/// or are long.
pub(super) fn json_web_token(text: &str, literal: Range<usize>) -> Option<Range<usize>> {
    if !begins_token(text, literal.start) {
        return None;
    }
    let head_end = literal.end + run(text, literal.end, &URL_SAFE);
    let body_end = next_part(text, head_end, 10)?;
    let mut end = next_part(text, body_end, 0)?;
    for _ in 0..2 {
        end = next_part(text, end, 1).unwrap_or(end);
    }
    (head_end - literal.start >= 12).then_some(literal.start..end)
}

/// The end of a part of at least `min` characters that begins with a dot at `at`.
pub(super) fn next_part(text: &str, at: usize, min: usize) -> Option<usize> {
    if text.as_bytes().get(at) != Some(&b'.') {
        return None;
    }
    let n = run(text, at + 1, &URL_SAFE);
    (n >= min).then_some(at + 1 + n)
}

/// `SG.`, 22 characters, a dot, 43 characters.
pub(super) fn sendgrid_key(text: &str, literal: Range<usize>) -> Option<Range<usize>> {
    let first_end = literal.end + 22;
    let is_first = run(text, literal.end, &URL_SAFE) == 22;
    let is_dot = text.as_bytes().get(first_end) == Some(&b'.');
    let is_second = run(text, first_end + 1, &URL_SAFE) == 43;
    (is_first && is_dot && is_second && begins_token(text, literal.start))
        .then_some(literal.start..first_end + 44)
}

/// A bot's number of 8 to 10 digits before the literal, 35 characters from its `A`.
pub(super) fn telegram_token(text: &str, literal: Range<usize>) -> Option<Range<usize>> {
    let before = text.as_bytes().get(..literal.start)?;
    let n_digits = before.iter().rev().take(11).take_while(|byte| byte.is_ascii_digit()).count();
    let start = literal.start - n_digits;
    // `bot` before the number is how URLs of the service are written.
    let is_start = begins_token(text, start) || before.get(..start)?.ends_with(b"bot");
    let is_key = run(text, literal.start + 1, &URL_SAFE) == 35;
    ((8..=10).contains(&n_digits) && is_start && is_key).then_some(start..literal.start + 36)
}

/// A bot's number in base64 (23 to 28 characters that begin with M, N or O), a dot, a time of 6 characters,
/// a dot, 27 to 38 characters.
pub(super) fn discord_token(text: &str, literal: Range<usize>) -> Option<Range<usize>> {
    let second = literal.start + 7;
    if text.as_bytes().get(second) != Some(&b'.') || run(text, literal.start + 1, &URL_SAFE) != 6 {
        return None;
    }
    let before = text.as_bytes().get(..literal.start)?;
    let n_head = before.iter().rev().take(30).take_while(|byte| is_in(&URL_SAFE, **byte)).count();
    let start = literal.start - n_head;
    let n_tail = run(text, second + 1, &URL_SAFE);
    let is_head = matches!(text.as_bytes().get(start), Some(b'M' | b'N' | b'O'));
    ((23..=28).contains(&n_head) && is_head && (27..=38).contains(&n_tail))
        .then_some(start..second + 1 + n_tail)
}

/// 32 hexadecimal digits after `key-`, which is the end of no longer name: `cache-key-…` holds a checksum.
pub(super) fn mailgun_key(text: &str, literal: Range<usize>) -> Option<Range<usize>> {
    let before = literal.start.checked_sub(1).and_then(|i| text.as_bytes().get(i));
    if before == Some(&b'-') { None } else { token(text, literal, &HEX, 32..=32) }
}

/// 32 hexadecimal digits before `-us` and one or two digits after.
pub(super) fn mailchimp_key(text: &str, literal: Range<usize>) -> Option<Range<usize>> {
    let start = literal.start.checked_sub(32)?;
    let head = text.as_bytes().get(start..literal.start)?;
    let n = text
        .as_bytes()
        .get(literal.end..)?
        .iter()
        .take(3)
        .take_while(|b| b.is_ascii_digit())
        .count();
    (head.iter().all(|byte| is_in(&HEX, *byte))
        && begins_token(text, start)
        && (1..=2).contains(&n))
    .then_some(start..literal.end + n)
}

/// The key in `https://KEY@oNUMBER.ingest.sentry.io/`.
pub(super) fn sentry_dsn(text: &str, literal: Range<usize>) -> Option<Range<usize>> {
    let from = literal.start.saturating_sub(80);
    let before = text.as_bytes().get(from..literal.start)?;
    let at = from + memchr::memrchr(b'@', before)?;
    let start = at.checked_sub(32)?;
    let key = text.as_bytes().get(start..at)?;
    key.iter().all(|byte| is_in(&HEX, *byte)).then_some(start..at)
}

/// A UUID right after a literal that says it is a secret.
pub(super) fn uuid_after(text: &str, literal: Range<usize>) -> Option<Range<usize>> {
    let end = literal.end + 36;
    let is_key = is_uuid(text.get(literal.end..end)?) && begins_token(text, literal.start);
    (is_key && run(text, end, &ALNUM) == 0).then_some(literal.end..end)
}

/// The password of `scheme://user:password@host`, unless it is a placeholder; of `token:x-oauth-basic`, the
/// token.
pub(super) fn url_password(text: &str, literal: Range<usize>) -> Option<Range<usize>> {
    let bytes = text.as_bytes().get(literal.end..)?;
    let is_end = |byte: &u8| byte.is_ascii_whitespace() || b"/?#\"'`<>|\\".contains(byte);
    let n = bytes.iter().take(MAX_AUTHORITY_BYTES).position(is_end);
    let authority = bytes.get(..n.unwrap_or(bytes.len().min(MAX_AUTHORITY_BYTES)))?;
    let at = memchr::memrchr(b'@', authority)?;
    let colon = memchr(b':', authority.get(..at)?)?;
    let has_host =
        authority.get(at + 1).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'[');
    let (user, password) = (0..colon, colon + 1..at);
    let is_oauth = authority.get(password.clone())? == b"x-oauth-basic";
    let secret = if is_oauth { user } else { password };
    let shown = std::str::from_utf8(authority.get(secret.clone())?).ok()?;
    let is_word = PASSWORD_WORDS.iter().any(|word| shown.eq_ignore_ascii_case(word));
    let is_variable = shown.bytes().next().is_none_or(|byte| b"$*%{[(".contains(&byte));
    (has_host && !is_variable && !is_word && !is_placeholder(shown))
        .then_some(literal.end + secret.start..literal.end + secret.end)
}
