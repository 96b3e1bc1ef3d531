//! Fold: maps spellings of a word that people confuse to one form.
//!
//! Folded are case, compatibility forms (NFKC), accents on Latin, Greek, Cyrillic and Vietnamese letters, points of
//! Hebrew and Arabic, the forms of alef, yeh and teh marbuta, `ß` and other Latin letters that keyboards lack. Kana,
//! Hangul and the vowel signs of Indic scripts stay: they distinguish words. Invisible characters are nothing.
//! Wider than [`names::fold`], which keeps `Müller` and `Muller` apart: a search finds too much rather than too little,
//! while two names are two things.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Returns the folded form of a word.
pub fn folded(word: &str) -> String {
    let mut out = String::with_capacity(word.len());
    fold_into(word, &mut out);
    out
}

/// Sets `out` to the folded form of `word`.
pub(super) fn fold_into(word: &str, out: &mut String) {
    out.clear();
    if word.is_ascii() {
        out.push_str(word);
        out.make_ascii_lowercase();
        return;
    }
    let mut base = ' ';
    // Compatibility decomposition: `ﬁ` to `fi`, `é` to `e` and its accent.
    for c in word.nfkd().flat_map(char::to_lowercase) {
        if is_combining_mark(c) && loses_marks(base) {
            continue;
        }
        match letter(c) {
            "" => {
                if is_kept(c) {
                    out.push(c);
                }
            }
            plain => out.push_str(plain),
        }
        // Several marks may follow one letter.
        if !is_combining_mark(c) {
            base = c;
        }
    }
    // Hangul, kana and Indic letters were decomposed, too, and are composed again.
    if out.chars().any(is_composed) {
        *out = out.nfc().collect();
    }
    if out.is_empty() {
        // A mark on its own: an index word must not be empty.
        out.push_str(word);
    }
}

/// Returns whether marks on a letter are accents, points or stress, not letters of their own. True for Latin, Greek,
/// Cyrillic, Hebrew and Arabic.
fn loses_marks(base: char) -> bool {
    matches!(base as u32,
        0x41..=0x24f | 0x370..=0x3ff | 0x400..=0x52f | 0x590..=0x6ff | 0x1e00..=0x1fff)
}

/// Returns false for characters that are dropped: the tatweel of Arabic, invisible characters, and signs that
/// compatibility forms decompose to.
fn is_kept(c: char) -> bool {
    c != '\u{640}' && model::terms::is_word_char(c) && !names::is_ignorable(c)
}

fn is_composed(c: char) -> bool {
    matches!(c as u32, 0x900..=0xdff | 0x1100..=0x11ff | 0x3040..=0x30ff | 0xa960..=0xa97f | 0xd7b0..=0xd7ff)
}

/// Returns the plain spelling of a letter that has one; empty for others.
fn letter(c: char) -> &'static str {
    match c {
        'ß' => "ss",
        'æ' => "ae",
        'œ' => "oe",
        'ø' => "o",
        'đ' | 'ð' => "d",
        'ł' => "l",
        'þ' => "th",
        'ı' => "i",
        'ħ' => "h",
        'ŋ' => "n",
        'ς' => "σ",
        'آ' | 'أ' | 'إ' | 'ٱ' => "ا",
        'ى' | 'ی' => "ي",
        'ة' => "ه",
        'ک' => "ك",
        _ => "",
    }
}
