//! Assignments: values given to names that say they are secret, in any syntax.
//!
//! ```text
//! DB_PASSWORD=…   password: …   "api_key": "…"   secret := `…`   config["token"] = '…'   <password>…</password>
//! --password …    Password=…;   ?token=…&        | password | … |   value="…"   the password is …
//! ```
//! In: a text and the place of such a name's last word. Out: the range of the value, if it looks like a secret.
//! Invariant: a fixed number of bytes is looked at before and after the name.
//! Not here: what a secret looks like (`likely.rs`), headers and short flags (`header.rs`).

use std::ops::Range;

use super::likely::{Form, is_bare_uuid, is_example_token, is_key, is_password};
use super::token::{BASE64, is_in};

/// Longest value looked at, bytes.
const MAX_VALUE_BYTES: usize = 512;
/// Most white space between a name and its value, bytes: tables in configuration files are aligned by it.
const MAX_SPACES: usize = 40;

/// What a name promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Promise {
    /// Something that people type.
    Password,
    /// Something that a machine made.
    Key,
    /// A word that also means other things: what it names must be long and irregular, and no UUID.
    Token,
    /// 40 characters of base64, which is what Amazon makes.
    Amazon,
}

/// The last words of telling names, lowercase. Those with `is_word` must begin a word: `bypass` is none.
pub(super) struct Name {
    literal: &'static str,
    promise: Promise,
    is_word: bool,
}

impl Name {
    /// What its values are called in marks and counts.
    pub(super) fn kind(&self) -> &'static str {
        match self.promise {
            Promise::Password => "password",
            Promise::Key | Promise::Token => "secret",
            Promise::Amazon => "aws-secret-key",
        }
    }
}

const fn name(literal: &'static str, promise: Promise, is_word: bool) -> Name {
    Name { literal, promise, is_word }
}

#[rustfmt::skip]
pub(super) static NAMES: &[Name] = &[
    name("password", Promise::Password, false),
    name("passwd", Promise::Password, false),
    name("passphrase", Promise::Password, false),
    name("passwort", Promise::Password, false),
    name("pwd", Promise::Password, true),
    name("pass", Promise::Password, true),
    name("passcode", Promise::Password, false),
    name("secret", Promise::Key, false),
    name("token", Promise::Token, false),
    name("secret_access_key", Promise::Amazon, false),
    name("secretaccesskey", Promise::Amazon, false),
    name("apikey", Promise::Key, false),
    name("api_key", Promise::Key, false),
    name("api-key", Promise::Key, false),
    name("api key", Promise::Key, false),
    name("access_key", Promise::Key, false),
    name("access-key", Promise::Key, false),
    name("accesskey", Promise::Key, false),
    name("secret_key", Promise::Key, false),
    name("secret-key", Promise::Key, false),
    name("secretkey", Promise::Key, false),
    name("private_key", Promise::Key, false),
    name("private-key", Promise::Key, false),
    name("privatekey", Promise::Key, false),
    name("signing_key", Promise::Key, false),
    name("signingkey", Promise::Key, false),
    name("encryption_key", Promise::Key, false),
    name("encryptionkey", Promise::Key, false),
    name("master_key", Promise::Key, false),
    name("account_key", Promise::Key, false),
    name("storage_key", Promise::Key, false),
    name("auth_key", Promise::Key, false),
    name("authkey", Promise::Key, false),
    name("app_key", Promise::Key, false),
    name("appkey", Promise::Key, false),
    name("subscription-key", Promise::Key, false),
    name("subscription_key", Promise::Key, false),
    name("shared_key", Promise::Key, false),
    name("session_key", Promise::Key, false),
    name("jwt_key", Promise::Key, false),
    name("consumer_key", Promise::Key, false),
    name("credential", Promise::Key, false),
    name("credentials", Promise::Key, false),
    name("sessionid", Promise::Key, false),
    name("session_id", Promise::Key, true),
    name("sessid", Promise::Key, false),
    name("_auth", Promise::Key, false),
    name("\"auth", Promise::Key, false),
];

/// The name whose last word ends at `end`, and where that word begins; of several the longest.
pub(super) fn name_at(text: &str, end: usize) -> Option<(usize, &'static Name)> {
    let bytes = text.as_bytes();
    let ends_here = |name: &&Name| {
        let before = end.checked_sub(name.literal.len()).and_then(|start| bytes.get(start..end));
        before.is_some_and(|word| word.eq_ignore_ascii_case(name.literal.as_bytes()))
    };
    let name = NAMES.iter().filter(ends_here).max_by_key(|name| name.literal.len())?;
    Some((end - name.literal.len(), name))
}

