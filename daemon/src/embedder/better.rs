//! Better: the model whose vectors join the static ones, as `embed.model` names it.
//!
//! In: the settings, the folder of models that were added. Out: an embedder, or that none is wanted.
//! Invariants: asking for one costs neither time nor memory: a model is loaded when the first text comes; the name of its
//! space changes whenever its vectors would.
//! Not here: when its vectors are made (`pipeline/backfill`), which of a chunk's vectors counts (`ask/recall.rs`).

use std::path::Path;
use std::sync::Arc;

use config::Places;
use config::limits::DEFAULT_MODEL;
use config::settings::Embed;

use super::{Embedder, FolderModel, MiniLm, RemoteModel};

/// A model that cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`embed.model` is `{name}`: {why}\nhint: {hint}")]
pub struct BetterError {
    /// As it is set.
    pub name: String,
    /// What is wrong with it.
    pub why: String,
    /// What to do.
    pub hint: &'static str,
}

/// The model that the settings name, of those that the user's own folder of models holds; none for `none`.
///
/// # Errors
/// When there is no such model.
pub fn better(settings: &Embed) -> Result<Option<Arc<dyn Embedder>>, BetterError> {
    // Without a home there is no such folder, and its models are not there.
    let models = Places::from_env().map(|places| places.models()).unwrap_or_default();
    better_of(settings, &models)
}

/// As [`better`], with the folder of models given.
///
/// # Errors
/// When there is no such model.
pub fn better_of(
    settings: &Embed,
    models: &Path,
) -> Result<Option<Arc<dyn Embedder>>, BetterError> {
    Ok(Some(match settings.model.as_str() {
        "none" => return Ok(None),
        DEFAULT_MODEL => Arc::new(MiniLm::default()),
        "remote" => Arc::new(RemoteModel::new(settings)?),
        path if path.starts_with('/') => Arc::new(FolderModel::at(settings)?),
        _ => Arc::new(FolderModel::added(settings, models)?),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_named_or_there_is_none() {
        let named = |model: &str| Embed { model: model.to_string(), ..Embed::default() };
        let space = |settings: &Embed| {
            better_of(settings, Path::new("/nowhere"))
                .map(|found| found.map(|model| model.space().to_string()))
        };
        assert_eq!(space(&named("none")), Ok(None));
        let found = space(&Embed::default()).expect("the default is there").expect("a model");
        assert!(found.starts_with("all-MiniLM-L6-v2"), "{found}");
        let error = space(&named("/nowhere/model")).expect_err("no such folder").to_string();
        assert!(error.contains("the folder has no `config.json`"), "{error}");
        let error = space(&named("remote")).expect_err("no address").to_string();
        assert!(error.contains("`embed.remote.url` is not set"), "{error}");
        let error = space(&named("minilm")).expect_err("no such model").to_string();
        assert!(error.contains("`embed.model` is `minilm`") && error.contains("hint:"), "{error}");
    }
}
