//! Tests the programs as a user or an agent starts them, against a daemon that the test plays.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use config::{Places, Project, ProjectPaths};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A home folder for one test, containing a folder `notes`.
struct Home {
    dir: TempDir,
}

impl Home {
    fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("kg").tempdir().expect("a scratch folder");
        std::fs::create_dir_all(dir.path().join("notes")).expect("made");
        std::fs::write(dir.path().join("notes/a.md"), "# A\n").expect("written");
        Home { dir }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.dir.path()).env_clear();
        for (name, path) in
            [("HOME", ""), ("KG_STATE_DIR", ".s"), ("KG_RUNTIME_DIR", "r"), ("KG_CONFIG_DIR", "c")]
        {
            command.env(name, self.at(path));
        }
        command.env("KGD_BIN", self.at("no-such-kgd"));
        command
    }

    fn kgctl(&self, arguments: &[&str]) -> (i32, String, String) {
        shown(
            self.command(env!("CARGO_BIN_EXE_kgctl")).args(arguments).stdin(Stdio::null()).output(),
        )
    }

    fn paths(&self) -> ProjectPaths {
        let places = Places { state: self.at(".s"), runtime: self.at("r"), config: self.at("c") };
        let project = Project::at(&self.at("notes")).expect("a folder");
        let paths = places.project(&project).expect("short enough");
        paths.create_dirs().expect("made");
        paths
    }

    /// Plays a daemon that answers each tool with the result of `answer`.
    fn daemon(&self, answer: impl Fn(&str, &Value) -> Value + Send + 'static) {
        self.daemon_of(env!("CARGO_PKG_VERSION"), answer);
    }

    /// Like [`Home::daemon`], with another version.
    fn daemon_of(
        &self,
        version: &'static str,
        answer: impl Fn(&str, &Value) -> Value + Send + 'static,
    ) {
        let listener = UnixListener::bind(self.paths().socket).expect("bound");
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                serve(stream, version, &answer);
            }
        });
    }
}

