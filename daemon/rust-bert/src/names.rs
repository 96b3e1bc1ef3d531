//! Names: rust-bert's token-classification pipeline as a tagger of the daemon.
//!
//! In: the folder of a BERT model, texts. Out: names with class and probability.
//! Invariants: labels become names as with ONNX models (`onnx::Labels`): a word is what its first token is; places are
//! byte ranges, though rust-bert counts characters.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use extract::recognize::tagger::{TaggerRecognizer, TextTagger, digest_of};
use onnx::{LabeledWord, Labels, Tagged};
use rust_bert::pipelines::common::{ModelResource, ModelType};
use rust_bert::pipelines::token_classification::{
    LabelAggregationOption, Token, TokenClassificationConfig, TokenClassificationModel,
};
use rust_bert::resources::LocalResource;
use rust_tokenizers::Mask;
use serde::Deserialize;
use tch::Device;

use crate::{PipelineError, caught};

/// Windows computed at once. rust-bert 0.23 takes the words of every batch from the first one, so there must be one
/// batch only; the daemon's texts have at most 20,000 bytes, which no tokenizer turns into more tokens.
const ALL_WINDOWS: usize = 1 << 20;

/// A token-classification model of the BERT kind.
pub struct NamePipeline {
    /// Tensors of libtorch may be sent between threads, not shared.
    model: Mutex<TokenClassificationModel>,
    labels: Labels,
}

#[derive(Deserialize)]
struct Config {
    id2label: BTreeMap<String, String>,
}

impl NamePipeline {
    /// Loads a folder; `is_uncased` where the model was trained on lowercase text.
    ///
    /// # Errors
    /// When a file is missing or of another shape.
    pub fn open(folder: &Path, is_uncased: bool) -> Result<Self, PipelineError> {
        let wrong = |why: String| PipelineError::new(folder, why);
        let text =
            std::fs::read(folder.join("config.json")).map_err(|error| wrong(error.to_string()))?;
        let config: Config =
            serde_json::from_slice(&text).map_err(|error| wrong(error.to_string()))?;
        let labels =
            Labels::read(&config.id2label).map_err(|why| wrong(format!("`config.json` {why}")))?;
        let file = |name: &str| LocalResource::from(folder.join(name));
        let config = TokenClassificationConfig {
            device: Device::Cpu,
            batch_size: ALL_WINDOWS,
            ..TokenClassificationConfig::new(
                ModelType::Bert,
                ModelResource::Torch(Box::new(file("model.safetensors"))),
                file("config.json"),
                file("vocab.txt"),
                None,
                is_uncased,
                None,
                None,
                LabelAggregationOption::First,
            )
        };
        let model = caught(|| TokenClassificationModel::new(config)).map_err(wrong)?;
        let pipeline = NamePipeline { model: Mutex::new(model), labels };
        pipeline.tag("Try it, once.").map_err(wrong)?;
        Ok(pipeline)
    }

    /// Loads a folder as a recognizer of the daemon.
    ///
    /// # Errors
    /// As [`NamePipeline::open`], and when the folder cannot be read.
    pub fn recognizer(
        folder: &Path,
        is_uncased: bool,
    ) -> Result<Arc<TaggerRecognizer>, PipelineError> {
        let digest = digest_of(folder).map_err(|error| PipelineError::new(folder, error))?;
        let pipeline = NamePipeline::open(folder, is_uncased)?;
        Ok(Arc::new(TaggerRecognizer::new(Box::new(pipeline), format!("rust-bert {digest}"))))
    }

    /// The words of a text with their labels.
    fn words(&self, text: &str) -> Result<Vec<LabeledWord>, String> {
        let model = self.model.lock().unwrap_or_else(PoisonError::into_inner);
        let predicted = caught(|| Ok::<_, String>(model.predict(&[text], false, false)))?;
        let starts: Vec<usize> =
            text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        let byte = |offset: u32| starts.get(offset as usize).copied().unwrap_or(text.len());
        let mut words: Vec<LabeledWord> = Vec::new();
        for token in predicted.into_iter().flatten() {
            let Token { offset: Some(offset), label_index, score, mask, .. } = token else {
                continue;
            };
            let span = byte(offset.begin)..byte(offset.end);
            match words.last_mut().filter(|_| mask == Mask::Continuation) {
                Some(word) => word.span.end = span.end,
                None => {
                    let label = usize::try_from(label_index).unwrap_or(usize::MAX);
                    words.push(LabeledWord { span, label, probability: score as f32 });
                }
            }
        }
        Ok(words)
    }
}

impl TextTagger for NamePipeline {
    fn classes(&self) -> &[String] {
        self.labels.classes()
    }

    fn tag(&self, text: &str) -> Result<Vec<Tagged>, String> {
        // An empty text has no window, on which rust-bert panics.
        if text.trim().is_empty() {
            return Ok(Vec::new());
        }
        Ok(self.labels.names(text, &self.words(text)?))
    }
}
