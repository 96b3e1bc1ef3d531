//! Waiting: whatever a call waits for, it ends with an error that names the obstacle; and what is
//! in the way harms nobody else.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tests::{Client, TestProject};

use super::writes;

/// A project in which every tool that writes has something to do.
fn prepared(settings: &[&str]) -> TestProject {
    let mut project = TestProject::empty();
    writes::plant(&project);
    settings.iter().for_each(|it| project.set(it));
    project.start();
    project.settle();
    writes::prepare(&mut project);
    project
}

/// Calls of the tools that write notes.
fn note_writers() -> impl Iterator<Item = (&'static str, Value)> {
    // `kb_maintain` writes in some actions only; the others write to the ledger alone.
    const OTHERS: [&str; 3] = ["ingest_docs", "review_links", "kb_maintain"];
    writes::calls(&json!("link:a>b")).into_iter().filter(|(tool, _)| !OTHERS.contains(tool))
}

/// Checks that the tools that read answer from the index, and that those that write say why not.
fn answers_without_its_folder(project: &mut TestProject, why: &str) {
    for (tool, arguments) in note_writers() {
        let error = writes::refusal(project, tool, arguments);
        let message = error["message"].as_str().unwrap_or_default();
        assert_eq!(error["code"], "unavailable", "{tool}: {error}");
        assert!(
            message.contains("the project's folder") && message.contains(why),
            "{tool}: {error}"
        );
    }
    for (tool, arguments) in [
        ("read_note", json!({"path": "acts/told.md"})),
        ("view_note", json!({"path": "acts/told.md"})),
        ("fetch", json!({"id": "acts/told.md"})),
        ("read_passage", json!({"path": "acts/told.md"})),
        ("hybrid_query", json!({"q": "the harbor"})),
        ("search_notes", json!({"query": "harbor"})),
        ("open_nodes", json!({"names": ["Ada"]})),
    ] {
        let reply = project.try_call(tool, arguments).map_err(|error| error.to_string());
        assert!(reply.is_ok(), "{tool}: {reply:?}");
    }
    let note = project.call("read_note", json!({"path": "acts/told.md"}));
    assert!(note["content"].to_string().contains("the harbor"), "{note}");
    assert!(note["warnings"].to_string().contains("the project's folder"), "{note}");
    for (tool, arguments) in [
        ("read_content", json!({"path": "acts/told.md"})),
        ("read_note", json!({"path": "acts/unknown.md"})),
        ("kb_get", json!({"entry_id": ["kb-00001"]})),
    ] {
        let error = project.try_call(tool, arguments).expect_err("no folder").to_string();
        assert!(error.contains("the project's folder"), "{tool}: {error}");
    }
    let status = project.status();
    assert_eq!(status["settled"], false, "{status}");
    assert!(status["writes_refused"]["why"].to_string().contains(why), "{status}");
}

#[test]
fn a_folder_that_is_gone_or_replaced_by_a_link_answers_at_once_and_is_left_alone() {
    let mut project = prepared(&[]);
    let root = project.root().to_path_buf();
    let [aside, elsewhere] = ["aside", "elsewhere"].map(|name| project.scratch().join(name));
    fs::rename(&root, &aside).expect("moved away");
    answers_without_its_folder(&mut project, "is missing");

    // Somebody who may write around the folder puts a link to their own in its place.
    fs::create_dir_all(elsewhere.join("acts")).expect("made");
    fs::write(elsewhere.join("acts/told.md"), "# Zqtheirs\n").expect("written");
    fs::write(elsewhere.join("kg.yaml"), "watch: {ignore: ['*']}\n").expect("written");
    symlink(&elsewhere, &root).expect("linked");
    project.call("rescan", json!({}));
    answers_without_its_folder(&mut project, "a symbolic link is in its place");
    let error = project.try_call("reload", json!({})).expect_err("no folder").to_string();
    assert!(error.contains("the project's folder is missing"), "{error}");
    assert!(!tests::index_text(&project.paths().index).contains("Zqtheirs"));
    assert_eq!(fs::read_dir(elsewhere.join("acts")).expect("a folder").count(), 1);
    assert_eq!(fs::read_to_string(elsewhere.join("acts/told.md")).expect("read"), "# Zqtheirs\n");

    // The folder itself is taken up again.
    fs::remove_file(&root).expect("unlinked");
    fs::rename(&aside, &root).expect("moved back");
    project.call("rescan", json!({}));
    project.settle();
    project
        .call("edit_note", json!({"path": "acts/told.md", "operation": "append", "content": "x"}));
    assert!(project.text("acts/told.md").ends_with("x\n"));
    project.verify("the folder is back");
}

