//! Small encoders with weights made by a formula, computed by the graph and, plainly and in 64 bits, here.

use std::collections::BTreeMap;

use safetensors::Dtype;
use safetensors::tensor::TensorView;
use serde_json::{Value, json};

use super::*;
use crate::graph::Attribute;
use crate::model::Model;
use crate::pair::PairModel;
use crate::sample::wordpiece_json;

const WIDTH: usize = 8;
const INNER: usize = 12;
const HEADS: usize = 2;
const LAYERS: usize = 2;
const WORDS: usize = 20;

/// Weights by their full names.
struct Sample {
    config: Value,
    shapes: Vec<(String, Vec<usize>)>,
    first_position: usize,
}

fn sample(kind: &str) -> Sample {
    let config = json!({
        "model_type": kind, "hidden_size": WIDTH, "num_attention_heads": HEADS, "num_hidden_layers": LAYERS,
        "intermediate_size": INNER, "max_position_embeddings": 16, "hidden_act": "gelu", "layer_norm_eps": 1e-5,
        "pad_token_id": 1,
    });
    let first_position = if kind == "roberta" { 2 } else { 0 };
    let mut shapes = vec![
        ("embeddings.word_embeddings.weight".to_string(), vec![WORDS, WIDTH]),
        ("embeddings.position_embeddings.weight".to_string(), vec![16, WIDTH]),
        ("embeddings.token_type_embeddings.weight".to_string(), vec![2, WIDTH]),
    ];
    let mut add = |name: String, n_out, n_in: Option<usize>| {
        shapes
            .push((format!("{name}.weight"), [Some(n_out), n_in].into_iter().flatten().collect()));
        shapes.push((format!("{name}.bias"), vec![n_out]));
    };
    add("embeddings.LayerNorm".to_string(), WIDTH, None);
    for layer in 0..LAYERS {
        let name = |name: &str| format!("encoder.layer.{layer}.{name}");
        for part in ["self.query", "self.key", "self.value", "output.dense"] {
            add(name(&format!("attention.{part}")), WIDTH, Some(WIDTH));
        }
        add(name("attention.output.LayerNorm"), WIDTH, None);
        add(name("intermediate.dense"), INNER, Some(WIDTH));
        add(name("output.dense"), WIDTH, Some(INNER));
        add(name("output.LayerNorm"), WIDTH, None);
    }
    Sample { config, shapes, first_position }
}

/// Numbers that look like chance, from -.5 to .5.
fn numbers(name: &str, n: usize) -> Vec<f32> {
    let seed =
        name.bytes().fold(7u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)));
    let mut state = seed;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1u64 << 24) as f32 - 0.5
    };
    (0..n).map(|_| next()).collect()
}

impl Sample {
    fn weights(&self) -> BTreeMap<String, Vec<f32>> {
        let of = |(name, shape): &(String, Vec<usize>)| {
            (name.clone(), numbers(name, shape.iter().product()))
        };
        self.shapes.iter().map(of).collect()
    }

    /// A folder with these weights under names that begin with `prefix`.
    fn folder(&self, prefix: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a folder");
        let raw: Vec<(String, Vec<usize>, Vec<u8>)> = self
            .shapes
            .iter()
            .map(|(name, shape)| {
                let numbers = numbers(name, shape.iter().product());
                let bytes = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
                (format!("{prefix}{name}"), shape.clone(), bytes)
            })
            .collect();
        let views = raw.iter().map(|(name, shape, bytes)| {
            (name, TensorView::new(Dtype::F32, shape.clone(), bytes).expect("sound"))
        });
        let bytes = safetensors::serialize(views, None).expect("bytes");
        std::fs::write(dir.path().join("model.safetensors"), bytes).expect("written");
        std::fs::write(dir.path().join("config.json"), self.config.to_string()).expect("written");
        dir
    }

