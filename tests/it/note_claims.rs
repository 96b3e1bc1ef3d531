//! Note claims: a permalink that a note states never takes the name of another document, however it is spelled and
//! wherever that document went; links, tools and the graph agree on what a name means.

use serde_json::{Value, json};
use tests::TestProject;

fn stating(permalink: &str) -> String {
    format!("---\ntitle: Evil of {permalink}\npermalink: \"{permalink}\"\n---\nEvil.\n")
}

/// Returns the warnings about permalinks that are not granted.
fn refused(project: &mut TestProject) -> Vec<String> {
    let status = project.status();
    let rows = status["warnings"].as_array().cloned().unwrap_or_default();
    let row = |it: &Value| format!("{}: {}", it["path"], it["warning"]).replace('"', "");
    rows.iter().map(row).filter(|it| it.contains("is not granted")).collect()
}

/// Returns the path that a tool finds for a name, or the code of its error.
fn found(project: &mut TestProject, tool: &str, arguments: Value, at: &str) -> String {
    match project.try_call(tool, arguments) {
        Ok(reply) => reply.pointer(at).and_then(Value::as_str).unwrap_or("-").to_string(),
        Err(error) => error["code"].as_str().unwrap_or_default().to_string(),
    }
}

fn read(project: &mut TestProject, name: &str) -> String {
    found(project, "read_note", json!({"path": name}), "/path")
}

fn edited(project: &mut TestProject, name: &str) -> String {
    found(project, "edit_note", json!({"path": name, "content": "More."}), "/path")
}

#[test]
fn a_claim_is_compared_with_titles_and_permalinks_in_every_spelling() {
    let rows: [(&str, &str, &[&str], &[&str]); 6] = [
        (
            "a/fine.md",
            "title: Fine Title",
            &["fine title", "Fine-Title", "FINE_TITLE", "/fine title/"],
            &["Fine Title", "fine title", "FINE TITLE", "fine-title", "Fine-Title"],
        ),
        ("a/cpp.md", "title: C++", &["c++"], &["C++", "c++"]),
        ("a/version.md", "title: v1.2", &["v1.2", "V1-2"], &["v1.2", "V1.2", "v1-2"]),
        (
            "a/way.md",
            "title: Road Map\npermalink: my_way",
            &["Road Map", "MY-WAY"],
            &["Road Map", "road map", "my_way", "My-Way", "my way"],
        ),
        (
            "a/one.md",
            "title: Plain Words",
            &["plain\u{200b} words", "./plain-words"],
            &["Plain Words"],
        ),
        (
            "Über/Größe.md",
            "title: Size",
            &["U\u{308}ber/gro\u{308}ße", "./über\\größe.md"],
            &["über/größe", "Über/Größe.md", "Size"],
        ),
    ];
    let mut project = TestProject::empty();
    let mut n = 0;
    for (path, front, claims, _) in rows {
        project.write(path, format!("---\n{front}\n---\nMine.\n"));
        for claim in claims {
            n += 1;
            project.write(&format!("dl/evil{n}.md"), stating(&claim.replace('\\', "\\\\")));
        }
    }
    project.start();
    project.settle();
    for (path, _, _, names) in rows {
        for name in names {
            assert_eq!(read(&mut project, name), path, "read {name}");
            assert_eq!(edited(&mut project, name), path, "edit {name}");
        }
    }
    let warnings = refused(&mut project);
    for n in 1..=n {
        let is_of = |it: &&String| it.starts_with(&format!("dl/evil{n}.md:"));
        assert_eq!(warnings.iter().filter(is_of).count(), 1, "{n}: {warnings:#?}");
    }
    project.verify("claims in other spellings");
}

#[test]
fn a_path_stays_reserved_when_its_file_moves_or_its_text_appears_elsewhere() {
    let mut project = TestProject::of(&[
        ("plans/todo.md", "Private list.\n"),
        ("plans/gone.md", "Soon gone, and copied.\n"),
        ("plans/own.md", "---\ntitle: Own\npermalink: plans/own\n---\nKeeps its address.\n"),
        ("dl/evil1.md", &stating("plans/todo")),
        ("dl/evil2.md", &stating("plans/gone")),
        ("dl/evil3.md", &stating("plans/own")),
    ]);
    project.call("move_note", json!({"path": "plans/todo.md", "destination": "archive/todo.md"}));
    project.remove("plans/gone.md");
    project.settle();
    project.write("archive/copy.md", "Soon gone, and copied.\n");
    std::fs::rename(project.at("plans/own.md"), project.at("archive/own.md")).expect("moved");
    project.settle();
    for what in ["at once", "restarted", "index lost"] {
        for (name, path) in [
            ("plans/todo", "not_found"),
            ("plans/gone", "not_found"),
            ("plans/own", "archive/own.md"),
        ] {
            assert_eq!(read(&mut project, name), path, "{what}: {name}");
        }
        let warnings = refused(&mut project);
        assert_eq!(warnings.len(), 3, "{what}: {warnings:#?}");
        project.verify(what);
        match what {
            "at once" => project.restart(),
            "restarted" => {
                project.kill9();
                project.lose_index();
                project.start();
            }
            _ => {}
        }
        project.settle();
    }
    // A file at the path has it again.
    project.write("plans/todo.md", "Another list.\n");
    project.settle();
    assert_eq!(edited(&mut project, "plans/todo"), "plans/todo.md");
    project.verify("at the end");
}

