//! A daemon's life: how it notices changes, what survives stops and crashes, who may run.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use expect_test::expect;
use serde_json::json;
use tests::{Client, TestProject};

const NOTES: &[(&str, &str)] = &[
    ("harbor.md", "# Harbor\n\nThe Harbor Gateway depends on the Tide Clock.\n"),
    ("clock.md", "# Tide Clock\n\nThe Tide Clock is a service written by Ada Lindqvist.\n"),
    ("sub/log.txt", "Maintenance log. The lighthouse lamp was replaced.\n"),
    (
        "web/page.html",
        "<html><body><article><h1>Beacon</h1><p>The beacon blinks.</p></article></body></html>",
    ),
];

#[test]
fn a_file_is_found_as_it_comes_changes_moves_and_goes() {
    let mut project = TestProject::of(NOTES);
    assert_eq!(project.found("lighthouse lamp")[0], "sub/log.txt");
    assert_eq!(project.found("beacon blinks")[0], "web/page.html");

    project.write("new/deep/er.md", "# Barnacles\n\nBarnacles grow on the keel.\n");
    project.settle();
    assert_eq!(project.found("barnacles keel")[0], "new/deep/er.md");

    project.write("new/deep/er.md", "# Mussels\n\nMussels grow on the anchor chain.\n");
    project.settle();
    assert_eq!(project.found("mussels anchor chain")[0], "new/deep/er.md");
    assert_eq!(documents_with(&mut project, "barnacles"), 0);

    project.rename("new/deep/er.md", "new/mussels.md");
    project.settle();
    let found = project.found("mussels anchor chain");
    assert!(found.contains(&"new/mussels.md".into()) && !found.contains(&"new/deep/er.md".into()));

    project.remove("new/mussels.md");
    project.settle();
    assert!(!project.found("mussels anchor chain").contains(&"new/mussels.md".into()));
    assert_eq!(documents_with(&mut project, "mussels"), 0);
}

/// Returns the documents whose chunks contain a word, from the full-text index alone: the vector
/// search always finds something.
fn documents_with(project: &mut TestProject, word: &str) -> usize {
    let reply = project.call("hybrid_query", json!({"q": word, "formula": "text", "k": 100}));
    reply["chunks"].as_array().expect("chunks").len()
}

