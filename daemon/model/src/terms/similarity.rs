//! Similarity: the share of words that two texts have in common.
//!
//! In: two texts. Out: a number in [0, 1]: twice the shared words over all words of both (Dice), repeated words
//! counted as often as they occur. Order does not matter, so moving a paragraph changes nothing.
//! Exact for texts of up to [`MOST_KEPT`] words; longer ones are estimated from the words with the smallest hashes
//! (standard error .03), the same words in every run.

use xxhash_rust::xxh3::xxh3_64;

/// Similarity from which a text counts as an edited version of another (design.md).
pub const SAME_DOCUMENT: f64 = 0.8;

/// Words kept of a text: 4 KiB, so that thousands can be compared at once.
const MOST_KEPT: usize = 512;

/// A text reduced to what comparing needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sketch {
    n_words: usize,
    /// The smallest ones, sorted.
    hashes: Vec<u64>,
}

impl Sketch {
    /// Reduces a text.
    pub fn of(text: &str) -> Self {
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        let mut hashes: Vec<u64> =
            words.map(|word| xxh3_64(word.to_lowercase().as_bytes())).collect();
        hashes.sort_unstable();
        let n_words = hashes.len();
        let mut last = (0, 0);
        for hash in &mut hashes {
            last = if *hash == last.0 { (last.0, last.1 + 1) } else { (*hash, 0_u64) };
            if last.1 > 0 {
                // The second occurrence of a word is another element, so that the sketch is of a multiset.
                *hash = xxh3_64(&[last.0.to_le_bytes(), last.1.to_le_bytes()].concat());
            }
        }
        hashes.sort_unstable();
        hashes.truncate(MOST_KEPT);
        Sketch { n_words, hashes }
    }

    /// Returns the similarity; 0 if either has no words.
    pub fn similarity(&self, other: &Sketch) -> f64 {
        if self.n_words == 0 || other.n_words == 0 {
            return 0.0;
        }
        let is_exact = self.n_words.max(other.n_words) <= MOST_KEPT;
        let (n_union, n_common) =
            self.overlap(other, if is_exact { usize::MAX } else { MOST_KEPT });
        if is_exact {
            return 2.0 * n_common as f64 / (self.n_words + other.n_words) as f64;
        }
        // The smallest hashes of the union are a random sample of it: the Jaccard index of the sample estimates that
        // of the texts, and Dice = 2J / (1 + J).
        let jaccard = n_common as f64 / n_union.max(1) as f64;
        2.0 * jaccard / (1.0 + jaccard)
    }

    /// Returns the number of words in either and in both, among the `most` of smallest hash.
    fn overlap(&self, other: &Sketch, most: usize) -> (usize, usize) {
        overlap(self.hashes.iter(), other.hashes.iter(), most)
    }

    /// Returns false if the lengths differ so much that the two cannot be the same document.
    pub fn could_be(&self, other: &Sketch) -> bool {
        let (few, many) = (self.n_words.min(other.n_words), self.n_words.max(other.n_words));
        // At best, all words of the shorter are shared: twice `few` over both.
        few > 0 && 2.0 * few as f64 / (few + many) as f64 >= SAME_DOCUMENT
    }
}

/// Returns how many elements of two ascending sequences are in either and in both, repeated ones counted as often as
/// they occur, among the `most` smallest.
pub fn overlap<T: Ord>(
    left: impl Iterator<Item = T>,
    right: impl Iterator<Item = T>,
    most: usize,
) -> (usize, usize) {
    let (mut left, mut right) = (left.peekable(), right.peekable());
    let (mut n_union, mut n_common) = (0, 0);
    while n_union < most {
        let order = match (left.peek(), right.peek()) {
            (None, None) => break,
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (Some(a), Some(b)) => a.cmp(b),
        };
        if order.is_le() {
            left.next();
        }
        if order.is_ge() {
            right.next();
        }
        n_union += 1;
        n_common += usize::from(order.is_eq());
    }
    (n_union, n_common)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_as_alike_as_the_words_they_share() {
        let long: String = (0..5_000).map(|n| format!("word{n} ")).collect();
        let edited = long.replace("word1", "other1");
        let rows = [
            ("one two three four", "Four, three; two (one)", 1.0),
            ("one two three four", "one two three five", 0.75),
            ("a a a a", "a", 0.4),
            ("", "", 0.0),
            ("one", "", 0.0),
            (&long, &long, 1.0),
        ];
        for (one, other, expected) in rows {
            let found = Sketch::of(one).similarity(&Sketch::of(other));
            assert!((found - expected).abs() < 1e-9, "{one} {other}: {found}");
        }
        // 1,111 of 5,000 words differ.
        let found = Sketch::of(&long).similarity(&Sketch::of(&edited));
        assert!((found - 0.78).abs() < 0.06, "{found}");
    }
}
