//! Edits and moves of notes: only what is meant changes, links keep their targets, and nothing that
//! somebody else wrote is lost.

use serde_json::json;
use tests::{Client, Revision, TestProject, all};

#[test]
fn edit_note_changes_what_is_meant_and_nothing_else() {
    let before = "---\r\ntitle: 'Plan'   # mine\r\nx: [1,  2]\r\n---\r\n# Plan\r\n\r\n## Now\r\n\r\n* a\r\n\r\n## Later\r\n\r\nb";
    let mut project = TestProject::of(&[("plan.md", before)]);
    let rows = [
        (
            json!({"operation": "append", "section": "Now", "content_updates": "* c"}),
            "* a\r\n* c\r\n",
        ),
        (json!({"find": "b", "content": "bb", "expected_count": 1}), "bb"),
        (
            json!({"operation": "set_frontmatter", "key": "status", "value": "open"}),
            "status: open\r\n",
        ),
        (json!({"section": "Later", "content_updates": "new"}), "## Later\r\n\r\nnew"),
        (
            json!({"operation": "insert_before", "section": "Later", "content_updates": "mid"}),
            "mid\r\n\r\n## Later",
        ),
        (json!({"content_updates": "end"}), "end"),
    ];
    for (mut request, expected) in rows {
        request["path"] = json!("Plan");
        request["dry_run"] = json!(true);
        let text = project.text("plan.md");
        let reply = project.call("edit_note", request.clone());
        assert_eq!(reply["action"], "would be edited", "{request}");
        assert_eq!(project.text("plan.md"), text);
        request["dry_run"] = json!(false);
        let reply = project.call("edit_note", request.clone());
        assert_eq!(reply["action"], "edited");
        assert!(reply["changed"][0]["line"].as_u64().is_some_and(|line| line > 0), "{reply}");
        let text = project.text("plan.md");
        assert!(text.contains(expected), "{request}: {text:?}");
        assert!(text.starts_with("---\r\ntitle: 'Plan'   # mine\r\nx: [1,  2]\r\n"), "{text:?}");
    }
    let text = project.text("plan.md");
    let rows = [
        (json!({"find": "nowhere", "content": "x"}), "not_found"),
        (json!({"operation": "replace_section", "section": "Nowe", "content": "x"}), "not_found"),
        (json!({"find": "new", "content": "x", "expected_count": 9}), "refused"),
        (json!({"operation": "prepend"}), "invalid_params"),
        (json!({"operation": "append", "find": "b", "content": "x"}), "invalid_params"),
        (json!({"content": "x", "expected_checksum": "00"}), "conflict"),
    ];
    for (mut request, code) in rows {
        request["path"] = json!("Plan");
        let error = project.try_call("edit_note", request.clone()).expect_err("refused");
        assert_eq!(error["code"], code, "{request}: {error}");
        assert!(error["hint"].is_string(), "{error}");
    }
    assert_eq!(project.text("plan.md"), text);
    let error =
        project.try_call("edit_note", json!({"path": "Plam", "content": "x"})).expect_err("none");
    assert!(error["hint"].as_str().expect("a hint").contains("plan.md"), "{error}");
}

#[test]
fn a_key_within_a_key_is_not_set_as_another_one() {
    let text = "---\nnested:\n  deep: 1\nflat.key: 2\n---\nx\n";
    let mut project = TestProject::of(&[("a.md", text)]);
    let set =
        |key: &str| json!({"path": "a.md", "operation": "set_frontmatter", "key": key, "value": 3});
    let error = project.try_call("edit_note", set("nested.deep")).expect_err("refused");
    assert!(error["hint"].as_str().is_some_and(|it| it.contains("`nested`")), "{error}");
    project.call("edit_note", set("flat.key"));
    assert!(project.text("a.md").contains("flat.key: 3"), "{}", project.text("a.md"));
}

