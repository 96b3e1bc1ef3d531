//! BERT as an ONNX graph, from the same weights that rust-bert loads: `model.safetensors` and `config.json`.

use std::collections::HashMap;
use std::path::Path;

use onnx::sample::{Attribute, Graph};
use safetensors::{Dtype, SafeTensors};
use serde::Deserialize;

/// What follows the encoder.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Head {
    /// The mean over the tokens: a sentence's vector.
    Mean,
    /// A linear layer over each token: `classifier`.
    Classifier,
}

#[derive(Deserialize)]
struct Config {
    hidden_size: i64,
    num_attention_heads: i64,
    num_hidden_layers: usize,
    max_position_embeddings: i64,
    layer_norm_eps: f32,
}

struct Builder {
    graph: Graph,
    weights: HashMap<String, (Vec<i64>, Vec<f32>)>,
    prefix: &'static str,
    epsilon: f32,
}

/// Writes `model.onnx` for the weights in `from` into `to`.
pub fn write_onnx(from: &Path, to: &Path, head: Head) {
    let config: Config =
        serde_json::from_slice(&std::fs::read(from.join("config.json")).expect("a configuration"))
            .expect("JSON");
    let weights = read_weights(&from.join("model.safetensors"));
    let prefix =
        if weights.contains_key("bert.embeddings.LayerNorm.weight") { "bert." } else { "" };
    let mut b =
        Builder { graph: Graph::default(), weights, prefix, epsilon: config.layer_norm_eps };
    let mut x = b.embeddings(config.max_position_embeddings);
    for layer in 0..config.num_hidden_layers {
        x = b.layer(&x, layer, (config.hidden_size, config.num_attention_heads));
    }
    let (result, name) = match head {
        Head::Classifier => {
            b.prefix = "";
            (b.linear(&x, "classifier"), "logits")
        }
        Head::Mean => {
            let axis = b.graph.ints(&[1]);
            let keep = [Attribute::Int("keepdims", 0)];
            // No window is padded, so that the mask is all ones and the mean has the direction of the sum.
            (b.graph.node("ReduceSum", &[&x, &axis], &keep), "sentence_embedding")
        }
    };
    std::fs::write(to.join("model.onnx"), b.graph.finish(&result, name)).expect("written");
}

fn read_weights(path: &Path) -> HashMap<String, (Vec<i64>, Vec<f32>)> {
    let bytes = std::fs::read(path).expect("weights");
    let tensors = SafeTensors::deserialize(&bytes).expect("safetensors");
    let floats = tensors.tensors().into_iter().filter(|(_, tensor)| tensor.dtype() == Dtype::F32);
    floats
        .map(|(name, tensor)| {
            let sizes = tensor.shape().iter().map(|&size| size as i64).collect();
            let numbers =
                tensor.data().chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]));
            (name, (sizes, numbers.collect()))
        })
        .collect()
}

impl Builder {
    fn weight(&mut self, name: &str) -> String {
        let (sizes, numbers) = &self.weights[&format!("{}{name}", self.prefix)];
        self.graph.floats(sizes, numbers)
    }

    fn number(&mut self, number: f32) -> String {
        self.graph.floats(&[], &[number])
    }

    fn node(&mut self, operator: &str, inputs: &[&str]) -> String {
        self.graph.node(operator, inputs, &[])
    }

    fn embeddings(&mut self, n_positions: i64) -> String {
        let words = self.weight("embeddings.word_embeddings.weight");
        let kinds = self.weight("embeddings.token_type_embeddings.weight");
        let positions = self.weight("embeddings.position_embeddings.weight");
        let (zero, one, last) =
            (self.graph.ints(&[0]), self.graph.ints(&[1]), self.graph.ints(&[n_positions]));
        let words = self.node("Gather", &[&words, "input_ids"]);
        let first_kind = self.node("Slice", &[&kinds, &zero, &one, &zero]);
        let x = self.node("Add", &[&words, &first_kind]);
        let shape = self.node("Shape", &["input_ids"]);
        let two = self.graph.ints(&[2]);
        let n_tokens = self.node("Slice", &[&shape, &one, &two, &zero]);
        let n_tokens = self.node("Min", &[&n_tokens, &last]);
        let positions = self.node("Slice", &[&positions, &zero, &n_tokens, &zero]);
        let x = self.node("Add", &[&x, &positions]);
        self.norm(&x, "embeddings.LayerNorm")
    }

    fn layer(&mut self, x: &str, layer: usize, (width, n_heads): (i64, i64)) -> String {
        let name = |part: &str| format!("encoder.layer.{layer}.{part}");
        let split = self.graph.ints(&[0, 0, n_heads, width / n_heads]);
        let joined = self.graph.ints(&[0, 0, width]);
        let heads = |b: &mut Builder, part: &str, order: &[i64]| {
            let all = b.linear(x, &name(part));
            let split = b.node("Reshape", &[&all, &split]);
            b.graph.node("Transpose", &[&split], &[Attribute::Ints("perm", order)])
        };
        let query = heads(self, "attention.self.query", &[0, 2, 1, 3]);
        let key = heads(self, "attention.self.key", &[0, 2, 3, 1]);
        let value = heads(self, "attention.self.value", &[0, 2, 1, 3]);
        let scale = self.number(1.0 / ((width / n_heads) as f32).sqrt());
        let scores = self.node("MatMul", &[&query, &key]);
        let scores = self.node("Mul", &[&scores, &scale]);
        let shares = self.graph.node("Softmax", &[&scores], &[Attribute::Int("axis", -1)]);
        let mixed = self.node("MatMul", &[&shares, &value]);
        let mixed =
            self.graph.node("Transpose", &[&mixed], &[Attribute::Ints("perm", &[0, 2, 1, 3])]);
        let mixed = self.node("Reshape", &[&mixed, &joined]);
        let mixed = self.linear(&mixed, &name("attention.output.dense"));
        let mixed = self.node("Add", &[&mixed, x]);
        let x = self.norm(&mixed, &name("attention.output.LayerNorm"));
        let inner = self.linear(&x, &name("intermediate.dense"));
        let inner = self.gelu(&inner);
        let outer = self.linear(&inner, &name("output.dense"));
        let outer = self.node("Add", &[&outer, &x]);
        self.norm(&outer, &name("output.LayerNorm"))
    }

    fn linear(&mut self, x: &str, name: &str) -> String {
        // Stored as [out, in].
        let weight = self.weight(&format!("{name}.weight"));
        let weight = self.graph.node("Transpose", &[&weight], &[Attribute::Ints("perm", &[1, 0])]);
        let bias = self.weight(&format!("{name}.bias"));
        let product = self.node("MatMul", &[x, &weight]);
        self.node("Add", &[&product, &bias])
    }

    fn norm(&mut self, x: &str, name: &str) -> String {
        let (weight, bias) =
            (self.weight(&format!("{name}.weight")), self.weight(&format!("{name}.bias")));
        let attributes = [Attribute::Int("axis", -1), Attribute::Float("epsilon", self.epsilon)];
        self.graph.node("LayerNormalization", &[x, &weight, &bias], &attributes)
    }

    /// x · ½ · (1 + erf(x / √2)).
    fn gelu(&mut self, x: &str) -> String {
        let (root, one, half) =
            (self.number(std::f32::consts::SQRT_2), self.number(1.0), self.number(0.5));
        let divided = self.node("Div", &[x, &root]);
        let erf = self.node("Erf", &[&divided]);
        let sum = self.node("Add", &[&erf, &one]);
        let halved = self.node("Mul", &[x, &half]);
        self.node("Mul", &[&halved, &sum])
    }
}
