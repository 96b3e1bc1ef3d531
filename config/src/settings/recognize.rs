//! Settings of the recognition of names.

use serde::{Deserialize, Serialize};

/// How names are recognized.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Recognize {
    /// Read every document a second time, closely, once everything is searchable: for statistical names and for
    /// dependencies between words. Runs at the lowest priority; `kgctl deep --pause` pauses it.
    pub deep: bool,
    /// Folder of an ONNX token-classification model (`model.onnx`, `tokenizer.json`, `config.json`) whose names are
    /// added in the deep pass, an absolute path; empty means none. User only.
    pub model: String,
    /// Table of names that replace recognition in the documents that it lists: for evaluation, and for folders
    /// annotated by hand. Tab separated, with a header: `path`, `surface`, `nth` (which occurrence of the surface in
    /// the file, from 1), `type` and optionally `entity` (what it denotes, which is then not resolved). An absolute
    /// path; empty means none. User only.
    pub given: String,
    /// Names of your own by their form: a type and a regular expression each, `Identifier \bTCK-\d+\b`; at most 64
    /// of 500 bytes (S4's `extract.regex`).
    pub patterns: Vec<String>,
    /// The mined gazetteer.
    pub gazetteer: Gazetteer,
}

impl Default for Recognize {
    fn default() -> Self {
        Recognize {
            deep: true,
            model: String::new(),
            given: String::new(),
            patterns: Vec::new(),
            gazetteer: Gazetteer::default(),
        }
    }
}

/// The gazetteer mined from headings, bold text, code spans and n-grams.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Gazetteer {
    /// Most terms kept (S4's `mine_topk`).
    pub top_k: usize,
    /// Documents that must contain a term before it enters (S4's `min_freq`).
    pub min_documents: u32,
    /// Longest term, words.
    pub max_words: usize,
}

impl Default for Gazetteer {
    fn default() -> Self {
        Gazetteer { top_k: 2_000, min_documents: 3, max_words: 4 }
    }
}
