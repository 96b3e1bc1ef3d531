//! Which note a tool means, and what is refused rather than guessed, through the whole daemon.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use tests::{Client, TestProject};

/// Returns the error of a call that must be refused.
#[track_caller]
fn refused(project: &mut TestProject, tool: &str, arguments: Value) -> Value {
    project.try_call(tool, arguments.clone()).expect_err(&format!("{tool} {arguments}"))
}

#[test]
fn a_path_with_another_folder_is_no_note() {
    let mut project = TestProject::of(&[("keepme.md", "Mine.\n")]);
    for (tool, path) in [
        ("delete_note", "archive/2020/keepme.md"),
        ("edit_note", "journal/keepme"),
        ("read_note", "zzz/keepme.md"),
        ("delete_note", "memory://other/keepme"),
    ] {
        let arguments = match tool {
            "edit_note" => json!({"path": path, "content": "x"}),
            _ => json!({"path": path}),
        };
        let error = refused(&mut project, tool, arguments);
        assert_eq!(error["code"], "not_found", "{tool} {path}");
        assert!(error["hint"].as_str().expect("a hint").contains("keepme.md"), "{error}");
    }
    assert_eq!(project.text("keepme.md"), "Mine.\n");
}

#[test]
fn a_name_of_several_notes_is_refused_with_their_paths() {
    let notes = [
        ("t1.md", "---\ntitle: Twin\n---\nOne.\n"),
        ("t2.md", "---\ntitle: Twin\n---\nTwo.\n"),
        ("x/dup.md", "X.\n"),
        ("y/dup.md", "Y.\n"),
    ];
    let mut project = TestProject::of(&notes);
    for (name, paths) in [("Twin", ["t1.md", "t2.md"]), ("dup", ["x/dup.md", "y/dup.md"])] {
        let error = refused(&mut project, "delete_note", json!({"path": name}));
        assert_eq!(error["code"], "ambiguous", "{name}");
        let hint = error["hint"].as_str().expect("a hint");
        assert!(paths.iter().all(|path| hint.contains(path)), "{error}");
    }
    // A permalink that another note would get if the first were deleted works for reads, not for
    // writes.
    assert_eq!(project.call("read_note", json!({"path": "memory://twin"}))["path"], "t1.md");
    let error = refused(&mut project, "delete_note", json!({"path": "memory://twin"}));
    assert_eq!(error["code"], "ambiguous");
    project.call("delete_note", json!({"path": "x/dup.md"}));
    project.call("delete_note", json!({"path": "memory://dup"}));
    assert!(project.at("t1.md").exists() && !project.at("y/dup.md").exists());
}

#[test]
fn a_note_is_not_taken_for_one_whose_name_differs_in_signs() {
    let notes = [
        ("c++.md", "---\ntitle: C++\n---\nPlus.\n"),
        ("c.md", "Plain.\n"),
        ("net.md", "x\n"),
        ("use.md", "[[C++]] [[C]] [[.NET]]\n"),
        ("My Note.md", "Mine.\n"),
        ("B Two.md", "Mine, too.\n"),
        ("b-two.md", "---\ntitle: Something else\n---\nAnother.\n"),
        ("Signing Keys.md", "K\n"),
        (
            "ops/use.md",
            "- depends_on [[signing-keys]]\n\nSee [[Signing_Keys]] and [[signing keys]].\n",
        ),
        ("great.md", "---\ntitle: Great Title\naliases: [Greatest]\n---\n# H\n\npara ^b1\n"),
        ("fan.md", "[[Great Title]] [[Greatest]]\n"),
    ];
    let mut project = TestProject::of(&notes);
    assert_eq!(project.call("read_note", json!({"path": "C"}))["path"], "c.md");
    project.call("edit_note", json!({"path": "C", "content": "More."}));
    assert!(project.text("c.md").contains("More."));
    for name in [".NET", "#Net", "memory://net!"] {
        assert_eq!(
            refused(&mut project, "delete_note", json!({"path": name}))["code"],
            "not_found",
            "{name}"
        );
    }
    let read = project.call("read_note", json!({"path": "use.md"}));
    let led: Vec<&Value> =
        read["relations"].as_array().expect("a list").iter().map(|it| &it["to_path"]).collect();
    assert_eq!(led, [&json!("c++.md"), &json!("c.md"), &Value::Null], "{read}");

    let again = json!({"title": "My Note", "content": "New."});
    let error = refused(&mut project, "write_note", again.clone());
    assert!(error["code"] == "exists" && error.to_string().contains("`My Note.md`"), "{error}");
    let mut over = again;
    over["overwrite"] = true.into();
    assert_eq!(project.call("write_note", over)["path"], "My Note.md");
    assert!(!project.at("my-note.md").exists());
    let beside = json!({"title": "B Two", "content": "New.", "overwrite": true});
    assert_eq!(project.call("write_note", beside)["path"], "B Two.md");
    assert!(project.text("b-two.md").contains("Another."));

    // The link leads to the file by its slug, and is updated.
    project.call("move_note", json!({"path": "Signing Keys.md", "destination": "ops/Keys.md"}));
    assert_eq!(project.text("ops/use.md"), "- depends_on [[Keys]]\n\nSee [[Keys]] and [[Keys]].\n");
    // By title and alias the link still leads there.
    project.call("move_note", json!({"path": "great.md", "destination": "greater.md"}));
    assert_eq!(project.text("fan.md"), "[[Great Title]] [[Greatest]]\n");
    let renamed =
        json!({"path": "greater", "operation": "set_frontmatter", "key": "title", "value": "Less"});
    let reply = project.call("edit_note", renamed);
    assert_eq!(reply["warnings"][0], "1 link of another note leads nowhere now", "{reply}");
    assert!(project.call("read_note", json!({"path": "greater#H^b1"}))["content"].is_string());
    assert_eq!(
        refused(&mut project, "read_note", json!({"path": "greater#Nope^b1"}))["code"],
        "not_found"
    );
    let nul = json!({"path": "greater", "content": "x\u{0}y"});
    assert_eq!(refused(&mut project, "edit_note", nul)["code"], "invalid_params");
}

