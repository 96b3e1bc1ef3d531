//! Sheet: text within a budget.
//!
//! In: blocks of text, best first. Out: those that fit, a count of the others, and the footer.
//! Invariants: what `finish` gives has at most the budget's characters, and what a reserved line has beyond half of
//! them; it always has the footer and the reserved line.

/// Characters kept free for `… 9,999 more`.
const COUNT_CHARS: usize = 16;

/// Smallest budget; less cannot hold the footer.
const MIN_CHARS: usize = 200;

/// Lines before a list whose first block is cut rather than left out: what is told of the whole answer.
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
    /// Room for `max_chars` characters, footer included.
    pub(super) fn new(max_chars: usize, footer: String) -> Self {
        let footer: String = footer.chars().take(MIN_CHARS / 2).collect();
        let around = footer.chars().count() + COUNT_CHARS;
        let max_chars = max_chars.max(MIN_CHARS);
        let n_chars_left = max_chars.saturating_sub(around);
        Sheet { text: String::new(), n_chars_left, max_chars, n_left_out: 0, footer }
    }

    /// Keeps room for a line that [`Sheet::reserved`] will add: half of all at most.
    pub(super) fn reserve(&mut self, line: &str) {
        let n_chars = (line.chars().count() + 1).min(self.max_chars / 2);
        self.n_chars_left = self.n_chars_left.saturating_sub(n_chars);
    }

    /// Adds a line for which room was kept.
    pub(super) fn reserved(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Adds a line, if it fits.
    pub(super) fn line(&mut self, line: &str) -> bool {
        // One more for the line end. Whatever follows a block that did not fit must not stand
        // before it.
        let n_chars = line.chars().count() + 1;
        if n_chars > self.n_chars_left {
            return false;
        }
        self.n_chars_left -= n_chars;
        self.text.push_str(line);
        self.text.push('\n');
        true
    }

    /// Characters that a line and its end may have.
    pub(super) fn room(&self) -> usize {
        self.n_chars_left
    }

    /// True where [`Sheet::line`] would add it.
    pub(super) fn has_room(&self, line: &str) -> bool {
        line.chars().count() < self.n_chars_left
    }

    /// Adds as much of a text as fits.
    pub(super) fn cut(&mut self, text: &str) {
        if !self.line(text) && self.n_chars_left > 2 {
            let part: String = text.chars().take(self.n_chars_left - 2).collect();
            self.line(&format!("{part}…"));
        }
    }

    /// Adds blocks until one does not fit, and counts the rest; returns how many are shown. The first is cut rather
    /// than left out where only a few lines stand before it.
    pub(super) fn items(&mut self, items: impl IntoIterator<Item = String>) -> usize {
        let (mut is_full, mut n_shown) = (false, 0);
        for (idx, item) in items.into_iter().enumerate() {
            if !is_full
                && idx == 0
                && self.text.lines().count() <= MAX_LINES_BEFORE
                && self.n_chars_left > 2
            {
                self.cut(&item);
                n_shown = 1;
                continue;
            }
            is_full = is_full || !self.line(&item);
            n_shown += usize::from(!is_full);
            self.n_left_out += usize::from(is_full);
        }
        self.end_list();
        n_shown
    }

    /// Says how many were left out so far.
    fn end_list(&mut self) {
        if self.n_left_out > 0 {
            self.text.push_str(&format!("… {} more\n", self.n_left_out));
            // Nothing may follow: it would read as if it had been more important.
            self.n_chars_left = 0;
            self.n_left_out = 0;
        }
    }

    /// The text.
    pub(super) fn finish(mut self) -> String {
        self.text.push_str(&self.footer);
        self.text.truncate(self.text.trim_end().len());
        self.text
    }
}
