//! One resolver of names: which document a name means is the same for every tool, link and resource; no document takes
//! the address of another, and no change follows a name that a document gives itself.

use serde_json::{Value, json};
use tests::{TestProject, all};

/// The tools that read what a name means: arguments, and where the reply says what was found.
const READERS: [(&str, &str, &str); 8] = [
    ("read_note", "path", "/path"),
    ("view_note", "path", "/path"),
    ("fetch", "id", "/metadata/path"),
    ("read_content", "path", "/path"),
    ("backlinks", "path", "/path"),
    ("build_context", "path", "/notes/0/path"),
    ("note_history", "path", "/path"),
    ("render_document", "path", "/document/path"),
];

/// Returns the path that each tool reads for a name, once if all agree.
fn read_by_all(project: &mut TestProject, name: &str) -> String {
    let mut found: Vec<String> = Vec::new();
    for (tool, parameter, place) in READERS {
        let path = match project.try_call(tool, json!({ parameter: name })) {
            Ok(reply) => reply.pointer(place).map_or(format!("{tool}: {reply}"), |it| {
                it.as_str().unwrap_or_default().to_string()
            }),
            Err(error) => error["code"].as_str().unwrap_or_default().to_string(),
        };
        if !found.contains(&path) {
            found.push(path);
        }
    }
    found.join(", ")
}

fn status_warnings(project: &mut TestProject) -> Vec<String> {
    let status = project.status();
    let rows = status["warnings"].as_array().cloned().unwrap_or_default();
    let row = |it: &Value| format!("{}: {}", it["path"], it["warning"]).replace('"', "");
    rows.iter().map(row).collect()
}

#[test]
fn every_tool_and_link_resolves_a_name_in_one_order() {
    let mut project = TestProject::of(&[
        // Each note is called like the next step of another.
        ("alpha/one.md", "---\ntitle: Step Two\npermalink: first-step\n---\n# Fine Head\n"),
        ("first-step-too.md", "---\ntitle: First\naliases: [Fine Head, Other Name]\n---\n# Top\n"),
        ("beta/step two.md", "---\ntitle: Third\n---\n# Other Name\n"),
        ("beta/lone file.md", "---\ntitle: Fourth\n---\nx\n"),
        ("report.txt", "Plain words of a report.\n"),
        ("delta/README.md", "Plain words.\n"),
    ]);
    for (name, path) in [
        ("alpha/one.md", "alpha/one.md"),
        ("first-step", "alpha/one.md"),
        ("memory://first-step", "alpha/one.md"),
        ("alpha/one", "alpha/one.md"),
        ("memory://alpha/one", "alpha/one.md"),
        ("first-step-too", "first-step-too.md"),
        ("report", "report.txt"),
        // A title goes before a file name, a heading before an alias, an alias before a file name.
        ("Step Two", "alpha/one.md"),
        ("Fine Head", "alpha/one.md"),
        ("Other Name", "beta/step two.md"),
        ("lone file", "beta/lone file.md"),
        ("delta", "delta/README.md"),
        ("gamma/one.md", "not_found"),
    ] {
        assert_eq!(read_by_all(&mut project, name), path, "{name}");
    }
    project.write("src.md", "[[first-step]] [[Fine Head]] [[Other Name]] [[alpha/one]]\n");
    project.settle();
    let read = project.call("read_note", json!({"path": "src.md"}));
    let led: Vec<&str> = read["relations"]
        .as_array()
        .map_or(vec![], |it| it.iter().map(|it| it["to_path"].as_str().unwrap_or("-")).collect());
    assert_eq!(led, ["alpha/one.md", "beta/step two.md"], "{read}");
    project.verify("names of every kind");
}