fn shown(output: std::io::Result<Output>) -> (i32, String, String) {
    let output = output.expect("the program starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

/// Serves one connection as an MCP server: preamble, handshake, tool calls.
fn serve(stream: UnixStream, version: &str, answer: &impl Fn(&str, &Value) -> Value) {
    let mut out = stream.try_clone().expect("a copy");
    for line in BufReader::new(stream).lines().map_while(Result::ok) {
        let message: Value = serde_json::from_str(&line).expect("one message a line");
        let Some(id) = message.get("id") else { continue };
        let result = match message["method"].as_str() {
            Some("initialize") => json!({
                "protocolVersion": message["params"]["protocolVersion"], "capabilities": { "tools": {} },
                "serverInfo": { "name": "kgd", "version": version }
            }),
            Some("tools/call") => {
                let parameters = &message["params"];
                answer(parameters["name"].as_str().unwrap_or_default(), &parameters["arguments"])
            }
            other => panic!("unexpected: {other:?}"),
        };
        let reply = json!({ "jsonrpc": "2.0", "id": id, "result": result });
        if writeln!(out, "{reply}").is_err() {
            return;
        }
    }
}

fn structured(content: Value) -> Value {
    json!({ "content": [], "structuredContent": content })
}

#[test]
fn help_and_completions() {
    let home = Home::new();
    let (code, out, _) = home.kgctl(&["--help"]);
    assert_eq!(code, 0);
    for command in ["init", "query", "mcp-config", "eval"] {
        assert!(out.contains(&format!("\n  {command} ")), "{out}");
    }
    let (code, out, _) = home.kgctl(&["completions", "bash"]);
    assert!(code == 0 && out.contains("_kgctl()"), "{out}");
    let pages = home.dir.path().join("man1");
    let (code, _, err) = home.kgctl(&["man", &pages.display().to_string()]);
    assert_eq!(code, 0, "{err}");
    for (page, words) in [
        ("kgctl", "kgctl\\-mcp\\-config"),
        ("kgctl-init", "systemd"),
        ("kgd", "SYNOPSIS"),
        ("kg-mcp", ""),
    ] {
        let text = std::fs::read_to_string(pages.join(format!("{page}.1"))).expect(page);
        assert!(text.contains(words), "{page}: {text}");
    }
    let (code, _, err) = home.kgctl(&["nonsense"]);
    assert!(code == 2 && err.contains("nonsense"), "{err}");
}

#[test]
fn an_empty_home_has_no_projects() {
    let home = Home::new();
    let (code, out, err) = home.kgctl(&["list"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert_eq!(out, "no project is registered\nhint: register a folder with `kgctl init DIR`\n");
    assert_eq!(home.kgctl(&["list", "--json"]).1, "[]\n");
    let (code, _, err) = home.kgctl(&["status"]);
    assert_eq!(code, 2);
    assert!(err.starts_with("error: no project was given") && err.contains("\nhint: "), "{err}");
}

#[test]
fn a_project_that_does_not_exist_is_named_beside_those_that_do() {
    let home = Home::new();
    std::fs::create_dir_all(home.at("c")).expect("made");
    std::fs::write(home.at("c/projects.json"), r#"[{"name":"work","root":"/srv/work"}]"#)
        .expect("written");
    let (code, _, err) = home.kgctl(&["--project", "play", "query", "x"]);
    assert_eq!(code, 2);
    assert!(err.contains("`play`") && err.contains("work  /srv/work"), "{err}");
    let (_, out, _) = home.kgctl(&["list"]);
    assert!(out.contains("folder missing"), "{out}");
    std::fs::write(home.at("c/projects.json"), "oops").expect("written");
    let (code, _, err) = home.kgctl(&["list"]);
    assert!(code == 1 && err.contains("projects.json"), "{err}");
}

#[test]
fn settings_show_where_they_came_from() {
    let home = Home::new();
    std::fs::write(home.at("notes/kg.yaml"), "watch:\n  debounce_ms: 100\n").expect("written");
    let (code, out, _) = home.kgctl(&["--project", "notes", "config", "show"]);
    assert_eq!(code, 0);
    let row = out.lines().find(|line| line.starts_with("watch.debounce_ms")).unwrap_or_default();
    assert!(row.contains("100") && row.contains("kg.yaml:2"), "{out}");
    // No row wraps: every line except the header and the two files begins with a key.
    let keys = out.lines().filter(|line| line.starts_with(char::is_lowercase)).count();
    assert_eq!(keys + 4, out.lines().count(), "{out}");
    std::fs::write(home.at("notes/kg.yaml"), "serve:\n  idle_exit_minutes: 0\n").expect("written");
    let (code, _, err) = home.kgctl(&["--project", "notes", "config", "show"]);
    assert!(code == 2 && err.contains("kg.yaml:2") && err.contains("hint: "), "{err}");
    let (code, out, _) = home.kgctl(&["config", "reference"]);
    assert!(code == 0 && out.contains("debounce_ms: 300"));
}

#[test]
fn without_a_daemon_the_exit_code_is_4() {
    let home = Home::new();
    let (code, _, err) = home.kgctl(&["--project", "notes", "--no-start", "status"]);
    assert!(code == 4 && err.contains("no daemon runs for `notes`"), "{err}");
    let (code, _, err) = home.kgctl(&["--project", "notes", "status"]);
    assert!(
        code == 4 && err.contains("could not be started") && err.contains("no-such-kgd"),
        "{err}"
    );
    let (code, out, _) = home.kgctl(&["--project", "notes", "stop"]);
    assert_eq!((code, out.as_str()), (0, "notes: not running\n"));
}

#[test]
fn a_daemon_that_exits_at_once_is_not_waited_for() {
    let home = Home::new();
    let kgd = home.at("kgd");
    std::fs::write(&kgd, "#!/bin/sh\necho \"kgd: started with $*\" >&2\nexit 3\n")
        .expect("written");
    std::fs::set_permissions(&kgd, PermissionsExt::from_mode(0o755)).expect("ours");
    let mut command = home.command(env!("CARGO_BIN_EXE_kgctl"));
    let (code, _, err) =
        shown(command.env("KGD_BIN", &kgd).args(["--project", "notes", "wait"]).output());
    assert_eq!(code, 4, "{err}");
    assert!(
        err.contains("exited at once: kgd: started with --project /")
            && err.contains("--idle-exit 30"),
        "{err}"
    );
    assert!(err.contains("hint: see `") && err.contains("daemon.log"), "{err}");
    let (code, out, _) = home.kgctl(&["--project", "notes", "logs"]);
    assert!(code == 0 && out.contains("started with"), "{out}");
}

#[test]
fn wrong_settings_are_named_before_a_daemon_is_started_or_stopped() {
    let home = Home::new();
    std::fs::write(home.at("notes/kg.yaml"), "watch:\n  debounce: 1\n").expect("written");
    std::fs::write(home.at("kgd"), "").expect("written");
    let run = |arguments: &[&str]| {
        let mut command = home.command(env!("CARGO_BIN_EXE_kgctl"));
        shown(command.env("KGD_BIN", home.at("kgd")).args(arguments).output())
    };
    let (code, _, err) = run(&["--project", "notes", "status"]);
    assert!(code == 2 && err.starts_with("error: ") && err.contains("kg.yaml:2"), "{err}");
    assert!(err.contains("`watch.debounce`") && err.contains("\nhint: perhaps"), "{err}");
    // A running daemon is left alone, and never asked to stop.
    home.daemon(|tool, _| panic!("nobody was to call `{tool}`"));
    let (code, _, err) = run(&["--project", "notes", "restart"]);
    assert!(code == 2 && err.contains("kg.yaml:2"), "{err}");
    let (code, out, err) = run(&["--project", "notes", "--json", "config", "show"]);
    assert_eq!((code, out.as_str()), (2, ""));
    let error = &serde_json::from_str::<Value>(&err).expect("JSON")["error"];
    assert_eq!(error["code"], "invalid_params");
    assert_eq!(error["hint"], "perhaps `watch.debounce_ms`");
}

#[test]
fn a_question_to_a_new_index_waits_a_little() {
    let home = Home::new();
    let asked = std::sync::atomic::AtomicU64::new(0);
    home.daemon(move |tool, _| {
        if tool == "wait" {
            return structured(json!({ "reached": false, "project": "notes", "tick": 1 }));
        }
        let hit = json!({ "id": 3, "doc_id": 1, "path": "a.md", "lines": [1, 2], "snippet": "A.",
            "score": 0.5, "components": {} });
        let found = asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 1;
        structured(json!({
            "chunks": if found { vec![hit] } else { vec![] }, "entities": [], "edges": [],
            "explanations": [], "project": "notes", "tick": 1, "building": "indexed 1 of 36"
        }))
    });
    let (code, out, _) = home.kgctl(&["--project", "notes", "query", "x"]);
    assert!(code == 0 && out.contains("a.md:1"), "{out}");
    let (code, out, _) = home.kgctl(&["--project", "notes", "query", "x"]);
    assert_eq!((code, out.as_str()), (0, "nothing found\nstill building: indexed 1 of 36\n"));
}

#[test]
fn unlikely_folders_are_refused() {
    let home = Home::new();
    for folder in [".", "/"] {
        let (code, _, err) = home.kgctl(&["init", "--yes", folder]);
        assert!(code == 2 && err.contains("is a home folder"), "{err}");
    }
    let (code, _, err) = shown(
        home.command(env!("CARGO_BIN_EXE_kgctl"))
            .env("KG_STATE_DIR", home.at("notes/s"))
            .args(["init", "notes"])
            .output(),
    );
    assert!(code == 2 && err.contains("kgd's own state"), "{err}");
    assert!(home.kgctl(&["init", "no-such-folder"]).2.contains("cannot use `no-such-folder`"));
    assert_eq!(home.kgctl(&["list", "--json"]).1, "[]\n", "nothing was registered");
}

#[test]
fn init_registers_and_tells_how_to_connect_an_agent() {
    let home = Home::new();
    let mut looked = status();
    looked["survey"] = json!({ "to_read": { "md": 1 }, "not_read": [] });
    // One that has ended, so that `remove` does not wait for it.
    looked["pid"] = 999_999_999.into();
    home.daemon(move |tool, _| {
        structured(if tool == "status" { looked.clone() } else { json!({}) })
    });
    let (code, out, err) = home.kgctl(&["init", "notes", "--name", "mine"]);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("1 file to read: 1 md") && out.contains("\"mcpServers\""), "{out}");
    let (code, out, _) = home.kgctl(&["init", "notes"]);
    assert!(code == 0 && out.starts_with("mine is already registered\n"), "{out}");
    let (_, out, _) = home.kgctl(&["list", "--json"]);
    let rows: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(rows[0]["name"], "mine");
    let (_, out, _) = home.kgctl(&["mcp-config"]);
    let entry: Value = serde_json::from_str(&out).expect("JSON");
    let server = &entry["mcpServers"]["mine"];
    assert!(
        server["command"].as_str().is_some_and(|command| command.ends_with("/kg-mcp")),
        "{out}"
    );
    assert_eq!(server["args"][0], "--project");
    assert_eq!(server["env"]["KG_STATE_DIR"], home.at(".s").display().to_string());
    assert!(server["env"]["KG_RUNTIME_DIR"].is_string(), "{out}");
    let (code, out, _) = home.kgctl(&["remove", "mine"]);
    assert!(code == 0 && out.contains("its index is kept"), "{out}");
    assert_eq!(home.kgctl(&["list", "--json"]).1, "[]\n");
}

#[test]
fn a_question_is_asked_over_mcp() {
    let home = Home::new();
    home.daemon(|tool, arguments| {
        assert_eq!(tool, "hybrid_query");
        if arguments["q"] == "nothing" {
            return structured(json!({
                "chunks": [], "entities": [], "edges": [], "explanations": [], "project": "notes", "tick": 3
            }));
        }
        assert_eq!(arguments, &json!({ "q": "who signs", "k": 2, "rels": ["uses"], "type": "md" }));
        structured(json!({
            "chunks": [{ "id": 3, "doc_id": 1, "path": "a.md", "lines": [1, 2], "snippet": "A signs.",
                "score": 0.5, "components": { "text": 0.5 } }],
            "entities": [], "edges": [], "explanations": ["words"], "project": "notes", "tick": 3
        }))
    });
    let asked =
        ["--project", "notes", "query", "who", "signs", "-k", "2", "--rel", "uses", "--type", "md"];
    let (code, out, err) = home.kgctl(&asked);
    assert_eq!((code, err.as_str()), (0, ""));
    assert_eq!(out, "1. a.md:1-2 (score .50)\n   A signs.\n   words\n");
    let (_, out, _) = home.kgctl(&[&asked[..], &["--json"]].concat());
    let reply: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!((&reply["chunks"][0]["path"], &reply["tick"]), (&json!("a.md"), &json!(3)));
    let (code, out, _) = home.kgctl(&["--project", "notes", "query", "nothing"]);
    assert_eq!((code, out.as_str()), (3, "nothing found\n"));
}

#[test]
fn a_daemon_of_another_version_is_told_of() {
    for (version, wanted) in [
        ("9.0.0", "hint: install version 9.0.0 of kgctl, too"),
        ("0.0.1", "hint: `kgctl restart --project NOTES` runs the installed one"),
    ] {
        let home = Home::new();
        let wanted_in =
            |home: &Home| wanted.replace("NOTES", &home.at("notes").display().to_string());
        home.daemon_of(version, |_, _| {
            structured(json!({ "files": [], "project": "notes", "tick": 3 }))
        });
        let (code, out, err) = home.kgctl(&["--project", "notes", "retry", "--all"]);
        assert_eq!((code, out.as_str()), (0, "nothing has failed\n"));
        let note = format!("note: the daemon is {version}, kgctl is ");
        assert!(err.starts_with(&note) && err.contains(&wanted_in(&home)), "{err}");
        // An older daemon has fewer tools; `doctor` reports what is missing, and continues.
        let home = Home::new();
        home.daemon_of(version, |tool, _| match tool {
            "status" => structured(status()),
            _ => {
                let view = json!({ "code": "invalid_params", "message": format!("no tool is called `{tool}`") });
                json!({ "content": [], "isError": true, "structuredContent": view })
            }
        });
        let (_, out, _) = home.kgctl(&["--project", "notes", "doctor"]);
        assert!(
            out.contains("warning version: the daemon is ") && out.contains(&wanted_in(&home)),
            "{out}"
        );
        assert!(
            out.contains("warning databases: not checked: no tool is called `checkup`"),
            "{out}"
        );
        assert!(out.contains("`bad.md` failed in normalize: too deep"), "{out}");
    }
}

fn status() -> Value {
    json!({
        "root": "/n", "pid": std::process::id(), "version": "x", "protocol": 1, "schema": 1, "settled": true,
        "stages_settled": { "searchable": true, "resolved": true, "vectors": true },
        "progress": { "known": 1, "indexed": 1 }, "counts": {}, "formats": {}, "queues": [],
        "ingest_rate": 0.0, "average_transaction_ms": 0.0, "orphaned_entities": 0, "skipped": {},
        "quarantine": [{ "path": "bad.md", "stage": "normalize", "reason": "too deep" }], "warnings": [],
        "watcher": "events", "clients": 1, "project": "notes", "tick": 7,
        "survey": { "to_read": { "md": 1 }, "not_read": [] }
    })
}

#[test]
fn verify_exits_with_1_when_the_index_differs() {
    let reply = |same, repaired| {
        json!({
            "same": same, "repaired": repaired, "n_rows": 5, "parts": [], "differences": [], "seconds": 0.1,
            "project": "notes", "tick": 3
        })
    };
    for (same, repaired, expected) in [(true, false, 0), (false, true, 0), (false, false, 1)] {
        let home = Home::new();
        home.daemon(move |tool, arguments| {
            assert_eq!((tool, arguments), ("verify", &json!({ "repair": true, "limit": 3 })));
            structured(reply(same, repaired))
        });
        let asked = ["--project", "notes", "verify", "--repair", "--limit", "3", "--json"];
        let (code, out, err) = home.kgctl(&asked);
        assert_eq!((code, err.as_str()), (expected, ""));
        assert_eq!(serde_json::from_str::<Value>(&out).expect("JSON")["same"], same);
    }
}

#[test]
fn a_refusal_keeps_its_code_and_hint() {
    let home = Home::new();
    home.daemon(|_, _| {
        let view = json!({ "code": "not_found", "message": "no entity `x`", "hint": "look it up" });
        json!({ "content": [], "isError": true, "structuredContent": view })
    });
    let (code, _, err) = home.kgctl(&["--project", "notes", "explain", "x"]);
    assert_eq!((code, err.as_str()), (3, "error: no entity `x`\nhint: look it up\n"));
}

#[test]
fn a_dump_is_of_one_tick() {
    let home = Home::new();
    let calls = std::sync::atomic::AtomicU64::new(0);
    home.daemon(move |_, arguments| {
        // A commit occurs between the first two parts.
        let call = calls.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        let tick = if call == 0 { 1 } else { 2 };
        let rows = json!([{ "kind": "entity", "part": arguments.get("cursor"), "tick": tick }]);
        let cursor = if arguments.get("cursor").is_none() { json!("next") } else { Value::Null };
        structured(json!({ "rows": rows, "cursor": cursor, "project": "notes", "tick": tick }))
    });
    let (code, out, err) = home.kgctl(&["--project", "notes", "dump"]);
    assert_eq!(code, 0, "{err}");
    let expected = concat!(
        r#"{"kind":"entity","part":null,"tick":2}"#,
        "\n",
        r#"{"kind":"entity","part":"next","tick":2}"#,
        "\n"
    );
    assert_eq!(out, expected);
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let home = Home::new();
    let mut command = home.command(env!("CARGO_BIN_EXE_kgctl"));
    let mut child = command
        .args(["completions", "bash"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    drop(child.stdout.take());
    let (code, _, err) = shown(child.wait_with_output());
    assert_eq!((code, err.as_str()), (0, ""));
}

fn kg_mcp(home: &Home, arguments: &[&str], input: &str) -> (i32, String, String) {
    let mut command = home.command(env!("CARGO_BIN_EXE_kg-mcp"));
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("starts");
    // It may have ended already, because of its flags.
    let _ = child.stdin.take().expect("piped").write_all(input.as_bytes());
    shown(child.wait_with_output())
}

const INITIALIZE: &str = concat!(
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","#,
    r#""capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#,
    "\n"
);

#[test]
fn the_shim_carries_a_session_and_ends_with_its_client() {
    let home = Home::new();
    home.daemon(|tool, _| json!({ "content": [{ "type": "text", "text": tool }] }));
    let call = r#"{"jsonrpc":"2.0","id":"one","method":"tools/call","params":{"name":"status"}}"#;
    let input = format!(
        "{INITIALIZE}{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}}\n{call}\n"
    );
    let (code, out, err) = kg_mcp(&home, &["--project", "notes"], &input);
    assert_eq!((code, err.as_str()), (0, ""));
    let ids: Vec<Value> = out
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON")["id"].clone())
        .collect();
    assert_eq!(ids, [json!(0), json!("one")]);
}

#[test]
fn the_shim_answers_for_a_daemon_that_cannot_be_started() {
    let home = Home::new();
    let (code, out, _) = kg_mcp(&home, &["--project", "notes"], INITIALIZE);
    assert_eq!(code, 0);
    let reply: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!((&reply["id"], &reply["error"]["code"]), (&json!(0), &json!(-32_000)));
    assert_eq!(reply["error"]["data"]["code"], "unavailable");
    assert!(
        reply["error"]["data"]["hint"].as_str().is_some_and(|hint| hint.contains("daemon.log")),
        "{out}"
    );
}

#[test]
fn the_shim_names_what_is_wrong_with_its_flags() {
    let home = Home::new();
    let (code, _, err) = kg_mcp(&home, &[], "");
    assert!(code == 2 && err.contains("no project was given"), "{err}");
    let (code, _, err) = kg_mcp(&home, &["--project", "nope"], "");
    assert!(code == 2 && err.contains("`nope`"), "{err}");
    let (code, out, _) = kg_mcp(&home, &["--version"], "");
    assert_eq!((code, out), (0, format!("kg-mcp {}\n", env!("CARGO_PKG_VERSION"))));
}
