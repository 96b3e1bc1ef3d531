//! Settings of how names are found.

use serde::{Deserialize, Serialize};

/// How names are found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Recognize {
    /// Read every document a second time, closely, when everything is searchable: for statistical names and for the
    /// dependencies between words. Runs at the lowest priority; `kgctl deep --pause` stops it for now.
    pub deep: bool,
    /// Folder of an ONNX token-classification model (`model.onnx`, `tokenizer.json`, `config.json`) whose names join
    /// the others in the deep pass, an absolute path; empty means none. User only.
    pub model: String,
    /// Table of names that count instead of those that would be recognized, in the documents that it names: for
    /// evaluation, and for folders annotated by hand. Tab separated, with a header: `path`, `surface`, `nth` (which
    /// appearance of the surface in the file, from 1), `type` and, if wanted, `entity` (what it denotes, which is then
    /// not asked). An absolute path; empty means none. User only.
    pub given: String,
    /// The mined gazetteer.
    pub gazetteer: Gazetteer,
}

impl Default for Recognize {
    fn default() -> Self {
        Recognize {
            deep: true,
            model: String::new(),
            given: String::new(),
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
