//! The deep pass: runs after everything is searchable, at the lowest priority.

use std::process::{Command, Output};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tests::{Client, TestProject};

const LETTER: &str = "# Letter\n\nAda Lovelace visited Charles Babbage in London. Babbage welcomed her with tea.\n\n\
     The painter met them near Antwerp in spring.\n";

/// Returns the people in a document, by its mentions.
fn people(project: &mut TestProject, path: &str) -> Vec<String> {
    let graph = project.dump();
    let of_file = graph.rows("mention").filter(|row| row["path"] == path);
    let rows = of_file.filter(|row| row["type"] == "Person");
    let mut found: Vec<String> =
        rows.map(|row| row["surface"].as_str().unwrap_or("?").to_string()).collect();
    found.sort();
    found
}

/// Counts the mentions found by the English model, which only the deep pass runs.
fn by_model(project: &mut TestProject) -> usize {
    let graph = project.dump();
    graph.rows("mention").filter(|row| row["recognizer"] == "statistical").count()
}

fn deep(status: &Value) -> (u64, bool) {
    let left = status["deep"]["left"].as_u64().expect("the deep pass is on");
    (left, status["deep"]["paused"].as_bool().expect("a flag"))
}

#[test]
fn names_that_no_form_tells_are_found_when_everything_is_searchable() {
    let mut project = TestProject::of(&[("letter.md", LETTER)]);
    assert_eq!(people(&mut project, "letter.md"), ["Ada Lovelace", "Babbage", "Charles Babbage"]);
    assert_eq!(deep(&project.status()), (0, false));
    project.verify("after the deep pass");
}

#[test]
fn a_pause_keeps_everything_searchable_and_a_resume_goes_on() {
    let mut project = TestProject::empty();
    project.start();
    project.settle();
    project.call("deep_pass", json!({"pause": true}));
    project.write("letter.md", LETTER);
    let status = project.until("the letter is indexed", |status| {
        status["progress"]["indexed"] == 1 && status["settled"] == true
    });
    assert_eq!(deep(&status), (1, true));
    assert_eq!(project.found("Babbage welcomed")[0], "letter.md");
    assert_eq!(by_model(&mut project), 0);
    let refused = project.try_call("verify", json!({})).expect_err("half of it is not comparable");
    assert!(refused["message"].as_str().unwrap_or("").contains("paused"), "{refused}");

    let reply = project.call("deep_pass", json!({"pause": false}));
    assert_eq!(reply["deep"]["paused"], false);
    project.settle();
    assert_eq!(people(&mut project, "letter.md").len(), 3);
    assert!(by_model(&mut project) > 0);
    project.verify("after the pause");
}

#[test]
fn a_document_once_read_deeply_keeps_its_names_through_edits_and_renames() {
    // The folder exists beforehand: events of a new folder come late on a busy machine, and a file
    // that comes back after its removal was committed is a different document.
    let mut project = TestProject::of(&[("letter.md", LETTER), ("old/note.md", "# Note\n")]);
    project.call("deep_pass", json!({"pause": true}));
    // With the pass paused, only a document that is read deeply at once can show such names.
    project.write("letter.md", format!("{LETTER}\nA quokka more.\n"));
    project.until_graph("the edit is indexed", |it| {
        it.found("a quokka more").contains(&"letter.md".to_string()).then_some(())
    });
    assert_eq!(people(&mut project, "letter.md").len(), 3);
    project.rename("letter.md", "old/letter.md");
    project.until_graph("the move is indexed", |it| {
        it.found("a quokka more").contains(&"old/letter.md".to_string()).then_some(())
    });
    assert_eq!(people(&mut project, "old/letter.md").len(), 3);
}

#[test]
fn a_large_document_shows_its_edit_before_it_is_read_deeply() {
    let letters = |last: &str| {
        let rows =
            (0..3_000).map(|n| format!("Row {n} of the ledger is kept for the harbour.\n\n"));
        format!("{LETTER}\n{}{last}\n", rows.collect::<String>())
    };
    let mut project = TestProject::of(&[("ledger.md", &letters("End."))]);
    assert!(by_model(&mut project) > 0);
    project.call("deep_pass", json!({"pause": true}));
    project.write("ledger.md", letters("A quokka more."));
    project.until("it waits for the deep pass again", |status| status["deep"]["left"] == 1);
    let reply = project.call("hybrid_query", json!({"q": "quokka", "formula": "text"}));
    assert!(reply.to_string().contains("A quokka more"), "{reply}");
    assert_eq!(by_model(&mut project), 0);
    project.call("deep_pass", json!({"pause": false}));
    project.settle();
    assert!(by_model(&mut project) > 0);
    project.verify("after the deep pass came back");
}

