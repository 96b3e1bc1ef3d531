//! Alike: finds the known name of which a new one is another spelling (S2's entity resolution).
//!
//! In: a name from a model, and the known names. Out: the known one, if there is one.
//! Invariants: pure and deterministic: the most similar name wins, the first one among equals. Similarity is S2's: the
//! ratio of Python's `difflib.SequenceMatcher` over lowercase characters, at least .85, whatever the types. Names with
//! different digits (`python 2`, `python 3`) never match, although S2's formula alone would join them.

use std::collections::HashMap;

/// Least ratio for a match.
pub const ALIKE: f64 = 0.85;

/// Returns the position in `known` of the name of which `name` is a spelling.
pub fn nearest<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<usize> {
    let name = folded(name);
    let mut best: Option<(usize, f64)> = None;
    for (at, other) in known.into_iter().enumerate() {
        let other = folded(other);
        // The bound on the lengths is cheap and spares most pairs the quadratic ratio.
        if digits(&other) != digits(&name) || highest(name.len(), other.len()) < ALIKE {
            continue;
        }
        let ratio = ratio(&name, &other);
        if ratio >= ALIKE && best.is_none_or(|(_, so_far)| ratio > so_far) {
            best = Some((at, ratio));
        }
    }
    best.map(|(at, _)| at)
}

/// Lowercases, and joins words with one space: ids join them with `-`, models with anything.
fn folded(name: &str) -> Vec<char> {
    let joined = name.replace(['-', '_'], " ");
    joined.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase().chars().collect()
}

fn digits(name: &[char]) -> Vec<char> {
    name.iter().copied().filter(|c| c.is_numeric()).collect()
}

/// Returns the highest ratio that texts of these lengths can have.
fn highest(one: usize, other: usize) -> f64 {
    match one + other {
        0 => 1.0,
        sum => 2.0 * one.min(other) as f64 / sum as f64,
    }
}

/// Returns twice the characters in matching blocks divided by all characters: 1 for equal texts.
pub fn ratio(one: &[char], other: &[char]) -> f64 {
    match one.len() + other.len() {
        0 => 1.0,
        sum => 2.0 * n_matching(one, other) as f64 / sum as f64,
    }
}

/// Counts the characters of the longest common block and, recursively, of those left and right of it (Ratcliff and
/// Obershelp).
fn n_matching(one: &[char], other: &[char]) -> usize {
    let mut places: HashMap<char, Vec<usize>> = HashMap::new();
    for (at, c) in other.iter().enumerate() {
        places.entry(*c).or_default().push(at);
    }
    // Pairs of ranges still to compare, instead of recursion.
    let mut open = vec![(0..one.len(), 0..other.len())];
    let mut n_all = 0;
    while let Some((left, right)) = open.pop() {
        let mut best = (left.start, right.start, 0);
        // Lengths of the common blocks that end at each place of `other` and at `i`; one row of the usual table.
        let mut lengths: HashMap<usize, usize> = HashMap::new();
        for i in left.clone() {
            let mut next = HashMap::new();
            let here = one.get(i).and_then(|c| places.get(c)).into_iter().flatten();
            for &j in here.filter(|j| right.contains(j)) {
                // A block that ends here extends the one that ends one place earlier in both texts.
                let before = j.checked_sub(1).and_then(|j| lengths.get(&j)).copied().unwrap_or(0);
                let length = before + 1;
                next.insert(j, length);
                // `>` keeps the first of equally long blocks, as `difflib` does.
                if length > best.2 {
                    best = (i + 1 - length, j + 1 - length, length);
                }
            }
            lengths = next;
        }
        let (i, j, length) = best;
        if length > 0 {
            n_all += length;
            open.push((left.start..i, right.start..j));
            open.push((i + length..left.end, j + length..right.end));
        }
    }
    n_all
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ratios_are_those_of_python() {
        // `difflib.SequenceMatcher(None, a, b).ratio()` of Python 3.
        let rows = [
            ("asyncio", "asyncio", 1.0),
            ("async io", "asyncio", 0.933_333),
            ("kubernetes", "kubernets", 0.947_368),
            ("postgresql", "postgres", 0.888_889),
            ("sqlite-vec", "sqlite", 0.75),
            ("graph rag", "rag graph", 0.555_556),
            ("abxcd", "abcd", 0.888_889),
            ("tide", "diet", 0.25),
            ("diet", "tide", 0.5),
            ("", "", 1.0),
            ("a", "", 0.0),
        ];
        for (one, other, expected) in rows {
            let chars = |text: &str| text.chars().collect::<Vec<_>>();
            let found = ratio(&chars(one), &chars(other));
            assert!((found - expected).abs() < 1e-6, "{one} {other}: {found}");
        }
    }

    #[test]
    fn spellings_are_joined_and_versions_are_not() {
        let known = ["asyncio", "postgresql", "python-3", "sqlite"];
        let found = |name| nearest(name, known).map(|at| known[at]);
        assert_eq!(found("Async IO"), Some("asyncio"));
        assert_eq!(found("PostgreSQL"), Some("postgresql"));
        assert_eq!(found("Postgres"), Some("postgresql"));
        assert_eq!(found("Python_3"), Some("python-3"));
        assert_eq!(found("Python 2"), None);
        assert_eq!(found("SQLAlchemy"), None);
        assert_eq!(nearest("ab", ["ab", "ab"]), Some(0), "of equals the first");
        assert_eq!(nearest("ab", []), None);
    }

    proptest! {
        #[test]
        fn ratios_lie_between_none_and_all(one in "[abé ]{0,20}", other in "[abé ]{0,20}") {
            let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
            let found = ratio(&one, &other);
            prop_assert!((0.0..=1.0).contains(&found));
            prop_assert!(found <= highest(one.len(), other.len()) + 1e-9);
            prop_assert_eq!(ratio(&one, &one), 1.0);
        }
    }
}
