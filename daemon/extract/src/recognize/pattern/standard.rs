//! Standard: `RFC 7519`, `ISO/IEC 27001:2022`, `NIST SP 800-53`; and ids: `INC-2031`, `CVE-2024-1234`,
//! `SHA-256`.
//!
//! In: a word in capitals. Out: the standard or id that begins there.
//! Invariants: the name of a standards body needs a number after it; an id is capitals, a hyphen
//! and digits; both look at most five words ahead; a placeholder (`ABC-` with letters for digits)
//! is not an id.

use std::sync::LazyLock;

use super::Hit;
use crate::recognize::token::View;
use crate::recognize::words::{WordSet, word_set};
use model::terms::EntityType;

/// Bodies that number their documents.
static BODIES: WordSet = LazyLock::new(|| {
    word_set("RFC ISO IEC IEEE NIST PEP FIPS ECMA ANSI BCP ITU DIN ETSI EIP JSR JEP SP PCI")
});
/// Names of algorithms or encodings that precede a number, which is then not an id.
static ALGORITHMS: WordSet = LazyLock::new(|| {
    word_set("SHA UTF AES RSA MD HMAC ECDSA UCS CRC DES HS RS ES PS GPT BASE CP KOI TLS HTTP")
});

const SCORE: f32 = 0.95;
/// Longest number of a standard or id, in digits.
const MAX_DIGITS: usize = 7;

/// Reads a standard that begins at word `i`.
pub(super) fn read(view: View<'_>, i: usize) -> Option<Hit> {
    let word = view.word(i);
    let letters = word.trim_end_matches(|c: char| c.is_ascii_digit());
    if letters.len() < 2 || !BODIES.contains(letters) || view.byte_before(i) == b'-' {
        return None;
    }
    let mut to = i;
    if letters.len() == word.len() {
        while view.gap_is(to, "/") && view.shape(to + 1).is_caps() && to < i + 2 {
            to += 1;
        }
        if view.gap_is(to, " ") && matches!(view.word(to + 1), "SP" | "Std" | "STD" | "DSS") {
            to += 1;
        }
        let is_parted = matches!(view.gap(to), Some(" " | "-" | "\n"));
        if !is_parted || !is_number(view.word(to + 1)) {
            return None;
        }
        to += 1;
    }
    // `802.3`, `140-3`, `27001:2022`, `27001-2:2013`.
    for _ in 0..2 {
        let joins = matches!(view.gap(to), Some("." | "-" | ":")) && is_number(view.word(to + 1));
        to += usize::from(joins);
    }
    Some(Hit::firm(i, to, EntityType::Standard, SCORE))
}

/// Reads an id or the name of an algorithm that begins at word `i`.
pub(super) fn read_id(view: View<'_>, i: usize) -> Option<Hit> {
    let word = view.word(i);
    let shape = view.shape(i);
    let is_prefix = shape.is_caps() && (2..=10).contains(&word.len()) && word.is_ascii();
    if !is_prefix || !view.gap_is(i, "-") || !is_number(view.word(i + 1)) {
        return None;
    }
    if matches!(view.byte_before(i), b'-' | b'/' | b'_' | b'.' | b'@') {
        return None;
    }
    let is_algorithm = ALGORITHMS.contains(word);
    let mut to = i + 1;
    while view.gap_is(to, "-") && to < i + 3 && is_part(view, to + 1, is_algorithm) {
        to += 1;
    }
    let after = view.after(to);
    let goes_on = after.starts_with('_')
        || after
            .strip_prefix(['-', '/', '.'])
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_alphanumeric()));
    // `IL-6` and `HIV-1` may name anything; ids that are counted soon have two digits.
    let is_short = to == i + 1 && view.word(to).len() == 1;
    let entity_type = match (is_algorithm, is_short) {
        (true, _) => EntityType::Technology,
        (false, true) => EntityType::Concept,
        (false, false) => EntityType::Identifier,
    };
    (!goes_on).then(|| Hit::firm(i, to, entity_type, SCORE))
}

fn is_part(view: View<'_>, i: usize, is_algorithm: bool) -> bool {
    is_number(view.word(i)) || (is_algorithm && view.shape(i).is_caps())
}

fn is_number(word: &str) -> bool {
    (1..=MAX_DIGITS).contains(&word.len()) && word.bytes().all(|b| b.is_ascii_digit())
}
