//! Sample: models written by code, for tests: no test needs a download, or a program that exports models.
//!
//! In: nodes and tensors, or a list of words with labels. Out: an ONNX file (the few messages of its protocol buffer
//! that a small graph needs), or the folder of a tagger.
//! Not here: checks; the graph is as sound as its maker.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use serde_json::json;

/// Version of the operators' definitions that [`Graph`] asks for.
const OPSET: u64 = 17;

/// A graph under construction. Names of inputs and outputs are given; those between are numbered.
#[derive(Debug, Default)]
pub struct Graph {
    nodes: Vec<Vec<u8>>,
    tensors: Vec<Vec<u8>>,
    n_names: usize,
}

/// An attribute of a node.
#[derive(Debug, Clone, Copy)]
pub enum Attribute<'a> {
    /// A whole number.
    Int(&'a str, i64),
    /// Several whole numbers.
    Ints(&'a str, &'a [i64]),
    /// A number.
    Float(&'a str, f32),
}

impl Graph {
    /// Adds a constant of 32-bit floats and returns its name. No sizes: a single number.
    pub fn floats(&mut self, sizes: &[i64], numbers: &[f32]) -> String {
        let raw = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        self.tensor(1, sizes, raw)
    }

    /// Adds a constant of 64-bit integers and returns its name.
    pub fn ints(&mut self, numbers: &[i64]) -> String {
        let raw = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        let size = i64::try_from(numbers.len()).unwrap_or_default();
        self.tensor(7, &[size], raw)
    }

    /// Adds a node and returns the name of its output.
    pub fn node(
        &mut self,
        operator: &str,
        inputs: &[&str],
        attributes: &[Attribute<'_>],
    ) -> String {
        let name = self.name();
        self.node_named(operator, inputs, (&name, attributes));
        name
    }

    /// The file: inputs `input_ids` and `attention_mask`, and the output `result` under a name of its own.
    pub fn finish(mut self, result: &str, output: &str) -> Vec<u8> {
        self.node_named("Identity", &[result], (output, &[]));
        let mut graph = Vec::new();
        self.nodes.iter().for_each(|node| bytes(&mut graph, 1, node));
        bytes(&mut graph, 2, b"sample");
        self.tensors.iter().for_each(|tensor| bytes(&mut graph, 5, tensor));
        for name in ["input_ids", "attention_mask"] {
            bytes(&mut graph, 11, &value(name, 7, &["batch", "tokens"]));
        }
        bytes(&mut graph, 12, &value(output, 1, &[]));
        let mut opset = Vec::new();
        number(&mut opset, 2, OPSET);
        let mut model = Vec::new();
        number(&mut model, 1, 8);
        bytes(&mut model, 7, &graph);
        bytes(&mut model, 8, &opset);
        model
    }

    fn node_named(&mut self, operator: &str, inputs: &[&str], rest: (&str, &[Attribute<'_>])) {
        let (output, attributes) = rest;
        let mut node = Vec::new();
        inputs.iter().for_each(|input| bytes(&mut node, 1, input.as_bytes()));
        bytes(&mut node, 2, output.as_bytes());
        bytes(&mut node, 4, operator.as_bytes());
        attributes.iter().for_each(|it| bytes(&mut node, 5, &attribute(it)));
        self.nodes.push(node);
    }

    fn tensor(&mut self, kind: u64, sizes: &[i64], raw: Vec<u8>) -> String {
        let name = self.name();
        let mut tensor = Vec::new();
        sizes.iter().for_each(|&size| number(&mut tensor, 1, size as u64));
        number(&mut tensor, 2, kind);
        bytes(&mut tensor, 8, name.as_bytes());
        bytes(&mut tensor, 9, &raw);
        self.tensors.push(tensor);
        name
    }

    fn name(&mut self) -> String {
        self.n_names += 1;
        format!("v{}", self.n_names)
    }
}

fn attribute(attribute: &Attribute<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    match *attribute {
        Attribute::Float(name, value) => {
            bytes(&mut out, 1, name.as_bytes());
            varint(&mut out, 2 << 3 | 5);
            out.extend(value.to_le_bytes());
            number(&mut out, 20, 1);
        }
        Attribute::Int(name, value) => {
            bytes(&mut out, 1, name.as_bytes());
            number(&mut out, 3, value as u64);
            number(&mut out, 20, 2);
        }
        Attribute::Ints(name, values) => {
            bytes(&mut out, 1, name.as_bytes());
            values.iter().for_each(|&value| number(&mut out, 8, value as u64));
            number(&mut out, 20, 7);
        }
    }
    out
}

/// Name and type of an input or output; each size has a name of its own, or none is told.
fn value(name: &str, kind: u64, sizes: &[&str]) -> Vec<u8> {
    let mut shape = Vec::new();
    for size in sizes {
        let mut dimension = Vec::new();
        bytes(&mut dimension, 2, size.as_bytes());
        bytes(&mut shape, 1, &dimension);
    }
    let (mut tensor, mut of_tensor, mut out) = (Vec::new(), Vec::new(), Vec::new());
    number(&mut tensor, 1, kind);
    if !sizes.is_empty() {
        bytes(&mut tensor, 2, &shape);
    }
    bytes(&mut of_tensor, 1, &tensor);
    bytes(&mut out, 1, name.as_bytes());
    bytes(&mut out, 2, &of_tensor);
    out
}

fn number(out: &mut Vec<u8>, field: u64, value: u64) {
    varint(out, field << 3);
    varint(out, value);
}

fn bytes(out: &mut Vec<u8>, field: u64, value: &[u8]) {
    varint(out, field << 3 | 2);
    varint(out, value.len() as u64);
    out.extend_from_slice(value);
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Writes the folder of a tagger that looks each piece up: a table of one row a piece, times the identity, gives the
/// logits: 5 for the piece's own label, 0 for the others. Pieces that are not listed have the label `O`; letters,
/// digits and common signs are pieces, so that any word of them can be written.
///
/// # Errors
/// When a file cannot be written.
pub fn write_tagger(folder: &Path, pieces: &[(&str, &str)]) -> io::Result<()> {
    let signs = (' '..='~')
        .filter(|sign| *sign != ' ')
        .flat_map(|sign| [sign.to_string(), format!("##{sign}")]);
    let special = ["[UNK]", "[CLS]", "[SEP]"].map(String::from);
    let mut names: Vec<String> =
        special.into_iter().chain(pieces.iter().map(|(piece, _)| piece.to_string())).collect();
    names.extend(
        signs.filter(|sign| !pieces.iter().any(|(piece, _)| piece == sign)).collect::<Vec<_>>(),
    );
    let mut labels = vec!["O"];
    pieces.iter().for_each(|(_, label)| {
        if !labels.contains(label) {
            labels.push(label)
        }
    });
    let label_of = |name: &str| {
        let label = pieces.iter().find(|(piece, _)| *piece == name).map_or("O", |(_, label)| label);
        labels.iter().position(|it| *it == label).unwrap_or_default()
    };
    let row = |hot: usize| (0..labels.len()).map(move |i| if i == hot { 5.0 } else { 0.0 });
    let table: Vec<f32> = names.iter().flat_map(|name| row(label_of(name))).collect();
    let identity: Vec<f32> =
        (0..labels.len()).flat_map(|hot| row(hot).map(|number| number / 5.0)).collect();
    let (n_names, n_labels) = (names.len() as i64, labels.len() as i64);
    let mut graph = Graph::default();
    let table = graph.floats(&[n_names, n_labels], &table);
    let identity = graph.floats(&[n_labels, n_labels], &identity);
    let looked_up = graph.node("Gather", &[&table, "input_ids"], &[]);
    let logits = graph.node("MatMul", &[&looked_up, &identity], &[]);
    let id2label: BTreeMap<String, &str> =
        labels.iter().enumerate().map(|(i, it)| (i.to_string(), *it)).collect();
    let config =
        json!({ "model_type": "bert", "max_position_embeddings": 64, "id2label": id2label });
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join("model.onnx"), graph.finish(&logits, "logits"))?;
    std::fs::write(folder.join("config.json"), config.to_string())?;
    std::fs::write(folder.join("tokenizer.json"), wordpiece_json(&names))
}

/// A `tokenizer.json` of the cased BERT kind; the first three pieces are `[UNK]`, `[CLS]` and `[SEP]`.
pub fn wordpiece_json(pieces: &[String]) -> String {
    let vocabulary: BTreeMap<&str, usize> =
        pieces.iter().enumerate().map(|(i, it)| (it.as_str(), i)).collect();
    let special = |id: usize, content: &str| {
        json!({ "id": id, "content": content, "single_word": false, "lstrip": false, "rstrip": false,
                "normalized": false, "special": true })
    };
    json!({
        "version": "1.0", "truncation": null, "padding": null, "decoder": null,
        "added_tokens": [special(0, "[UNK]"), special(1, "[CLS]"), special(2, "[SEP]")],
        "normalizer": { "type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                        "strip_accents": false, "lowercase": false },
        "pre_tokenizer": { "type": "BertPreTokenizer" },
        "post_processor": { "type": "BertProcessing", "cls": ["[CLS]", 1], "sep": ["[SEP]", 2] },
        "model": { "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                   "max_input_chars_per_word": 100, "vocab": vocabulary },
    })
    .to_string()
}
