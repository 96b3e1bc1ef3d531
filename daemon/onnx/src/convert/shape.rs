//! Shape: the sizes of a BERT-like encoder.
//!
//! In: `config.json`. Out: consistent sizes.

use std::path::Path;

use serde::Deserialize;

use crate::ModelError;
use crate::folder::Folder;

/// Largest size of anything; real ones are below a tenth of it. The product of any two fits into 64 bits.
const MAX_SIZE: usize = 1_000_000;

/// Most layers; real models have up to 48.
const MAX_LAYERS: usize = 200;

/// DistilBERT and MPNet are left out: their repositories on the hub have ONNX files.
const UNSUPPORTED: &str = "kgd converts BERT, RoBERTa, XLM-RoBERTa and CamemBERT; export other models with \
     `optimum-cli export onnx --model NAME FOLDER`";

/// The parts of `config.json` that matter here.
#[derive(Debug, Deserialize)]
struct Config {
    #[serde(default)]
    model_type: String,
    hidden_size: usize,
    num_attention_heads: usize,
    num_hidden_layers: usize,
    intermediate_size: usize,
    max_position_embeddings: usize,
    #[serde(default = "gelu")]
    hidden_act: String,
    #[serde(default = "usual_epsilon")]
    layer_norm_eps: f32,
    #[serde(default = "absolute")]
    position_embedding_type: String,
    pad_token_id: Option<usize>,
}

fn gelu() -> String {
    "gelu".to_string()
}

fn absolute() -> String {
    "absolute".to_string()
}

fn usual_epsilon() -> f32 {
    1e-12
}

/// An encoder's sizes.
#[derive(Debug, Clone)]
pub(super) struct Shape {
    pub(super) width: usize,
    pub(super) n_heads: usize,
    pub(super) n_layers: usize,
    pub(super) inner_width: usize,
    pub(super) epsilon: f32,
    /// The row of the position table that belongs to the first token.
    pub(super) first_position: usize,
    /// Longest text, tokens.
    pub(super) n_positions: usize,
}

impl Shape {
    /// Reads `config.json` of a folder.
    pub(super) fn read(folder: &Folder<'_>) -> Result<Self, ModelError> {
        let (path, config) = folder.json("config.json")?;
        Self::of(&config, &path)
    }

    /// Reads a configuration from memory; errors name it `path`.
    pub(super) fn of_bytes(config: &[u8], path: &Path) -> Result<Self, ModelError> {
        let config = serde_json::from_slice(config).map_err(|error| {
            ModelError::new(path, format!("is no configuration: {error}"), UNSUPPORTED)
        })?;
        Self::of(&config, path)
    }

    fn of(config: &Config, path: &Path) -> Result<Self, ModelError> {
        let wrong = |why: String| Err(ModelError::new(path, why, UNSUPPORTED));
        let first_position = match config.model_type.as_str() {
            "bert" => 0,
            // The RoBERTa family counts positions from the one after padding's, which is 1.
            "roberta" | "xlm-roberta" | "camembert" => config.pad_token_id.unwrap_or(1) + 1,
            other => return wrong(format!("is of the family `{other}`")),
        };
        if config.position_embedding_type != "absolute" {
            return wrong(format!("counts positions by `{}`", config.position_embedding_type));
        }
        if config.hidden_act != "gelu" {
            return wrong(format!("uses the activation `{}`", config.hidden_act));
        }
        let shape = Shape {
            width: config.hidden_size,
            n_heads: config.num_attention_heads,
            n_layers: config.num_hidden_layers,
            inner_width: config.intermediate_size,
            epsilon: config.layer_norm_eps,
            first_position,
            n_positions: config.max_position_embeddings.saturating_sub(first_position),
        };
        match shape.is_sound(config) {
            true => Ok(shape),
            false => wrong("has sizes that fit no encoder".to_string()),
        }
    }

    fn is_sound(&self, config: &Config) -> bool {
        let sizes =
            [self.width, self.inner_width, config.max_position_embeddings, self.n_positions];
        sizes.iter().all(|size| (1..=MAX_SIZE).contains(size))
            && (1..=MAX_LAYERS).contains(&self.n_layers)
            && (1..=self.width).contains(&self.n_heads)
            && self.width.is_multiple_of(self.n_heads)
    }
}
