//! Encoder: builds the graph of a BERT-like encoder.
//!
//! In: the graph, the weights, the shape. Out: the name of the tokens' vectors.
//! Invariants: tokens that the mask hides change nothing; a text may be as long as there are positions.

use crate::ModelError;
use crate::graph::{Attribute, Graph};
use crate::weights::Weights;

use super::linear::{FLOAT, Linear, Precision, int8_of, scale_of};
use super::shape::Shape;

/// Added to the attention scores of a hidden token, so that the softmax leaves almost nothing of it.
const HIDDEN: f32 = -10_000.0;

/// The inputs of every layer.
struct Builder<'a, 'w> {
    graph: &'a mut Graph,
    weights: &'a Weights<'w>,
    shape: &'a Shape,
    precision: Precision,
    /// Added to the attention scores: 0, or [`HIDDEN`] where the mask hides a token.
    mask: String,
}

/// Builds the graph. `kinds` is the name of an input with the text (0 or 1) to which each token belongs; without it,
/// all belong to the first.
pub(super) fn build(
    graph: &mut Graph,
    weights: &Weights<'_>,
    shape: &Shape,
    precision: Precision,
    kinds: Option<&str>,
) -> Result<String, ModelError> {
    let mask = mask(graph);
    let mut builder = Builder { graph, weights, shape, precision, mask };
    let mut state = builder.embeddings(kinds)?;
    for layer in 0..shape.n_layers {
        state = builder.layer(layer, &state)?;
    }
    Ok(state)
}

/// Returns the term added to attention scores of `[batch, heads, tokens, tokens]`.
fn mask(graph: &mut Graph) -> String {
    let mask = graph.node("Cast", &["attention_mask"], &[Attribute::Int("to", FLOAT)]);
    // `[batch, tokens]` becomes `[batch, 1, 1, tokens]`, which broadcasts over heads and queries.
    let axes = graph.ints(&[1, 2]);
    let mask = graph.node("Unsqueeze", &[&mask, &axes], &[]);
    let (one, hidden) = (graph.floats(&[], &[1.0]), graph.floats(&[], &[HIDDEN]));
    // (1 - mask) × HIDDEN: 0 where a token counts.
    let mask = graph.node("Sub", &[&one, &mask], &[]);
    graph.node("Mul", &[&mask, &hidden], &[])
}

impl Builder<'_, '_> {
    /// Adds word, position and text-kind embeddings, and normalizes the sum.
    fn embeddings(&mut self, kinds: Option<&str>) -> Result<String, ModelError> {
        let width = self.shape.width;
        let words = self.words("embeddings.word_embeddings.weight")?;
        let (first, n_positions) = (self.shape.first_position, self.shape.n_positions);
        let name = "embeddings.position_embeddings.weight";
        let mut positions = self.weights.tensor(name, &[first + n_positions, width])?;
        // The RoBERTa family leaves the first rows unused.
        positions.drain(..first * width);
        let (table, n_kinds) = self.table("embeddings.token_type_embeddings.weight")?;
        let kinds = kinds.map(|kinds| {
            let table = self.graph.floats(&[n_kinds as i64, width as i64], &table);
            self.graph.node("Gather", &[&table, kinds], &[])
        });
        if kinds.is_none() {
            // Without kinds, the same row is added at every position, so it is added to the table once, here.
            for row in positions.chunks_exact_mut(width) {
                row.iter_mut().zip(&table).for_each(|(number, kind)| *number += kind);
            }
        }
        let positions = self.graph.floats(&[n_positions as i64, width as i64], &positions);
        // The positions of a text are the first rows, as many as it has tokens.
        let ends = [Attribute::Int("start", 1), Attribute::Int("end", 2)];
        let length = self.graph.node("Shape", &["input_ids"], &ends);
        let zero = self.graph.ints(&[0]);
        let positions = self.graph.node("Slice", &[&positions, &zero, &length, &zero], &[]);
        let mut sum = self.graph.node("Add", &[&words, &positions], &[]);
        if let Some(kinds) = kinds {
            sum = self.graph.node("Add", &[&sum, &kinds], &[]);
        }
        self.norm("embeddings.LayerNorm", &sum)
    }

    /// Looks up the rows of the words, from a table in floats or in 8 bits.
    fn words(&mut self, name: &str) -> Result<String, ModelError> {
        let packed = self.weights.packed(name).filter(|it| it.shape()[1] == self.shape.width);
        let (Precision::Int8Words, Some(packed)) = (self.precision, packed) else {
            let (words, n_words) = self.table(name)?;
            let words = self.graph.floats(&[n_words as i64, self.shape.width as i64], &words);
            return Ok(self.graph.node("Gather", &[&words, "input_ids"], &[]));
        };
        // Row by row: as floats, the whole table would take four times the memory of the finished model.
        let [n_words, width] = packed.shape().map(|size| size as i64);
        let scales: Vec<f32> = packed.rows().map(|row| scale_of(&row)).collect();
        let rows = packed
            .rows()
            .zip(&scales)
            .flat_map(|(row, &scale)| row.into_iter().map(move |number| int8_of(number, scale)));
        let rows = self.graph.bytes(&[n_words, width], rows);
        let scales = self.graph.floats(&[n_words, 1], &scales);
        // Only the rows of the text are converted back to floats, when the model runs.
        let [rows, scales] =
            [rows, scales].map(|table| self.graph.node("Gather", &[&table, "input_ids"], &[]));
        let rows = self.graph.node("Cast", &[&rows], &[Attribute::Int("to", FLOAT)]);
        Ok(self.graph.node("Mul", &[&rows, &scales], &[]))
    }