    /// The vectors of the tokens, straight from the papers; `kinds`: to which text each belongs.
    fn reference(&self, ids: &[u32], kinds: &[u32]) -> Vec<f64> {
        let weights = self.weights();
        let get =
            |name: &str| -> Vec<f64> { weights[name].iter().map(|it| f64::from(*it)).collect() };
        let linear = |name: &str, rows: &[Vec<f64>]| -> Vec<Vec<f64>> {
            let (weight, bias) = (get(&format!("{name}.weight")), get(&format!("{name}.bias")));
            let dot = |row: &[f64], column: &[f64]| {
                row.iter().zip(column).map(|(a, b)| a * b).sum::<f64>()
            };
            let one = |row: &Vec<f64>| {
                weight
                    .chunks(row.len())
                    .zip(&bias)
                    .map(|(column, bias)| dot(row, column) + bias)
                    .collect()
            };
            rows.iter().map(one).collect()
        };
        let norm = |name: &str, rows: Vec<Vec<f64>>| -> Vec<Vec<f64>> {
            let (scale, shift) = (get(&format!("{name}.weight")), get(&format!("{name}.bias")));
            let one = |row: Vec<f64>| {
                let mean = row.iter().sum::<f64>() / row.len() as f64;
                let variance =
                    row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / row.len() as f64;
                let root = (variance + 1e-5).sqrt();
                row.iter()
                    .zip(scale.iter().zip(&shift))
                    .map(|(x, (a, b))| (x - mean) / root * a + b)
                    .collect()
            };
            rows.into_iter().map(one).collect()
        };
        let add = |left: &[Vec<f64>], right: &[Vec<f64>]| -> Vec<Vec<f64>> {
            let one =
                |(a, b): (&Vec<f64>, &Vec<f64>)| a.iter().zip(b).map(|(a, b)| a + b).collect();
            left.iter().zip(right).map(one).collect()
        };
        let row = |table: &[f64], at: usize| table[at * WIDTH..(at + 1) * WIDTH].to_vec();
        let (words, positions) = (
            get("embeddings.word_embeddings.weight"),
            get("embeddings.position_embeddings.weight"),
        );
        let words: Vec<Vec<f64>> = ids.iter().map(|&id| row(&words, id as usize)).collect();
        let places: Vec<Vec<f64>> =
            (0..ids.len()).map(|at| row(&positions, at + self.first_position)).collect();
        let mut state = add(&words, &places);
        let table = get("embeddings.token_type_embeddings.weight");
        let kinds: Vec<Vec<f64>> = kinds.iter().map(|&kind| row(&table, kind as usize)).collect();
        state = add(&state, &kinds);
        state = norm("embeddings.LayerNorm", state);
        for layer in 0..LAYERS {
            let name = |name: &str| format!("encoder.layer.{layer}.{name}");
            let [query, key, value] = ["query", "key", "value"]
                .map(|it| linear(&name(&format!("attention.self.{it}")), &state));
            let mut mixed = vec![vec![0.0; WIDTH]; ids.len()];
            for head in 0..HEADS {
                let part = head * WIDTH / HEADS..(head + 1) * WIDTH / HEADS;
                for from in 0..ids.len() {
                    let score = |to: usize| {
                        let dot: f64 = part.clone().map(|i| query[from][i] * key[to][i]).sum();
                        dot / ((WIDTH / HEADS) as f64).sqrt()
                    };
                    let scores: Vec<f64> = (0..ids.len()).map(|to| score(to).exp()).collect();
                    let sum: f64 = scores.iter().sum();
                    for (to, share) in scores.iter().enumerate() {
                        part.clone().for_each(|i| mixed[from][i] += share / sum * value[to][i]);
                    }
                }
            }
            let joined = linear(&name("attention.output.dense"), &mixed);
            state = norm(&name("attention.output.LayerNorm"), add(&joined, &state));
            let gelu = |x: &f64| 0.5 * x * (1.0 + erf(x / 2f64.sqrt()));
            let wide: Vec<Vec<f64>> = linear(&name("intermediate.dense"), &state)
                .iter()
                .map(|row| row.iter().map(gelu).collect())
                .collect();
            state =
                norm(&name("output.LayerNorm"), add(&linear(&name("output.dense"), &wide), &state));
        }
        state.concat()
    }
}

