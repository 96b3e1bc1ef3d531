//! What secrets look like: one line a kind.
//!
//! Each shape has a literal that the prefilter finds and a check of what stands around it. The check gives
//! the range to replace. Invariant: a check reads no further than the run it accepts, or than a fixed
//! number of bytes, and a run is checked only from its start, so that many literals in a row cost linear
//! time. The shapes are those their issuers document; none matches a git hash, a UUID or a checksum.

use std::ops::Range;

use memchr::memchr;

use super::key::{pem_key, putty_key};

/// Longest authority part of a URL looked at, bytes.
const MAX_AUTHORITY_BYTES: usize = 512;

/// A kind of secret.
pub(super) struct Shape {
    /// Its name in marks and counts.
    pub(super) kind: &'static str,
    /// What every secret of this kind contains, near its start.
    pub(super) literal: &'static str,
    /// The range to replace, given the text and the place of the literal.
    pub(super) verify: fn(&str, Range<usize>) -> Option<Range<usize>>,
}

const fn shape(
    kind: &'static str,
    literal: &'static str,
    verify: fn(&str, Range<usize>) -> Option<Range<usize>>,
) -> Shape {
    Shape { kind, literal, verify }
}

/// Every kind of secret that is removed. Where one literal begins another, the longer one is found.
///
/// Literals have three bytes or more, and there are at most 64: beyond either the prefilter loses its SIMD
/// search.
pub(super) static SHAPES: &[Shape] = &[
    shape("private-key", "-----BEGIN ", pem_key),
    shape("private-key", "PuTTY-User-Key-File-", putty_key),
    shape("private-key", "AGE-SECRET-KEY-1", |t, r| token(t, r, &UPPER_ALNUM, 58..=58)),
    shape("aws-access-key", "AKIA", |t, r| token(t, r, &UPPER_ALNUM, 16..=16)),
    shape("aws-access-key", "ASIA", |t, r| token(t, r, &UPPER_ALNUM, 16..=16)),
    shape("aws-secret-key", "aws_secret_access_key", aws_secret),
    shape("aws-secret-key", "AWS_SECRET_ACCESS_KEY", aws_secret),
    shape("aws-secret-key", "SecretAccessKey", aws_secret),
    shape("azure-key", "AccountKey=", |t, r| value(t, r, &BASE64, 80..=100)),
    shape("azure-key", "SharedAccessKey=", |t, r| value(t, r, &BASE64, 40..=100)),
    shape("azure-key", "7Q~", azure_client_secret),
    shape("azure-key", "8Q~", azure_client_secret),
    shape("github-token", "ghp_", |t, r| token(t, r, &ALNUM, 36..=255)),
    shape("github-token", "gho_", |t, r| token(t, r, &ALNUM, 36..=255)),
    shape("github-token", "ghu_", |t, r| token(t, r, &ALNUM, 36..=255)),
    shape("github-token", "ghs_", |t, r| token(t, r, &ALNUM, 36..=255)),
    shape("github-token", "ghr_", |t, r| token(t, r, &ALNUM, 36..=255)),
    shape("github-token", "github_pat_", |t, r| token(t, r, &WORD, 36..=255)),
    shape("gitlab-token", "glpat-", |t, r| token(t, r, &URL_SAFE_DOT, 20..=300)),
    shape("gitlab-token", "glrt-", |t, r| token(t, r, &URL_SAFE_DOT, 20..=300)),
    shape("gitlab-token", "gldt-", |t, r| token(t, r, &URL_SAFE_DOT, 20..=300)),
    shape("slack-token", "xoxa-", slack_token),
    shape("slack-token", "xoxb-", slack_token),
    shape("slack-token", "xoxp-", slack_token),
    shape("slack-token", "xoxr-", slack_token),
    shape("slack-token", "xoxs-", slack_token),
    shape("slack-token", "hooks.slack.com/services/", |t, r| value(t, r, &PATH, 30..=100)),
    shape("stripe-key", "sk_live_", |t, r| token(t, r, &ALNUM, 16..=255)),
    shape("stripe-key", "rk_live_", |t, r| token(t, r, &ALNUM, 16..=255)),
    shape("google-key", "AIza", |t, r| token(t, r, &URL_SAFE, 35..=35)),
    shape("google-key", "GOCSPX-", |t, r| token(t, r, &URL_SAFE, 28..=28)),
    shape("google-key", "ya29.", |t, r| mixed_token(t, r, &URL_SAFE, 20..=2_048)),
    shape("anthropic-key", "sk-ant-", |t, r| mixed_token(t, r, &URL_SAFE, 20..=255)),
    shape("openai-key", "sk-", |t, r| mixed_token(t, r, &URL_SAFE, 20..=255)),
    shape("huggingface-token", "hf_", |t, r| mixed_token(t, r, &ALNUM, 30..=60)),
    shape("npm-token", "npm_", |t, r| token(t, r, &ALNUM, 36..=36)),
    shape("pypi-token", "pypi-AgE", |t, r| token(t, r, &URL_SAFE, 50..=1_000)),
    shape("digitalocean-token", "dop_v1_", |t, r| token(t, r, &HEX, 64..=64)),
    shape("vault-token", "hvs.", |t, r| mixed_token(t, r, &URL_SAFE, 24..=300)),
    shape("jwt", "eyJ", json_web_token),
    shape("sendgrid-key", "SG.", sendgrid_key),
    shape("telegram-token", ":AA", telegram_token),
    shape("twilio-key", "SK0", twilio_key),
    shape("twilio-key", "SK1", twilio_key),
    shape("twilio-key", "SK2", twilio_key),
    shape("twilio-key", "SK3", twilio_key),
    shape("twilio-key", "SK4", twilio_key),
    shape("twilio-key", "SK5", twilio_key),
    shape("twilio-key", "SK6", twilio_key),
    shape("twilio-key", "SK7", twilio_key),
    shape("twilio-key", "SK8", twilio_key),
    shape("twilio-key", "SK9", twilio_key),
    shape("twilio-key", "SKa", twilio_key),
    shape("twilio-key", "SKb", twilio_key),
    shape("twilio-key", "SKc", twilio_key),
    shape("twilio-key", "SKd", twilio_key),
    shape("twilio-key", "SKe", twilio_key),
    shape("twilio-key", "SKf", twilio_key),
    shape("url-password", "://", url_password),
];

