//! Command lines: `curl -u user:…`, `mysql -p…`, `echo … | chpasswd`, `ALTER USER … BY '…'`.
//!
//! In: a text and the place of a program, a statement or a directive. Out: the ranges of the secrets it takes.
//! Invariant: a bounded number of bytes around the word is read.

use std::ops::Range;
use std::sync::LazyLock;

use super::label::{TABLE, ValueKind};
use super::likely::{Form, is_secret};

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

/// Returns the secrets among the arguments of a program whose name ends at `end`, and in what is piped to it.
pub(super) fn called(text: &str, end: usize, command: &Command) -> Vec<Range<usize>> {
    let before = end.checked_sub(command.program.len()).and_then(|start| text.get(..start));
    // Part of a longer name, such as `my-curl`.
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let Some(before) = before.filter(|it| !it.ends_with(is_part)) else { return Vec::new() };
    let near = before.ceil_char_boundary(before.len().saturating_sub(MAX_COMMAND_BYTES));
    let line = before.get(near..).and_then(|it| it.rsplit('\n').next()).unwrap_or("");
    let is_alone = !line.contains(char::is_alphanumeric);
    let after = match text.as_bytes().get(end) {
        Some(b' ') => arguments(text, end),
        _ => Vec::new(),
    };
    let find = |pattern: &Vec<&str>| {
        let first = *pattern.first()?;
        if let Some(first) = first.strip_prefix('|') {
            let piped = piped(text, before.len() - line.len()..before.len())?;
            return secret_among(text, &[piped], &[first], true);
        }
        // What has no flag must come first.
        let n_places = if first.starts_with(['?', '*']) { 1 } else { after.len() };
        let mut places = after.windows(pattern.len()).take(n_places);
        places.find_map(|it| secret_among(text, it, pattern, is_alone))
    };
    command.patterns.iter().filter_map(find).collect()
}

/// Returns the place of the secret in arguments that match a pattern word by word. Sentences name commands, too, so
/// that without a flag or quotes, or a command that is `alone` on its line, it must look like a secret.
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
    let rest = rest.get(..rest.floor_char_boundary(MAX_COMMAND_BYTES)).unwrap_or("");
    let (mut out, mut quote, mut from, mut last) = (Vec::new(), None, None, ' ');
    for (at, c) in rest.char_indices().chain([(rest.len(), '\n')]) {
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
