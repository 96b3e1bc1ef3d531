//! Tests of the front matter.

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::read;
use crate::parse::parse;

fn check(text: &str, expected: Expect) {
    let note = parse(text);
    let mut out = String::new();
    let mut line = |key: &str, value: &dyn std::fmt::Debug, is_shown: bool| {
        if is_shown {
            out += &format!("{key}: {value:?}\n");
        }
    };
    line("title", &note.title, note.title.is_some());
    line("type", &note.note_type, note.note_type.is_some());
    line("permalink", &note.permalink, note.permalink.is_some());
    line("aliases", &note.aliases, !note.aliases.is_empty());
    line("tags", &note.tags, !note.tags.is_empty());
    if let Some(frontmatter) = &note.frontmatter {
        for (key, value) in frontmatter.normalized() {
            line(&format!("  {key}"), &value.to_string(), true);
        }
        for key in &frontmatter.keys {
            let place = &text[key.place.span.clone()];
            let shown = format!("{} {place:?} = {:?}", key.place.line, &text[key.value.clone()]);
            line(&format!("  @ {}", key.name), &format_args!("{shown}"), true);
        }
        line("warning", &frontmatter.warning, frontmatter.warning.is_some());
    }
    line("body", &&text[note.body..], true);
    expected.assert_eq(&out);
}

