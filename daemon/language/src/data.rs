//! Data: the built-in model's files in `models/en_core_web_sm`, and reading tensors from them.
//!
//! In: nothing. Out: configuration, tables, and tensors: layers as f32, rows of the hash tables as the f16 in the
//! file (`tests/english/export.py` explains why and makes the file).
//! Invariants: strings and rows are borrowed from the binary; only requested tensors are copied.

use rustc_hash::FxHashMap;
use safetensors::{Dtype, SafeTensors};
use serde::Deserialize;

use super::matrix::Matrix;

const CONFIG: &str = include_str!("../../models/en_core_web_sm/config.json");
const NORMS: &str = include_str!("../../models/en_core_web_sm/norms.json");
const SYMBOLS: &str = include_str!("../../models/en_core_web_sm/symbols.json");
const TOKENIZER: &str = include_str!("../../models/en_core_web_sm/tokenizer.json");
const WEIGHTS: &[u8] = include_bytes!("../../models/en_core_web_sm/en_sm.safetensors");

/// A shipped model that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A table is not valid JSON of its form.
    #[error("model table is not readable: {0}")]
    Table(#[from] serde_json::Error),
    /// Not a safetensors file, or a tensor is missing.
    #[error("model weights are not a readable safetensors file: {0}")]
    Weights(#[from] safetensors::SafeTensorError),
    /// Readable, but of another type or size than expected.
    #[error("model tensor `{0}` has the wrong type or shape")]
    Shape(String),
    /// A pattern uses syntax that `pattern.rs` does not support.
    #[error("tokenizer pattern has `{0}` where it cannot be read")]
    Pattern(String),
}

/// Labels and seeds.
#[derive(Debug, Deserialize)]
pub(super) struct Config {
    /// Action (see `entities.rs`) and label of each score.
    #[serde(borrow)]
    pub(super) ner_moves: Vec<(u8, &'static str)>,
    /// Action (see `parser/state.rs`) and label of each score.
    #[serde(borrow)]
    pub(super) parser_moves: Vec<(u8, &'static str)>,
    #[serde(borrow)]
    pub(super) tags: Vec<&'static str>,
    pub(super) ner_seeds: Vec<u64>,
    pub(super) tok2vec_seeds: Vec<u64>,
}

/// Normal forms, by word or by `#` and the id of a word.
#[derive(Debug, Deserialize)]
pub(super) struct Norms {
    pub(super) lexeme_norm: FxHashMap<String, String>,
    pub(super) base_norms: FxHashMap<String, String>,
}

/// The tokenizer's patterns, in Python's syntax, and its exceptions with their parts.
#[derive(Debug, Deserialize)]
pub(super) struct TokenizerTables {
    pub(super) prefix: String,
    pub(super) suffix: String,
    pub(super) infix: String,
    pub(super) url_match: String,
    pub(super) exceptions: FxHashMap<String, Vec<ExceptionPart>>,
}

/// One token of an exception.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(super) struct ExceptionPart {
    pub(super) orth: String,
    pub(super) norm: Option<String>,
}

/// All files, parsed.
pub(super) struct Shipped {
    pub(super) config: Config,
    pub(super) norms: Norms,
    pub(super) symbols: FxHashMap<&'static str, u64>,
    pub(super) tokenizer: TokenizerTables,
    weights: SafeTensors<'static>,
}

impl Shipped {
    pub(super) fn read() -> Result<Self, LoadError> {
        Ok(Shipped {
            config: serde_json::from_str(CONFIG)?,
            norms: serde_json::from_str(NORMS)?,
            symbols: serde_json::from_str(SYMBOLS)?,
            tokenizer: serde_json::from_str(TOKENIZER)?,
            weights: SafeTensors::deserialize(WEIGHTS)?,
        })
    }

    /// Returns a tensor of f16 numbers as it is in the binary.
    pub(super) fn halves(&self, name: &str) -> Result<&'static [[u8; 2]], LoadError> {
        let tensor = self.weights.tensor(name)?;
        match tensor.dtype() {
            Dtype::F16 => Ok(tensor.data().as_chunks::<2>().0),
            _ => Err(LoadError::Shape(name.to_owned())),
        }
    }

    /// Returns a tensor of exactly `n` f32 numbers.
    pub(super) fn numbers(&self, name: &str, n: usize) -> Result<Vec<f32>, LoadError> {
        let tensor = self.weights.tensor(name)?;
        let (numbers, _) = tensor.data().as_chunks::<4>();
        if tensor.dtype() != Dtype::F32 || numbers.len() != n {
            return Err(LoadError::Shape(name.to_owned()));
        }
        Ok(numbers.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect())
    }

    /// Returns a tensor of `n` rows of 64 numbers.
    pub(super) fn rows(&self, name: &str, n: usize) -> Result<Vec<[f32; 64]>, LoadError> {
        Ok(self.numbers(name, n * 64)?.as_chunks::<64>().0.to_vec())
    }

    /// Returns the layer `prefix.W` [outputs, inputs] with its bias `prefix.b`.
    pub(super) fn matrix(&self, prefix: &str, size: (usize, usize)) -> Result<Matrix, LoadError> {
        let (n_out, n_in) = size;
        let rows = self.numbers(&format!("{prefix}.W"), n_out * n_in)?;
        Ok(Matrix::from_rows(n_in, &rows, self.numbers(&format!("{prefix}.b"), n_out)?))
    }
}

/// Reorders `numbers` from [units, pieces, width] to [pieces, units, width], so that the maximum over a unit's pieces
/// is computed from whole rows.
pub(super) fn pieces_first(numbers: &[f32], n_pieces: usize, width: usize) -> Vec<f32> {
    let units: Vec<&[f32]> = numbers.chunks_exact(n_pieces * width).collect();
    let piece = |i: usize| {
        move |unit: &&[f32]| unit.get(i * width..(i + 1) * width).unwrap_or(&[]).to_vec()
    };
    (0..n_pieces).flat_map(|i| units.iter().flat_map(piece(i)).collect::<Vec<f32>>()).collect()
}
