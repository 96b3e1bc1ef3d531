use std::io::BufRead;
use std::net::Shutdown;
use std::sync::mpsc::channel;
use std::thread::JoinHandle;

use config::Project;
use serde_json::Value;

use super::*;

/// A gateway over `a` and `b`, between a client and daemons that the test plays.
struct Stage {
    client: BufReader<UnixStream>,
    daemons: [Receiver<UnixStream>; 2],
    pump: JoinHandle<()>,
}

fn stage(refused: [bool; 2]) -> Stage {
    let (client, ours) = UnixStream::pair().expect("a pair");
    let output = ours.try_clone().expect("a copy");
    let names = ["a", "b"];
    let project = |name: &str| Project { root: format!("/{name}").into(), name: name.into() };
    let served = Served::new(&names.map(project)).expect("distinct");
    let mut daemons = Vec::new();
    let mut openings = Vec::new();
    for (name, refused) in names.iter().zip(refused) {
        let (opened, daemon) = channel();
        daemons.push(daemon);
        openings.push((name.to_string(), refused, opened));
    }
    let reach: Reach = Box::new(move |project| {
        let opening = openings.iter().find(|(name, ..)| *name == project.name).cloned();
        let (name, refused, opened) = opening.expect("a known project");
        let dial = move || {
            if refused {
                return Err("the daemon is ill\nhint: see `daemon.log`".to_string());
            }
            let (near, far) = UnixStream::pair().map_err(|error| error.to_string())?;
            opened.send(far).map_err(|error| error.to_string())?;
            Ok(near)
        };
        (Shim::new(&name, &["core".to_string()], "test"), Box::new(dial))
    });
    let gateway = Gateway::new(served, Duration::from_secs(1)).structured(true);
    let pump =
        std::thread::spawn(move || run(gateway, ours, output, reach, None).expect("threads start"));
    let daemons = daemons.try_into().expect("two");
    Stage { client: BufReader::new(client), daemons, pump }
}

impl Stage {
    fn send_message(&mut self, message: Value) {
        send_to(&mut self.client, &message);
    }

    fn next_reply(&mut self) -> Value {
        next(&mut self.client)
    }

    /// Returns the next connection to a daemon, after its handshake.
    fn daemon(&mut self, project: usize) -> BufReader<UnixStream> {
        let mut daemon = BufReader::new(self.daemons[project].recv().expect("a connection"));
        assert_eq!(next(&mut daemon)["client"], "test");
        let hello = next(&mut daemon);
        assert_eq!(hello["method"], "initialize");
        let name = ["a", "b"][project];
        send_to(&mut daemon, &json!({"id": hello["id"], "result": {"serverInfo": {"name": name}}}));
        assert_eq!(next(&mut daemon)["method"], "notifications/initialized");
        daemon
    }

    fn end(self) {
        self.client.get_ref().shutdown(Shutdown::Write).expect("open");
        self.pump.join().expect("no panic");
    }
}

fn next(from: &mut impl BufRead) -> Value {
    let mut line = String::new();
    from.read_line(&mut line).expect("UTF-8");
    serde_json::from_str(&line).unwrap_or_default()
}

fn send_to(to: &mut BufReader<UnixStream>, message: &Value) {
    to.get_mut().write_all(format!("{message}\n").as_bytes()).expect("somebody reads");
}

fn hello() -> Value {
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}})
}

fn call(id: u64, tool: &str, arguments: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
}

fn found(asked: &Value, name: &str) -> Value {
    let entities = json!([{"id": 1, "name": name, "type": "Term"}]);
    json!({"id": asked["id"], "result": {"structuredContent": {"entities": entities, "tick": 1}}})
}

#[test]
fn a_search_reaches_both_and_the_end_waits_for_it() {
    let mut stage = stage([false, false]);
    stage.send_message(hello());
    let mut a = stage.daemon(0);
    assert_eq!(stage.next_reply()["result"]["serverInfo"]["name"], "a");
    stage.send_message(call(1, "entity_lookup", json!({"q": "x"})));
    let mut b = stage.daemon(1);
    let asked = [next(&mut a), next(&mut b)];
    stage.client.get_ref().shutdown(Shutdown::Write).expect("open");
    send_to(&mut b, &found(&asked[1], "B"));
    send_to(&mut a, &found(&asked[0], "A"));
    let text = stage.next_reply()["result"]["content"][0]["text"].to_string();
    assert!(text.contains("1. [a] A (Term, id 1)\\n2. [b] B (Term, id 1)"), "{text}");
    stage.pump.join().expect("no panic");
}

#[test]
fn one_that_is_dead_and_one_that_sleeps_keep_nobody_waiting() {
    let mut stage = stage([true, false]);
    stage.send_message(hello());
    // The first project refuses, so the second one answers.
    let mut b = stage.daemon(1);
    assert_eq!(stage.next_reply()["result"]["serverInfo"]["name"], "b");
    stage.send_message(call(1, "entity_lookup", json!({"q": "x"})));
    let asked = next(&mut b);
    send_to(&mut b, &found(&asked, "B"));
    let reply = stage.next_reply();
    let away = &reply["result"]["structuredContent"]["unavailable"][0];
    assert_eq!((&away["project"], &away["message"]), (&json!("a"), &json!("the daemon is ill")));
    // From here on it does not answer: other calls continue, and the search ends without it.
    stage.send_message(call(2, "entity_lookup", json!({"q": "x"})));
    assert_eq!(next(&mut b)["params"]["name"], "entity_lookup");
    stage.send_message(json!({"jsonrpc": "2.0", "id": 3, "method": "ping"}));
    assert_eq!(stage.next_reply()["id"], 3);
    let late = stage.next_reply();
    assert_eq!((&late["id"], &late["result"]["isError"]), (&json!(2), &json!(true)));
    assert_eq!(next(&mut b)["method"], "notifications/cancelled");
    stage.end();
}

#[test]
fn a_project_that_takes_nothing_is_refused_in_its_name() {
    let mut stage = stage([false, false]);
    stage.send_message(hello());
    let _a = stage.daemon(0);
    assert_eq!(stage.next_reply()["id"], 0);
    // More than the socket, the pump and the channel hold together.
    let long = "x".repeat(100_000);
    let n = 80;
    let mut sender = stage.client.get_ref().try_clone().expect("a copy");
    let flood = std::thread::spawn(move || {
        for id in 1..=n {
            let line = format!("{}\n", call(id, "status", json!({"project": "a", "q": long})));
            sender.write_all(line.as_bytes()).expect("the pump reads");
        }
    });
    let refused = stage.next_reply();
    assert_eq!(refused["error"]["message"], "`a` does not take any more requests");
    assert_eq!(refused["error"]["data"]["code"], "unavailable");
    flood.join().expect("all is taken");
    stage.send_message(json!({"jsonrpc": "2.0", "id": "still here", "method": "ping"}));
    while stage.next_reply()["id"] != "still here" {}
}

#[test]
fn a_line_that_is_too_long_is_refused() {
    let mut stage = stage([false, false]);
    let long = "x".repeat(MAX_LINE_BYTES);
    stage.send_message(
        json!({"jsonrpc": "2.0", "id": 5, "method": "ping", "params": {"long": long}}),
    );
    let refused = stage.next_reply();
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(5), &json!(-32_600)));
    stage.end();
}