#[test]
fn every_writer_names_the_lock_that_another_process_holds() {
    let mut project = prepared(&["serve.request_deadline_ms=3000"]);
    let path = project.paths().ledger.with_file_name("notes.lock");
    let lock = File::options().append(true).open(&path).expect("it was made");
    lock.lock().expect("free");
    let mut asked = Vec::new();
    for (tool, arguments) in note_writers() {
        let mut client = Client::admin(&project.paths().socket);
        let id = client.request("tools/call", json!({"name": tool, "arguments": arguments}));
        asked.push((tool, client, id));
    }
    // Many who wait for the lock keep nobody from reading.
    let note = project.call("read_note", json!({"path": "acts/told.md"}));
    assert!(note["content"].to_string().contains("the harbor"), "{note}");
    for (tool, mut client, id) in asked {
        let reply = client.reply_to(id).to_string();
        let is_named = reply.contains("another process holds") && reply.contains("notes.lock");
        assert!(is_named && reply.contains("unavailable"), "{tool}: {reply}");
    }
    drop(lock);
    assert!(!project.text("acts/edited.md").ends_with("x\n"), "a refused edit is not done later");
    for (tool, arguments) in note_writers() {
        let done = project.try_call(tool, arguments);
        assert!(done.is_ok(), "{tool}: {done:?}");
    }
}

#[test]
fn an_edit_under_a_program_that_writes_is_refused_until_it_is_done() {
    let mut project = prepared(&[]);
    let edit = || json!({"path": "acts/edited.md", "operation": "append", "content": "mine"});
    let file = project.root().join("acts/edited.md");
    let mut tee = Command::new("tee")
        .arg("-a")
        .arg(&file)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("tee runs");
    let mut say = |line: &[u8]| {
        use std::io::{Read, Write};
        tee.stdin.as_mut().expect("a pipe").write_all(line).expect("sent");
        let mut echo = vec![0; line.len()];
        tee.stdout.as_mut().expect("a pipe").read_exact(&mut echo).expect("tee has it");
    };
    say(b"one\n");
    let error = project.try_call("edit_note", edit()).expect_err("it is open").to_string();
    assert!(error.contains("is open for writing in another program"), "{error}");
    assert!(error.contains("unavailable") && error.contains("do it again"), "{error}");
    say(b"two\n");
    drop(tee.stdin.take());
    assert!(tee.wait().expect("it ends").success());
    project.call("edit_note", edit());
    let text = project.text("acts/edited.md");
    assert!(text.contains("one\ntwo\n") && text.ends_with("mine\n"), "{text}");
}

#[test]
fn a_move_is_refused_while_a_program_writes_the_note_or_one_that_links_to_it() {
    let link = "See [[A]] and [it](a.md).\n";
    let mut project = TestProject::of(&[("a.md", "# A\n\nOne.\n"), ("links.md", link)]);
    let request = || json!({"path": "a.md", "destination": "below/b.md"});
    for held in ["a.md", "links.md"] {
        let writer = File::options().append(true).open(project.at(held)).expect("it is there");
        let error = project.try_call("move_note", request()).expect_err("it is open").to_string();
        let wanted = format!("`{held}` is open for writing in another program");
        assert!(error.contains(&wanted) && error.contains("unavailable"), "{held}: {error}");
        assert!(error.contains("do it again"), "{held}: {error}");
        assert!(project.at("a.md").exists() && !project.at("below/b.md").exists(), "{held}");
        assert_eq!(project.text("links.md"), link, "{held}");
        drop(writer);
    }
    let moved = project.call("move_note", request());
    assert_eq!(moved["to"], "below/b.md", "{moved}");
    assert!(project.text("links.md").contains("below/b.md"), "{}", project.text("links.md"));
}

#[test]
fn imports_of_what_has_no_end_are_refused() {
    let project = TestProject::empty();
    let pipe = project.scratch().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let pipe = pipe.display().to_string();
    for source in [
        vec![pipe.as_str()],
        vec!["chatgpt", &pipe],
        vec!["server-memory", &pipe],
        vec!["basic-memory", &pipe],
        vec!["server-memory", "/dev/zero"],
        vec!["claude", "/dev/zero"],
    ] {
        let mut command = project.kgctl();
        let command = command.arg("--project").arg(project.root()).arg("import").args(&source);
        let output = command.output().expect("it ends");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success(), "{source:?}");
        assert!(said.contains("it is a pipe, socket or device"), "{source:?}: {said}");
    }
}
