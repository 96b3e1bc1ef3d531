//! Pair model: scores how well a passage answers a question, with a model that reads both together (a cross-encoder).
//!
//! In: two texts. Out: a number from 0 to 1.
//! Invariants: a function of the two texts and the folder; the passage is cut if both exceed a window. The number is
//! the logistic function of the one logit, or of the difference between the second and the first of two (not relevant,
//! relevant), as in sentence-transformers' `CrossEncoder`.

use std::path::Path;

use crate::ModelError;
use crate::folder::Folder;
use crate::model::Model;
use crate::tokens::Tokens;

/// A loaded model with its tokenizer; shared between threads.
pub struct PairModel {
    model: Model,
    tokens: Tokens,
    max_tokens: usize,
}

impl PairModel {
    /// Loads an ONNX file, `tokenizer.json` and `config.json` of a folder and runs the model once.
    ///
    /// # Errors
    /// When a file is missing, malformed, or of a kind that is not supported.
    pub fn load(folder: &Path) -> Result<Self, ModelError> {
        let folder = Folder(folder);
        let (_, config) = folder.config()?;
        let tokens = Tokens::load(&folder)?;
        let model = Model::load(&folder.model()?, &["logits"], None)?;
        let max_tokens = tokens.window_pieces(config.max_tokens()) + tokens.n_special();
        let loaded = PairModel { model, tokens, max_tokens };
        loaded.score("Does it run?", "It is tried, once.")?;
        Ok(loaded)
    }

    /// Returns the most tokens of both texts together, special ones included.
    pub fn max_tokens(&self) -> usize {
        self.max_tokens
    }

    /// Returns how well the passage answers the question, 0 to 1; 0 if the model gives no finite number.
    ///
    /// # Errors
    /// When the model fails on it.
    pub fn score(&self, question: &str, passage: &str) -> Result<f32, ModelError> {
        let (ids, kinds) = self.tokens.pair(question, passage, self.max_tokens)?;
        let output = self.model.run_of_kinds(&ids, &kinds)?;
        let logit = match (output.shape.as_slice(), output.numbers.as_slice()) {
            ([1] | [1, 1], [logit]) => *logit,
            // The softmax of two logits is the logistic function of their difference.
            ([1, 2], [no, yes]) => yes - no,
            (shape, _) => {
                let why = format!("gives {shape:?} numbers for a pair of texts, not one or two");
                return Err(self.model.error(why));
            }
        };
        Ok(if logit.is_finite() { 1.0 / (1.0 + (-logit).exp()) } else { 0.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    /// Each `yes` of the passage counts 2, each `no` takes 2 away; those of the question count nothing.
    fn model() -> (tempfile::TempDir, PairModel) {
        let folder = tempfile::tempdir().expect("a folder");
        sample::write_pair_model(folder.path(), &[("yes", 2.0), ("no", -2.0)]).expect("written");
        let model = PairModel::load(folder.path()).expect("a model");
        (folder, model)
    }

    #[test]
    fn the_passage_is_told_from_the_question() {
        let (_folder, model) = model();
        let score = |question, passage| model.score(question, passage).expect("scored");
        let near = |a: f32, b: f32| assert!((a - b).abs() < 1e-5, "{a} is not {b}");
        near(score("yes yes no", ""), 0.5);
        near(score("no", "yes"), 1.0 / (1.0 + (-2.0f32).exp()));
        near(score("yes", "no no"), 1.0 / (1.0 + 4.0f32.exp()));
    }

    #[test]
    fn what_is_longer_than_a_window_is_cut_at_the_end_of_the_passage() {
        let (_folder, model) = model();
        let max = model.max_tokens();
        let long = format!("{}{}", "a ".repeat(500), "yes ".repeat(500));
        assert!(
            (model.score("a", &long).expect("scored") - 0.5).abs() < 1e-5,
            "the end is not read"
        );
        let (ids, kinds) = model.tokens.pair(&long, &long, max).expect("joined");
        assert_eq!((ids.len(), kinds.len()), (max, max));
        assert!(
            kinds.iter().filter(|kind| **kind == 1).count() > max / 3,
            "the passage has its share"
        );
        let (ids, _) = model.tokens.pair("a", "b", max).expect("joined");
        assert_eq!(ids.len(), 5, "[CLS] a [SEP] b [SEP]");
    }

    #[test]
    fn a_model_of_another_kind_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        sample::write_tagger(folder.path(), &[("Ada", "A")]).expect("written");
        let error = PairModel::load(folder.path()).err().expect("no pairs").to_string();
        assert!(error.contains("numbers for a pair of texts, not one or two"), "{error}");
    }
}
