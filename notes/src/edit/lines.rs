//! Lines: their bounds and line ends.
//!
//! In: a text. Out: its lines with their spans; the line end to use at a place.
//! Invariant: a line ends with `\n` or `\r\n`; a lone `\r` is an ordinary character, as in Git.

use std::ops::Range;

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// The line without its end.
    pub(super) text: &'a str,
    /// Its bytes, including the line end.
    pub(super) span: Range<usize>,
}

impl Line<'_> {
    pub(super) fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// The end of its text, where its line end begins.
    pub(super) fn text_end(&self) -> usize {
        self.span.start + self.text.len()
    }
}

/// Returns the lines of a part of a text. Each, except perhaps the last, has a line end.
pub(super) fn lines_of(
    text: &str,
    part: Range<usize>,
) -> impl DoubleEndedIterator<Item = Line<'_>> {
    let mut at = part.start;
    let all: Vec<Line<'_>> = text
        .get(part)
        .unwrap_or("")
        .split_inclusive('\n')
        .map(|line| {
            let span = at..at + line.len();
            at = span.end;
            let bare = line.strip_suffix('\n').unwrap_or(line);
            Line {
                text: bare.strip_suffix('\r').filter(|_| bare.len() < line.len()).unwrap_or(bare),
                span,
            }
        })
        .collect();
    all.into_iter()
}

/// Returns the start of the line that contains a byte; the first line starts after a byte order mark.
pub(super) fn line_start(text: &str, at: usize) -> usize {
    let newline = text.get(..at).and_then(|before| before.rfind('\n'));
    newline.map_or(bom_len(text).min(at), |newline| newline + 1)
}

/// Returns the end of the line that contains a byte, including its line end.
pub(super) fn line_end(text: &str, at: usize) -> usize {
    text.get(at..).and_then(|after| after.find('\n')).map_or(text.len(), |newline| at + newline + 1)
}

/// Returns the number of the line that contains a byte, from 1.
pub(super) fn line_number(text: &str, at: usize) -> usize {
    text.get(..at).unwrap_or(text).matches('\n').count() + 1
}

/// Returns the line end to use at a place: that of its line, the previous line or the first line, otherwise `\n`.
pub(super) fn eol_at(text: &str, at: usize) -> &'static str {
    let here = text.get(at..).and_then(|after| after.find('\n')).map(|newline| at + newline);
    let before = || text.get(..at).and_then(|before| before.rfind('\n'));
    // At the start of a line, the previous line is the one that was written before it.
    let newline = if at > 0 && text.get(..at).is_some_and(|before| before.ends_with('\n')) {
        before().or(here)
    } else {
        here.or_else(before)
    };
    match newline {
        Some(newline) if text.get(..newline).is_some_and(|before| before.ends_with('\r')) => "\r\n",
        _ => "\n",
    }
}

/// Returns the line end of the line that contains a byte, otherwise that of [`eol_at`].
pub(super) fn eol_of_line(text: &str, at: usize) -> &'static str {
    let end = line_end(text, at);
    match text.get(at..end) {
        Some(line) if line.ends_with("\r\n") => "\r\n",
        Some(line) if line.ends_with('\n') => "\n",
        _ => eol_at(text, at),
    }
}

/// Replaces all line ends with `eol`.
pub(super) fn with_eol(text: &str, eol: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', eol)
}

/// Returns the length of a byte order mark at the start.
pub(super) fn bom_len(text: &str) -> usize {
    if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_the_line_end_of_its_line() {
        let mixed = "a\r\nb\nc";
        let ends: Vec<_> = [0, 1, 3, 4, 5, 6].map(|at| eol_at(mixed, at)).into();
        assert_eq!(ends, ["\r\n", "\r\n", "\r\n", "\n", "\n", "\n"]);
        assert_eq!(eol_at("", 0), "\n");
        assert_eq!(eol_at("one\r\n", 5), "\r\n");
        let lines: Vec<_> = lines_of(mixed, 0..6).map(|it| (it.text, it.span)).collect();
        assert_eq!(lines, [("a", 0..3), ("b", 3..5), ("c", 5..6)]);
    }

    #[test]
    fn a_lone_return_ends_no_line() {
        let lines: Vec<_> = lines_of("a\rb\r", 0..4).map(|it| it.text).collect();
        assert_eq!(lines, ["a\rb\r"]);
    }
}
