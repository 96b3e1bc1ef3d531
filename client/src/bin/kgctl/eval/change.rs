//! Change: the settings that a comparison changes, checked before anything is read.
//!
//! In: texts `KEY=VALUE` and the current settings. Out: environment variables, and the changes that
//! have no effect.

use std::path::Path;

use ::config::Places;
use ::config::load::load;

use super::{Exit, Failure};

/// Prefixes of keys that affect not scores but only speed, amounts and times. `eval` itself sets
/// the number of hits, the length of answers, and the formula.
const WITHOUT_EFFECT: &[&str] = &[
    "write",
    "watch.debounce_ms",
    "watch.poll",
    "watch.reconcile_seconds",
    "belt.",
    "worker.",
    "serve.",
    "llm.",
    "embed.background",
    "embed.hub",
    "embed.remote.key_",
    "embed.remote.batch",
    "embed.remote.timeout_seconds",
    "retrieval.k",
    "retrieval.max_chars",
    "retrieval.formula",
    "retrieval.floor.",
];

/// Prefixes of keys that matter only if the better model's vectors do.
const OF_VECTORS: &[&str] = &["embed.", "vectors."];

/// A set of changes.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Change {
    /// Environment variables: names and values.
    pub(super) variables: Vec<(String, String)>,
    /// Descriptions of the changes without effect.
    pub(super) idle: Vec<String>,
    /// Whether the better model's vectors must be computed to see a difference.
    pub(super) is_about_vectors: bool,
}

/// Checks the settings of a comparison.
///
/// # Errors
/// When a key is not a setting, or its value is invalid.
pub(super) fn read(against: &[String], places: &Places, root: &Path) -> Result<Change, Failure> {
    let mut change = Change::default();
    for setting in against {
        let (key, value) = setting.split_once('=').unwrap_or(("", ""));
        let is_key = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_');
        if key.is_empty() || !key.chars().all(is_key) {
            return Err(Failure::new(Exit::Refused, format!("`{setting}` is not KEY=VALUE"))
                .hint("such as `--against retrieval.weights.graph=0`"));
        }
        let variable = format!("KG_{}", key.to_uppercase().replace('.', "__"));
        change.variables.push((variable, value.trim().to_string()));
    }
    let before = load(places, Some(root), &[])?;
    let after = load(places, Some(root), against)?;
    let value = |of: &::config::Loaded, key: &str| {
        of.rows().find(|(known, ..)| *known == key).map(|(_, value, _)| value.to_string())
    };
    let begins = |key: &str, with: &[&str]| with.iter().any(|it| begins_so(key, it));
    for setting in against {
        let key = setting.split('=').next().unwrap_or_default();
        change.is_about_vectors |= begins(key, OF_VECTORS);
        if begins(key, WITHOUT_EFFECT) {
            change.idle.push(format!("`{key}` changes no score"));
        } else if value(&before, key) == value(&after, key) {
            let now = value(&after, key).unwrap_or_default();
            change.idle.push(format!("`{key}` is {now} already"));
        } else if key.starts_with("retrieval.rerank.")
            && after.settings.retrieval.rerank.model.is_empty()
        {
            change.idle.push(format!("`{key}` counts only with `retrieval.rerank.model`"));
        }
    }
    Ok(change)
}

/// Returns whether the key equals `with`, or begins with it up to a dot or an underscore.
fn begins_so(key: &str, with: &str) -> bool {
    key.strip_prefix(with).is_some_and(|rest| {
        rest.is_empty() || with.ends_with(['.', '_']) || rest.starts_with(['.', '_'])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(setting: &str) -> Result<Change, String> {
        let dir = tempfile::tempdir().expect("a folder");
        let at = |name: &str| dir.path().join(name);
        let places = Places { state: at("state"), runtime: at("run"), config: at("config") };
        read(&[setting.to_string()], &places, dir.path())
            .map_err(|failure| failure.text().unwrap_or_default())
    }

    #[test]
    fn what_changes_nothing_is_told() {
        for (setting, idle) in [
            ("retrieval.hops=0", None),
            ("retrieval.weights.text=0", None),
            ("retrieval.recall_k=50", None),
            ("watch.extensions=md", None),
            ("watch.debounce_ms=400", Some("`watch.debounce_ms` changes no score")),
            ("watch.poll_interval_ms=400", Some("`watch.poll_interval_ms` changes no score")),
            ("retrieval.k=20", Some("`retrieval.k` changes no score")),
            ("embed.background=on", Some("`embed.background` changes no score")),
            ("retrieval.hops=2", Some("`retrieval.hops` is 2 already")),
            (
                "retrieval.rerank.depth=5",
                Some("`retrieval.rerank.depth` counts only with `retrieval.rerank.model`"),
            ),
        ] {
            let change = check(setting).expect(setting);
            assert_eq!(change.idle.first().map(String::as_str), idle, "{setting}");
        }
        assert!(check("embed.model=none").expect("a setting").is_about_vectors);
        assert!(!check("retrieval.weights.text=0").expect("a setting").is_about_vectors);
    }

    #[test]
    fn what_is_no_setting_is_refused_before_anything_is_read() {
        for (setting, why) in [
            ("hops", "`hops` is not KEY=VALUE"),
            ("retrieval.hop=1", "`retrieval.hop` is not a setting"),
            ("retrieval.hops=many", "retrieval.hops"),
            ("retrieval.hops=9", "it must be from 0 to 4"),
        ] {
            let error = check(setting).expect_err(setting);
            assert!(error.contains(why), "{error}");
        }
    }
}
