//! Family: what the BERT-like encoders differ in: the names of their weights, and how they count positions.
//!
//! In: `config.json`. Out: sizes and names.
//! Not here: the graph, which is the same for all of them (`encoder.rs`).

use std::path::Path;

use serde::Deserialize;

use crate::ModelError;
use crate::folder::Folder;

/// Largest size of anything; real ones are below a tenth of it. The product of any two fits.
const MAX_SIZE: usize = 1_000_000;

/// Most layers; real ones have up to 48.
const MAX_LAYERS: usize = 200;

const UNSUPPORTED: &str = "kgd converts BERT, RoBERTa, XLM-RoBERTa, CamemBERT, DistilBERT and MPNet; others as ONNX: \
     `optimum-cli export onnx --model NAME FOLDER`";

/// What is read of `config.json`.
#[derive(Debug, Deserialize)]
pub(super) struct Config {
    #[serde(default)]
    model_type: String,
    #[serde(alias = "dim")]
    hidden_size: usize,
    #[serde(alias = "n_heads")]
    num_attention_heads: usize,
    #[serde(alias = "n_layers")]
    num_hidden_layers: usize,
    #[serde(alias = "hidden_dim")]
    intermediate_size: usize,
    max_position_embeddings: usize,
    #[serde(alias = "activation", default = "gelu")]
    hidden_act: String,
    #[serde(default = "usual_epsilon")]
    layer_norm_eps: f32,
    #[serde(default = "absolute")]
    position_embedding_type: String,
    pad_token_id: Option<usize>,
    #[serde(default = "usual_buckets")]
    relative_attention_num_buckets: usize,
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

fn usual_buckets() -> usize {
    32
}

/// An encoder's sizes, and the names of its weights.
#[derive(Debug, Clone)]
pub(super) struct Family {
    pub(super) names: &'static Names,
    pub(super) width: usize,
    pub(super) n_heads: usize,
    pub(super) n_layers: usize,
    pub(super) inner_width: usize,
    pub(super) activation: Activation,
    pub(super) epsilon: f32,
    /// The row of the table of positions that the first token has.
    pub(super) first_position: usize,
    /// Positions that a text can have.
    pub(super) n_positions: usize,
    pub(super) n_buckets: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Activation {
    Gelu,
    /// The form of GELU by the hyperbolic tangent.
    GeluTanh,
    Relu,
}

/// Names of weights, without `.weight` and `.bias`; those of layers stand after the layer's own.
#[derive(Debug)]
pub(super) struct Names {
    /// What may stand before all of them.
    pub(super) prefixes: &'static [&'static str],
    /// Whether there is a table for the first and the second text.
    pub(super) has_kinds: bool,
    /// The layers' name, before their number.
    pub(super) layers: &'static str,
    pub(super) query: &'static str,
    pub(super) key: &'static str,
    pub(super) value: &'static str,
    pub(super) joined: &'static str,
    pub(super) joined_norm: &'static str,
    pub(super) inner: &'static str,
    pub(super) outer: &'static str,
    pub(super) outer_norm: &'static str,
    /// A table of what distances between tokens add to attention, where there is one.
    pub(super) distances: Option<&'static str>,
}

pub(super) const BERT: Names = Names {
    prefixes: &["", "bert.", "roberta.", "model."],
    has_kinds: true,
    layers: "encoder.layer",
    query: "attention.self.query",
    key: "attention.self.key",
    value: "attention.self.value",
    joined: "attention.output.dense",
    joined_norm: "attention.output.LayerNorm",
    inner: "intermediate.dense",
    outer: "output.dense",
    outer_norm: "output.LayerNorm",
    distances: None,
};

pub(super) const DISTILBERT: Names = Names {
    prefixes: &["", "distilbert."],
    has_kinds: false,
    layers: "transformer.layer",
    query: "attention.q_lin",
    key: "attention.k_lin",
    value: "attention.v_lin",
    joined: "attention.out_lin",
    joined_norm: "sa_layer_norm",
    inner: "ffn.lin1",
    outer: "ffn.lin2",
    outer_norm: "output_layer_norm",
    distances: None,
};

pub(super) const MPNET: Names = Names {
    prefixes: &["", "mpnet."],
    has_kinds: false,
    query: "attention.attn.q",
    key: "attention.attn.k",
    value: "attention.attn.v",
    joined: "attention.attn.o",
    joined_norm: "attention.LayerNorm",
    distances: Some("encoder.relative_attention_bias"),
    ..BERT
};

pub(super) fn read_config(folder: &Folder<'_>) -> Result<Config, ModelError> {
    Ok(folder.json("config.json")?.1)
}

impl Family {
    pub(super) fn of(config: &Config, path: &Path) -> Result<Self, ModelError> {
        let wrong = |why: String| Err(ModelError::new(path, why, UNSUPPORTED));
        // The RoBERTa family and MPNet count positions from the one after padding's, which is 1.
        let after_padding = config.pad_token_id.unwrap_or(1) + 1;
        let (names, first_position) = match config.model_type.as_str() {
            "bert" => (&BERT, 0),
            "roberta" | "xlm-roberta" | "camembert" => (&BERT, after_padding),
            "distilbert" => (&DISTILBERT, 0),
            "mpnet" => (&MPNET, after_padding),
            other => return wrong(format!("is of the family `{other}`")),
        };
        if config.position_embedding_type != "absolute" {
            return wrong(format!("counts positions by `{}`", config.position_embedding_type));
        }
        let activation = match config.hidden_act.as_str() {
            "gelu" => Activation::Gelu,
            "gelu_new" | "gelu_pytorch_tanh" => Activation::GeluTanh,
            "relu" => Activation::Relu,
            other => return wrong(format!("wants the activation `{other}`")),
        };
        let family = Family {
            names,
            width: config.hidden_size,
            n_heads: config.num_attention_heads,
            n_layers: config.num_hidden_layers,
            inner_width: config.intermediate_size,
            activation,
            epsilon: config.layer_norm_eps,
            first_position,
            n_positions: config.max_position_embeddings.saturating_sub(first_position),
            n_buckets: config.relative_attention_num_buckets,
        };
        match family.is_sound(config) {
            true => Ok(family),
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
            && (4..=MAX_SIZE).contains(&self.n_buckets)
    }

    /// The full name of a weight of a layer.
    pub(super) fn of_layer(&self, layer: usize, name: &str) -> String {
        format!("{}.{layer}.{name}", self.names.layers)
    }
}
