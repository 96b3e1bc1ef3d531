//! Assignments: values given to labels that announce a secret, in any syntax.
//!
//! ```text
//! DB_PASSWORD=…   Secret access key: …   "api_key": "…"   secret := `…`   config["token"] = '…'   <password>…
//! --password …    Password=…;   ?token=…&     | password | … |   value="…"   the password for the wifi is …   密码：…
//! ```
//! In: a text and the place of a label. Out: the range of the value, if it looks like a secret.
//! Invariant: a bounded number of bytes is read before and after the label.
//! Not here: labels (`label.rs`), what is between label and value (`operator.rs`), what a secret looks like
//! (`likely.rs`), headers and short flags (`header.rs`).

use std::ops::Range;

use super::label::{Label, ValueKind};
use super::likely::{Form, is_example_token, is_key, is_password, is_plain_word, is_sure_key};
use super::operator::{Op, operator};
use super::phrase;
use super::shape::Shape;
use super::token::{BASE64, is_in, is_uuid, run_within};

/// Longest value, in bytes.
const MAX_VALUE_BYTES: usize = 512;

/// Longest base64 that is taken as a value, in bytes: the key of a cluster.
const MAX_BASE64_BYTES: usize = 16_000;

/// Typographic quotation marks, opening and closing.
const PRINTED_QUOTES: [(&str, &str); 8] = [
    ("“", "”"),
    ("„", "“"),
    ("«", "»"),
    ("‘", "’"),
    ("‚", "‘"),
    ("「", "」"),
    ("『", "』"),
    ("»", "«"),
];

/// Returns the range of the value that is assigned to the label at `place`, if it is likely a secret.
pub(super) fn assigned(text: &str, place: Range<usize>, label: &Label) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    if is_in_mark(bytes, place.start) {
        return None;
    }
    let (start, op) = operator(text, place.start, place.end)?;
    if label.value_kind == ValueKind::Phrase {
        return phrase::announced(text, start);
    }
    let (range, form) = value(text, start, op)?;
    let shown = text.get(range.clone())?;
    // Without a sign before it, even a quoted value must look like a secret in prose.
    let form = if matches!(op, Op::Is | Op::Next | Op::Below) { Form::Prose } else { form };
    let is_secret = match label.value_kind {
        ValueKind::Password => {
            is_password(shown, form)
                || (op == Op::Sets && is_variable(bytes, &place) && is_plain_word(shown))
        }
        ValueKind::Key => {
            is_key(shown, form) || (form != Form::Prose && is_short_secret(shown, form))
        }
        ValueKind::Token => is_key(shown, form) && !is_uuid(shown),
        ValueKind::Amazon => {
            let is_base64 = shown.bytes().all(|byte| is_in(&BASE64, byte));
            (shown.len() == 40 && is_base64 && !is_example_token(shown)) || is_key(shown, form)
        }
        ValueKind::Any => {
            let is_secret_name = is_variable(bytes, &place) && !is_public(text, &place);
            op == Op::Sets && is_secret_name && is_sure_key(shown)
        }
        ValueKind::Phrase => false,
    };
    // Without an operator, only values that are too long to be ordinary words.
    let least = match op {
        // `pass` is also a verb.
        Op::Next if place.len() < 6 => usize::MAX,
        Op::Next if label.value_kind == ValueKind::Password => 10,
        Op::Next => 20,
        Op::Cell | Op::Is | Op::Below => 8,
        _ => 0,
    };
    // A value on the line below must be the whole line.
    let is_alone = op != Op::Below || ends_line(bytes, range.end);
    (is_secret && is_alone && shown.len() >= least).then_some(range)
}

/// Returns the range of a value with one of `shapes`, if it is assigned to a name that contains the word at `place`.
pub(super) fn named(
    text: &str,
    place: Range<usize>,
    shapes: &[Shape],
) -> Option<(Range<usize>, &'static str)> {
    let bytes = text.as_bytes();
    let before = place.start.checked_sub(1).and_then(|i| bytes.get(i));
    if before.is_some_and(u8::is_ascii_alphabetic) || is_in_mark(bytes, place.start) {
        return None;
    }
    let n = bytes.get(place.end..)?.iter().take(MAX_NAME_BYTES).take_while(is_in_name).count();
    if is_public(text, &(place.start..place.end + n)) {
        return None;
    }
    let (start, op) = operator(text, place.start, place.end + n)?;
    if !matches!(op, Op::Sets | Op::Quote | Op::Element | Op::Flag) {
        return None;
    }
    let (range, _) = value(text, start, op)?;
    let shown = text.get(range.clone())?;
    let shape = shapes.iter().find(|shape| shape.is(shown))?;
    (is_key(shown, Form::Quoted) && !is_example_token(shown)).then_some((range, shape.kind))
}

/// Longest part of a name before or after a word in it, in bytes.
const MAX_NAME_BYTES: usize = 40;

