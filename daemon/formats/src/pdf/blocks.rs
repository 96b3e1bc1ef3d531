//! Blocks: groups lines into headings, paragraphs, items, tables and code.
//!
//! In: the lines of all pages in reading order, without furniture. Out: their text. A line begins a block if there
//! is a gap above it, if its style differs, if it is indented, if it begins an item, or if the line above had room
//! for its first word. A paragraph continues in the next column and on the next page unless its end looks like the
//! end of a paragraph.
//! Invariants: each line is written once; a page begins where its first line is written.

use std::ops::Range;

use super::columns::Line;
use super::glyph::GlyphStyle;
use super::heading::Headings;
use super::hyphen::{self, Joint, Vocabulary};
use super::item::{Marker, marker_of};
use super::links::PageLink;
use super::page::PageLines;
use super::table;
use super::write::PdfText;
use crate::format::FormatLimits;
use model::document::{InlineKind, Parsed};

/// A line begins a block if its distance from the line above is this many times the usual one.
const APART: f32 = 1.35;
/// Width of a character in a monospaced font, in font sizes.
const MONO_WIDTH: f32 = 0.6;

/// Writes all pages.
pub(super) fn write(
    pages: &[PageLines],
    headings: &Headings,
    vocabulary: &Vocabulary,
    limits: &FormatLimits,
) -> Parsed {
    let mut writer = BlockWriter {
        out: PdfText::new(limits),
        headings,
        vocabulary,
        links: &[],
        open: Open::Nothing,
        lists: Vec::new(),
    };
    for page in pages {
        writer.out.begin_page();
        writer.page(page);
    }
    writer.end_lists();
    writer.out.finish()
}

/// The open block.
#[derive(Clone, Debug)]
enum Open {
    Nothing,
    /// A paragraph or an item, and its last line.
    Text {
        last: LastLine,
    },
}

/// Properties of the last line that the next one is compared with.
#[derive(Clone, Debug)]
struct LastLine {
    word: Box<str>,
    size: f32,
    is_bold: bool,
}

/// An open list: the x of its markers, and the last number.
#[derive(Debug)]
struct List {
    x: f32,
    number: Option<u32>,
}

struct BlockWriter<'a> {
    out: PdfText,
    headings: &'a Headings,
    vocabulary: &'a Vocabulary,
    links: &'a [PageLink],
    open: Open,
    lists: Vec<List>,
}

/// The edges of a column, and the usual distance between its lines, in font sizes.
#[derive(Debug, Clone, Copy)]
struct Column {
    left: f32,
    right: f32,
    pitch: f32,
}

impl<'a> BlockWriter<'a> {
    fn page(&mut self, page: &'a PageLines) {
        self.links = &page.links;
        let mut start = 0;
        while let Some(first) = page.lines.get(start) {
            let rest = page.lines.get(start..).unwrap_or(&[]);
            let n = rest.iter().take_while(|line| line.region == first.region).count();
            let lines = rest.get(..n).unwrap_or(&[]);
            self.region(lines);
            start += n.max(1);
        }
        self.out.end_marks();
        for note in &page.notes {
            self.end_lists();
            self.out.builder.begin_text();
            self.out.flow(note, false);
            self.out.builder.end_block();
        }
    }

    fn region(&mut self, lines: &[Line]) {
        let column = column_of(lines);
        let mut at = 0;
        while at < lines.len() {
            at = self.block(lines, at, column).max(at + 1);
        }
    }

    /// Writes the block that begins at a line; returns the line after what was written.
    fn block(&mut self, lines: &[Line], at: usize, column: Column) -> usize {
        let Some(line) = lines.get(at) else { return at + 1 };
        // Tables first: their rows may be monospaced or bold too.
        if let Some(table) = table::table_at(lines, at) {
            self.end_lists();
            let end = table.end;
            table.write(&mut self.out, lines);
            return end;
        }
        let n_code = lines.iter().skip(at).take_while(|line| is_code(line)).count();
        if n_code > 0 {
            self.end_lists();
            self.code(&lines[at..at + n_code]);
            return at + n_code;
        }
        let before = at.checked_sub(1).and_then(|before| lines.get(before));
        if let Some((level, n_lines)) = self.headings.heading_at(lines, at) {
            self.end_lists();
            self.out.builder.begin_heading(level);
            self.lines(&lines[at..at + n_lines], false);
            self.out.builder.end_block();
            return at + n_lines;
        }
        let marker = marker_of(line);
        // At the top of a region there is no line above, so compare with the end of the previous region.
        let goes_on = match before {
            Some(before) => marker.is_none() && !begins_block(line, before, at >= 2, column),
            None => marker.is_none() && self.goes_on_from_elsewhere(line),
        };
        if !goes_on {
            self.begin(line, marker.as_ref());
        }
        let n_skipped = marker.map_or(0, |marker| marker.n_words);
        self.line(line, n_skipped, goes_on);
        at + 1
    }