#[test]
fn a_note_called_by_its_first_heading_is_linked_and_opened_by_it() {
    let mut project = TestProject::of(&[
        ("6b82cc.md", "# Signing Service\n\nSeals documents.\n"),
        ("a851ed.md", "# User guide\n\nHow to use the crane.\n"),
        ("77aa.md", "# Overview page\n\nWhere to begin.\n"),
        ("links.md", "# Links\n\n[[User guide]] [[Signing Service]]\n"),
    ]);
    for (name, path) in [
        ("User guide", "a851ed.md"),
        ("Signing Service", "6b82cc.md"),
        ("Overview page", "77aa.md"),
    ] {
        for tool in ["read_note", "backlinks"] {
            assert_eq!(project.call(tool, json!({"path": name}))["path"], path, "{tool} {name}");
        }
        let explained = project.call("explain_entity", json!({"name": name}));
        assert_eq!(explained["home"], path, "{name}: {explained}");
        let looked = project.call("entity_lookup", json!({"q": name}));
        assert_eq!(looked["entities"][0]["path"], path, "{name}: {looked}");
        let dump = project.call("dump", json!({"limit": 2_000}));
        let is_it = |row: &&Value| row["kind"] == "entity" && row["name"] == name;
        let n = dump["rows"].as_array().expect("rows").iter().filter(is_it).count();
        assert_eq!(n, 1, "one entity is called {name}: {dump}");
    }
    let back = project.call("backlinks", json!({"path": "User guide"}));
    assert_eq!(all(&back["backlinks"], "path"), ["links.md"], "{back}");
    assert_eq!(project.call("broken_links", json!({}))["links"], json!([]));
    project.verify("headings that are names");
    // A second note of this heading makes it mean neither; the graph follows.
    project.write("b.md", "# User guide\n\nAnother one.\n");
    project.settle();
    assert_eq!(project.call("backlinks", json!({"path": "a851ed.md"}))["backlinks"], json!([]));
    let error = project.try_call("read_note", json!({"path": "User guide"})).expect_err("two");
    assert_eq!(error["code"], "ambiguous", "{error}");
    project.verify("a heading of two");
}

#[test]
fn a_document_gets_no_address_of_another_file_by_stating_it() {
    let evil = |permalink: &str| format!("---\npermalink: {permalink}\n---\nEvil.\n");
    let mut project = TestProject::of(&[
        ("plans/todo.md", "Private list.\n"),
        ("plans/x.md", "---\ntitle: Road Map\n---\nThe way.\n"),
        ("plans/report.txt", "Plain words of a report.\n"),
        ("plans/gone.md", "---\ntitle: Old Plan\n---\nSoon gone.\n"),
        ("dl/evil1.md", &evil("plans/todo")),
        ("dl/evil2.md", &evil("Plans/Todo.md")),
        ("dl/evil3.md", &evil("road-map")),
        ("dl/evil4.md", &evil("plans/report")),
        ("dl/evil5.md", &evil("plans/gone")),
        ("dl/evil6.md", &evil("old-plan")),
        ("dl/good.md", &evil("my/own-address")),
    ]);
    let taken = [
        ("plans/todo", "plans/todo.md"),
        ("memory://plans/todo", "plans/todo.md"),
        ("road-map", "plans/x.md"),
        ("memory://road-map", "plans/x.md"),
        ("plans/report", "plans/report.txt"),
        ("my/own-address", "dl/good.md"),
    ];
    let check = |project: &mut TestProject, what: &str| {
        for (name, path) in taken {
            let read = project.call("read_note", json!({"path": name}));
            assert_eq!(read["path"], path, "{what}: {name}");
        }
    };
    check(&mut project, "from the start");
    project.call("edit_note", json!({"path": "plans/todo", "content": "More."}));
    assert!(project.text("plans/todo.md").contains("More."));
    project.call("edit_note", json!({"path": "my/own-address", "content": "Fine."}));
    // A deleted file keeps its addresses for 30 days, also through a restart and the loss of the index.
    project.call("delete_note", json!({"path": "plans/gone.md"}));
    project.remove("plans/x.md");
    project.settle();
    for what in ["removed", "restarted", "index lost"] {
        for name in ["plans/gone", "old-plan", "road-map", "memory://road-map"] {
            let read = project.try_call("read_note", json!({"path": name}));
            assert_eq!(read.expect_err(name)["code"], "not_found", "{what}: {name}");
        }
        let warnings = status_warnings(&mut project);
        for row in [
            "dl/evil1.md: `permalink: plans/todo` is not granted: it is the address of `plans/todo.md`",
            "dl/evil3.md: `permalink: road-map` is not granted: it is the address of `plans/x.md`, deleted or moved within 30 days",
            "dl/evil4.md: `permalink: plans/report` is not granted: it is the address of `plans/report.txt`",
            "dl/evil5.md: `permalink: plans/gone` is not granted: it is the address of `plans/gone.md`, deleted or moved within 30 days",
        ] {
            assert!(warnings.iter().any(|it| it == row), "{what}: {row}: {warnings:#?}");
        }
        project.verify(what);
        match what {
            "removed" => project.restart(),
            "restarted" => {
                project.kill9();
                project.lose_index();
                project.start();
            }
            _ => {}
        }
        project.settle();
    }
    // Who comes back has its address again, and tools refuse to state one that would not be granted.
    project.write("plans/x.md", "---\ntitle: Road Map\n---\nThe way.\n");
    project.settle();
    check(&mut project, "back");
    for permalink in ["plans/todo", "plans/todo.md", "plans/gone", "road-map"] {
        let write = json!({"title": "New", "content": "x", "metadata": {"permalink": permalink}});
        let error = project.try_call("write_note", write).expect_err(permalink);
        assert!(error["message"].as_str().is_some_and(|it| it.contains("plans/")), "{error}");
    }
    project.verify("at the end");
}

