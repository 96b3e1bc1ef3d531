//! Light markup: what reStructuredText, Org and AsciiDoc have in common: headings, lists, code, tables, links, bold
//! and code in lines, and a few lines of metadata.
//!
//! In: decoded, redacted text. Out: [`Parsed`]. Constructs that only one syntax has are read as text.
//! Invariants: one pass over the lines, each classified once; inline marks are searched a bounded way ahead; every
//! piece maps back to its source.

mod adoc;
mod inline;
mod org;
mod rst;
#[cfg(test)]
mod tests;

use std::ops::Range;

use super::builder::TextBuilder;
use super::format::{Format, FormatLimits};
use super::target::Target;
pub(crate) use adoc::ADOC;
use inline::{Defined, Inlines};
use model::document::Parsed;
pub(crate) use org::ORG;
pub(crate) use rst::RST;

/// Deepest nesting of lists.
const MAX_LISTS: usize = 20;

/// One of the syntaxes.
pub(crate) struct Light {
    classify: fn(&Lines<'_>, usize, &mut LightState) -> Found,
    /// Reads a line that defines a name for use inside lines; a name with `_` before it stands for an address.
    define: fn(&str) -> Option<(&str, &str)>,
    inlines: Inlines,
}

/// What begins at a line.
enum Found {
    Blank,
    Text,
    /// A heading of `n_lines` lines, including its ornaments.
    Heading {
        level: u8,
        text: Range<usize>,
        n_lines: usize,
    },
    /// Code: `lines` are its content; the block ends before line `end`.
    Code {
        language: String,
        lines: Range<usize>,
        end: usize,
    },
    Item {
        indent: usize,
        ordinal: Option<u32>,
        text: usize,
    },
    Row {
        cells: Vec<Range<usize>>,
        is_header: bool,
    },
    /// Text that begins inside a line, after a mark that is dropped.
    TextFrom(usize),
    /// A picture, and the line after its description.
    Embed(String, usize),
    /// Links to other documents without text of their own, and the line after them.
    Refer(Vec<String>, usize),
    /// Lines that are not shown, up to this one (exclusive).
    Drop(usize),
}

/// State carried from line to line.
#[derive(Default)]
struct LightState {
    /// The ornaments of headings in order of first use (reStructuredText): the character, and whether there is a line
    /// of it above the heading too.
    ornaments: Vec<(u8, bool)>,
    in_table: bool,
    /// The language of the next code block (AsciiDoc).
    language: String,
    /// Number of rows of the open table so far.
    n_rows: usize,
    /// What the document says about itself: key, in lowercase, and value.
    meta: Vec<(String, String)>,
    /// The line after the open drawer of properties (Org).
    drawer_end: usize,
    /// The line after the title, while the lines of author and revision may follow (AsciiDoc).
    head: Option<usize>,
}

/// The lines of a text.
struct Lines<'a> {
    source: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn new(source: &'a str) -> Self {
        let ends = memchr::memchr_iter(b'\n', source.as_bytes()).map(|end| end + 1);
        Lines { source, starts: std::iter::once(0).chain(ends).collect() }
    }

    /// Returns the range of a line, without its line end.
    fn range(&self, at: usize) -> Range<usize> {
        let start = self.starts.get(at).copied().unwrap_or(self.source.len());
        let end = self.starts.get(at + 1).map_or(self.source.len(), |next| next - 1);
        start..end.max(start)
    }

    /// Returns a line; empty past the end.
    fn get(&self, at: usize) -> &'a str {
        self.source.get(self.range(at)).unwrap_or("")
    }

    fn len(&self) -> usize {
        self.starts.len()
    }

    fn indent(&self, at: usize) -> usize {
        let line = self.get(at);
        line.len() - line.trim_ascii_start().len()
    }

    fn is_blank(&self, at: usize) -> bool {
        self.get(at).trim_ascii().is_empty()
    }

    /// Returns the range of a part of a line. `part` must be a slice of that line.
    fn place(&self, at: usize, part: &str) -> Range<usize> {
        // The distance of the two slices in memory is the offset in the line.
        let start =
            self.range(at).start + (part.as_ptr() as usize - self.get(at).as_ptr() as usize);
        start..start + part.len()
    }

    /// Returns the line after the lines that are blank or indented by more than `indent`; trailing blank lines are
    /// not included.
    fn end_of_indented(&self, from: usize, indent: usize) -> usize {
        let mut end = from;
        for at in from..self.len() {
            if self.is_blank(at) {
                continue;
            }
            if self.indent(at) <= indent {
                break;
            }
            end = at + 1;
        }
        end
    }

    /// Returns the first line at or after `from` for which `is_end` holds, else the number of lines.
    fn find(&self, from: usize, is_end: impl Fn(&str) -> bool) -> usize {
        (from..self.len()).find(|at| is_end(self.get(*at))).unwrap_or(self.len())
    }
}

