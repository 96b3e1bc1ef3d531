//! Client and daemon of different versions, and who starts whom: the messages to people and agents,
//! and which daemon is replaced. `KG_TEST_VERSION` makes a program pretend to be another version.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixListener;
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};

use expect_test::expect;
use serde_json::{Value, json};
use tests::{Client, TestProject};

const NOTE: (&str, &str) = ("note.md", "# Note\n\nThe quince orchard blooms in April.\n");

/// A folder whose daemons are started by the clients under test, and end with this value.
struct Home {
    project: TestProject,
}

impl Home {
    fn new() -> Self {
        let project = TestProject::empty();
        project.write(NOTE.0, NOTE.1);
        Home { project }
    }

    fn command(&self, name: &str, version: &str) -> Command {
        let mut command = Command::new(tests::kgctl().with_file_name(name));
        command
            .arg("--project")
            .arg(self.project.root())
            .env("KG_STATE_DIR", self.project.scratch().join("state"))
            .env("KG_RUNTIME_DIR", self.project.scratch().join("run"))
            .env("KG_CONFIG_DIR", self.project.scratch().join("config"))
            .env("KGD_BIN", tests::kgd())
            .env("KG_TEST_VERSION", version)
            .env_remove("KG_PROJECT")
            .current_dir(self.project.scratch());
        command
    }

    fn kgctl(&self, version: &str, arguments: &[&str]) -> (i32, String, String) {
        let output = self.command("kgctl", version).args(arguments).stdin(Stdio::null()).output();
        let Output { status, stdout, stderr } = output.expect("it starts");
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        (status.code().unwrap_or(-1), text(stdout), self.unflagged(&text(stderr)))
    }

    /// Returns a message without the flag that names the project.
    fn unflagged(&self, text: &str) -> String {
        text.replace(&format!(" --project {}", self.project.root().display()), "")
    }

    /// Returns the content of the lock file: process, version, lifetime.
    fn holder(&self) -> Vec<String> {
        let text = std::fs::read_to_string(&self.project.paths().lock).expect("a lock file");
        text.split_whitespace().map(String::from).collect()
    }

    /// Returns the version and the lifetime of the serving daemon.
    fn serves(&self) -> String {
        self.holder().get(1..).unwrap_or_default().join(" ")
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        if self.project.paths().lock.exists() {
            let (code, _, trouble) = self.kgctl("", &["stop"]);
            assert!(code == 0 || std::thread::panicking(), "{trouble}");
        }
    }
}

/// An agent's `kg-mcp`.
struct Agent {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next_id: i64,
}

