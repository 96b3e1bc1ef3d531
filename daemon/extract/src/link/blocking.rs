//! Blocking: keys that two names must share before they are compared (S4 §7).
//!
//! Keys are pure functions of one name, so the order of arrival cannot decide which pairs are compared. They
//! guarantee, for names with the same digits: every pair of norms within edit distance 1 shares a key; every pair of
//! token sets with Jaccard ≥ 0.6, neither of which contains the other, shares one (up to five words; longer ones by
//! prefix filtering); pairs of vectors with cosine ≥ τ₁ = 0.9 share one with a probability of about 0.75
//! (locality-sensitive sign bits). Names with different digits are different things, so the digits are part of every
//! key and 20,000 numbered names share nothing; model numbers are an exception with keys of their own. Names that
//! differ only in inflection always share a key.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::features::{lemmas_of, model_numbers_of, words_of};
use model::document::UnitVector;
use model::terms::tokens_of;

/// Shortest norm, in characters, for which one typing error is tolerated; in shorter norms one edit is another name.
pub const MIN_EDIT_CHARS: usize = 6;

/// Longest norm, in characters, that gets one key for each deletion.
const MAX_DELETION_CHARS: usize = 40;

/// Token sets with a smaller Jaccard index are never compared (S4 §7).
pub const MIN_JACCARD: f32 = 0.6;

/// Bits of a key below those for the digits.
const DIGIT_SHIFT: u32 = 44;

/// Sign-bit bands of a vector, and bits of each. At cosine 0.9 two bits agree with probability 0.86, so one
/// band of 12 agrees with 0.16 and one of 8 bands with 0.75; unrelated names share a band with 8 / 4096.
const BANDS: usize = 8;
const BAND_BITS: usize = 12;

