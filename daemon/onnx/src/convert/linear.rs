//! Linear: a matrix product with a bias, in floats or in 8-bit integers.
//!
//! In: a weight of `[out, in]` and its bias. Out: constants and nodes in the graph.
//! Invariants: in 8 bits each column of a weight has its own scale (one scale for all columns costs a tenth of the
//! cosine), and inputs are scaled when the model runs.

use crate::graph::{Attribute, Graph};

/// ONNX's number for 32-bit floats.
pub(super) const FLOAT: i64 = 1;

/// The numeric type of the weights of matrix products.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// 32-bit floats, unchanged.
    Float,
    /// 8-bit integers: a quarter of the size, about twice as fast.
    Int8,
    /// As `Int8`, and the word table as well, with a scale for each row.
    Int8Words,
}

/// A weight of `[out, in]` with its bias.
pub(super) struct Linear {
    pub(super) weight: Vec<f32>,
    pub(super) bias: Vec<f32>,
}

impl Linear {
    /// Adds `input × weightᵀ + bias` to the graph and returns the name of the result.
    pub(super) fn add_to(&self, graph: &mut Graph, precision: Precision, input: &str) -> String {
        let n_out = self.bias.len();
        let n_in = self.weight.len() / n_out.max(1);
        let sizes = [n_in as i64, n_out as i64];
        let product = match precision {
            Precision::Float => {
                let columns = graph.floats(&sizes, &self.columns(n_in));
                graph.node("MatMul", &[input, &columns], &[])
            }
            Precision::Int8 | Precision::Int8Words => {
                let (columns, scales) = rounded(&self.weight, n_in);
                let columns = graph.bytes(&sizes, columns.into_iter());
                let scales = graph.floats(&[n_out as i64], &scales);
                // Inputs are quantized at run time, to unsigned bytes with one scale and zero point.
                let [small, scale, zero] = graph.node_of("DynamicQuantizeLinear", &[input], &[]);
                let sum = graph.node("MatMulInteger", &[&small, &columns, &zero], &[]);
                let sum = graph.node("Cast", &[&sum], &[Attribute::Int("to", FLOAT)]);
                // The scale of the result is that of the input times that of the column.
                let scales = graph.node("Mul", &[&scale, &scales], &[]);
                graph.node("Mul", &[&sum, &scales], &[])
            }
        };
        let bias = graph.floats(&[n_out as i64], &self.bias);
        graph.node("Add", &[&product, &bias], &[])
    }

    /// The weight transposed to `[in, out]`.
    fn columns(&self, n_in: usize) -> Vec<f32> {
        let rows = self.weight.chunks_exact(n_in.max(1));
        (0..n_in).flat_map(|at| rows.clone().filter_map(move |row| row.get(at).copied())).collect()
    }
}

/// Returns a weight as integers in the order of `[in, out]`, and the scale of each column.
fn rounded(weight: &[f32], n_in: usize) -> (Vec<i8>, Vec<f32>) {
    let rows: Vec<&[f32]> = weight.chunks_exact(n_in.max(1)).collect();
    let greatest = greatest_weight();
    let scales: Vec<f32> = rows.iter().map(|row| scale_of(row) * 127.0 / greatest).collect();
    let mut columns = Vec::with_capacity(weight.len());
    for at in 0..n_in {
        for (row, &scale) in rows.iter().zip(&scales) {
            let number = row.get(at).copied().unwrap_or_default();
            columns.push(int8_of(number, scale));
        }
    }
    (columns, scales)
}

/// Returns the greatest integer that a weight becomes. Without VNNI, `rten` adds two products of an unsigned and a
/// signed byte in 16 bits on x86. They hold the sum only if weights have seven bits; else it is cut off, and vectors
/// are wrong.
fn greatest_weight() -> f32 {
    #[cfg(target_arch = "x86_64")]
    if !std::arch::is_x86_feature_detected!("avx512vnni") {
        return 63.0;
    }
    127.0
}

/// Returns the scale at which the largest of these numbers becomes 127.
pub(super) fn scale_of(numbers: &[f32]) -> f32 {
    numbers.iter().fold(0.0f32, |most, number| most.max(number.abs())) / 127.0
}

/// Returns a number at a scale, rounded; 0 at the scale 0 of a row of zeros.
pub(super) fn int8_of(number: f32, scale: f32) -> i8 {
    if scale > 0.0 { (number / scale).round() as i8 } else { 0 }
}
