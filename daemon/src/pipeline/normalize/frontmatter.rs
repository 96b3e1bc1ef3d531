//! Frontmatter: the YAML between two `---` lines at the head of a document.
//!
//! In: the whole text. Out: title, metadata, and where the body begins. YAML that cannot be read costs a
//! warning that names the line of the file; the body is read all the same.
//! Invariant: size, depth, nodes and alias expansion are bounded, so that hostile YAML costs milliseconds.
//! Not here: writing frontmatter; `+++` (TOML), which stays text.

use serde_json::Value;

use crate::pipeline::parcel::DocMeta;

/// Longest frontmatter read as YAML, bytes. Longer ones are data; the body below is still found.
const MAX_YAML_BYTES: usize = 64 * 1024;
/// Most parser events and nodes, counting those that aliases repeat.
const MAX_YAML_EVENTS: usize = 20_000;
/// Deepest nesting of mappings and sequences.
const MAX_YAML_DEPTH: usize = 32;
/// Most tags and most aliases kept for one document: each is compared with those before it.
const MAX_NAMES: usize = 500;
/// Longest explanation taken over from the YAML parser, characters.
const MAX_REASON_CHARS: usize = 160;

/// What stands at the head of a document.
#[derive(Debug, Default)]
pub(super) struct Frontmatter {
    /// The stated title.
    pub(super) title: Option<String>,
    /// Everything else it states.
    pub(super) meta: DocMeta,
    /// Byte offset at which the body begins; 0 when there is no frontmatter.
    pub(super) body: usize,
    /// Why it could not be read, if so.
    pub(super) warning: Option<String>,
}

/// Reads the frontmatter of a text, if it has one.
pub(super) fn read(text: &str) -> Frontmatter {
    let Some((yaml, body)) = split(text) else { return Frontmatter::default() };
    let warned = |why: String| Frontmatter { body, warning: Some(why), ..Frontmatter::default() };
    if yaml.len() > MAX_YAML_BYTES {
        return warned(format!(
            "front matter of {} bytes is not read; hint: keep it under {MAX_YAML_BYTES}",
            yaml.len()
        ));
    }
    match parse(yaml) {
        Ok(Value::Object(keys)) => {
            let mut found = Frontmatter { body, ..Frontmatter::default() };
            keys.into_iter().for_each(|(key, value)| take(&mut found, key, value));
            found
        }
        // Two thematic breaks around plain words: nothing was stated, so nothing is taken away from the
        // text.
        Ok(Value::String(_)) => Frontmatter::default(),
        Ok(Value::Null) => Frontmatter { body, ..Frontmatter::default() },
        Ok(_) => warned("front matter is not a mapping of keys to values".to_string()),
        Err(why) => warned(why),
    }
}

/// The YAML and the offset of the body.
fn split(text: &str) -> Option<(&str, usize)> {
    let rest = text.strip_prefix("---")?;
    let first_end = rest.find('\n')?;
    if !rest.get(..first_end)?.trim_ascii().is_empty() {
        return None;
    }
    let start = 3 + first_end + 1;
    let mut at = start;
    for line in text.get(start..)?.split_inclusive('\n') {
        let bare = line.trim_ascii_end();
        if bare == "---" || bare == "..." {
            return Some((text.get(start..at)?, at + line.len()));
        }
        at += line.len();
    }
    None
}

