//! Find: replaces all occurrences of a text.
//!
//! In: a text, what to find, its replacement, the expected number of occurrences. Out: one change for each.
//! Invariants: the comparison is byte by byte, except that all line ends are equal; if nothing is found so, a text that
//! looks the same is (other Unicode form, invisible characters, blanks and hyphens), and what is replaced are its
//! bytes; places do not overlap; any other number of occurrences than expected is an error with their lines.

use std::ops::Range;

use names::{Look, fold};

use super::lines::{eol_of_line, line_number, with_eol};
use super::{Change, EditError};

/// Least similarity, 0 to 1, at which a candidate is suggested.
const NEAR: f32 = 0.4;

/// Longest line that is shown, in characters.
const MAX_SHOWN_CHARS: usize = 120;

/// Longest part of a line that is compared, in bytes.
const MAX_COMPARED_BYTES: usize = 400;

pub(super) fn replace(
    text: &str,
    find: &str,
    with: &str,
    expected: usize,
) -> Result<Vec<Change>, EditError> {
    if find.is_empty() {
        return Err(EditError::Empty("the text to find"));
    }
    // Not found at all: a similar line helps more than a count of zero.
    let places = places_of(text, find);
    if places.is_empty() && expected > 0 {
        let first = find.lines().find(|line| !line.trim().is_empty()).unwrap_or(find);
        let nearest = nearest(first.trim(), text.lines());
        let shown = |line: &str| line.trim().chars().take(MAX_SHOWN_CHARS).collect::<String>();
        return Err(EditError::NotFound { nearest: nearest.map(|(i, line)| (i + 1, shown(line))) });
    }
    if places.len() != expected {
        let lines = places.iter().map(|place| line_number(text, place.start)).collect();
        return Err(EditError::Count { expected, lines });
    }
    let change = |place: Range<usize>| {
        let eol = eol_of_line(text, place.start);
        Change::new(place, with_eol(with, eol))
    };
    Ok(places.into_iter().map(change).collect())
}

/// Returns the occurrences in a text, byte by byte; if there is none, those that look the same.
fn places_of(text: &str, find: &str) -> Vec<Range<usize>> {
    // Only a search over several lines in a text with CRLF needs more than the bytes.
    let exact: Vec<Range<usize>> = if text.contains("\r\n") && find.contains('\n') {
        Look::of_lines(text).places_of(&Look::of_lines(find))
    } else {
        let find = find.replace("\r\n", "\n");
        text.match_indices(&find).map(|(at, found)| at..at + found.len()).collect()
    };
    if exact.is_empty() { Look::of(text).places_of(&Look::of(find)) } else { exact }
}

/// Returns the most similar candidate with its index, if any is similar enough.
pub(super) fn nearest<'a>(
    wanted: &str,
    candidates: impl Iterator<Item = &'a str>,
) -> Option<(usize, &'a str)> {
    let wanted = pairs(wanted);
    let scored = candidates.enumerate().map(|(i, it)| (likeness(&wanted, &pairs(it)), i, it));
    let best = scored.max_by(|one, other| one.0.total_cmp(&other.0).then(other.1.cmp(&one.1)));
    best.filter(|(score, ..)| *score >= NEAR).map(|(_, i, it)| (i, it))
}

/// Returns the pairs of neighboring characters, sorted.
fn pairs(text: &str) -> Vec<[char; 2]> {
    let text = text.trim();
    let end =
        (0..=text.len().min(MAX_COMPARED_BYTES)).rev().find(|end| text.is_char_boundary(*end));
    let folded = fold(text.get(..end.unwrap_or(0)).unwrap_or(""));
    let mut pairs: Vec<[char; 2]> =
        folded.chars().zip(folded.chars().skip(1)).map(|(a, b)| [a, b]).collect();
    pairs.sort_unstable();
    pairs
}

/// Returns the Dice coefficient of two sorted lists of pairs.
fn likeness(one: &[[char; 2]], other: &[[char; 2]]) -> f32 {
    let (mut i, mut k, mut n_common) = (0, 0, 0);
    while let (Some(a), Some(b)) = (one.get(i), other.get(k)) {
        n_common += usize::from(a == b);
        (i, k) = (i + usize::from(a <= b), k + usize::from(b <= a));
    }
    let n_all = one.len() + other.len();
    if n_all == 0 { 0.0 } else { 2.0 * n_common as f32 / n_all as f32 }
}