/// By its series, which is exact enough where arguments are small.
fn erf(x: f64) -> f64 {
    let mut sum = x;
    let mut term = x;
    for n in 1..200 {
        term *= -x * x / f64::from(n);
        sum += term / f64::from(2 * n + 1);
    }
    sum * 2.0 / std::f64::consts::PI.sqrt()
}

fn cosine(left: &[f32], right: &[f64]) -> f64 {
    let right: Vec<f32> = right.iter().map(|it| *it as f32).collect();
    let dot = |a: &[f32], b: &[f32]| {
        a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>()
    };
    dot(left, &right) / (dot(left, left) * dot(&right, &right)).sqrt()
}

fn run(folder: &Path, precision: Precision, ids: &[u32]) -> Vec<f32> {
    let out = folder.join("model.onnx");
    convert(folder, &out, precision).expect("converted");
    let output =
        Model::load(&out, &["last_hidden_state"], None).expect("loaded").run(ids).expect("run");
    assert_eq!(output.shape, [1, ids.len(), WIDTH]);
    output.numbers
}

#[test]
fn every_family_is_computed_as_its_paper_says() {
    let ids = [3, 11, 7, 7, 0, 19];
    for kind in ["bert", "roberta"] {
        let sample = sample(kind);
        let numbers = run(sample.folder("").path(), Precision::Float, &ids);
        let expected = sample.reference(&ids, &[0; 6]);
        let worst = numbers
            .iter()
            .zip(&expected)
            .map(|(a, b)| (f64::from(*a) - b).abs())
            .fold(0.0, f64::max);
        assert!(worst < 1e-4, "{kind}: off by {worst}");
        let rounded = run(sample.folder("").path(), Precision::Int8, &ids);
        let cosine = cosine(&rounded, &expected);
        assert!(cosine > 0.999 && rounded != numbers, "{kind} in 8 bits: {cosine}");
    }
}

/// The folder of a cross-encoder as sentence-transformers trains it: BERT on both texts, the first token's vector
/// through a dense layer and a hyperbolic tangent, and one number of that.
fn cross_encoder(sample: &Sample) -> tempfile::TempDir {
    let dir = sample.folder("bert.");
    let folder = Folder(dir.path());
    let (path, bytes) = folder.weights().expect("weights");
    let mut weights = Weights::read(&path, &bytes).expect("read");
    weights.set_prefix("embeddings.word_embeddings.weight", PREFIXES);
    let mut graph = Graph::default();
    let kinds = graph.kinds();
    let shape = Shape::read(&folder).expect("a shape");
    let state =
        encoder::build(&mut graph, &weights, &shape, Precision::Float, Some(kinds)).expect("built");
    let width = WIDTH as i64;
    let first = graph.ints(&[0]);
    let first = graph.node("Gather", &[&state, &first], &[Attribute::Int("axis", 1)]);
    let flat = graph.ints(&[-1, width]);
    let first = graph.node("Reshape", &[&first, &flat], &[]);
    // Columns of a weight are what each input adds, so that it multiplies from the right.
    let weight = graph.floats(&[width, width], &numbers("pooler", WIDTH * WIDTH));
    let pooled = graph.node("MatMul", &[&first, &weight], &[]);
    let bias = graph.floats(&[width], &numbers("pooler.bias", WIDTH));
    let pooled = graph.node("Add", &[&pooled, &bias], &[]);
    let pooled = graph.node("Tanh", &[&pooled], &[]);
    let weight = graph.floats(&[width, 1], &numbers("classifier", WIDTH));
    let logits = graph.node("MatMul", &[&pooled, &weight], &[]);
    std::fs::write(dir.path().join("model.onnx"), graph.finish(&logits, "logits"))
        .expect("written");
    let letters = ('a'..='q').map(String::from);
    let pieces: Vec<String> =
        ["[UNK]", "[CLS]", "[SEP]"].map(String::from).into_iter().chain(letters).collect();
    assert_eq!(pieces.len(), WORDS);
    std::fs::write(dir.path().join("tokenizer.json"), wordpiece_json(&pieces)).expect("written");
    dir
}

