//! Spellings: one name is one name however it is typed or stored, and what nobody sees is nothing to names and words.

use serde_json::{Value, json};
use tests::TestProject;

/// Returns the paths in a list of a reply.
fn paths(reply: &Value, list: &str) -> Vec<String> {
    let items = reply[list].as_array().expect("a list");
    let mut paths: Vec<String> =
        items.iter().map(|it| it["path"].as_str().expect("a path").to_string()).collect();
    paths.dedup();
    paths
}

/// A folder and a note in the decomposed form of macOS.
const NOTE: &str = "Bu\u{308}ro/Protokoll U\u{308}berblick.md";

fn decomposed() -> TestProject {
    let note = "---\ntitle: U\u{308}berblick\ntags: [cafe\u{301}, bu\u{308}ro/o\u{308}de]\ntype: pru\u{308}fung\n\
                aliases: [U\u{308}bersicht]\n---\n\n# U\u{308}berblick\n\n\
                - [beschluß] Die Mu\u{308}hle bleibt #gro\u{308}ße\n- geho\u{308}rt_zu [[Mu\u{308}hle]]\n\n\
                ## A\u{308}nderungen\n\nText der A\u{308}nderungen.\n";
    TestProject::of(&[(NOTE, note), ("Mu\u{308}hle.md", "Die Mu\u{308}hle mahlt.\n")])
}

#[test]
fn a_decomposed_name_is_found_as_it_is_typed() {
    let mut project = decomposed();
    for (tool, arguments, list) in [
        ("list_directory", json!({"path": "Büro"}), "entries"),
        ("list_directory", json!({"path": "büro", "glob": "*überblick.md"}), "entries"),
        ("list_notes", json!({"path": "Büro"}), "notes"),
        ("list_notes", json!({"path": "BÜRO/"}), "notes"),
        ("list_notes", json!({"path": "Büro/*.md"}), "notes"),
        ("list_notes", json!({"tags": ["café"]}), "notes"),
        ("list_notes", json!({"tags": ["büro"]}), "notes"),
        ("search_notes", json!({"tags": ["größe"]}), "results"),
        ("search_notes", json!({"note_types": ["Prüfung"]}), "results"),
        ("hybrid_query", json!({"q": "Mühle", "path": "Büro/"}), "chunks"),
        ("hybrid_query", json!({"q": "Mühle", "path": "büro/*.md"}), "chunks"),
        ("hybrid_query", json!({"q": "Mühle tag:café"}), "chunks"),
        ("hybrid_query", json!({"q": "Mühle path:Büro/"}), "chunks"),
        ("hybrid_query", json!({"q": "Mühle", "tags": ["CAFÉ"]}), "chunks"),
        ("hybrid_query", json!({"q": "Mühle", "doc_type": "prüfung"}), "chunks"),
    ] {
        let reply = project.call(tool, arguments.clone());
        assert_eq!(paths(&reply, list), [NOTE], "{tool} {arguments}: {reply}");
    }
    let read = project.call("read_passage", json!({"at": "Büro/Protokoll Überblick.md:12"}));
    assert!(read.to_string().contains("mahlt") || read.to_string().contains("bleibt"), "{read}");
    // No answer says that there is no `X`, but an `X`.
    for (tool, arguments) in [
        ("hybrid_query", json!({"q": "Mühle", "path": "Bürö/"})),
        ("hybrid_query", json!({"q": "Mühle tag:caffé"})),
    ] {
        let reply = project.call(tool, arguments).to_string();
        let (none, near) = reply.split_once("nearest: `").unwrap_or((&reply, ""));
        let near = near.split('`').next().unwrap_or_default();
        assert!(near.is_empty() || !names::fold(none).contains(&names::fold(near)), "{reply}");
    }
}

#[test]
fn an_edit_finds_what_looks_the_same_and_keeps_the_rest() {
    let mut project = decomposed();
    let before = project.text(NOTE);
    let edit = json!({
        "path": NOTE, "find": "Text der Änderungen.", "content_updates": "Neu.",
    });
    project.call("edit_note", edit);
    let once = before.replace("Text der A\u{308}nderungen.", "Neu.");
    assert_eq!(project.text(NOTE), once);
    let edit = json!({
        "path": NOTE, "operation": "replace_section", "section": "änderungen", "content_updates": "Ganz neu.",
    });
    project.call("edit_note", edit);
    assert_eq!(project.text(NOTE), once.replace("Neu.", "Ganz neu."));
}

