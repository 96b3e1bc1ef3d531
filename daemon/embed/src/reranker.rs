//! Reranker: a user's model that reads a question and a passage together and scores how well the passage answers.
//!
//! In: its folder, as `retrieval.rerank.model` names it; two texts. Out: a number from 0 to 1.
//! Invariants: nothing is loaded before the first question; before that it is tried in a process with limits; a
//! missing or unusable model never prevents an answer: the log and the status report it, and hits keep their order.

use std::path::PathBuf;
use std::sync::OnceLock;

use config::settings::Rerank;
use onnx::PairModel;

use crate::prepare;

/// Hint for a folder that is missing.
const GIVE: &str = "give the whole path of a folder with `model.onnx`, `tokenizer.json` and `config.json`, then \
                    `kgctl restart`";

/// The model, loaded at its first use.
pub struct Reranker {
    folder: PathBuf,
    loaded: OnceLock<Result<PairModel, String>>,
}

impl Reranker {
    /// Opens the model that the settings name; `None` if they name none. If the folder is missing, every score fails.
    pub fn of(settings: &Rerank) -> Option<Self> {
        if settings.model.is_empty() {
            return None;
        }
        let folder = PathBuf::from(&settings.model);
        let loaded = OnceLock::new();
        if !folder.is_absolute() || !folder.is_dir() {
            let why = format!("there is no folder `{}`\nhint: {GIVE}", settings.model);
            tracing::warn!(why, "`retrieval.rerank.model` cannot be used");
            let _ = loaded.set(Err(why));
        }
        Some(Reranker { folder, loaded })
    }

    /// Returns how well a passage answers a question, 0 to 1.
    ///
    /// # Errors
    /// Why the model cannot be used.
    pub fn score(&self, question: &str, passage: &str) -> Result<f32, String> {
        let load = || {
            let loaded = prepare::hold("--try-reranking", &self.folder)
                .and_then(|()| PairModel::load(&self.folder).map_err(|error| error.to_string()));
            loaded.inspect_err(|why| tracing::warn!(why, "`retrieval.rerank.model` cannot be used"))
        };
        let model = self.loaded.get_or_init(load).as_ref().map_err(Clone::clone)?;
        model.score(question, passage).map_err(|error| error.to_string())
    }

    /// Returns why it cannot be used, once that is known.
    pub fn trouble(&self) -> Option<&str> {
        self.loaded.get().and_then(|loaded| loaded.as_ref().err()).map(String::as_str)
    }
}
