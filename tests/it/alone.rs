//! A daemon that nobody else can help: a signal ends it for a fault of its own, or another one serves its folder.

use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output, Stdio};

use serde_json::json;
use tests::TestProject;

/// Names and numbers of the signals that end a process for a fault of its own.
const FATAL: [(&str, i32); 5] = [("ABRT", 6), ("BUS", 7), ("FPE", 8), ("ILL", 4), ("SEGV", 11)];

#[test]
fn a_signal_that_ends_the_daemon_leaves_a_line_in_the_log() {
    let mut project = TestProject::empty();
    for (name, number) in FATAL {
        project.start();
        let pid = project.pid().to_string();
        let sent = Command::new("kill").args([&format!("-{name}"), &pid]).status();
        assert!(sent.expect("`kill` runs").success());
        let ended = project.wait_for_end();
        assert_eq!(ended.status.signal(), Some(number), "{}", ended.log);
        let line = format!("kgd: ended by SIG{name}: ");
        assert!(ended.log.lines().filter(|it| it.starts_with(&line)).count() == 1, "{}", ended.log);
    }
}

#[test]
fn a_log_index_that_is_cut_under_the_daemon_ends_it_with_a_line_and_costs_nothing() {
    let mut project = TestProject::of(&[("a.md", "# A\n\nThe tern nests.\n")]);
    let shared = project.paths().index.with_extension("sqlite-shm");
    File::options().write(true).open(&shared).and_then(|it| it.set_len(0)).expect("cut");
    while project.attempt("hybrid_query", json!({"q": "tern"})).is_some() {}
    let ended = project.wait_for_end();
    assert_eq!(ended.status.signal(), Some(7), "{}", ended.log);
    assert!(ended.log.contains("\nkgd: ended by SIGBUS: a file that was mapped"), "{}", ended.log);
    project.start();
    assert_eq!(project.found("tern"), ["a.md"]);
}

#[test]
fn a_second_daemon_with_another_state_folder_is_refused_and_names_the_first() {
    let mut project = TestProject::of(&[("a.md", "# A\n\nThe tern nests.\n")]);
    let link = project.scratch().join("link");
    std::os::unix::fs::symlink(project.root(), &link).expect("a link");
    let scratch = project.scratch().to_path_buf();
    let elsewhere = |command: &mut Command| {
        for (name, folder) in [("STATE", "s2"), ("RUNTIME", "r2"), ("CONFIG", "c2")] {
            command.env(format!("KG_{name}_DIR"), scratch.join(folder));
        }
        command.stdin(Stdio::null()).output().expect("it runs")
    };
    let (pid, state) = (project.pid().to_string(), project.paths().dir.display().to_string());
    let names_the_first = |output: &Output| {
        let said =
            String::from_utf8_lossy(&[&*output.stdout, &output.stderr].concat()).into_owned();
        assert!(said.contains(&format!("is served already by process {pid}")), "{said}");
        assert!(said.contains(&state) && said.contains("hint: use that one"), "{said}");
    };
    let output = elsewhere(&mut project.command());
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    names_the_first(&output);
    // A client that would start a daemon says so at once, too.
    names_the_first(&elsewhere(project.kgctl().arg("--project").arg(&link).arg("status")));
    assert_eq!(
        fs::read_dir(project.root()).expect("a folder").count(),
        1,
        "nothing is written there"
    );
    project.stop();
    let output = elsewhere(project.kgctl().arg("--project").arg(&link).arg("start"));
    assert!(output.status.success(), "{output:?}");
    let refused = project.try_start().expect_err("the other one serves it");
    assert!(refused.log.contains("is served already by process "), "{}", refused.log);
    let output = elsewhere(project.kgctl().arg("--project").arg(&link).arg("stop"));
    assert!(output.status.success(), "{output:?}");
    project.start();
    assert_eq!(project.found("tern"), ["a.md"]);
}
