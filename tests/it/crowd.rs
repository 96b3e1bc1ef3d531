//! Many clients at once: every reply comes from a single commit, whatever others write, decide,
//! break off or fail to read.

use serde_json::json;
use tests::crowd::Crowd;
use tests::{Client, TestProject};

#[test]
fn every_reply_of_a_crowd_is_one_commit_s() {
    let mut project = TestProject::empty();
    // Short, so that events often pick up a file before its writer has it ingested.
    project.set("watch.debounce_ms=20");
    let crowd = Crowd { n_askers: 64, n_writers: 8, n_rude: 4, n_bulk: 300 };
    crowd.prepare(&mut project);
    let report = crowd.run(&project, |round| round >= 6);
    assert_eq!(report.complaints, Vec::<String>::new());
    // Makes sure that the checks had something to check.
    assert_eq!((report.n_written, report.n_decided, report.n_bulk), (48, 96, 300));
    assert!(report.n_compared > 20 && report.n_ticks > 20 && report.n_versioned > 20, "{report:?}");
    assert!(report.n_rude > 4, "{}", report.n_rude);
    project.until("they have gone", |status| status["clients"] == 1);
    let log = project.log();
    assert!(!log.contains("ERROR") && !log.contains("panicked"), "{log}");
}

const NOTE: (&str, &str) = ("bystander.md", "# Bystander\n\nThe quince orchard blooms in April.\n");

fn bystander_is_found(project: &mut TestProject) {
    assert_eq!(project.found("quince orchard")[0], NOTE.0);
}

/// A daemon with timeouts short enough for a test; a well-behaved client needs less.
fn impatient() -> TestProject {
    let mut project = TestProject::empty();
    let limits = ["serve.opening_ms=2000", "serve.half_line_ms=500", "serve.slow_reader_ms=500"];
    project.set_environment("KG_FAIL", &limits.join(","));
    project.write(NOTE.0, NOTE.1);
    project.start();
    project.settle();
    project
}

#[test]
fn who_opens_no_session_or_stops_in_a_line_is_cut_off() {
    let mut project = impatient();
    let socket = project.paths().socket.clone();
    let connect = || Client::connect(&socket).expect("it listens");
    let after_sending = |mut client: Client, bytes: &[u8]| {
        client.send_bytes(bytes).expect("it reads");
        client
    };
    let ping = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
    let mut greeter = after_sending(connect(), ping);
    assert_eq!(greeter.next_message().expect("pong")["id"], 1);
    let cut = [
        connect(),
        after_sending(connect(), b"{\"kgd\":1,\"tools\":[\"core\"]}\n"),
        after_sending(connect(), b"{\"kgd\":1,\"too"),
        after_sending(project.agent(), b"{\"jsonrpc\":\"2.0\",\"id\":"),
        greeter,
    ];
    let mut silent = project.agent();
    for mut client in cut {
        bystander_is_found(&mut project);
        // It may get the reason.
        while let Some(message) = client.next_message() {
            assert!(message["error"].is_object(), "{message}");
        }
    }
    // An open session may be silent for any time.
    assert_eq!(silent.ask("ping", json!({}))["result"], json!({}));
    drop(silent);
    project.until("they have gone", |status| status["clients"] == 1);
}

#[test]
fn ten_thousand_requests_that_nobody_reads_cost_their_sender() {
    let mut project = impatient();
    for i in 0..200 {
        project.write(
            &format!("n{i}.md"),
            format!("# Note {i}\n\n{}\n", "A quince for a pear. ".repeat(40)),
        );
    }
    project.settle();
    let before = project.resident_bytes();
    let mut deaf = Client::admin(&project.paths().socket);
    let mut n_sent = 0;
    for id in 0..10_000 {
        let request = json!({
            "jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": {"name": "dump", "arguments": {"limit": 5000}},
        });
        if deaf.send_bytes(format!("{request}\n").as_bytes()).is_err() {
            break;
        }
        n_sent += 1;
        if n_sent % 100 == 0 {
            bystander_is_found(&mut project);
        }
    }
    assert!(n_sent < 10_000, "it was never cut off");
    project.until("it has gone", |status| status["clients"] == 1);
    bystander_is_found(&mut project);
    let grown = project.resident_bytes().saturating_sub(before);
    assert!(grown < 60 << 20, "{} MiB more", grown >> 20);
}
