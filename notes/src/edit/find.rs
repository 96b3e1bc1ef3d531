//! Find: replaces one text by another.
//!
//! In: a text, what to find, what to put there, how often it must be there. Out: a change a place.
//! Invariants: what is found is found byte by byte, but for line ends, which are alike; places do not overlap; another
//! number of places than expected changes nothing, and says where they are.

use std::ops::Range;

use super::lines::{eol_of_line, line_number, with_eol};
use super::{Change, EditError};

/// Least likeness at which a candidate is worth showing.
const NEAR: f32 = 0.4;

/// Longest line shown, characters.
const MAX_SHOWN_CHARS: usize = 120;

/// Most of a line compared, bytes.
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

/// Returns the spans of a text, whatever its line ends.
fn places_of(text: &str, find: &str) -> Vec<Range<usize>> {
    let find = find.replace("\r\n", "\n");
    if !text.contains("\r\n") || !find.contains('\n') {
        return text.match_indices(&find).map(|(at, found)| at..at + found.len()).collect();
    }
    // Bytes of the text without the `\r` of each line end, and how many of those stand before a byte of it.
    let plain = text.replace("\r\n", "\n");
    let returns: Vec<usize> =
        text.match_indices("\r\n").enumerate().map(|(i, (at, _))| at - i).collect();
    let back = |at: usize| at + returns.partition_point(|newline| *newline < at);
    plain.match_indices(&find).map(|(at, found)| back(at)..back(at + found.len())).collect()
}

/// The candidate most like a text, with its number from 0, if one is like it at all.
pub(super) fn nearest<'a>(
    wanted: &str,
    candidates: impl Iterator<Item = &'a str>,
) -> Option<(usize, &'a str)> {
    let wanted = pairs(wanted);
    let scored = candidates.enumerate().map(|(i, it)| (likeness(&wanted, &pairs(it)), i, it));
    let best = scored.max_by(|one, other| one.0.total_cmp(&other.0).then(other.1.cmp(&one.1)));
    best.filter(|(score, ..)| *score >= NEAR).map(|(_, i, it)| (i, it))
}

/// Pairs of neighboring characters, sorted.
fn pairs(text: &str) -> Vec<[char; 2]> {
    let text = text.trim();
    let end =
        (0..=text.len().min(MAX_COMPARED_BYTES)).rev().find(|end| text.is_char_boundary(*end));
    let lower = text.get(..end.unwrap_or(0)).unwrap_or("").to_lowercase();
    let mut pairs: Vec<[char; 2]> =
        lower.chars().zip(lower.chars().skip(1)).map(|(a, b)| [a, b]).collect();
    pairs.sort_unstable();
    pairs
}

/// Share of pairs that both have.
fn likeness(one: &[[char; 2]], other: &[[char; 2]]) -> f32 {
    let (mut i, mut k, mut n_common) = (0, 0, 0);
    while let (Some(a), Some(b)) = (one.get(i), other.get(k)) {
        n_common += usize::from(a == b);
        (i, k) = (i + usize::from(a <= b), k + usize::from(b <= a));
    }
    let n_all = one.len() + other.len();
    if n_all == 0 { 0.0 } else { 2.0 * n_common as f32 / n_all as f32 }
}
