//! Words: writes one text of a page, as running text or as code.
//!
//! In: a text with its place. Out: calls of the builder. Invariants: verbatim text is passed by its place only, so
//! that it equals the source; decoded text keeps the place of its source.

use std::ops::Range;

use super::render::PageWriter;
use super::tree::Text;

impl PageWriter<'_> {
    /// Writes a text.
    pub(super) fn text(&mut self, text: &Text) {
        let written = text.of(self.source);
        let is_blank = written.bytes().all(|byte| byte.is_ascii_whitespace());
        if !is_blank {
            self.n_breaks = 0;
        }
        match text {
            Text::Verbatim(range) => {
                self.at = range.end;
                match self.n_pre {
                    0 => self.flow(range.clone(), written),
                    _ => self.code(range.clone(), written, is_blank),
                }
            }
            Text::Replaced(decoded, range) => {
                self.at = range.end;
                if self.n_pre > 0 {
                    self.code_replaced(decoded, range.clone());
                } else {
                    self.words(decoded, range.clone());
                }
            }
        }
    }

    /// Writes running text, in which other kinds of spaces become spaces.
    fn flow(&mut self, range: Range<usize>, written: &str) {
        if written.is_ascii() {
            return self.builder.flow(range);
        }
        let mut done = 0;
        for (at, space) in written.match_indices(is_no_break) {
            self.builder.flow(range.start + done..range.start + at);
            self.builder.space_inserted();
            done = at + space.len();
        }
        self.builder.flow(range.start + done..range.end);
    }

    /// Writes decoded text, all of which has one place.
    pub(super) fn words(&mut self, text: &str, range: Range<usize>) {
        let mut pieces = text.split(|c: char| c.is_ascii_whitespace() || is_no_break(c)).peekable();
        while let Some(word) = pieces.next() {
            self.builder.replaced(word, range.clone());
            if pieces.peek().is_some() {
                self.builder.space_inserted();
            }
        }
    }

    fn code(&mut self, range: Range<usize>, written: &str, is_blank: bool) {
        let starts_line = written.starts_with('\n');
        if !std::mem::take(&mut self.is_line_due) || starts_line {
            return self.builder.code(range);
        }
        if is_blank {
            self.is_line_due = true;
            return;
        }
        // The line end has no place in the source, so it is written with the first visible character.
        let n_blank = written.len() - written.trim_ascii_start().len();
        let first = written[n_blank..].chars().next().map_or(0, char::len_utf8);
        let head = n_blank + first;
        self.builder
            .code_replaced(&format!("\n{}", &written[..head]), range.start..range.start + head);
        self.builder.code(range.start + head..range.end);
    }

    fn code_replaced(&mut self, text: &str, range: Range<usize>) {
        if text.trim_ascii().is_empty() {
            return;
        }
        match std::mem::take(&mut self.is_line_due) {
            true => self.builder.code_replaced(&format!("\n{text}"), range),
            false => self.builder.code_replaced(text, range),
        }
    }
}

/// Returns true for no-break spaces, which occur in names that must be found all the same.
fn is_no_break(c: char) -> bool {
    matches!(c, '\u{a0}' | '\u{202f}' | '\u{2007}')
}
