//! Scores of extracted text against gold text: F1 of words, or of runs of words, as bags.
//!
//! In: two texts. Out: a number from 0 to 1. This is the usual measure for the bodies of articles,
//! where runs of four words also cover their order.

use std::collections::BTreeMap;

/// Returns the runs of letters, digits and `_`, in lowercase.
pub fn words_of(text: &str) -> Vec<String> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let words = text.split(|c: char| !is_part(c)).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

/// How often each run of words occurs.
#[derive(Debug, Default)]
pub struct Bag<'w>(BTreeMap<&'w [String], usize>);

impl<'w> Bag<'w> {
    /// Counts the runs of `n_words` in a text; a shorter text is one run, an empty one has none.
    pub fn of(words: &'w [String], n_words: usize) -> Self {
        let mut bag = Bag::default();
        for run in words.windows(n_words.min(words.len()).max(1)) {
            *bag.0.entry(run).or_default() += 1;
        }
        bag
    }

    /// Returns the harmonic mean of precision and recall; two empty bags agree.
    pub fn f1(&self, found: &Bag<'_>) -> f64 {
        let n_of = |bag: &Bag<'_>| bag.0.values().sum::<usize>();
        let in_both = |(run, n): (&&[String], &usize)| *n.min(found.0.get(*run).unwrap_or(&0));
        let n_both = self.0.iter().map(in_both).sum::<usize>();
        let n_all = n_of(self) + n_of(found);
        if n_all == 0 { 1.0 } else { 2.0 * n_both as f64 / n_all as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::{Bag, words_of};

    #[test]
    fn texts_agree_by_words_and_by_order() {
        let [gold, same, turned] =
            ["One two, three FOUR five.", "one two three four five", "five four three two one"]
                .map(words_of);
        let score = |found: &[String], n: usize| Bag::of(&gold, n).f1(&Bag::of(found, n));
        assert_eq!((score(&same, 1), score(&same, 4)), (1.0, 1.0));
        assert_eq!((score(&turned, 1), score(&turned, 4)), (1.0, 0.0));
        assert_eq!((score(&[], 1), Bag::of(&[], 4).f1(&Bag::of(&[], 4))), (0.0, 1.0));
    }
}
