//! Encoder: the graph of a BERT-like encoder.
//!
//! In: the graph, the weights, the family. Out: the name of the vectors of the tokens.
//! Invariants: tokens that the mask hides change nothing; a text may be as long as there are positions.
//! Not here: matrix products (`linear.rs`), names (`family.rs`).

use crate::ModelError;
use crate::graph::{Attribute, Graph};
use crate::weights::Weights;

use super::family::{Activation, Family};
use super::linear::{Precision, linear};

/// ONNX's number for 32-bit floats.
const FLOAT: i64 = 1;

/// What is added to the attention to a hidden token: next to nothing is left of it.
const HIDDEN: f32 = -10_000.0;

/// Most positions for which distances are written down: their table has the square.
const MAX_DISTANCES: usize = 512;

/// Distance from which on all count the same (MPNet).
const MAX_DISTANCE: f32 = 128.0;

/// What every layer needs.
struct Builder<'a, 'w> {
    graph: &'a mut Graph,
    weights: &'a Weights<'w>,
    family: &'a Family,
    precision: Precision,
    /// Added to the scores of attention: what the mask hides, and what distances count.
    bias: String,
}

/// Builds the graph.
pub(super) fn build(
    graph: &mut Graph,
    weights: &Weights<'_>,
    (family, precision): (&Family, Precision),
) -> Result<String, ModelError> {
    let length = graph.node(
        "Shape",
        &["input_ids"],
        &[Attribute::Int("start", 1), Attribute::Int("end", 2)],
    );
    let bias = bias(graph, weights, (family, &length))?;
    let mut builder = Builder { graph, weights, family, precision, bias };
    let mut state = builder.embeddings(&length)?;
    for layer in 0..family.n_layers {
        state = builder.layer(layer, &state)?;
    }
    Ok(state)
}

/// What is added to the scores of attention, for `[batch, heads, tokens, tokens]`.
fn bias(
    graph: &mut Graph,
    weights: &Weights<'_>,
    (family, length): (&Family, &str),
) -> Result<String, ModelError> {
    let mask = graph.node("Cast", &["attention_mask"], &[Attribute::Int("to", FLOAT)]);
    let axes = graph.ints(&[1, 2]);
    let mask = graph.node("Unsqueeze", &[&mask, &axes], &[]);
    let (one, hidden) = (graph.floats(&[], &[1.0]), graph.floats(&[], &[HIDDEN]));
    let mask = graph.node("Sub", &[&one, &mask], &[]);
    let mask = graph.node("Mul", &[&mask, &hidden], &[]);
    let Some(name) = family.names.distances else { return Ok(mask) };
    let n = family.n_positions.min(MAX_DISTANCES);
    let rows = weights.tensor(&format!("{name}.weight"), &[family.n_buckets, family.n_heads])?;
    let table: Vec<f32> = (0..family.n_heads * n * n)
        .map(|at| {
            let (head, from, to) = (at / (n * n), at / n % n, at % n);
            let row = bucket(from, to, family.n_buckets);
            rows.get(row * family.n_heads + head).copied().unwrap_or_default()
        })
        .collect();
    let table = graph.floats(&[1, family.n_heads as i64, n as i64, n as i64], &table);
    let (zeros, axes) = (graph.ints(&[0, 0]), graph.ints(&[2, 3]));
    let ends = graph.node("Concat", &[length, length], &[Attribute::Int("axis", 0)]);
    let table = graph.node("Slice", &[&table, &zeros, &ends, &axes], &[]);
    Ok(graph.node("Add", &[&mask, &table], &[]))
}

/// MPNet's row for the distance between two tokens: exact while near, by its logarithm further on, and one half of the
/// rows for each direction.
fn bucket(from: usize, to: usize, n_buckets: usize) -> usize {
    let half = n_buckets / 2;
    let direction = if to > from { half } else { 0 };
    let distance = from.abs_diff(to);
    let n_exact = half / 2;
    if distance < n_exact {
        return direction + distance;
    }
    let share = (distance as f32 / n_exact as f32).ln() / (MAX_DISTANCE / n_exact as f32).ln();
    direction + (n_exact + (share * (half - n_exact) as f32) as usize).min(half - 1)
}

impl Builder<'_, '_> {
    /// Words, positions and kinds, added and normalized.
    fn embeddings(&mut self, length: &str) -> Result<String, ModelError> {
        let (weights, family) = (self.weights, self.family);
        let shape = weights.shape("embeddings.word_embeddings.weight")?;
        let n_words = shape.first().copied().unwrap_or_default();
        let words =
            weights.tensor("embeddings.word_embeddings.weight", &[n_words, family.width])?;
        let words = self.graph.floats(&[n_words as i64, family.width as i64], &words);
        let words = self.graph.node("Gather", &[&words, "input_ids"], &[]);
        let rows = [family.first_position + family.n_positions, family.width];
        let mut positions = weights.tensor("embeddings.position_embeddings.weight", &rows)?;
        positions.drain(..family.first_position * family.width);
        if family.names.has_kinds {
            let kinds = weights.shape("embeddings.token_type_embeddings.weight")?;
            let n_kinds = kinds.first().copied().unwrap_or_default();
            let kinds = weights
                .tensor("embeddings.token_type_embeddings.weight", &[n_kinds, family.width])?;
            // Every token is of the first text, so its row is the same for all positions.
            for row in positions.chunks_exact_mut(family.width) {
                row.iter_mut().zip(&kinds).for_each(|(number, kind)| *number += kind);
            }
        }
        let positions =
            self.graph.floats(&[family.n_positions as i64, family.width as i64], &positions);
        let zero = self.graph.ints(&[0]);
        let positions = self.graph.node("Slice", &[&positions, &zero, length, &zero], &[]);
        let sum = self.graph.node("Add", &[&words, &positions], &[]);
        self.norm("embeddings.LayerNorm", &sum)
    }

