//! Better: the models whose vectors are added to the static ones: `embed.model`, and if that knows only English,
//! `embed.other_languages` for everything else.
//!
//! In: the settings, the folder of added models. Out: embedders, or none if the settings say so.
//! Invariants: creating one costs neither time nor memory: a model is loaded for its first text; the name of its
//! space changes whenever its vectors would.

use std::path::Path;
use std::sync::Arc;

use config::Places;
use config::limits::{DEFAULT_MODEL, OTHER_MODEL};
use config::settings::Embed;

use super::{Builtin, Embedder, FolderModel, RemoteModel};

/// A model that is not available.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{key}` is `{name}`: {why}\nhint: {hint}")]
pub struct BetterError {
    /// The setting that names it.
    pub key: &'static str,
    /// Its name in the settings.
    pub name: String,
    /// The reason.
    pub why: String,
    /// What to do about it.
    pub hint: &'static str,
}

/// Returns a warning about settings that the built-in model ignores.
pub fn ignored(settings: &Embed) -> Option<String> {
    let ignored = [
        ("embed.dimensions", settings.dimensions > 0),
        ("embed.query_prompt", !settings.query_prompt.is_empty()),
        ("embed.document_prompt", !settings.document_prompt.is_empty()),
    ];
    let ignored = ignored.iter().filter(|(_, is_set)| *is_set).map(|(key, _)| format!("`{key}`"));
    let ignored: Vec<String> = ignored.collect();
    let is_built_in = [DEFAULT_MODEL, OTHER_MODEL].contains(&settings.model.as_str());
    (is_built_in && !ignored.is_empty()).then(|| {
        format!(
            "{}: the built-in model `{}` ignores this setting\nhint: leave it out, or name a model that was trained \
             for it as `embed.model`",
            ignored.join(", "),
            settings.model
        )
    })
}

/// Returns the models that the settings name, from the user's own folders: first that of `embed.model`, which gets
/// everything that it can read, then the one for the rest; empty for `none`.
///
/// # Errors
/// When there is no such model.
pub fn better(settings: &Embed) -> Result<Vec<Arc<dyn Embedder>>, BetterError> {
    // Without a home folder, added models are missing, and built-in ones are unpacked in memory.
    let places = Places::from_env().ok();
    let (models, unpacked) =
        (places.as_ref().map(Places::models), places.as_ref().map(Places::unpacked));
    better_of(settings, &models.unwrap_or_default(), unpacked.as_deref())
}

/// As [`better`], for given folders of added models and of unpacked ones.
///
/// # Errors
/// When there is no such model.
pub fn better_of(
    settings: &Embed,
    models: &Path,
    unpacked: Option<&Path>,
) -> Result<Vec<Arc<dyn Embedder>>, BetterError> {
    let Some(first) = named(settings, models, unpacked)? else { return Ok(Vec::new()) };
    if !first.is_english_only() {
        return Ok(vec![first]);
    }
    // Dimensions and prompts are settings of the first model.
    let (query_prompt, document_prompt) = Default::default();
    let model = settings.other_languages.clone();
    let other = Embed { model, dimensions: 0, query_prompt, document_prompt, ..settings.clone() };
    let second = named(&other, models, unpacked)
        .map_err(|error| BetterError { key: "embed.other_languages", ..error })?;
    // A second model that knows only English could read nothing else either.
    let second = second.filter(|second| !second.is_english_only());
    Ok([Some(first), second].into_iter().flatten().collect())
}

/// Returns the model of one name; `None` for `none`.
fn named(
    settings: &Embed,
    models: &Path,
    unpacked: Option<&Path>,
) -> Result<Option<Arc<dyn Embedder>>, BetterError> {
    if let Some(model) = Builtin::named(&settings.model, unpacked) {
        return Ok(Some(Arc::new(model)));
    }
    Ok(Some(match settings.model.as_str() {
        "none" => return Ok(None),
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
        let spaces = |settings: &Embed| -> Result<Vec<String>, BetterError> {
            let found = better_of(settings, Path::new("/nowhere"), None)?;
            Ok(found.iter().map(|model| model.space().to_string()).collect())
        };
        assert_eq!(spaces(&named("none")), Ok(vec![]));
        let found = spaces(&Embed::default()).expect("the defaults are there");
        assert!(found[0].starts_with("all-MiniLM-L6-v2"), "{found:?}");
        assert!(found[1].starts_with("multilingual-e5-small"), "{found:?}");
        let other = |model: &str| Embed { other_languages: model.into(), ..Embed::default() };
        for only_english in ["none", DEFAULT_MODEL] {
            assert_eq!(spaces(&other(only_english)).expect("found"), found[..1], "{only_english}");
        }
        assert_eq!(spaces(&named(OTHER_MODEL)).expect("found"), found[1..], "it reads everything");
        let error = spaces(&other("tiny")).expect_err("no such model").to_string();
        assert!(error.contains("`embed.other_languages` is `tiny`: there is no such"), "{error}");
        let space = spaces;
        let error = space(&named("/nowhere/model")).expect_err("no such folder").to_string();
        assert!(error.contains("the folder has no `config.json`"), "{error}");
        let error = space(&named("remote")).expect_err("no address").to_string();
        assert!(error.contains("`embed.remote.url` is not set"), "{error}");
        let error = space(&named("minilm")).expect_err("no such model").to_string();
        assert!(error.contains("`embed.model` is `minilm`") && error.contains("hint:"), "{error}");
    }
}
