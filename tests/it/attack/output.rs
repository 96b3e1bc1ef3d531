//! Output: answers and exports carry no active content from documents.
//!
//! Characters that hide text or control a terminal are escaped as `\u{202e}` in every answer, and
//! are restored when an agent sends them back. `kgctl dump` uses JSON's own escapes, so that a
//! program gets the exact text.

use std::borrow::Cow;

use proto::visible::show;
use serde_json::{Value, json};
use tests::{Client, TestProject};

/// A bidirectional override, an escape sequence, a zero width space, and `hi` in tags.
const HIDDEN: &str = "gnp\u{202e}x\u{1b}[2Jy\u{200b}z\u{e0068}\u{e0069}";

/// Its escaped form.
const SHOWN: &str = r"gnp\u{202e}x\u{1b}[2Jy\u{200b}z\u{e0068}\u{e0069}";

fn note() -> String {
    format!(
        "# Orchard\n\nThe quince {HIDDEN} blooms in April.\r\n\n- [fact] It is {HIDDEN} old\n- near [[Mill]]\n"
    )
}

fn project() -> TestProject {
    TestProject::of(&[
        ("Orchard.md", &note()),
        (
            "mi\u{202e}ll\u{200b}.md",
            "---\ntitle: The Mill\nk\u{200b}ey: v\u{2066}alue\n---\nThe quince mill turns.\n",
        ),
    ])
}

/// Collects every text in a value that contains hidden characters.
fn hiding(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) if matches!(show(text), Cow::Owned(_)) => found.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|it| hiding(it, found)),
        Value::Object(fields) => fields.iter().for_each(|(key, it)| {
            hiding(&key.clone().into(), found);
            hiding(it, found);
        }),
        _ => {}
    }
}

#[test]
fn no_answer_hides_anything() {
    let project = project();
    let mut client = Client::admin(&project.paths().socket);
    let mut n_shown = 0;
    let mut check = |what: &str, reply: &Value| {
        let mut found = Vec::new();
        hiding(reply, &mut found);
        assert!(found.is_empty(), "{what}: {found:?}");
        n_shown += usize::from(reply.to_string().contains("{202e}"));
    };
    let calls = [
        ("hybrid_query", json!({"q": "quince"})),
        ("search", json!({"query": "quince"})),
        ("search_notes", json!({"query": "quince", "search_type": "hybrid"})),
        ("read_passage", json!({"at": "Orchard.md:3"})),
        ("read_note", json!({"path": "Orchard.md"})),
        ("read_note", json!({"path": "The Mill"})),
        ("fetch", json!({"id": "Orchard.md"})),
        ("build_context", json!({"path": "Orchard.md"})),
        ("list_notes", json!({})),
        ("list_directory", json!({})),
        ("recent_activity", json!({})),
        ("explain_entity", json!({"name": "Orchard"})),
        ("status", json!({"events": true})),
        ("read_note", json!({"path": format!("no {HIDDEN}")})),
        (HIDDEN, json!({})),
    ];
    for (tool, arguments) in calls {
        check(tool, &client.ask("tools/call", json!({"name": tool, "arguments": arguments})));
    }
    let resources = client.ask("resources/list", json!({}));
    check("resources/list", &resources);
    for it in resources["result"]["resources"].as_array().expect("a list") {
        check("resources/read", &client.ask("resources/read", json!({"uri": it["uri"]})));
    }
    let prompt = json!({"name": "search", "arguments": {"query": "quince"}});
    check("prompts/get", &client.ask("prompts/get", prompt));
    assert!(n_shown > 5, "{n_shown}");
}

