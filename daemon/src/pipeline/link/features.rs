//! The five features of S4 §7, each in [0, 1], and their weighted sum.

use std::collections::BTreeSet;

use config::settings::Link;

use crate::terms::{EntityType, tokens_of};

/// The features of one candidate.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Features {
    /// Cosine of the name's vector and the candidate's.
    pub cosine: f32,
    /// Likeness of the letters.
    pub string: f32,
    /// Agreement of types.
    pub entity_type: f32,
    /// Share of headings, titles and tags in common.
    pub context: f32,
    /// How widely the candidate is known.
    pub popularity: f32,
}

impl Features {
    /// S4 §7's score: each feature by its weight, summed.
    pub fn score(&self, weights: &Link) -> f32 {
        weights.cosine * self.cosine
            + weights.string * self.string
            + weights.entity_type * self.entity_type
            + weights.context * self.context
            + weights.popularity * self.popularity
    }

    /// The features by name, for people.
    pub fn named(&self) -> [(&'static str, f32); 5] {
        [
            ("cosine", self.cosine),
            ("string", self.string),
            ("type", self.entity_type),
            ("context", self.context),
            ("popularity", self.popularity),
        ]
    }
}

/// Likeness of two norms: 1 − edit distance / longer length.
pub fn string_similarity(a: &str, b: &str) -> f32 {
    strsim::normalized_levenshtein(a, b) as f32
}

/// Jaccard index of two surfaces' words, articles left out.
pub fn jaccard(a: &str, b: &str) -> f32 {
    let (a, b) = (words_of(a), words_of(b));
    let union = a.union(&b).count();
    if union == 0 { 0.0 } else { a.intersection(&b).count() as f32 / union as f32 }
}

/// True when one surface has all words of the other and more: `Foam` and `Using Foam`, `Key Service` and `Key
/// Management Service`. Articles and possessives do not count.
pub fn one_specifies_the_other(a: &str, b: &str) -> bool {
    let (a, b) = (words_of(a), words_of(b));
    a != b && (a.is_subset(&b) || b.is_subset(&a))
}

/// The words of a surface without articles and possessives, which specify nothing.
pub fn words_of(surface: &str) -> BTreeSet<String> {
    const EMPTY_WORDS: [&str; 6] = ["a", "an", "the", "our", "your", "this"];
    tokens_of(surface).into_iter().filter(|word| !EMPTY_WORDS.contains(&word.as_str())).collect()
}

/// True when one insertion, deletion or replacement turns one norm into the other.
pub fn edit_distance_is_one(a: &str, b: &str) -> bool {
    a.chars().count().abs_diff(b.chars().count()) <= 1 && strsim::levenshtein(a, b) == 1
}

/// 1 when the types agree, 0.5 when one of them says little, 0 when they conflict.
pub fn type_agreement(a: EntityType, b: EntityType) -> f32 {
    let says_little = |t| matches!(t, EntityType::Concept | EntityType::Document);
    match () {
        () if a == b => 1.0,
        () if says_little(a) || says_little(b) => 0.5,
        () => 0.0,
    }
}

/// Shared context words over the smaller set.
pub fn context_overlap(a: &BTreeSet<String>, b: &BTreeSet<String>) -> f32 {
    let smaller = a.len().min(b.len());
    if smaller == 0 { 0.0 } else { a.intersection(b).count() as f32 / smaller as f32 }
}

/// Grows with the logarithm of the documents that contain the norm; 1 from 100 documents on. Not relative to
/// the size of the folder, so that one new file does not move every score.
pub fn popularity(n_docs: u32) -> f32 {
    ((1.0 + n_docs as f32).ln() / 101f32.ln()).min(1.0)
}

/// Names with different numbers (`ISO 27001` and `ISO 27002`) are different things.
pub fn digits_agree(a: &str, b: &str) -> bool {
    a.chars().filter(char::is_ascii_digit).eq(b.chars().filter(char::is_ascii_digit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exact_name_of_the_right_type_scores_as_design_md_says() {
        // design.md: exact name, right type, no context: .64 to .73 depending on the cosine.
        for (cosine, low, high) in [(0.5, 0.60, 0.66), (0.7, 0.70, 0.74)] {
            let features =
                Features { cosine, string: 1.0, entity_type: 1.0, ..Features::default() };
            let score = features.score(&Link::default());
            assert!((low..=high).contains(&score), "{score}");
        }
    }

    #[test]
    fn each_feature_alone_moves_the_score_by_its_weight() {
        let weights = Link::default();
        let one = Features { cosine: 1.0, ..Features::default() };
        assert_eq!(one.score(&weights), 0.45);
        let all =
            Features { cosine: 1.0, string: 1.0, entity_type: 1.0, context: 1.0, popularity: 1.0 };
        assert!((all.score(&weights) - 1.0).abs() < 1e-6);
    }

    #[test]
    fn features_are_what_they_say() {
        assert!((string_similarity("signingservice", "signingservices") - 0.933).abs() < 0.01);
        assert_eq!(jaccard("Key Management Service", "the key-management service"), 1.0);
        assert!(edit_distance_is_one("signing", "sigming"));
        assert!(!edit_distance_is_one("signing", "signing"));
        assert!(!digits_agree("iso27001", "iso27002"));
        assert_eq!(type_agreement(EntityType::Person, EntityType::Service), 0.0);
        assert_eq!(type_agreement(EntityType::Person, EntityType::Concept), 0.5);
        assert!(popularity(0) == 0.0 && popularity(100) == 1.0 && popularity(5000) == 1.0);
    }
}