fn parse(yaml: &str) -> Result<Value, String> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_events: MAX_YAML_EVENTS,
            max_nodes: MAX_YAML_EVENTS,
            max_depth: MAX_YAML_DEPTH,
            flow_nesting_limit: MAX_YAML_DEPTH,
            max_aliases: 200,
            max_anchors: 200,
            max_recorded_anchor_events: MAX_YAML_EVENTS,
            max_merge_keys: 100,
            max_documents: 1,
            max_total_scalar_bytes: 4 * MAX_YAML_BYTES,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: MAX_YAML_EVENTS,
            max_replay_stack_depth: 8,
        },
        duplicate_keys: serde_saphyr::options::DuplicateKeyPolicy::FirstWins,
        strict_booleans: true,
        leading_zero_numbers_as_strings: true,
        underscored_numbers_as_strings: true,
    };
    serde_saphyr::from_str_with_options::<Value>(yaml, options).map_err(|error| {
        let message = error.to_string();
        let first = message.lines().next().unwrap_or("");
        // `error: line 1 column 5: why`: its own line count would only confuse.
        let why = first.split_once(" column ").and_then(|(_, rest)| rest.split_once(": "));
        let why: String =
            why.map_or(first, |(_, why)| why).chars().take(MAX_REASON_CHARS).collect();
        match error.location() {
            // The parser counts from the line below the opening `---`.
            Some(place) => format!("front matter is not YAML: line {}: {why}", place.line() + 1),
            None => format!("front matter is not YAML: {why}"),
        }
    })
}

/// Files one key; what has another shape than expected is kept in `extra`.
fn take(found: &mut Frontmatter, key: String, value: Value) {
    if value.is_null() {
        return;
    }
    let meta = &mut found.meta;
    let scalar = scalar_text(&value);
    match (key.to_ascii_lowercase().as_str(), scalar) {
        ("title", Some(title)) if found.title.is_none() => found.title = Some(title),
        ("aliases" | "alias", _) => names(&value, |c| c == ',', &mut meta.aliases),
        ("tags" | "tag", _) => {
            let mut tags = Vec::new();
            names(&value, |c| c == ',' || c.is_whitespace(), &mut tags);
            tags.iter().for_each(|tag| add_tag(&mut meta.tags, tag));
        }
        ("type", Some(doc_type)) if meta.doc_type.is_none() => meta.doc_type = Some(doc_type),
        ("author" | "authors", _) if meta.author.is_none() => {
            let mut authors = Vec::new();
            names(&value, |_| false, &mut authors);
            meta.author = (!authors.is_empty()).then(|| authors.join(", "));
            // Lists of mappings and the like are kept as they are.
            if meta.author.is_none() {
                meta.extra.insert(key, value);
            }
        }
        ("lang" | "language", Some(language)) if meta.language.is_none() => {
            meta.language = Some(language)
        }
        ("date", Some(date)) => meta.date = Some(date),
        ("created", Some(date)) if meta.date.is_none() => meta.date = Some(date),
        ("source_url", Some(url)) => meta.source_url = Some(url),
        ("source" | "url", Some(url)) if meta.source_url.is_none() && url.contains("://") => {
            meta.source_url = Some(url);
        }
        ("security", Some(level)) if meta.security.is_none() => meta.security = Some(level),
        _ => {
            meta.extra.insert(key, value);
        }
    }
}

/// Adds a tag without its `#`, unless it is there already or says nothing.
pub(super) fn add_tag(tags: &mut Vec<String>, tag: &str) {
    let tag = tag.trim().trim_start_matches('#').trim_end_matches('/');
    if !tag.is_empty() && tags.len() < MAX_NAMES && !tags.iter().any(|known| known == tag) {
        tags.push(tag.to_string());
    }
}

/// A list of names, or one string that holds several, parted by `is_separator`.
fn names(value: &Value, is_separator: fn(char) -> bool, out: &mut Vec<String>) {
    let mut add = |name: &str| {
        let name = name.trim();
        if !name.is_empty() && out.len() < MAX_NAMES && !out.iter().any(|known| known == name) {
            out.push(name.to_string());
        }
    };
    match value {
        Value::Array(items) => {
            items.iter().filter_map(scalar_text).for_each(|item| add(&item));
        }
        _ => {
            if let Some(text) = scalar_text(value) {
                text.split(is_separator).for_each(&mut add);
            }
        }
    }
}

