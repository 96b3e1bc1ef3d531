//! Tools that read and write notes, through the whole daemon; the cases of S0 §13.4 by name.

use serde_json::{Value, json};
use tests::{Client, Revision, TestProject};

fn text_of(project: &TestProject, path: &str) -> String {
    std::fs::read_to_string(project.at(path)).expect("it is there")
}

/// Returns the values of one field in all rows.
pub(crate) fn all<'v>(rows: &'v Value, field: &str) -> Vec<&'v str> {
    let rows = rows.as_array().expect("rows");
    rows.iter().map(|row| row[field].as_str().unwrap_or_default()).collect()
}

fn started() -> TestProject {
    let mut project = TestProject::empty();
    project.start();
    project.settle();
    project
}

#[test]
fn write_note_creates_file() {
    let mut project = started();
    let reply =
        project.call("write_note", json!({"title": "Test", "content": "Hello", "tags": ["a"]}));
    assert_eq!(
        text_of(&project, "test.md"),
        "---\ntitle: Test\ntype: note\ntags:\n  - a\n---\n\nHello\n"
    );
    assert_eq!((&reply["action"], &reply["path"]), (&json!("created"), &json!("test.md")));
    assert_eq!(reply["permalink"], "test");
    // Read-your-writes: the next question sees the note.
    assert_eq!(project.found("hello"), ["test.md"]);
}

#[test]
fn write_note_respects_directory() {
    let mut project = started();
    let deep = json!({"title": "Deep", "content": "...", "directory": "research/ai"});
    project.call("write_note", deep);
    assert!(project.at("research/ai/deep.md").exists());
}

#[test]
fn write_note_refuses_overwrite() {
    let mut project = TestProject::of(&[("test.md", "Mine.\n")]);
    project.settle();
    let again = json!({"title": "Test", "content": "Other", "overwrite": false});
    let error = project.try_call("write_note", again).expect_err("refused");
    assert_eq!(error["code"], "exists");
    assert_eq!(text_of(&project, "test.md"), "Mine.\n");
    // With `overwrite` the note is replaced, and its old content is kept.
    let reply =
        project.call("write_note", json!({"title": "Test", "content": "Other", "overwrite": true}));
    assert_eq!(reply["action"], "overwritten");
    let kept = project.kgctl().args(["--project"]).arg(project.root()).arg("restore").output();
    assert!(String::from_utf8_lossy(&kept.expect("it runs").stdout).contains("test.md"));
}

#[test]
fn read_note_by_permalink() {
    let mut project = started();
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
    project.settle();
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
    let mut told = String::new();
    let mut request = json!({"path": "long.md", "max_chars": 2_000});
    loop {
        let reply = project.call("read_note", request.clone());
        told += reply["content"].as_str().expect("text");
        match reply["next_line"].as_u64() {
            Some(line) => request["from_line"] = json!(line),
            None => break,
        }
    }
    assert_eq!(told, lines);
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
    project.settle();
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
    let mut project = started();
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
    project.settle();
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
    project.settle();
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
    project.settle();
    let note = project.call("read_note", json!({"path": "a.md"}));
    assert_eq!(note["relations"][0]["to_path"], "machine-learning.md");
}

