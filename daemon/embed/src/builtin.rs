//! Builtin: the sentence models that the program contains, one row each.
//!
//! In: a row; texts. Out: unit vectors.
//! Invariants: nothing is loaded or unpacked before the first text. Then MiniLM takes some 70 MB while it exists; e5
//! keeps its weights in mapped files.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use config::limits::{DEFAULT_MODEL, OTHER_MODEL};
use onnx::{Carried, CarriedTokens, CarriedWeights};

use super::transformer::{TransformerModel, quiet};
use super::{EmbedError, Embedder};
use model::document::UnitVector;

/// A built-in model.
#[derive(Debug)]
struct Row {
    /// Its name in the settings.
    name: &'static str,
    /// Name of the space: model, revision, and quantization of the weights and of a vector's components.
    space: &'static str,
    /// Spaces of earlier versions whose vectors may be compared with its own.
    earlier: &'static [&'static str],
    /// Components of a vector.
    dimensions: usize,
    /// True if it knows no other language.
    is_english_only: bool,
    /// Its cosines and the equivalents on MiniLM's scale, both ascending; empty for MiniLM itself.
    scale: &'static [(f32, f32)],
    files: Carried,
}

/// The built-in models.
const ROWS: &[Row] = &[
    Row {
        name: DEFAULT_MODEL,
        space: "all-MiniLM-L6-v2@2/i8x254",
        // The same weights, which read 256 tokens.
        earlier: &["all-MiniLM-L6-v2@1/i8x254"],
        dimensions: 384,
        is_english_only: true,
        scale: &[],
        files: Carried {
            name: "minilm-l6 (built in)",
            weights: CarriedWeights::Graph(include_bytes!("../../models/minilm-l6/model.onnx")),
            tokenizer: CarriedTokens::Any(include_bytes!("../../models/minilm-l6/tokenizer.json")),
            // It was trained on 128 tokens, special ones included: with the 256 that it accepts, a window costs a fifth
            // more and is found no better (`docs/src/explanation/measurements.md`).
            max_tokens: 128,
            query_prompt: "",
            document_prompt: "",
        },
    },
    Row {
        name: OTHER_MODEL,
        space: "multilingual-e5-small-100k@1/i8x254",
        earlier: &[],
        dimensions: 384,
        is_english_only: false,
        scale: E5_SCALE,
        files: Carried {
            name: "e5-small (built in)",
            weights: CarriedWeights::Packed {
                weights: include_bytes!("../../models/e5-small/model_q4.safetensors"),
                config: include_bytes!("../../models/e5-small/config.json"),
                revision: "e5-small-100k-2",
            },
            tokenizer: CarriedTokens::Unigram(include_bytes!(
                "../../models/e5-small/tokenizer.json"
            )),
            max_tokens: 512,
            query_prompt: "query: ",
            document_prompt: "passage: ",
        },
    },
];

/// Cosines of equal rank, both among pairs of a question and a document that answers it and among other pairs, in
/// scifact, cranfield and hotpotqa100 (`tests/benches/lingua.rs` measures them).
const E5_SCALE: &[(f32, f32)] = &[
    (0.71, -0.15),
    (0.755, 0.03),
    (0.79, 0.12),
    (0.81, 0.24),
    (0.84, 0.40),
    (0.865, 0.55),
    (0.89, 0.67),
    (0.907, 0.76),
    (1.0, 1.0),
];

/// A built-in model, loaded at its first use.
pub struct Builtin {
    row: &'static Row,
    /// Folder for the files of packed weights.
    unpacked: Option<PathBuf>,
    loaded: OnceLock<Result<TransformerModel, EmbedError>>,
}

impl Builtin {
    /// Returns the model of this name in settings; `None` if it is not built in. Packed weights are unpacked into a
    /// folder in `unpacked`; without one, in memory.
    pub fn named(name: &str, unpacked: Option<&Path>) -> Option<Self> {
        let row = ROWS.iter().find(|row| row.name == name)?;
        let unpacked = unpacked.map(Path::to_path_buf);
        Some(Builtin { row, unpacked, loaded: OnceLock::new() })
    }

    fn model(&self) -> Result<&TransformerModel, EmbedError> {
        let load = || {
            TransformerModel::carried(&self.row.files, self.unpacked.as_deref(), self.row.space)
                .map_err(|error| EmbedError::Model { why: error.to_string() })
        };
        self.loaded.get_or_init(load).as_ref().map_err(Clone::clone)
    }
}

impl Embedder for Builtin {
    fn space(&self) -> &str {
        self.row.space
    }

    fn is_comparable(&self, space: &str) -> bool {
        self.row.space == space || self.row.earlier.contains(&space)
    }

    fn dimensions(&self) -> usize {
        self.row.dimensions
    }

    fn is_english_only(&self) -> bool {
        self.row.is_english_only
    }

    fn nearness(&self, cosine: f32) -> f32 {
        along(self.row.scale, cosine)
    }

    fn try_embed(&self, texts: &[&str]) -> Result<Vec<UnitVector>, EmbedError> {
        self.model()?.try_embed(texts)
    }

    fn try_question(&self, question: &str) -> Result<UnitVector, EmbedError> {
        self.model()?.try_question(question)
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

/// Returns the value at `x` of the polyline through these points; the first and last segment extend beyond its ends.
pub(crate) fn along(points: &[(f32, f32)], x: f32) -> f32 {
    let above = points.partition_point(|(known, _)| *known < x);
    let piece = above.clamp(1, points.len().max(2) - 1);
    // Fewer than two points: the identity.
    let (Some(&(x0, y0)), Some(&(x1, y1))) = (points.get(piece - 1), points.get(piece)) else {
        return x;
    };
    (y0 + (y1 - y0) / (x1 - x0) * (x - x0)).clamp(-1.0, 1.0)
}

#[cfg(test)]
mod tests;