/// The text of a string, number or truth value; `None` for the empty string, lists and mappings.
fn scalar_text(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.trim().to_string(),
        Value::Number(number) => number.to_string(),
        Value::Bool(truth) => truth.to_string(),
        Value::Null | Value::Array(_) | Value::Object(_) => return None,
    };
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::read;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    fn check(text: &str, expected: Expect) {
        let found = read(text);
        let meta = &found.meta;
        let mut out = String::new();
        let mut line = |key: &str, value: &dyn std::fmt::Debug, is_shown: bool| {
            if is_shown {
                out += &format!("{key}: {value:?}\n");
            }
        };
        line("title", &found.title, found.title.is_some());
        line("aliases", &meta.aliases, !meta.aliases.is_empty());
        line("tags", &meta.tags, !meta.tags.is_empty());
        line("type", &meta.doc_type, meta.doc_type.is_some());
        line("author", &meta.author, meta.author.is_some());
        line("language", &meta.language, meta.language.is_some());
        line("date", &meta.date, meta.date.is_some());
        line("source_url", &meta.source_url, meta.source_url.is_some());
        line("security", &meta.security, meta.security.is_some());
        line("extra", &meta.extra, !meta.extra.is_empty());
        line("warning", &found.warning, found.warning.is_some());
        line("body", &text.get(found.body..).unwrap_or("out of range"), true);
        expected.assert_eq(&out);
    }

    #[test]
    fn every_known_key_is_filed() {
        check(
            "---\ntitle: My Note\naliases: [One, Two]\ntags: [a, '#b/c', 2024]\ntype: person\n\
             date: 2024-05-01\nsource_url: https://x.org\nsecurity: internal\nrating: 5\n---\nBody\n",
            expect![[r#"
                title: Some("My Note")
                aliases: ["One", "Two"]
                tags: ["a", "b/c", "2024"]
                type: Some("person")
                date: Some("2024-05-01")
                source_url: Some("https://x.org")
                security: Some("internal")
                extra: {"rating": Number(5)}
                body: "Body\n"
            "#]],
        );
    }

    #[test]
    fn strings_stand_for_lists() {
        check(
            "---\nalias: One Name, Other\ntags: a, b c #d\ncreated: 2024\nsource: a book\n...\nx",
            expect![[r#"
                aliases: ["One Name", "Other"]
                tags: ["a", "b", "c"]
                date: Some("2024")
                extra: {"source": String("a book")}
                body: "x"
            "#]],
        );
    }

    #[test]
    fn broken_yaml_names_the_line_and_keeps_the_body() {
        check(
            "---\ntitle: x\nbad: [1,\n---\nBody\n",
            expect![[r#"
                warning: Some("front matter is not YAML: line 3: unclosed bracket '['")
                body: "Body\n"
            "#]],
        );
    }

    #[test]
    fn what_is_no_frontmatter_stays_text() {
        for text in [
            "---\nno end\n",
            "--- x\na: b\n---\n",
            "a\n---\nb: c\n---\n",
            "---",
            "",
            "+++\na=1\n+++\n",
        ] {
            assert_eq!(read(text).body, 0, "{text:?}");
        }
        assert_eq!(read("---\njust words between two rules\n---\nx").body, 0);
        assert_eq!(read("---\n---\nx").body, 8);
    }

    #[test]
    fn bombs_are_refused() {
        let levels: String = (1..12)
            .map(|i| format!("a{i}: &a{i} [{}]\n", vec![format!("*a{}", i - 1); 9].join(",")))
            .collect();
        let bomb = format!("---\na0: &a0 [x]\n{levels}---\nBody");
        let deep = format!("---\na: {}\n---\nBody", "[".repeat(20_000));
        let long = format!("---\na: {}\n---\nBody", "x".repeat(100_000));
        for text in [bomb, deep, long] {
            let found = read(&text);
            assert!(found.warning.is_some(), "{:.60}", text);
            assert_eq!(text.get(found.body..), Some("Body"));
        }
    }

    proptest! {
        #[test]
        fn arbitrary_yaml_never_panics(yaml in "[-a-c:\\[\\]{}&*!|>'\"#%@,? \n\t0-9é]{0,80}") {
            let text = format!("---\n{yaml}\n---\nbody");
            let found = read(&text);
            prop_assert!(text.get(found.body..).is_some());
        }
    }
}