fn is_in_name(byte: &&u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

/// True when the name that ends with `part` announces a public value, however long that is.
fn is_public(text: &str, part: &Range<usize>) -> bool {
    let before = text.as_bytes().get(..part.start).unwrap_or(&[]);
    let n = before.iter().rev().take(MAX_NAME_BYTES).take_while(is_in_name).count();
    let name = text.get(part.start - n..part.end).unwrap_or("").to_ascii_lowercase();
    PUBLIC_NAMES.iter().any(|word| name.contains(word))
}

/// Parts of names whose long values are public.
const PUBLIC_NAMES: [&str; 21] = [
    "primary",
    "foreign",
    "cache",
    "partition",
    "idempotency",
    "sha",
    "hash",
    "commit",
    "rev",
    "checksum",
    "digest",
    "integrity",
    "version",
    "public",
    "url",
    "image",
    "etag",
    "uuid",
    "project",
    "path",
    "file",
];

/// True for a value that is shorter than generated ones but has three kinds of characters.
fn is_short_secret(value: &str, form: Form) -> bool {
    let has = |test: fn(&u8) -> bool| value.bytes().any(|byte| test(&byte));
    value.len() >= 8
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_lowercase)
        && (has(u8::is_ascii_uppercase) || has(u8::is_ascii_punctuation))
        && is_password(value, form)
}

/// True for an environment variable, all capitals with an equals sign right after it: `DB_PASSWORD=…`.
fn is_variable(bytes: &[u8], label: &Range<usize>) -> bool {
    let is_capital = |byte: &u8| byte.is_ascii_uppercase() || *byte == b'_';
    bytes.get(label.clone()).is_some_and(|label| label.iter().all(is_capital))
        && bytes
            .get(label.end)
            .is_some_and(|byte| *byte == b'=' || byte.is_ascii_digit() || *byte == b'_')
}

fn ends_line(bytes: &[u8], at: usize) -> bool {
    bytes.get(at).is_none_or(|byte| matches!(byte, b'\n' | b'\r' | b'\\' | b'"'))
}

/// True inside `[redacted:password]`: a mark is not a name and announces nothing. The whole mark is checked, since a
/// text may begin like one.
pub(super) fn is_in_mark(bytes: &[u8], place: usize) -> bool {
    const MAX_MARK_BYTES: usize = 64;
    let is_kind = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-';
    let before = bytes.get(place.saturating_sub(MAX_MARK_BYTES)..place).unwrap_or(&[]);
    let open = memchr::memrchr(b'[', before).and_then(|at| before.get(at..));
    let kind = open.and_then(|open| open.strip_prefix(b"[redacted:"));
    let mut rest = bytes.get(place..).unwrap_or(&[]).iter().take(MAX_MARK_BYTES);
    kind.is_some_and(|kind| kind.iter().all(is_kind))
        && rest.find(|byte| !is_kind(byte)) == Some(&b']')
}

/// Returns the value that begins at `start`, without its quotes.
fn value(text: &str, start: usize, op: Op) -> Option<(Range<usize>, Form)> {
    let bytes = text.as_bytes();
    let at = |i: usize| bytes.get(i).copied().unwrap_or(b'\n');
    let mut i = start;
    // Prefixes of string literals: `b"…"`, `r'…'`, `@"…"`, `f"…"`.
    if matches!(at(i), b'b' | b'r' | b'u' | b'f' | b'@' | b'$') && matches!(at(i + 1), b'"' | b'\'')
    {
        i += 1;
    }
    // An escaped quote: the value is in a string inside a string.
    if at(i) == b'\\' && matches!(at(i + 1), b'"' | b'\'') {
        return quoted(text, i + 2, at(i + 1));
    }
    if matches!(at(i), b'"' | b'\'' | b'`') {
        return quoted(text, i + 1, at(i));
    }
    if let Some(found) = printed(text, i) {
        return Some(found);
    }
    // No quote was found, but this operator requires one.
    if op == Op::Quote {
        return None;
    }
    if op == Op::Sets
        && let Some(next) = after_type(bytes, i)
    {
        return quoted(text, next + 1, at(next));
    }
    let n_base64 = run_within(text, start, &BASE64, MAX_BASE64_BYTES);
    if n_base64 > MAX_VALUE_BYTES {
        return Some((start..start + n_base64, Form::Bare));
    }
    bare(text, start, op)
}

/// Returns a value in typographic quotation marks.
fn printed(text: &str, at: usize) -> Option<(Range<usize>, Form)> {
    let rest = text.get(at..)?;
    let (open, close) = PRINTED_QUOTES.iter().find(|(open, _)| rest.starts_with(open))?;
    let inner = rest.get(open.len()..)?;
    let mut end = inner.len().min(MAX_VALUE_BYTES);
    while !inner.is_char_boundary(end) {
        end -= 1;
    }
    let n = inner.get(..end)?.find(close)?;
    let shown = inner.get(..n)?;
    let value = shown.trim();
    let start = at + open.len() + (shown.len() - shown.trim_start().len());
    (!value.contains('\n')).then_some((start..start + value.len(), Form::Quoted))
}

