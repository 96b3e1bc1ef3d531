//! Distinctive: the parts of a text that identify it even where it is stored in pieces.
//!
//! In: a text. Out: its lines, or its sentences, without Markdown markers; for documents only the lines that occur in
//! no other text.
//! Not here: which other texts there are (`project/forget.rs`).

use std::collections::BTreeSet;

use aho_corasick::{AhoCorasick, BuildError};

/// Shortest string that can be forgotten, characters. Shorter ones occur in binary data by chance.
pub const MIN_CHARS: usize = 6;

/// Shortest line or sentence that identifies a document, characters.
const MIN_PART_CHARS: usize = 16;

/// Most lines that identify one set of documents.
const MAX_LINES: usize = 2_000;

/// Lines of the documents to forget, minus those that other texts contain, too.
#[derive(Debug)]
pub struct OwnLines {
    finder: AhoCorasick,
    lines: Vec<String>,
    is_own: Vec<bool>,
}

impl OwnLines {
    /// Collects the lines of these texts, up to a limit of 2,000.
    ///
    /// # Errors
    /// When the lines are too many for one finder.
    pub fn of<'t>(texts: impl IntoIterator<Item = &'t str>) -> Result<Self, BuildError> {
        // A set: a line that repeats is searched once, and the cut at `MAX_LINES` does not depend on the order of the
        // texts.
        let lines: BTreeSet<&str> = texts.into_iter().flat_map(lines_of).collect();
        let lines: Vec<String> = lines.into_iter().take(MAX_LINES).map(str::to_string).collect();
        let finder = AhoCorasick::builder().ascii_case_insensitive(true).build(&lines)?;
        Ok(OwnLines { finder, is_own: vec![true; lines.len()], lines })
    }

    /// Drops the lines that `text`, a text of another document, contains.
    pub fn leave_out(&mut self, text: &str) {
        for found in self.finder.find_overlapping_iter(text) {
            if let Some(is_own) = self.is_own.get_mut(found.pattern().as_usize()) {
                *is_own = false;
            }
        }
    }

    /// Returns the lines that no other text contains.
    pub fn into_lines(self) -> impl Iterator<Item = String> {
        self.lines.into_iter().zip(self.is_own).filter_map(|(line, is_own)| is_own.then_some(line))
    }
}

/// The lines of a document that are long enough to identify it, without Markdown markers.
fn lines_of(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(bare).filter(|line| line.chars().count() >= MIN_PART_CHARS)
}

/// Returns the lines and sentences of a string: parts that may be stored without the rest. Short ones, and the whole
/// string itself, are left out.
pub fn parts_of(text: &str) -> Vec<&str> {
    let sentences = |line| str::split_inclusive(line, ['.', '!', '?', ';']).map(str::trim);
    let lines: Vec<&str> = lines_of(text).collect();
    let parts = lines.iter().copied().chain(lines.iter().flat_map(|line| sentences(*line)));
    parts.filter(|it| it.chars().count() >= MIN_PART_CHARS && *it != text).collect()
}

/// Removes the markers of a heading, list item or quotation, and the block id of an observation (` ^abc-1`).
fn bare(line: &str) -> &str {
    let line = line.trim().trim_start_matches(['#', '-', '*', '+', '>', ' ', '\t']).trim_end();
    match line.rsplit_once(" ^") {
        // Only a block id is removed; ` ^` followed by anything else is text.
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
