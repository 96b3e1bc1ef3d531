//! Light markup: what plain text, reStructuredText, Org and AsciiDoc have in common: paragraphs, whose lines are
//! joined, headings, lists that nest by indentation, code, tables, links, bold and code in lines, and a few lines of
//! metadata.
//!
//! In: decoded, redacted text. Out: [`Parsed`]. Constructs that only one syntax has are read as text.
//! Invariants: one pass over the lines, each classified once, in a bounded number of steps over it; inline marks are
//! searched a bounded way ahead; every piece maps back to its source.

mod adoc;
mod inline;
mod org;
mod plain;
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
use notes::parse::add_tag;
pub(crate) use org::ORG;
pub(crate) use plain::PLAIN;
pub(crate) use rst::RST;

/// Columns of a tab.
const TAB_COLUMNS: usize = 4;

/// One of the syntaxes.
pub(crate) struct Light {
    /// What a document may say about itself, in lowercase; see [`read_meta`].
    keys: &'static [&'static str],
    /// Columns by which a line may be off and still belong to a list.
    slack: usize,
    /// Returns what begins at a line, which is not blank.
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
    /// Pictures, or links to other documents, without text of their own; the next line is `end`.
    Refer {
        paths: Vec<String>,
        is_embed: bool,
        end: usize,
    },
    /// Lines that are not shown, up to this one (exclusive).
    Drop(usize),
}

/// State carried from line to line.
#[derive(Default)]
struct LightState {
    /// Open lists, outermost first, each with an open item: their column, and whether they are numbered.
    lists: Vec<(usize, bool)>,
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

impl LightState {
    /// Keeps what a line says about the document.
    fn note(&mut self, key: &str, value: &str) {
        self.meta.push((key.to_lowercase(), value.trim_ascii().to_string()));
    }
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

    /// Returns a line without the white space around it.
    fn text(&self, at: usize) -> &'a str {
        self.get(at).trim_ascii()
    }

    /// Returns the column at which the text of a line begins.
    fn indent(&self, at: usize) -> usize {
        columns(self.get(at)).last().unwrap_or(0)
    }

    fn is_blank(&self, at: usize) -> bool {
        self.text(at).is_empty()
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

    /// Returns the row that a line is; the cells must be slices of it.
    fn row<'b>(&self, at: usize, cells: impl Iterator<Item = &'b str>, is_header: bool) -> Found {
        Found::Row { cells: cells.map(|cell| self.place(at, cell)).collect(), is_header }
    }

    /// Returns the item that begins at a line, if one does: with a bullet, with a number (`1.`, `1)`), or with `#.`,
    /// the automatic number of reStructuredText.
    fn item(&self, at: usize, bullets: &[char]) -> Found {
        let text = self.text(at);
        // Nine digits always fit into `u32`.
        let n_digits = text.bytes().take(9).take_while(u8::is_ascii_digit).count();
        let (number, rest) = text.split_at(n_digits);
        let rest = match n_digits {
            0 => rest.strip_prefix(bullets).or(rest.strip_prefix("#.")),
            _ => rest.strip_prefix(['.', ')']),
        };
        let ordinal = if text.starts_with("#.") { Some(1) } else { number.parse().ok() };
        // A marker needs white space after it, and text.
        let shown = rest.map(|rest| (rest, rest.trim_ascii_start()));
        match shown.filter(|(rest, shown)| shown.len() < rest.len() && !shown.is_empty()) {
            Some((_, shown)) => {
                Found::Item { indent: self.indent(at), ordinal, text: self.place(at, shown).start }
            }
            None => Found::Text,
        }
    }

    /// Returns the block between a line and the next for which `is_end` holds: code, or, without a language, nothing.
    fn block(&self, at: usize, language: Option<&str>, is_end: impl Fn(&str) -> bool) -> Found {
        let stop = self.find(at + 1, is_end);
        let end = (stop + 1).min(self.len());
        match language {
            Some(language) => {
                Found::Code { language: language.to_lowercase(), lines: at + 1..stop, end }
            }
            None => Found::Drop(end),
        }
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
            max_lists: limits.max_nesting,
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
        for (key, value) in &state.meta {
            if self.keys.contains(&key.as_str()) && !value.is_empty() {
                read_meta(key, value, &mut parsed);
            }
        }
        Ok(parsed)
    }
}

