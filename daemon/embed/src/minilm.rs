//! MiniLM: the built-in sentence model, all-MiniLM-L6-v2 in int8.
//!
//! Invariants: nothing is loaded before the first text comes; then it takes some 70 MB as long as it exists.
//! Not here: computing (the crate `onnx`), when texts are embedded.

use std::sync::OnceLock;

use onnx::Carried;

use super::transformer::{TransformerModel, quiet};
use super::{EmbedError, Embedder};
use model::parcel::UnitVector;

/// Model, revision and quantization: of the weights, and of a vector's components.
const SPACE: &str = "all-MiniLM-L6-v2@1/i8x254";

/// Components of a vector.
const N_DIMENSIONS: usize = 384;

/// The committed files. The model was trained on 256 tokens, special ones included, and reads longer texts badly.
const CARRIED: Carried = Carried {
    name: "minilm-l6 (built in)",
    model: include_bytes!("../../models/minilm-l6/model.onnx"),
    tokenizer: include_bytes!("../../models/minilm-l6/tokenizer.json"),
    max_tokens: 256,
};

/// The built-in model, loaded at its first use.
#[derive(Default)]
pub struct MiniLm {
    loaded: OnceLock<Result<TransformerModel, EmbedError>>,
}

impl MiniLm {
    fn model(&self) -> Result<&TransformerModel, EmbedError> {
        let load = || {
            TransformerModel::carried(&CARRIED, SPACE)
                .map_err(|error| EmbedError::Model { why: error.to_string() })
        };
        self.loaded.get_or_init(load).as_ref().map_err(Clone::clone)
    }
}

impl Embedder for MiniLm {
    fn space(&self) -> &str {
        SPACE
    }

    fn dimensions(&self) -> usize {
        N_DIMENSIONS
    }

    fn is_english_only(&self) -> bool {
        true
    }

    fn try_embed(&self, texts: &[&str]) -> Result<Vec<UnitVector>, EmbedError> {
        self.model()?.try_embed(texts)
    }

    fn try_floats(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        self.model()?.try_floats(texts)
    }

    fn try_question_floats(&self, question: &str) -> Result<Vec<f32>, EmbedError> {
        self.model()?.try_question_floats(question)
    }

    fn embed(&self, texts: &[&str]) -> Vec<UnitVector> {
        quiet(self, texts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cosine;

    /// The one test that runs the real weights.
    #[test]
    fn what_means_the_same_is_near() {
        let model = MiniLm::default();
        let texts = [
            "How do I change the password of my account?",
            "Resetting your login credentials",
            "The harvest of olives begins in October.",
            "",
        ];
        let vectors = model.try_embed(&texts).expect("the committed model runs");
        assert!(vectors.iter().all(|vector| vector.0.len() == N_DIMENSIONS));
        let near = cosine(&vectors[0], &vectors[1]);
        let far = cosine(&vectors[0], &vectors[2]);
        assert!(near > 0.4 && far < 0.15, "{near} {far}");
        let long = format!("{} {}", "olives ".repeat(600), texts[0]);
        let cut = "olives ".repeat(254);
        let vectors = model.try_embed(&[&long, &cut]).expect("a long text is cut");
        assert_eq!(vectors[0], vectors[1], "256 tokens are read, two of them special");
    }
}