#[test]
fn a_note_is_found_while_another_agent_moves_it() {
    let mut project = TestProject::of(&[("log.md", "Log.\n"), ("a.md", "[[log]]\n")]);
    let mut reader = Client::admin(&project.paths().socket);
    let reading = std::thread::spawn(move || {
        for _ in 0..40 {
            let read = reader.call("read_note", json!({"path": "log"}));
            assert!(read.is_ok(), "{read:?}");
        }
    });
    let mut at = "log.md".to_string();
    for n in 0..12 {
        let to = format!("at{n}/log.md");
        project.call("move_note", json!({"path": at, "destination": to}));
        at = to;
    }
    reading.join().expect("it is always there");
}

#[test]
fn addresses_may_be_written_with_percent_signs() {
    let mut project = TestProject::of(&[("\u{e9}tude.md", "Piano.\n"), ("a b.md", "Blank.\n")]);
    let read = |project: &mut TestProject, path: &str| {
        project.call("read_note", json!({"path": path}))["path"].clone()
    };
    assert_eq!(read(&mut project, "memory://%C3%A9tude"), "\u{e9}tude.md");
    assert_eq!(read(&mut project, "memory://a%20b"), "a b.md");
}

#[test]
fn a_name_that_others_read_as_something_else_is_not_made() {
    let mut project = TestProject::of(&[("a.md", "x\n"), ("q: b/c.md", "x\n")]);
    // An existing folder keeps the name its owner chose.
    let inside = json!({"title": "Note", "content": "x", "directory": "q: b"});
    assert_eq!(project.call("write_note", inside)["path"], "q: b/note.md");
    for folder in ["CON", "w\\x", "~/x", "C:", "/tmp"] {
        let note = json!({"title": "Note", "content": "x", "directory": folder});
        let error = refused(&mut project, "write_note", note);
        assert!(error["hint"].is_string(), "{folder}: {error}");
    }
    let moved = json!({"path": "a.md", "destination": "CON.md"});
    assert_eq!(refused(&mut project, "move_note", moved)["code"], "invalid_params");
    let files = std::fs::read_dir(project.root()).expect("a folder").flatten();
    let mut names: Vec<_> = files.map(|it| it.file_name().into_string().expect("text")).collect();
    names.sort();
    assert_eq!(names, ["a.md", "q: b"]);
}

#[test]
fn a_write_protected_note_is_left_alone_and_one_that_is_no_utf_8_is_read() {
    let mut project = TestProject::empty();
    project.write("fixed.md", "Fixed.\n");
    project.write("latin.md", b"Caf\xe9 au lait, and a long line of plain words behind it.\n");
    std::fs::set_permissions(project.at("fixed.md"), Permissions::from_mode(0o444)).expect("set");
    project.start();
    project.settle();
    let error = refused(&mut project, "edit_note", json!({"path": "fixed", "content": "more"}));
    assert_eq!(error["code"], "refused");
    assert_eq!(project.text("fixed.md"), "Fixed.\n");
    let read = project.call("read_note", json!({"path": "latin"}));
    assert!(read["content"].as_str().expect("text").contains("Caf\u{e9} au lait"), "{read}");
    assert!(read["warnings"][0].as_str().expect("told").contains("UTF-8"), "{read}");
    let error = refused(&mut project, "edit_note", json!({"path": "latin", "content": "more"}));
    assert!(error["hint"].as_str().expect("a hint").contains("UTF-8"), "{error}");
}

#[test]
fn an_overwrite_tells_which_front_matter_goes() {
    let text = "---\ntitle: Plan\nauthor: Ada\nstatus: open\n---\nText.\n";
    let mut project = TestProject::of(&[("plan.md", text)]);
    let new = json!({
        "title": "Plan", "content": "New.", "overwrite": true, "metadata": {"status": "done"},
    });
    let reply = project.call("write_note", new);
    let warning = reply["warnings"][0].as_str().expect("a warning");
    assert!(warning.contains("author") && !warning.contains("status"), "{reply}");
}

