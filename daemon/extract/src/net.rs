//! Net: a small network: int8 rows of hashed features, projected static vectors of texts, one hidden layer, one output
//! a class.
//!
//! In: the committed weights; numbers of features and vectors of texts. Out: the outputs, before any function of them.
//! Invariants: equal input gives equal output on every machine of one architecture.
//!
//! Weights in a file, little-endian: for each feature the u16 number of its row, 65535 for none; f32 a row its scale;
//! i8 the rows; f32 hidden biases, projections, outputs, output biases.

use std::sync::LazyLock;

use embed::{StaticModel, WordPiece};

/// Numbers of a text's vector.
pub const N_DIMENSIONS: usize = 256;
/// What the sum of the rows is multiplied with, over the root of their number.
pub const SCALE: f32 = 4.0;
/// The number of no row.
pub const NO_ROW: u16 = u16::MAX;

/// Sizes of the layers.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Numbers that features are hashed to.
    pub n_features: usize,
    /// Features that have a row.
    pub n_rows: usize,
    /// Texts.
    pub n_inputs: usize,
    /// Numbers of the hidden layer.
    pub hidden: usize,
    /// Classes.
    pub outputs: usize,
}

/// The weights.
pub struct Layers {
    hidden: usize,
    row_of: Vec<u16>,
    scales: Vec<f32>,
    rows: &'static [u8],
    bias: Vec<f32>,
    /// For each slot and number of a vector, its weights for the hidden layer.
    projections: Vec<f32>,
    top: Vec<f32>,
    top_bias: Vec<f32>,
}

/// The sum of the rows of some features, and how many of them have a row.
#[derive(Debug)]
pub struct RowSum {
    sum: Vec<f32>,
    n_rows: usize,
}

impl Layers {
    /// Reads weights; `None` when the file is too short.
    pub fn read(file: &mut File, shape: Shape) -> Option<Self> {
        let Shape { n_features, n_rows, n_inputs, hidden, outputs } = shape;
        let (words, _) = file.take(n_features.checked_mul(2)?)?.as_chunks();
        Some(Layers {
            hidden,
            row_of: words.iter().map(|it| u16::from_le_bytes(*it)).collect(),
            scales: file.floats(n_rows)?,
            rows: file.take(n_rows.checked_mul(hidden)?)?,
            bias: file.floats(hidden)?,
            projections: file.floats(n_inputs.checked_mul(N_DIMENSIONS)?.checked_mul(hidden)?)?,
            top: file.floats(hidden.checked_mul(outputs)?)?,
            top_bias: file.floats(outputs)?,
        })
    }

    /// Returns the hidden layer before texts are added to it.
    pub fn hidden(&self, features: &[u32]) -> Vec<f32> {
        self.hidden_of(&[&self.sum(features)])
    }

    /// Adds the rows of features.
    pub fn sum(&self, features: &[u32]) -> RowSum {
        let row_of = |feature: &u32| {
            let number = usize::from(*self.row_of.get(*feature as usize)?);
            let at = number * self.hidden;
            Some((*self.scales.get(number)?, self.rows.get(at..at + self.hidden)?))
        };
        let rows: Vec<(f32, &[u8])> = features.iter().filter_map(row_of).collect();
        let mut sum = vec![0.0; self.hidden];
        sys::add_byte_rows(&rows, &mut sum);
        RowSum { sum, n_rows: rows.len() }
    }

    /// As [`Layers::hidden`], from the sums of disjoint sets of features.
    pub fn hidden_of(&self, sums: &[&RowSum]) -> Vec<f32> {
        let n_rows: usize = sums.iter().map(|it| it.n_rows).sum();
        let scale = SCALE / (n_rows.max(1) as f32).sqrt();
        let mut out = vec![0.0; self.hidden];
        for part in sums {
            out.iter_mut().zip(&part.sum).for_each(|(out, it)| *out += it);
        }
        for (out, bias) in out.iter_mut().zip(&self.bias) {
            *out = *out * scale + bias;
        }
        out
    }

    /// A text's vector as the hidden layer sees it in a slot.
    pub fn project(&self, slot: usize, vector: &[f32]) -> Vec<f32> {
        let mut out = vec![0.0; self.hidden];
        let n_weights = self.hidden * N_DIMENSIONS;
        if let Some(rows) = self.projections.get(slot * n_weights..(slot + 1) * n_weights) {
            sys::add_rows(vector, rows, &mut out);
        }
        out
    }

    /// One number a class, from the whole hidden layer.
    pub fn outputs(&self, hidden: &[f32]) -> impl Iterator<Item = f32> {
        self.top.chunks_exact(self.hidden).zip(&self.top_bias).map(move |(row, bias)| {
            row.iter().zip(hidden).map(|(weight, sum)| weight * sum.max(0.0)).sum::<f32>() + bias
        })
    }
}

/// The static vectors in the program.
pub fn vectors() -> &'static StaticModel {
    static VECTORS: LazyLock<StaticModel> =
        LazyLock::new(|| StaticModel::builtin(WordPiece::builtin()));
    &VECTORS
}

/// Returns the static vector of a text, of length 1; empty for a text without known words.
pub fn unit_vector(vectors: &StaticModel, text: &str) -> Vec<f32> {
    if text.trim().is_empty() {
        return Vec::new();
    }
    let mut sum = vectors.unrounded(text);
    let length = sum.iter().map(|it| it * it).sum::<f32>().sqrt();
    if length < 1e-6 {
        return Vec::new();
    }
    sum.iter_mut().for_each(|it| *it /= length);
    sum
}

/// Reads a file from its start.
#[derive(Debug, Clone, Copy)]
pub struct File(pub &'static [u8]);

impl File {
    /// The next bytes.
    pub fn take(&mut self, n: usize) -> Option<&'static [u8]> {
        let (head, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(head)
    }

    /// The next u32.
    pub fn number(&mut self) -> Option<usize> {
        Some(u32::from_le_bytes(*self.take(4)?.first_chunk()?) as usize)
    }

    /// The next f32s.
    pub fn floats(&mut self, n: usize) -> Option<Vec<f32>> {
        let (words, _) = self.take(n.checked_mul(4)?)?.as_chunks();
        Some(words.iter().map(|it| f32::from_le_bytes(*it)).collect())
    }

    /// The next line of text, without its end.
    pub fn line(&mut self) -> Option<&'static str> {
        let end = self.0.iter().position(|byte| *byte == b'\n')?;
        let line = std::str::from_utf8(self.take(end)?).ok()?;
        self.take(1)?;
        Some(line)
    }
}
