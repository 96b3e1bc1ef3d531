//! Static model: a text's vector is the mean of its tokens' rows in one table. No network, no files at run time.
//!
//! In: texts, or token ids. Out: unit vectors of 256 components.
//! Invariants: equal ids give equal vectors, in whatever batch; unknown words are ignored; a text without known
//! tokens gives a vector of zeros.

use std::sync::{Arc, Mutex, PoisonError};

use safetensors::{Dtype, SafeTensors};

use super::wordpiece::{CachedWordPiece, WordPiece};
use super::{EmbedError, Embedder, UNIT};
use crate::builtin::along;
use model::document::UnitVector;

/// The built-in table.
const BUILTIN_TABLE: &[u8] =
    include_bytes!("../../models/potion-base-8M/embeddings_i8.safetensors");

/// Model, revision and quantization of the shipped table.
const BUILTIN_SPACE: &str = "potion-base-8M@bf8b056/i8x254";

/// Its cosines and the equivalents on MiniLM's scale. Between the equivalents of equal rank and those of equally likely
/// relevance, which both rank worse while some windows lack MiniLM's vectors (`tests/benches/retrieval.rs`, `--tier 25`
/// and `half`).
const SCALE: &[(f32, f32)] = &[(0.0, 0.0), (0.24, 0.23), (0.5, 0.44), (0.8, 0.73), (1.0, 0.95)];

/// Components of a row and of a vector.
const N_DIMENSIONS: usize = 256;

/// A table of rows that cannot be used.
#[derive(Debug, thiserror::Error)]
enum TableError {
    /// Not a safetensors file, or a tensor is missing.
    #[error("table is not a readable safetensors file: {0}")]
    Format(#[from] safetensors::SafeTensorError),
    /// Readable, but of another shape or type than int8 rows with one f16 scale each.
    #[error("table tensor `{0}` has the wrong type or shape")]
    Shape(&'static str),
}

/// The built-in static model; shared by `Arc`.
#[derive(Debug)]
pub struct StaticModel {
    wordpiece: Arc<WordPiece>,
    /// Rows of int8, as bytes, one after the other.
    rows: &'static [u8],
    /// The factor of each row's int8 values.
    scales: Vec<f32>,
    /// Idle workbenches. The lock is held to take or return one, once per batch.
    idle: Mutex<Vec<Workbench>>,
}

/// Buffers of one thread.
#[derive(Debug)]
struct Workbench {
    tokenizer: CachedWordPiece,
    /// For each id, how often it occurs in the current text; zeros between texts.
    counts: Vec<u32>,
    /// The ids whose count is not zero, in order of first appearance.
    distinct: Vec<u32>,
}

impl Workbench {
    fn count_words(&mut self, text: &str) {
        let Workbench { tokenizer, counts, distinct } = self;
        tokenizer.each(text, |_, pieces| {
            pieces.iter().for_each(|&id| count(counts, distinct, u32::from(id)));
        });
    }
}

#[inline]
fn count(counts: &mut [u32], distinct: &mut Vec<u32>, id: u32) {
    let Some(count) = counts.get_mut(id as usize) else { return };
    if *count == 0 {
        distinct.push(id);
    }
    *count += 1;
}

impl StaticModel {
    /// Returns the model shipped with the daemon, with the tokenizer it belongs to.
    pub fn builtin(wordpiece: Arc<WordPiece>) -> Self {
        Self::load(BUILTIN_TABLE, wordpiece).expect("the committed table is tested to load")
    }

    /// Parses a table: `embeddings`, int8 [ids, 256], and `scales`, f16 [ids].
    fn load(table: &'static [u8], wordpiece: Arc<WordPiece>) -> Result<Self, TableError> {
        let n_ids = wordpiece.n_ids();
        let tensors = SafeTensors::deserialize(table)?;
        let (rows, scales) = (tensors.tensor("embeddings")?, tensors.tensor("scales")?);
        if rows.dtype() != Dtype::I8 || rows.shape() != [n_ids, N_DIMENSIONS] {
            return Err(TableError::Shape("embeddings"));
        }
        if scales.dtype() != Dtype::F16 || scales.shape() != [n_ids] {
            return Err(TableError::Shape("scales"));
        }
        let scales = scales
            .data()
            .as_chunks::<2>()
            .0
            .iter()
            .map(|&bytes| onnx::half_to_f32(bytes))
            .collect();
        Ok(StaticModel { wordpiece, rows: rows.data(), scales, idle: Mutex::default() })
    }

    /// Returns the sum of a text's rows, which has the direction of its vector, without rounding.
    pub fn unrounded(&self, text: &str) -> Vec<f32> {
        let mut bench = self.workbench();
        bench.count_words(text);
        let sum = self.sum(&mut bench);
        self.give_back(bench);
        sum.to_vec()
    }

    /// Computes the vector of the counted words and clears the workbench.
    fn vector(&self, bench: &mut Workbench) -> UnitVector {
        quantized(&self.sum(bench))
    }

    /// Adds each distinct row once, times its count: words repeat even within a window, and widening int8 is the
    /// expensive part.
    fn sum(&self, bench: &mut Workbench) -> [f32; N_DIMENSIONS] {
        let Workbench { counts, distinct, .. } = bench;
        let weighted = distinct.drain(..).filter_map(|id| {
            let n_times = counts.get_mut(id as usize).map_or(0, std::mem::take);
            self.row(id).map(|(scale, row)| (n_times as f32 * scale, row))
        });
        let rows: Vec<(f32, &[u8])> = weighted.collect();
        let mut sum = [0.0; N_DIMENSIONS];
        sys::add_byte_rows(&rows, &mut sum);
        sum
    }

    /// Returns the scale and the row of `id`, if it is a known word.
    fn row(&self, id: u32) -> Option<(f32, &'static [u8])> {
        let at = id as usize * N_DIMENSIONS;
        let row = self.rows.get(at..at + N_DIMENSIONS)?;
        (id != self.wordpiece.unknown_id()).then_some((*self.scales.get(id as usize)?, row))
    }

    fn workbench(&self) -> Workbench {
        // A workbench is returned complete, so a panic elsewhere cannot have left a bad one.
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        idle.unwrap_or_else(|| Workbench {
            tokenizer: CachedWordPiece::new(Arc::clone(&self.wordpiece)),
            counts: vec![0; self.scales.len()],
            distinct: Vec::new(),
        })
    }

    fn give_back(&self, bench: Workbench) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(bench);
    }
}

impl Embedder for StaticModel {
    fn space(&self) -> &str {
        BUILTIN_SPACE
    }

