//! Accents: letters whose accent is drawn over them as a separate character.
//!
//! In: two adjacent glyphs. Out: one character, if they are a letter and its accent.

use unicode_normalization::char::compose;

use super::glyph::Glyph;

/// Returns a letter and the accent drawn over it as one character.
pub(super) fn accented(a: Glyph, b: Glyph) -> Option<char> {
    let (letter, accent) = match (mark_of(a.char), mark_of(b.char)) {
        (Some(mark), None) => (b.char, mark),
        (None, Some(mark)) => (a.char, mark),
        _ => return None,
    };
    let shared = a.x1.min(b.x1) - a.x0.max(b.x0);
    let is_over = shared > 0.5 * (a.x1 - a.x0).min(b.x1 - b.x0);
    // Fonts draw accents over an i or j without its dot.
    let letter = match letter {
        'ı' => 'i',
        'ȷ' => 'j',
        other => other,
    };
    compose(letter, accent).filter(|_| is_over)
}

/// Returns the combining form of an accent that is a character of its own.
fn mark_of(char: char) -> Option<char> {
    Some(match char {
        '`' => '\u{300}',
        '´' => '\u{301}',
        'ˆ' | '^' => '\u{302}',
        '˜' | '~' => '\u{303}',
        '¯' => '\u{304}',
        '˘' => '\u{306}',
        '˙' => '\u{307}',
        '¨' => '\u{308}',
        '˚' => '\u{30a}',
        '˝' => '\u{30b}',
        'ˇ' => '\u{30c}',
        '¸' => '\u{327}',
        '˛' => '\u{328}',
        _ => return None,
    })
}
