//! Workers: documents are parsed outside the daemon; what happens if a worker crashes, hangs, uses
//! too much memory or tries to reach out.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tests::TestProject;

/// Returns a page with a word that only it contains.
fn page(word: &str) -> String {
    format!(
        "<html><body><h1>Page {word}</h1><p>The {word} lies here. {}</p></body></html>",
        "More text follows. ".repeat(20)
    )
}

/// Returns a page that makes its worker misbehave; see `daemon/formats/src/sandbox/misdeed.rs`.
fn misdeed(name: &str) -> String {
    page(&format!("misdeed:{name} in the secret text"))
}

/// Returns the reasons of quarantine by path.
fn quarantine(project: &mut TestProject) -> BTreeMap<String, String> {
    let status = project.status();
    let rows = status["quarantine"].as_array().expect("a list").clone();
    let text = |row: &serde_json::Value, key: &str| row[key].as_str().expect("text").to_string();
    rows.iter().map(|row| (text(row, "path"), text(row, "reason"))).collect()
}

/// Returns the processes whose parent is the daemon.
fn children(project: &TestProject) -> Vec<u32> {
    let pid = project.pid();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").expect("Linux").flatten() {
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1));
        if parent == Some(&pid.to_string()) {
            found.push(entry.file_name().to_string_lossy().parse().expect("a process"));
        }
    }
    found
}

#[test]
fn html_is_parsed_in_a_confined_process() {
    let mut project =
        TestProject::of(&[("a.html", &page("aardvark")), ("b.md", "# Plain\n\nText.")]);
    assert_eq!(project.found("aardvark")[0], "a.html");
    let workers = &project.status()["workers"];
    assert_eq!(workers["failed"], 0, "{workers:#}");
    assert!(workers["started"].as_u64() >= Some(1), "{workers:#}");
    let sandbox = workers["sandbox"].as_str().expect("a worker was started");
    for part in ["no new privileges", "rlimits", "landlock", "seccomp"] {
        assert!(sandbox.contains(part), "{sandbox}");
    }
}

#[test]
fn a_worker_has_nothing_but_its_socket_and_its_document() {
    let mut project = TestProject::of(&[("a.html", &page("aardvark"))]);
    let status = project.until("a worker waits", |status| status["workers"]["running"] != 0);
    assert_eq!(status["workers"]["busy"], 0);
    for child in children(&project) {
        let proc = PathBuf::from(format!("/proc/{child}"));
        let status = fs::read_to_string(proc.join("status")).expect("it runs");
        let field = |name: &str| {
            let line = status.lines().find(|line| line.starts_with(name)).unwrap_or_default();
            line.split_whitespace().nth(1).unwrap_or_default().to_string()
        };
        assert_eq!(field("NoNewPrivs:"), "1");
        assert_eq!(field("Seccomp:"), "2");
        assert_eq!(field("Threads:"), "1");
        assert_eq!(fs::read(proc.join("environ")).expect("readable by root"), b"");
        assert_eq!(fs::read_link(proc.join("cwd")).expect("readable by root"), PathBuf::from("/"));
        let limits = fs::read_to_string(proc.join("limits")).expect("it runs");
        for (name, value) in
            [("Max core file size", "0"), ("Max file size", "0"), ("Max open files", "8")]
        {
            let line = limits.lines().find(|line| line.starts_with(name)).expect("a limit");
            assert_eq!(line[name.len()..].split_whitespace().next(), Some(value), "{line}");
        }
        let n_open = fs::read_dir(proc.join("fd")).expect("readable by root").count();
        assert_eq!(n_open, 3, "standard streams and no more");
    }
}

#[test]
fn whatever_a_parser_does_costs_one_document_and_says_why() {
    let mut project = TestProject::empty();
    project.fail("worker.obeys=1000");
    for setting in
        ["worker.max_seconds=3000", "worker.max_cpu_seconds=1", "worker.max_memory_bytes=100000000"]
    {
        project.set(setting);
    }
    let expected = [
        ("abort", "normalize: the parser crashed (SIGABRT)"),
        ("allocate", "normalize: parsing needed more than 100 MB of memory"),
        ("connect", "normalize: the parser tried a system call that is forbidden to it (SIGSYS)"),
        ("exit", "normalize: the parser ended with exit code 7"),
        ("fork", "normalize: the parser tried a system call that is forbidden to it (SIGSYS)"),
        ("garbage", "normalize: the parser's output is larger than"),
        ("half", "normalize: the parser ended with exit code 0"),
        ("huge", "normalize: the parser's output is larger than"),
        ("overflow", "normalize: the parser overflowed its stack (SIGABRT)"),
        ("panic", "normalize: the parser panicked at daemon/formats/src/sandbox/misdeed.rs:"),
        ("print", "normalize: parsing took more than 1 s of the processor"),
        ("spin", "normalize: parsing took more than 1 s of the processor"),
        ("thread", "normalize: the parser tried a system call that is forbidden to it (SIGSYS)"),
    ];
    for (name, _) in expected {
        project.write(&format!("bad/{name}.html"), misdeed(name));
        project.write(&format!("good/{name}.html"), page(&format!("zqgood{name}")));
    }
    // The system refuses these calls, which harms nobody.
    for name in ["open", "signal"] {
        project.write(&format!("good/{name}.html"), misdeed(name));
    }
    project.start();
    project.settle();
    let rows = quarantine(&mut project);
    for (name, reason) in expected {
        let found =
            rows.get(&format!("bad/{name}.html")).unwrap_or_else(|| panic!("{name}: {rows:#?}"));
        let reason = reason.strip_prefix("normalize: ").expect("a stage");
        assert!(found.contains(reason), "{name}: {found}");
        assert_eq!(project.found(&format!("zqgood{name}"))[0], format!("good/{name}.html"));
    }
    assert_eq!(rows.len(), expected.len(), "{rows:#?}");
    let status = project.status();
    assert_eq!(status["workers"]["busy"], 0);
    assert_eq!(status["workers"]["failed"], expected.len(), "{:#}", status["workers"]);
    // What a parser prints, its panic messages and its replies are not logged.
    assert!(!project.log().contains("secret text"), "{}", project.log());
    assert!(!serde_json::to_string(&status).expect("JSON").contains("secret text"));
    // The pool still works: later pages are parsed, and a bad file may become good.
    project.write("bad/spin.html", page("zqlater"));
    project.until_graph("it is found", |project| {
        (project.found("zqlater").first()? == "bad/spin.html").then_some(())
    });
}

