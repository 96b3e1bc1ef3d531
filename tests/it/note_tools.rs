//! Tools that create, read, list and delete notes, through the whole daemon; the cases of S0 §13.4
//! by name.

use serde_json::{Value, json};
use tests::{TestProject, all};

#[test]
fn write_note_creates_file() {
    let mut project = TestProject::of(&[]);
    let reply =
        project.call("write_note", json!({"title": "Test", "content": "Hello", "tags": ["a"]}));
    assert_eq!(
        project.text("test.md"),
        "---\ntitle: Test\ntype: note\ntags:\n  - a\n---\n\nHello\n"
    );
    assert_eq!((&reply["action"], &reply["path"]), (&json!("created"), &json!("test.md")));
    assert_eq!(reply["permalink"], "test");
    // Read-your-writes: the next question sees the note.
    assert_eq!(project.found("hello"), ["test.md"]);
}

#[test]
fn write_note_respects_directory() {
    let mut project = TestProject::of(&[]);
    let deep = json!({"title": "Deep", "content": "...", "directory": "research/ai"});
    project.call("write_note", deep);
    assert!(project.at("research/ai/deep.md").exists());
}

#[test]
fn write_note_refuses_overwrite() {
    let mut project = TestProject::of(&[("test.md", "Mine.\n")]);
    let again = json!({"title": "Test", "content": "Other", "overwrite": false});
    let error = project.try_call("write_note", again).expect_err("refused");
    assert_eq!(error["code"], "exists");
    assert_eq!(project.text("test.md"), "Mine.\n");
    // With `overwrite` the note is replaced, and its old content is kept.
    let reply =
        project.call("write_note", json!({"title": "Test", "content": "Other", "overwrite": true}));
    assert_eq!(reply["action"], "overwritten");
    let kept = project.kgctl().args(["--project"]).arg(project.root()).arg("restore").output();
    assert!(String::from_utf8_lossy(&kept.expect("it runs").stdout).contains("test.md"));
}

#[test]
fn read_note_by_permalink() {
    let mut project = TestProject::of(&[]);
    let content =
        "- [fact] Bees dance #bees (von Frisch)\n- studies [[Bees]]\n\nSee [[Flowers]].\n";
    project.call("write_note", json!({"title": "My Research", "content": content}));
    let note = project.call("read_note", json!({"path": "my-research"}));
    assert_eq!(note["title"], "My Research");
    assert_eq!(note["content"], format!("\n{content}"));
    assert_eq!(note["observations"][0]["category"], "fact");
    assert_eq!(note["observations"][0]["content"], "Bees dance");
    assert_eq!(note["observations"][0]["tags"], json!(["bees"]));
    assert_eq!(note["observations"][0]["context"], "von Frisch");
    assert_eq!(note["observations"][0]["permalink"], "my-research/observations/fact/bees-dance");
    assert_eq!(all(&note["relations"], "relation"), ["studies", "links_to"]);
    assert_eq!(all(&note["relations"], "target"), ["Bees", "Flowers"]);
    assert_eq!(note["metadata"]["type"], "note");
    for address in ["my-research.md", "memory://my-research", "My Research", "MY RESEARCH"] {
        assert_eq!(project.call("read_note", json!({"path": address}))["path"], "my-research.md");
    }
}

#[test]
fn a_note_is_read_in_parts_by_heading_block_and_lines() {
    let text = "# One\n\nalpha ^b1\n\n## Two\n\nbeta\n\n# Three\n\ngamma\n";
    let mut project = TestProject::of(&[("parts.md", text)]);
    let read = |project: &mut TestProject, path: &str| {
        let note = project.call("read_note", json!({"path": path}));
        note["content"].as_str().expect("text").trim().to_string()
    };
    assert_eq!(read(&mut project, "parts#Two"), "## Two\n\nbeta");
    assert_eq!(read(&mut project, "parts#^b1"), "alpha");
    let error = project.try_call("read_note", json!({"path": "parts#Four"})).expect_err("none");
    assert_eq!(error["code"], "not_found");
    let lines: String = (0..400).map(|n| format!("line number {n} of a long note\n")).collect();
    project.write("long.md", &lines);
    let mut content = String::new();
    let mut request = json!({"path": "long.md", "max_chars": 2_000});
    loop {
        let reply = project.call("read_note", request.clone());
        content += reply["content"].as_str().expect("text");
        match reply["next_line"].as_u64() {
            Some(line) => request["from_line"] = json!(line),
            None => break,
        }
    }
    assert_eq!(content, lines);
}