    fn dimensions(&self) -> usize {
        N_DIMENSIONS
    }

    fn is_english_only(&self) -> bool {
        true
    }

    fn nearness(&self, cosine: f32) -> f32 {
        along(SCALE, cosine)
    }

    fn try_floats(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        Ok(texts.iter().map(|text| of_length_one(self.unrounded(text))).collect())
    }

    fn try_question_floats(&self, question: &str) -> Result<Vec<f32>, EmbedError> {
        Ok(of_length_one(self.unrounded(question)))
    }

    fn embed(&self, texts: &[&str]) -> Vec<UnitVector> {
        let mut bench = self.workbench();
        let embed_one = |text: &&str| {
            bench.count_words(text);
            self.vector(&mut bench)
        };
        let vectors = texts.iter().map(embed_one).collect();
        self.give_back(bench);
        vectors
    }
}

fn of_length_one(mut vector: Vec<f32>) -> Vec<f32> {
    let length = vector.iter().map(|it| it * it).sum::<f32>().sqrt();
    vector.iter_mut().for_each(|it| *it /= length.max(f32::MIN_POSITIVE));
    vector
}

/// Returns the cosine of the angle between two vectors of one space, -1 to 1; 0 if one of them is zeros. Vectors of
/// different lengths belong to different spaces: missing components count as 0.
pub fn cosine(a: &UnitVector, b: &UnitVector) -> f32 {
    let dot = |x: &[i8], y: &[i8]| -> i32 {
        x.iter().zip(y).map(|(&x, &y)| i32::from(i16::from(x) * i16::from(y))).sum()
    };
    let (squared_a, squared_b) = (dot(&a.0, &a.0), dot(&b.0, &b.0));
    if squared_a == 0 || squared_b == 0 {
        return 0.0;
    }
    // Quantized vectors do not have exactly the same length, so the lengths are divided out.
    let lengths = (squared_a as f32).sqrt() * (squared_b as f32).sqrt();
    (dot(&a.0, &b.0) as f32 / lengths).clamp(-1.0, 1.0)
}

/// Returns the sum scaled to length 1 (the mean has the same direction) and rounded to int8.
fn quantized(sum: &[f32; N_DIMENSIONS]) -> UnitVector {
    // Eight partial sums, since a single one would wait for itself at each addition.
    let mut lanes = [0.0f32; 8];
    for eight in sum.as_chunks::<8>().0 {
        lanes.iter_mut().zip(eight).for_each(|(lane, component)| *lane += component * component);
    }
    let length = lanes.iter().sum::<f32>().sqrt();
    let factor = if length > 0.0 { UNIT / length } else { 0.0 };
    // Adding 1.5 × 2^23 rounds to the nearest integer; `f32::round` is a function call without SSE4.1.
    const ROUND: f32 = 12_582_912.0;
    UnitVector(sum.iter().map(|component| (component * factor + ROUND - ROUND) as i8).collect())
}

#[cfg(test)]
mod tests;