#[test]
fn no_folder_is_made_that_looks_like_another() {
    let mut project = decomposed();
    let written =
        project.call("write_note", json!({"title": "Neu", "directory": "Büro", "content": "x"}));
    assert_eq!(written["path"], "Bu\u{308}ro/neu.md");
    let inner = json!({"title": "Tief", "directory": "büro/Jahr 1", "content": "x"});
    assert_eq!(project.call("write_note", inner)["path"], "Bu\u{308}ro/Jahr 1/tief.md");
    let moved = json!({"path": "Mu\u{308}hle.md", "destination": "Büro/"});
    project.call("move_note", moved);
    assert!(project.at("Bu\u{308}ro/Mu\u{308}hle.md").exists() && !project.at("Büro").exists());
}

/// One word with a soft hyphen, one with a zero width space, in each format of text.
fn hiding() -> TestProject {
    let line = |format: &str| {
        format!("The Gesamt\u{ad}konzept{format} names the zero\u{200b}width{format} rule.\n")
    };
    let cell = json!({"cells": [{"cell_type": "markdown", "metadata": {}, "source": [line("ipynb")]}],
        "metadata": {}, "nbformat": 4, "nbformat_minor": 5});
    let mail = format!(
        "From: Ann <a@example.org>\nSubject: Invisible\nDate: Mon, 2 Mar 2026 10:00:00 +0100\n\
         Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\n{}",
        line("eml")
    );
    TestProject::of(&[
        ("inv.md", &format!("# Invisible md\n\n{}", line("md"))),
        ("inv.txt", &line("txt")),
        ("inv.org", &line("org")),
        ("inv.rst", &line("rst")),
        ("inv.adoc", &line("adoc")),
        ("inv.html", &format!("<html><body><p>{}</p></body></html>", line("html"))),
        ("inv.ipynb", &cell.to_string()),
        ("inv.eml", &mail),
        ("Gesamtkonzept.md", "---\ntitle: Gesamtkonzept\ntype: plan\n---\n\nDas ist der Plan.\n"),
        (
            "Signing Service.md",
            "---\ntitle: Signing Service\ntype: service\n---\n\nSeals documents.\n",
        ),
        (
            "from.md",
            "# From\n\nSee [[Gesamt\u{ad}konzept]] and [[Signing\u{200b} Service]] and [[Signing\u{a0}Service]] and \
             [[Signing Service\u{200b}]] and [[\u{feff}Signing Service]] and [[Signing\u{2011}Service]].\n",
        ),
        (
            "prose.md",
            "# Prose\n\nUse pass\u{200b}word\u{200b}less login. The inter\u{200c}national plan. soft\u{feff}ware. \
             Donau\u{ad}dampf\u{e0100}\u{34f}\u{180b}\u{e0041}schiff.\n\nA #soft\u{ad}tag here.\n",
        ),
    ])
}

#[test]
fn words_are_found_whatever_nobody_sees_in_them() {
    let mut project = hiding();
    for format in ["md", "txt", "org", "rst", "adoc", "html", "ipynb", "eml"] {
        for word in ["Gesamtkonzept", "zerowidth"] {
            let found = project.found(&format!("\"{word}{format}\""));
            assert_eq!(found, [format!("inv.{format}")], "{word}{format}");
        }
    }
    for word in [
        "passwordless",
        "pass\u{200b}wordless",
        "international",
        "software",
        "Donaudampfschiff",
        "tag:softtag",
    ] {
        assert_eq!(project.found(word).first().map(String::as_str), Some("prose.md"), "{word:?}");
    }
    let broken = project.call("broken_links", json!({}));
    assert_eq!(broken["links"], json!([]), "{broken}");
}

#[test]
fn a_name_is_the_same_whatever_nobody_sees_in_it() {
    let mut project = hiding();
    project.call(
        "create_entities",
        json!({"entities": [
            {"name": "Gesamt\u{ad}konzept", "entity_type": "plan", "observations": ["It holds."]},
        ]}),
    );
    let files = std::fs::read_dir(project.root()).expect("a folder").flatten();
    let files = files.map(|it| names::fold(&it.file_name().to_string_lossy()));
    assert_eq!(files.filter(|it| it.contains("gesamtkonzept")).count(), 1);
    let edit = json!({
        "path": "prose.md", "find": "Use passwordless login.", "content_updates": "Log in.",
    });
    project.call("edit_note", edit);
    let text = project.text("prose.md");
    assert!(
        text.contains("\n\nLog in. The inter\u{200c}national plan. soft\u{feff}ware."),
        "{text:?}"
    );
}
