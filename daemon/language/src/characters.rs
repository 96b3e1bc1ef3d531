//! Characters: letters, digits and white space by Python's rules, which differ slightly from Rust's.
//!
//! In: a character. Out: its class. Invariant: the same as Python's `str` methods, except for Unicode's newest
//! letters.

use std::sync::LazyLock;

use regex::Regex;

/// Digits that are not decimal (superscripts, circled digits…): in `str.isdigit`, but not in category Nd.
const OTHER_DIGITS: [(u32, u32); 20] = [
    (0xb2, 0xb3),
    (0xb9, 0xb9),
    (0x1369, 0x1371),
    (0x19da, 0x19da),
    (0x2070, 0x2070),
    (0x2074, 0x2079),
    (0x2080, 0x2089),
    (0x2460, 0x2468),
    (0x2474, 0x247c),
    (0x2488, 0x2490),
    (0x24ea, 0x24ea),
    (0x24f5, 0x24fd),
    (0x24ff, 0x24ff),
    (0x2776, 0x277e),
    (0x2780, 0x2788),
    (0x278a, 0x2792),
    (0x10a40, 0x10a43),
    (0x10e60, 0x10e68),
    (0x11052, 0x1105a),
    (0x1f100, 0x1f10a),
];

static LETTER: LazyLock<Regex> = LazyLock::new(|| category(r"^\p{L}"));
static DECIMAL: LazyLock<Regex> = LazyLock::new(|| category(r"^\p{Nd}"));
static NUMBER: LazyLock<Regex> = LazyLock::new(|| category(r"^\p{N}"));

fn category(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a constant pattern")
}

fn is_in(category: &Regex, character: char) -> bool {
    category.is_match(character.encode_utf8(&mut [0; 4]))
}

/// `str.isspace`: Rust's white space and four control characters.
pub(super) fn is_space(character: char) -> bool {
    character.is_whitespace() || ('\x1c'..='\x1f').contains(&character)
}

/// `str.isalpha`.
pub(super) fn is_letter(character: char) -> bool {
    match character.is_ascii() {
        true => character.is_ascii_alphabetic(),
        false => is_in(&LETTER, character),
    }
}

/// `\d` in a pattern.
pub(super) fn is_decimal(character: char) -> bool {
    character.is_ascii_digit() || (!character.is_ascii() && is_in(&DECIMAL, character))
}

/// `str.isdigit`.
pub(super) fn is_digit(character: char) -> bool {
    let code = character as u32;
    is_decimal(character) || OTHER_DIGITS.iter().any(|(low, high)| (*low..=*high).contains(&code))
}

/// `\w` in a pattern.
pub(super) fn is_word(character: char) -> bool {
    match character.is_ascii() {
        true => character.is_ascii_alphanumeric() || character == '_',
        false => is_in(&LETTER, character) || is_in(&NUMBER, character),
    }
}