#[test]
fn move_note_rewrites_the_links_that_would_break() {
    let notes = [
        (
            "plan.md",
            "---\ntitle: The Plan\n---\n\n# The Plan\n\nSee [self](plan.md#The-Plan) and [[notes/diary]].\n",
        ),
        (
            "notes/diary.md",
            "Read [the plan](../plan.md \"t\"), [[plan|it]] and ![[plan#The Plan]].\n",
        ),
        ("other/far.md", "By path [[plan.md]] and title [[The Plan]].\n"),
        ("deep/deeper/uniq.md", "x\n"),
        ("mover.md", "y\n"),
        ("x/src.md", "Go [[uniq]], [u](../deep/deeper/uniq.md) and ![[uniq#^b|it]].\n"),
        ("c/own.md", "See [[near]], [n](near.md) and [f](far.md).\n"),
        ("b/far.md", "x\n"),
        ("d/far.md", "x\n"),
        ("c/near.md", "x\n"),
        ("d/near.md", "x\n"),
        ("kept.md", "Nobody changes [p](plan.md).\n"),
    ];
    let mut project = TestProject::of(&notes);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o444);
    std::fs::set_permissions(project.at("kept.md"), mode).expect("protected");
    project.settle();
    let id = project.call("read_note", json!({"path": "plan.md"}))["entity_id"].clone();
    let request =
        json!({"path": "The Plan", "destination": "archive/old plan.md", "dry_run": true});
    let dry = project.call("move_note", request.clone());
    assert!(project.at("plan.md").exists() && dry["dry_run"] == true, "{dry}");
    let moved = project
        .call("move_note", json!({"path": "The Plan", "destination": "archive/old plan.md"}));
    assert_eq!(all(&moved["rewritten"], "path").len(), all(&dry["rewritten"], "path").len());
    for reply in [&dry, &moved] {
        let rows = reply["rewritten"].as_array().expect("a list");
        let failed: Vec<_> = rows.iter().filter(|it| it["error"].is_string()).collect();
        assert!(failed.len() == 1 && failed[0]["path"] == "kept.md", "{reply}");
    }
    assert!(!project.at("plan.md").exists());
    assert_eq!(
        project.text("notes/diary.md"),
        "Read [the plan](../archive/old%20plan.md \"t\"), [[old plan|it]] and ![[old plan#The Plan]].\n"
    );
    let links = project.call("backlinks", json!({"path": "archive/old plan.md"}));
    let leading = all(&links["backlinks"], "path");
    assert_eq!(leading.iter().filter(|it| **it != "kept.md").count(), 5, "{links}");
    // The one that could not be rewritten follows the file.
    assert!(leading.contains(&"kept.md"), "{links}");
    let now = project.call("read_note", json!({"path": "archive/old plan.md"}));
    assert_eq!(now["entity_id"], id, "it is the same note");
    let taken = json!({"path": "archive/old plan.md", "destination": "notes/diary.md"});
    assert_eq!(project.try_call("move_note", taken).expect_err("taken")["code"], "exists");
    let outside = json!({"path": "archive/old plan.md", "destination": "../x.md"});
    assert_eq!(
        project.try_call("move_note", outside).expect_err("outside")["code"],
        "outside_project"
    );
    // Links and addresses keep leading to the same note, or the reply says otherwise.
    for dry in [true, false] {
        let take = json!({"path": "mover.md", "destination": "uniq.md", "dry_run": dry});
        let moved = project.call("move_note", take)["rewritten"].to_string();
        let warning = "`memory://uniq` is the address of `deep/deeper/uniq.md`";
        assert!(moved.contains(warning) && moved.contains("x/src.md"), "{moved}");
    }
    assert_eq!(
        project.text("x/src.md"),
        "Go [[deep/deeper/uniq]], [u](../deep/deeper/uniq.md) and ![[deep/deeper/uniq#^b|it]].\n"
    );
    // A name that would mean another note in the new folder becomes a path.
    project.call("move_note", json!({"path": "c/own.md", "destination": "d/own.md"}));
    assert_eq!(
        project.text("d/own.md"),
        "See [[c/near]], [n](../c/near.md) and [f](../c/far.md).\n"
    );
    // Saves of a moment ago count: in a new note, and in one that did not link there before.
    project.write("late.md", "See [[c/near]].\n");
    project.write("b/far.md", "See [n](../c/near.md).\n");
    project.call("move_note", json!({"path": "c/near.md", "destination": "c/close.md"}));
    assert_eq!(project.text("late.md"), "See [[c/close]].\n");
    assert_eq!(project.text("b/far.md"), "See [n](../c/close.md).\n");
}