/// The range of the value that is given to a name whose last word stands at `place`.
pub(super) fn assigned(text: &str, place: Range<usize>, name: &Name) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    if name.is_word && !begins_word(bytes, place.start) {
        return None;
    }
    if is_in_mark(bytes, place.start) {
        return None;
    }
    let after = skip_number(bytes, place.end);
    if bytes.get(after).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_') {
        return None;
    }
    let (start, op) = operator(bytes, (place.start, after))?;
    let (range, form) = value(text, start, op)?;
    let shown = text.get(range.clone())?;
    let form = if op == Op::Is { Form::Prose } else { form };
    let is_secret = match name.promise {
        Promise::Password => is_password(shown, form),
        Promise::Key => is_key(shown, form) || (form != Form::Prose && is_short_secret(shown)),
        Promise::Token => is_key(shown, form) && !is_bare_uuid(shown),
        Promise::Amazon => {
            let is_base64 = shown.bytes().all(|byte| is_in(&BASE64, byte));
            (shown.len() == 40 && is_base64 && !is_example_token(shown)) || is_key(shown, form)
        }
    };
    // Beside words, only what cannot be one of them.
    let is_sure = !matches!(op, Op::Cell | Op::Is) || shown.len() >= 8;
    (is_secret && is_sure).then_some(range)
}

/// A value shorter than machines make them, but of three kinds of character.
fn is_short_secret(value: &str) -> bool {
    let has = |test: fn(&u8) -> bool| value.bytes().any(|byte| test(&byte));
    value.len() >= 8
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_lowercase)
        && (has(u8::is_ascii_uppercase) || has(u8::is_ascii_punctuation))
        && is_password(value, Form::Quoted)
}

/// True when a word begins here: after anything but a letter, or with a capital after a small letter.
fn begins_word(bytes: &[u8], place: usize) -> bool {
    let Some(before) = place.checked_sub(1).and_then(|i| bytes.get(i)) else { return true };
    let is_hump =
        before.is_ascii_lowercase() && bytes.get(place).is_some_and(u8::is_ascii_uppercase);
    !before.is_ascii_alphabetic() || is_hump
}

/// True inside of `[redacted:password]`: marks are no names, and announce nothing. What only begins like one is none.
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

/// Passes a number that belongs to the name: `password2`, `SECRET_1`; and what Rails adds, `secret_key_base`.
fn skip_number(bytes: &[u8], mut at: usize) -> usize {
    if bytes.get(at..).is_some_and(|rest| rest.starts_with(b"_base") || rest.starts_with(b"_BASE"))
    {
        return at + 5;
    }
    let has_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    if has_digit(at) || (bytes.get(at) == Some(&b'_') && has_digit(at + 1)) {
        at += 1;
        while has_digit(at) {
            at += 1;
        }
    }
    at
}

/// What stands between a name and its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Op {
    /// `=`, `:`, `:=`, `=>`, `->`, `==`.
    Sets,
    /// Only something in quotes may follow: `password('…')`, `PASSWORD '…'`, `"password", "…"`.
    Quote,
    /// An element of XML.
    Element,
    /// A flag on a command line.
    Flag,
    /// A cell of a table.
    Cell,
    /// Words.
    Is,
}

/// Where the value begins, and what leads there.
fn operator(bytes: &[u8], (name_start, name_end): (usize, usize)) -> Option<(usize, Op)> {
    let at = |i: usize| bytes.get(i).copied().unwrap_or(b'\n');
    let mut i = name_end;
    if at(i) == b'\\' && matches!(at(i + 1), b'"' | b'\'') {
        i += 1;
    }
    let is_quoted = matches!(at(i), b'"' | b'\'' | b'`');
    i += usize::from(is_quoted);
    let is_tag = at(i) == b'>';
    i += usize::from(at(i) == b']');
    // Emphasis around a label: `**Password**: …`, `**Password:** …`.
    while at(i) == b'*' {
        i += 1;
    }
    let spaces = spaces_at(bytes, i);
    let next = i + spaces;
    let op = match (at(next), at(next + 1)) {
        _ if is_tag => (i + 1, Op::Element),
        (b':', b'=') | (b'=', b'>' | b'=') | (b'-', b'>') => (next + 2, Op::Sets),
        (b'?', b':') => (next + 2, Op::Sets),
        (b':' | b'=', _) => (next + 1, Op::Sets),
        (b'|', _) => (next + 1, Op::Cell),
        (b'(', b'"' | b'\'') if spaces == 0 && !is_quoted => (next + 1, Op::Quote),
        (b',', _) if is_quoted => (next + 1, Op::Quote),
        (b'"' | b'\'', _) if spaces > 0 && !is_quoted => (next, Op::Quote),
        (b'v' | b'c', _) if spaces > 0 && is_quoted => (attribute(bytes, next)?, Op::Quote),
        (b'i' | b'w', b's' | b'a') if spaces > 0 => (copula(bytes, next)?, Op::Is),
        _ if spaces > 0 && is_flag(bytes, name_start) => (next, Op::Flag),
        _ => return None,
    };
    let mut start = op.0;
    while at(start) == b'*' {
        start += 1;
    }
    Some((start + spaces_at(bytes, start), op.1))
}

