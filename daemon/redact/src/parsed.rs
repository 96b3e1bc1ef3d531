//! The second pass, over the output of a format.
//!
//! In: a [`Parsed`]. Out: the same without secrets and personal data to be removed, with its places adjusted.
//! Invariant: the map leads to the same places as before.

use serde_json::Value;

use super::Redactor;
use model::document::{Findings, Parsed};

impl Redactor {
    /// Cleans the output of a format, except `allowed`, the values on exempt lines.
    pub fn redact_parsed(&self, parsed: &mut Parsed, allowed: &[String]) -> Findings {
        let mut findings = Findings::default();
        let mut clean = |text: &mut String| {
            let (redacted, map, found) = self.redact_again(std::mem::take(text), allowed);
            *text = redacted;
            findings.add(&found);
            map
        };
        clean_meta(parsed, &mut |text| {
            clean(text);
        });
        // Places move only if something was replaced in the text itself.
        let Some(to_extracted) = clean(&mut parsed.text) else { return findings };
        parsed.move_places(&to_extracted);
        findings
    }
}

/// Visits every string other than the text.
fn clean_meta(parsed: &mut Parsed, clean: &mut dyn FnMut(&mut String)) {
    let meta = &mut parsed.meta;
    let stated = [
        &mut meta.doc_type,
        &mut meta.author,
        &mut meta.language,
        &mut meta.date,
        &mut meta.source_url,
        &mut meta.security,
        &mut parsed.title,
    ];
    stated.into_iter().flatten().for_each(&mut *clean);
    meta.aliases.iter_mut().chain(&mut meta.tags).chain(&mut parsed.warnings).for_each(&mut *clean);
    for link in &mut parsed.links {
        clean(&mut link.target);
        link.fragment.as_mut().map(&mut *clean);
    }
    // Keys may change, so the map is rebuilt.
    for (mut key, mut value) in std::mem::take(&mut meta.extra) {
        clean(&mut key);
        clean_value(&mut value, clean);
        meta.extra.insert(key, value);
    }
}

/// Visits every string of a value; the reader bounds its nesting.
pub(super) fn clean_value(value: &mut Value, clean: &mut dyn FnMut(&mut String)) {
    match value {
        Value::String(text) => clean(text),
        Value::Array(items) => items.iter_mut().for_each(|item| clean_value(item, clean)),
        Value::Object(items) => {
            for (mut key, mut value) in std::mem::take(items) {
                clean(&mut key);
                clean_value(&mut value, clean);
                items.insert(key, value);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