    /// Returns a table of any number of rows, and that number.
    fn table(&self, name: &str) -> Result<(Vec<f32>, usize), ModelError> {
        let n_rows = self.weights.shape(name)?.first().copied().unwrap_or_default();
        Ok((self.weights.tensor(name, &[n_rows, self.shape.width])?, n_rows))
    }

    fn layer(&mut self, layer: usize, state: &str) -> Result<String, ModelError> {
        let name = |name: &str| format!("encoder.layer.{layer}.{name}");
        let (width, inner_width) = (self.shape.width, self.shape.inner_width);
        let mixed = self.attention(&name("attention.self"), state)?;
        let joined = self.linear(&name("attention.output.dense"), &mixed, width, width)?;
        // Post-norm: the input is added first, then normalized, as in the original BERT.
        let sum = self.graph.node("Add", &[&joined, state], &[]);
        let state = self.norm(&name("attention.output.LayerNorm"), &sum)?;
        let wide = self.linear(&name("intermediate.dense"), &state, width, inner_width)?;
        let wide = self.gelu(&wide);
        let narrow = self.linear(&name("output.dense"), &wide, inner_width, width)?;
        let sum = self.graph.node("Add", &[&narrow, &state], &[]);
        self.norm(&name("output.LayerNorm"), &sum)
    }

    fn attention(&mut self, name: &str, state: &str) -> Result<String, ModelError> {
        let (width, n_heads) = (self.shape.width, self.shape.n_heads);
        // Zeros keep the sizes of batch and tokens.
        let by_head = [0, 0, n_heads as i64, (width / n_heads) as i64];
        let mut heads = |part: &str, order: &[i64]| -> Result<String, ModelError> {
            let flat = self.linear(&format!("{name}.{part}"), state, width, width)?;
            let shape = self.graph.ints(&by_head);
            let split = self.graph.node("Reshape", &[&flat, &shape], &[]);
            Ok(self.graph.node("Transpose", &[&split], &[Attribute::Ints("perm", order)]))
        };
        let query = heads("query", &[0, 2, 1, 3])?;
        // Transposed for `query × keyᵀ`.
        let key = heads("key", &[0, 2, 3, 1])?;
        let value = heads("value", &[0, 2, 1, 3])?;
        let graph = &mut self.graph;
        let scores = graph.node("MatMul", &[&query, &key], &[]);
        // Scaled dot products: divided by the root of a head's width (Vaswani et al. 2017).
        let scale = graph.floats(&[], &[1.0 / ((width / n_heads) as f32).sqrt()]);
        let scores = graph.node("Mul", &[&scores, &scale], &[]);
        let scores = graph.node("Add", &[&scores, &self.mask], &[]);
        let shares = graph.node("Softmax", &[&scores], &[Attribute::Int("axis", -1)]);
        let mixed = graph.node("MatMul", &[&shares, &value], &[]);
        let mixed = graph.node("Transpose", &[&mixed], &[Attribute::Ints("perm", &[0, 2, 1, 3])]);
        let shape = graph.ints(&[0, 0, width as i64]);
        Ok(graph.node("Reshape", &[&mixed, &shape], &[]))
    }

    /// Adds GELU as `x × (erf(x / √2) + 1) / 2`: this version of the operators has no GELU of its own.
    fn gelu(&mut self, input: &str) -> String {
        let graph = &mut self.graph;
        let root = graph.floats(&[], &[std::f32::consts::SQRT_2]);
        let scaled = graph.node("Div", &[input, &root], &[]);
        let gate = graph.node("Erf", &[&scaled], &[]);
        let (one, half) = (graph.floats(&[], &[1.0]), graph.floats(&[], &[0.5]));
        let gate = graph.node("Add", &[&gate, &one], &[]);
        let whole = graph.node("Mul", &[input, &gate], &[]);
        graph.node("Mul", &[&whole, &half], &[])
    }

    fn norm(&mut self, name: &str, input: &str) -> Result<String, ModelError> {
        let width = self.shape.width;
        let mut tensor = |names: [&str; 2]| -> Result<String, ModelError> {
            // Models converted from TensorFlow use the second name.
            let [new, old] = names.map(|it| format!("{name}.{it}"));
            let name = if self.weights.has(&new) { new } else { old };
            let numbers = self.weights.tensor(&name, &[width])?;
            Ok(self.graph.floats(&[width as i64], &numbers))
        };
        let (scale, shift) = (tensor(["weight", "gamma"])?, tensor(["bias", "beta"])?);
        let attributes =
            [Attribute::Float("epsilon", self.shape.epsilon), Attribute::Int("axis", -1)];
        Ok(self.graph.node("LayerNormalization", &[input, &scale, &shift], &attributes))
    }

    fn linear(
        &mut self,
        name: &str,
        input: &str,
        n_in: usize,
        n_out: usize,
    ) -> Result<String, ModelError> {
        let weight = self.weights.tensor(&format!("{name}.weight"), &[n_out, n_in])?;
        let bias = self.weights.tensor(&format!("{name}.bias"), &[n_out])?;
        Ok(Linear { weight, bias }.add_to(self.graph, self.precision, input))
    }
}