impl Format<str> for Light {
    fn takes_title_from_heading(&self) -> bool {
        true
    }

    fn read(&self, text: &str, limits: &FormatLimits) -> Result<Parsed, String> {
        let mut walk = LightWalk {
            syntax: self,
            lines: Lines::new(text),
            state: LightState::default(),
            defined: text.lines().filter_map(self.define).collect(),
            out: TextBuilder::new(text, limits),
            lists: Vec::new(),
            in_rows: false,
            ahead: None,
        };
        let mut at = 0;
        while at < walk.lines.len() {
            at = walk.block(at).max(at + 1);
        }
        walk.end_rows();
        walk.end_lists();
        let LightWalk { out, state, .. } = walk;
        let mut parsed = out.finish();
        for (key, value) in state.meta {
            let meta = &mut parsed.meta;
            match key.as_str() {
                "title" => _ = parsed.title.get_or_insert(value),
                "author" | "authors" => meta.author = Some(value),
                "date" | "revdate" => meta.date = Some(value),
                "language" | "lang" => meta.language = Some(value),
                "tags" | "filetags" | "keywords" => {
                    let tags = value.split([':', ',', ';', ' ']).map(|it| it.trim_matches('#'));
                    meta.tags.extend(tags.filter(|it| !it.is_empty()).map(String::from));
                }
                "aliases" | "roam_aliases" => meta.aliases.extend(quoted_words(&value)),
                "id" | "ref" => meta.ids.push(format!("{key}:{value}")),
                _ => {}
            }
        }
        let mut seen = std::collections::HashSet::new();
        parsed.meta.tags.retain(|tag| seen.insert(tag.clone()));
        Ok(parsed)
    }
}

struct LightWalk<'a> {
    syntax: &'a Light,
    lines: Lines<'a>,
    state: LightState,
    out: TextBuilder<'a>,
    /// Indentation of each open list, and whether it is numbered.
    lists: Vec<(usize, bool)>,
    in_rows: bool,
    /// A line that was already classified, and the result.
    ahead: Option<(usize, Found)>,
    /// The names that its lines define, and what they stand for.
    defined: Defined<'a>,
}

