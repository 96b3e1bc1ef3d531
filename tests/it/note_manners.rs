//! What agents may rely on when they read and write notes: nothing is skipped, addresses are
//! stable, file modes stay.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use tests::{Client, TestProject};

/// Returns the text form of a reply.
fn text_of(project: &mut TestProject, tool: &str, arguments: Value) -> String {
    let whole = project.client().call_whole(tool, arguments).expect("an answer");
    whole["content"][0]["text"].as_str().expect("text").to_string()
}

#[test]
fn a_note_read_part_by_part_leaves_out_no_line_in_either_form() {
    let lines: Vec<String> = (0..120).map(|n| format!("Paragraph number {n} of them.\n")).collect();
    let mut project = TestProject::of(&[("long.md", &lines.join("\n"))]);
    for max_chars in [200, 300, 1_000, 8_000] {
        let (mut seen, mut from) = (String::new(), Some(1));
        while let Some(line) = from {
            let request = json!({"path": "long.md", "max_chars": max_chars, "from_line": line});
            let text = text_of(&mut project, "read_note", request);
            seen += &text;
            let next = text.split_once("from_line ").map(|(_, rest)| rest);
            let digits =
                |rest: &str| rest.chars().take_while(char::is_ascii_digit).collect::<String>();
            from = next.and_then(|rest| digits(rest).parse::<u32>().ok());
            assert!(from.is_none_or(|next| next > line), "{text}");
        }
        for line in &lines {
            assert!(seen.contains(line.trim()), "{max_chars}: {line}");
        }
    }
}

#[test]
fn an_address_that_was_told_stays_that_notes_when_others_of_its_title_are_written() {
    let mut project = TestProject::empty();
    project.start();
    project.settle();
    let mut write = |folder: &str| -> String {
        let request =
            json!({"title": "T1", "directory": folder, "content": format!("In {folder}.")});
        let reply = project.call("write_note", request);
        reply["permalink"].as_str().expect("a permalink").to_string()
    };
    let written: Vec<(String, &str)> =
        ["a/b", "q", "x/y/z", "w"].map(|folder| (write(folder), folder)).into();
    for (permalink, folder) in written {
        let read = project.call("read_note", json!({"path": format!("memory://{permalink}")}));
        assert_eq!(read["path"], format!("{folder}/t1.md"), "{permalink}");
    }
    assert!(!project.text("a/b/t1.md").contains("permalink"), "one alone needs none");
}