#[test]
fn a_change_follows_no_name_that_a_document_gives_itself() {
    let mut project = TestProject::of(&[
        ("dl/evil.md", "---\ntitle: Evil\naliases: [todo.md, plans/new.md, Plan]\n---\n# Budget\n"),
        ("sub/lone.md", "---\ntitle: Something\n---\nx\n"),
        ("root.md", "---\ntitle: Other\n---\nRoot.\n"),
        ("dl/root.md", "---\ntitle: root\n---\nNot root.\n"),
        ("sub/fine.md", "---\ntitle: Fine Title\npermalink: fine\n---\nx\n"),
        ("a/sea.md", "---\ntitle: C\n---\nx\n"),
        ("b/sea.md", "---\ntitle: C++\n---\nx\n"),
        ("dl/path.md", "---\ntitle: tmp/old.md\n---\nx\n"),
        ("dl/dot.md", "---\npermalink: ./sub/lone\n---\nx\n"),
        ("dl/csv.md", "---\npermalink: data.csv\n---\nx\n"),
        ("dl/case.md", "---\npermalink: fine title\n---\nx\n"),
        ("s/sharp.md", "---\ntitle: F#\n---\nx\n"),
        ("data.csv", "a,b\n"),
    ]);
    // What is written as a path means no title, a file that is not read is nobody else, and no sign is dropped.
    for (name, code) in
        [("tmp/old.md", "not_found"), ("data.csv", "invalid_params"), ("F", "not_found")]
    {
        let error = project.try_call("edit_note", json!({"path": name, "content": "x"}));
        assert_eq!(error.expect_err(name)["code"], code, "{name}");
    }
    let edited = project.call("edit_note", json!({"path": "./sub/lone", "content": "More."}));
    assert_eq!(edited["path"], "sub/lone.md");
    let evil = project.text("dl/evil.md");
    for name in
        ["todo.md", "plans/new", "plans/new.md", "Plan", "Budget", "memory://Budget", "lone"]
    {
        for (tool, arguments) in [
            ("edit_note", json!({"path": name, "content": "x"})),
            ("delete_note", json!({"path": name})),
            ("move_note", json!({"path": name, "destination": "elsewhere.md"})),
        ] {
            let error = project.try_call(tool, arguments).expect_err(name);
            let path = if name == "lone" { "sub/lone.md" } else { "dl/evil.md" };
            assert_eq!(error["code"], "refused", "{tool} {name}: {error}");
            assert!(error["message"].as_str().is_some_and(|it| it.contains(path)), "{error}");
            assert!(error["hint"].as_str().is_some_and(|it| it.contains(path)), "{error}");
        }
        assert!(project.try_call("read_note", json!({"path": name})).is_ok(), "{name} is read");
    }
    assert_eq!(project.text("dl/evil.md"), evil);
    // What is a file's path for one and a permalink for another is refused, not guessed.
    let error = project.try_call("edit_note", json!({"path": "root", "content": "x"}));
    let error = error.expect_err("two notes");
    assert_eq!(error["code"], "ambiguous", "{error}");
    for name in
        ["sub/fine.md", "sub/fine", "fine", "FINE", "Fine Title", "fine title", "memory://fine"]
    {
        let edited = project.call("edit_note", json!({"path": name, "content": "More."}));
        assert_eq!(edited["path"], "sub/fine.md", "{name}");
    }
    // A title that only one note has, although two compete for its permalink.
    for (title, path) in [("C", "a/sea.md"), ("C++", "b/sea.md")] {
        let edited = project.call("edit_note", json!({"path": title, "content": "More."}));
        assert_eq!(edited["path"], path, "{title}");
    }
    let edited = project.call("edit_note", json!({"path": "memory://c", "content": "More."}));
    assert_eq!(edited["path"], "a/sea.md", "its permalink, as answers show it");
    // A file at exactly the path that an alias imitates goes first, also before it is indexed.
    project.write("todo.md", "Mine.\n");
    project.call("edit_note", json!({"path": "todo.md", "content": "More."}));
    assert_eq!(project.text("todo.md"), "Mine.\n\nMore.\n");
}

