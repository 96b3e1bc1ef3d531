//! Distinctive: the parts of a text by which it is known wherever it stands in pieces.
//!
//! In: a text. Out: its lines, or its sentences, without the marks of Markdown around them; of many lines those that
//! stand in no other text.
//! Not here: which other texts there are (`project/forget.rs`).

use std::collections::BTreeSet;

use aho_corasick::{AhoCorasick, BuildError};

/// Shortest string that can be forgotten, characters: a shorter one stands in bytes by chance.
pub const MIN_CHARS: usize = 6;

/// Shortest part that says whose it is, characters.
const MIN_PART_CHARS: usize = 16;

/// Most lines that a document is known by.
const MAX_LINES: usize = 2_000;

/// Lines of documents that are to be forgotten, as long as no other text has them.
#[derive(Debug)]
pub struct OwnLines {
    finder: AhoCorasick,
    lines: Vec<String>,
    is_own: Vec<bool>,
}

impl OwnLines {
    /// The lines of these texts.
    ///
    /// # Errors
    /// When they are too many for one finder.
    pub fn of<'t>(texts: impl IntoIterator<Item = &'t str>) -> Result<Self, BuildError> {
        let lines: BTreeSet<&str> = texts.into_iter().flat_map(lines_of).collect();
        let lines: Vec<String> = lines.into_iter().take(MAX_LINES).map(str::to_string).collect();
        let finder = AhoCorasick::builder().ascii_case_insensitive(true).build(&lines)?;
        Ok(OwnLines { finder, is_own: vec![true; lines.len()], lines })
    }

    /// Gives up the lines that stand in a text of another document.
    pub fn leave_out(&mut self, text: &str) {
        for found in self.finder.find_overlapping_iter(text) {
            if let Some(is_own) = self.is_own.get_mut(found.pattern().as_usize()) {
                *is_own = false;
            }
        }
    }

    /// Those that are left.
    pub fn into_lines(self) -> impl Iterator<Item = String> {
        self.lines.into_iter().zip(self.is_own).filter_map(|(line, is_own)| is_own.then_some(line))
    }
}

/// The lines of a document that are long enough to be known by.
fn lines_of(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(bare).filter(|line| line.chars().count() >= MIN_PART_CHARS)
}

/// The parts of a string that may be stored apart: its lines and sentences, where it has several.
pub fn parts_of(text: &str) -> Vec<&str> {
    let sentences = |line| str::split_inclusive(line, ['.', '!', '?', ';']).map(str::trim);
    let lines: Vec<&str> = lines_of(text).collect();
    let parts = lines.iter().copied().chain(lines.iter().flat_map(|line| sentences(*line)));
    parts.filter(|it| it.chars().count() >= MIN_PART_CHARS && *it != text).collect()
}

/// A line without what makes it a heading, an item or a quotation, and without the number of an observation.
fn bare(line: &str) -> &str {
    let line = line.trim().trim_start_matches(['#', '-', '*', '+', '>', ' ', '\t']).trim_end();
    match line.rsplit_once(" ^") {
        Some((before, block))
            if block.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'-') =>
        {
            before
        }
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_bare_and_long_enough() {
        let text = "# A heading of some length\n- Likes poetry a lot ^o3\n- short\n\n> Quoted words of somebody";
        let lines: Vec<&str> = lines_of(text).collect();
        assert_eq!(
            lines,
            ["A heading of some length", "Likes poetry a lot", "Quoted words of somebody"]
        );
        assert_eq!(parts_of("one line that is not in parts"), [""; 0]);
        assert_eq!(
            parts_of("The first sentence is here. The second one, too."),
            ["The first sentence is here.", "The second one, too."]
        );
        let mut own = OwnLines::of([text]).expect("a finder");
        own.leave_out("Somebody LIKES POETRY A LOT.");
        let own: Vec<String> = own.into_lines().collect();
        assert_eq!(own, ["A heading of some length", "Quoted words of somebody"]);
    }
}
