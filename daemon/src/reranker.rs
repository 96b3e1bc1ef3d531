//! Reranker: a model of the user's that reads a question and a passage together and says how well the one answers
//! the other.
//!
//! In: its folder, as `retrieval.rerank.model` names it; two texts. Out: a number from 0 to 1.
//! Invariants: nothing is loaded before the first question; it is tried before that in a process that may use only so
//! much; what cannot be used costs no answer: it is told in the status, and hits keep their order.
//! Not here: computing (the crate `onnx`), which passages are read and what the number counts (`ask/rerank.rs`).

use std::path::PathBuf;
use std::sync::OnceLock;

use config::settings::Rerank;
use onnx::PairModel;

use crate::embedder::prepare;

/// A re-ranking model that cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`retrieval.rerank.model` is `{model}`: there is no such folder\nhint: give the whole path of a folder with \
     `model.onnx`, `tokenizer.json` and `config.json`"
)]
pub struct RerankerError {
    model: String,
}

/// The model, loaded when it is first asked.
pub struct Reranker {
    folder: PathBuf,
    loaded: OnceLock<Result<PairModel, String>>,
}

impl Reranker {
    /// The one that the settings name; none where they name none.
    ///
    /// # Errors
    /// When they name what is no folder.
    pub fn of(settings: &Rerank) -> Result<Option<Self>, RerankerError> {
        if settings.model.is_empty() {
            return Ok(None);
        }
        let folder = PathBuf::from(&settings.model);
        if !folder.is_absolute() || !folder.is_dir() {
            return Err(RerankerError { model: settings.model.clone() });
        }
        Ok(Some(Reranker { folder, loaded: OnceLock::new() }))
    }

    /// How well a passage answers a question, 0 to 1.
    ///
    /// # Errors
    /// Why the model cannot be used.
    pub fn score(&self, question: &str, passage: &str) -> Result<f32, String> {
        let load = || {
            prepare::hold("--try-reranking", &self.folder)?;
            PairModel::load(&self.folder).map_err(|error| error.to_string())
        };
        let model = self.loaded.get_or_init(load).as_ref().map_err(Clone::clone)?;
        model.score(question, passage).map_err(|error| error.to_string())
    }

    /// Why it cannot be used, once that is known.
    pub fn trouble(&self) -> Option<&str> {
        self.loaded.get().and_then(|loaded| loaded.as_ref().err()).map(String::as_str)
    }
}
