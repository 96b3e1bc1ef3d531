//! Plain text: recognizes the structure that people give to text without markup.
//!
//! In: decoded, redacted text. Out: [`Parsed`]. Recognized: paragraphs between blank lines, with hard-wrapped lines
//! joined; headings underlined with `===` or `---`, or short and all capitals; lists by `-`, `*`, `+`, `•`, `1.` or
//! `1)`, nested by indentation; code: two or more indented lines. Lines of punctuation alone are dropped.
//! Invariant: one pass over the lines, each examined a bounded number of times.

use std::ops::Range;

use super::builder::TextBuilder;
use super::format::{Format, FormatLimits};
use model::document::Parsed;

/// Longest line that can be a heading because it is all capitals, in characters.
const MAX_CAPITALS_CHARS: usize = 60;
/// Indentation from which lines are code, in columns.
const CODE_INDENT: usize = 4;
/// Columns of a tab.
const TAB_COLUMNS: usize = 4;

/// The plain text format.
pub(crate) struct Plain;

impl Format<str> for Plain {
    fn takes_title_from_heading(&self) -> bool {
        true
    }

    fn read(&self, text: &str, limits: &FormatLimits) -> Result<Parsed, String> {
        let mut walk = PlainWalk {
            source: text,
            lines: lines_of(text),
            out: TextBuilder::new(text, limits),
            lists: Vec::new(),
            max_depth: limits.max_nesting,
        };
        let (mut at, mut after_blank) = (0, true);
        while let Some(line) = walk.lines.get(at).copied() {
            let next = walk.block(at, after_blank);
            after_blank = line.is_blank();
            at = next;
        }
        Ok(walk.out.finish())
    }
}

/// One line: where it begins, where its text begins and ends, and the column of its text.
#[derive(Clone, Copy)]
struct PlainLine {
    start: usize,
    text: usize,
    end: usize,
    indent: usize,
}

impl PlainLine {
    fn is_blank(self) -> bool {
        self.text == self.end
    }
}

/// An open list: the column of its markers, the column of its text, and whether it is numbered.
#[derive(Clone, Copy)]
struct PlainList {
    indent: usize,
    text_indent: usize,
    is_ordered: bool,
}

/// The start of a list item.
struct PlainMarker {
    number: Option<u32>,
    /// Bytes before the item's text.
    n_bytes: usize,
}

struct PlainWalk<'a> {
    source: &'a str,
    lines: Vec<PlainLine>,
    out: TextBuilder<'a>,
    /// Open lists, outermost first; each has an open item.
    lists: Vec<PlainList>,
    max_depth: usize,
}

