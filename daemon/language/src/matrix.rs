//! Matrices: a layer's product over many rows at once, and the maximum of its pieces.
//!
//! In: rows of numbers. Out: rows of numbers.

use sys::{Rows, product};

/// A linear layer: outputs are a row times `weights` [inputs, outputs], plus `bias`.
#[derive(Debug)]
pub(super) struct Matrix {
    /// Width of an input row.
    pub(super) n_in: usize,
    /// Inputs first: the kernel copies the weights into its own order at every call. If neighbors there were not
    /// neighbors here, this copy would be most of the cost of a short text.
    pub(super) weights: Vec<f32>,
    /// One number for each output; [`Matrix::apply`] adds it, [`Matrix::times`] leaves it to the caller.
    pub(super) bias: Vec<f32>,
}

impl Matrix {
    /// Makes a layer from weights [outputs, inputs], the order in which models store them.
    pub(super) fn from_rows(n_in: usize, rows: &[f32], bias: Vec<f32>) -> Self {
        let column = |i: usize| rows.iter().skip(i).step_by(n_in).copied();
        Matrix { n_in, weights: (0..n_in).flat_map(column).collect(), bias }
    }

    /// Returns the width of an output row.
    pub(super) fn n_out(&self) -> usize {
        self.bias.len()
    }

    /// Fills `out` with the products of `n_rows` rows that begin every `stride` numbers of `values`, without the
    /// bias.
    pub(super) fn times(&self, values: &[f32], n_rows: usize, stride: usize, out: &mut Vec<f32>) {
        out.resize(n_rows * self.n_out(), 0.0);
        product(&Rows { values, n_rows, width: self.n_in, stride }, &self.weights, out);
    }

    /// Like [`Matrix::times`] for rows without gaps, with the bias added.
    pub(super) fn apply(&self, values: &[f32], out: &mut Vec<f32>) {
        self.times(values, values.len() / self.n_in, self.n_in, out);
        for row in out.chunks_exact_mut(self.n_out()) {
            add(row, &self.bias);
        }
    }
}

/// Adds `summand` to `sum`, number by number.
pub(super) fn add(sum: &mut [f32], summand: &[f32]) {
    sum.iter_mut().zip(summand).for_each(|(sum, summand)| *sum += summand);
}

/// Returns the greater number of each pair from the two halves.
pub(super) fn greatest_of_two(halves: &[f32; 128]) -> [f32; 64] {
    let mut greatest = [0.0; 64];
    let (first, second) = halves.split_at(64);
    for ((out, a), b) in greatest.iter_mut().zip(first).zip(second) {
        *out = if b > a { *b } else { *a };
    }
    greatest
}

/// Returns the dot product of two rows.
pub(super) fn dot(a: &[f32; 64], b: &[f32; 64]) -> f32 {
    let mut lanes = [0.0f32; 8];
    for (a, b) in a.as_chunks::<8>().0.iter().zip(b.as_chunks::<8>().0) {
        for ((lane, a), b) in lanes.iter_mut().zip(a).zip(b) {
            *lane += a * b;
        }
    }
    lanes.iter().sum()
}

/// Returns the floating-point operations (multiplications and additions) for each token in the models' layers: for
/// names, and for tags with dependencies. Hash tables and transitions are not counted.
pub fn operations_a_token() -> (f64, f64) {
    // Inputs times outputs of each layer, all pieces included.
    const CONVOLUTIONS: f64 = 4.0 * 288.0 * 288.0;
    const NAMES: f64 = CONVOLUTIONS + 96.0 * 64.0 + 64.0 * 384.0 + 64.0 * 74.0;
    const SYNTAX: f64 = CONVOLUTIONS + 96.0 * 50.0 + 96.0 * 64.0 + 64.0 * 1024.0;
    (2.0 * NAMES, 2.0 * SYNTAX)
}
