//! Clean: makes words from documents safe to show.
//!
//! In: any text. Out: the same words without what could command a terminal or hide the reading
//! order.

use std::borrow::Cow;

/// `text` as one line: line ends and control characters become spaces, direction marks vanish.
pub(super) fn one_line(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let shown = text.chars().filter(|c| !turns_direction(*c));
    Cow::Owned(shown.map(|c| if is_unsafe(c) { ' ' } else { c }).collect())
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
    let shown = text.chars().filter(|c| !turns_direction(*c) && *c != '\r');
    shown.map(|c| if is_unsafe(c) && c != '\n' && c != '\t' { ' ' } else { c }).collect()
}

fn is_unsafe(c: char) -> bool {
    // U+2028 and U+2029 end lines, too.
    c.is_control() || turns_direction(c) || matches!(c, '\u{2028}' | '\u{2029}')
}

fn turns_direction(c: char) -> bool {
    matches!(c, '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_commands_a_terminal() {
        assert_eq!(one_line("plain — ünï"), "plain — ünï");
        assert_eq!(one_line("a\u{1b}[2Jb\nc\u{202e}d\u{85}e"), "a [2Jb cd e");
        assert_eq!(as_written("a\r\n\n\tb \u{1b}[2J"), "a\n\n\tb  [2J");
        assert_eq!(indented("one\r\n\n  two \u{7}\n", "   "), "   one\n     two  ");
    }
}
