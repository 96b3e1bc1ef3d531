//! Secrets: removes what the current detectors find and older ones missed.
//!
//! In: stored texts. Out: the same with each secret replaced by a mark.

use config::settings::Privacy;
use serde_json::Value;

use super::Rewrite;
use redact::{Redactor, clean};

/// The current detectors.
#[derive(Debug)]
pub struct Secrets {
    redactor: Redactor,
}

impl Secrets {
    /// Builds the detectors that the user's settings ask for.
    pub fn new(settings: &Privacy) -> Self {
        Secrets { redactor: Redactor::new(settings) }
    }
}

impl Rewrite for Secrets {
    fn text(&self, text: &str) -> Option<String> {
        // A mark that spans the quotes of JSON would make it unreadable, so strings are cleaned one by one.
        if text.starts_with(['[', '{'])
            && let Ok(mut value) = serde_json::from_str::<Value>(text)
        {
            return clean_strings(&mut value).then(|| value.to_string());
        }
        let cleaned = clean(text);
        (cleaned != text).then(|| cleaned.into_owned())
    }

    fn version(&self, path: &str, bytes: &[u8]) -> Option<Vec<u8>> {
        let text = std::str::from_utf8(bytes).ok()?;
        let shown = self.redactor.shown(path, text, vec![]);
        (shown != text).then(|| shown.into_bytes())
    }

    fn takes_names(&self) -> bool {
        false
    }
}

/// Cleans every string of a JSON value; returns whether any contained a secret.
fn clean_strings(value: &mut Value) -> bool {
    match value {
        Value::String(text) => {
            let cleaned = clean(text);
            let is_changed = cleaned != *text;
            if is_changed {
                *text = cleaned.into_owned();
            }
            is_changed
        }
        // `fold` and `|`, not `any`: every item must be cleaned.
        Value::Array(items) => items.iter_mut().map(clean_strings).fold(false, |a, b| a | b),
        Value::Object(fields) => fields.values_mut().map(clean_strings).fold(false, |a, b| a | b),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}
