//! Sheet: text within a budget.
//!
//! In: blocks of text, best first. Out: those that fit, a count of the others, and the footer; for a person at a
//! terminal all of them, and of the footer only how far the index is.
//! Invariants: the text never exceeds the budget by more than a reserved line's characters beyond half of the budget;
//! it always has the footer and the reserved line.

use unicode_width::UnicodeWidthStr;

use super::Style;
use crate::shape::Freshness;

/// Characters kept free for `… 9,999 more`.
const COUNT_CHARS: usize = 16;

/// Smallest budget; less cannot hold the footer.
const MIN_CHARS: usize = 200;

/// `(a project of twenty letters, tick 12345)`.
const USUAL_FOOTER_CHARS: usize = 36;

/// Most lines before a list whose first block is cut instead of left out.
const MAX_LINES_BEFORE: usize = 3;

/// A text under construction.
pub struct Sheet {
    style: Style,
    text: String,
    n_chars_left: usize,
    n_left_out: usize,
    footer: String,
}

impl Sheet {
    /// Returns an empty sheet, of which the footer takes some characters.
    pub fn new(style: Style, freshness: &Freshness) -> Self {
        let Freshness { project, tick, building } = freshness;
        let building = building.as_ref().map(|it| style.safe(it));
        let footer = match building {
            Some(building) if style.is_terminal() => {
                style.yellow(&format!("still building: {building}"))
            }
            None if style.is_terminal() => String::new(),
            Some(building) => format!("({}, tick {tick}; {building})", style.safe(project)),
            None => format!("({}, tick {tick})", style.safe(project)),
        };
        Self::with_footer(style, footer)
    }

    /// Returns an empty sheet on which to measure what fits, while project and tick are not known yet.
    pub(crate) fn to_measure(style: Style) -> Self {
        Self::with_footer(style, " ".repeat(USUAL_FOOTER_CHARS))
    }

    fn with_footer(style: Style, mut footer: String) -> Self {
        // A long project name must not use up the smallest budget.
        if !style.is_terminal() {
            footer = footer.chars().take(MIN_CHARS / 2).collect();
        }
        let around = footer.chars().count() + COUNT_CHARS;
        let n_chars_left = style.max_chars().max(MIN_CHARS).saturating_sub(around);
        Sheet { style, text: String::new(), n_chars_left, n_left_out: 0, footer }
    }

    /// Returns for whom it is written.
    pub fn style(&self) -> Style {
        self.style
    }

    /// Reserves room for a line that [`Sheet::reserved`] adds later: half of the sheet at most.
    pub fn reserve(&mut self, line: &str) {
        let n_chars = (line.chars().count() + 1).min(self.style.max_chars().max(MIN_CHARS) / 2);
        self.n_chars_left = self.n_chars_left.saturating_sub(n_chars);
    }

