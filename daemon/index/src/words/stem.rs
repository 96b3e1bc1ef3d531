//! Stem: removes the endings of English words, by Snowball's English algorithm (Porter 2).

use rust_stemmers::Algorithm;

/// Longest word that is stemmed, bytes. A longer one is not English.
const MAX_BYTES: usize = 40;

/// Stems English words.
pub(super) struct Stemmer(rust_stemmers::Stemmer);

impl Default for Stemmer {
    fn default() -> Self {
        Stemmer(rust_stemmers::Stemmer::create(Algorithm::English))
    }
}

impl std::fmt::Debug for Stemmer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Stemmer")
    }
}

impl Stemmer {
    /// Returns the stem of a folded word; `None` for a word that cannot be English.
    pub(super) fn stem(&self, word: &str) -> Option<String> {
        let may_have = (3..=MAX_BYTES).contains(&word.len())
            && word.bytes().all(|byte| byte.is_ascii_lowercase());
        may_have.then(|| self.0.stem(word).into_owned())
    }
}