/// S0 §13.1: Parse frontmatter with all field types.
#[test]
fn parse_frontmatter_with_all_field_types() {
    check(
        "---\ntitle: My Title\ntags: [a, b]\ncreated: 2025-01-15\nat: 2025-01-15 10:30:00\ncount: 42\n\
         draft: true\nempty: null\nnested:\n  deep: [1, yes, 2.50]\n---\nBody\n",
        expect![[r#"
            title: Some("My Title")
            tags: ["a", "b"]
              title: "\"My Title\""
              tags: "[\"a\",\"b\"]"
              created: "\"2025-01-15\""
              at: "\"2025-01-15T10:30:00\""
              count: "\"42\""
              draft: "\"true\""
              nested: "{\"deep\":[\"1\",\"yes\",\"2.50\"]}"
              @ title: 2 "title: My Title\n" = " My Title"
              @ tags: 3 "tags: [a, b]\n" = " [a, b]"
              @ created: 4 "created: 2025-01-15\n" = " 2025-01-15"
              @ at: 5 "at: 2025-01-15 10:30:00\n" = " 2025-01-15 10:30:00"
              @ count: 6 "count: 42\n" = " 42"
              @ draft: 7 "draft: true\n" = " true"
              @ empty: 8 "empty: null\n" = " null"
              @ nested: 9 "nested:\n  deep: [1, yes, 2.50]\n" = "\n  deep: [1, yes, 2.50]"
            body: "Body\n"
        "#]],
    );
}

#[test]
fn every_form_of_a_key_is_found_with_its_lines() {
    check(
        "---\n# head\n\"quoted key\": 'x: y'\naliases:\n- One\n- Two, too\ntags: a, b c #d\n\ntext: |\n  line: 1\n  \
         line 2\n# tail\nbase: &b {x: 1}\nother: *b\n<<: *b\n-minus: 1\n---\n",
        expect![[r#"
            aliases: ["One", "Two, too"]
            tags: ["a", "b", "c"]
              quoted key: "\"x: y\""
              aliases: "[\"One\",\"Two, too\"]"
              tags: "\"a, b c\""
              text: "\"line: 1\\nline 2\\n\""
              base: "{\"x\":\"1\"}"
              other: "{\"x\":\"1\"}"
              -minus: "\"1\""
              x: "\"1\""
              @ quoted key: 3 "\"quoted key\": 'x: y'\n" = " 'x: y'"
              @ aliases: 4 "aliases:\n- One\n- Two, too\n" = "\n- One\n- Two, too"
              @ tags: 7 "tags: a, b c #d\n" = " a, b c #d"
              @ text: 9 "text: |\n  line: 1\n  line 2\n" = " |\n  line: 1\n  line 2"
              @ base: 13 "base: &b {x: 1}\n" = " &b {x: 1}"
              @ other: 14 "other: *b\n" = " *b"
              @ <<: 15 "<<: *b\n" = " *b"
              @ -minus: 16 "-minus: 1\n" = " 1"
            body: ""
        "#]],
    );
}

#[test]
fn keys_that_stand_twice_are_told_and_the_first_counts() {
    check(
        "---\ntype: a\ntype: b\n---\n",
        expect![[r#"
        type: Some("a")
          type: "\"a\""
          @ type: 2 "type: a\n" = " a"
          @ type: 3 "type: b\n" = " b"
        body: ""
    "#]],
    );
}

#[test]
fn yaml_that_is_no_list_of_lines_has_no_keys() {
    check(
        "---\n{title: x, tags: [a]}\n---\n",
        expect![[r#"
        title: Some("x")
        tags: ["a"]
          title: "\"x\""
          tags: "[\"a\"]"
        body: ""
    "#]],
    );
}

#[test]
fn a_byte_order_mark_and_crlf_are_read_over() {
    check(
        "\u{feff}---\r\ntitle: x\r\ntags:\r\n  - a\r\n---\r\nBody\r\n",
        expect![[r#"
        title: Some("x")
        tags: ["a"]
          title: "\"x\""
          tags: "[\"a\"]"
          @ title: 2 "title: x\r\n" = " x"
          @ tags: 3 "tags:\r\n  - a\r\n" = "\r\n  - a"
        body: "Body\r\n"
    "#]],
    );
}

#[test]
fn a_scalar_keeps_the_characters_that_were_written() {
    for text in [
        "4.20",
        "5.0",
        "6.00",
        "0x2A",
        "0b11",
        "0o12",
        "+7",
        "1E4",
        "9e12",
        "98765432109876543210",
        "True",
        "TRUE",
        "false",
        "true",
        ".inf",
        "-.INF",
        ".NaN",
        "09:45",
        "1e999",
        "08",
        "010",
        "2_500",
        "-0",
        "17",
        "-3",
        "2.5",
        "1.2.30",
        "yes",
    ] {
        let note = parse(&format!(
            "---\ntitle: {text}\ntype: {text}\naliases: [{text}]\ntags: [{text}]\nv: {text}\n---\n"
        ));
        let front = note.frontmatter.expect("front matter");
        assert_eq!(
            (front.warning.as_deref(), front.normalized()["v"].as_str()),
            (None, Some(text))
        );
        assert_eq!(note.title.as_deref(), Some(text));
        assert_eq!(note.note_type.as_deref(), Some(text));
        assert_eq!((note.aliases, note.tags), (vec![text.to_string()], vec![text.to_string()]));
        // What JSON would write in the same way stays a number or boolean for those who read JSON.
        let is_plain = ["false", "true", "17", "-3", "2.5", "5.0"].contains(&text);
        assert_eq!(front.values["v"].is_string(), !is_plain, "{text}");
    }
}

#[test]
fn a_bad_value_costs_that_value() {
    for (yaml, kept, warning) in [
        ("a: 1\nb: *c\nd: 2", "{a,d}", "`b` (line 3): `*c` refers to nothing"),
        ("a: [x\nb: 2", "{b}", "`a` (line 2): unclosed bracket '['"),
        ("a: 1\nb: @x\nc: `y`", "{a}", "`b` (line 3): "),
        ("a: x: y\nb:\n  - c\n  - *d\n", "{b}", "`a` (line 2): "),
        ("a: \"x\nb: 2\nc: 3", "{b,c}", "`a` (line 2): "),
        ("a: 1\n[[b]]: 2\n", "{a}", "(line 3): this is no name of a key"),
        ("t: {{title}}\na: 1", "{t,a}", "`t` (line 2): this is no name of a key"),
        ("a: &x [*x]\nb: 1", "{a,b}", "`a` (line 2): an alias refers to itself"),
        ("a: 1\njust words\nb: 2", "{a,b}", "`just words` (line 3): this is no key with a value"),
        ("a: !unknown 1\nb: !!int x\nc: !!str 2", "{a,b,c}", ""),
        ("a: 1\n\tb: 2\nc: 3", "{c}", "`a` (line 2): "),
    ] {
        let found = read(&format!("---\n{yaml}\n---\n"), 0).expect("front matter");
        let keys: Vec<_> = found.values.keys().map(String::as_str).collect();
        assert_eq!(format!("{{{}}}", keys.join(",")), kept, "{yaml}: {:?}", found.warning);
        let told = found.warning.unwrap_or_default();
        assert!(told.contains(warning) && told.is_empty() == warning.is_empty(), "{yaml}: {told}");
    }
}

#[test]
fn broken_yaml_names_the_line_and_keeps_the_body() {
    check(
        "---\nbad: [1,\n---\nBody\n",
        expect![[r#"
        warning: Some("front matter is not YAML: line 2: unclosed bracket '['")
        body: "Body\n"
    "#]],
    );
}

#[test]
fn what_is_no_frontmatter_stays_text() {
    for text in
        ["---\nno end\n", "--- x\na: b\n---\n", "a\n---\nb: c\n---\n", "---", "", "+++\na=1\n+++\n"]
    {
        assert_eq!(parse(text).body, 0, "{text:?}");
    }
    assert_eq!(parse("---\njust words between two rules\n---\nx").body, 0);
    assert_eq!(parse("---\n---\nx").body, 8);
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
        let found = read(&text, 0).expect("front matter");
        assert!(found.warning.is_some(), "{:.60}", text);
        assert_eq!(text.get(found.body..), Some("Body"));
    }
}

proptest! {
    #[test]
    fn arbitrary_yaml_never_panics(yaml in "[-a-c:\\[\\]{}&*!|>'\"#%@,? \n\t0-9é]{0,80}") {
        let text = format!("---\n{yaml}\n---\nbody");
        if let Some(found) = read(&text, 0) {
            prop_assert!(text.get(found.body..).is_some());
            for key in &found.keys {
                prop_assert!(text.get(key.place.span.clone()).is_some());
                prop_assert!(text.get(key.value.clone()).is_some());
            }
        }
    }
}
