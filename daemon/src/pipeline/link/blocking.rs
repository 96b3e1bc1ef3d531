//! Blocking: keys that two names must share before they are compared (S4 §7).
//!
//! Keys are pure functions of one name, so which pairs meet cannot depend on order. They promise: every pair of
//! norms within edit distance 1 meets; every pair of token sets with Jaccard ≥ 0.6 meets; pairs of vectors with
//! cosine ≥ τ₁ = 0.9 meet with a probability of about 0.75 (locality-sensitive sign bits).
//! Not here: whether the pair is one entity (`resolve.rs`).

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::pipeline::parcel::UnitVector;
use crate::terms::tokens_of;

/// Shortest norm, in characters, for which one typing error is tolerated; in shorter ones it makes another name.
pub const MIN_EDIT_CHARS: usize = 6;

/// Two token sets below this Jaccard index are never compared (S4 §7).
pub const MIN_JACCARD: f32 = 0.6;

/// Sign-bit bands a vector gives, and bits of each. At cosine 0.9 two bits agree with probability 0.86, so one
/// band of 12 agrees with 0.16 and one of 8 bands with 0.75; unrelated names share a band with 8 / 4096.
const BANDS: usize = 8;
const BAND_BITS: usize = 12;

/// Every key of one name.
pub fn keys_of(surface: &str, norm: &str, vector: Option<&UnitVector>) -> Vec<u64> {
    let mut keys = Vec::with_capacity(16);
    edit_keys(norm, &mut keys);
    jaccard_keys(surface, &mut keys);
    if let Some(vector) = vector {
        band_keys(vector, &mut keys);
    }
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// One edit leaves either the first or the second half of a name as it was. Lengths may differ by one, so both
/// ways to halve are keyed.
fn edit_keys(norm: &str, keys: &mut Vec<u64>) {
    let chars: Vec<char> = norm.chars().collect();
    if chars.len() < MIN_EDIT_CHARS {
        return;
    }
    for half in [chars.len() / 2, (chars.len() - 1) / 2] {
        let head: String = chars.iter().take(half).collect();
        let tail: String = chars.iter().skip(chars.len() - half).collect();
        keys.push(xxh3_64_with_seed(head.as_bytes(), 1));
        keys.push(xxh3_64_with_seed(tail.as_bytes(), 2));
    }
}

/// Prefix filtering: of sets ordered in one global way, two with Jaccard ≥ t share one of their first
/// `n − ⌈t·n⌉ + 1` elements. The order is by hash, which no corpus can skew.
fn jaccard_keys(surface: &str, keys: &mut Vec<u64>) {
    let mut tokens: Vec<u64> =
        tokens_of(surface).iter().map(|t| xxh3_64_with_seed(t.as_bytes(), 3)).collect();
    tokens.sort_unstable();
    tokens.dedup();
    if tokens.len() < 2 {
        return;
    }
    let needed = (MIN_JACCARD * tokens.len() as f32).ceil() as usize;
    keys.extend(tokens.iter().take(tokens.len() - needed + 1));
}

fn band_keys(vector: &UnitVector, keys: &mut Vec<u64>) {
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
    use crate::pipeline::link::features::{edit_distance_is_one, jaccard};
    use crate::terms::norm_of;
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
            ("cat", "cats", false),
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
            let distinct = |s: &str| { let mut t = tokens_of(s); t.sort(); t.dedup(); t.len() };
            if distinct(&a) > 1 && distinct(&b) > 1 && jaccard(&a, &b) >= MIN_JACCARD {
                prop_assert!(meet(&a, &b), "{a} / {b}");
            }
        }
    }
}