#[test]
fn edit_note_changes_what_is_meant_and_nothing_else() {
    let before = "---\r\ntitle: 'Plan'   # mine\r\nx: [1,  2]\r\n---\r\n# Plan\r\n\r\n## Now\r\n\r\n* a\r\n\r\n## Later\r\n\r\nb";
    let mut project = TestProject::of(&[("plan.md", before)]);
    project.settle();
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
        let text = text_of(&project, "plan.md");
        let told = project.call("edit_note", request.clone());
        assert_eq!(told["action"], "would be edited", "{request}");
        assert_eq!(text_of(&project, "plan.md"), text);
        request["dry_run"] = json!(false);
        let told = project.call("edit_note", request.clone());
        assert_eq!(told["action"], "edited");
        assert!(told["changed"][0]["line"].as_u64().is_some_and(|line| line > 0), "{told}");
        let text = text_of(&project, "plan.md");
        assert!(text.contains(expected), "{request}: {text:?}");
        assert!(text.starts_with("---\r\ntitle: 'Plan'   # mine\r\nx: [1,  2]\r\n"), "{text:?}");
    }
    let text = text_of(&project, "plan.md");
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
    assert_eq!(text_of(&project, "plan.md"), text);
    let error =
        project.try_call("edit_note", json!({"path": "Plam", "content": "x"})).expect_err("none");
    assert!(error["hint"].as_str().expect("a hint").contains("plan.md"), "{error}");
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
    for told in [&dry, &moved] {
        let rows = told["rewritten"].as_array().expect("a list");
        let failed: Vec<_> = rows.iter().filter(|it| it["error"].is_string()).collect();
        assert!(failed.len() == 1 && failed[0]["path"] == "kept.md", "{told}");
    }
    assert!(!project.at("plan.md").exists());
    assert_eq!(
        text_of(&project, "notes/diary.md"),
        "Read [the plan](../archive/old%20plan.md \"t\"), [[old plan|it]] and ![[old plan#The Plan]].\n"
    );
    let links = project.call("backlinks", json!({"path": "archive/old plan.md"}));
    assert_eq!(all(&links["backlinks"], "path").len(), 5, "{links}");
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
        let told = "`memory://uniq` is the address of `deep/deeper/uniq.md`";
        assert!(moved.contains(told) && moved.contains("x/src.md"), "{moved}");
    }
    assert_eq!(
        text_of(&project, "x/src.md"),
        "Go [[deep/deeper/uniq]], [u](../deep/deeper/uniq.md) and ![[deep/deeper/uniq#^b|it]].\n"
    );
    // A name that would mean another note in the new folder becomes a path.
    project.call("move_note", json!({"path": "c/own.md", "destination": "d/own.md"}));
    assert_eq!(
        text_of(&project, "d/own.md"),
        "See [[c/near]], [n](../c/near.md) and [f](../b/far.md).\n"
    );
    // Saves of a moment ago count: in a new note, and in one that did not link there before.
    project.write("late.md", "See [[c/near]].\n");
    project.write("b/far.md", "See [n](../c/near.md).\n");
    project.call("move_note", json!({"path": "c/near.md", "destination": "c/close.md"}));
    assert_eq!(text_of(&project, "late.md"), "See [[c/close]].\n");
    assert_eq!(text_of(&project, "b/far.md"), "See [n](../c/close.md).\n");
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
    project.settle();
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
    project.settle();
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
    assert_eq!(text_of(&project, "a.md"), "Mine.\n");
}

