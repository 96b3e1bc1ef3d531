//! How questions are answered: formulas, bounds and weights.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Which formula ranks chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Formula {
    /// Text and vectors, each over its best, and the graph: the measured default.
    Hybrid,
    /// As `hybrid`, but text and vectors by reciprocal rank.
    Rrf,
    /// As `hybrid`, but text and vectors stretched to reach from 0 to 1.
    #[serde(rename = "minmax")]
    MinMax,
    /// S0 §14.5: half the text score, stretched to reach from 0 to 1, and half the cosine.
    S0,
    /// S4 §14: 0.7 semantic + 0.2 hop + 0.1 relation weight.
    S4,
    /// Full text alone.
    Text,
    /// Vectors alone.
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
    /// Candidates taken from each signal (S4's `k`).
    pub recall_k: u32,
    /// Hops from the entities of the question, 0 to 4.
    pub hops: u32,
    /// Relations followed; empty means all.
    pub rels: Vec<String>,
    /// Longest text answer, characters.
    pub max_chars: u32,
    /// Whether words are also searched by the other names of what a question names.
    pub other_names: bool,
    /// Weights of the components.
    pub weights: Weights,
    /// Below which a hit is flagged as weak.
    pub floor: Floor,
    /// A model that reads the question together with each of the best passages, and orders them anew.
    pub rerank: Rerank,
    /// Weight of a relation in the score (S4 §14); others count `default`.
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

/// A hit is weak that stays below all of these: an answer of nothing but weak hits has nothing to do with the question.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Floor {
    /// The share of the question's words that the passage holds, rare words counting more, 0 to 1; 0: nothing is weak.
    pub words: f32,
    /// The cosine of its best window by static vectors.
    pub vector: f32,
    /// The same by the better model's: for the built-in one; another one's cosines may lie elsewhere.
    pub better: f32,
    /// Least cosine by static vectors of what formula `s0` and `search_notes` find by meaning: of texts that have to do
    /// with each other it is .24 to .5 by the built-in model, so S0's .55 would find nothing.
    pub similar: f32,
    /// The same by the better model's vectors.
    pub better_similar: f32,
}

impl Default for Floor {
    fn default() -> Self {
        Floor { words: 0.3, vector: 0.4, better: 0.4, similar: 0.24, better_similar: 0.3 }
    }
}

/// A model that reads question and passage together (a cross-encoder), for the formulas `hybrid`, `rrf` and `minmax`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rerank {
    /// Its folder, with `model.onnx`, `tokenizer.json` and `config.json`; empty: none. User only.
    pub model: String,
    /// How many of the best passages it reads, 1 to 100. One of 300 tokens takes some 50 ms of a core by a model of six
    /// layers.
    pub depth: u32,
    /// What its number, 0 to 1, counts in the score.
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
    /// Full text where the better model's vectors answer; in between where only some candidates have them.
    pub better_text: f32,
    /// Vectors, likewise.
    pub better_vector: f32,
    /// Formula `hybrid`: the share of their weights that full text and names keep where the words of a question say
    /// little (no passage holds much of it, or many hold as much), 0 to 1; vectors take the rest. 1: always all.
    pub unsure: f32,
    /// Formulas `hybrid`, `rrf`, `minmax`: relations that lead there from an entity of the question.
    pub graph: f32,
    /// The same: more for such a relation where the author's structure states it (links, lists, fields) than where it
    /// is read from a sentence.
    pub stated: f32,
    /// The same: an entity of the question that few documents share.
    pub names: f32,
    /// The same: an entity that one of the best passages names, and few documents share.
    pub bridge: f32,
    /// The same: taken off for each better hit of the same document, so that one document does not fill the answer.
    pub same_document: f32,
    /// Formula `s4`: vectors.
    pub semantic: f32,
    /// Formula `s4`: hops.
    pub hop: f32,
    /// Formula `s4`: relation on the way.
    pub relation: f32,
}

impl Default for Weights {
    fn default() -> Self {
        Weights {
            text: 0.65,
            vector: 0.35,
            better_text: 0.5,
            better_vector: 0.5,
            unsure: 0.5,
            graph: 0.03,
            stated: 0.01,
            names: 0.25,
            bridge: 0.5,
            same_document: 0.15,
            semantic: 0.7,
            hop: 0.2,
            relation: 0.1,
        }
    }
}