    fn layer(&mut self, layer: usize, state: &str) -> Result<String, ModelError> {
        let names = self.family.names;
        let name = |name: &str| self.family.of_layer(layer, name);
        let (joined_norm, outer_norm) = (name(names.joined_norm), name(names.outer_norm));
        let (width, inner_width) = (self.family.width, self.family.inner_width);
        let (inner, outer) = (name(names.inner), name(names.outer));
        let joined = self.attention(layer, state)?;
        let sum = self.graph.node("Add", &[&joined, state], &[]);
        let state = self.norm(&joined_norm, &sum)?;
        let wide = self.linear((&inner, &state), (width, inner_width))?;
        let wide = self.activation(&wide);
        let narrow = self.linear((&outer, &wide), (inner_width, width))?;
        let sum = self.graph.node("Add", &[&narrow, &state], &[]);
        self.norm(&outer_norm, &sum)
    }

    fn attention(&mut self, layer: usize, state: &str) -> Result<String, ModelError> {
        let (family, names) = (self.family, self.family.names);
        let width = family.width;
        let by_head = [0, 0, family.n_heads as i64, (width / family.n_heads) as i64];
        let mut heads = |name: &str, order: &[i64]| -> Result<String, ModelError> {
            let flat = self.linear((&family.of_layer(layer, name), state), (width, width))?;
            let shape = self.graph.ints(&by_head);
            let split = self.graph.node("Reshape", &[&flat, &shape], &[]);
            Ok(self.graph.node("Transpose", &[&split], &[Attribute::Ints("perm", order)]))
        };
        let query = heads(names.query, &[0, 2, 1, 3])?;
        let key = heads(names.key, &[0, 2, 3, 1])?;
        let value = heads(names.value, &[0, 2, 1, 3])?;
        let graph = &mut self.graph;
        let scores = graph.node("MatMul", &[&query, &key], &[]);
        let scale = graph.floats(&[], &[1.0 / ((width / family.n_heads) as f32).sqrt()]);
        let scores = graph.node("Mul", &[&scores, &scale], &[]);
        let scores = graph.node("Add", &[&scores, &self.bias], &[]);
        let shares = graph.node("Softmax", &[&scores], &[Attribute::Int("axis", -1)]);
        let mixed = graph.node("MatMul", &[&shares, &value], &[]);
        let mixed = graph.node("Transpose", &[&mixed], &[Attribute::Ints("perm", &[0, 2, 1, 3])]);
        let shape = graph.ints(&[0, 0, width as i64]);
        let mixed = graph.node("Reshape", &[&mixed, &shape], &[]);
        self.linear((&family.of_layer(layer, names.joined), &mixed), (width, width))
    }

    fn activation(&mut self, input: &str) -> String {
        let graph = &mut self.graph;
        let gated = |graph: &mut Graph, gate: &str| {
            let (one, half) = (graph.floats(&[], &[1.0]), graph.floats(&[], &[0.5]));
            let gate = graph.node("Add", &[gate, &one], &[]);
            let whole = graph.node("Mul", &[input, &gate], &[]);
            graph.node("Mul", &[&whole, &half], &[])
        };
        match self.family.activation {
            Activation::Relu => graph.node("Relu", &[input], &[]),
            Activation::Gelu => {
                let root = graph.floats(&[], &[std::f32::consts::SQRT_2]);
                let scaled = graph.node("Div", &[input, &root], &[]);
                let gate = graph.node("Erf", &[&scaled], &[]);
                gated(graph, &gate)
            }
            Activation::GeluTanh => {
                let cubic = graph.floats(&[], &[0.044_715]);
                let root = graph.floats(&[], &[(2.0 / std::f32::consts::PI).sqrt()]);
                let square = graph.node("Mul", &[input, input], &[]);
                let cube = graph.node("Mul", &[&square, input], &[]);
                let cube = graph.node("Mul", &[&cube, &cubic], &[]);
                let sum = graph.node("Add", &[input, &cube], &[]);
                let scaled = graph.node("Mul", &[&sum, &root], &[]);
                let gate = graph.node("Tanh", &[&scaled], &[]);
                gated(graph, &gate)
            }
        }
    }

    fn norm(&mut self, name: &str, input: &str) -> Result<String, ModelError> {
        let width = self.family.width;
        let mut tensor = |names: [&str; 2]| -> Result<String, ModelError> {
            // Models converted from TensorFlow have other names.
            let [new, old] = names.map(|it| format!("{name}.{it}"));
            let name = if self.weights.has(&new) { new } else { old };
            let numbers = self.weights.tensor(&name, &[width])?;
            Ok(self.graph.floats(&[width as i64], &numbers))
        };
        let (scale, shift) = (tensor(["weight", "gamma"])?, tensor(["bias", "beta"])?);
        let attributes =
            [Attribute::Float("epsilon", self.family.epsilon), Attribute::Int("axis", -1)];
        Ok(self.graph.node("LayerNormalization", &[input, &scale, &shift], &attributes))
    }

    fn linear(
        &mut self,
        (name, input): (&str, &str),
        sizes: (usize, usize),
    ) -> Result<String, ModelError> {
        linear(self.graph, (self.weights, self.precision), (name, input), sizes)
    }
}