#[test]
fn build_context_resolves_memory_uri() {
    let notes: &[(&str, &str)] = &[
        ("my-research.md", "# My Research\n\n- [fact] Bees dance\n- studies [[Bees]]\n"),
        ("bees.md", "# Bees\n\nThey fly. See [[Flowers]].\n"),
        ("flowers.md", "# Flowers\n\nThey bloom.\n"),
        ("diary.md", "Read [[My Research]] today.\n"),
    ];
    let mut project = TestProject::of(notes);
    let context = project.call("build_context", json!({"path": "memory://my-research"}));
    assert_eq!(context["notes"][0]["observations"][0]["content"], "Bees dance");
    assert_eq!(context["notes"][0]["relations"][0]["to_path"], "bees.md");
    assert_eq!(all(&context["related"], "path"), ["bees.md", "diary.md"]);
    assert_eq!(all(&context["related"], "by"), ["studies →", "← links_to"]);
    let two = json!({"path": "memory://my-research", "depth": 2});
    let context = project.call("build_context", two);
    assert_eq!(all(&context["related"], "path"), ["bees.md", "diary.md", "flowers.md"]);
    let several = project.call("build_context", json!({"path": "memory://*e*"}));
    assert_eq!(all(&several["notes"], "path"), ["bees.md", "flowers.md", "my-research.md"]);
    for (wrong, code) in [
        ("memory://a//b", "invalid_params"),
        ("memory://nowhere", "not_found"),
        ("memory://q*x", "not_found"),
    ] {
        let error = project.try_call("build_context", json!({"path": wrong})).expect_err(wrong);
        assert_eq!(error["code"], code, "{wrong}");
    }
}

#[test]
fn recent_activity_timeframe() {
    let mut project = TestProject::of(&[]);
    for title in ["First", "Second"] {
        project.call("write_note", json!({"title": title, "content": "x"}));
    }
    let old = std::fs::File::options().append(true).open(project.at("first.md")).expect("a file");
    let earlier = std::time::SystemTime::now() - std::time::Duration::from_secs(1_800);
    old.set_modified(earlier).expect("set");
    project.call("ingest_docs", json!({"paths": ["first.md"], "skip_if_seen": false}));
    let recent = project.call("recent_activity", json!({"timeframe": "1 hour"}));
    assert_eq!(all(&recent["notes"], "path"), ["second.md", "first.md"]);
    let recent = project.call("recent_activity", json!({"timeframe": "10 minutes"}));
    assert_eq!(all(&recent["notes"], "path"), ["second.md"]);
    let error = project.try_call("recent_activity", json!({"timeframe": "soon"}));
    assert_eq!(error.expect_err("no time")["code"], "invalid_params");
}

#[test]
fn list_memory_projects() {
    let mut project = TestProject::of_with_roots(&[]);
    let second = project.scratch().join("second");
    let made = json!({"name": "Second Brain", "path": second.to_str().expect("a path")});
    let reply = project.call("create_memory_project", made.clone());
    assert_eq!((&reply["name"], &reply["is_new"]), (&json!("Second Brain"), &json!(true)));
    assert!(second.is_dir());
    assert_eq!(project.call("create_memory_project", made)["is_new"], false);
    let listed = project.call("list_memory_projects", json!({}));
    let names = all(&listed["projects"], "name");
    assert!(names.contains(&"Second Brain") && names.len() == 2, "{listed}");
    let current =
        listed["projects"].as_array().expect("rows").iter().find(|it| it["is_current"] == true);
    assert_eq!(current.expect("this one")["n_documents"], 0);
    let relative = json!({"name": "x", "path": "somewhere"});
    let error = project.try_call("create_memory_project", relative).expect_err("relative");
    assert_eq!(error["code"], "invalid_params");
}