    /// Adds a line for which room was reserved.
    pub fn reserved(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Adds a line, if it fits.
    pub fn line(&mut self, line: &str) -> bool {
        // One more for the line end.
        let n_chars = line.chars().count() + 1;
        if n_chars > self.n_chars_left {
            return false;
        }
        self.n_chars_left -= n_chars;
        self.text.push_str(line);
        self.text.push('\n');
        true
    }

    /// Adds a heading.
    pub fn heading(&mut self, text: &str) {
        self.line(&self.style.bold(text));
    }

    /// Adds a heading and blocks as [`Sheet::items`] does, if there are any.
    pub fn list(&mut self, heading: &str, items: impl Iterator<Item = String>) {
        let mut items = items.peekable();
        if items.peek().is_some() {
            self.heading(heading);
            self.items(items);
        }
    }

    /// Adds a remark, if there is one.
    pub fn remark(&mut self, text: Option<&String>) {
        if let Some(text) = text {
            self.line(&self.style.remark(text));
        }
    }

    /// Adds rows of cells as [`table`] does; those that do not fit are counted. Without rows, nothing.
    pub fn table(&mut self, header: &[&str], rows: impl Iterator<Item = Vec<String>>) {
        self.items(rows_of_table(self.style, header, rows.collect()));
    }

    /// As [`Sheet::table`], after an empty line.
    pub fn section(&mut self, header: &[&str], rows: impl Iterator<Item = Vec<String>>) {
        let mut rows = rows.peekable();
        if rows.peek().is_some() {
            self.line("");
            self.table(header, rows);
        }
    }

    /// Makes this text all there is, without a footer: for programs that read it as a whole.
    pub fn only(&mut self, text: impl FnOnce(usize) -> String) {
        self.text = text(self.style.max_chars());
        self.footer.clear();
    }

    /// Returns how many characters a line and its end may have.
    pub fn room(&self) -> usize {
        self.n_chars_left
    }

    /// Returns true if [`Sheet::line`] would add it.
    pub fn has_room(&self, line: &str) -> bool {
        line.chars().count() < self.n_chars_left
    }

    /// Adds as much of a text as fits.
    pub fn cut(&mut self, text: &str) {
        if !self.line(text) && self.n_chars_left > 2 {
            // Room for the ellipsis and the line end.
            let part: String = text.chars().take(self.n_chars_left - 2).collect();
            self.line(&format!("{part}…"));
        }
    }

    /// Adds blocks until one does not fit, and counts the rest. The first is cut instead of left out if only a few
    /// lines precede it.
    pub fn items(&mut self, items: impl IntoIterator<Item = String>) {
        let mut is_full = false;
        for (idx, item) in items.into_iter().enumerate() {
            if idx == 0 && self.cuts_first() {
                self.cut(&item);
                continue;
            }
            // Once full, smaller blocks that would still fit are counted, too: the order is one of importance.
            is_full = is_full || !self.line(&item);
            self.n_left_out += usize::from(is_full);
        }
        if self.n_left_out > 0 {
            self.text.push_str(&format!("… {} more\n", self.n_left_out));
            // Nothing may follow: it would seem more important than the blocks left out.
            self.n_chars_left = 0;
            self.n_left_out = 0;
        }
    }

    fn cuts_first(&self) -> bool {
        self.text.lines().count() <= MAX_LINES_BEFORE && self.n_chars_left > 2
    }

    /// Returns how many blocks of these lengths [`Sheet::items`] would show.
    pub fn n_that_fit(&self, n_chars: &[usize]) -> usize {
        let mut n_chars_left = self.n_chars_left;
        let fits = |(idx, n_chars): &(usize, &usize)| {
            let fits = **n_chars < n_chars_left || (*idx == 0 && self.cuts_first());
            n_chars_left = n_chars_left.saturating_sub(**n_chars + 1);
            fits
        };
        n_chars.iter().enumerate().take_while(fits).count()
    }

    /// Returns the text with its footer.
    pub fn finish(&mut self) -> String {
        let mut text = std::mem::take(&mut self.text);
        text.push_str(&self.footer);
        text.truncate(text.trim_end().len());
        if self.style.is_terminal() && !text.is_empty() {
            text.push('\n');
        }
        text
    }
}

/// Returns a table without lines, each row on one: a bold header, columns aligned by what a terminal shows, two spaces
/// between. Only the last cell of a row may have colors.
pub fn table(style: Style, header: &[&str], rows: Vec<Vec<String>>) -> String {
    rows_of_table(style, header, rows).map(|line| line + "\n").collect()
}

fn rows_of_table(
    style: Style,
    header: &[&str],
    rows: Vec<Vec<String>>,
) -> impl Iterator<Item = String> {
    let header: Vec<String> = header.iter().map(ToString::to_string).collect();
    let mut widths = Vec::new();
    for row in rows.iter().chain([&header]) {
        widths.resize(row.len().max(widths.len()), 0);
        widths.iter_mut().zip(row).for_each(|(most, cell)| *most = cell.width().max(*most));
    }
    let line = move |row: &[String]| {
        let cells = row.iter().zip(&widths);
        let padded = cells.map(|(cell, most)| format!("{cell}{}", " ".repeat(most - cell.width())));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_string()
    };
    let head = (!header.is_empty() && !rows.is_empty()).then(|| style.bold(&line(&header)));
    head.into_iter().chain(rows.into_iter().map(move |row| line(&row)))
}
