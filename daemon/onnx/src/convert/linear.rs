//! Linear: a matrix product with a bias, in floats or in 8-bit integers.
//!
//! In: the graph, a weight of `[out, in]`. Out: the name of the result.
//! Invariants: in 8 bits, a column of weights has a scale of its own (one for all of them loses a tenth of the cosine),
//! and what is multiplied is scaled when the model runs.
//! Not here: what is multiplied.

use crate::ModelError;
use crate::graph::{Attribute, Graph};
use crate::weights::Weights;

/// ONNX's number for 32-bit floats.
const FLOAT: i64 = 1;

/// What the weights of matrix products are kept in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// 32-bit floats, as they were.
    Float,
    /// 8-bit integers: a quarter of their size, about twice as fast.
    Int8,
}

/// `input × weightᵀ + bias` for the weights `{name}.weight` and `{name}.bias`.
pub(super) fn linear(
    graph: &mut Graph,
    (weights, precision): (&Weights<'_>, Precision),
    (name, input): (&str, &str),
    (n_in, n_out): (usize, usize),
) -> Result<String, ModelError> {
    let weight = weights.tensor(&format!("{name}.weight"), &[n_out, n_in])?;
    let bias = weights.tensor(&format!("{name}.bias"), &[n_out])?;
    let sizes = [n_in as i64, n_out as i64];
    let product = match precision {
        Precision::Float => {
            let columns: Vec<f32> = (0..n_in * n_out)
                .map(|at| weight.get(at % n_out * n_in + at / n_out).copied().unwrap_or_default())
                .collect();
            let columns = graph.floats(&sizes, &columns);
            graph.node("MatMul", &[input, &columns], &[])
        }
        Precision::Int8 => {
            let (columns, scales) = rounded(&weight, n_in);
            let (columns, scales) =
                (graph.bytes(&sizes, &columns), graph.floats(&[n_out as i64], &scales));
            let [small, scale, zero] = graph.node_of("DynamicQuantizeLinear", &[input], &[]);
            let sum = graph.node("MatMulInteger", &[&small, &columns, &zero], &[]);
            let sum = graph.node("Cast", &[&sum], &[Attribute::Int("to", FLOAT)]);
            let scales = graph.node("Mul", &[&scale, &scales], &[]);
            graph.node("Mul", &[&sum, &scales], &[])
        }
    };
    let bias = graph.floats(&[n_out as i64], &bias);
    Ok(graph.node("Add", &[&product, &bias], &[]))
}

/// Weights as integers in the order of `[in, out]`, and each column's scale.
fn rounded(weight: &[f32], n_in: usize) -> (Vec<i8>, Vec<f32>) {
    let rows: Vec<&[f32]> = weight.chunks_exact(n_in.max(1)).collect();
    let largest = |row: &&[f32]| row.iter().fold(0.0f32, |most, number| most.max(number.abs()));
    let scales: Vec<f32> = rows.iter().map(|row| largest(row) / 127.0).collect();
    let round = |(row, scale): (&&[f32], &f32), at: usize| match *scale > 0.0 {
        true => (row.get(at).copied().unwrap_or_default() / scale).round() as i8,
        false => 0,
    };
    let columns =
        (0..n_in).flat_map(|at| rows.iter().zip(&scales).map(move |pair| round(pair, at)));
    (columns.collect(), scales.clone())
}