#[test]
fn delete_note_cascades() {
    let mut project = TestProject::of(&[("other.md", "See [[Test Note]].\n")]);
    let content = "- [fact] Zebras77 are striped\n- part_of [[Other]]\n";
    project.call("write_note", json!({"title": "Test Note", "content": content}));
    let reply = project.call("delete_note", json!({"path": "test-note"}));
    assert_eq!(reply["action"], "deleted");
    assert!(reply["warnings"][0].as_str().expect("told").contains("1 link"), "{reply}");
    assert!(!project.at("test-note.md").exists());
    let found = json!({"query": "zebras77", "search_type": "fts", "search_item_types": ["entity", "observation", "relation"]});
    assert_eq!(project.call("search_notes", found)["results"], json!([]));
    let error = project.try_call("read_note", json!({"path": "test-note"})).expect_err("gone");
    assert_eq!(error["code"], "not_found");
    assert_eq!(project.call("backlinks", json!({"path": "Other"}))["backlinks"], json!([]));
}

#[test]
fn resolve_pending_link() {
    let mut project = TestProject::of(&[("a.md", "# Entity A\n\n- knows [[Entity B]]\n")]);
    let target = |project: &mut TestProject| {
        project.call("read_note", json!({"path": "a.md"}))["relations"][0]["to_path"].clone()
    };
    // An unresolvable link stays pending.
    assert_eq!(target(&mut project), Value::Null);
    project.call("write_note", json!({"title": "Entity B", "content": "Here."}));
    assert_eq!(target(&mut project), "entity-b.md");
    project.call("delete_note", json!({"path": "entity-b"}));
    assert_eq!(target(&mut project), Value::Null);
}

#[test]
fn case_insensitive_resolution() {
    let notes = [("a.md", "- uses [[Machine Learning]]\n"), ("machine-learning.md", "Here.\n")];
    let mut project = TestProject::of(&notes);
    let note = project.call("read_note", json!({"path": "a.md"}));
    assert_eq!(note["relations"][0]["to_path"], "machine-learning.md");
}

#[test]
fn folders_and_notes_are_listed_in_pages() {
    let notes = [
        ("a.md", "# A\n"),
        ("docs/b.md", "# B\n"),
        ("docs/deep/c.md", "# C\n"),
        ("docs/d.txt", "D\n"),
    ];
    let mut project = TestProject::of(&notes);
    let listed = project.call("list_directory", json!({}));
    assert_eq!(all(&listed["entries"], "path"), ["docs", "a.md"]);
    assert_eq!(listed["entries"][0]["n_files"], 3);
    let listed =
        project.call("list_directory", json!({"path": "docs/", "depth": 2, "glob": "*.md"}));
    assert_eq!(all(&listed["entries"], "path"), ["docs/deep", "docs/b.md", "docs/deep/c.md"]);
    let error = project.try_call("list_directory", json!({"path": "nope"})).expect_err("none");
    assert_eq!(error["code"], "not_found");
    let first = project.call("list_notes", json!({"page_size": 2}));
    assert_eq!(
        (all(&first["notes"], "path"), &first["next_page"]),
        (vec!["a.md", "docs/b.md"], &json!(2))
    );
    let second = project.call("list_notes", json!({"page_size": 2, "page": 2}));
    assert_eq!(
        (all(&second["notes"], "path"), &second["n_notes"]),
        (vec!["docs/deep/c.md"], &json!(3))
    );
}

#[test]
fn a_read_only_project_neither_offers_nor_does_what_writes() {
    let mut project = TestProject::of(&[("a.md", "Mine.\n"), ("kg.yaml", "write: false\n")]);
    let tools = project.client().ask("tools/list", json!({}));
    let names = all(&tools["result"]["tools"], "name");
    assert!(names.contains(&"read_note") && !names.contains(&"write_note"), "{names:?}");
    for (tool, arguments) in [
        ("write_note", json!({"title": "b", "content": "x"})),
        ("edit_note", json!({"path": "a", "content": "x"})),
        ("move_note", json!({"path": "a", "destination": "b.md"})),
        ("delete_note", json!({"path": "a"})),
        ("create_memory_project", json!({"name": "x", "path": "/x"})),
    ] {
        let error = project.try_call(tool, arguments).expect_err(tool);
        assert_eq!(error["code"], "read_only", "{tool}");
    }
    assert_eq!(project.text("a.md"), "Mine.\n");
}

