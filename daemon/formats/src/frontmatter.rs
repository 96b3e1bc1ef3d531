//! Front matter: the YAML between two `---` lines at the start of a document.
//!
//! In: the parsed front matter. Out: title, metadata, and where the body begins. What cannot be read gives a warning
//! with the line of the file; the other keys and the body are read anyway.
//! Invariant: size, depth, nodes and alias expansion are bounded, so that hostile YAML costs milliseconds.

use notes::date;
use notes::parse::{add_tag, names, scalar_text};
use serde_json::Value;

use model::document::DocMeta;

/// Most duplicate keys that a warning names.
const MAX_NAMED: usize = 5;

/// Longest value that a warning shows.
const MAX_SHOWN_CHARS: usize = 40;

/// Keys that mean something only with one value.
const SCALARS: [&str; 7] =
    ["title", "type", "permalink", "lang", "language", "security", "source_url"];

/// The front matter of a document.
#[derive(Debug, Default)]
pub(super) struct Frontmatter {
    /// The stated title.
    pub(super) title: Option<String>,
    /// Its other metadata.
    pub(super) meta: DocMeta,
    /// Byte offset at which the body begins; 0 when there is no front matter.
    pub(super) body: usize,
    /// Why it could not be read, and which part is ignored.
    pub(super) warnings: Vec<String>,
}

/// Sorts the values of front matter, if there is any, into title and metadata.
pub(super) fn sort(parsed: Option<&notes::parse::Frontmatter>) -> Frontmatter {
    let Some(read) = parsed else { return Frontmatter::default() };
    let repeated = read.repeated();
    let named = repeated.iter().take(MAX_NAMED).map(|(key, line)| format!("`{key}` (line {line})"));
    let named = named.collect::<Vec<_>>().join(", ");
    let repeated = (!repeated.is_empty())
        .then(|| format!("front matter repeats keys; the first of each is used: {named}"));
    let warnings = read.warning.clone().into_iter().chain(repeated).collect();
    let mut found = Frontmatter { body: read.body, warnings, ..Frontmatter::default() };
    let days = DateKeys::of(read, &mut found.warnings);
    found.meta.date = days.date;
    for (key, value) in read.values.iter().filter(|(key, _)| days.key != Some(*key)) {
        if SCALARS.iter().any(|it| key.eq_ignore_ascii_case(it))
            && (value.is_array() || value.is_object())
        {
            let line = read.key(key).map_or(0, |it| it.place.line);
            found.warnings.push(format!(
                "`{key}` (line {line}) is a list or map, and only a property; hint: write one value"
            ));
        }
        take(&mut found, key.clone(), value.clone());
    }
    found
}

/// The day that front matter states.
#[derive(Default)]
struct DateKeys<'f> {
    /// Which key states it.
    key: Option<&'f String>,
    /// As written.
    date: Option<String>,
}

impl<'f> DateKeys<'f> {
    /// Takes the date of the first key, in the order of their ranks, whose value is one; warns of values that are none.
    fn of(read: &'f notes::parse::Frontmatter, warnings: &mut Vec<String>) -> Self {
        let mut best = (usize::MAX, DateKeys::default());
        // `published: true` says whether, not when.
        let stated = |value: &Value| !value.is_null() && !value.is_boolean();
        for (key, value) in read.values.iter().filter(|(_, value)| stated(value)) {
            let rank = date::key_rank(key);
            if rank.is_none() && !date::is_of_change(key) {
                continue;
            }
            let text = date::first_text(value);
            let is_day = text.as_deref().is_some_and(|it| date::stated_day(it).is_some());
            if !is_day {
                let shown = text.clone().unwrap_or_else(|| value.to_string());
                let shown: String = shown.chars().take(MAX_SHOWN_CHARS).collect();
                let line = read.key(key).map_or(0, |it| it.place.line);
                warnings.push(format!(
                    "`{key}: {shown}` (line {line}) is not understood as a day; hint: write 2024-05-01"
                ));
            }
            // A value that is no day is kept only if no other key states one.
            let rank = rank.map(|rank| if is_day { rank } else { rank + usize::MAX / 2 });
            if let (Some(rank), Some(_)) = (rank.filter(|it| *it < best.0), &text) {
                best = (rank, DateKeys { key: Some(key), date: text });
            }
        }
        best.1
    }
}

/// Takes one key; a value of an unexpected type is kept in `extra`.
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
            // A list of maps, for example, is kept as it is.
            if meta.author.is_none() {
                meta.extra.insert(key, value);
            }
        }
        ("lang" | "language", Some(language)) if meta.language.is_none() => {
            meta.language = Some(language)
        }
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

#[cfg(test)]
mod tests {
    use super::{Frontmatter, sort};
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    fn read(text: &str) -> Frontmatter {
        sort(notes::parse::frontmatter(text).as_ref())
    }

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
        found.warnings.iter().for_each(|it| line("warning", it, true));
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
            "---\nbad: [1,\n---\nBody\n",
            expect![[r#"
                warning: "front matter is not YAML: line 2: unclosed bracket '['"
                body: "Body\n"
            "#]],
        );
    }

    #[test]
    fn a_bad_value_costs_that_value() {
        check(
            "---\ntitle: [a, b]\ntags: [x, *y]\ntype: 1.10\nrating: 5\nrating: 6\nbad: @x\n---\nBody\n",
            expect![[r#"
                tags: ["x"]
                type: Some("1.10")
                extra: {"rating": Number(5), "title": Array [String("a"), String("b")]}
                warning: "front matter is read without `bad` (line 7): unexpected character: `@'; `tags` (line 3): `*y` refers to nothing"
                warning: "front matter repeats keys; the first of each is used: `rating` (line 6)"
                warning: "`title` (line 2) is a list or map, and only a property; hint: write one value"
                body: "Body\n"
            "#]],
        );
    }

    #[test]
    fn the_day_is_read_from_any_of_its_keys() {
        for (yaml, date) in [
            ("date: 7 Nov 2023", "7 Nov 2023"),
            ("Created_At: 2023-11-07", "2023-11-07"),
            ("date created: 2023-11-07", "2023-11-07"),
            ("pubDate: 2023-11-07\nupdated: 2024-01-01", "2023-11-07"),
            ("published: 2023-11-07\ncreated: 2022-01-01", "2022-01-01"),
            ("date: soon\ntimestamp: 20231107", "20231107"),
            ("DATE: [[2023-11-07]]", "2023-11-07"),
            ("date: [2023-11-07, 2023-11-08]", "2023-11-07"),
            ("created: 2024", "2024"),
        ] {
            let found = read(&format!("---\n{yaml}\n---\n"));
            assert_eq!(found.meta.date.as_deref(), Some(date), "{yaml}");
            assert_eq!(found.warnings.is_empty(), !yaml.contains("soon"), "{:?}", found.warnings);
        }
        for yaml in ["date: 2023-13-45", "created: 03/04/2023", "modified: later", "date: {{date}}"]
        {
            let warnings = read(&format!("---\na: 1\n{yaml}\n---\n")).warnings;
            let (key, value) = yaml.split_once(": ").expect("a key");
            let is_told = |it: &String| {
                it.contains(key)
                    && it.contains("(line 3)")
                    && (it.contains(value) || value.contains('{'))
            };
            assert!(warnings.iter().any(is_told), "{yaml}: {warnings:?}");
        }
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
            assert!(!found.warnings.is_empty(), "{:.60}", text);
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
