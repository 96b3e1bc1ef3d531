//! Sample: models written by code, for tests: no test needs a download, or a program that exports models.
//!
//! In: a list of words with labels. Out: the folder of a tagger, or of a model that gives vectors of its tokens.
//! Not here: how a graph is written (`graph.rs`).

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use serde_json::json;

pub use crate::graph::{Attribute, Graph};

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
