//! Transformer: sentence vectors of an ONNX model.
//!
//! In: the folder of a model; texts. Out: unit vectors.
//! Invariants: a text's vector does not depend on its batch; a text that the model fails on gets a vector of zeros.
//! Not here: computing (the crate `onnx`), windows of a document (`pipeline/chunk`), static vectors.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use onnx::{ModelError, SentenceModel};

use super::{Embedder, unit_vector};
use crate::pipeline::parcel::UnitVector;

/// A loaded model.
pub struct TransformerModel {
    model: SentenceModel,
    space: String,
    has_failed: AtomicBool,
}

impl TransformerModel {
    /// Loads the model of a folder; `space` names model, revision and quantization.
    ///
    /// # Errors
    /// When the folder holds no such model.
    pub fn open(folder: &Path, space: &str) -> Result<Self, ModelError> {
        let model = SentenceModel::load(folder)?;
        Ok(TransformerModel { model, space: space.to_string(), has_failed: AtomicBool::default() })
    }

    fn embed_one(&self, text: &str) -> UnitVector {
        let vector = self.model.embed(text).unwrap_or_else(|error| {
            // Once: what fails on one text may fail on thousands.
            if !self.has_failed.swap(true, Ordering::Relaxed) {
                tracing::warn!(%error, "the embedding model failed on a text, which is found by its words only");
            }
            vec![0.0; self.model.n_dimensions()]
        });
        unit_vector(&vector)
    }
}

impl Embedder for TransformerModel {
    fn space(&self) -> &str {
        &self.space
    }

    fn dimensions(&self) -> usize {
        self.model.n_dimensions()
    }

    fn embed(&self, texts: &[&str]) -> Vec<UnitVector> {
        texts.iter().map(|text| self.embed_one(text)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedder::cosine;

    #[test]
    fn vectors_are_of_the_text_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        onnx::sample::write_tagger(folder.path(), &[("Ada", "A"), ("Porto", "B")])
            .expect("written");
        let model = TransformerModel::open(folder.path(), "sample").expect("a model");
        assert_eq!((model.space(), model.dimensions()), ("sample", 3));
        let vectors = model.embed(&["Ada Ada Ada", "Porto", "", "Ada Ada Ada"]);
        assert_eq!(vectors[0], vectors[3]);
        assert_eq!(vectors[1], model.embed(&["Porto"])[0]);
        assert!(cosine(&vectors[0], &vectors[1]) < cosine(&vectors[0], &vectors[3]));
        assert!(TransformerModel::open(&folder.path().join("nowhere"), "sample").is_err());
    }
}
