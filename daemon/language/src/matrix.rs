//! Matrices: a layer's product over many rows at once, and the greatest of its pieces.
//!
//! In: rows of numbers. Out: rows of numbers. Not here: the kernel (`sys/product.rs` calls a crate's), layers' meaning.

use sys::{Rows, product};

/// A linear layer: outputs are a row times `weights` [inputs, outputs], plus `bias`.
#[derive(Debug)]
pub(super) struct Matrix {
    /// Numbers in a row that goes in.
    pub(super) n_in: usize,
    /// Inputs first: the kernel copies weights into its own order at every call, which is most of the cost of a short
    /// text when neighbors there are not neighbors here.
    pub(super) weights: Vec<f32>,
    /// One number an output; who adds it is the caller's choice.
    pub(super) bias: Vec<f32>,
}

impl Matrix {
    /// A layer of weights [outputs, inputs], as models store them.
    pub(super) fn from_rows(n_in: usize, rows: &[f32], bias: Vec<f32>) -> Self {
        let column = |i: usize| rows.iter().skip(i).step_by(n_in).copied();
        Matrix { n_in, weights: (0..n_in).flat_map(column).collect(), bias }
    }

    /// Numbers in a row that comes out.
    pub(super) fn n_out(&self) -> usize {
        self.bias.len()
    }

    /// Fills `out` with the products of `n_rows` rows that begin every `stride` numbers of `values`; no bias added.
    pub(super) fn times(&self, values: &[f32], n_rows: usize, stride: usize, out: &mut Vec<f32>) {
        out.resize(n_rows * self.n_out(), 0.0);
        product(&Rows { values, n_rows, width: self.n_in, stride }, &self.weights, out);
    }

    /// As [`Matrix::times`] for rows that lie end to end, bias added.
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

/// Keeps in the first half of `halves` the greater of each pair of numbers; out is that half.
pub(super) fn greatest_of_two(halves: &[f32; 128]) -> [f32; 64] {
    let mut greatest = [0.0; 64];
    let (first, second) = halves.split_at(64);
    for ((out, a), b) in greatest.iter_mut().zip(first).zip(second) {
        *out = if b > a { *b } else { *a };
    }
    greatest
}

/// The sum of products of two rows.
pub(super) fn dot(a: &[f32; 64], b: &[f32; 64]) -> f32 {
    let mut lanes = [0.0f32; 8];
    for (a, b) in a.as_chunks::<8>().0.iter().zip(b.as_chunks::<8>().0) {
        for ((lane, a), b) in lanes.iter_mut().zip(a).zip(b) {
            *lane += a * b;
        }
    }
    lanes.iter().sum()
}

/// Floating-point operations (multiplications and additions) that the models' layers do a token: names, and tags with
/// dependencies; hash tables and transitions not counted.
pub fn operations_a_token() -> (f64, f64) {
    const CONVOLUTIONS: f64 = 4.0 * 288.0 * 288.0;
    const NAMES: f64 = CONVOLUTIONS + 96.0 * 64.0 + 64.0 * 384.0 + 64.0 * 74.0;
    const SYNTAX: f64 = CONVOLUTIONS + 96.0 * 50.0 + 96.0 * 64.0 + 64.0 * 1024.0;
    (2.0 * NAMES, 2.0 * SYNTAX)
}
