//! The five features of S4 §7, each in [0, 1], and their weighted sum.

use std::collections::BTreeSet;

use config::settings::Link;

use model::terms::{EntityType, tokens_of};

/// The features of one candidate.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Features {
    /// Cosine of the two names' vectors.
    pub cosine: f32,
    /// Similarity of the letters.
    pub string: f32,
    /// Agreement of types: 1, 0.5 or 0.
    pub entity_type: f32,
    /// Share of common headings, titles and tags.
    pub context: f32,
    /// How many documents contain the candidate, on a logarithmic scale.
    pub popularity: f32,
}

impl Features {
    /// Returns S4 §7's score: the weighted sum of the features.
    pub fn score(&self, weights: &Link) -> f32 {
        weights.cosine * self.cosine
            + weights.string * self.string
            + weights.entity_type * self.entity_type
            + weights.context * self.context
            + weights.popularity * self.popularity
    }

    /// Returns the features with their names, for display.
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

/// Returns the similarity of two norms: 1 − edit distance / longer length.
pub fn string_similarity(a: &str, b: &str) -> f32 {
    strsim::normalized_levenshtein(a, b) as f32
}

/// What is compared of a surface many times.
#[derive(Debug, Clone)]
pub struct Words {
    /// See [`words_of`].
    plain: BTreeSet<String>,
    /// See [`lemmas_of`].
    lemmas: BTreeSet<String>,
}

impl Words {
    /// Reads a surface.
    pub fn of(surface: &str) -> Self {
        let plain = words_of(surface);
        Words { lemmas: plain.iter().map(|word| lemma(word)).collect(), plain }
    }
}

/// Returns the Jaccard index of two surfaces' words without articles.
pub fn jaccard(a: &Words, b: &Words) -> f32 {
    let n_common = a.plain.intersection(&b.plain).count();
    let n_all = a.plain.len() + b.plain.len() - n_common;
    if n_all == 0 { 0.0 } else { n_common as f32 / n_all as f32 }
}

/// True when one surface has all words of the other and more: `Foam` and `Using Foam`, `Key Service` and
/// `Key Management Service`. Ignores articles and possessives.
pub fn one_specifies_the_other(a: &Words, b: &Words) -> bool {
    let (a, b) = (&a.plain, &b.plain);
    a != b && (a.is_subset(b) || b.is_subset(a))
}

/// Returns the words of a surface without articles and possessives, which specify nothing.
pub fn words_of(surface: &str) -> BTreeSet<String> {
    const EMPTY_WORDS: [&str; 6] = ["a", "an", "the", "our", "your", "this"];
    tokens_of(surface).into_iter().filter(|word| !EMPTY_WORDS.contains(&word.as_str())).collect()
}

/// True when one insertion, deletion or replacement turns one norm into the other.
pub fn edit_distance_is_one(a: &str, b: &str) -> bool {
    a.chars().count().abs_diff(b.chars().count()) <= 1 && strsim::levenshtein(a, b) == 1
}

/// Words that distinguish members of a series as digits do: `World War II`, `Second Division`, `North Korea`.
const SERIES: [&str; 36] = [
    "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii", "first", "second",
    "third", "fourth", "fifth", "sixth", "seventh", "north", "south", "east", "west", "northern",
    "southern", "eastern", "western", "upper", "lower", "junior", "senior", "jr", "sr", "eighth",
    "ninth", "tenth",
];

/// True when two surfaces have the same series words, or none.
pub fn series_agree(a: &Words, b: &Words) -> bool {
    fn places(words: &Words) -> impl Iterator<Item = &String> {
        words.plain.iter().filter(|word| SERIES.contains(&word.as_str()))
    }
    places(a).eq(places(b))
}

/// Returns approximate dictionary forms of a surface's words, good enough to compare: `Custom Filters` and `custom
/// filtering`, `Priority` and `Priorities`. Removes only endings of English inflection, never of derivation.
pub fn lemmas_of(surface: &str) -> BTreeSet<String> {
    words_of(surface).iter().map(|word| lemma(word)).collect()
}

pub(super) fn lemma(word: &str) -> String {
    /// Shortest stem that may lose an ending.
    const MIN_STEM: usize = 4;
    let stem = |ending: &str| word.strip_suffix(ending).filter(|stem| stem.len() >= MIN_STEM);
    let stem = match () {
        // Only `-ies` changes the stem: `priorities` is `priority`, not `prioriti`.
        () if stem("ies").is_some() => return format!("{}y", stem("ies").unwrap_or(word)),
        () if word.ends_with("ss") || word.ends_with("us") => word,
        () => stem("ing").or(stem("ed")).or(stem("es")).or(stem("s")).unwrap_or(word),
    };
    let bytes = stem.as_bytes();
    // Undo a doubled consonant (`stopping`), and drop a final `e` so that `postpone` equals `postponing`.
    let is_doubled = stem.len() < word.len()
        && bytes.len() > MIN_STEM
        && bytes.last() == bytes.get(bytes.len() - 2)
        && !matches!(bytes.last(), Some(b'l' | b's' | b'z'));
    let stem = if is_doubled { stem.get(..stem.len() - 1).unwrap_or(stem) } else { stem };
    let stem = if stem.len() > MIN_STEM { stem.strip_suffix('e').unwrap_or(stem) } else { stem };
    stem.to_string()
}

/// True when two names are the same words in another inflection.
pub fn are_inflections(a: &Words, b: &Words) -> bool {
    !a.lemmas.is_empty() && a.lemmas == b.lemmas
}

/// Fewest characters and fewest digits of a model number: shorter ones (`1080p`, `Oracle8`) name a family.
const MODEL_NUMBER: (usize, usize) = (6, 2);

/// Returns the words of letters and digits that identify one product (`PS-LX350H`), reduced to letters and digits.
pub fn model_numbers_of(surface: &str) -> BTreeSet<String> {
    let words = surface.split(|c: char| c.is_whitespace() || c == '/');
    let reduced = words.map(|word| {
        word.chars()
            .filter(|c| c.is_alphanumeric())
            .flat_map(char::to_lowercase)
            .collect::<String>()
    });
    reduced
        .filter(|word| {
            let n_digits = word.chars().filter(char::is_ascii_digit).count();
            let n_chars = word.chars().count();
            n_chars >= MODEL_NUMBER.0 && n_digits >= MODEL_NUMBER.1 && n_digits < n_chars
        })
        .collect()
}

/// True when two names of products have a model number in common.
pub fn share_a_model_number(a: &str, b: &str) -> bool {
    !model_numbers_of(a).is_disjoint(&model_numbers_of(b))
}

/// Returns 1 when the types are equal, 0.5 when one of them is unspecific (concept, document), 0 when they conflict.
pub fn type_agreement(a: EntityType, b: EntityType) -> f32 {
    let is_unspecific = |t| matches!(t, EntityType::Concept | EntityType::Document);
    match () {
        () if a == b => 1.0,
        () if is_unspecific(a) || is_unspecific(b) => 0.5,
        () => 0.0,
    }
}

/// Returns the number of common words divided by the size of the smaller set; 0 when a set is empty.
pub fn context_overlap(a: &BTreeSet<String>, b: &BTreeSet<String>) -> f32 {
    let smaller = a.len().min(b.len());
    if smaller == 0 { 0.0 } else { a.intersection(b).count() as f32 / smaller as f32 }
}

/// Grows with the logarithm of the number of documents that contain the norm, and is 1 from 100 documents on. Does
/// not depend on the size of the folder, so one new file does not change every score.
pub fn popularity(n_docs: u32) -> f32 {
    ((1.0 + n_docs as f32).ln() / 101f32.ln()).min(1.0)
}

/// True when both have the same digits: `ISO 27001` and `ISO 27002` are different things.
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
    fn inflections_differ_from_other_words() {
        let rows = [
            ("custom filtering", "Custom Filters", true),
            ("Priorities", "Priority", true),
            ("task property", "Task Properties", true),
            ("postpone", "Postponing", true),
            ("stopped tasks", "stop task", true),
            ("Organ", "Organization", false),
            ("Policy", "Police", false),
            ("Status", "State", false),
            ("News", "New", false),
        ];
        for (a, b, expected) in rows {
            assert_eq!(are_inflections(&Words::of(a), &Words::of(b)), expected, "{a} / {b}");
        }
    }