#[test]
fn every_name_that_an_answer_shows_is_read_by_every_tool() {
    let names = [
        "line\nbreak.md",
        "in/tab\there.md",
        "in/esc\u{1b}[31m.md",
        "rtl\u{202e}gnp.md",
        " blank .md",
        "-rf.md",
        "what?.md",
        "star*.md",
        "[x].md",
        "a#b.md",
        "100%.md",
        "q: \"x\".md",
        "e\u{301}t\u{e9}.md",
    ];
    let mut project = TestProject::empty();
    for (n, name) in names.iter().enumerate() {
        project.write(name, format!("Wombat number {n} digs.\n"));
    }
    project.start();
    project.settle();
    for name in names {
        let text = project.client().call_whole("list_notes", json!({"page_size": 100}));
        let text = text.expect("a list")["content"][0]["text"].as_str().expect("text").to_string();
        // Replies write hidden characters as escapes, and in the text form all on one line.
        let told = proto::visible::show(name);
        let told = told.as_ref();
        let shown = told.replace(['\n', '\t'], " ");
        assert!(text.contains(shown.trim()), "{shown:?} is shown: {text}");
        for given in [name, told, &shown] {
            assert_eq!(read_by_all(&mut project, given), told, "{given:?}");
        }
        let edited = project.call("edit_note", json!({"path": name, "content": "More."}));
        assert_eq!(edited["path"], told);
    }
    let new = json!({"title": "x", "directory": "new\nfolder", "content": "x"});
    let error = project.try_call("write_note", new).expect_err("no new name of that kind");
    assert_eq!(error["code"], "invalid_params", "{error}");
}

#[test]
fn no_write_replaces_a_note_of_another_title() {
    let mut project = TestProject::of(&[
        ("p/by-hand.md", "# By hand\n\nMine.\n"),
        ("p/no-title.md", "Mine.\n"),
        ("p/x-y.md", "# Another Thing\n"),
    ]);
    let write = |title: &str, overwrite: bool| json!({"title": title, "content": "new", "directory": "p", "overwrite": overwrite});
    for (first, second) in [("C#", "C:"), ("???", "***"), ("Q1: plan", "Q1/ plan")] {
        let path = project.call("write_note", write(first, false))["path"].clone();
        let before = project.text(path.as_str().expect("a path"));
        for overwrite in [false, true] {
            let error = project.try_call("write_note", write(second, overwrite)).expect_err(second);
            assert_eq!(error["code"], "exists", "{error}");
            let message = error["message"].as_str().unwrap_or_default();
            assert!(message.contains(&format!("`{first}`")), "{error}");
            assert!(
                error["hint"].as_str().is_some_and(|it| it.contains("another title")),
                "{error}"
            );
        }
        assert_eq!(project.text(path.as_str().expect("a path")), before);
        // The same title replaces it, and its history is found by that name.
        assert_eq!(project.call("write_note", write(first, true))["path"], path);
        assert_eq!(project.call("note_history", json!({"path": first}))["path"], path);
    }
    let error = project.try_call("write_note", write("x:y", true)).expect_err("another heading");
    assert!(error["message"].as_str().is_some_and(|it| it.contains("Another Thing")), "{error}");
    // A note without a title is called by its file, however that is spelled.
    for (title, path) in [("By hand", "p/by-hand.md"), ("No Title", "p/no-title.md")] {
        assert_eq!(project.call("write_note", write(title, true))["path"], path, "{title}");
    }
}

