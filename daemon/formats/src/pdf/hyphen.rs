//! Hyphens: joins words that were broken at the end of a line.
//!
//! In: the last word of a line and the first of the next. Out: [`Joint`]. A word broken at a hyphen is joined without
//! it if the document has the whole word elsewhere, and with it if the document has the hyphenated word, both halves as
//! words, another compound with one of them, or no broken words at all. Otherwise a lowercase rest is joined without.
//! Invariant: words are kept as hashes, so that a long document needs little memory.

use rustc_hash::{FxHashSet, FxHasher};
use std::hash::Hasher;

use super::page::PageLines;

/// Hyphens; the last one is only there to break a line.
pub(super) const HYPHENS: [char; 3] = ['-', '\u{2010}', '\u{ad}'];

/// Fewest letters of a part that is no syllable.
const MIN_PART_LETTERS: usize = 4;

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
    /// Whole words, without those that a line end may have broken.
    words: FxHashSet<u64>,
    /// The parts of words with a hyphen: `self` and `known`.
    parts: FxHashSet<u64>,
    /// True if all its hyphens at line ends belong to their words.
    keeps_hyphens: bool,
}

impl Vocabulary {
    pub(super) fn of_pages(pages: &[PageLines]) -> Self {
        let mut vocabulary = Vocabulary::default();
        let (mut joints, mut was_broken) = (Vec::new(), false);
        for lines in pages.iter().map(|page| &page.lines) {
            for (i, line) in lines.iter().enumerate() {
                let next = lines.get(i + 1).filter(|next| next.region == line.region);
                let end = line.words.last().map_or("", |word| &word.text);
                let start = next.and_then(|next| next.words.first());
                let is_broken = stem_of(end).is_some();
                let skipped = usize::from(was_broken);
                let n_whole = line.words.len() - usize::from(is_broken);
                for word in line.words.get(skipped..n_whole).unwrap_or(&[]) {
                    vocabulary.add(&word.text);
                }
                was_broken = is_broken;
                if let (true, Some(start)) = (is_broken, start) {
                    let beside = lines.get(i.saturating_sub(1)..(i + 3).min(lines.len()));
                    let right = beside.unwrap_or(&[]).iter().filter(|it| it.region == line.region);
                    let right = right.fold(f32::MIN, |x, line| x.max(line.x1));
                    joints.push((end, start.text.as_ref(), line.x1 + start.x1 - start.x0 < right));
                }
            }
        }
        // Who breaks words does so only where the rest does not fit.
        let breaks = |(end, start, _): &(&str, &str, bool)| {
            vocabulary.has_joined(stem_of(end).unwrap_or(""), start)
        };
        let keeps_hyphens = joints.iter().any(|(.., fits)| *fits) && !joints.iter().any(breaks);
        Vocabulary { keeps_hyphens, ..vocabulary }
    }

    fn add(&mut self, word: &str) {
        self.words.insert(hash_of(word));
        if word.contains('-') {
            self.parts.extend(word.split('-').map(hash_of));
        }
    }

    /// True for a part of other words with a hyphen; a short one may be any syllable.
    fn forms_compounds(&self, part: &str) -> bool {
        let n_letters = part.chars().filter(|char| char.is_alphabetic()).count();
        n_letters >= MIN_PART_LETTERS && self.parts.contains(&hash_of(part))
    }

    fn has_joined(&self, stem: &str, start: &str) -> bool {
        self.words.contains(&hash_of(&format!("{stem}{start}")))
    }

    /// Returns how `end` and `start`, separated by a line break, are joined.
    pub(super) fn joint(&self, end: &str, start: &str) -> Joint {
        let Some(stem) = end.strip_suffix(HYPHENS) else { return Joint::Space };
        // A soft hyphen is only there to break the line.
        if end.ends_with('\u{ad}') {
            return Joint::DropHyphen;
        }
        let Some(first) = start.chars().next().filter(|char| char.is_alphanumeric()) else {
            return Joint::Space;
        };
        if stem_of(end).is_none() {
            return Joint::Space;
        }
        // `Smith-Jones`, `COVID-19`.
        if !first.is_lowercase() || stem.chars().next_back().is_some_and(char::is_numeric) {
            return Joint::KeepHyphen;
        }
        if self.has_joined(stem, start) {
            return Joint::DropHyphen;
        }
        // `state-of-the-` continues with a hyphen.
        let has = |word: &str| self.words.contains(&hash_of(word));
        let is_compound = has(&format!("{stem}-{start}"))
            || stem.contains('-')
            || self.keeps_hyphens
            || [stem, start].into_iter().any(|part| self.forms_compounds(part))
            || has(stem) && has(start);
        if is_compound { Joint::KeepHyphen } else { Joint::DropHyphen }
    }
}

/// Returns what stands before the hyphen of a word that a line end may have broken; `None` for a dash between words.
pub(super) fn stem_of(end: &str) -> Option<&str> {
    let stem = end.strip_suffix(HYPHENS)?;
    stem.ends_with(char::is_alphanumeric).then_some(stem)
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
    use super::{Joint, Vocabulary};

    #[test]
    fn hyphens_are_undone_where_the_document_shows_the_word() {
        let mut vocabulary = Vocabulary::default();
        let words =
            ["signing", "long-term", "self-made", "user-friendly", "in-house", "time", "table"];
        words.into_iter().for_each(|word| vocabulary.add(word));
        let rows = [
            ("sign-", "ing", Joint::DropHyphen),
            ("long-", "term", Joint::KeepHyphen),
            ("un-", "known.", Joint::DropHyphen),
            ("state-of-the-", "art", Joint::KeepHyphen),
            ("COVID-", "19", Joint::KeepHyphen),
            ("Smith-", "Jones", Joint::KeepHyphen),
            ("self-", "sealing", Joint::KeepHyphen),
            ("eco-", "friendly.", Joint::KeepHyphen),
            ("time-", "table", Joint::KeepHyphen),
            ("in-", "formation", Joint::DropHyphen),
            ("soft\u{ad}", "ware", Joint::DropHyphen),
            ("a", "word", Joint::Space),
            ("dash -", "and", Joint::Space),
        ];
        for (end, start, joint) in rows {
            assert_eq!(vocabulary.joint(end, start), joint, "{end} {start}");
        }
    }
}