/// Returns the place of the quote after a type: `password: String = "…"`, `password: Option<&str> = "…"`.
fn after_type(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = bytes.get(at..at.checked_add(48)?.min(bytes.len()))?;
    let n =
        rest.iter().take_while(|b| b.is_ascii_alphanumeric() || b"<>&?_.:[]'".contains(b)).count();
    let after = rest.get(n..)?;
    let equals = after.strip_prefix(b" = ").or_else(|| after.strip_prefix(b" := "))?;
    let is_quote = matches!(equals.first(), Some(b'"' | b'\''));
    (n > 0 && is_quote).then(|| at + (rest.len() - equals.len()))
}

fn quoted(text: &str, start: usize, quote: u8) -> Option<(Range<usize>, Form)> {
    let rest = text.as_bytes().get(start..)?;
    let mut is_escaped = false;
    for (n, byte) in rest.iter().take(MAX_BASE64_BYTES).enumerate() {
        match *byte {
            _ if is_escaped => is_escaped = false,
            b'\n' => return None,
            byte if byte == quote => {
                // A backslash before an escaped quote is not part of the value; the branch below ends before it.
                return Some((start..start + n, Form::Quoted));
            }
            b'\\' if rest.get(n + 1) == Some(&quote) => {
                return Some((start..start + n, Form::Quoted));
            }
            b'\\' => is_escaped = true,
            // Longer values are accepted only as base64.
            byte if n > MAX_VALUE_BYTES && !is_in(&BASE64, byte) => return None,
            _ => {}
        }
    }
    None
}

/// Returns a value without quotes: up to white space, a quote, an angle bracket, or a sign that ends its statement.
fn bare(text: &str, start: usize, op: Op) -> Option<(Range<usize>, Form)> {
    let rest = text.as_bytes().get(start..)?;
    let mut end = 0;
    while end < MAX_VALUE_BYTES {
        let Some(byte) = rest.get(end) else { break };
        if byte.is_ascii_whitespace() || b"\"'`<>".contains(byte) || is_full_stop(rest.get(end..)?)
        {
            break;
        }
        let ends_here = match byte {
            // A comma ends a value before a space or another value, as in JSON and lists.
            b',' => rest
                .get(end + 1)
                .is_none_or(|next| next.is_ascii_whitespace() || b"\"'{[".contains(next)),
            b';' | b'&' => {
                // `;` and `&` separate values only where another name follows; passwords may contain them.
                rest.get(end + 1).is_none_or(u8::is_ascii_whitespace) || is_next_name(rest, end + 1)
            }
            b'|' => op == Op::Cell,
            b'\\' => matches!(rest.get(end + 1), Some(b'n' | b'"' | b'\'' | b'r')),
            _ => false,
        };
        if ends_here {
            break;
        }
        end += 1;
    }
    while !text.is_char_boundary(start + end) {
        end -= 1;
    }
    let form = form_of(rest.get(end..)?, op);
    let shown = text.get(start..start + end)?;
    let kept = shown.trim_end_matches(['.', ',', ';', ':', ')', ']', '}', '*']);
    // A closing bracket whose opening one is inside belongs to the value: `get(1)` must be recognized as code.
    let kept = if kept.contains(['(', '[', '{']) { shown } else { kept };
    Some((start..start + kept.len(), form))
}

/// True for `。`, `、`, `，`, `；`, `）`, `」`, full-width and no-break spaces, which end a value as their ASCII forms do.
fn is_full_stop(rest: &[u8]) -> bool {
    matches!(
        rest,
        [0xe3, 0x80, 0x80..=0x82 | 0x8d | 0x8f, ..]
            | [0xef, 0xbc, 0x8c | 0x9b | 0x89, ..]
            | [0xc2, 0xa0, ..]
    )
}

/// True when a name and `=` follow, as in `Password=…;Server=…` and `?token=…&page=…`.
fn is_next_name(rest: &[u8], at: usize) -> bool {
    let after = rest.get(at..).unwrap_or(&[]);
    let n = after
        .iter()
        .take(40)
        .take_while(|b| b.is_ascii_alphanumeric() || b" _-.".contains(b))
        .count();
    n > 0 && after.get(n) == Some(&b'=')
}

/// Returns `Prose` for a value with words after it on its line, otherwise `Bare`.
fn form_of(after: &[u8], op: Op) -> Form {
    let line = after.iter().take(80).take_while(|byte| **byte != b'\n');
    let mut words = line.skip_while(|byte| matches!(byte, b' ' | b'\t'));
    match (op, words.next()) {
        (Op::Flag | Op::Element, _) => Form::Bare,
        (Op::Cell, Some(b'|') | None) => Form::Bare,
        (Op::Cell, _) => Form::Prose,
        (_, Some(byte)) if byte.is_ascii_alphabetic() && after.first() == Some(&b' ') => {
            Form::Prose
        }
        _ => Form::Bare,
    }
}
