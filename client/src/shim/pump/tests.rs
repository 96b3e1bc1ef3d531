use std::io::BufRead;
use std::os::unix::net::UnixListener;
use std::sync::mpsc::{Receiver, channel};

use super::*;
use crate::shim::Patience;
use crate::shim::watch::connect_within;

/// A shim between a client and daemons that the test plays.
struct Stage {
    client: BufReader<UnixStream>,
    /// The daemon's end of each connection that the shim opened.
    daemons: Receiver<UnixStream>,
    pump: JoinHandle<()>,
}

/// Starts a pump whose first `refused` attempts to reach a daemon fail.
fn stage(mut refused: u32) -> Stage {
    let (client, ours) = UnixStream::pair().expect("a pair");
    let output = ours.try_clone().expect("a copy");
    let (opened, daemons) = channel();
    let dial = move || {
        if refused > 0 {
            refused -= 1;
            return Err("the daemon is ill\nhint: see `daemon.log`".to_string());
        }
        let (near, far) = UnixStream::pair().map_err(|error| error.to_string())?;
        opened.send(far).map_err(|error| error.to_string())?;
        Ok(near)
    };
    let shim = Shim::new("notes", &["core".to_string()], "test");
    let pump = std::thread::spawn(move || run(shim, ours, output, dial).expect("threads start"));
    Stage { client: BufReader::new(client), daemons, pump }
}

impl Stage {
    fn send_line(&mut self, line: &str) {
        send(self.client.get_mut(), line.as_bytes()).expect("the pump reads");
    }

    fn next_reply(&mut self) -> String {
        next(&mut self.client)
    }

    fn daemon(&mut self) -> BufReader<UnixStream> {
        BufReader::new(self.daemons.recv().expect("a connection"))
    }

    fn end(self) {
        self.client.get_ref().shutdown(Shutdown::Write).expect("open");
        self.pump.join().expect("no panic");
    }
}

fn next(from: &mut impl BufRead) -> String {
    let mut line = String::new();
    from.read_line(&mut line).expect("UTF-8");
    line.trim_end().to_string()
}

fn send_to(to: &mut BufReader<UnixStream>, line: &str) {
    send(to.get_mut(), line.as_bytes()).expect("the shim reads");
}

const PREAMBLE: &str = r#"{"kgd":1,"tools":["core"],"client":"test"}"#;
const INIT: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#;
const READY: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"status"}}"#;
const ANSWER_0: &str = r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18"}}"#;
const ANSWER_1: &str = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;

fn shake_hands(stage: &mut Stage) -> BufReader<UnixStream> {
    stage.send_line(INIT);
    let mut daemon = stage.daemon();
    assert_eq!(next(&mut daemon), PREAMBLE);
    assert_eq!(next(&mut daemon), INIT);
    send_to(&mut daemon, ANSWER_0);
    assert_eq!(stage.next_reply(), ANSWER_0);
    stage.send_line(READY);
    assert_eq!(next(&mut daemon), READY);
    daemon
}

#[test]
fn lines_pass_both_ways_and_the_end_waits_for_answers() {
    let mut stage = stage(0);
    let mut daemon = shake_hands(&mut stage);
    stage.send_line(CALL);
    assert_eq!(next(&mut daemon), CALL);
    stage.client.get_ref().shutdown(Shutdown::Write).expect("open");
    send_to(&mut daemon, ANSWER_1);
    assert_eq!(stage.next_reply(), ANSWER_1);
    stage.pump.join().expect("no panic");
    assert_eq!(next(&mut daemon), "", "the connection is closed");
}

#[test]
fn the_session_survives_a_restart() {
    let mut stage = stage(0);
    let mut first = shake_hands(&mut stage);
    stage.send_line(CALL);
    assert_eq!(next(&mut first), CALL);
    drop(first);
    let lost = stage.next_reply();
    assert!(
        lost.starts_with(
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"daemon restarted""#
        ),
        "{lost}"
    );

    stage.send_line(CALL);
    let mut second = stage.daemon();
    assert_eq!(
        [PREAMBLE, INIT, READY, CALL],
        [(); 4].map(|()| next(&mut second)).each_ref().map(String::as_str)
    );
    send_to(&mut second, ANSWER_0);
    send_to(&mut second, ANSWER_1);
    assert_eq!(stage.next_reply(), ANSWER_1, "the replayed answer is not seen");
    stage.end();
}

#[test]
fn a_handshake_in_flight_reaches_the_next_daemon() {
    let mut stage = stage(0);
    stage.send_line(INIT);
    drop(stage.daemon());
    let mut second = stage.daemon();
    assert_eq!(next(&mut second), PREAMBLE);
    assert_eq!(next(&mut second), INIT);
    send_to(&mut second, ANSWER_0);
    assert_eq!(stage.next_reply(), ANSWER_0);
    stage.end();
}

#[test]
fn daemons_that_die_of_the_handshake_are_given_up() {
    let mut stage = stage(0);
    stage.send_line(INIT);
    for _ in 0..crate::shim::MAX_SILENT {
        drop(stage.daemon());
    }
    let refusal = stage.next_reply();
    assert!(refusal.contains("keeps stopping"), "{refusal}");
    stage.end();
}

