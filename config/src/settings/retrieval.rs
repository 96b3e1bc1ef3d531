//! How questions are answered: formulas, bounds and weights.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Which formula ranks chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Formula {
    /// Text and vectors, each relative to its best, and the graph: the measured default.
    Hybrid,
    /// Like `hybrid`, but text and vectors by reciprocal rank.
    Rrf,
    /// Like `hybrid`, but text and vectors stretched to 0 to 1.
    #[serde(rename = "minmax")]
    MinMax,
    /// S0 §14.5: half the text score, stretched to 0 to 1, and half the cosine.
    S0,
    /// S4 §14: 0.7 semantic + 0.2 hop + 0.1 relation weight.
    S4,
    /// Only full text.
    Text,
    /// Only vectors.
    Vector,
}

/// How questions are answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Retrieval {
    /// Which formula ranks chunks.
    pub formula: Formula,
    /// Hits returned, 1 to 100.
    pub k: u32,
    /// Candidates per signal (S4's `k`).
    pub recall_k: u32,
    /// Hops from the entities of the question, 0 to 4.
    pub hops: u32,
    /// Relations followed; empty means all.
    pub rels: Vec<String>,
    /// Longest text answer, characters.
    pub max_chars: u32,
    /// Whether full text also searches the other names of entities in the question.
    pub other_names: bool,
    /// Weights of the components.
    pub weights: Weights,
    /// Thresholds below which a hit is marked as weak.
    pub floor: Floor,
    /// A model that reads the question together with each of the best passages, and reorders them.
    pub rerank: Rerank,
    /// Weight of a relation in the score (S4 §14); `default` for all others.
    pub relation_weights: BTreeMap<String, f32>,
}

impl Default for Retrieval {
    fn default() -> Self {
        let relation_weights = [
            ("defines", 1.0),
            ("uses", 0.9),
            ("depends_on", 0.8),
            ("cites", 0.5),
            ("default", 0.5),
        ]
        .map(|(name, weight)| (name.to_string(), weight));
        Retrieval {
            formula: Formula::Hybrid,
            k: 10,
            recall_k: 40,
            hops: 2,
            rels: Vec::new(),
            max_chars: 3_000,
            other_names: true,
            weights: Weights::default(),
            floor: Floor::default(),
            rerank: Rerank::default(),
            relation_weights: relation_weights.into_iter().collect(),
        }
    }
}

/// From where on a hit has to do with the question; an answer of only weak hits has nothing to do with it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Floor {
    /// Least relevance of a hit that is not weak, 0 to 1; 0: no hit is weak.
    pub relevance: f32,
    /// Share of the question's words, with more weight for rare words, from which on an entry is found by words.
    pub words: f32,
    /// Nearness from which on meaning speaks for a hit, below which against it. Cosines of all models are mapped to
    /// one scale, that of the built-in English model; another model may need another value.
    pub vector: f32,
    /// Least nearness for hits by meaning in formula `s0` and `search_notes`: related texts score .23 to .5, so S0's
    /// .55 would find nothing.
    pub similar: f32,
}

impl Default for Floor {
    fn default() -> Self {
        Floor { relevance: 0.25, words: 0.3, vector: 0.39, similar: 0.23 }
    }
}

/// A model that reads question and passage together (a cross-encoder), for the formulas `hybrid`, `rrf` and `minmax`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rerank {
    /// Its folder, with `model.onnx`, `tokenizer.json` and `config.json`; empty: none. User only.
    pub model: String,
    /// Number of best passages that it reads, 1 to 100. A six-layer model takes about 50 ms of a core for a passage of
    /// 300 tokens.
    pub depth: u32,
    /// Weight of its output, 0 to 1, in the score.
    pub weight: f32,
}

impl Default for Rerank {
    fn default() -> Self {
        Rerank { model: String::new(), depth: 20, weight: 1.0 }
    }
}

/// Weights of the components of a hit's score. `semantic`, `hop` and `relation` are S4 §14's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Weights {
    /// Formulas `hybrid`, `rrf`, `minmax`: full text.
    pub text: f32,
    /// The same: vectors.
    pub vector: f32,
    /// Formula `hybrid`: the share of their weights that full text and names keep where the words of a question are
    /// uninformative (no passage has many of them, or many have equally many), 0 to 1; vectors get the rest. 1: they
    /// always keep all.
    pub unsure: f32,
    /// Formulas `hybrid`, `rrf`, `minmax`: relations from an entity of the question to the passage.
    pub graph: f32,
    /// The same: an entity of the question that few documents mention.
    pub names: f32,
    /// The same: an entity that one of the best passages names, and few documents mention.
    pub bridge: f32,
    /// The same: the question is a name of the document, or its words are those of the title or the file's name, or it
    /// is the heading above the passage.
    pub title: f32,
    /// The same: the mean of the vectors of the passage's document, or of its section of a long one.
    pub document: f32,
    /// The same: a date in a time that the question names, such as `last May` or `before the trip`, in the passage or
    /// as the day of its document.
    pub when: f32,
    /// The same: the passage is said by whom the question names, as a turn of a conversation (`Ann: …`).
    pub speaker: f32,
    /// The same: if the passage is a turn of a conversation, the mean score by full text of the turns before and after.
    pub beside: f32,
    /// The same: penalty per better hit of the same document, so that one document does not fill the answer.
    pub same_document: f32,
    /// Formula `s4`: vectors.
    pub semantic: f32,
    /// Formula `s4`: hops.
    pub hop: f32,
    /// Formula `s4`: relation weight.
    pub relation: f32,
}

impl Default for Weights {
    fn default() -> Self {
        Weights {
            text: 0.6,
            vector: 0.4,
            unsure: 0.5,
            graph: 0.03,
            names: 0.25,
            bridge: 0.5,
            title: 0.8,
            document: 0.3,
            when: 0.15,
            speaker: 0.15,
            beside: 0.3,
            same_document: 0.15,
            semantic: 0.7,
            hop: 0.2,
            relation: 0.1,
        }
    }
}
