//! Shutdown: within its limit, with exit code 0, whatever is running; and the next start finds
//! everything.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use config::limits::{DRAIN_SECONDS, FAREWELL_SECONDS};
use serde_json::json;
use tests::{Client, Ended, TestProject, index_text};

/// The promised time, plus what a busy machine may add.
const LIMIT: Duration = Duration::from_secs(DRAIN_SECONDS + FAREWELL_SECONDS + 5);

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

/// Returns the graph and the index of a settled project as one text.
fn picture(project: &mut TestProject) -> String {
    project.settle();
    project.dump().text() + &index_text(&project.paths().index)
}

fn signal(project: &TestProject) {
    let pid = project.pid().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().expect("`kill` runs").success());
}

/// Asks the daemon to end, and checks that it does so in time.
fn stops(project: &mut TestProject) -> Ended {
    let asked = Instant::now();
    signal(project);
    let ended = project.wait_for_end();
    assert_eq!(ended.status.code(), Some(0), "{}", ended.log);
    assert!(asked.elapsed() < LIMIT, "{:?}\n{}", asked.elapsed(), ended.log);
    assert!(!ended.log.contains("ERROR") && !ended.log.contains("panicked"), "{}", ended.log);
    assert!(!project.paths().socket.exists(), "the socket is removed");
    ended
}

#[test]
fn during_an_ingest_of_thousands_it_stops_in_time_and_goes_on_at_the_next_start() {
    // `KG_TEST_FILES` sets another number.
    let n_files = std::env::var("KG_TEST_FILES").ok().and_then(|n| n.parse().ok()).unwrap_or(1_000);
    let mut project = TestProject::empty();
    bulk(&project, n_files);
    for n_documents in [1, u64::from(n_files / 4)] {
        project.start();
        project.until("some documents", |status| {
            status["counts"]["documents"].as_u64() >= Some(n_documents)
        });
        stops(&mut project);
    }
    project.start();
    let live = picture(&mut project);
    let documents = project.status()["counts"]["documents"].as_u64();
    assert_eq!(documents, Some(u64::from(n_files)));
    drop(project);

    let mut fresh = TestProject::empty();
    bulk(&fresh, n_files);
    fresh.start();
    let expected = picture(&mut fresh);
    let differs = live.lines().zip(expected.lines()).find(|(live, expected)| live != expected);
    assert!(live == expected, "{differs:?}");
}

#[test]
fn clients_that_never_read_ask_for_much_or_wait_do_not_hold_it_up() {
    let mut project = TestProject::empty();
    bulk(&project, 200);
    project.start();
    project.settle();
    let mut deaf = Client::admin(&project.paths().socket);
    for _ in 0..50 {
        deaf.request("tools/call", json!({"name": "dump", "arguments": {"limit": 5000}}));
    }
    let mut half = project.agent();
    half.send_bytes(b"{\"jsonrpc\":\"2.0\",\"id\":").expect("it reads");
    let silent = Client::connect(&project.paths().socket).expect("it listens");
    let mut waiting = Client::admin(&project.paths().socket);
    let forever = json!({"name": "wait", "arguments": {"tick": 1_000_000, "timeout_ms": 600_000}});
    let id = waiting.request("tools/call", forever);
    assert_eq!(waiting.ask("ping", json!({}))["result"], json!({}), "it is under way");
    stops(&mut project);
    let reply = waiting.reply_to(id);
    let content = &reply["result"]["structuredContent"];
    assert!(content["code"] == "unavailable" || content["reached"] == false, "{reply}");
    drop((deaf, half, silent));
    project.start();
    project.settle();
    assert_eq!(project.status()["counts"]["documents"], 200);
}

#[test]
fn a_belt_that_does_not_run_empty_is_left_and_a_second_signal_does_not_wait_at_all() {
    let mut project = TestProject::empty();
    bulk(&project, 300);
    for (limits, line) in [
        ("stop.hold_ms=600000,stop.drain_ms=50", "the belt was not finished in time"),
        ("stop.hold_ms=600000,stop.drain_ms=600000", "SIGTERM again: stopping at once"),
    ] {
        project.set_environment("KG_FAIL", limits);
        project.start();
        project.until("some documents", |status| status["counts"]["documents"].as_u64() >= Some(1));
        if line.starts_with("SIGTERM") {
            signal(&project);
            // While it drains, it closes no connection but accepts none.
            while project.paths().socket.exists() {
                std::thread::yield_now();
            }
        }
        let ended = stops(&mut project);
        assert!(ended.log.contains(line), "{}", ended.log);
    }
    project.set_environment("KG_FAIL", "");
    project.start();
    project.settle();
    assert_eq!(project.status()["counts"]["documents"], 300);
}

#[test]
fn systemd_waits_for_longer_than_the_daemon_takes() {
    let unit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../systemd/kgd@.service");
    let unit = std::fs::read_to_string(unit).expect("the unit");
    let allowed = unit.lines().find_map(|line| line.strip_prefix("TimeoutStopSec="));
    let allowed: u64 = allowed.expect("a limit").parse().expect("seconds");
    assert!(allowed >= DRAIN_SECONDS + FAREWELL_SECONDS + 5, "{allowed}");
}
