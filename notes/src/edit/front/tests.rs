//! Front matter before and after.

use serde_json::{Value, json};

use crate::edit::{Op, apply, edit};

#[track_caller]
fn check(yaml: &str, op: &Op, wanted: &str) {
    let text = |yaml: &str| format!("---\n{yaml}---\nbody\n");
    for end in ["\n", "\r\n"] {
        let (text, wanted) = (text(yaml).replace('\n', end), text(wanted).replace('\n', end));
        let changes = edit(&text, op).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let after = apply(&text, &changes);
        assert_eq!(after, wanted);
        assert_eq!(edit(&after, op), Ok(vec![]), "done twice");
    }
}

fn set(key: &str, value: Value) -> Op {
    Op::SetKey { key: key.into(), value }
}

#[track_caller]
fn refused(yaml: &str, op: &Op) {
    let text = format!("---\n{yaml}---\nbody\n");
    let changes = edit(&text, op);
    assert!(changes.is_err(), "{}", apply(&text, &changes.unwrap_or_default()));
}

#[test]
fn only_the_value_changes() {
    let yaml = "# head\ntitle: Old   # why\n\nother: 'x'  \nlist:\n- a\n\n# about z\n\"z\" : [1,  2]\n# foot\n";
    check(yaml, &set("title", json!("New")), &yaml.replace("Old", "New"));
    check(yaml, &set("other", json!("it's")), &yaml.replace("'x'", "'it''s'"));
    check(yaml, &set("z", json!([3])), &yaml.replace("[1,  2]", "[3]"));
    check(yaml, &set("list", json!(["b", "c"])), &yaml.replace("- a", "- b\n- c"));
    check(yaml, &set("new", json!(true)), &format!("{yaml}new: true\n"));
    check(yaml, &set("TITLE", json!("New")), &yaml.replace("Old", "New"));
    check(yaml, &Op::RemoveKey("list".into()), &yaml.replace("list:\n- a\n", ""));
    check(yaml, &Op::RemoveKey("none".into()), yaml);
}

#[test]
fn values_change_their_form_where_they_must() {
    check("a:\nb: 1\n", &set("a", json!("x")), "a: x\nb: 1\n");
    check("a: # c\nb: 1\n", &set("a", json!("x")), "a: x # c\nb: 1\n");
    check("a: # c\nb: 1\n", &set("a", json!(["x"])), "a: # c\n  - x\nb: 1\n");
    check("a: x # c\nb: 1\n", &set("a", json!(["x"])), "a: [x] # c\nb: 1\n");
    check("a: x\nb: 1\n", &set("a", json!(["x", 1])), "a:\n  - x\n  - 1\nb: 1\n");
    check("a:\n    - x # c\n    - y\nb: 1\n", &set("a", json!("z")), "a: z\nb: 1\n");
    check("a:\n    - x\n    - y\nb: 1\n", &set("a", json!(["z"])), "a:\n    - z\nb: 1\n");
    check("a:\n  k: 1\nb: 1\n", &set("a", json!({"k": {"l": 2}})), "a:\n  k:\n    l: 2\nb: 1\n");
    check("a: {k: 1}\nb: 1\n", &set("a", json!({"k": 2})), "a: {k: 2}\nb: 1\n");
    check("a: |\n  one\n\n  # two\nb: 1\n", &set("a", json!("x")), "a: x\nb: 1\n");
    check("a: one\n  two\nb: 1\n", &set("a", json!("x")), "a: x\nb: 1\n");
    check("a: \"one\n  two\"\nb: 1\n", &set("a", json!("x")), "a: x\nb: 1\n");
    check("a: [1,\n  2\n]\nb: 1\n", &set("a", json!([3])), "a: [3]\nb: 1\n");
    check("a: x\n", &set("a", Value::Null), "a: null\n");
    check("  a: x\n  b: y\n", &set("c", json!(1)), "  a: x\n  b: y\n  c: 1\n");
    check("date: 2024-01-01\n", &set("date", json!("2024-02-01")), "date: 2024-02-01\n");
    check("date: soon\n", &set("date", json!("2024-02-01")), "date: \"2024-02-01\"\n");
    check("", &set("a", json!("no")), "a: \"no\"\n");
    check("# only\n", &set("a", json!(1)), "# only\na: 1\n");
}

