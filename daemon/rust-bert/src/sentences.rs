//! Sentences: rust-bert's sentence-embedding pipeline as an embedder of the daemon.
//!
//! In: the folder of a sentence-transformers model of the BERT kind, texts. Out: unit vectors.
//! Invariants: one text at a time, so that no vector depends on its batch; what does not fit the model's longest
//! sequence (`sentence_bert_config.json`) is cut off.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use embed::{Embedder, unit_vector};
use model::document::UnitVector;
use rust_bert::pipelines::common::ModelType;
use rust_bert::pipelines::sentence_embeddings::{
    SentenceEmbeddingsConfig, SentenceEmbeddingsModel,
};
use rust_bert::resources::{LocalResource, ResourceProvider};
use tch::Device;

use crate::{PipelineError, caught};

/// A sentence-embedding model of the BERT kind.
pub struct SentencePipeline {
    /// Tensors of libtorch may be sent between threads, not shared.
    model: Mutex<SentenceEmbeddingsModel>,
    space: String,
    n_dimensions: usize,
}

impl SentencePipeline {
    /// Loads a folder; `space` names model, revision and quantization.
    ///
    /// # Errors
    /// When a file is missing or of another shape.
    pub fn open(folder: &Path, space: &str) -> Result<Self, PipelineError> {
        let wrong = |why: String| PipelineError::new(folder, why);
        let model = caught(|| SentenceEmbeddingsModel::new(config_of(folder))).map_err(wrong)?;
        let mut pipeline = SentencePipeline {
            model: Mutex::new(model),
            space: space.to_string(),
            n_dimensions: 0,
        };
        pipeline.n_dimensions = pipeline.floats("Try it, once.").map_err(wrong)?.len();
        Ok(pipeline)
    }

    /// The vector of a text as the model gives it, before it is rounded.
    ///
    /// # Errors
    /// Why the model failed on it.
    pub fn floats(&self, text: &str) -> Result<Vec<f32>, String> {
        let model = self.model.lock().unwrap_or_else(PoisonError::into_inner);
        let vectors = caught(|| model.encode(&[text]))?;
        vectors.into_iter().next().ok_or_else(|| "it gave no vector".to_string())
    }
}

impl Embedder for SentencePipeline {
    fn space(&self) -> &str {
        &self.space
    }

    fn dimensions(&self) -> usize {
        self.n_dimensions
    }

    fn embed(&self, texts: &[&str]) -> Vec<UnitVector> {
        let embed_one = |text: &&str| {
            let floats = self.floats(text).unwrap_or_else(|error| {
                tracing::warn!(%error, "rust-bert failed on a text, which is found by its words only");
                vec![0.0; self.n_dimensions]
            });
            unit_vector(&floats)
        };
        texts.iter().map(embed_one).collect()
    }
}

fn config_of(folder: &Path) -> SentenceEmbeddingsConfig {
    let file = |name: &str| -> Box<dyn ResourceProvider + Send> {
        Box::new(LocalResource::from(folder.join(name)))
    };
    SentenceEmbeddingsConfig {
        modules_config_resource: file("modules.json"),
        transformer_type: ModelType::Bert,
        transformer_config_resource: file("config.json"),
        transformer_weights_resource: file("model.safetensors"),
        pooling_config_resource: file("1_Pooling/config.json"),
        dense_config_resource: None,
        dense_weights_resource: None,
        sentence_bert_config_resource: file("sentence_bert_config.json"),
        tokenizer_config_resource: file("tokenizer_config.json"),
        tokenizer_vocab_resource: file("vocab.txt"),
        tokenizer_merges_resource: None,
        device: Device::Cpu,
        kind: None,
    }
}
