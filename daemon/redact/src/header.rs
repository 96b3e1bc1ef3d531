//! Headers and command lines: `Authorization: …`, `curl -u user:…`, `mysql -p…`.
//!
//! In: a text and the place of such a word. Out: the range of the credential after it, if it looks like one.
//! Invariant: a bounded number of bytes after the word is read.
//! Not here: long flags such as `--password`, which are assignments (`assign.rs`).

use std::ops::Range;
use std::sync::LazyLock;

use super::label::{TABLE, ValueKind};
use super::likely::{Form, is_example_token, is_key, is_secret, is_stand_in};
use super::token::{BASE64_ANY, run};

/// Longest distance of a flag from its program, in bytes.
const MAX_COMMAND_BYTES: usize = 300;

/// A program with the flag that takes a password.
pub(super) struct Command {
    /// The program.
    pub(super) program: &'static str,
    flag: &'static str,
    /// `-pPASSWORD` instead of `-p PASSWORD`.
    is_joined: bool,
    /// What parts a user from the password, in `-u USER:PASSWORD`.
    after: Option<&'static str>,
}

/// The rows of the table that describe one.
pub(super) static COMMANDS: LazyLock<Vec<Command>> = LazyLock::new(|| {
    let rows = TABLE.lines().filter_map(|line| line.strip_prefix("sh\t"));
    let command = |row: &'static str| {
        let (call, style) = row.split_once("\tflag\t")?;
        let (program, flag) = call.rsplit_once(' ')?;
        let after = style.strip_prefix("after ");
        Some(Command { program, flag, is_joined: style == "joined", after })
    };
    rows.filter_map(command).collect()
});

/// Returns the credential after `authorization`, without its scheme.
pub(super) fn authorization(text: &str, word_end: usize) -> Option<Range<usize>> {
    let (start, has_colon) = skip(text, word_end);
    if !has_colon {
        return None;
    }
    let rest = text.get(start..)?;
    let n = rest
        .bytes()
        .take(16)
        .take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'-')
        .count();
    let scheme = rest.get(..n)?.to_ascii_lowercase();
    let is_scheme = rest.as_bytes().get(n) == Some(&b' ');
    // No scheme: the whole value is the credential.
    if !is_scheme {
        return credential(text, start, |it| is_key(it, 16));
    }
    let from = start + n + 1;
    match scheme.as_str() {
        "basic" => credential(text, from, is_basic),
        _ => credential(text, from, |it| is_key(it, 16)),
    }
}

/// Returns the credential after `Bearer `, in any place.
pub(super) fn bearer(text: &str, word_end: usize) -> Option<Range<usize>> {
    let from = word_end + usize::from(text.as_bytes().get(word_end) == Some(&b' '));
    credential(text, from, |it| it.len() >= 20 && is_key(it, 16))
}

/// Returns the password passed with a short flag to a program whose name ends at `end`.
pub(super) fn flagged(text: &str, end: usize, command: &Command) -> Option<Range<usize>> {
    let start = end.checked_sub(command.program.len())?;
    if text.as_bytes().get(end) != Some(&b' ') {
        return None;
    }
    // Part of a longer name, such as `my-curl`.
    let before = start.checked_sub(1).and_then(|i| text.as_bytes().get(i));
    if before.is_some_and(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(byte)) {
        return None;
    }
    let from = end;
    let rest = text.as_bytes().get(from..)?;
    let n =
        // A pipe or semicolon begins another command.
        rest.iter().take(MAX_COMMAND_BYTES).position(|byte| matches!(byte, b'\n' | b'|' | b';'));
    let line = rest.get(..n.unwrap_or(rest.len().min(MAX_COMMAND_BYTES)))?;
    // With a blank before it; otherwise it is part of another argument.
    let flag = memchr::memmem::find_iter(line, command.flag.as_bytes())
        .find(|at| at.checked_sub(1).and_then(|i| line.get(i)) == Some(&b' '))?;
    let after = from + flag + command.flag.len();
    let is_apart = matches!(text.as_bytes().get(after), Some(b' ' | b'='));
    let start = if is_apart { after + 1 } else { after };
    if is_apart == command.is_joined {
        return None;
    }
    let range = argument(text, start)?;
    let range = match command.after {
        Some(mark) => range.start + text.get(range.clone())?.find(mark)? + 1..range.end,
        None => range,
    };
    let shown = text.get(range.clone())?;
    is_secret(shown, ValueKind::Pass, Form::Whole).then_some(range)
}

/// Returns one argument of a command line, without its quotes.
fn argument(text: &str, start: usize) -> Option<Range<usize>> {
    let rest = text.as_bytes().get(start..)?;
    let quote = rest.first().copied().filter(|byte| matches!(byte, b'"' | b'\''));
    let from = usize::from(quote.is_some());
    let ends = |byte: &u8| match quote {
        Some(quote) => *byte == quote || *byte == b'\n',
        None => byte.is_ascii_whitespace() || b"\"'`<>".contains(byte),
    };
    let body = rest.get(from..)?;
    let n = body.iter().take(200).position(ends).unwrap_or(body.len().min(200));
    let range = start + from..start + from + n;
    text.is_char_boundary(range.end).then_some(range)
}

/// Skips quotes, white space and separators; also returns whether there was a colon, equals sign or comma.
fn skip(text: &str, from: usize) -> (usize, bool) {
    let rest = text.as_bytes().get(from..).unwrap_or(&[]);
    let n = rest.iter().take(16).take_while(|byte| b" \t\"'`:=,>[]\\*".contains(byte)).count();
    let passed = rest.get(..n).unwrap_or(&[]);
    (from + n, passed.iter().any(|byte| matches!(byte, b':' | b'=' | b',')))
}

fn credential(text: &str, from: usize, is_one: impl Fn(&str) -> bool) -> Option<Range<usize>> {
    let n = run(text, from, &BASE64_ANY);
    let shown = text.get(from..from + n)?;
    // No credential contains `::`. Judge only the text before it, so that the result is the same after a replacement.
    let kept = shown.split("::").next().unwrap_or(shown).trim_end_matches(['.', ':']);
    (!is_stand_in(kept) && !is_example_token(kept) && is_one(kept))
        .then_some(from..from + kept.len())
}

/// Base64 of `user:password`, or something like it.
fn is_basic(value: &str) -> bool {
    let has = |test: fn(&u8) -> bool| value.bytes().any(|byte| test(&byte));
    let is_mixed =
        has(u8::is_ascii_digit) && has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase);
    let is_like_one = || is_key(value, 16) || (is_mixed && value.len() >= 16);
    value.len() >= 8 && password_in(value).map_or_else(is_like_one, |it| !is_stand_in(&it))
}

/// Returns the password in base64 of `user:password`.
pub(super) fn password_in(value: &str) -> Option<String> {
    let decoded = String::from_utf8(decode(value)?).ok()?;
    Some(decoded.split_once(':')?.1.to_string())
}

/// Decodes base64, standard or URL-safe; `None` when it is not base64.
fn decode(value: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(value.len() * 3 / 4);
    let (mut bits, mut n_bits) = (0_u32, 0);
    for byte in value.trim_end_matches('=').bytes() {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        // At most 7 bits are left over and 6 are added, so 16 suffice.
        bits = (bits << 6 | u32::from(digit)) & 0xffff;
        n_bits += 6;
        if n_bits >= 8 {
            n_bits -= 8;
            out.push((bits >> n_bits & 0xff) as u8);
        }
    }
    Some(out)
}