    /// Begins a paragraph or an item.
    fn begin(&mut self, line: &Line, marker: Option<&Marker>) {
        self.end_text();
        let Some(marker) = marker else {
            // Text indented like the text of an item belongs to the item.
            while self.lists.last().is_some_and(|list| line.x0 < list.x + 0.6 * line.size) {
                self.end_list();
            }
            self.out.builder.begin_text();
            return;
        };
        // An item further left than the innermost list ends that list.
        while self.lists.last().is_some_and(|list| line.x0 < list.x - 0.6 * line.size) {
            self.end_list();
        }
        // The next item of a list is at the same x and counts on; bullets have no number.
        let is_next = |list: &List| {
            let is_level = (line.x0 - list.x).abs() <= 0.6 * line.size;
            let counts = match (list.number, marker.number) {
                (Some(last), Some(number)) => number == last + 1,
                (last, number) => last.is_none() && number.is_none(),
            };
            is_level && counts
        };
        match self.lists.last_mut() {
            Some(list) if is_next(list) => {
                list.number = marker.number;
                self.out.builder.end_item();
            }
            // Same x but a different kind or number: another list. At most 6 levels are kept.
            last => {
                let is_level = last.is_some_and(|list| (line.x0 - list.x).abs() <= 0.6 * line.size);
                if is_level || self.lists.len() >= 6 {
                    self.end_list();
                }
                self.out.builder.begin_list(marker.number);
                self.lists.push(List { x: line.x0, number: marker.number });
            }
        }
        self.out.builder.begin_item();
        self.out.builder.begin_text();
    }

    fn end_text(&mut self) {
        self.out.end_marks();
        if !matches!(self.open, Open::Nothing) {
            self.out.builder.end_block();
            self.open = Open::Nothing;
        }
    }

    fn end_list(&mut self) {
        if self.lists.pop().is_some() {
            self.out.builder.end_item();
            self.out.builder.end_list();
        }
    }

    fn end_lists(&mut self) {
        self.end_text();
        while !self.lists.is_empty() {
            self.end_list();
        }
    }

    /// Writes lines that form one block.
    fn lines(&mut self, lines: &[Line], with_marks: bool) {
        for (i, line) in lines.iter().enumerate() {
            self.words(line, 0, i > 0, with_marks);
        }
        self.open = Open::Nothing;
    }

    fn line(&mut self, line: &Line, n_skipped: usize, goes_on: bool) {
        self.words(line, n_skipped, goes_on, true);
    }

    fn words(&mut self, line: &Line, n_skipped: usize, goes_on: bool, with_marks: bool) {
        let mut joint = Joint::Space;
        if let (true, Open::Text { last }, Some(first)) = (goes_on, &self.open, line.words.first())
        {
            joint = self.vocabulary.joint(&last.word, &first.text);
        }
        if joint == Joint::DropHyphen {
            self.out.drop_hyphen();
        }
        let mut is_joined = joint != Joint::Space;
        for word in line.words.iter().skip(n_skipped) {
            if with_marks {
                let inline = match word.style {
                    style if style.has(GlyphStyle::MONO) => Some(InlineKind::Code),
                    style if style.has(GlyphStyle::BOLD) => Some(InlineKind::Bold),
                    _ => None,
                };
                self.out.mark(word.link, inline, self.links);
            }
            self.out.flow(&word.text, is_joined);
            is_joined = false;
        }
        if let Some(word) = line.words.last() {
            let last =
                LastLine { word: word.text.clone(), size: line.size, is_bold: is_bold(line) };
            self.open = Open::Text { last };
        }
    }

    /// True if a line at the top of a column continues the text that the previous column ended with.
    fn goes_on_from_elsewhere(&self, line: &Line) -> bool {
        let (Open::Text { last }, Some(first)) = (&self.open, line.words.first()) else {
            return false;
        };
        let is_alike =
            (line.size - last.size).abs() < 0.06 * last.size && is_bold(line) == last.is_bold;
        let ends = last
            .word
            .trim_end_matches(['"', '”', '’', ')', ']'])
            .ends_with(['.', '!', '?', ':', ';']);
        let begins_lower =
            first.text.chars().find(|char| char.is_alphanumeric()).is_some_and(char::is_lowercase);
        is_alike && !ends && (begins_lower || last.word.ends_with(['-', '\u{ad}', ',']))
    }

