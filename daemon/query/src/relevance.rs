//! Relevance: the probability that a text is relevant to a question, 0 to 1.
//!
//! Scores only compare the hits of one answer: each signal is divided by its best value, so the
//! nearest of many unrelated texts looks as good as a perfect hit. Three signals mean the same in
//! every answer and every folder: the share of the question's words in the text, rare words
//! counting more; the nearness of its best window, on the one scale of all models; and whether the
//! question has a name that the whole folder lacks. A logistic function combines them into one
//! number, so that answers of several projects can be compared, too.
//! In: signals. Out: a probability. Invariant: more words, a higher cosine and the absence of a
//! missing name never lower it.
//! The coefficients are fitted by `tests/benches/retrieval/floor.rs`, which prints them.

use config::settings::Floor;

/// The signals of a text and its folder for a question.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Signals {
    /// Share of the question's words in the text, rare words counting more, 0 to 1.
    pub words: f32,
    /// The nearness of the text's best window; `None` without vectors.
    pub near: Option<f32>,
    /// Whether the question has a name that no text of the folder has.
    pub lacks_name: bool,
}

/// Coefficients: the logit is `base + words · share + near · (nearness - floor) - lacks_name`.
struct Calibration {
    base: f32,
    words: f32,
    near: f32,
    lacks_name: f32,
}

/// Without and with vectors.
const BY_WORDS: Calibration = Calibration { base: -2.08, words: 4.78, near: 0.0, lacks_name: 1.2 };
const WITH_VECTORS: Calibration =
    Calibration { base: -1.15, words: 2.44, near: 5.8, lacks_name: 1.35 };

/// Returns the probability that a text with these signals is relevant to the question.
pub(crate) fn relevance(floor: &Floor, signals: Signals) -> f32 {
    let (of, above) = match signals.near {
        None => (&BY_WORDS, 0.0),
        Some(near) => (&WITH_VECTORS, near - floor.vector),
    };
    let lacking = if signals.lacks_name { of.lacks_name } else { 0.0 };
    let logit = of.base + of.words * signals.words + of.near * above - lacking;
    1.0 / (1.0 + (-logit).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_all_words_fits_whatever_its_vector_and_what_holds_none_must_be_near() {
        let floor = Floor::default();
        for (words, near, lacks_name, fits) in [
            (1.0, None, false, true),
            (0.1, None, false, false),
            (1.0, Some(0.1), false, true),
            (0.0, Some(0.6), false, true),
            (0.2, Some(0.2), false, false),
            (0.3, Some(0.45), false, true),
            (0.3, Some(0.45), true, false),
        ] {
            let found = relevance(&floor, Signals { words, near, lacks_name });
            assert_eq!(found >= floor.relevance, fits, "{words} {near:?} {lacks_name}: {found}");
        }
    }
}