impl PlainWalk<'_> {
    /// Reads the block that begins at a line and returns the line after it.
    fn block(&mut self, at: usize, after_blank: bool) -> usize {
        let Some(line) = self.lines.get(at).copied() else { return at + 1 };
        let text = self.text(line);
        if line.is_blank() || is_rule(text) {
            self.out.end_block();
            return at + 1;
        }
        if let Some(marker) = marker_of(text) {
            return self.item(at, &marker);
        }
        if let Some(level) = self.underline_level(at) {
            self.heading(line, level);
            return at + 2;
        }
        if after_blank && self.is_capitals_heading(at) {
            self.heading(line, 2);
            return at + 1;
        }
        // After a blank line, indented text continues the item above it; other text ends the list.
        while after_blank && self.lists.last().is_some_and(|list| line.indent < list.text_indent) {
            self.end_list();
        }
        if after_blank && self.lists.is_empty() {
            // Code has at least two lines.
            let end = self.code_end(at);
            if end > at + 1 {
                self.code(at..end);
                return end;
            }
        }
        self.paragraph(at, 0)
    }

    fn heading(&mut self, line: PlainLine, level: u8) {
        self.end_lists();
        self.out.begin_heading(level);
        self.out.flow(line.text..line.end);
        self.out.end_block();
    }

    /// Joins the lines from `at` until something else begins. The first `n_skipped` bytes are a marker.
    fn paragraph(&mut self, at: usize, n_skipped: usize) -> usize {
        let mut end = at + 1;
        while self.continues(end) {
            end += 1;
        }
        if let (Some(first), Some(last)) = (self.lines.get(at), self.lines.get(end - 1)) {
            let range = first.text + n_skipped..last.end;
            self.out.begin_text();
            self.out.flow(range);
            self.out.end_block();
        }
        end
    }

    /// True when a line continues the paragraph above it.
    fn continues(&self, at: usize) -> bool {
        let Some(line) = self.lines.get(at).copied().filter(|line| !line.is_blank()) else {
            return false;
        };
        let text = self.text(line);
        // A number may have been wrapped to the start of its line, so only `1.` begins a list here, unless a list is
        // open.
        let is_item = marker_of(text)
            .is_some_and(|marker| !self.lists.is_empty() || marker.number.unwrap_or(1) == 1);
        !is_item && !is_rule(text) && self.underline_level(at).is_none()
    }

    /// Reads an item: continues the open list, begins one inside it, or ends lists that are deeper.
    fn item(&mut self, at: usize, marker: &PlainMarker) -> usize {
        let Some(line) = self.lines.get(at).copied() else { return at + 1 };
        let is_ordered = marker.number.is_some();
        while let Some(list) = self.lists.last().copied() {
            // A difference of one column is alignment (` 9.` above `10.`).
            let is_same_level = line.indent.abs_diff(list.indent) <= 1;
            let is_deeper = line.indent > list.indent && !is_same_level;
            if is_deeper && self.lists.len() < self.max_depth {
                break;
            }
            // Also deeper ones when the nesting limit is reached.
            if (is_same_level || is_deeper) && list.is_ordered == is_ordered {
                self.out.end_item();
                self.out.begin_item();
                return self.paragraph(at, marker.n_bytes);
            }
            self.end_list();
        }
        self.out.begin_list(marker.number);
        self.out.begin_item();
        let text_indent = line.indent + 2;
        self.lists.push(PlainList { indent: line.indent, text_indent, is_ordered });
        self.paragraph(at, marker.n_bytes)
    }

    fn end_list(&mut self) {
        if self.lists.pop().is_some() {
            self.out.end_item();
            self.out.end_list();
        }
    }

    fn end_lists(&mut self) {
        while !self.lists.is_empty() {
            self.end_list();
        }
    }

    /// Returns the line after the code that begins at `at`: indented lines, and blank lines between them.
    fn code_end(&self, at: usize) -> usize {
        let mut end = at;
        for (index, line) in self.lines.iter().enumerate().skip(at) {
            if line.is_blank() {
                continue;
            }
            if line.indent < CODE_INDENT {
                break;
            }
            end = index + 1;
        }
        end
    }

    fn code(&mut self, lines: Range<usize>) {
        self.out.begin_code("");
        for line in self.lines.get(lines).unwrap_or(&[]) {
            let is_tab = self.source.as_bytes().get(line.start) == Some(&b'\t');
            let n_indent = if is_tab { 1 } else { CODE_INDENT };
            // With its line end, if it has one.
            let end = (line.end + 1).min(self.source.len());
            let line_end = self.source.get(line.end..end).map_or(line.end, |_| end);
            self.out.code((line.start + n_indent).min(line.end)..line_end);
        }
        self.out.end_block();
    }

    /// Returns the level of a heading that the next line underlines.
    fn underline_level(&self, at: usize) -> Option<u8> {
        let (line, under) = (self.lines.get(at)?, self.lines.get(at + 1)?);
        let (text, under) = (self.text(*line), self.text(*under));
        let level = match under.as_bytes() {
            [b'=', b'=', b'=', rest @ ..] if rest.iter().all(|byte| *byte == b'=') => 1,
            [b'-', b'-', b'-', rest @ ..] if rest.iter().all(|byte| *byte == b'-') => 2,
            _ => return None,
        };
        // A line much longer than the line below it is the end of a paragraph above a rule.
        let is_fitting =
            text.len() <= 2 * under.len() + 8 && text.chars().any(char::is_alphanumeric);
        is_fitting.then_some(level)
    }

    /// True for a short line of capitals that is alone or directly above its text.
    fn is_capitals_heading(&self, at: usize) -> bool {
        let Some(line) = self.lines.get(at) else { return false };
        let text = self.text(*line);
        // A cheap bound first: a character has at most 4 bytes.
        if line.indent >= CODE_INDENT || text.len() > 4 * MAX_CAPITALS_CHARS {
            return false;
        }
        let n_upper = text.chars().filter(|c| c.is_uppercase()).count();
        let has_lower = text.chars().any(char::is_lowercase);
        let ends_sentence = text.ends_with(['.', ',', ';', '!', '?']);
        // A heading is a single line of capitals.
        let next_is_capitals = self.lines.get(at + 1).is_some_and(|next| {
            let next = self.text(*next);
            !next.is_empty() && !next.chars().any(char::is_lowercase)
        });
        n_upper >= 3
            && !has_lower
            && !ends_sentence
            && !next_is_capitals
            && text.chars().count() <= MAX_CAPITALS_CHARS
    }

    fn text(&self, line: PlainLine) -> &str {
        self.source.get(line.text..line.end).unwrap_or("")
    }
}

fn lines_of(text: &str) -> Vec<PlainLine> {
    let mut start = 0;
    let mut lines = Vec::new();
    for line in text.split('\n') {
        let trimmed = line.trim_ascii_start();
        let n_indent = line.len() - trimmed.len();
        // A tab moves to the next tab stop.
        let indent = line.bytes().take(n_indent).fold(0, |column, byte| {
            if byte == b'\t' { (column / TAB_COLUMNS + 1) * TAB_COLUMNS } else { column + 1 }
        });
        let end = start + n_indent + trimmed.trim_ascii_end().len();
        lines.push(PlainLine { start, text: start + n_indent, end, indent });
        start += line.len() + 1;
    }
    lines
}

/// Returns the list marker that a line's text begins with.
fn marker_of(text: &str) -> Option<PlainMarker> {
    let rest = text.strip_prefix(['-', '*', '+', '•']);
    let (number, rest) = match rest {
        Some(rest) => (None, rest),
        None => {
            // Nine digits always fit into `u32`; a longer number is not a marker.
            let n_digits = text.bytes().take(10).take_while(u8::is_ascii_digit).count();
            let number = text.get(..n_digits).filter(|_| n_digits < 10)?.parse().ok()?;
            (Some(number), text.get(n_digits..)?.strip_prefix(['.', ')'])?)
        }
    };
    let item = rest.trim_ascii_start();
    // A marker needs white space after it, and text.
    (item.len() < rest.len() && !item.is_empty())
        .then_some(PlainMarker { number, n_bytes: text.len() - item.len() })
}

/// True for a line drawn with punctuation.
fn is_rule(text: &str) -> bool {
    text.len() >= 3 && text.bytes().all(|byte| b"-=*_~#+. \t".contains(&byte))
}

#[cfg(test)]
mod tests;
