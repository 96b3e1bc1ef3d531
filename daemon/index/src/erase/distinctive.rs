//! Distinctive: the parts of a text by which its remains are found even where it was stored in pieces.
//!
//! In: a text. Out: its lines, or its sentences, without Markdown markers; for documents only what occurs in no other
//! one. Only proofs and logs use lines: what is deleted follows from identities (`store/erase/identities.rs`).
//! Invariant: both sides are searched alike, in every form, so a shared line is never taken for a document's own.

use std::collections::BTreeSet;

use aho_corasick::{AhoCorasick, BuildError};

use super::Needle;
use super::forms::forms_of;
use super::needles::stands_alone;

/// Shortest string that can be forgotten, characters. Shorter ones occur in binary data by chance.
pub const MIN_CHARS: usize = 6;

/// Shortest line or sentence that tells documents apart, characters.
const MIN_PART_CHARS: usize = 16;

/// Most lines that are searched for.
const MAX_LINES: usize = 2_000;

/// What tells documents apart: their lines, paths and names, minus those that others contain, too.
#[derive(Debug)]
pub struct Traces {
    needles: Vec<Needle>,
    is_own: Vec<bool>,
    finder: AhoCorasick,
    /// The needle of each pattern.
    of: Vec<usize>,
}

impl Traces {
    /// Takes these strings as the documents' own until another text contains them.
    ///
    /// # Errors
    /// When they are too many for one finder.
    pub fn new(needles: &BTreeSet<Needle>) -> Result<Self, BuildError> {
        let needles: Vec<Needle> = needles.iter().cloned().collect();
        let forms = |(at, it): (usize, &Needle)| {
            forms_of(&it.text).into_iter().map(move |form| (form.bytes, at))
        };
        let (forms, of): (Vec<_>, Vec<_>) = needles.iter().enumerate().flat_map(forms).unzip();
        let finder = AhoCorasick::builder().ascii_case_insensitive(true).build(&forms)?;
        Ok(Traces { is_own: vec![true; needles.len()], needles, finder, of })
    }

    /// Drops what these bytes of another document contain; returns whether that is anything.
    pub fn leave_out(&mut self, bytes: &[u8]) -> bool {
        let mut is_any = false;
        for found in self.finder.find_overlapping_iter(bytes) {
            let Some(&at) = self.of.get(found.pattern().as_usize()) else { continue };
            let is_name = self.needles.get(at).is_some_and(|it| it.is_name);
            if is_name && !stands_alone(bytes, found.range()) {
                continue;
            }
            is_any = true;
            if let Some(is_own) = self.is_own.get_mut(at) {
                *is_own = false;
            }
        }
        is_any
    }

    /// Returns what no other document contains.
    pub fn into_own(self) -> BTreeSet<Needle> {
        self.needles
            .into_iter()
            .zip(self.is_own)
            .filter_map(|(it, is_own)| is_own.then_some(it))
            .collect()
    }
}

/// Returns the lines of texts that are long enough to tell documents apart, without Markdown markers, at most 2,000.
pub fn lines_of_all<'t>(texts: impl IntoIterator<Item = &'t str>) -> impl Iterator<Item = Needle> {
    // A set: the cut does not depend on the order of the texts.
    let lines: BTreeSet<&str> = texts.into_iter().flat_map(lines_of).collect();
    lines.into_iter().take(MAX_LINES).map(|it| Needle { text: it.to_string(), is_name: false })
}

/// The lines of a text that are long enough to tell documents apart, without Markdown markers.
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
        let needles = lines_of_all([text]).chain([Needle { text: "a.md".into(), is_name: true }]);
        let mut traces = Traces::new(&needles.collect()).expect("a finder");
        assert!(!traces.leave_out(b"Likes poetry"));
        assert!(traces.leave_out(b"Somebody LIKES POETRY A LOT."));
        // A form that the index stores, and a longer name.
        assert!(traces.leave_out(b"aheadingofsomelength data.md"));
        let own = traces.into_own();
        let own: Vec<&str> = own.iter().map(|it| it.text.as_str()).collect();
        assert_eq!(own, ["Quoted words of somebody", "a.md"]);
    }
}
