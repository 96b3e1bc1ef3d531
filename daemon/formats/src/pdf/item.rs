//! Items: recognizes how list items begin.
//!
//! In: a line. Out: its marker, if it has one: a bullet, or a number with a period or a parenthesis.
//! Invariant: a marker is never the whole line.

use super::columns::Line;

/// Bullets.
const BULLETS: &[&str] = &[
    "•", "‣", "◦", "▪", "▫", "●", "○", "■", "□", "–", "—", "-", "*", "➢", "➤", "►", "▶", "✓", "✔",
    "❖", "⁃", "∙", "·", "\u{25c6}", "\u{25ca}",
];

/// The start of an item.
#[derive(Debug, PartialEq)]
pub(super) struct Marker {
    pub(super) number: Option<u32>,
    /// Number of words that form the marker.
    pub(super) n_words: usize,
}

/// Returns the marker that a line begins with.
pub(super) fn marker_of(line: &Line) -> Option<Marker> {
    let [first, second, ..] = line.words.as_slice() else { return None };
    if BULLETS.contains(&&*first.text) {
        return Some(Marker { number: None, n_words: 1 });
    }
    let number = number_of(&first.text)?;
    // `3. 5` is not an item, and a larger number is more likely the end of a sentence wrapped to this line.
    let has_text = second.text.chars().any(char::is_alphabetic);
    (has_text && number <= 500).then_some(Marker { number: Some(number), n_words: 1 })
}

/// Returns the number of `3.`, `3)` or `(3)`.
fn number_of(word: &str) -> Option<u32> {
    let inside = word
        .strip_prefix('(')
        .map_or_else(|| word.strip_suffix(['.', ')']), |rest| rest.strip_suffix(')'))?;
    (inside.len() <= 3 && inside.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| inside.parse().ok())
        .flatten()
}
