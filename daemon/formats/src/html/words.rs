//! Words: writes one text of a page, as running text or as code.
//!
//! In: a text with its place. Out: calls of the builder. Invariants: verbatim text is passed by its place only, so
//! that it equals the source; decoded text keeps the place of its source.
//! Not here: blocks and marks (`render.rs`).

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

    /// Writes running text, in which other kinds of spaces become spaces and invisible characters are dropped.
    fn flow(&mut self, range: Range<usize>, written: &str) {
        if written.is_ascii() {
            return self.builder.flow(range);
        }
        let mut done = 0;
        for (at, character) in written.char_indices().filter(|(_, c)| !c.is_ascii()) {
            let meaning = meaning_of(character);
            if meaning == Meaning::Itself {
                continue;
            }
            self.builder.flow(range.start + done..range.start + at);
            if meaning == Meaning::Space {
                self.builder.space_inserted();
            }
            done = at + character.len_utf8();
        }
        self.builder.flow(range.start + done..range.end);
    }

    /// Writes decoded text, all of which has one place.
    pub(super) fn words(&mut self, text: &str, range: Range<usize>) {
        let is_space = |c: char| c.is_ascii_whitespace() || meaning_of(c) == Meaning::Space;
        let mut pieces = text.split(is_space);
        let mut piece = pieces.next();
        while let Some(word) = piece {
            if word.chars().all(|c| meaning_of(c) == Meaning::Itself) {
                self.builder.replaced(word, range.clone());
            } else {
                let shown: String =
                    word.chars().filter(|c| meaning_of(*c) == Meaning::Itself).collect();
                self.builder.replaced(&shown, range.clone());
            }
            piece = pieces.next();
            if piece.is_some() {
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

/// How a character is treated in running text.
#[derive(PartialEq, Eq)]
enum Meaning {
    Itself,
    Space,
    Nothing,
}

fn meaning_of(character: char) -> Meaning {
    match character {
        // No-break spaces occur in names, which must be found all the same.
        '\u{a0}' | '\u{202f}' | '\u{2007}' => Meaning::Space,
        // Soft hyphen, zero-width space and joiner, byte order mark.
        '\u{ad}' | '\u{200b}' | '\u{2060}' | '\u{feff}' => Meaning::Nothing,
        _ => Meaning::Itself,
    }
}
