//! Better: the model whose vectors join the static ones, as `embed.model` names it.
//!
//! In: the settings, the folder of added models. Out: an embedder, or none if the settings say so.
//! Invariants: making one costs neither time nor memory: a model is loaded when the first text comes; the name of its
//! space changes whenever its vectors would.
//! Not here: when its vectors are made (`engine/backfill`), which of a chunk's vectors counts (`query/recall.rs`).

use std::path::Path;
use std::sync::Arc;

use config::Places;
use config::limits::DEFAULT_MODEL;
use config::settings::Embed;

use super::{Embedder, FolderModel, MiniLm, RemoteModel};

/// A model that is not available.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`embed.model` is `{name}`: {why}\nhint: {hint}")]
pub struct BetterError {
    /// Its name in the settings.
    pub name: String,
    /// What is wrong with it.
    pub why: String,
    /// What to do.
    pub hint: &'static str,
}

/// Returns a warning about settings that the built-in model ignores.
pub fn ignored(settings: &Embed) -> Option<String> {
    let said = [
        ("embed.dimensions", settings.dimensions > 0),
        ("embed.query_prompt", !settings.query_prompt.is_empty()),
        ("embed.document_prompt", !settings.document_prompt.is_empty()),
    ];
    let said = said.iter().filter(|(_, is_said)| *is_said).map(|(key, _)| format!("`{key}`"));
    let said: Vec<String> = said.collect();
    (settings.model == DEFAULT_MODEL && !said.is_empty()).then(|| {
        format!(
            "{}: the built-in model `{DEFAULT_MODEL}` takes no notice of it\nhint: leave it out, or name a model that \
             was trained for it as `embed.model`",
            said.join(", ")
        )
    })
}

/// Returns the model that the settings name, from the user's own folder of models; none for `none`.
///
/// # Errors
/// When there is no such model.
pub fn better(settings: &Embed) -> Result<Option<Arc<dyn Embedder>>, BetterError> {
    // Without a home there is no such folder, and its models are missing.
    let models = Places::from_env().map(|places| places.models()).unwrap_or_default();
    better_of(settings, &models)
}

/// Does the same as [`better`] for a given folder of models.
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
        path if path.starts_with('/') => Arc::new(FolderModel::at(settings)?.tried_first()),
        _ => Arc::new(FolderModel::added(settings, models)?),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_built_in_model_takes_no_notice_of_is_told() {
        assert_eq!(ignored(&Embed::default()), None);
        let cut = Embed { dimensions: 128, ..Embed::default() };
        let warning = ignored(&cut).expect("a warning");
        assert!(
            warning.starts_with("`embed.dimensions`: the built-in model `minilm-l6`"),
            "{warning}"
        );
        assert_eq!(ignored(&Embed { model: "gemma".into(), ..cut }), None);
    }

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