impl Agent {
    fn new(home: &Home, version: &str) -> Self {
        let mut command = home.command("kg-mcp", version);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let input = child.stdin.take().expect("piped");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        Agent { child, input, output, next_id: 0 }
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.next_id += 1;
        let request =
            json!({"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params});
        writeln!(self.input, "{request}").expect("it reads");
        let mut line = String::new();
        self.output.read_line(&mut line).expect("it answers");
        let reply: Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(reply["id"], self.next_id, "{reply}");
        reply
    }

    fn greet(&mut self) -> Value {
        let client = json!({"name": "tests", "version": "0"});
        let params =
            json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
        self.ask("initialize", params)
    }

    /// Ends it; returns what it wrote to standard error.
    fn end(self) -> String {
        drop(self.input);
        let output = self.child.wait_with_output().expect("our own child");
        assert_eq!(output.status.code(), Some(0));
        String::from_utf8_lossy(&output.stderr).into_owned()
    }
}

#[test]
fn a_daemon_of_another_version_is_told_of() {
    let home = Home::new();
    assert_eq!(home.kgctl("0.2.0", &["start"]).0, 0);
    assert_eq!(home.serves(), "0.2.0 stay");
    let (code, out, err) = home.kgctl("0.2.0", &["query", "quince"]);
    assert_eq!((code, err.as_str(), out.contains("note.md")), (0, "", true), "{out}");
    let (code, out, err) = home.kgctl("0.3.0", &["query", "quince"]);
    assert!(code == 0 && out.contains("note.md"), "{out}{err}");
    expect![[r#"
        note: the daemon is 0.2.0, kgctl is 0.3.0
        hint: `kgctl restart` runs the installed one
    "#]]
    .assert_eq(&err);
    let (code, _, err) = home.kgctl("0.1.0", &["query", "quince"]);
    assert_eq!(code, 0);
    expect![[r#"
        note: the daemon is 0.2.0, kgctl is 0.1.0
        hint: install version 0.2.0 of kgctl, too
    "#]]
    .assert_eq(&err);
    // A daemon that a person started is never replaced.
    let mut agent = Agent::new(&home, "0.3.0");
    assert_eq!(agent.greet()["result"]["serverInfo"]["version"], "0.2.0");
    expect![[r#"
        note: the daemon is 0.2.0, kg-mcp is 0.3.0
        hint: `kgctl restart` runs the installed one
    "#]]
    .assert_eq(&home.unflagged(&agent.end()));
}

#[test]
fn an_older_daemon_that_a_client_started_is_replaced() {
    let home = Home::new();
    let mut old = Agent::new(&home, "0.1.0");
    assert_eq!(old.greet()["result"]["serverInfo"]["version"], "0.1.0");
    assert_eq!(home.serves(), "0.1.0 until-idle");
    let mut new = Agent::new(&home, "0.2.0");
    assert_eq!(new.greet()["result"]["serverInfo"]["version"], "0.2.0");
    assert_eq!(home.serves(), "0.2.0 until-idle");
    // The old agent's session continues with the new daemon, which no older client replaces.
    let found = json!({"name": "hybrid_query", "arguments": {"q": "quince orchard"}});
    let reply = old.ask("tools/call", found.clone());
    let reply = match reply.get("error") {
        // The request may fail because its daemon ended; then the agent repeats it.
        Some(_) => old.ask("tools/call", found),
        None => reply,
    };
    assert!(reply["result"].is_object(), "{reply}");
    assert_eq!(home.serves(), "0.2.0 until-idle");
    let errors = old.end();
    assert!(errors.contains("the daemon is 0.2.0, kg-mcp is 0.1.0"), "{errors}");
    assert_eq!(new.end(), "");
}

#[test]
fn a_daemon_that_would_come_back_as_old_is_left_alone() {
    let home = Home::new();
    Agent::new(&home, "0.1.0").greet();
    let before = home.holder();
    // This client is newer than the installed kgd: replacing the daemon would change nothing.
    let installed = home.project.scratch().join("kgd");
    let script =
        format!("#!/bin/sh\nKG_TEST_VERSION=0.1.0 exec '{}' \"$@\"\n", tests::kgd().display());
    std::fs::write(&installed, script).expect("written");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    std::fs::set_permissions(&installed, mode).expect("our own file");
    let mut command = home.command("kgctl", "0.2.0");
    let output = command.args(["query", "quince"]).env("KGD_BIN", &installed).output();
    let output = output.expect("it starts");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && errors.starts_with("note: the daemon is 0.1.0"), "{errors}");
    assert_eq!(home.holder(), before);
}

#[test]
fn a_client_with_another_preamble_is_told_why() {
    let mut project = TestProject::of(&[NOTE]);
    let mut shown = String::new();
    for preamble in [json!({"kgd": 2, "tools": {"new": true}}), json!({"kgd": 0})] {
        let mut client = Client::connect(&project.paths().socket).expect("it listens");
        client.send(&preamble);
        shown += &format!("{}\n", client.next_message().expect("why"));
        assert_eq!(client.next_message(), None);
    }
    expect![[r#"
        {"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"the client speaks preamble 2, this daemon (0.1.0) speaks 1","data":{"code":"version_mismatch","hint":"the daemon is older: `kgctl restart` runs the installed one"}}}
        {"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"the client speaks preamble 0, this daemon (0.1.0) speaks 1","data":{"code":"version_mismatch","hint":"the client is older: install version 0.1.0 of it, too"}}}
    "#]]
    .assert_eq(&shown);
    project.status();
}

/// Plays a daemon that refuses a number of connections, then closes its socket.
fn refusing(home: &Home, refusal: Value, n_times: usize) -> std::thread::JoinHandle<Vec<String>> {
    let socket = home.project.paths().socket.clone();
    std::fs::create_dir_all(socket.parent().expect("in a folder")).expect("made");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    std::fs::set_permissions(socket.parent().expect("in a folder"), mode).expect("our own");
    let listener = UnixListener::bind(&socket).expect("bound");
    std::thread::spawn(move || {
        let mut received = Vec::new();
        for stream in listener.incoming().take(n_times).flatten() {
            let mut line = String::new();
            BufReader::new(&stream).read_line(&mut line).expect("a preamble");
            received.push(line.trim_end().to_string());
            if refusal.is_object() {
                writeln!(&stream, "{refusal}").expect("it reads");
            }
        }
        // Like a daemon that ends: nobody finds it any more.
        std::fs::remove_file(&socket).expect("ours");
        received
    })
}

fn newer() -> Value {
    let data = json!({"code": "version_mismatch", "hint": "install version 9.0.0 of it, too"});
    json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32000, "message": "you are old", "data": data}})
}

#[test]
fn a_newer_daemon_s_refusal_reaches_people_and_agents() {
    let home = Home::new();
    let daemon = refusing(&home, newer(), 4);
    let (code, out, err) = home.kgctl("", &["query", "quince"]);
    assert_eq!((code, out.as_str()), (2, ""));
    expect![[r#"
        error: you are old
        hint: install version 9.0.0 of it, too
    "#]]
    .assert_eq(&err);
    let (code, _, err) = home.kgctl("", &["--json", "status"]);
    assert_eq!(code, 2);
    expect![[r#"
        {"error":{"code":"version_mismatch","message":"you are old","hint":"install version 9.0.0 of it, too"}}
    "#]]
    .assert_eq(&err);
    let mut agent = Agent::new(&home, "");
    // Twice: each request is answered, and neither makes the shim reconnect endlessly.
    for _ in 0..2 {
        let reply = agent.greet();
        assert_eq!(reply["error"], newer()["error"], "{reply}");
    }
    agent.end();
    assert_eq!(daemon.join().expect("no panic").len(), 4);
}

#[test]
fn who_comes_as_an_idle_daemon_ends_gets_the_next_one() {
    let home = Home::new();
    let daemon = refusing(&home, Value::Null, 1);
    let (code, out, err) = home.kgctl("", &["wait"]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert_eq!(daemon.join().expect("no panic").len(), 1);
    assert!(home.kgctl("", &["query", "quince"]).1.contains("note.md"));
}

#[test]
fn a_restart_beside_busy_agents_ends_with_a_daemon_that_stays() {
    let home = Home::new();
    let mut agents: Vec<Agent> = (0..3).map(|_| Agent::new(&home, "")).collect();
    for agent in &mut agents {
        assert!(agent.greet()["result"].is_object());
    }
    assert_eq!(home.serves(), format!("{} until-idle", proto::version()));
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let order = std::sync::atomic::Ordering::SeqCst;
    let mut outcomes = Vec::new();
    let answered = std::thread::scope(|scope| {
        let asking: Vec<_> = agents
            .into_iter()
            .map(|mut agent| {
                let is_over = &is_over;
                scope.spawn(move || {
                    let mut n_answered = 0;
                    while !is_over.load(order) {
                        let reply =
                            agent.ask("tools/call", json!({"name": "status", "arguments": {}}));
                        n_answered += usize::from(
                            reply["result"]["isError"] != true && reply.get("error").is_none(),
                        );
                    }
                    agent.end();
                    n_answered
                })
            })
            .collect();
        for _ in 0..5 {
            let (code, out, err) = home.kgctl("", &["restart"]);
            outcomes.push((code, out, err, home.holder()));
        }
        is_over.store(true, order);
        asking.into_iter().map(|thread| thread.join().expect("no panic")).collect::<Vec<_>>()
    });
    for (code, out, err, holder) in &outcomes {
        assert!(*code == 0 && out.contains("restarted, pid"), "{code} {out}{err}");
        assert!(holder[1] == proto::version() && holder[2] == "stay", "{holder:?}");
    }
    outcomes.dedup_by_key(|(.., holder)| holder[0].clone());
    assert_eq!(outcomes.len(), 5, "each is another one");
    assert!(answered.iter().all(|n| *n > 0), "{answered:?}");
    assert_eq!(home.kgctl("", &["start"]).0, 0);
}
