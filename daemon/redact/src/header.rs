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

/// Most text that is read of a command line, in bytes.
const MAX_COMMAND_BYTES: usize = 300;

/// A program, a statement or a directive that takes a secret.
pub(super) struct Command {
    pub(super) program: &'static str,
    /// What its arguments must be in a row, as `config/secret_labels.tsv` says.
    patterns: Vec<Vec<&'static str>>,
}

/// The rows of the table that describe one.
pub(super) static COMMANDS: LazyLock<Vec<Command>> = LazyLock::new(|| {
    let rows = TABLE.lines().filter_map(|line| line.strip_prefix("sh\t")?.split_once("\tcall\t"));
    let command = |(programs, patterns): (&'static str, &'static str)| {
        let patterns = patterns.split(", ").map(|it| it.split(' ').collect());
        let patterns: Vec<Vec<&str>> = patterns.collect();
        programs.split(", ").map(move |program| Command { program, patterns: patterns.clone() })
    };
    rows.flat_map(command).collect()
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

/// Returns the secrets among the arguments of a program whose name ends at `end`, and in what is piped to it.
pub(super) fn called(text: &str, end: usize, command: &Command) -> Vec<Range<usize>> {
    let before = end.checked_sub(command.program.len()).and_then(|start| text.get(..start));
    // Part of a longer name, such as `my-curl`.
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let Some(before) = before.filter(|it| !it.ends_with(is_part)) else { return Vec::new() };
    let line = before.rsplit('\n').next().unwrap_or("");
    let is_alone = !line.contains(char::is_alphanumeric);
    let after = match text.as_bytes().get(end) {
        Some(b' ') => arguments(text, end),
        _ => Vec::new(),
    };
    let find = |pattern: &Vec<&str>| {
        let first = *pattern.first()?;
        if let Some(first) = first.strip_prefix('|') {
            return secret_among(
                text,
                &[piped(text, before.len() - line.len()..before.len())?],
                &[first],
                true,
            );
        }
        // What has no flag must come first.
        let n_places = if first.starts_with(['?', '*']) { 1 } else { after.len() };
        let mut places = after.windows(pattern.len()).take(n_places);
        places.find_map(|it| secret_among(text, it, pattern, is_alone))
    };
    command.patterns.iter().filter_map(find).collect()
}

/// Returns the place of the secret in arguments that match a pattern word by word. Sentences name commands, too, so that
/// without a flag or quotes, or a command that is `alone` on its line, it must look like a secret.
fn secret_among(
    text: &str,
    arguments: &[Range<usize>],
    pattern: &[&str],
    is_alone: bool,
) -> Option<Range<usize>> {
    const QUOTES: [char; 2] = ['"', '\''];
    for (word, range) in pattern.iter().zip(arguments) {
        let shown = text.get(range.clone())?;
        let is_option = shown.starts_with('/') && shown.matches('/').count() == 1;
        let is_plain = !shown.starts_with(['-', '<', '>']) && !is_option;
        if let Some((lead, _)) = word.split_once('?') {
            let (lead, mark) = lead.split_once('*').unwrap_or((lead, ""));
            let mut at = shown.get(..lead.len()).filter(|it| it.eq_ignore_ascii_case(lead))?.len();
            at += shown.get(at..)?.find(mark)? + mark.len();
            // `name/password@host`.
            let n = if mark == "/" { shown.rfind('@').unwrap_or(shown.len()) } else { shown.len() };
            let value = shown.get(at..n)?.split("</").next()?;
            let bare = value.trim_matches(QUOTES).trim_end_matches([')', '`', ',']);
            let start = range.start + at + (value.len() - value.trim_start_matches(QUOTES).len());
            let is_last =
                text.get(range.end..)?.trim_start_matches(' ').starts_with(['\n', '`', ';']);
            let is_flag = |it: &&str| it.starts_with(['-', '/']);
            let is_whole = value.len() > bare.len() + 1 && value.starts_with(QUOTES)
                || pattern.iter().any(is_flag)
                || is_alone
                    && (is_last || range.end == text.len())
                    && pattern.first()?.contains(['*', '?']);
            let form = if is_whole { Form::Whole } else { Form::Part };
            return ((is_plain || !lead.is_empty() || !mark.is_empty())
                && is_secret(bare, ValueKind::Password, form))
            .then_some(start..start + bare.len());
        }
        let is_here = match *word {
            "*" => is_plain,
            // `-b` is also in `-nb`.
            _ if word.len() == 2 && word.starts_with('-') => {
                let is_short = shown.len() < 6 && !shown.starts_with("--");
                is_short && shown.starts_with('-') && shown.contains(word.trim_start_matches('-'))
            }
            _ => shown.eq_ignore_ascii_case(word),
        };
        if !is_here {
            return None;
        }
    }
    None
}

/// Returns the last argument of `echo` or a string, if it is piped to what follows `line`.
fn piped(text: &str, line: Range<usize>) -> Option<Range<usize>> {
    let (left, between) = text.get(line.clone())?.rsplit_once('|')?;
    let arguments = arguments(text.get(..line.start + left.len())?, line.start);
    let last = arguments.last()?.clone();
    let is_echo = |it: &Range<usize>| matches!(text.get(it.clone()), Some("echo" | "printf"));
    let is_string = text.get(last.clone())?.starts_with(['"', '\'']);
    (between.len() < 20 && (is_string || arguments.iter().any(is_echo))).then_some(last)
}

/// Returns the arguments of a command from `start` on, with their quotes, up to the end of the command. Digits alone
/// are left out: routers write the kind of encryption so.
fn arguments(text: &str, start: usize) -> Vec<Range<usize>> {
    let rest = text.get(start..).unwrap_or("");
    let (mut out, mut quote, mut from, mut last) = (Vec::new(), None, None, ' ');
    for (at, c) in rest.char_indices().take(MAX_COMMAND_BYTES).chain([(rest.len(), '\n')]) {
        let is_end = c == '\n' && last != '\\' || quote.is_none() && matches!(c, '|' | ';' | '`');
        if is_end || quote.is_none() && c.is_whitespace() {
            let is_kind = |it: &str| it.len() <= 2 && it.bytes().all(|byte| byte.is_ascii_digit());
            let argument = from.take().filter(|from| !rest.get(*from..at).is_some_and(is_kind));
            out.extend(argument.map(|from: usize| start + from..start + at));
        } else {
            from.get_or_insert(at);
            match quote {
                Some(open) if open == c => quote = None,
                None if matches!(c, '"' | '\'') => quote = Some(c),
                _ => {}
            }
        }
        if is_end {
            break;
        }
        last = c;
    }
    out
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