/// A set of ASCII characters.
pub(super) type Set = [bool; 128];

const fn set(letters: &[u8]) -> Set {
    let mut out = [false; 128];
    let mut i = 0;
    while i < letters.len() {
        out[(letters[i] & 0x7f) as usize] = true;
        i += 1;
    }
    out
}

static HEX: Set = set(b"0123456789abcdef");
static UPPER_ALNUM: Set = set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789");
static ALNUM: Set = set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789");
static WORD: Set = set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");
static URL_SAFE: Set = set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-");
static URL_SAFE_DOT: Set =
    set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.");
static PATH: Set = set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/");
pub(super) static BASE64: Set =
    set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=");

pub(super) fn is_in(set: &Set, byte: u8) -> bool {
    set.get(byte as usize).copied().unwrap_or(false)
}

/// Length of the run of characters of a set that begins at `from`.
fn run(text: &str, from: usize, set: &Set) -> usize {
    let rest = text.as_bytes().get(from..).unwrap_or(&[]);
    rest.iter().take_while(|byte| is_in(set, **byte)).count()
}

/// True when the literal begins where a token could: not inside a word or a run of the token's own
/// characters.
fn begins_token(text: &str, place: usize, set: &Set) -> bool {
    let before = place.checked_sub(1).and_then(|i| text.as_bytes().get(i));
    !before.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_' || is_in(set, *byte))
}

/// The literal and a run of `set` after it. A dot at the end belongs to the sentence.
fn token(
    text: &str,
    literal: Range<usize>,
    set: &Set,
    lengths: std::ops::RangeInclusive<usize>,
) -> Option<Range<usize>> {
    if !begins_token(text, literal.start, set) {
        return None;
    }
    let n = run(text, literal.end, set);
    let end = literal.end + n;
    let n_dots = text.get(literal.end..end)?.bytes().rev().take_while(|byte| *byte == b'.').count();
    // A letter, digit or `_` right after the run means a longer word of another kind.
    let is_cut =
        text.as_bytes().get(end).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    (lengths.contains(&(n - n_dots)) && !is_cut).then_some(literal.start..end - n_dots)
}

/// A token that also has a stretch of 16 letters and digits, mixed: `sk-learn-model-selection` is a name.
fn mixed_token(
    text: &str,
    literal: Range<usize>,
    set: &Set,
    lengths: std::ops::RangeInclusive<usize>,
) -> Option<Range<usize>> {
    let range = token(text, literal.clone(), set, lengths)?;
    let body = text.get(literal.end..range.end)?;
    let is_mixed = body.split(|c: char| !c.is_ascii_alphanumeric()).any(|part| {
        part.len() >= 16
            && part.bytes().any(|byte| byte.is_ascii_digit())
            && part.bytes().any(|byte| byte.is_ascii_alphabetic())
    });
    is_mixed.then_some(range)
}

/// The run of `set` right after the literal, without the literal.
fn value(
    text: &str,
    literal: Range<usize>,
    set: &Set,
    lengths: std::ops::RangeInclusive<usize>,
) -> Option<Range<usize>> {
    let n = run(text, literal.end, set);
    lengths.contains(&n).then_some(literal.end..literal.end + n)
}

