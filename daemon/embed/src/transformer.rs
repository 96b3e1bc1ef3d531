//! Transformer: sentence vectors of an ONNX model.
//!
//! In: the folder of a model, or a built-in one; texts. Out: unit vectors.
//! Invariants: a text's vector does not depend on its batch.

use std::path::Path;

use onnx::{Carried, ModelError, SentenceModel, Wanted};

use super::{EmbedError, Embedder, unit_vector};
use model::document::UnitVector;

/// A loaded model.
pub struct TransformerModel {
    model: SentenceModel,
    space: String,
}

impl TransformerModel {
    /// Loads the model of a folder; `space` names model, revision and quantization.
    ///
    /// # Errors
    /// When the folder has no such model.
    pub fn open(folder: &Path, space: &str) -> Result<Self, ModelError> {
        Self::open_as(folder, space, Wanted::default())
    }

    /// Loads the model of a folder with options.
    ///
    /// # Errors
    /// As [`TransformerModel::open`], and when the options do not match the model.
    pub fn open_as(folder: &Path, space: &str, wanted: Wanted) -> Result<Self, ModelError> {
        let model = SentenceModel::load_as(folder, wanted)?;
        Ok(TransformerModel { model, space: space.to_string() })
    }

    /// Loads a built-in model; packed weights are unpacked into files in the folder `unpacked`.
    ///
    /// # Errors
    /// When its files are malformed.
    pub fn carried(
        carried: &Carried,
        unpacked: Option<&Path>,
        space: &str,
    ) -> Result<Self, ModelError> {
        let model = SentenceModel::from_carried(carried, unpacked)?;
        Ok(TransformerModel { model, space: space.to_string() })
    }
}

impl Embedder for TransformerModel {
    fn space(&self) -> &str {
        &self.space
    }

    fn dimensions(&self) -> usize {
        self.model.n_dimensions()
    }

    fn try_embed(&self, texts: &[&str]) -> Result<Vec<UnitVector>, EmbedError> {
        texts.iter().map(|text| rounded(self.model.embed_document(text))).collect()
    }

    fn try_question(&self, question: &str) -> Result<UnitVector, EmbedError> {
        rounded(self.model.embed_query(question))
    }

    fn try_floats(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        texts.iter().map(|text| self.model.embed_document(text).map_err(of_text)).collect()
    }

    fn try_question_floats(&self, question: &str) -> Result<Vec<f32>, EmbedError> {
        self.model.embed_query(question).map_err(of_text)
    }

    fn embed(&self, texts: &[&str]) -> Vec<UnitVector> {
        quiet(self, texts)
    }
}

fn rounded(vector: Result<Vec<f32>, ModelError>) -> Result<UnitVector, EmbedError> {
    Ok(unit_vector(&vector.map_err(of_text)?))
}

fn of_text(error: ModelError) -> EmbedError {
    EmbedError::Text { why: error.to_string() }
}

/// Returns the vectors of texts; zeros for a text that the model fails on.
pub(super) fn quiet(model: &dyn Embedder, texts: &[&str]) -> Vec<UnitVector> {
    let zeros = || UnitVector(vec![0; model.dimensions()].into());
    let embed_one = |text: &&str| model.try_embed(&[text]).ok().and_then(|mut one| one.pop());
    texts.iter().map(|text| embed_one(text).unwrap_or_else(zeros)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cosine;

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