#[test]
fn a_parser_that_hangs_is_ended_and_tried_again_later() {
    let mut project = TestProject::empty();
    project.set("worker.max_seconds=5");
    project.fail("worker.obeys=1");
    project.write("stuck.html", misdeed("sleep"));
    project.start();
    let row = project.until("it is given up", |status| status["quarantine"][0] != Value::Null);
    assert_eq!(row["quarantine"][0]["reason"], "parsing took longer than 5 s");
    project.call("retry", json!({}));
    project.until_graph("it is read", |project| {
        (project.found("secret").first()? == "stuck.html").then_some(())
    });
    project.settle();
    assert!(quarantine(&mut project).is_empty());
}

#[test]
fn a_document_whose_worker_is_killed_from_outside_is_parsed_by_another() {
    let mut project = TestProject::empty();
    for setting in ["worker.max_seconds=3000", "worker.max_cpu_seconds=3000"] {
        project.set(setting);
    }
    // The first parse never ends; the second attempt does.
    project.fail("worker.obeys=1");
    project.write("stuck.html", misdeed("sleep"));
    project.start();
    project.until("the worker is stuck", |status| status["workers"]["busy"] == 1);
    for child in children(&project) {
        kill_process(Pid::from_raw(child as i32).expect("a process"), Signal::KILL).expect("ours");
    }
    project.settle();
    assert_eq!(project.found("secret"), ["stuck.html"]);
    assert!(quarantine(&mut project).is_empty());
    let workers = &project.status()["workers"];
    assert!(workers["started"].as_u64() >= Some(2), "{workers:#}");
    assert_eq!(workers["failed"], 1, "{workers:#}");
}

#[test]
fn what_was_just_saved_does_not_wait_for_a_bulk_document() {
    let mut project = TestProject::empty();
    for setting in ["worker.max_seconds=3000", "worker.max_cpu_seconds=3000", "worker.processes=1"]
    {
        project.set(setting);
    }
    project.fail("worker.obeys=1");
    project.write("stuck.html", misdeed("sleep"));
    project.start();
    project.until("the bulk worker is stuck", |status| status["workers"]["busy"] == 1);
    project.write("saved.html", page("aardvark"));
    project.until_graph("the saved page is found", |project| {
        (project.found("aardvark").first()? == "saved.html").then_some(())
    });
    assert_eq!(project.status()["workers"]["busy"], 1);
}

#[test]
fn workers_end_with_their_daemon_and_when_there_is_nothing_to_do() {
    let mut project = TestProject::empty();
    project.set("worker.idle_seconds=1");
    project.write("a.html", page("aardvark"));
    project.start();
    project.settle();
    // The daemon's own background reading does not use workers.
    project.until("no worker is kept", |status| status["workers"]["running"] == 0);
    project.until_graph("none runs", |project| children(project).is_empty().then_some(()));
    project.write("a.html", page("badger"));
    project.settle();
    assert_eq!(project.found("badger")[0], "a.html");
    project.set("worker.max_seconds=3000");
    project.set("worker.idle_seconds=3000");
    project.fail("worker.obeys=1");
    project.restart();
    project.write("stuck.html", misdeed("sleep"));
    project.until("a worker is stuck", |status| status["workers"]["busy"] == 1);
    let left = children(&project);
    assert!(!left.is_empty());
    project.kill9();
    for child in left {
        let proc = format!("/proc/{child}/stat");
        let runs = || fs::read_to_string(&proc).is_ok_and(|stat| !stat.contains(") Z "));
        while runs() {
            std::thread::yield_now();
        }
    }
}

#[test]
fn files_whose_bytes_are_not_text_may_be_larger() {
    let mut project = TestProject::empty();
    project.set("watch.extensions=md,pdf");
    project.set("watch.max_file_bytes=1000");
    project.set("watch.max_document_bytes=3000");
    for (name, n_bytes) in [("a.md", 1_000), ("b.md", 1_001), ("c.pdf", 3_000), ("d.pdf", 3_001)] {
        project.write(name, "x".repeat(n_bytes));
    }
    project.start();
    let status = project.until("all are judged", |status| {
        status["settled"] == true && status["skipped"]["too large"] != Value::Null
    });
    assert_eq!(status["skipped"]["too large"], 2, "{:#}", status["skipped"]);
}
