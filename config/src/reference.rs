//! Reference: generates `kg.yaml` from the declarations in `settings.rs`.
//!
//! In: the source of `settings.rs`, for its doc comments, and the defaults. Out: YAML with every key, its comment and
//! its default; loading it changes nothing.
//! Invariants: a setting without a comment, or a committed file that is not current, fails a test.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::Value;

use crate::fingerprint::exact;
use crate::load::is_user_only;
use crate::settings::Settings;

const SOURCE: &str = concat!(
    include_str!("settings.rs"),
    include_str!("settings/embed.rs"),
    include_str!("settings/http.rs"),
    include_str!("settings/kb.rs"),
    include_str!("settings/keep.rs"),
    include_str!("settings/llm.rs"),
    include_str!("settings/memory.rs"),
    include_str!("settings/projects.rs"),
    include_str!("settings/publish.rs"),
    include_str!("settings/recognize.rs"),
    include_str!("settings/retrieval.rs"),
    include_str!("settings/vectors.rs")
);

const OPENING: &str = "\
# Settings of one project, each with its default. Put those you change into `kg.yaml` in your folder, or into
# `config.yaml` in your configuration folder (`kgctl config show` tells where that is) for all projects.
# A variable wins over both: KG_WATCH__DEBOUNCE_MS=100 sets watch.debounce_ms. Generated from settings.rs.
";

/// Returns the doc comment of every setting and section, by dotted key.
pub fn comments() -> BTreeMap<String, String> {
    fields().into_iter().map(|(key, field)| (key, field.comment)).collect()
}

/// Returns every setting and section as it is declared, by dotted key.
pub(crate) fn fields() -> BTreeMap<String, Field> {
    let mut found = BTreeMap::new();
    collect("Settings", "", &structs(), &mut found);
    found
}

/// Returns every key with its comment and default, as YAML.
pub fn reference_yaml() -> String {
    let mut text = OPENING.to_string();
    if let Value::Object(sections) = exact(&Settings::default()) {
        for (section, value) in &sections {
            text.push('\n');
            write_entry(&mut text, "", section, value, &comments());
        }
    }
    text
}

fn write_entry(
    text: &mut String,
    prefix: &str,
    name: &str,
    value: &Value,
    comments: &BTreeMap<String, String>,
) {
    let key = if prefix.is_empty() { name.to_string() } else { format!("{prefix}.{name}") };
    let indent = "  ".repeat(key.matches('.').count());
    // Keys that a folder must not set are commented out.
    let inside = is_user_only(prefix);
    let mark = if inside { "# " } else { "" };
    for line in comments.get(&key).map(String::as_str).unwrap_or_default().lines() {
        let _ = writeln!(text, "{mark}{indent}# {line}");
    }
    let indent = match (inside, is_user_only(&key)) {
        (true, _) => format!("# {indent}"),
        (false, true) => format!("{indent}# "),
        (false, false) => indent,
    };
    match value {
        Value::Object(map) => {
            let _ = writeln!(text, "{indent}{name}:");
            map.iter().for_each(|(inner, value)| write_entry(text, &key, inner, value, comments));
        }
        Value::String(word) if word.is_empty() => {
            let _ = writeln!(text, "{indent}{name}: \"\"");
        }
        Value::String(word) => {
            let _ = writeln!(text, "{indent}{name}: {word}");
        }
        Value::Array(items) => {
            let items: Vec<_> =
                items.iter().map(|item| item.as_str().unwrap_or_default()).collect();
            let _ = writeln!(text, "{indent}{name}: [{}]", items.join(", "));
        }
        plain => {
            let _ = writeln!(text, "{indent}{name}: {plain}");
        }
    }
}

/// One field of a struct in `settings.rs`.
#[derive(Clone)]
pub(crate) struct Field {
    name: &'static str,
    /// Its type, as written.
    pub kind: &'static str,
    /// Its doc comment, line by line.
    pub comment: String,
}

/// Parses the structs of `settings.rs` with their public fields. It supports only that file's own style: one
/// declaration per line, doc comments directly above.
fn structs() -> BTreeMap<&'static str, Vec<Field>> {
    let mut found: BTreeMap<&str, Vec<Field>> = BTreeMap::new();
    let mut current = "";
    let mut comment: Vec<&str> = Vec::new();
    for line in SOURCE.lines().map(str::trim) {
        if let Some(words) = line.strip_prefix("///") {
            comment.push(words.trim());
            continue;
        }
        if let Some(rest) = line.strip_prefix("pub struct ") {
            current = rest.trim_end_matches('{').trim();
        } else if let Some((name, kind)) = line
            .strip_prefix("pub ")
            .and_then(|rest| rest.split_once(": "))
            // `pub name: type`; functions and constants have a blank before the colon.
            .filter(|(name, _)| !name.contains(' '))
        {
            let field =
                Field { name, kind: kind.trim_end_matches(','), comment: comment.join("\n") };
            found.entry(current).or_default().push(field);
        }
        // An attribute may stand between a comment and its field.
        if !line.starts_with("#[") {
            comment.clear();
        }
    }
    found
}

fn collect(
    of: &str,
    prefix: &str,
    structs: &BTreeMap<&'static str, Vec<Field>>,
    found: &mut BTreeMap<String, Field>,
) {
    for field in structs.get(of).into_iter().flatten() {
        let key = if prefix.is_empty() {
            field.name.to_string()
        } else {
            format!("{prefix}.{}", field.name)
        };
        collect(field.kind, &key, structs, found);
        found.insert(key, field.clone());
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::load::{leaves, load_with};
    use crate::place::Places;

    #[test]
    fn every_setting_has_a_comment() {
        let comments = comments();
        for key in leaves(&exact(&Settings::default())).keys() {
            let open = key.starts_with("retrieval.relation_weights.");
            assert!(open || comments.get(key).is_some_and(|comment| !comment.is_empty()), "{key}");
        }
    }

    #[test]
    fn the_committed_reference_is_current() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("kg.yaml");
        if std::env::var_os("KG_REGENERATE").is_some() {
            std::fs::write(&path, reference_yaml()).expect("the reference is written");
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            committed == reference_yaml(),
            "`config/kg.yaml` is old\nhint: run the tests with `KG_REGENERATE=1`"
        );
    }

    #[test]
    fn loading_the_reference_changes_nothing() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        std::fs::write(scratch.path().join("kg.yaml"), reference_yaml()).expect("written");
        let places = Places { state: "/s".into(), runtime: "/r".into(), config: "/nowhere".into() };
        let loaded =
            load_with(&places, Some(scratch.path()), [], &[]).expect("the reference is valid");
        assert_eq!(loaded.settings, Settings::default());
    }
}