#[test]
fn what_comes_back_has_the_mode_that_it_had() {
    let mut project = TestProject::of(&[("private.md", "Mine.\n")]);
    std::fs::set_permissions(project.at("private.md"), Permissions::from_mode(0o600)).expect("set");
    project.settle();
    project.call("delete_note", json!({"path": "private.md"}));
    let mut restore = project.kgctl();
    restore.arg("--project").arg(project.root()).args(["restore", "private.md", "--at", "last"]);
    let restored = restore.output().expect("it runs");
    assert!(restored.status.success(), "{}", String::from_utf8_lossy(&restored.stderr));
    let mode =
        std::fs::metadata(project.at("private.md")).expect("it is back").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_note_moves_neither_out_of_the_project_nor_into_another_format() {
    let mut project = TestProject::of(&[("a.md", "A.\n"), ("b.md", "[a](a.md)\n")]);
    for (destination, code) in [("/tmp/x.md", "outside_project"), ("a.txt", "invalid_params")] {
        let request = json!({"path": "a.md", "destination": destination});
        let error = project.try_call("move_note", request).expect_err(destination);
        assert_eq!(error["code"], code, "{error}");
    }
    let request = json!({"path": "a.md", "destination": "v1.2 plan"});
    assert_eq!(project.call("move_note", request)["to"], "v1.2 plan.md");
}

#[test]
fn a_title_that_names_a_device_and_one_that_the_content_contradicts() {
    let mut project = TestProject::empty();
    project.start();
    project.settle();
    let made = project.call("write_note", json!({"title": "con.txt", "content": "x"}));
    assert_eq!(made["path"], "con_.txt.md");
    let content = "---\ntitle: Other\nstatus: open\n---\nx\n";
    let made = project.call("write_note", json!({"title": "This", "content": content}));
    let warnings = made["warnings"].to_string();
    assert!(warnings.contains("`title: Other`"), "{made}");
    assert!(project.text("this.md").contains("status: open"));
}

#[test]
fn status_tells_the_last_changes_of_files_on_request() {
    let mut project = TestProject::of(&[("a.md", "One.\n")]);
    project.write("a.md", "Two.\n");
    project.settle();
    // Its modification time changes, so it is read again; its content is the same.
    let file = std::fs::File::options().append(true).open(project.at("a.md")).expect("a file");
    file.set_modified(std::time::UNIX_EPOCH).expect("ours");
    project.settle();
    project.rename("a.md", "b.md");
    project.settle();
    project.remove("b.md");
    project.settle();
    let status = project.call("status", json!({"events": true}));
    let events = status["recent_events"].as_array().expect("events");
    let shown: Vec<String> = events
        .iter()
        .rev()
        .map(|it| format!("{} {}", it["kind"], it["path"]).replace('"', ""))
        .collect();
    assert_eq!(shown.first().map(String::as_str), Some("created a.md"), "{shown:?}");
    assert_eq!(shown.iter().filter(|it| *it == "modified a.md").count(), 1, "{shown:?}");
    assert!(shown.contains(&"moved b.md".to_string()), "{shown:?}");
    assert_eq!(shown.last().map(String::as_str), Some("deleted b.md"), "{shown:?}");
    assert!(status["started_at"].as_str().is_some_and(|it| it.ends_with('Z')), "{status}");
    assert_eq!(status["n_errors"], 0);
    assert!(project.status()["recent_events"].is_null(), "only where they are asked for");
    // The same in text form; and a failure is an error.
    project.write("bad.md", b"\0\x01\x02data\0\0".repeat(1000));
    project.settle();
    let text = text_of(&mut project, "status", json!({"events": true}));
    let since = format!("since {}, 1 error, ", status["started_at"].as_str().expect("a time"));
    assert!(text.contains(&since) && text.contains("  deleted   b.md\n"), "{text}");
    project.remove("bad.md");
    project.settle();
    assert_eq!(project.status()["n_errors"], 0, "it is gone");
}

#[test]
fn a_link_is_neither_removed_nor_moved_nor_is_what_it_leads_to() {
    let mut project = TestProject::of(&[("sub/b.md", "Mine.\n")]);
    std::os::unix::fs::symlink("sub/b.md", project.at("link.md")).expect("a link");
    std::os::unix::fs::symlink("sub", project.at("folder")).expect("a link");
    // A link with the name of the note to which it leads.
    std::os::unix::fs::symlink("sub/b.md", project.at("b.md")).expect("a link");
    project.settle();
    // Reads follow it wherever a path is accepted.
    for path in ["link.md", "folder/b.md"] {
        let read = project.call("backlinks", json!({"path": path}));
        assert_eq!(read["path"], "sub/b.md", "{path}");
        let context = project.call("build_context", json!({"path": path}));
        assert_eq!(context["notes"][0]["path"], "sub/b.md", "{path}: {context}");
    }
    let explained = project.call("explain_entity", json!({"name": "folder/b.md"}));
    assert_eq!(explained["home"], "sub/b.md", "{explained}");
    let listed = project.call("list_directory", json!({"path": "folder/"}));
    assert_eq!((&listed["path"], &listed["n_entries"]), (&json!("sub"), &json!(1)));
    assert!(project.try_call("list_directory", json!({"path": "folder/x"})).is_err());
    for path in ["link.md", "b.md", "folder/b.md"] {
        for (tool, arguments) in [
            ("delete_note", json!({"path": path})),
            ("move_note", json!({"path": path, "destination": "c.md"})),
        ] {
            let error = project.try_call(tool, arguments).expect_err("refused");
            let message = error["message"].as_str().expect("one");
            assert!(
                message.contains("it is a link to `sub/b.md`; name that"),
                "{tool} {path}: {error}"
            );
        }
    }
    assert!(project.at("link.md").is_symlink() && project.at("folder").is_symlink());
    assert_eq!(project.text("sub/b.md"), "Mine.\n");
    // Writes follow a link.
    project.call("edit_note", json!({"path": "link.md", "content": "More."}));
    assert_eq!(project.text("sub/b.md"), "Mine.\n\nMore.\n");
    // The note is not taken for its own namesake there.
    let write = json!({"title": "b", "directory": "folder", "content": "New.", "overwrite": true});
    let written = project.call("write_note", write);
    assert_eq!((&written["path"], &written["permalink"]), (&json!("sub/b.md"), &json!("b")));
    assert!(!project.text("sub/b.md").contains("permalink"), "{written}");
}

#[test]
fn a_place_with_several_links_is_told_once_and_a_key_that_stands_twice_is_warned_of() {
    let mut project = TestProject::of(&[
        ("plan.md", "---\nstatus: open\nowner: me\nstatus: done\n---\n# Later\n\nDo it. ^b1\n"),
        ("a.md", "See [[plan]], [[plan#Later]] and [[plan|it]].\n\nAlso [[plan#Later^b1]].\n"),
    ]);
    let reply = project.call("backlinks", json!({"path": "plan.md"}));
    assert_eq!(reply["backlinks"].as_array().map(Vec::len), Some(4), "{reply}");
    let text = text_of(&mut project, "backlinks", json!({"path": "plan.md"}));
    assert_eq!(text.matches("a.md:").count(), 2, "{text}");
    // Places in a note have their own links and can be read separately.
    let places = project.call("backlinks", json!({"path": "plan#Later"}));
    let of_place = |it: &Value| (it["heading"].clone(), it["block"].clone());
    let places: Vec<_> =
        places["backlinks"].as_array().expect("a list").iter().map(of_place).collect();
    assert_eq!(places, [(json!("Later"), Value::Null), (json!("Later"), json!("b1"))]);
    let block = project.call("read_note", json!({"path": "plan#Later^b1"}));
    assert_eq!(block["content"], "Do it.", "{block}");
    let warnings = project.status()["warnings"].to_string();
    assert!(warnings.contains("the first of each is used: `status` (line 4)"), "{warnings}");
    let read = project.call("read_note", json!({"path": "plan.md"}));
    assert!(read["warnings"].to_string().contains("`status` (line 4)"), "{read}");
}

#[test]
fn many_files_that_one_call_writes_are_read_in_few_ticks() {
    let mut project = TestProject::empty();
    project.write("hub.md", "# Hub\n\nThe middle of it all.\n");
    for n in 0..60 {
        project.write(&format!("d{}/n{n}.md", n % 7), format!("# Note {n}\n\nSee [[hub]].\n"));
    }
    project.start();
    project.settle();
    let before = project.status()["tick"].as_u64().expect("a tick");
    let moved = project.call("move_note", json!({"path": "hub.md", "destination": "core.md"}));
    assert_eq!(moved["rewritten"].as_array().map(Vec::len), Some(60), "{moved}");
    let n_ticks = moved["tick"].as_u64().expect("a tick") - before;
    assert!(n_ticks <= 15, "{n_ticks} ticks for 61 files");
    assert_eq!(project.text("d3/n3.md"), "# Note 3\n\nSee [[core]].\n");
    project.settle();
    project.verify("after a move");
}

#[test]
fn notes_of_one_title_written_at_once_have_an_address_each() {
    let mut project = TestProject::empty();
    project.start();
    project.settle();
    let socket = project.paths().socket.clone();
    let write = |n: usize| {
        let socket = socket.clone();
        std::thread::spawn(move || {
            let request = json!({"title": "Race", "directory": format!("r{n}"), "content": "x"});
            let reply = Client::admin(&socket).call("write_note", request).expect("written");
            (reply["permalink"].as_str().expect("a permalink").to_string(), format!("r{n}/race.md"))
        })
    };
    let writers: Vec<_> = (0..6).map(write).collect();
    let written: Vec<_> = writers.into_iter().map(|it| it.join().expect("it ends")).collect();
    for (permalink, path) in written {
        let read = project.call("read_note", json!({"path": format!("memory://{permalink}")}));
        assert_eq!(read["path"], path, "{permalink}");
    }
}

#[test]
fn a_permalink_of_another_note_is_not_taken() {
    let mut project = TestProject::of(&[("victim.md", "x\n")]);
    let request = json!({"title": "Thief", "content": "x", "metadata": {"permalink": "Victim"}});
    let error = project.try_call("write_note", request).expect_err("refused");
    assert!(error["message"].as_str().is_some_and(|it| it.contains("`victim.md`")), "{error}");
    assert!(!project.at("thief.md").exists());
    // A permalink that no address could reach is refused, too.
    for unusable in ["memory://src", "a//b", "id/9", "<x>", "a?b", "x/../y", "a*"] {
        let metadata = json!({ "permalink": unusable });
        let write = json!({"title": "Thief", "content": "x", "metadata": metadata});
        let set = json!({"path": "victim.md", "operation": "set_frontmatter", "key": "permalink", "value": unusable});
        for (tool, arguments) in [("write_note", write), ("edit_note", set)] {
            let error = project.try_call(tool, arguments).expect_err("refused");
            let hint = error["hint"].as_str().unwrap_or_default();
            assert!(hint.contains("projects/plan"), "{tool} {unusable}: {error}");
        }
    }
    assert_eq!(project.text("victim.md"), "x\n");
    // If a permalink is removed, the derived one does not collide with another note's.
    project.write("sub/victim.md", "---\ntitle: Mine\npermalink: mine\n---\ny\n");
    project.settle();
    let remove =
        |key: &str| json!({"path": "sub/victim.md", "operation": "remove_frontmatter", "key": key});
    project.call("edit_note", remove("title"));
    let removed = project.call("edit_note", remove("permalink"));
    assert_eq!(removed["permalink"], "victim-1", "{removed}");
    assert!(project.text("sub/victim.md").contains("permalink: victim-1"), "{removed}");
}