/// Adds what a document says about itself.
fn read_meta(key: &str, value: &str, parsed: &mut Parsed) {
    let (meta, stated) = (&mut parsed.meta, value.to_string());
    match key {
        "title" => _ = parsed.title.get_or_insert(stated),
        "author" | "authors" => meta.author = Some(stated),
        "date" | "revdate" => meta.date = Some(stated),
        "language" | "lang" => meta.language = Some(stated),
        "tags" | "filetags" | "keywords" => {
            value.split([':', ',', ';', ' ']).for_each(|tag| add_tag(&mut meta.tags, tag));
        }
        "aliases" | "roam_aliases" => meta.aliases.extend(quoted_words(value)),
        "id" | "ref" => meta.ids.push(format!("{key}:{value}")),
        _ => {}
    }
}

struct LightWalk<'a> {
    syntax: &'a Light,
    lines: Lines<'a>,
    state: LightState,
    out: TextBuilder<'a>,
    max_lists: usize,
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
            _ => self.classify(at),
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
            Found::Text | Found::TextFrom(_) => {
                self.end_lists_above(at);
                let from_line = self.lines.range(at).start;
                self.paragraph(at, if let Found::TextFrom(at) = found { at } else { from_line })
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
            Found::Refer { paths, is_embed, end } => {
                for target in paths.iter().filter_map(|path| Target::of_address(path)) {
                    let target = if is_embed { target.into_embed() } else { target };
                    self.out.begin_link(Some(target));
                    self.out.end_mark();
                }
                end
            }
            Found::Drop(end) => end,
        }
    }

    fn classify(&mut self, at: usize) -> Found {
        match self.lines.is_blank(at) {
            true => Found::Blank,
            false => (self.syntax.classify)(&self.lines, at, &mut self.state),
        }
    }

    /// Joins the lines from `start` until something else begins; returns the line after the paragraph.
    fn paragraph(&mut self, at: usize, start: usize) -> usize {
        let mut end = at + 1;
        while end < self.lines.len() {
            let found = self.classify(end);
            // A number may have been wrapped to the start of its line, so only `1.` begins a list here.
            let is_wrapped = self.state.lists.is_empty()
                && matches!(found, Found::Item { ordinal: Some(number), .. } if number != 1);
            if !is_wrapped && !matches!(found, Found::Text) {
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
        let (slack, is_ordered) = (self.syntax.slack, ordinal.is_some());
        while let Some((column, was_ordered)) = self.state.lists.last().copied() {
            // Deeper: a new list inside the item. Beyond the limit, the item joins the current list.
            if indent > column + slack && self.state.lists.len() < self.max_lists {
                break;
            }
            // Same list.
            if indent + slack >= column && was_ordered == is_ordered {
                self.out.end_item();
                self.out.begin_item();
                return;
            }
            // Shallower, or the kind of marker changed.
            self.end_list();
        }
        self.out.begin_list(ordinal);
        self.out.begin_item();
        self.state.lists.push((indent, is_ordered));
    }

    /// Ends the lists to whose items a line of text does not belong, since it is not indented deeper.
    fn end_lists_above(&mut self, at: usize) {
        let (column, slack) = (self.lines.indent(at), self.syntax.slack);
        while self.state.lists.last().is_some_and(|(list, _)| column <= list + slack) {
            self.end_list();
        }
    }

    fn end_list(&mut self) {
        if self.state.lists.pop().is_some() {
            self.out.end_item();
            self.out.end_list();
        }
    }

    fn end_lists(&mut self) {
        while !self.state.lists.is_empty() {
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
            let is_shared = |column: &usize| *column <= indent;
            let start = line.start + columns(self.lines.get(at)).take_while(is_shared).count();
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

/// Returns the cells between bars, as slices of the line.
fn cells_between(line: &str) -> impl Iterator<Item = &str> {
    let inner = line.trim_ascii();
    let inner = inner.strip_prefix('|').unwrap_or(inner);
    inner.strip_suffix('|').unwrap_or(inner).split('|')
}

/// Returns the columns after each white space that a line begins with; a tab moves to the next tab stop.
fn columns(line: &str) -> impl Iterator<Item = usize> {
    let blank = line.bytes().take_while(u8::is_ascii_whitespace);
    blank.scan(0, |column, byte| {
        let step = if byte == b'\t' { TAB_COLUMNS - *column % TAB_COLUMNS } else { 1 };
        *column += step;
        Some(*column)
    })
}