#[test]
fn a_session_is_about_its_own_project_and_says_so() {
    let mut project = TestProject::of(&[("a.md", "Apples.\n")]);
    let name = project.status()["project"].as_str().expect("a name").to_string();
    for (tool, arguments) in [
        ("read_note", json!({"path": "a", "project": name})),
        ("search", json!({"query": "apples", "vault": name.to_uppercase()})),
        ("hybrid_query", json!({"q": "apples", "project": name})),
    ] {
        project.call(tool, arguments);
    }
    let other = json!({"title": "x", "content": "y", "project": "elsewhere"});
    let error = project.try_call("write_note", other).expect_err("another");
    assert_eq!(error["code"], "not_found");
    assert!(!project.at("x.md").exists());
}

#[test]
fn read_content_stays_inside_and_reads_text_alone() {
    let token = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let note = format!("---\ntype: note\n---\n\nThe token is {token} for now.\n");
    let mut project = TestProject::of(&[("key.md", &note), ("data.txt", "day,tide\n1,high\n")]);
    std::fs::write(project.scratch().join("outside.md"), "not for agents").expect("written");
    project.link("../outside.md", "leak.md");
    project.write("logo.png", b"\x89PNG\r\n\x1a\n\0\0");
    project.write("paper.pdf", b"%PDF-1.4\n\xff\xfe\0");
    project.write(".env", "PASSWORD=hunter2");
    let mut read = |path: &str| project.try_call("read_content", json!({"path": path}));
    let shown = read("key.md").expect("it is text");
    let text = shown["text"].as_str().unwrap_or_default();
    assert!(text.starts_with("---\ntype: note") && text.contains("[redacted"), "{shown}");
    assert!(!shown.to_string().contains(token), "{shown}");
    assert_eq!(read("data.txt").expect("it is text")["text"], "day,tide\n1,high\n");
    let refused = [
        ("../outside.md", "invalid_params", "holds `..`"),
        ("/etc/passwd", "outside_project", "leads out"),
        ("leak.md", "outside_project", "leads out"),
        ("logo.png", "refused", "image/png"),
        ("paper.pdf", "refused", "application/pdf"),
        (".env", "refused", "not read"),
        ("nowhere.md", "not_found", "nowhere.md"),
    ];
    for (path, code, why) in refused {
        let error = read(path).expect_err("refused");
        let message = error["message"].as_str().unwrap_or_default();
        assert!(error["code"] == code && message.contains(why), "{path}: {error}");
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
}

#[test]
fn a_note_of_a_moment_ago_is_known_by_every_name() {
    let mut project = TestProject::of(&[]);
    project.set("watch.debounce_ms=5000");
    project.restart();
    project.settle();
    let note =
        |name: &str| format!("---\ntitle: {name} Plan\npermalink: plans/{name}\n---\n\nAlpha.\n");
    for name in ["read", "edit", "move", "delete"] {
        project.write(&format!("x/{name}-it.md"), note(name));
    }
    assert_eq!(project.call("read_note", json!({"path": "plans/read"}))["path"], "x/read-it.md");
    let edit = json!({"path": "edit Plan", "content": "More."});
    assert_eq!(project.call("edit_note", edit)["path"], "x/edit-it.md");
    let moved = json!({"path": "memory://plans/move", "destination_folder": "done/"});
    assert_eq!(project.call("move_note", moved)["to"], "done/move-it.md");
    let deleted = project.call("delete_note", json!({"path": "plans/delete"}));
    assert_eq!(deleted["path"], "x/delete-it.md");
    let error = project.try_call("read_note", json!({"path": "plans/none"})).expect_err("none");
    assert_eq!(error["code"], "not_found");
}

#[test]
fn front_matter_says_when_a_note_was_changed() {
    let stated = |field: &str, date: &str| format!("---\n{field}: {date}\n---\n\nText.\n");
    let mut project = TestProject::of(&[
        // The day of what a note is about is not that of its last change.
        ("date.md", &stated("date", "2020-03-01")),
        ("modified.md", &stated("date: 2019-01-01\nmodified", "2021-03-01T10:00:00Z")),
        ("odd.md", &stated("modified: soon\ndate", "2022-03-01")),
        ("none.md", "Text.\n"),
    ]);
    let recent = project.call("recent_activity", json!({"timeframe": "2020-01-01"}));
    let paths = all(&recent["notes"], "path");
    assert!(paths.len() == 4 && paths[3] == "modified.md", "{paths:?}");
    let recent = project.call("recent_activity", json!({"timeframe": "7d"}));
    let mut recent = all(&recent["notes"], "path");
    recent.sort_unstable();
    assert_eq!(recent, ["date.md", "none.md", "odd.md"]);
}

#[test]
fn a_refusal_calls_parameters_as_the_caller_did_and_names_tools_that_are_there() {
    let mut project = TestProject::of(&[("a.md", "Text.\n")]);
    let error = project.try_call("hybrid_query", json!({"query": " "})).expect_err("empty");
    let message = error["message"].as_str().expect("a message");
    assert!(message.contains("`query`") && !message.contains("`q`"), "{message}");
}

#[test]
fn a_note_is_read_by_lines_with_or_without_front_matter_and_content() {
    let text = "---\ntitle: Weir\n---\n\nOne.\n\nTwo.\n\nThree.\n";
    let mut project = TestProject::of(&[("weir.md", text)]);
    let mut content = |arguments: Value| {
        let mut request = json!({"identifier": "weir.md"});
        request.as_object_mut().expect("a map").extend(arguments.as_object().expect("one").clone());
        project.call("read_note", request)["content"].as_str().expect("text").to_string()
    };
    assert_eq!(content(json!({"start_line": 5, "end_line": 7})), "One.\n\nTwo.\n");
    assert_eq!(content(json!({"end_line": 5})), "\nOne.\n");
    assert_eq!(content(json!({"include_frontmatter": true})), text);
    let head = json!({"include_frontmatter": true, "start_line": 1, "end_line": 2});
    assert_eq!(content(head), "---\ntitle: Weir\n");
    assert_eq!(content(json!({"include_content": false})), "");
    let error =
        project.try_call("read_note", json!({"path": "weir.md", "from_line": 7, "to_line": 5}));
    assert_eq!(error.expect_err("refused")["code"], "invalid_params");
    let context = project.call("build_context", json!({"path": "weir.md", "compact": true}));
    assert_eq!(context["notes"][0]["content"], "", "{context}");
    assert!(context.get("truncated").is_none_or(Value::is_null), "{context}");
    project.call("recent_activity", json!({"depth": 2}));
}

#[test]
fn a_folder_is_listed_in_the_wanted_order() {
    let mut project = TestProject::of(&[("b.md", "x\n"), ("a.md", "longer\n"), ("d/c.md", "y\n")]);
    let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000);
    let file = std::fs::File::options().write(true).open(project.at("a.md")).expect("a file");
    file.set_modified(old).expect("set");
    project.settle();
    let mut listed = |arguments: Value| {
        let reply = project.call("list_directory", arguments);
        all(&reply["entries"], "path").into_iter().map(String::from).collect::<Vec<_>>()
    };
    assert_eq!(listed(json!({})), ["d", "a.md", "b.md"]);
    assert_eq!(listed(json!({"sort": "modified"})), ["d", "b.md", "a.md"]);
    assert_eq!(listed(json!({"sort": "updated_at"})), ["d", "b.md", "a.md"]);
    assert_eq!(listed(json!({"sort": "size"})), ["d", "a.md", "b.md"]);
}