impl LightWalk<'_> {
    /// Reads the block that begins at a line and returns the line after it.
    fn block(&mut self, at: usize) -> usize {
        // `paragraph` has already classified the line that ended it. Classifying changes the state, so it must not
        // happen twice.
        let found = match self.ahead.take() {
            Some((line, found)) if line == at => found,
            _ => (self.syntax.classify)(&self.lines, at, &mut self.state),
        };
        // A blank line between the rows of an open table does not end it.
        let is_inside = matches!(found, Found::Blank) && self.state.in_table;
        if !is_inside && !matches!(found, Found::Row { .. } | Found::Drop(_)) {
            self.end_rows();
        }
        match found {
            Found::Blank => {
                self.out.end_block();
                at + 1
            }
            Found::Text => {
                self.end_lists_above(at);
                let start = self.lines.range(at).start;
                self.paragraph(at, start)
            }
            Found::TextFrom(start) => {
                self.end_lists_above(at);
                self.paragraph(at, start)
            }
            Found::Heading { level, text, n_lines } => {
                self.end_lists();
                self.out.begin_heading(level);
                self.inline(text);
                self.out.end_block();
                at + n_lines
            }
            Found::Code { language, lines, end } => {
                self.code(&language, lines);
                end
            }
            Found::Item { indent, ordinal, text } => {
                self.item(indent, ordinal);
                self.paragraph(at, text)
            }
            Found::Row { cells, is_header } => {
                self.row(cells, is_header);
                at + 1
            }
            Found::Embed(path, end) => {
                if let Some(target) = Target::of_address(&path) {
                    self.out.embed(target);
                }
                end
            }
            Found::Refer(paths, end) => {
                for path in paths {
                    self.out.begin_link(Target::of_address(&path));
                    self.out.end_mark();
                }
                end
            }
            Found::Drop(end) => end,
        }
    }

    /// Joins the lines from `start` until something else begins; returns the line after the paragraph.
    fn paragraph(&mut self, at: usize, start: usize) -> usize {
        let mut end = at + 1;
        while end < self.lines.len() {
            let found = (self.syntax.classify)(&self.lines, end, &mut self.state);
            if !matches!(found, Found::Text) {
                self.ahead = Some((end, found));
                break;
            }
            end += 1;
        }
        self.out.begin_text();
        let range = start..self.lines.range(end - 1).end;
        self.inline(range);
        self.out.end_block();
        end
    }

    /// Writes a part of the source with its inline marks.
    fn inline(&mut self, range: Range<usize>) {
        self.syntax.inlines.write(&mut self.out, self.lines.source, range, &self.defined);
    }

    /// Begins an item: in the current list, in a new one inside it, or, after ending deeper lists, in one further
    /// out.
    fn item(&mut self, indent: usize, ordinal: Option<u32>) {
        let is_ordered = ordinal.is_some();
        while let Some((column, was_ordered)) = self.lists.last().copied() {
            // Deeper: a new list inside the item. Beyond the limit, the item joins the current list.
            if indent > column && self.lists.len() < MAX_LISTS {
                break;
            }
            // Same list.
            if indent >= column && was_ordered == is_ordered {
                self.out.end_item();
                self.out.begin_item();
                return;
            }
            // Shallower, or the kind of marker changed.
            self.end_list();
        }
        self.out.begin_list(ordinal);
        self.out.begin_item();
        self.lists.push((indent, is_ordered));
    }

    /// Ends the lists if a line of text is not indented deeper than the innermost one.
    fn end_lists_above(&mut self, at: usize) {
        if self.lists.last().is_some_and(|(column, _)| self.lines.indent(at) <= *column) {
            self.end_lists();
        }
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

    /// Writes code without the indentation that all its lines share.
    fn code(&mut self, language: &str, lines: Range<usize>) {
        let filled = lines.clone().filter(|at| !self.lines.is_blank(*at));
        let indent = filled.map(|at| self.lines.indent(at)).min().unwrap_or(0);
        self.out.begin_code(language);
        for at in lines {
            let line = self.lines.range(at);
            let start = (line.start + indent).min(line.end);
            // With the line end, which is part of the code.
            let end = (line.end + 1).min(self.lines.source.len());
            self.out.code(start..end.max(start));
        }
        self.out.end_block();
    }

    fn row(&mut self, cells: Vec<Range<usize>>, is_header: bool) {
        if !self.in_rows {
            self.end_lists();
            self.out.begin_table();
            self.in_rows = true;
        }
        self.out.begin_row(is_header);
        for cell in cells {
            self.out.begin_cell();
            self.inline(cell);
        }
        self.out.end_row();
    }

    fn end_rows(&mut self) {
        if std::mem::take(&mut self.in_rows) {
            self.out.end_table();
        }
    }
}

/// Returns words, some of which may be quoted phrases: `"Space Echo" Copicat`.
fn quoted_words(text: &str) -> Vec<String> {
    let parts = text.split('"').enumerate();
    let words = parts.flat_map(|(n, part)| match n % 2 {
        0 => part.split_whitespace().collect(),
        _ => vec![part],
    });
    words.map(String::from).collect()
}

/// Returns the list marker at the start of a line: its number, if any, and the offset of the text in the line.
fn marker(line: &str, bullets: &[char]) -> Option<(Option<u32>, usize)> {
    let text = line.trim_ascii_start();
    let (number, rest) = match text.strip_prefix(bullets) {
        Some(rest) => (None, rest),
        None => {
            // Nine digits always fit into `u32`.
            let n_digits = text.bytes().take(9).take_while(u8::is_ascii_digit).count();
            let number = match n_digits {
                // `#.` is an automatic number of reStructuredText.
                0 => text.strip_prefix("#.").map(|_| 1)?,
                _ => text.get(..n_digits)?.parse().ok()?,
            };
            (
                Some(number),
                text.get(n_digits.max(1)..)?.strip_prefix(['.', ')']).or(text.strip_prefix("#."))?,
            )
        }
    };
    let item = rest.trim_ascii_start();
    // A marker needs white space after it, and text.
    (item.len() < rest.len() && !item.is_empty()).then(|| (number, line.len() - item.len()))
}

/// Returns the cells between bars, as slices of the line.
fn cells_between(line: &str, bar: char) -> Vec<&str> {
    let inner = line.trim_ascii();
    let inner = inner.strip_prefix(bar).unwrap_or(inner);
    let inner = inner.strip_suffix(bar).unwrap_or(inner);
    inner.split(bar).collect()
}
