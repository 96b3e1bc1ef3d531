//! ONNX models of one folder (`model.onnx`, `tokenizer.json`, `config.json`), computed in this process by `rten`, or by
//! ONNX Runtime (feature `ort`).
//!
//! In: a folder that the user chose; texts. Out: names with their labels ([`Tagger`]), vectors ([`SentenceModel`]), or
//! how well a passage answers a question ([`PairModel`]); ONNX files made from other weights ([`convert()`]).
//! Invariants: results are a function of the text and the folder: the same machine gives the same result, in any order
//! and on any thread; one window of tokens is computed at a time, on one thread with the priority of its caller, so
//! memory does not grow with the text; an unsuitable folder is an error with a hint, never a panic.
//! A graph may use any amount of memory or time, which no library limits: the daemon tries it in another process first.

mod convert;
mod error;
mod folder;
mod graph;
mod labels;
mod model;
mod packed;
mod pair;
mod recipe;
mod runtime;
pub mod sample;
mod sentence;
mod tagger;
mod tokens;
mod unigram;
mod unpacked;
mod weights;

pub use convert::{Precision, convert};
pub use error::ModelError;
pub use labels::{LabeledWord, Labels, Tagged};
pub use pair::PairModel;
pub use recipe::Prompts;
pub use runtime::Runtime;
pub use sentence::{Carried, CarriedTokens, CarriedWeights, SentenceModel, Wanted};
pub use tagger::Tagger;
pub use weights::half_to_f32;
