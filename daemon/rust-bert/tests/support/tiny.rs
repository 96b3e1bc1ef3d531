//! A tiny BERT for token classification with random weights: two layers of 32 numbers.

use std::collections::BTreeMap;
use std::path::Path;

use safetensors::tensor::{Dtype, TensorView, serialize};
use serde_json::json;

pub const LABELS: &[&str] = &["O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-ORG"];

const WIDTH: usize = 32;
const INNER: usize = 64;
const N_LAYERS: usize = 2;
const N_POSITIONS: usize = 96;

/// Writes `config.json`, `vocab.txt`, `tokenizer.json` and `model.safetensors`. The same numbers every time.
pub fn write_tiny(folder: &Path) {
    let mut pieces: Vec<String> =
        ["[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"].map(String::from).into();
    pieces.extend((' '..='~').skip(1).flat_map(|sign| [sign.to_string(), format!("##{sign}")]));
    pieces.extend(["Ada", "##lace", "the", "service", "##ing", "stop", "line"].map(String::from));
    let id2label: BTreeMap<String, &str> =
        LABELS.iter().enumerate().map(|(i, it)| (i.to_string(), *it)).collect();
    let config = json!({
        "model_type": "bert", "hidden_act": "gelu", "hidden_size": WIDTH, "intermediate_size": INNER,
        "num_hidden_layers": N_LAYERS, "num_attention_heads": 4, "max_position_embeddings": N_POSITIONS,
        "type_vocab_size": 2, "vocab_size": pieces.len(), "initializer_range": 0.02, "layer_norm_eps": 1e-12,
        "attention_probs_dropout_prob": 0.1, "hidden_dropout_prob": 0.1, "id2label": id2label,
    });
    let write =
        |name: &str, bytes: &[u8]| std::fs::write(folder.join(name), bytes).expect("written");
    write("config.json", config.to_string().as_bytes());
    write("vocab.txt", (pieces.join("\n") + "\n").as_bytes());
    write("tokenizer.json", onnx::sample::wordpiece_json(&pieces).as_bytes());
    write("model.safetensors", &weights(pieces.len()));
}

fn weights(n_pieces: usize) -> Vec<u8> {
    let mut shapes: Vec<(String, Vec<usize>)> = Vec::new();
    let mut add = |name: &str, sizes: &[usize]| shapes.push((name.to_string(), sizes.to_vec()));
    for (table, n) in [("word", n_pieces), ("position", N_POSITIONS), ("token_type", 2)] {
        add(&format!("bert.embeddings.{table}_embeddings.weight"), &[n, WIDTH]);
    }
    let mut linear = |name: String, out: usize, into: usize| {
        let sizes = if into == 0 { vec![out] } else { vec![out, into] };
        add(&format!("{name}.weight"), &sizes);
        add(&format!("{name}.bias"), &[out]);
    };
    linear("bert.embeddings.LayerNorm".into(), WIDTH, 0);
    for layer in 0..N_LAYERS {
        let name = |part: &str| format!("bert.encoder.layer.{layer}.{part}");
        for part in [
            "attention.self.query",
            "attention.self.key",
            "attention.self.value",
            "attention.output.dense",
        ] {
            linear(name(part), WIDTH, WIDTH);
        }
        linear(name("attention.output.LayerNorm"), WIDTH, 0);
        linear(name("intermediate.dense"), INNER, WIDTH);
        linear(name("output.dense"), WIDTH, INNER);
        linear(name("output.LayerNorm"), WIDTH, 0);
    }
    linear("classifier".into(), LABELS.len(), WIDTH);
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let data: Vec<(String, Vec<usize>, Vec<u8>)> = shapes
        .into_iter()
        .map(|(name, sizes)| {
            let n: usize = sizes.iter().product();
            // Large enough that labels differ from word to word.
            let scale = if name.contains("embeddings") { 1.0 } else { 0.35 };
            let shift = if name.ends_with("LayerNorm.weight") { 1.0 } else { 0.0 };
            let bytes =
                (0..n).flat_map(|_| (random.next() * scale + shift).to_le_bytes()).collect();
            (name, sizes, bytes)
        })
        .collect();
    let views = data.iter().map(|(name, sizes, bytes)| {
        (name.as_str(), TensorView::new(Dtype::F32, sizes.clone(), bytes).expect("sizes fit"))
    });
    serialize(views, None).expect("serialized")
}

/// Numbers between -1 and 1 (xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self) -> f32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 40) as f32 / (1 << 23) as f32 - 1.0
    }
}