    #[test]
    fn a_model_number_is_the_same_however_it_is_hyphenated() {
        assert!(share_a_model_number(
            "Sony Turntable - PSLX350H",
            "Sony PS-LX350H Belt-Drive Turntable"
        ));
        assert!(!share_a_model_number("Toshiba 1080p Recorder", "Samsung 1080p HDTV"));
        assert!(!share_a_model_number("Indexing in Oracle8i", "Oracle8i"));
    }

    #[test]
    fn members_of_a_series_are_kept_apart() {
        let agree = |a: &str, b: &str| series_agree(&Words::of(a), &Words::of(b));
        assert!(!agree("World War I", "World War II"));
        assert!(!agree("First Division", "Second Division"));
        assert!(agree("the Third Man", "Third Man"));
    }

    #[test]
    fn features_are_what_they_say() {
        assert!((string_similarity("signingservice", "signingservices") - 0.933).abs() < 0.01);
        let words = ["Key Management Service", "the key-management service"].map(Words::of);
        assert_eq!(jaccard(&words[0], &words[1]), 1.0);
        assert!(edit_distance_is_one("signing", "sigming"));
        assert!(!edit_distance_is_one("signing", "signing"));
        assert!(!digits_agree("iso27001", "iso27002"));
        assert_eq!(type_agreement(EntityType::Person, EntityType::Service), 0.0);
        assert_eq!(type_agreement(EntityType::Person, EntityType::Concept), 0.5);
        assert!(popularity(0) == 0.0 && popularity(100) == 1.0 && popularity(5000) == 1.0);
    }
}