#[test]
fn a_note_that_is_read_and_written_back_keeps_every_byte() {
    let mut project = project();
    let read = project.call("read_note", json!({"path": "Orchard.md"}));
    let content = read["content"].as_str().expect("a text").to_string();
    assert!(content.contains(SHOWN), "{content}");
    let whole = json!({
        "title": "Orchard", "content": content, "overwrite": true,
        "expected_checksum": read["checksum"],
    });
    let written = project.call("write_note", whole);
    let bytes = project.text("Orchard.md");
    assert!(bytes.contains(HIDDEN) && !bytes.contains("u{"), "{bytes:?}");
    assert!(bytes.ends_with(note().split_once("\n\n").expect("a body").1), "{bytes:?}");
    // The part is found by its escaped form; the rest stays unchanged.
    let edit = json!({
        "path": "Orchard.md", "find": format!("It is {SHOWN} old"), "content_updates": "It is new",
        "expected_checksum": written["checksum"],
    });
    project.call("edit_note", edit);
    let bytes = project.text("Orchard.md");
    assert!(bytes.contains("It is new") && bytes.contains(HIDDEN), "{bytes:?}");
    // A text about such characters stays as it is.
    let about = project
        .call("write_note", json!({"title": "About", "content": r"`\u{202e}` turns the order."}));
    let about = std::fs::read_to_string(project.at(about["path"].as_str().expect("a path")))
        .expect("a note");
    assert!(about.contains(r"`\u{202e}` turns"), "{about}");
}

#[test]
fn what_is_shown_can_be_named_and_ordinary_text_is_left_alone() {
    let mut project = project();
    let listed = project.call("list_notes", json!({}));
    let paths: Vec<&str> = listed["notes"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|it| it["path"].as_str())
        .collect();
    let shown = r"mi\u{202e}ll\u{200b}.md";
    assert!(paths.contains(&shown), "{paths:?}");
    assert_eq!(project.call("read_note", json!({"path": shown}))["title"], "The Mill");
    let ordinary =
        "می\u{200c}خواهم क्\u{200d}ष 👩🏽\u{200d}🚀 ❤\u{fe0f} Donau\u{ad}dampf — “ünï” 日本語\n";
    project.write("words.md", ordinary);
    project.settle();
    assert_eq!(project.call("read_note", json!({"path": "words.md"}))["content"], ordinary);
}

#[test]
fn no_spreadsheet_takes_an_exported_cell_for_a_formula_and_no_terminal_obeys() {
    let mut project = project();
    let names = ["=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(1)"];
    for (n, name) in names.iter().enumerate() {
        project.write(
            &format!("f{n}.md"),
            format!("---\ntitle: {}\n---\nA formula.\n", Value::from(*name)),
        );
    }
    project.settle();
    let root = project.root().display().to_string();
    let to = project.scratch().join("csv").display().to_string();
    let run = |arguments: &[&str]| {
        let output =
            project.kgctl().args(["--project", &root]).args(arguments).output().expect("it runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    run(&["export", "csv", "--to", &to]);
    let csv = std::fs::read_to_string(format!("{to}/nodes.csv")).expect("a file");
    for name in names {
        assert!(csv.contains(&format!(",\"'{name}\",")), "{name}\n{csv}");
    }
    for arguments in
        [&["query", "quince"][..], &["explain", "Orchard"], &["read", "Orchard.md:3"], &["status"]]
    {
        let text = run(arguments);
        let lines = text.replace('\n', " ");
        assert!(matches!(show(&lines), Cow::Borrowed(_)), "{arguments:?}: {text:?}");
    }
}

#[test]
fn a_dump_is_exact_and_hides_nothing() {
    let mut project = project();
    let root = project.root().display().to_string();
    let output = project.kgctl().args(["--project", &root, "dump"]).output().expect("it runs");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(matches!(show(&text), Cow::Borrowed(_)) && text.contains("\\u202e"), "{text}");
    let rows: Vec<Value> = text.lines().map(|it| serde_json::from_str(it).expect("JSON")).collect();
    let is_mill = |it: &Value| it["path"] == "mi\u{202e}ll\u{200b}.md";
    assert!(rows.iter().any(is_mill) && project.dump().rows("document").any(is_mill));
}
