//! Standard: ids: `INC-2031`, `CVE-2024-1234`, `SHA-256`. Standards themselves are rows of `name_patterns.tsv`.
//!
//! In: a word in capitals. Out: the id that begins there.
//! Invariants: an id is capitals, a hyphen and digits; at most five words ahead are read; a placeholder (`ABC-` with
//! letters for digits) is not an id.

use std::sync::LazyLock;

use super::Hit;
use crate::recognize::token::View;
use crate::recognize::words::{WordSet, word_set};
use model::terms::EntityType;

/// Names of algorithms or encodings that precede a number, which is then not an id.
static ALGORITHMS: WordSet = LazyLock::new(|| {
    word_set("SHA UTF AES RSA MD HMAC ECDSA UCS CRC DES HS RS ES PS GPT BASE CP KOI TLS HTTP")
});

const SCORE: f32 = 0.95;
/// Longest number of an id, in digits.
const MAX_DIGITS: usize = 7;

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