#[test]
fn a_daemon_that_dies_in_the_deep_pass_resumes_it() {
    let mut project = TestProject::empty();
    for n in 0..40 {
        project.write(&format!("letter-{n}.md"), LETTER.replace("Letter", &format!("Letter {n}")));
    }
    project.fail("deep.marked");
    project.launch();
    project.wait_for_end();
    project.fail("");
    project.start();
    project.settle();
    assert_eq!(deep(&project.status()), (0, false));
    assert_eq!(people(&mut project, "letter-39.md").len(), 3);
    project.verify("after a death");
}

#[test]
fn the_setting_switches_it_off() {
    let mut project = TestProject::empty();
    project.write("kg.yaml", "recognize:\n  deep: false\n");
    project.write("letter.md", LETTER);
    project.start();
    project.settle();
    assert!(project.status()["deep"].is_null());
    assert_eq!(by_model(&mut project), 0);
}

#[test]
fn the_deep_pass_rests_while_the_machine_is_busy_unless_somebody_waits() {
    let mut project = TestProject::empty();
    project.write("letter.md", LETTER);
    project.fail("courtesy.pressure=90");
    project.start();
    // A call would let the pass continue.
    let deadline = Instant::now() + Duration::from_secs(90);
    while !project.log().contains("the deep pass is paused") {
        assert!(Instant::now() < deadline, "never\n{}", project.log());
        std::thread::sleep(Duration::from_millis(20));
    }
    let status = project.status();
    assert_eq!(status["deep"]["rests_for"], "other programs use the processor", "{status:#}");
    assert_eq!(status["stages_settled"]["resolved"], true, "{status:#}");
    assert_eq!(status["settled"], false, "a pause is not settled");
    project.settle();
    assert_eq!(people(&mut project, "letter.md"), ["Ada Lovelace", "Babbage", "Charles Babbage"]);
}

#[test]
fn background_work_gives_way_to_other_sessions_until_somebody_asks() {
    let probe = ["setsid", "sh", "-c", "echo 19 >/proc/self/autogroup"];
    let probed = Command::new(probe[0]).args(&probe[1..]).status();
    if !probed.is_ok_and(|status| status.success()) {
        eprintln!("processors are not shared by session here, or not by ours: skipped");
        return;
    }
    // Started as a client starts it, through a launcher that opens a session and ends.
    let project = TestProject::empty();
    project.write("kg.yaml", "embed:\n  background: idle\n");
    for n in 0..600 {
        let words: String = (0..120).map(|word| format!("word{} ", n * 500 + word)).collect();
        project.write(&format!("{n}.md"), format!("# Page {n}\n\n{words}\n"));
    }
    let _stopped_at_the_end = Started(&project);
    let asked = in_folder(&project, &["query", "word1"]);
    assert!(asked.status.success(), "{asked:?}");
    let pid = std::fs::read_to_string(&project.paths().lock).expect("a lock");
    let file = format!("/proc/{}/autogroup", pid.split_whitespace().next().expect("a process id"));
    // A call to the daemon would change what is observed.
    let until = |share: &str| {
        let deadline = Instant::now() + Duration::from_secs(90);
        while !std::fs::read_to_string(&file).expect("it runs").trim().ends_with(share) {
            assert!(Instant::now() < deadline, "never at {share}");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    until("nice 19");
    let mut person = Client::admin(&project.paths().socket);
    let call = json!({"name": "wait", "arguments": {"tick": 1_000_000, "timeout_ms": 60_000}});
    person.request("tools/call", call);
    until("nice 0");
}

fn in_folder(project: &TestProject, arguments: &[&str]) -> Output {
    let mut kgctl = project.kgctl();
    let output = kgctl.arg("--project").arg(project.root()).args(arguments).output();
    output.expect("kgctl runs")
}

/// Stops the daemon that a client has started.
struct Started<'a>(&'a TestProject);

impl Drop for Started<'_> {
    fn drop(&mut self) {
        in_folder(self.0, &["stop"]);
    }
}