/// Returns every key of one name.
pub fn keys_of(surface: &str, norm: &str, vector: Option<&UnitVector>) -> Vec<u64> {
    let mut keys = Vec::with_capacity(32);
    edit_keys(norm, &mut keys);
    jaccard_keys(surface, &mut keys);
    lemma_key(surface, &mut keys);
    if let Some(vector) = vector {
        band_keys(vector, &mut keys);
    }
    let digits: String = norm.chars().filter(char::is_ascii_digit).collect();
    let digits = xxh3_64_with_seed(digits.as_bytes(), 0);
    // Digits come first, so that the keys of one numbered name are neighbors in the index's tree; otherwise each of its
    // twenty keys would touch a page of its own.
    keys.iter_mut().for_each(|key| *key = digits << DIGIT_SHIFT | *key >> (64 - DIGIT_SHIFT));
    // The other words about a product may hold any digits.
    keys.extend(model_numbers_of(surface).iter().map(|it| xxh3_64_with_seed(it.as_bytes(), 6)));
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// Returns the keys by which a given name or a surname finds whole names of people that begin or end with it.
pub fn person_keys(surface: &str) -> Vec<u64> {
    let words = tokens_of(surface);
    let ends = [words.first(), words.last()].into_iter().flatten();
    let mut keys: Vec<u64> = ends.map(|word| xxh3_64_with_seed(word.as_bytes(), 8)).collect();
    keys.dedup();
    keys
}

/// Adds the key of the lemmas: names of the same words in other inflections share it.
fn lemma_key(surface: &str, keys: &mut Vec<u64>) {
    let lemmas: Vec<String> = lemmas_of(surface).into_iter().collect();
    if !lemmas.is_empty() {
        keys.push(xxh3_64_with_seed(lemmas.join(" ").as_bytes(), 7));
    }
}

/// Two norms within one edit are equal after at most one deletion in each (symmetric deletion). These keys are exact:
/// many names with a common beginning (`service…`) do not share one. In long norms, where one key for each deletion
/// is too much, one edit leaves one half unchanged, so the halves are keys.
fn edit_keys(norm: &str, keys: &mut Vec<u64>) {
    let chars: Vec<char> = norm.chars().collect();
    if chars.len() < MIN_EDIT_CHARS {
        return;
    }
    if chars.len() > MAX_DELETION_CHARS {
        for half in [chars.len() / 2, (chars.len() - 1) / 2] {
            let head: String = chars.iter().take(half).collect();
            let tail: String = chars.iter().skip(chars.len() - half).collect();
            keys.push(xxh3_64_with_seed(head.as_bytes(), 1));
            keys.push(xxh3_64_with_seed(tail.as_bytes(), 2));
        }
        // A norm one character longer may have a neighbor that is short enough for deletions, so it gets both.
        if chars.len() > MAX_DELETION_CHARS + 1 {
            return;
        }
    }
    keys.push(xxh3_64_with_seed(norm.as_bytes(), 4));
    for without in 0..chars.len() {
        let rest: String =
            chars.iter().enumerate().filter(|(i, _)| *i != without).map(|(_, c)| c).collect();
        keys.push(xxh3_64_with_seed(rest.as_bytes(), 4));
    }
}

/// Token sets of which neither contains the other (see `features::one_specifies_the_other`) reach 0.6 only when they
/// are equal or, from four words on, differ in one word each: the set and its subsets without one word are keys. Longer
/// sets use prefix filtering: of sets in one global order, two with Jaccard ≥ t share one of their first `n − ⌈t·n⌉ +
/// 1` elements.
fn jaccard_keys(surface: &str, keys: &mut Vec<u64>) {
    let mut tokens: Vec<u64> =
        words_of(surface).iter().map(|token| xxh3_64_with_seed(token.as_bytes(), 3)).collect();
    tokens.sort_unstable();
    tokens.dedup();
    let set_key = |left_out: usize| {
        let kept = tokens.iter().enumerate().filter(|(i, _)| *i != left_out);
        let bytes: Vec<u8> = kept.flat_map(|(_, token)| token.to_le_bytes()).collect();
        xxh3_64_with_seed(&bytes, 5)
    };
    match tokens.len() {
        0 | 1 => {}
        2 | 3 => keys.push(set_key(usize::MAX)),
        4 | 5 => {
            keys.push(set_key(usize::MAX));
            keys.extend((0..tokens.len()).map(set_key));
        }
        n => {
            let needed = (MIN_JACCARD * n as f32).ceil() as usize;
            keys.extend(tokens.iter().take(n - needed + 1));
        }
    }
}

fn band_keys(vector: &UnitVector, keys: &mut Vec<u64>) {
    // The zero vector would share its bits with every other one.
    if vector.0.iter().all(|component| *component == 0) {
        return;
    }
    for (band, components) in vector.0.chunks_exact(BAND_BITS).take(BANDS).enumerate() {
        let bits = components.iter().fold(0u64, |bits, c| bits << 1 | u64::from(*c >= 0));
        keys.push(xxh3_64_with_seed(&bits.to_le_bytes(), 16 + band as u64));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::features::{
        Words, digits_agree, edit_distance_is_one, jaccard, one_specifies_the_other,
    };
    use model::terms::norm_of;
    use proptest::prelude::*;

    fn meet(a: &str, b: &str) -> bool {
        let keys = keys_of(a, &norm_of(a), None);
        keys_of(b, &norm_of(b), None).iter().any(|key| keys.contains(key))
    }

    #[test]
    fn near_names_meet_and_far_ones_do_not() {
        let rows = [
            ("Signing Service", "Signing Services", true),
            ("Signing Service", "Sigming Service", true),
            ("the Key Management Service", "Key Management Service", true),
            ("Signing Service", "Billing Portal", false),
            ("custom filtering", "Custom Filters", true),
            ("Sony Turntable 2 - PSLX350H", "Sony PS-LX350H Turntable", true),
            ("Service 12", "Service 13", false),
            ("Alpha Service", "Beta Service", false),
        ];
        for (a, b, expected) in rows {
            assert_eq!(meet(a, b), expected, "{a} / {b}");
        }
    }

    proptest! {
        #[test]
        fn one_edit_always_meets(name in "[a-z]{6,20}", at in 0usize..20, letter in "[a-z]", kind in 0u8..3) {
            let mut chars: Vec<char> = name.chars().collect();
            let at = at.min(chars.len() - 1);
            let letter = letter.chars().next().unwrap_or('x');
            match kind {
                0 => chars[at] = letter,
                1 => chars.insert(at, letter),
                _ => { chars.remove(at); }
            }
            let other: String = chars.into_iter().collect();
            prop_assume!(other != name && other.len() >= MIN_EDIT_CHARS);
            prop_assert!(edit_distance_is_one(&name, &other));
            prop_assert!(meet(&name, &other), "{name} / {other}");
        }

        #[test]
        fn like_token_sets_always_meet(a in proptest::collection::vec("[a-e]{1,2}", 2..6),
                                       b in proptest::collection::vec("[a-e]{1,2}", 2..6)) {
            let (a, b) = (a.join(" "), b.join(" "));
            let n = |s: &str| words_of(s).len();
            let is_long = n(&a) > 5 || n(&b) > 5;
            let (words_a, words_b) = (Words::of(&a), Words::of(&b));
            let is_alike = jaccard(&words_a, &words_b) >= MIN_JACCARD
                && !one_specifies_the_other(&words_a, &words_b);
            let comparable = n(&a) > 1 && n(&b) > 1 && !is_long;
            let digits_agree = digits_agree(&norm_of(&a), &norm_of(&b));
            if comparable && digits_agree && is_alike {
                prop_assert!(meet(&a, &b), "{a} / {b}");
            }
        }
    }
}