#[test]
fn anchors_and_merges_of_others_stay() {
    let yaml = "base: &b {x: 1}\ncopy: *b\nmore:\n  <<: *b\n  y: 2\n";
    check(yaml, &set("copy", json!(1)), &yaml.replace("copy: *b", "copy: 1"));
    check(yaml, &set("new", json!(1)), &format!("{yaml}new: 1\n"));
    // Other keys refer to this one.
    refused(yaml, &set("base", json!(1)));
    refused(yaml, &Op::RemoveKey("base".into()));
}

#[test]
fn what_cannot_be_done_surely_is_refused() {
    refused("a: 1\na: 2\n", &set("b", json!(1)));
    refused("a: [\n", &set("b", json!(1)));
    refused("- a\n", &set("b", json!(1)));
    refused("{a: 1}\n", &set("a", json!(2)));
    refused("? a\n: 1\n", &set("a", json!(2)));
    refused("a: 1\n", &set(" ", json!(1)));
    refused("a: 1\n", &set("x\ny", json!(1)));
    refused("a: \"x\nt: y\"\n", &set("t", json!(1)));
}

#[test]
fn front_matter_is_made_where_there_is_none() {
    let op = set("a", json!("b"));
    let after = |text: &str| apply(text, &edit(text, &op).expect("sound"));
    assert_eq!(after("body\n"), "---\na: b\n---\n\nbody\n");
    assert_eq!(after("\nbody\r\n"), "---\na: b\n---\n\nbody\r\n");
    assert_eq!(after("body\r\n"), "---\r\na: b\r\n---\r\n\r\nbody\r\n");
    assert_eq!(after("\u{feff}body"), "\u{feff}---\na: b\n---\n\nbody");
    assert_eq!(after(""), "---\na: b\n---\n");
    assert_eq!(after("---\nwords\n---\nx"), "---\na: b\n---\n\n---\nwords\n---\nx");
    assert_eq!(after("---\nno end"), "---\na: b\n---\n\n---\nno end");
}

#[test]
fn tags_are_added_and_removed_in_their_form() {
    let add = |tags: &[&str]| Op::AddTags(tags.iter().map(ToString::to_string).collect());
    let remove = |tags: &[&str]| Op::RemoveTags(tags.iter().map(ToString::to_string).collect());
    for (yaml, with, without) in [
        (
            "tags:\n  - a # first\n  - '#b'\nz: 1\n",
            "tags:\n  - a # first\n  - '#b'\n  - c/d\nz: 1\n",
            "tags:\n  - '#b'\nz: 1\n",
        ),
        ("tags:\n- a\n- b\n", "tags:\n- a\n- b\n- c/d\n", "tags:\n- b\n"),
        ("tags: [a, \"b, x\"] # c\n", "tags: [a, \"b, x\", c/d] # c\n", "tags: [\"b, x\"] # c\n"),
        ("tags: [b, a]\n", "tags: [b, a, c/d]\n", "tags: [b]\n"),
        ("tags: [ a ]\n", "tags: [ a, c/d ]\n", "tags: []\n"),
        ("tags: [b,\n  a,\n]\n", "tags: [b,\n  a, c/d,\n]\n", "tags: [b,\n]\n"),
        ("tags: a, b # c\n", "tags: a, b, c/d # c\n", "tags: b # c\n"),
        ("tags: b a\n", "tags: b a c/d\n", "tags: b\n"),
        ("tags: \"#b, #a\"\n", "tags: \"#b, #a, c/d\"\n", "tags: \"#b\"\n"),
        ("tag: a\n", "tag: a, c/d\n", "tag: \n"),
        ("Tags:\n  - a\n", "Tags:\n  - a\n  - c/d\n", "Tags:\n"),
        ("x: 1\n", "x: 1\ntags:\n  - c/d\n", "x: 1\n"),
        ("tags: # none\n", "tags: # none\n  - c/d\n", "tags: # none\n"),
        ("tags: []\n", "tags: [c/d]\n", "tags: []\n"),
    ] {
        check(yaml, &add(&["#c/d", "C/d", "c/d/"]), with);
        check(yaml, &remove(&["A", "none"]), without);
    }
    check("tags: [a, b, c, d]\n", &remove(&["b", "c"]), "tags: [a, d]\n");
    check("tags: [a, b, c, d]\n", &remove(&["a", "c", "d"]), "tags: [b]\n");
    refused("tags: {a: 1}\n", &add(&["b"]));
    refused("a: 1\n", &add(&["two words"]));
    let text = "body\n";
    let changes = edit(text, &add(&["a", "2024"])).expect("sound");
    assert_eq!(apply(text, &changes), "---\ntags:\n  - a\n  - \"2024\"\n---\n\nbody\n");
}