#[test]
fn a_folder_gets_no_twin_in_another_case() {
    let mut project = TestProject::of(&[
        ("Schemas/a.md", "x\n"),
        ("Schemas/Deep/b.md", "x\n"),
        ("c.md", "x\n"),
        ("d.md", "x\n"),
    ]);
    for (directory, path) in [
        ("schemas", "Schemas/one.md"),
        ("schemas/deep", "Schemas/Deep/one.md"),
        ("SCHEMAS/new", "Schemas/new/one.md"),
        ("Other", "Other/one.md"),
    ] {
        let write = json!({"title": "One", "directory": directory, "content": "x"});
        assert_eq!(project.call("write_note", write)["path"], path, "{directory}");
    }
    let moved = json!({"path": "c.md", "destination": "schemas/c.md"});
    assert_eq!(project.call("move_note", moved)["to"], "Schemas/c.md");
    let moved = json!({"path": "d.md", "destination_folder": "schemas/deep"});
    assert_eq!(project.call("move_note", moved)["to"], "Schemas/Deep/d.md");
    // Two folders that somebody made differ.
    project.write("schemas/e.md", "x\n");
    project.settle();
    let write = json!({"title": "Two", "directory": "schemas", "content": "x"});
    assert_eq!(project.call("write_note", write)["path"], "schemas/two.md");
}

#[test]
fn a_name_that_spells_an_escape_is_told_from_one_that_needs_it() {
    let names = [
        r"spelled\u{202e}out.md",
        r"in\u{1b}/folder.md",
        "hidden\u{200b}\u{200b}here.md",
        "both\u{202e}and\\u{202e}.md",
        // Of two that look the same, the one that is written so.
        r"twin\u{7f}.md",
    ];
    let mut project = TestProject::empty();
    for (n, name) in names.iter().enumerate() {
        project.write(name, format!("Wombat number {n} digs.\n"));
    }
    project.write("twin\u{7f}.md", "Other twin.\n");
    project.write("titled.md", "---\ntitle: 'Of \\u{200b} it'\ntags: ['x\\u{200b}y']\n---\nx\n");
    project.start();
    project.settle();
    for (n, name) in names.iter().enumerate() {
        let told = proto::visible::show(name);
        assert_eq!(read_by_all(&mut project, &told), told, "{told:?}");
        let read = project.call("read_note", json!({"path": told}));
        assert_eq!(read["content"], format!("Wombat number {n} digs.\n"), "{told}");
        project.call("edit_note", json!({"path": told, "content": "More."}));
        assert!(project.text(name).contains("More."), "{told}");
    }
    assert_eq!(read_by_all(&mut project, r"Of \u{200b} it"), "titled.md");
    let listed = project.call("list_directory", json!({"path": r"in\u{1b}"}));
    assert_eq!(all(&listed["entries"], "path"), [r"in\u{1b}/folder.md"], "{listed}");
    let tagged = project.call("list_notes", json!({"tags": [r"x\u{200b}y"]}));
    assert_eq!(all(&tagged["notes"], "path"), ["titled.md"], "{tagged}");
}

#[test]
fn a_deleted_note_is_restored_by_the_name_that_was_shown() {
    let names =
        ["line\nbreak.md", "in/tab\there.md", "in/esc\u{1b}[31m.md", r"spelled\u{202e}out.md"];
    let mut project = TestProject::empty();
    for name in names {
        project.write(name, format!("Text of {}.\n", name.len()));
    }
    project.start();
    project.settle();
    for name in names {
        let text = project.text(name);
        let told = proto::visible::show(name).into_owned();
        for given in [name.to_string(), told.clone(), told.replace(['\n', '\t'], " ")] {
            project.call("delete_note", json!({"path": given}));
            assert!(!project.at(name).exists(), "{given:?}");
            let history = project.call("note_history", json!({"path": given}));
            assert_eq!(history["path"], told, "{given:?}");
            let restored = project.call("restore_note", json!({"path": given}));
            assert_eq!(restored["path"], told, "{given:?}");
            assert_eq!(project.text(name), text);
            project.call("delete_note", json!({"path": given}));
            let mut kgctl = project.kgctl();
            kgctl.arg("--project").arg(project.root());
            let done = kgctl.args(["restore", &given, "--at", "last"]).output().expect("it runs");
            assert!(done.status.success(), "{given:?}: {done:?}");
            assert_eq!(project.text(name), text, "{given:?}");
            project.settle();
        }
    }
}