#[test]
fn secrets_are_neither_shown_nor_lost() {
    let token = format!("gh{}", "p_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let text = format!("# Keys\n\nThe token is {token}.\n\nRotate it.\n");
    let mut project = TestProject::of(&[("keys.md", &text)]);
    let result =
        project.client().call_whole("read_note", json!({"path": "keys"})).expect("a result");
    assert!(!result.to_string().contains(&token));
    assert!(result["structuredContent"]["content"].as_str().expect("text").contains("[redacted:"));
    project.call(
        "edit_note",
        json!({"path": "keys", "find": "Rotate it", "content": "Rotate it soon"}),
    );
    assert!(project.text("keys.md").contains(&token));
    let lost = json!({"title": "Keys", "content": "gone", "overwrite": true});
    assert_eq!(project.try_call("write_note", lost).expect_err("a secret")["code"], "refused");
    // What the caller sends is written unchanged.
    let own = json!({"title": "Own", "content": format!("Mine: {token}")});
    let reply = project.client().call_whole("write_note", own).expect("a result");
    assert!(project.text("own.md").contains(&token) && !reply.to_string().contains(&token));
}

#[test]
fn a_conflict_tells_both_versions() {
    let mut project = TestProject::of(&[("a.md", "# A\n\none\n")]);
    let read = project.call("read_note", json!({"path": "a.md"}));
    project.write("a.md", "# A\n\ntheirs\n");
    let edit =
        json!({"path": "a.md", "content_updates": "mine", "expected_checksum": read["checksum"]});
    let error = project.try_call("edit_note", edit.clone()).expect_err("a conflict");
    assert_eq!(error["code"], "conflict");
    let conflict = &error["conflict"];
    assert_eq!(conflict["yours"]["text"], "\nmine\n", "{error}");
    let kept = conflict["kept"].as_str().expect("it is kept");
    assert_eq!(std::fs::read_to_string(kept).expect("kept"), "# A\n\ntheirs\n\nmine\n");
    let mut again = edit;
    again["expected_checksum"] = conflict["checksum"].clone();
    assert_eq!(project.call("edit_note", again)["action"], "edited");
}

#[test]
fn two_agents_at_once_lose_nothing() {
    let project = TestProject::of(&[("log.md", "# Log\n")]);
    let socket = project.paths().socket.clone();
    std::thread::scope(|scope| {
        for agent in 0..4 {
            let socket = &socket;
            scope.spawn(move || {
                let mut client = Client::connect(socket).expect("connected");
                client.send(
                    &json!({"kgd": 1, "tools": ["notes"], "form": "whole", "client": "tests"}),
                );
                client.open(Revision::Initialize("2025-06-18"));
                for n in 0..10 {
                    let line = format!("- agent{agent} wrote{n}");
                    let edit = json!({"path": "log.md", "content": line});
                    client.call("edit_note", edit).expect("edited");
                }
            });
        }
    });
    let text = project.text("log.md");
    for agent in 0..4 {
        for n in 0..10 {
            assert_eq!(text.matches(&format!("- agent{agent} wrote{n}\n")).count(), 1, "{text}");
        }
    }
}

#[test]
fn an_edit_sets_front_matter_beside_and_may_leave_subsections() {
    let text = "---\nstatus: open\n---\n# Pump\n\nOld.\n\n## Parts\n\nValve.\n\n# End\n";
    let mut project = TestProject::of(&[("pump.md", text)]);
    let edit = json!({"identifier": "pump.md", "operation": "replace_section", "section": "Pump",
        "content": "New.", "replace_subsections": false, "metadata": {"status": "closed", "round": 2}});
    project.call("edit_note", edit);
    let expected =
        "---\nstatus: closed\nround: 2\n---\n# Pump\n\nNew.\n\n## Parts\n\nValve.\n\n# End\n";
    assert_eq!(std::fs::read_to_string(project.at("pump.md")).expect("text"), expected);
    let only = json!({"identifier": "pump.md", "operation": "append", "content": "", "metadata": {"status": "kept"}});
    project.call("edit_note", only);
    let expected = expected.replace("closed", "kept");
    assert_eq!(std::fs::read_to_string(project.at("pump.md")).expect("text"), expected);
    let whole = json!({"identifier": "pump.md", "operation": "replace_section", "section": "Pump", "content": "All."});
    project.call("edit_note", whole);
    let text = std::fs::read_to_string(project.at("pump.md")).expect("text");
    assert!(text.ends_with("# Pump\n\nAll.\n\n# End\n"), "{text}");
    for metadata in [json!({"title": "Other"}), json!({"status": null})] {
        let edit = json!({"path": "pump.md", "metadata": metadata});
        assert_eq!(
            project.try_call("edit_note", edit).expect_err("refused")["code"],
            "invalid_params"
        );
    }
}
