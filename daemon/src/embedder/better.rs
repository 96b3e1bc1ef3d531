//! Better: the model whose vectors join the static ones, as `embed.model` names it.
//!
//! In: the settings. Out: an embedder, or that none is wanted.
//! Invariants: asking for one costs neither time nor memory: a model is loaded when the first text comes; the name of
//! its space changes whenever its vectors would.
//! Not here: when its vectors are made (`pipeline/backfill`), which of a chunk's vectors counts (`ask/recall.rs`).

use std::sync::Arc;

use config::settings::Embed;

use super::{Embedder, MiniLm};

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

/// The model that the settings name; none for `none`.
///
/// # Errors
/// When there is no such model.
pub fn better(settings: &Embed) -> Result<Option<Arc<dyn Embedder>>, BetterError> {
    match settings.model.as_str() {
        "none" => Ok(None),
        "minilm-l6" => Ok(Some(Arc::new(MiniLm::default()))),
        name => Err(BetterError {
            name: name.to_string(),
            why: "there is no such model".to_string(),
            hint: "it is `minilm-l6` or `none`",
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_named_or_there_is_none() {
        let named = |model: &str| Embed { model: model.to_string(), ..Embed::default() };
        let space = |settings: &Embed| {
            better(settings).map(|found| found.map(|model| model.space().to_string()))
        };
        assert_eq!(space(&named("none")), Ok(None));
        let found = space(&Embed::default()).expect("the default is there").expect("a model");
        assert!(found.starts_with("all-MiniLM-L6-v2"), "{found}");
        let error = space(&named("minilm")).expect_err("no such model").to_string();
        assert!(error.contains("`embed.model` is `minilm`") && error.contains("hint:"), "{error}");
    }
}