fn spaces_at(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or(&[]);
    rest.iter().take(MAX_SPACES).take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

/// The value in `key="Password" value="…"` and `name="csrf-token" content="…"`.
fn attribute(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = bytes.get(at..)?;
    let n = [&b"value="[..], b"content="].iter().find(|it| rest.starts_with(it))?.len();
    Some(at + n)
}

/// What follows `is`, `is:`, `was` and the like.
fn copula(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = bytes.get(at..)?;
    let words = [&b"is now "[..], b"is set to ", b"is: ", b"is ", b"was ", b"will be "];
    Some(at + words.iter().find(|word| rest.starts_with(word))?.len())
}

/// True when the name is the end of a long flag, `--db-password`, or of one with a single dash, `-Password`.
fn is_flag(bytes: &[u8], name_start: usize) -> bool {
    let from = name_start.saturating_sub(32);
    let before = bytes.get(from..name_start).unwrap_or(&[]);
    let n = before
        .iter()
        .rev()
        .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
        .count();
    let word = before.get(before.len() - n..).unwrap_or(&[]);
    word.starts_with(b"-") && word.len() < 30
}

/// The value that begins at `start`, without its quotes.
fn value(text: &str, start: usize, op: Op) -> Option<(Range<usize>, Form)> {
    let bytes = text.as_bytes();
    let at = |i: usize| bytes.get(i).copied().unwrap_or(b'\n');
    let mut i = start;
    // Letters that mark kinds of strings: `b"…"`, `r'…'`, `@"…"`, `f"…"`.
    if matches!(at(i), b'b' | b'r' | b'u' | b'f' | b'@' | b'$') && matches!(at(i + 1), b'"' | b'\'')
    {
        i += 1;
    }
    if at(i) == b'\\' && matches!(at(i + 1), b'"' | b'\'') {
        return quoted(text, i + 2, at(i + 1));
    }
    if matches!(at(i), b'"' | b'\'' | b'`') {
        return quoted(text, i + 1, at(i));
    }
    if op == Op::Quote {
        return None;
    }
    if op == Op::Sets
        && let Some(next) = after_type(bytes, i)
    {
        return quoted(text, next + 1, at(next));
    }
    bare(text, start, op)
}

/// The quote after a type: `password: String = "…"`, `password: Option<&str> = "…"`.
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
    for (n, byte) in rest.iter().take(MAX_VALUE_BYTES).enumerate() {
        match *byte {
            _ if is_escaped => is_escaped = false,
            b'\n' => return None,
            byte if byte == quote => {
                // The backslash before an escaped quote is not the value's.
                return Some((start..start + n, Form::Quoted));
            }
            b'\\' if rest.get(n + 1) == Some(&quote) => {
                return Some((start..start + n, Form::Quoted));
            }
            b'\\' => is_escaped = true,
            _ => {}
        }
    }
    None
}

/// A value without quotes: up to white space, a quote, an angle bracket, or the sign that ends its statement.
fn bare(text: &str, start: usize, op: Op) -> Option<(Range<usize>, Form)> {
    let rest = text.as_bytes().get(start..)?;
    let mut end = 0;
    while end < MAX_VALUE_BYTES {
        let Some(byte) = rest.get(end) else { break };
        if byte.is_ascii_whitespace() || b"\"'`<>".contains(byte) {
            break;
        }
        let ends_here = match byte {
            b',' => rest
                .get(end + 1)
                .is_none_or(|next| next.is_ascii_whitespace() || b"\"'{[".contains(next)),
            b';' | b'&' => {
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
    // A bracket that closes one inside is part of the value: `get(1)` must be seen as code.
    let kept = if kept.contains(['(', '[', '{']) { shown } else { kept };
    Some((start..start + kept.len(), form))
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

/// Bare, or with words after it on the same line.
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