#[test]
fn a_folder_moves_with_all_that_is_in_it() {
    let mut project = TestProject::of(NOTES);
    project.write("sub/deeper/one.md", "# One\n\nPelicans.\n");
    project.settle();
    project.rename("sub", "moved/here");
    project.settle();
    let paths = paths(&mut project);
    expect![[r#"
        clock.md
        harbor.md
        moved/here/deeper/one.md
        moved/here/log.txt
        web/page.html"#]]
    .assert_eq(&paths.join("\n"));
    assert_eq!(project.found("pelicans")[0], "moved/here/deeper/one.md");
    // A renamed folder is watched under its new name.
    project.write("moved/here/deeper/two.md", "# Two\n\nCormorants.\n");
    project.settle();
    assert_eq!(project.found("cormorants")[0], "moved/here/deeper/two.md");
    fs::remove_dir_all(project.at("moved")).expect("it was there");
    project.settle();
    assert_eq!(self::paths(&mut project).join(" "), "clock.md harbor.md web/page.html");
}

fn paths(project: &mut TestProject) -> Vec<String> {
    let graph = project.dump();
    graph.rows("document").map(|row| row["path"].as_str().expect("a path").to_string()).collect()
}

#[test]
fn a_restart_keeps_the_graph_and_reads_nothing_again() {
    let mut project = TestProject::of(NOTES);
    let (before, tick) = (project.dump().text(), project.status()["tick"].clone());
    project.restart();
    // The daemon answers at once, from the index as it was.
    assert_eq!(project.found("lighthouse lamp")[0], "sub/log.txt");
    project.settle();
    assert_eq!(project.dump().text(), before);
    assert_eq!(project.status()["tick"], tick);
}

#[test]
fn what_changed_while_no_daemon_ran_is_seen_at_the_next_start() {
    let mut project = TestProject::of(NOTES);
    project.stop();
    project.remove("clock.md");
    project.write("harbor.md", "# Harbor\n\nThe pier is closed.\n");
    project.rename("sub/log.txt", "sub/diary.txt");
    project.write("fresh.md", "# Fresh\n\nA walrus.\n");
    project.start();
    project.settle();
    assert_eq!(paths(&mut project).join(" "), "fresh.md harbor.md sub/diary.txt web/page.html");
    assert_eq!(project.found("pier closed")[0], "harbor.md");
    assert_eq!(project.found("walrus")[0], "fresh.md");
}

/// Writes many documents that mention each other.
fn bulk(project: &TestProject, n: u32) {
    for i in 0..n {
        let text = format!(
            "# Station {i}\n\nStation {i} depends on [[Station {}]]. It is run by Ada Lindqvist.\n\n\
             ## Log\n\nThe **storm drain** of Station {i} was cleaned; see Station {}.\n",
            (i + 1) % n,
            (i * 7) % n
        );
        project.write(&format!("s{}/station-{i}.md", i % 9), text);
    }
}

#[test]
fn a_kill_during_a_bulk_ingest_leaves_what_a_fresh_index_has() {
    let mut fresh = TestProject::empty();
    bulk(&fresh, 150);
    fresh.start();
    fresh.settle();
    let expected = fresh.dump().text();
    drop(fresh);

    let mut project = TestProject::empty();
    bulk(&project, 150);
    project.start();
    for limit in [1, 40, 100] {
        project.until("some documents", |status| {
            status["counts"]["documents"].as_u64() >= Some(limit) || status["settled"] == true
        });
        project.kill9();
        project.start();
    }
    project.settle();
    assert_eq!(project.dump().text(), expected);
    assert_eq!(project.status()["orphaned_entities"], 0);
}

#[test]
fn a_second_daemon_is_refused_and_the_first_goes_on() {
    let mut project = TestProject::of(NOTES);
    let second = project.command().output().expect("it runs");
    assert_eq!(second.status.code(), Some(3));
    let message = String::from_utf8_lossy(&second.stderr);
    let wanted = format!("kgd: another daemon (process {}, version ", project.pid());
    assert!(message.contains(&wanted) && message.contains("\nhint: "), "{message}");
    assert_eq!(project.found("lighthouse lamp")[0], "sub/log.txt");
}

#[test]
fn a_stale_socket_is_taken_over() {
    let mut project = TestProject::of(NOTES);
    project.kill9();
    let socket = project.paths().socket.clone();
    assert!(socket.exists(), "a killed daemon leaves its socket");
    Client::connect(&socket).expect_err("nobody listens");
    project.start();
    assert_eq!(project.found("lighthouse lamp")[0], "sub/log.txt");
}

#[test]
fn sigterm_finishes_the_belt_and_exits_0() {
    let mut project = TestProject::empty();
    project.start();
    bulk(&project, 60);
    project.until("something on its way", |status| {
        status["progress"]["known"].as_u64() > Some(0) || status["settled"] == false
    });
    let ended = project.stop();
    assert_eq!(ended.status.code(), Some(0), "{}", ended.log);
    assert!(!project.paths().socket.exists(), "the socket is removed");
    assert!(!ended.log.contains("ERROR") && !ended.log.contains("panic"), "{}", ended.log);
    project.start();
    project.settle();
    assert_eq!(paths(&mut project).len(), 60);
}

#[test]
fn the_tool_shutdown_ends_the_daemon_after_its_reply() {
    let mut project = TestProject::of(NOTES);
    let reply = project.call("shutdown", json!({}));
    assert_eq!(reply["draining"], 0, "{reply}");
    assert!(project.client().next_message().is_none(), "the daemon hangs up");
    assert_eq!(project.wait_for_end().status.code(), Some(0));
}

/// Collects every file's size, time, mode and content.
fn fingerprints(folder: &Path, found: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let (path, metadata) = (entry.path(), entry.metadata().expect("it is there"));
        let content = if metadata.is_dir() {
            fingerprints(&path, found);
            // A folder's modification time shows that files were created or removed.
            String::new()
        } else {
            format!("{:x}", xxhash_rust::xxh3::xxh3_128(&fs::read(&path).expect("readable")))
        };
        let times = (metadata.mtime(), metadata.mtime_nsec(), metadata.mode(), metadata.ino());
        found.insert(path.display().to_string(), format!("{content} {times:?}"));
    }
}

#[test]
fn indexing_changes_no_file() {
    let mut project = TestProject::empty();
    for (path, text) in NOTES {
        project.write(path, text);
    }
    project.write("odd.md", b"---\ntitle: [unclosed\n---\n\xff\xfe caf\xe9\r\n");
    let (mut before, mut after) = (BTreeMap::new(), BTreeMap::new());
    fingerprints(project.root(), &mut before);
    project.start();
    project.settle();
    project.found("lighthouse lamp");
    project
        .call("ingest_docs", json!({"paths": ["**/*.md"], "tags": ["x"], "skip_if_seen": false}));
    project.settle();
    project.restart();
    project.settle();
    fingerprints(project.root(), &mut after);
    assert_eq!(before, after);
}

#[test]
fn polling_sees_what_events_would() {
    let mut project = TestProject::empty();
    project.set("watch.poll=true");
    project.set("watch.poll_interval_ms=100");
    project.write("a.md", "# A\n\nA heron.\n");
    project.start();
    project.settle();
    assert!(project.status()["watcher"].as_str().expect("text").starts_with("poll"));
    project.write("b/c.md", "# C\n\nAn egret.\n");
    project.remove("a.md");
    project.settle();
    assert_eq!(project.found("egret")[0], "b/c.md");
    assert_eq!(paths(&mut project), ["b/c.md"]);
}

#[test]
fn ignored_files_stay_out_also_when_the_rules_change() {
    let mut project = TestProject::of(NOTES);
    project.write(".kgignore", "sub/\n");
    project.until_graph("left out", |project| {
        (!paths(project).contains(&"sub/log.txt".to_string())).then_some(())
    });
    project.remove(".kgignore");
    project.settle();
    assert_eq!(project.found("lighthouse lamp")[0], "sub/log.txt");
}