#[test]
fn an_agent_registers_neither_the_system_nor_what_is_a_project_already() {
    let mut project = TestProject::of_with_roots(&[("a.md", "x\n")]);
    let scratch = project.scratch().to_path_buf();
    let made = |folder: &str, name: &str| json!({"name": name, "path": scratch.join(folder).to_str().expect("a path")});
    project.call("create_memory_project", made("one", "One"));
    for wrong in [
        json!({"name": "all", "path": "/"}),
        json!({"name": "etc", "path": "/etc"}),
        made("one/inner", "Inner"),
        made(".", "Outer"),
        made("two", "one"),
        made("three", "a/b"),
    ] {
        let error = refused(&mut project, "create_memory_project", wrong.clone());
        assert_eq!(error["code"], "refused", "{wrong}");
        assert!(error["hint"].is_string(), "{error}");
    }
    assert!(!scratch.join("two").exists() && !scratch.join("one/inner").exists());
    // A project that is registered keeps its name.
    let again = project.call("create_memory_project", made("one", "Renamed"));
    assert_eq!((&again["name"], &again["is_new"]), (&json!("One"), &json!(false)));
}

#[test]
fn a_secret_is_not_guessed_sign_by_sign() {
    let token = format!("gh{}", "p_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let mut project = TestProject::of(&[("keys.md", &format!("The token is {token}.\n"))]);
    let mut guess = |find: &str| {
        let edit = json!({"path": "keys", "find": find, "content": "x", "dry_run": true});
        refused(&mut project, "edit_note", edit)
    };
    assert_eq!(guess(&token[..9]), guess("ghp_wrong"));
    assert_eq!(guess(&format!("is {}", &token[..5])), guess("is ghp_0"));
}

#[test]
fn an_entity_is_given_by_its_name_or_by_its_number() {
    let note = "---\ntype: Service\n---\n# Key Store\n\nThe Key Store keeps keys.\n";
    let mut project = TestProject::of(&[("Key Store.md", note), ("b.md", "Other keys.\n")]);
    let found = project.call("entity_lookup", json!({"q": "Key Store"}));
    let id = found["entities"][0]["id"].as_i64().expect("an id");
    for entity in [json!("Key Store"), json!(id), json!(id.to_string())] {
        let reply = project.call("hybrid_query", json!({"q": "keys", "entity": entity}));
        let paths: Vec<&Value> =
            reply["chunks"].as_array().expect("hits").iter().map(|hit| &hit["path"]).collect();
        assert_eq!(paths, ["Key Store.md"], "{entity}");
    }
}

#[test]
fn an_edit_takes_no_other_notes_address() {
    let notes = [
        ("a.md", "---\ntitle: Twin\npermalink: first\n---\nOne.\n"),
        ("b.md", "Two.\n"),
        ("c.md", "---\npermalink: third\n---\nThree.\n"),
        ("d.md", "---\ntitle: Twin\n---\nFour.\n"),
    ];
    let mut project = TestProject::of(&notes);
    let set = |path: &str, key: &str, value: &str| {
        let operation = "set_frontmatter";
        json!({"path": path, "operation": operation, "key": key, "value": value})
    };
    for taken in ["first", "FIRST", "/first/"] {
        let error = refused(&mut project, "edit_note", set("b.md", "permalink", taken));
        assert_eq!(error["code"], "invalid_params", "{taken}");
        assert!(error["message"].as_str().expect("one").contains("`a.md`"), "{error}");
    }
    assert_eq!(project.text("b.md"), "Two.\n");
    // A note may set the permalink it already has.
    project.call("edit_note", set("a.md", "permalink", "first"));
    // Notes may share a title, but not the address derived from it.
    let reply = project.call("edit_note", set("b.md", "title", "Twin"));
    assert_eq!(reply["permalink"], "twin-1", "{reply}");
    assert!(
        reply["warnings"][0].as_str().expect("told").contains("`permalink: twin-1`"),
        "{reply}"
    );
    assert_eq!(project.text("b.md"), "---\ntitle: Twin\npermalink: twin-1\n---\n\nTwo.\n");
    let reply = project.call("edit_note", set("c.md", "title", "Twin"));
    assert_eq!(
        (&reply["permalink"], &reply["warnings"]),
        (&json!("third"), &Value::Null),
        "{reply}"
    );
    // If two agents want one permalink at once, one gets it.
    let mut agents = ["a", "b"].map(|_| Client::admin(&project.paths().socket));
    let wanted = std::thread::scope(|scope| {
        let asked = agents.iter_mut().zip(["a.md", "b.md"]).map(|(agent, path)| {
            scope.spawn(move || agent.call("edit_note", set(path, "permalink", "wanted")).is_ok())
        });
        let asked: Vec<_> = asked.collect();
        asked.into_iter().filter_map(|it| it.join().ok()).filter(|is_ok| *is_ok).count()
    });
    assert_eq!(wanted, 1);
}