    /// Writes lines of code; the indentation comes from the x of each word.
    fn code(&mut self, lines: &[Line]) {
        let mut code = String::new();
        let left = lines.iter().fold(f32::MAX, |x, line| x.min(line.x0));
        let mut last: Option<&Line> = None;
        for line in lines {
            // A blank line of code draws nothing; it shows as a larger step.
            if last.is_some_and(|last| line.y - last.y > 1.7 * last.size) {
                code.push('\n');
            }
            let mut text = String::new();
            for word in &line.words {
                // The column of the word, as if the font had exactly the usual width.
                let n_columns = ((word.x0 - left) / (MONO_WIDTH * word.size))
                    .round()
                    .clamp(0.0, 200.0) as usize;
                let n_missing = n_columns.saturating_sub(text.chars().count());
                // At least one space between words.
                let n_spaces = n_missing.max(usize::from(!text.is_empty()));
                text.extend(std::iter::repeat_n(' ', n_spaces));
                text.push_str(&word.text);
            }
            code.push_str(&text);
            code.push('\n');
            last = Some(line);
        }
        self.out.builder.begin_code("");
        self.out.builder.code_replaced(code.trim_end(), 0..0);
        self.out.builder.end_block();
    }
}

fn column_of(lines: &[Line]) -> Column {
    let left = lines.iter().fold(f32::MAX, |x, line| x.min(line.x0));
    let right = lines.iter().fold(f32::MIN, |x, line| x.max(line.x1));
    // The median of the plausible steps, each relative to the size of its line.
    let mut steps: Vec<f32> = lines
        .windows(2)
        .filter_map(|pair| {
            let step = pair[1].y - pair[0].y;
            (step > 0.5 * pair[0].size && step < 2.5 * pair[0].size).then_some(step / pair[0].size)
        })
        .collect();
    steps.sort_by(f32::total_cmp);
    // Typical for text when there are too few lines.
    let pitch = steps.get(steps.len() / 2).copied().unwrap_or(1.2);
    Column { left, right, pitch }
}

/// True if a line does not continue the one before it. `has_two_before` if that one is not the first of the column.
fn begins_block(line: &Line, before: &Line, has_two_before: bool, column: Column) -> bool {
    let size = before.size.max(line.size);
    let step = line.y - before.y;
    // Further down than usual, or not below at all.
    if step <= 0.0 || step > APART * column.pitch * before.size.min(line.size).max(0.8 * size) {
        return true;
    }
    if (line.size - before.size).abs() > 0.08 * size || is_bold(line) != is_bold(before) {
        return true;
    }
    let ends = ends_sentence(before);
    // The indented first line of a paragraph.
    let indent = if line.reads_leftwards { before.x1 - line.x1 } else { line.x0 - before.x0 };
    if indent > 0.8 * size && indent < 6.0 * size && has_two_before && ends {
        return true;
    }
    // With room for the first word, the author must have ended the line above.
    let first = line.words.first().map_or(0.0, |word| word.x1 - word.x0);
    let room =
        if line.reads_leftwards { before.x0 - column.left } else { column.right - before.x1 };
    // Each entry of a table of contents is a block.
    let is_leader = before.words.iter().any(|word| is_leader(&word.text));
    // A word that goes on decides, whatever room there was.
    let is_broken = before.words.last().is_some_and(|word| hyphen::stem_of(&word.text).is_some())
        && line.words.first().is_some_and(|word| word.text.starts_with(char::is_alphanumeric));
    is_leader || room > first + 2.0 * size && !is_broken && (ends || !begins_lower(line))
}

fn begins_lower(line: &Line) -> bool {
    line.words.first().and_then(|word| word.text.chars().next()).is_some_and(char::is_lowercase)
}

fn ends_sentence(line: &Line) -> bool {
    let last = line.words.last().map_or("", |word| &word.text);
    last.trim_end_matches(['"', '”', '’', ')', ']']).ends_with(['.', '!', '?', ':', ';', '。'])
}

/// True for dots that lead to a page number.
fn is_leader(word: &str) -> bool {
    word.contains("....") || word.contains("…………")
}

/// True if all words are bold.
pub(super) fn is_bold(line: &Line) -> bool {
    !line.words.is_empty() && line.words.iter().all(|word| word.style.has(GlyphStyle::BOLD))
}

/// True for a line of code: all its words are monospaced, and they are not only numbers.
fn is_code(line: &Line) -> bool {
    !line.words.is_empty()
        && line.words.iter().all(|word| word.style.has(GlyphStyle::MONO))
        && line.words.iter().any(|word| word.text.chars().any(|char| !char.is_numeric()))
}

/// Returns the text of words, separated by spaces.
pub(super) fn text_of(lines: &[Line], words: Range<usize>) -> String {
    let mut out = String::new();
    for word in lines.iter().flat_map(|line| &line.words).skip(words.start).take(words.len()) {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(&word.text);
    }
    out
}
