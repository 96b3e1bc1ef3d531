//! Clean: makes words from documents fit the lines of an answer.
//!
//! In: any text. Out: the same words on one line, or indented; what hides is written out (`proto::visible`).

use std::borrow::Cow;

use proto::visible::show;

/// `text` as one line: line ends and tabs become spaces.
pub(super) fn one_line(text: &str) -> Cow<'_, str> {
    let shown = show(text);
    let breaks = ['\n', '\r', '\t'];
    if shown.contains(breaks) { Cow::Owned(shown.replace(breaks, " ")) } else { shown }
}

/// `text` as lines, each after `indent`; empty lines are left out.
pub(super) fn indented(text: &str, indent: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for line in text.lines().map(str::trim_end).filter(|line| !line.trim().is_empty()) {
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(indent);
        out.push_str(&one_line(line));
    }
    out
}

/// `text` line by line as it is written, blank lines and blanks included, so that a part of it can be found again.
pub(super) fn as_written(text: &str) -> String {
    show(text).replace('\r', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_commands_a_terminal() {
        assert_eq!(one_line("plain — ünï"), "plain — ünï");
        assert_eq!(one_line("a\u{1b}[2Jb\nc\u{202e}d\u{85}e"), r"a\u{1b}[2Jb c\u{202e}d\u{85}e");
        assert_eq!(as_written("a\r\n\n\tb \u{1b}[2J"), "a\n\n\tb \\u{1b}[2J");
        assert_eq!(indented("one\r\n\n  two \u{7}\n", "   "), "   one\n     two \\u{7}");
    }
}
