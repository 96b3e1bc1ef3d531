//! Clean: makes any text safe to appear in a reply.
//!
//! In: any text. Out: the same words on one line, or indented, with hidden characters escaped (`proto::visible`).
//! Invariants: `one_line` also removes secrets. The other functions are for stored text only: it was cleaned when its
//! document was read, and secrets that the user allowed there (`privacy.allow_paths`) stay readable.

use std::borrow::Cow;

use proto::visible::show;
use redact::clean;

/// Returns `text` on one line without secrets: for paths, reasons, and everything that may repeat a request.
pub(super) fn one_line(text: &str) -> Cow<'_, str> {
    match clean(text) {
        Cow::Borrowed(text) => stored_line(text),
        // Something was removed, so the text is ours already.
        Cow::Owned(text) => Cow::Owned(stored_line(&text).into_owned()),
    }
}

/// Returns stored text on one line: line ends and tabs become spaces.
pub(super) fn stored_line(text: &str) -> Cow<'_, str> {
    let shown = show(text);
    let breaks = ['\n', '\r', '\t'];
    if shown.contains(breaks) { Cow::Owned(shown.replace(breaks, " ")) } else { shown }
}

/// Returns stored text as lines, each after `indent`; empty lines are dropped, except in fenced code.
pub(super) fn indented(text: &str, indent: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut is_code = false;
    for line in text.lines().map(str::trim_end) {
        // An opening fence is code from here on, a closing one no longer is.
        is_code ^= line.trim_start().starts_with("```");
        if line.is_empty() && is_code {
            out.push('\n');
        }
        if line.trim().is_empty() {
            continue;
        }
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(indent);
        out.push_str(&stored_line(line));
    }
    out
}

/// Returns stored text as lines, each after `indent`, with one empty line where there are some.
pub(super) fn paragraphs(text: &str, indent: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut is_apart = false;
    for line in text.lines().map(str::trim_end) {
        if line.is_empty() {
            is_apart = !out.is_empty();
            continue;
        }
        out.push_str(if out.is_empty() { "" } else { "\n" });
        out.push_str(if is_apart { "\n" } else { "" });
        is_apart = false;
        out.push_str(indent);
        out.push_str(&stored_line(line));
    }
    out
}

/// Returns stored text as it is written, blank lines included, so that a client can quote a part of it in an edit.
pub(super) fn as_written(text: &str) -> String {
    show(text).replace('\r', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_removes_secrets_and_stored_text_keeps_them() {
        let token = format!("gh{}", "p_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
        assert_eq!(one_line(&format!("{token}\n.md")), "[redacted:github-token] .md");
        assert_eq!(stored_line(&token), token);
    }

    #[test]
    fn control_characters_are_written_out() {
        assert_eq!(one_line("plain — ünï"), "plain — ünï");
        assert_eq!(one_line("a\u{1b}[2Jb\nc\u{202e}d\u{85}e"), r"a\u{1b}[2Jb c\u{202e}d\u{85}e");
        assert_eq!(as_written("a\r\n\n\tb \u{1b}[2J"), "a\n\n\tb \\u{1b}[2J");
        assert_eq!(paragraphs("\none\n\n\n1. two\n", "  "), "  one\n\n  1. two");
        assert_eq!(indented("one\r\n\n  two \u{7}\n", "   "), "   one\n     two \\u{7}");
    }
}