#[test]
fn a_cross_encoder_is_computed_as_its_papers_say() {
    let sample = sample("bert");
    let model = PairModel::load(cross_encoder(&sample).path()).expect("a model");
    let id = |letter: char| 3 + letter as u32 - 'a' as u32;
    let expected = |question: &str, passage: &str| {
        let texts = [question, passage].map(|it| it.split(' ').filter_map(|it| it.chars().next()));
        let (mut ids, mut kinds) = (vec![1], vec![0]);
        for (kind, text) in (0..).zip(texts) {
            let n_before = ids.len();
            ids.extend(text.map(id).chain([2]));
            kinds.resize(kinds.len() + ids.len() - n_before, kind);
        }
        let first = &sample.reference(&ids, &kinds)[..WIDTH];
        let (weight, bias) = (numbers("pooler", WIDTH * WIDTH), numbers("pooler.bias", WIDTH));
        let dot = |at: usize| {
            let sum = |(i, x): (usize, &f64)| x * f64::from(weight[i * WIDTH + at]);
            first.iter().enumerate().map(sum).sum::<f64>() + f64::from(bias[at])
        };
        let of = |(at, it): (usize, f32)| dot(at).tanh() * f64::from(it);
        let logit: f64 = numbers("classifier", WIDTH).into_iter().enumerate().map(of).sum();
        1.0 / (1.0 + (-logit).exp())
    };
    let mut seen = Vec::new();
    for (question, passage) in [("a b", "c d e"), ("c d e", "a b"), ("a b", "q"), ("a", "b c d e")]
    {
        let score = f64::from(model.score(question, passage).expect("scored"));
        let expected = expected(question, passage);
        assert!((score - expected).abs() < 1e-5, "{question} | {passage}: {score}, {expected}");
        assert!(!seen.contains(&score), "which text a word is in counts");
        seen.push(score);
    }
}

#[test]
fn order_and_length_of_a_text_count() {
    let sample = sample("bert");
    let dir = sample.folder("bert.");
    let forth = run(dir.path(), Precision::Float, &[1, 2, 3]);
    let back = run(dir.path(), Precision::Float, &[3, 2, 1]);
    assert_ne!(forth[..WIDTH], back[2 * WIDTH..]);
    assert_eq!(run(dir.path(), Precision::Float, &[5; 16]).len(), 16 * WIDTH);
}

#[test]
fn what_cannot_be_converted_says_why() {
    let mut other = sample("bert");
    let mut check = |change: Value, part: &str| {
        other.config = sample("bert").config;
        let (config, changes) = (other.config.as_object_mut().expect("a map"), change);
        config.extend(changes.as_object().expect("a map").clone());
        let dir = other.folder("");
        let error = convert(dir.path(), &dir.path().join("model.onnx"), Precision::Float);
        let error = error.expect_err(part).to_string();
        assert!(error.contains(part) && error.contains("\nhint: "), "{error}");
    };
    check(json!({ "model_type": "gemma3_text" }), "is of the family `gemma3_text`");
    check(
        json!({ "position_embedding_type": "relative_key" }),
        "counts positions by `relative_key`",
    );
    check(json!({ "model_type": "distilbert" }), "is of the family `distilbert`");
    check(json!({ "hidden_act": "swish" }), "uses the activation `swish`");
    check(json!({ "num_attention_heads": 3 }), "has sizes that fit no encoder");
    check(
        json!({ "num_hidden_layers": 3 }),
        "has no `encoder.layer.2.attention.self.query.weight`",
    );
    check(json!({ "intermediate_size": 13 }), "of [12, 8] numbers, not [13, 8]");
    check(json!({ "hidden_size": null }), "is no configuration");
    let dir = sample("bert").folder("");
    std::fs::write(dir.path().join("model.safetensors"), "nothing").expect("written");
    let error = convert(dir.path(), &dir.path().join("model.onnx"), Precision::Float);
    assert!(error.expect_err("no weights").to_string().contains("is no safetensors file"));
}
