//! Sheet: text within a budget.
//!
//! In: blocks of text, best first. Out: those that fit, a count of the others, and the footer.
//! Invariants: the text never exceeds the budget by more than a reserved line's characters beyond half of the budget;
//! it always has the footer and the reserved line.

use proto::shape::Freshness;

use super::clean::one_line;

/// Characters kept free for `… 9,999 more`.
const COUNT_CHARS: usize = 16;

/// Smallest budget; less cannot hold the footer.
const MIN_CHARS: usize = 200;

/// Most lines before a list whose first block is cut instead of left out.
const MAX_LINES_BEFORE: usize = 3;

/// A text under construction.
pub(super) struct Sheet {
    text: String,
    n_chars_left: usize,
    max_chars: usize,
    n_left_out: usize,
    footer: String,
}

impl Sheet {
    /// Returns an empty sheet of `max_chars` characters, of which the footer takes some.
    pub(super) fn new(max_chars: usize, freshness: &Freshness) -> Self {
        let project = one_line(&freshness.project);
        let building = freshness.building.as_ref().map(|it| format!("; {}", one_line(it)));
        let building = building.unwrap_or_default();
        Self::with_footer(max_chars, format!("({project}, tick {}{building})", freshness.tick))
    }

    pub(super) fn with_footer(max_chars: usize, footer: String) -> Self {
        // A long project name must not use up the smallest budget.
        let footer: String = footer.chars().take(MIN_CHARS / 2).collect();
        let around = footer.chars().count() + COUNT_CHARS;
        let max_chars = max_chars.max(MIN_CHARS);
        let n_chars_left = max_chars.saturating_sub(around);
        Sheet { text: String::new(), n_chars_left, max_chars, n_left_out: 0, footer }
    }

    /// Reserves room for a line that [`Sheet::reserved`] adds later: half of the sheet at most.
    pub(super) fn reserve(&mut self, line: &str) {
        let n_chars = (line.chars().count() + 1).min(self.max_chars / 2);
        self.n_chars_left = self.n_chars_left.saturating_sub(n_chars);
    }

    /// Adds a line for which room was reserved.
    pub(super) fn reserved(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Adds a line, if it fits.
    pub(super) fn line(&mut self, line: &str) -> bool {
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

    /// Returns how many characters a line and its end may have.
    pub(super) fn room(&self) -> usize {
        self.n_chars_left
    }

    /// Returns true if [`Sheet::line`] would add it.
    pub(super) fn has_room(&self, line: &str) -> bool {
        line.chars().count() < self.n_chars_left
    }

    /// Adds as much of a text as fits.
    pub(super) fn cut(&mut self, text: &str) {
        if !self.line(text) && self.n_chars_left > 2 {
            // Room for the ellipsis and the line end.
            let part: String = text.chars().take(self.n_chars_left - 2).collect();
            self.line(&format!("{part}…"));
        }
    }

    /// Adds blocks until one does not fit, and counts the rest. The first is cut instead of left out if only a few
    /// lines precede it.
    pub(super) fn items(&mut self, items: impl IntoIterator<Item = String>) {
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
    pub(super) fn n_that_fit(&self, n_chars: &[usize]) -> usize {
        let mut n_chars_left = self.n_chars_left;
        let fits = |(idx, n_chars): &(usize, &usize)| {
            let fits = **n_chars < n_chars_left || (*idx == 0 && self.cuts_first());
            n_chars_left = n_chars_left.saturating_sub(**n_chars + 1);
            fits
        };
        n_chars.iter().enumerate().take_while(fits).count()
    }

    /// Returns the text with its footer.
    pub(super) fn finish(&mut self) -> String {
        let mut text = std::mem::take(&mut self.text);
        text.push_str(&self.footer);
        text.truncate(text.trim_end().len());
        text
    }
}
