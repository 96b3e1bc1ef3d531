//! Script: which signs make words, and which scripts write without blanks.
//!
//! Not here: languages (`formats/language.rs`).

use unicode_normalization::char::is_combining_mark;

/// True for what a word is made of: letters and digits of any script, and the marks that Indic and other scripts
/// write vowels with.
pub fn is_word_char(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric();
    }
    c.is_alphanumeric() || is_combining_mark(c) || matches!(c, '\u{200c}' | '\u{200d}')
}

/// How a script is cut into index words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cutting {
    /// Between blanks and signs.
    Words,
    /// Every two signs: Han, kana, Hangul.
    Pairs,
    /// Every three signs: scripts of South-East Asia, which write letters and marks but no blanks.
    Triples,
}

fn cutting(c: char) -> Cutting {
    match c as u32 {
        0..=0x0dff => Cutting::Words,
        // Thai, Lao; Tibetan writes a mark between syllables, which is no letter.
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

/// True for signs of scripts that write no blanks between words, or put endings to names without one.
pub fn is_unspaced(c: char) -> bool {
    cutting(c) != Cutting::Words
}

/// Length of the run of word signs of one kind that `text` begins with, bytes; 0 when it begins with none.
pub fn run_length(text: &str) -> usize {
    let n_plain = text.bytes().take_while(u8::is_ascii_alphanumeric).count();
    if n_plain > 0 && text.as_bytes().get(n_plain).is_none_or(u8::is_ascii) {
        return n_plain;
    }
    let mut kind = None;
    for (at, c) in text.char_indices() {
        // Marks go with what they stand on.
        let own = if is_combining_mark(c) { kind } else { Some(cutting(c)) };
        if !is_word_char(c) || (at > 0 && own != kind) {
            return at;
        }
        kind = own.or(Some(cutting(c)));
    }
    text.len()
}

/// How many signs an index word of this run has; `None` where blanks part words.
pub fn gram_length(run: &str) -> Option<usize> {
    match cutting(run.chars().next()?) {
        Cutting::Words => None,
        Cutting::Pairs => Some(2),
        Cutting::Triples => Some(3),
    }
}

/// True for the letters that English is written in, with or without accents.
pub fn is_latin(c: char) -> bool {
    c.is_alphabetic()
        && matches!(c as u32, 0..=0x24f | 0x1e00..=0x1eff | 0xfb00..=0xfb06 | 0xff21..=0xff5a)
}
