//! Items: how lines of lists begin.
//!
//! In: a line. Out: its marker, if it has one: a bullet, or a number with a point or a bracket.
//! Invariant: a marker is never all of a line.
//! Not here: which list an item belongs to (`blocks.rs`).

use super::columns::Line;

/// Signs that items begin with.
const BULLETS: &[&str] = &[
    "•", "‣", "◦", "▪", "▫", "●", "○", "■", "□", "–", "—", "-", "*", "➢", "➤", "►", "▶", "✓", "✔",
    "❖", "⁃", "∙", "·", "\u{25c6}", "\u{25ca}",
];

/// The start of an item.
#[derive(Debug, PartialEq)]
pub(super) struct Marker {
    pub(super) number: Option<u32>,
    /// Words that are the marker.
    pub(super) n_words: usize,
}

/// The marker that a line begins with.
pub(super) fn marker_of(line: &Line) -> Option<Marker> {
    let [first, second, ..] = line.words.as_slice() else { return None };
    if BULLETS.contains(&&*first.text) {
        return Some(Marker { number: None, n_words: 1 });
    }
    let number = number_of(&first.text)?;
    // `3. 5` is no item; a sentence may have been broken before a year.
    let has_text = second.text.chars().any(char::is_alphabetic);
    (has_text && number <= 500).then_some(Marker { number: Some(number), n_words: 1 })
}

/// The number of `3.`, `3)` or `(3)`.
fn number_of(word: &str) -> Option<u32> {
    let inside = word
        .strip_prefix('(')
        .map_or_else(|| word.strip_suffix(['.', ')']), |rest| rest.strip_suffix(')'))?;
    (inside.len() <= 3 && inside.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| inside.parse().ok())
        .flatten()
}
