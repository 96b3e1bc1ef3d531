//! Sample: models written by code, for tests: no test needs a download, or a program that exports models.
//!
//! In: a list of words with labels. Out: the folder of a tagger, which also serves as a sentence model; that of an
//! encoder to convert.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use safetensors::Dtype;
use safetensors::tensor::TensorView;
use serde_json::json;

pub use crate::graph::{Attribute, Graph};

/// Writes the folder of a tagger that looks each piece up: a table with one row per piece, times the identity, gives
/// the logits: 5 for the piece's own label, 0 for the others. Pieces that are not listed have the label `O`; letters,
/// digits and common signs are pieces, so that any word can be written with them.
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

/// Writes the folder of a model that reads a question and a passage together: its logit is the sum of the values of the
/// passage's pieces. Pieces that are not listed have the value 0; letters are pieces, too.
///
/// # Errors
/// When a file cannot be written.
pub fn write_pair_model(folder: &Path, pieces: &[(&str, f32)]) -> io::Result<()> {
    let signs = ('a'..='z').flat_map(|sign| [sign.to_string(), format!("##{sign}")]);
    let special = ["[UNK]", "[CLS]", "[SEP]"].map(String::from);
    let listed = pieces.iter().map(|(piece, _)| piece.to_string());
    let names: Vec<String> = special.into_iter().chain(listed).chain(signs).collect();
    let worth = |name: &String| pieces.iter().find(|it| it.0 == name).map_or(0.0, |it| it.1);
    let table: Vec<f32> = names.iter().map(worth).collect();
    let mut graph = Graph::default();
    let table = graph.floats(&[names.len() as i64], &table);
    let kinds = graph.kinds();
    let looked_up = graph.node("Gather", &[&table, "input_ids"], &[]);
    // 1 is the type of 32-bit floats in ONNX.
    let kinds = graph.node("Cast", &[kinds], &[Attribute::Int("to", 1)]);
    // `kinds` is 1 for tokens of the passage and 0 for the question, which drops out of the sum.
    let of_passage = graph.node("Mul", &[&looked_up, &kinds], &[]);
    let axes = graph.ints(&[1]);
    let logits = graph.node("ReduceSum", &[&of_passage, &axes], &[Attribute::Int("keepdims", 1)]);
    let config = json!({ "model_type": "bert", "max_position_embeddings": 64 });
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join("model.onnx"), graph.finish(&logits, "logits"))?;
    std::fs::write(folder.join("config.json"), config.to_string())?;
    std::fs::write(folder.join("tokenizer.json"), wordpiece_json(&names))
}

/// Returns a `tokenizer.json` of the cased BERT kind; the first three pieces are `[UNK]`, `[CLS]` and `[SEP]`.
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

/// Writes the folder of a small BERT in the form of `save_pretrained`: 8 wide, one layer, weights in
/// `model.safetensors`.
///
/// # Errors
/// When a file cannot be written.
pub fn write_encoder(folder: &Path) -> io::Result<()> {
    let signs = ('a'..='z').flat_map(|sign| [sign.to_string(), format!("##{sign}")]);
    let pieces: Vec<String> =
        ["[UNK]", "[CLS]", "[SEP]"].map(String::from).into_iter().chain(signs).collect();
    let config = json!({
        "model_type": "bert", "hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 1,
        "intermediate_size": 16, "max_position_embeddings": 16,
    });
    let mut shapes = vec![
        ("embeddings.word_embeddings.weight".to_string(), vec![pieces.len(), 8]),
        ("embeddings.position_embeddings.weight".to_string(), vec![16, 8]),
        ("embeddings.token_type_embeddings.weight".to_string(), vec![2, 8]),
    ];
    let layers = [
        ("embeddings.LayerNorm", vec![8]),
        ("encoder.layer.0.attention.self.query", vec![8, 8]),
        ("encoder.layer.0.attention.self.key", vec![8, 8]),
        ("encoder.layer.0.attention.self.value", vec![8, 8]),
        ("encoder.layer.0.attention.output.dense", vec![8, 8]),
        ("encoder.layer.0.attention.output.LayerNorm", vec![8]),
        ("encoder.layer.0.intermediate.dense", vec![16, 8]),
        ("encoder.layer.0.output.dense", vec![8, 16]),
        ("encoder.layer.0.output.LayerNorm", vec![8]),
    ];
    for (name, shape) in layers {
        let n_out = shape.first().copied().unwrap_or_default();
        shapes.push((format!("{name}.weight"), shape));
        shapes.push((format!("{name}.bias"), vec![n_out]));
    }
    // Any numbers will do, as long as they differ.
    let number = |at: usize| ((at * 37 % 101) as f32 / 101.0 - 0.5).to_le_bytes();
    let tensors: Vec<(String, Vec<usize>, Vec<u8>)> = shapes
        .into_iter()
        .map(|(name, shape)| {
            let bytes = (0..shape.iter().product()).flat_map(number).collect();
            (name, shape, bytes)
        })
        .collect();
    let views = tensors.iter().map(|(name, shape, bytes)| {
        let view = TensorView::new(Dtype::F32, shape.clone(), bytes).map_err(io::Error::other)?;
        Ok((name, view))
    });
    let views: Vec<_> = views.collect::<io::Result<_>>()?;
    let weights = safetensors::serialize(views, None).map_err(io::Error::other)?;
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join("model.safetensors"), weights)?;
    std::fs::write(folder.join("config.json"), config.to_string())?;
    std::fs::write(folder.join("tokenizer.json"), wordpiece_json(&pieces))
}