#[test]
fn a_folder_with_a_slash_before_it_is_one_of_the_project() {
    let mut project = TestProject::of(&[]);
    let note = |folder: &str| json!({"title": "Tide", "content": "High.", "directory": folder});
    let reply = project.call("write_note", note("/almanac/may"));
    assert_eq!(reply["path"], "almanac/may/tide.md");
    for outside in ["/etc", "/tmp/x", "../x"] {
        let error = project.try_call("write_note", note(outside)).expect_err("refused");
        assert!(
            ["outside_project", "invalid_params"]
                .contains(&error["code"].as_str().expect("a code")),
            "{error}"
        );
    }
}

#[test]
fn a_text_file_is_read_whatever_its_extension_unless_a_list_leaves_it_out() {
    let files =
        [("data.json", "{\"tide\": 1}\n"), ("own.json", "{}\n"), (".gitignore", "own.json\n")];
    let mut project = TestProject::of(&files);
    let reply = project.call("read_content", json!({"path": "data.json"}));
    assert_eq!(
        (&reply["text"], &reply["content_type"]),
        (&json!("{\"tide\": 1}\n"), &json!("application/json"))
    );
    let error = project.try_call("read_content", json!({"path": "own.json"})).expect_err("refused");
    assert_eq!(error["code"], "refused", "{error}");
}