#[test]
fn a_session_is_about_its_own_project_and_says_so() {
    let mut project = TestProject::of(&[("a.md", "Apples.\n")]);
    project.settle();
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
fn secrets_are_neither_shown_nor_lost() {
    let token = format!("gh{}", "p_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let text = format!("# Keys\n\nThe token is {token}.\n\nRotate it.\n");
    let mut project = TestProject::of(&[("keys.md", &text)]);
    project.settle();
    let result =
        project.client().call_whole("read_note", json!({"path": "keys"})).expect("a result");
    assert!(!result.to_string().contains(&token));
    assert!(result["structuredContent"]["content"].as_str().expect("text").contains("[redacted:"));
    project.call(
        "edit_note",
        json!({"path": "keys", "find": "Rotate it", "content": "Rotate it soon"}),
    );
    assert!(text_of(&project, "keys.md").contains(&token));
    let lost = json!({"title": "Keys", "content": "gone", "overwrite": true});
    assert_eq!(project.try_call("write_note", lost).expect_err("a secret")["code"], "refused");
    // What the caller sends is written unchanged.
    let own = json!({"title": "Own", "content": format!("Mine: {token}")});
    let told = project.client().call_whole("write_note", own).expect("a result");
    assert!(text_of(&project, "own.md").contains(&token) && !told.to_string().contains(&token));
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
    let text = text_of(&project, "log.md");
    for agent in 0..4 {
        for n in 0..10 {
            assert_eq!(text.matches(&format!("- agent{agent} wrote{n}\n")).count(), 1, "{text}");
        }
    }
}

#[test]
fn links_that_lead_nowhere_are_reported_by_what_is_missing() {
    let notes = [
        ("a.md", "See [[Nowhere]], [[b#Missing]], [[b#^gone]], [[b#There]] and [x](no/such.md).\n"),
        ("b.md", "# There\n\nText ^here\n"),
        ("sub/c.md", "![[picture.png]] [[Lost]] [[gone.pdf]] [[bad.pdf]]\n"),
        ("sub/bad.pdf", "This is none.\n"),
    ];
    let mut project = TestProject::of(&notes);
    project.settle();
    // A file that cannot be read is not waited for either.
    let written = project.call("write_note", json!({"title": "New", "content": "x"}));
    assert!(written["building"].is_null(), "{written}");
    let report = project.call("broken_links", json!({}));
    let targets = all(&report["links"], "target");
    assert_eq!(targets, ["Nowhere", "b#Missing", "b#^gone", "no/such.md", "Lost"]);
    assert_eq!(
        all(&report["links"], "missing"),
        ["document", "heading", "block", "document", "document"]
    );
    let mut run = project.kgctl();
    let run = run.arg("--project").arg(project.root());
    let shown = run.args(["links", "--path", "sub/"]).output().expect("it runs");
    let text = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(text.contains("sub/c.md:1") && !text.contains("Nowhere"), "{text}");
    let mut run = project.kgctl();
    let run = run.arg("--project").arg(project.root());
    let shown = run.args(["links", "b"]).output().expect("it runs");
    assert!(String::from_utf8_lossy(&shown.stdout).contains("a.md:1"), "{shown:?}");
}

#[test]
fn a_relation_of_a_note_is_one_of_the_graph_and_can_be_rejected() {
    let notes = [
        ("Gateway.md", "---\ntype: Service\n---\n- implements [[Key Protocol]] (in part)\n"),
        ("Key Protocol.md", "A protocol.\n"),
    ];
    let mut project = TestProject::of(&notes);
    project.settle();
    // By the note itself, its backlinks, its context and a search.
    let told = |project: &mut TestProject| -> Vec<String> {
        let note = project.call("read_note", json!({"path": "Gateway.md"}));
        let around = project.call("build_context", json!({"path": "Gateway.md"}));
        let links = project.call("backlinks", json!({"path": "Key Protocol.md"}));
        let search = json!({"query": "protocol", "search_item_types": ["relation"]});
        let found = project.call("search_notes", search);
        let by = around["related"][0]["by"].as_str().expect("a way").trim_end_matches(" →");
        let one = |it: &Value| it[0]["relation"].as_str().expect("a relation").to_string();
        let of_note = [&note["relations"], &around["notes"][0]["relations"]];
        let others = [&links["backlinks"], &found["results"]];
        of_note.into_iter().chain(others).map(one).chain([by.to_string()]).collect()
    };
    assert_eq!(told(&mut project), ["implements"; 5]);
    let explained = project.call("explain_entity", json!({"name": "Gateway"}));
    let relations = &explained["relations"];
    assert_eq!(all(relations, "predicate"), ["implements"], "{explained}");
    assert_eq!(relations[0]["evidence"][0]["pattern"], "link:typed");
    let doubtful = project.call("review_links", json!({"below": 1.0, "limit": 100}));
    let items = doubtful["items"].as_array().expect("items");
    let claims = |it: &&Value| it["claim"].as_str().is_some_and(|it| it.contains("implements"));
    let stated = items.iter().find(claims).expect("a stated relation is listed at 1");
    project.call("review_links", json!({"reject": [stated["key"]]}));
    project.settle();
    let explained = project.call("explain_entity", json!({"name": "Gateway"}));
    assert_eq!(explained["relations"], json!([]));
    assert_eq!(told(&mut project), ["links_to"; 5], "the link is still one");
}

#[test]
fn a_fact_that_is_none_is_rejected_for_good() {
    let notes = [
        ("talk.md", "# Talk\n\n- [Aloysia] Said that it is late\n- [fact] The talk took an hour\n"),
        ("sub/copy.md", "# Copy\n\n- [Aloysia] Said that it is late\n"),
    ];
    let mut project = TestProject::of(&notes);
    project.settle();
    let listed = project.call("review_links", json!({"path": "talk.md"}));
    let items = listed["items"].as_array().expect("items").clone();
    let of = |items: &[Value]| -> Vec<String> {
        let facts = items.iter().filter(|it| it["kind"] == "observation");
        facts.map(|it| it["claim"].as_str().unwrap_or_default().to_string()).collect()
    };
    assert_eq!(
        of(&items),
        [
            r#"`talk` states the Aloysia "Said that it is late""#,
            r#"`talk` states the fact "The talk took an hour""#
        ]
    );
    let key = items[0]["key"].clone();
    assert_eq!(items[0]["evidence"]["line"], 3);
    let rejected = project.call("review_links", json!({"reject": [key], "path": "sub"}));
    let copied = vec![r#"`copy` states the Aloysia "Said that it is late""#.to_string()];
    assert_eq!(
        (&rejected["decided"], of(rejected["items"].as_array().expect("items"))),
        (&json!(1), copied)
    );
    let facts = |project: &mut TestProject, path: &str| -> Vec<String> {
        let note = project.call("read_note", json!({"path": path}));
        all(&note["observations"], "category").into_iter().map(String::from).collect()
    };
    assert_eq!(facts(&mut project, "talk.md"), ["fact"]);
    assert_eq!(facts(&mut project, "sub/copy.md"), ["Aloysia"], "another note's is its own");
    // Rejected by its words alone, as older decisions are, the observation is gone from every note.
    let key_of_note = key.as_str().expect("a key");
    let (_, words) =
        key_of_note.split_once('@').and_then(|it| it.1.split_once('>')).expect("a note");
    let everywhere = format!("observation:{words}");
    project.call("review_links", json!({"reject": [everywhere]}));
    assert_eq!(facts(&mut project, "sub/copy.md"), [""; 0]);
    let search = json!({"query": "late", "search_item_types": ["observation"]});
    assert_eq!(project.call("search_notes", search.clone())["results"], json!([]));
    project.stop();
    project.lose_index();
    project.start();
    project.settle();
    assert_eq!(facts(&mut project, "talk.md"), ["fact"], "also when the index is built anew");
    project.call("review_links", json!({"undo": [key, everywhere]}));
    assert_eq!(facts(&mut project, "talk.md"), ["Aloysia", "fact"]);
    let unknown = json!({"reject": ["observation:fact>0123456789abcdef"]});
    let error = project.try_call("review_links", unknown).expect_err("no such fact");
    assert_eq!(error["code"], "invalid_params");
}

#[test]
fn a_note_tells_its_fields_and_embeds_and_each_missing_target_once() {
    let text = "# Trip\n\nstatus:: planned\n\nWe (with:: Ada) go; with:: Bo\n\n![[Map]] ![[photo.png]] [[Nowhere]] [[nowhere|x]] needs [[Nowhere]]\n";
    let mut project = TestProject::of(&[("trip.md", text), ("map.md", "# Map\n")]);
    project.settle();
    let note = project.call("read_note", json!({"path": "trip.md"}));
    assert_eq!(note["fields"]["status"], json!(["planned"]), "{note}");
    assert!(all(&note["relations"], "relation").contains(&"embeds"), "{note}");
    assert!(!all(&note["relations"], "target").contains(&"photo.png"), "{note}");
    let edited = project
        .call("edit_note", json!({"path": "trip.md", "content_updates": "- needs [[Nowhere]]"}));
    assert_eq!(edited["unresolved"].as_array().map(Vec::len), Some(1), "{edited}");
}

#[test]
fn a_conflict_tells_both_versions() {
    let mut project = TestProject::of(&[("a.md", "# A\n\none\n")]);
    project.settle();
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
fn a_key_within_a_key_is_not_set_as_another_one() {
    let text = "---\nnested:\n  deep: 1\nflat.key: 2\n---\nx\n";
    let mut project = TestProject::of(&[("a.md", text)]);
    project.settle();
    let set =
        |key: &str| json!({"path": "a.md", "operation": "set_frontmatter", "key": key, "value": 3});
    let error = project.try_call("edit_note", set("nested.deep")).expect_err("refused");
    assert!(error["hint"].as_str().is_some_and(|it| it.contains("`nested`")), "{error}");
    project.call("edit_note", set("flat.key"));
    assert!(text_of(&project, "a.md").contains("flat.key: 3"), "{}", text_of(&project, "a.md"));
}

#[test]
fn read_content_stays_inside_and_reads_text_alone() {
    let token = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let note = format!("---\ntype: note\n---\n\nThe token is {token} for now.\n");
    let mut project = TestProject::of(&[("key.md", &note), ("data.txt", "day,tide\n1,high\n")]);
    project.settle();
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
    let mut project = started();
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
        ("date.md", &stated("date", "2020-03-01")),
        ("modified.md", &stated("date: 2019-01-01\nmodified", "2021-03-01T10:00:00Z")),
        ("odd.md", &stated("modified: soon\ndate", "2022-03-01")),
        ("none.md", "Text.\n"),
    ]);
    project.settle();
    let recent = project.call("recent_activity", json!({"timeframe": "2020-01-01"}));
    assert_eq!(all(&recent["notes"], "path"), ["none.md", "odd.md", "modified.md", "date.md"]);
    let recent = project.call("recent_activity", json!({"timeframe": "7d"}));
    assert_eq!(all(&recent["notes"], "path"), ["none.md"]);
}

#[test]
fn a_refusal_calls_parameters_as_the_caller_did_and_names_tools_that_are_there() {
    let mut project = TestProject::of(&[("a.md", "Text.\n")]);
    project.settle();
    let error = project.try_call("hybrid_query", json!({"query": " "})).expect_err("empty");
    let message = error["message"].as_str().expect("a message");
    assert!(message.contains("`query`") && !message.contains("`q`"), "{message}");
}
