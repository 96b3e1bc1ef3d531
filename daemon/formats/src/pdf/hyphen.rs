//! Hyphens: joins words that were broken at the end of a line.
//!
//! In: the last word of a line and the first of the next. Out: [`Joint`]. A word broken at a hyphen is joined without
//! it if the document has the whole word elsewhere, and with it if the document has the hyphenated word. If it has
//! neither, a lowercase rest is joined without.
//! Invariant: words are kept as hashes, so that a long document needs little memory.

use rustc_hash::{FxHashSet, FxHasher};
use std::hash::Hasher;

use super::page::PageLines;

/// How two words at a line break are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Joint {
    Space,
    /// They are one word; drop the hyphen.
    DropHyphen,
    /// They are one word with a real hyphen.
    KeepHyphen,
}

/// The words of a document.
#[derive(Debug, Default)]
pub(super) struct Vocabulary {
    words: FxHashSet<u64>,
}

impl Vocabulary {
    pub(super) fn of_pages(pages: &[PageLines]) -> Self {
        let mut vocabulary = Vocabulary::default();
        for line in pages.iter().flat_map(|page| &page.lines) {
            for word in &line.words {
                vocabulary.words.insert(hash_of(&word.text));
            }
        }
        vocabulary
    }

    /// Returns how `end` and `start`, separated by a line break, are joined.
    pub(super) fn joint(&self, end: &str, start: &str) -> Joint {
        let Some(stem) = end.strip_suffix(['-', '\u{2010}', '\u{ad}']) else { return Joint::Space };
        // A soft hyphen is only there to break the line.
        if end.ends_with('\u{ad}') {
            return Joint::DropHyphen;
        }
        let Some(first) = start.chars().next().filter(|char| char.is_alphanumeric()) else {
            return Joint::Space;
        };
        // A dash between words (`word -`).
        if !stem.chars().next_back().is_some_and(char::is_alphanumeric) {
            return Joint::Space;
        }
        // `Smith-Jones`, `COVID-19`.
        if !first.is_lowercase() || stem.chars().next_back().is_some_and(char::is_numeric) {
            return Joint::KeepHyphen;
        }
        if self.words.contains(&hash_of(&format!("{stem}{start}"))) {
            return Joint::DropHyphen;
        }
        // `state-of-the-` continues with a hyphen.
        let is_compound =
            self.words.contains(&hash_of(&format!("{stem}-{start}"))) || stem.contains('-');
        if is_compound { Joint::KeepHyphen } else { Joint::DropHyphen }
    }
}

/// Returns the hash of a word, ignoring case and punctuation around it.
fn hash_of(word: &str) -> u64 {
    let mut hasher = FxHasher::default();
    let inside = word.trim_matches(|char: char| !char.is_alphanumeric());
    for char in inside.chars().flat_map(char::to_lowercase) {
        hasher.write_u32(u32::from(char));
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::{Joint, Vocabulary, hash_of};

    #[test]
    fn hyphens_are_undone_where_the_document_shows_the_word() {
        let mut vocabulary = Vocabulary::default();
        vocabulary.words.extend(["signing", "long-term"].map(hash_of));
        let rows = [
            ("sign-", "ing", Joint::DropHyphen),
            ("long-", "term", Joint::KeepHyphen),
            ("un-", "known.", Joint::DropHyphen),
            ("state-of-the-", "art", Joint::KeepHyphen),
            ("COVID-", "19", Joint::KeepHyphen),
            ("Smith-", "Jones", Joint::KeepHyphen),
            ("soft\u{ad}", "ware", Joint::DropHyphen),
            ("a", "word", Joint::Space),
            ("dash -", "and", Joint::Space),
        ];
        for (end, start, joint) in rows {
            assert_eq!(vocabulary.joint(end, start), joint, "{end} {start}");
        }
    }
}
