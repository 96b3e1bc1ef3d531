//! Script: which characters form words, and which scripts are written without spaces.

use unicode_normalization::char::is_combining_mark;

/// Returns true for characters of words: letters and digits of any script, and the marks with which Indic and other
/// scripts write vowels.
pub fn is_word_char(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric();
    }
    c.is_alphanumeric() || is_combining_mark(c) || matches!(c, '\u{200c}' | '\u{200d}')
}

/// How a script is split into index words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cutting {
    /// At spaces and punctuation.
    Words,
    /// Every two characters: Han, kana, Hangul.
    Pairs,
    /// Every three characters: scripts of South-East Asia, which write letters and marks but no spaces.
    Triples,
}

fn cutting(c: char) -> Cutting {
    match c as u32 {
        0..=0x0dff => Cutting::Words,
        // Thai, Lao. Tibetan writes a mark between syllables that is not a letter.
        0x0e00..=0x0eff => Cutting::Triples,
        // Myanmar, Khmer, Tai Le to Tai Tham.
        0x1000..=0x109f | 0x1780..=0x17ff | 0x1950..=0x1aaf => Cutting::Triples,
        // Hangul letters, kana, Han with their extensions.
        0x1100..=0x11ff | 0x3005..=0x3007 | 0x3040..=0x312f | 0x3130..=0x318f | 0x31a0..=0x31ff => {
            Cutting::Pairs
        }
        0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xa960..=0xa97f | 0xac00..=0xd7ff => Cutting::Pairs,
        0xf900..=0xfaff | 0xff66..=0xff9f | 0x1b000..=0x1b16f | 0x20000..=0x3ffff => Cutting::Pairs,
        _ => Cutting::Words,
    }
}

/// Returns true for scripts that put no spaces between words, or append endings to names without one.
pub fn is_unspaced(c: char) -> bool {
    cutting(c) != Cutting::Words
}

/// Returns the length of the run of word characters of one kind at the start of `text`, bytes; 0 if there is none.
pub fn run_length(text: &str) -> usize {
    // The usual case: an ASCII word that no other letter follows.
    let n_plain = text.bytes().take_while(u8::is_ascii_alphanumeric).count();
    if n_plain > 0 && text.as_bytes().get(n_plain).is_none_or(u8::is_ascii) {
        return n_plain;
    }
    let mut kind = None;
    for (at, c) in text.char_indices() {
        // A mark belongs to the letter before it.
        let own = if is_combining_mark(c) { kind } else { Some(cutting(c)) };
        if !is_word_char(c) || (at > 0 && own != kind) {
            return at;
        }
        kind = own.or(Some(cutting(c)));
    }
    text.len()
}

/// Returns the number of characters of an index word of this run; `None` if spaces separate words.
pub fn gram_length(run: &str) -> Option<usize> {
    match cutting(run.chars().next()?) {
        Cutting::Words => None,
        Cutting::Pairs => Some(2),
        Cutting::Triples => Some(3),
    }
}

/// Returns true for the letters that English is written in, with or without accents.
pub fn is_latin(c: char) -> bool {
    c.is_alphabetic()
        && matches!(c as u32, 0..=0x24f | 0x1e00..=0x1eff | 0xfb00..=0xfb06 | 0xff21..=0xff5a)
}