#[test]
fn without_a_daemon_each_request_is_answered_and_tried_again() {
    let mut stage = stage(2);
    for _ in 0..2 {
        stage.send_line(INIT);
        let refusal = stage.next_reply();
        assert!(
            refusal.contains(r#""message":"the daemon is ill""#)
                && refusal.contains("see `daemon.log`"),
            "{refusal}"
        );
    }
    shake_hands(&mut stage);
    stage.end();
}

#[test]
fn a_line_that_is_too_long_is_answered_and_the_next_one_passes() {
    let mut stage = stage(0);
    let mut daemon = shake_hands(&mut stage);
    let long =
        format!(r#"{{"jsonrpc":"2.0","method":"{}","id":"big"}}"#, "x".repeat(MAX_LINE_BYTES));
    stage.send_line(&long);
    let refusal = stage.next_reply();
    assert!(
        refusal.starts_with(r#"{"jsonrpc":"2.0","id":"big","error":{"code":-32600"#),
        "{refusal}"
    );
    stage.send_line(CALL);
    assert_eq!(next(&mut daemon), CALL);
    send_to(&mut daemon, ANSWER_1);
    assert_eq!(stage.next_reply(), ANSWER_1);
    stage.end();
}

#[test]
fn a_flood_both_ways_does_not_lock_up() {
    let mut stage = stage(0);
    let mut daemon = shake_hands(&mut stage);
    // More than all buffers on the way hold: the client only writes, and the daemon answers before
    // it reads on.
    let count = 2_000;
    let filler = "y".repeat(1_000);
    let mut writer = stage.client.get_ref().try_clone().expect("a copy");
    let sent = filler.clone();
    let flood = std::thread::spawn(move || {
        for id in 1..=count {
            let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m","params":"{sent}"}}"#);
            send(&mut writer, line.as_bytes()).expect("the pump reads");
        }
    });
    let answers = std::thread::spawn(move || {
        for id in 1..=count {
            assert!(!next(&mut daemon).is_empty());
            send_to(&mut daemon, &format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"{filler}"}}"#));
        }
    });
    for id in 1..=count {
        assert!(stage.next_reply().contains(&format!(r#""id":{id},"#)));
    }
    flood.join().expect("no panic");
    answers.join().expect("no panic");
    stage.end();
}

#[test]
fn a_daemon_that_lets_nobody_in_is_asked_once_a_request() {
    const REFUSAL: &str = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"you are old","data":{"code":"version_mismatch","hint":"update"}}}"#;
    let mut stage = stage(0);
    // Both orders: the daemon closes the connection before it reads the request, and after.
    for reads in [false, true] {
        stage.send_line(INIT);
        let mut daemon = stage.daemon();
        assert_eq!(next(&mut daemon), PREAMBLE);
        if reads {
            assert_eq!(next(&mut daemon), INIT);
        }
        send_to(&mut daemon, REFUSAL);
        drop(daemon);
        assert_eq!(stage.next_reply(), REFUSAL.replace("null", "0"));
    }
    // The daemon was updated meanwhile.
    shake_hands(&mut stage);
    stage.end();
}

/// Starts a pump for a socket on which the test listens; also returns the socket's folder.
fn stage_at_socket(patience: Patience) -> (Stage, UnixListener, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("kgd.sock");
    let listener = UnixListener::bind(&path).expect("a socket");
    let (client, ours) = UnixStream::pair().expect("a pair");
    let output = ours.try_clone().expect("a copy");
    let dial = move || UnixStream::connect(&path).map_err(|error| error.to_string());
    let shim = Shim::new("notes", &["core".to_string()], "test").patient_for(patience);
    let pump = std::thread::spawn(move || run(shim, ours, output, dial).expect("threads start"));
    let (_, daemons) = channel();
    (Stage { client: BufReader::new(client), daemons, pump }, listener, folder)
}

fn accepted(listener: &UnixListener) -> BufReader<UnixStream> {
    BufReader::new(listener.accept().expect("a connection").0)
}

#[test]
fn a_daemon_that_works_for_long_is_waited_for() {
    let patience = Patience { silence: Duration::from_millis(20), sign: Duration::from_secs(20) };
    let (mut stage, listener, _folder) = stage_at_socket(patience);
    stage.send_line(INIT);
    let mut daemon = accepted(&listener);
    for _ in 0..3 {
        let mut second = accepted(&listener);
        assert!(next(&mut second).contains(r#""kgd":1"#));
        let ping = next(&mut second);
        assert!(ping.contains(r#""method":"ping""#), "{ping}");
        send_to(&mut second, r#"{"jsonrpc":"2.0","id":0,"result":{}}"#);
    }
    // A daemon that refuses more clients is alive, too.
    drop(accepted(&listener));
    assert_eq!(next(&mut daemon), PREAMBLE);
    send_to(&mut daemon, ANSWER_0);
    assert_eq!(stage.next_reply(), ANSWER_0);
    stage.end();
}

#[test]
fn a_daemon_that_hangs_is_given_up_by_name_and_asked_again_by_the_next_call() {
    let patience = Patience { silence: Duration::from_millis(20), sign: Duration::from_millis(20) };
    let (mut stage, listener, _folder) = stage_at_socket(patience);
    // Nobody accepts.
    for _ in 0..=crate::shim::MAX_SILENT {
        stage.send_line(INIT);
        let refusal = stage.next_reply();
        assert!(
            refusal.contains("the daemon for `notes` does not answer")
                && refusal.contains("`kgctl restart --project notes`"),
            "{refusal}"
        );
    }
    drop(listener);
    stage.end();
}

#[test]
fn a_queue_of_connections_that_is_full_is_waited_for_so_long() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("kgd.sock");
    let listener = UnixListener::bind(&path).expect("a socket");
    rustix::net::listen(&listener, 1).expect("a shorter queue");
    let patience = Duration::from_millis(100);
    let mut waiting = Vec::new();
    let refused = loop {
        match connect_within(&path, patience) {
            Ok(stream) => waiting.push(stream),
            Err(error) => break error,
        }
        assert!(waiting.len() < 10, "no end of the queue");
    };
    assert_eq!(refused.kind(), ErrorKind::TimedOut);
}