/// The value of an assignment of 40 base64 characters: `key = "…"`, `"key": "…"`.
fn aws_secret(text: &str, literal: Range<usize>) -> Option<Range<usize>> {
    let rest = text.as_bytes().get(literal.end..)?;
    let n_between = rest.iter().take(12).take_while(|byte| b" \t\"':=>".contains(byte)).count();
    let start = literal.end + n_between;
    (n_between > 0 && run(text, start, &BASE64) == 40).then_some(start..start + 40)
}

/// `SK` and 32 hexadecimal digits, the first of which is part of the literal.
fn twilio_key(text: &str, literal: Range<usize>) -> Option<Range<usize>> {
    token(text, literal, &HEX, 31..=31)
}

/// `abc8Q~…`: three characters before the literal, 31 to 34 after it.
fn azure_client_secret(text: &str, literal: Range<usize>) -> Option<Range<usize>> {
    let start = literal.start.checked_sub(3)?;
    let head = text.get(start..literal.start)?;
    let is_head = head.bytes().all(|byte| is_in(&URL_SAFE_DOT, byte) || byte == b'~');
    let n = text
        .as_bytes()
        .get(literal.end..)?
        .iter()
        .take(40)
        .take_while(|byte| is_in(&URL_SAFE_DOT, **byte) || **byte == b'~')
        .count();
    (is_head && begins_token(text, start, &URL_SAFE) && (31..=34).contains(&n))
        .then_some(start..literal.end + n)
}

/// Slack tokens are groups of digits and letters; names such as `xoxb-token` have no digit.
fn slack_token(text: &str, literal: Range<usize>) -> Option<Range<usize>> {
    let range = token(text, literal, &URL_SAFE, 15..=300)?;
    let n_digits = text.get(range.clone())?.bytes().filter(u8::is_ascii_digit).count();
    (n_digits >= 4).then_some(range)
}

/// Three (signed) or five (encrypted) parts of base64url, of which the first two begin as JSON objects do
/// or are long.
fn json_web_token(text: &str, literal: Range<usize>) -> Option<Range<usize>> {
    if !begins_token(text, literal.start, &URL_SAFE) {
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

/// The end of a part that begins with a dot at `at`.
fn next_part(text: &str, at: usize, min: usize) -> Option<usize> {
    if text.as_bytes().get(at) != Some(&b'.') {
        return None;
    }
    let n = run(text, at + 1, &URL_SAFE);
    (n >= min).then_some(at + 1 + n)
}

/// `SG.`, 22 characters, a dot, 43 characters.
fn sendgrid_key(text: &str, literal: Range<usize>) -> Option<Range<usize>> {
    let first_end = literal.end + 22;
    let is_first = run(text, literal.end, &URL_SAFE) == 22;
    let is_dot = text.as_bytes().get(first_end) == Some(&b'.');
    let is_second = run(text, first_end + 1, &URL_SAFE) == 43;
    (is_first && is_dot && is_second && begins_token(text, literal.start, &URL_SAFE))
        .then_some(literal.start..first_end + 44)
}

/// A bot's number of 8 to 10 digits before the literal, 35 characters from its `A`.
fn telegram_token(text: &str, literal: Range<usize>) -> Option<Range<usize>> {
    let before = text.as_bytes().get(..literal.start)?;
    let n_digits = before.iter().rev().take(11).take_while(|byte| byte.is_ascii_digit()).count();
    let start = literal.start - n_digits;
    // `bot` before the number is how URLs of the service are written.
    let is_start = begins_token(text, start, &ALNUM) || before.get(..start)?.ends_with(b"bot");
    let is_key = run(text, literal.start + 1, &URL_SAFE) == 35;
    ((8..=10).contains(&n_digits) && is_start && is_key).then_some(start..literal.start + 36)
}

/// The password of `scheme://user:password@host`, unless it is a placeholder.
fn url_password(text: &str, literal: Range<usize>) -> Option<Range<usize>> {
    let bytes = text.as_bytes().get(literal.end..)?;
    let is_end = |byte: &u8| byte.is_ascii_whitespace() || b"/?#\"'`<>|\\".contains(byte);
    let n = bytes.iter().take(MAX_AUTHORITY_BYTES).position(is_end);
    let authority = bytes.get(..n.unwrap_or(bytes.len().min(MAX_AUTHORITY_BYTES)))?;
    let at = authority.iter().rposition(|byte| *byte == b'@')?;
    let colon = memchr(b':', authority.get(..at)?)?;
    let password = authority.get(colon + 1..at)?;
    let has_host =
        authority.get(at + 1).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'[');
    let is_placeholder = password.first().is_none_or(|byte| b"$*%{[(".contains(byte));
    (has_host && !is_placeholder).then_some(literal.end + colon + 1..literal.end + at)
}
