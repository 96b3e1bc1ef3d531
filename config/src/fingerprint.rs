//! Fingerprint: a hash of the settings that affect the rows of the index.
//!
//! In: settings, and everything else that affects a layer (schema, extractor and model versions). Out: a short text
//! that differs when a rebuild would give different rows.
//! Invariants: the same settings give the same fingerprint in every build; the order of fields does not
//! matter.

use serde::Serialize;
use serde_json::Value;

use crate::settings::Settings;

/// Prefixes of keys that affect no rows, in sections that otherwise do.
const APART: &[&str] = &[
    "recognize.given=",
    "embed.model=",
    "embed.other_languages=",
    "embed.dimensions=",
    "embed.query_prompt=",
    "embed.document_prompt=",
    "embed.background=",
    "embed.hub=",
    "embed.remote.",
    "memory.report=",
];

/// Later settings at their defaults, for which no index is rebuilt.
const LATER: &[&str] = &["privacy.labels=[]", "recognize.patterns=[]"];

/// Returns the fingerprint of the layer of rows: sections `privacy`, `chunk`, `recognize`, `link`, `embed`, `dedup` and
/// `memory`, with `extra` for versions that settings do not contain. 32 hexadecimal digits.
///
/// `recognize.given` is left out, because `extra` covers the contents of its table. Of `embed`, only `window_tokens`
/// counts: the better model's vectors are stored separately, each under the name of its space.
///
/// Sections `watch`, `belt`, `worker`, `vectors`, `llm`, `retrieval`, `serve` and `http` are left out: which files are
/// read shows in the files' own rows, the storage of vectors affects no row, and ranking happens when a question is
/// asked.
pub fn rows(settings: &Settings, extra: &str) -> String {
    let sections: [(&str, Value); 7] = [
        ("privacy", exact(&settings.privacy)),
        ("chunk", exact(&settings.chunk)),
        ("recognize", exact(&settings.recognize)),
        ("link", exact(&settings.link)),
        ("embed", exact(&settings.embed)),
        ("dedup", exact(&settings.dedup)),
        ("memory", exact(&settings.memory)),
    ];
    let mut lines = Vec::new();
    for (section, value) in &sections {
        flatten(section, value, &mut lines);
    }
    let is_apart = |line: &String| {
        LATER.contains(&line.as_str()) || APART.iter().any(|key| line.starts_with(key))
    };
    lines.retain(|line| !is_apart(line));
    // Sorted, so that moving a field in the source does not rebuild every index.
    lines.sort_unstable();
    lines.push(format!("extra={extra}"));
    format!("{:032x}", xxhash_rust::xxh3::xxh3_128(lines.join("\n").as_bytes()))
}

/// Converts a value through its text, so that an `f32` of 0.9 stays `0.9` instead of its nearest `f64`.
pub(crate) fn exact<T: Serialize>(value: &T) -> Value {
    let text = serde_json::to_string(value).expect("settings are plain data with text keys");
    serde_json::from_str(&text).expect("serde_json reads what it wrote")
}

/// Collects lines `key=value` for every leaf below `key`.
fn flatten(key: &str, value: &Value, lines: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            map.iter().for_each(|(name, inner)| flatten(&format!("{key}.{name}"), inner, lines));
        }
        leaf => lines.push(format!("{key}={leaf}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changes_rows_counts() {
        let base = Settings::default();
        let same = rows(&base, "v1");
        let changed = |change: fn(&mut Settings)| {
            let mut settings = Settings::default();
            change(&mut settings);
            rows(&settings, "v1") != same
        };
        assert!(changed(|s| s.chunk.max_tokens = 601));
        assert!(changed(|s| s.recognize.gazetteer.top_k = 1));
        assert!(changed(|s| s.link.tau2 = 0.73));
        assert!(changed(|s| s.embed.window_tokens = 100));
        assert!(changed(|s| s.privacy.pii = crate::settings::PiiMode::Flag));
        assert!(changed(|s| s.privacy.allow_paths.push("fixtures/".into())));
        assert!(changed(|s| s.privacy.allow_marks = true));
        assert!(changed(|s| s.privacy.labels.push("internal hr/**".into())));
        assert!(changed(|s| s.recognize.patterns.push("Product x+".into())));
        assert!(changed(|s| s.dedup.enabled = false));
        assert!(!changed(|s| s.watch.extensions.push("org".into())));
        assert!(!changed(|s| s.retrieval.k = 3));
        assert!(!changed(|s| s.recognize.given = "/names.tsv".into()));
        assert!(!changed(|s| s.embed.model = "none".into()));
        assert!(!changed(|s| s.embed.other_languages = "none".into()));
        assert!(!changed(|s| s.embed.dimensions = 128));
        assert!(!changed(|s| s.embed.query_prompt = "query: ".into()));
        assert!(!changed(|s| s.embed.remote.url = "http://localhost".into()));
        assert!(!changed(|s| s.embed.background = crate::settings::Background::Off));
        assert!(!changed(|s| s.vectors.precision = crate::settings::Precision::Float32));
        assert!(!changed(|s| s.llm.query.api = crate::settings::LlmApi::Ollama));
        assert!(!changed(|s| s.serve.idle_exit_minutes = 1));
        assert_ne!(rows(&base, "v2"), same);
    }

    #[test]
    fn the_text_is_the_same_in_every_build() {
        // A change here rebuilds every user's index: make it knowingly.
        expect_test::expect!["9a4af6b6e5caeff42e6b3b376e1ffb36"]
            .assert_eq(&rows(&Settings::default(), "schema 1"));
    }
}