#[test]
fn links_tools_and_the_graph_agree_on_folders_and_signs() {
    let mut project = TestProject::of(&[
        ("other/README.md", "# About this folder\n"),
        ("deep/inner/index.md", "# Inner things\n"),
        ("lang/sharp.md", "---\ntitle: C#\n---\nA language.\n"),
        ("lang/node.md", "---\ntitle: Node.js\n---\nA runtime.\n"),
        ("lang/what.md", "---\ntitle: What now?\n---\nA question.\n"),
        ("dl/evil.md", &stating("other")),
    ]);
    for (name, path) in [
        ("other", "other/README.md"),
        ("Other", "other/README.md"),
        ("inner", "deep/inner/index.md"),
        ("deep/inner", "deep/inner/index.md"),
        ("C", "-"),
        ("c", "lang/sharp.md"),
        ("Node JS", "lang/node.md"),
        ("What now", "lang/what.md"),
    ] {
        project.write("links.md", format!("# Links\n\n- see [[{name}]]\n"));
        project.settle();
        let relations = project.call("read_note", json!({"path": "links.md"}));
        let led = relations["relations"][0]["to_path"].as_str().unwrap_or("-");
        assert_eq!(led, path, "the link [[{name}]]");
        let tool = if path == "-" { "not_found" } else { path };
        assert_eq!(read(&mut project, name), tool, "read {name}");
        if path.starts_with("lang/") || path == "-" {
            let home = found(&mut project, "explain_entity", json!({"name": name}), "/home");
            assert_eq!(home, path, "explain {name}");
        }
    }
    assert_eq!(edited(&mut project, "other"), "refused");
    assert_eq!(edited(&mut project, "C"), "not_found");
    project.verify("folders and signs");
}

#[test]
fn a_numbered_permalink_is_an_address_like_any_other() {
    let mut project = TestProject::of(&[
        ("a/dup.md", "---\ntitle: Dup\n---\nOne.\n"),
        ("b/dup.md", "---\ntitle: Dup\n---\nTwo.\n"),
        ("x/one.md", "---\ntitle: One\npermalink: shared\n---\nx\n"),
        ("x/two.md", "---\ntitle: Two\npermalink: Shared\n---\nx\n"),
    ]);
    assert_eq!(read(&mut project, "dup-1"), "b/dup.md");
    assert_eq!(edited(&mut project, "dup-1"), "b/dup.md");
    let home = found(&mut project, "explain_entity", json!({"name": "dup-1"}), "/home");
    assert_eq!(home, "b/dup.md");
    assert_eq!(
        refused(&mut project),
        ["x/two.md: `permalink: shared` is not granted: it is the address of `x/one.md`"]
    );
    project.verify("numbers");
}

#[test]
fn a_title_that_is_there_gets_no_second_file() {
    let mut project = TestProject::of(&[
        ("p/by-id.md", "---\ntitle: Road Map\n---\nMine.\n"),
        ("p/-x-.md", "---\ntitle: '\"x\"'\n---\nMine.\n"),
    ]);
    for (title, path) in
        [("Road Map", "p/by-id.md"), ("ROAD\u{a0}MAP", "p/by-id.md"), ("“x”", "p/-x-.md")]
    {
        let write = json!({"title": title, "directory": "p", "content": "new"});
        let error = project.try_call("write_note", write).expect_err(title);
        assert_eq!(error["code"], "exists", "{error}");
        assert!(error["message"].as_str().is_some_and(|it| it.contains(path)), "{error}");
    }
    let elsewhere = json!({"title": "Road Map", "directory": "q", "content": "new"});
    assert_eq!(project.call("write_note", elsewhere)["path"], "q/road-map.md");
}
