//! Doors: who may connect over HTTP and the socket, and who cannot lock others out.
//!
//! The first start with HTTP enabled creates a token, `kgctl http clients` prints what to paste,
//! and `http.token: none` in the user's own configuration switches it off on loopback.
//! `benches/doors.rs` measures how long a newcomer waits.

use std::io::Write;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use tests::http::{Http, Reply, address_in, initialize, request};
use tests::{Client, SharedHome, TestProject};

const BEES: (&str, &str) = ("bees.md", "# Bees\n\nThey fly. The Queen Bee lays eggs.\n");

/// More than any door has seats.
const N_HALF_OPEN: usize = 600;

fn token_file(project: &TestProject) -> PathBuf {
    project.paths().http_token.clone()
}

/// Starts a project that is served over HTTP with the default settings, and a client with its
/// token.
fn served(settings: &[&str]) -> (TestProject, Http) {
    let project = started(settings);
    let http = known(&project);
    (project, http)
}

fn started(settings: &[&str]) -> TestProject {
    let mut project = TestProject::empty();
    project.write(BEES.0, BEES.1);
    project.set("http.listen=127.0.0.1:0");
    project.set("serve.structured=true");
    project.set("http.tools=core");
    settings.iter().for_each(|it| project.set(it));
    project.start();
    project.settle();
    project
}

fn known(project: &TestProject) -> Http {
    let token = std::fs::read_to_string(token_file(project)).expect("it was made");
    project.http().with("Authorization", &format!("Bearer {}", token.trim()))
}

fn warned_of_http(project: &mut TestProject) -> bool {
    let status = project.status();
    let warnings = status["warnings"].as_array().expect("a list").iter();
    warnings
        .into_iter()
        .any(|it| it["warning"].as_str().is_some_and(|it| it.contains("http.token")))
}

#[test]
fn on_loopback_too_nobody_asks_without_the_token() {
    let (mut project, http) = served(&[]);
    let stranger = project.http();
    let hello = initialize("2025-06-18");
    let refused = [
        stranger.post("/mcp", &hello),
        stranger.with("Authorization", "Bearer 0123456789abcdef").post("/mcp", &hello),
        stranger.ask_once("tools/list", json!({})),
        stranger.send("GET", "/mcp", None),
        stranger.send("GET", "/sse", None),
        stranger.send("OPTIONS", "/mcp", None),
        stranger.send("GET", "/nowhere", None),
        stranger.send("GET", "/api/search?q=keys", None),
        stranger.send("GET", "/api/tools", None),
        stranger.send("GET", "/metrics", None),
        stranger.send("GET", "/health/more", None),
    ];
    for reply in refused {
        assert_eq!(
            (reply.status, reply.header("www-authenticate").as_deref()),
            (401, Some("Bearer"))
        );
    }
    // Anybody may ask for the server's health, except a page whose name resolves here.
    assert_eq!(stranger.send("GET", "/health", None).text(), r#"{"status":"ok"}"#);
    assert_eq!(stranger.with("Host", "evil.example.com").send("GET", "/health", None).status, 403);
    assert_eq!(stranger.send("POST", "/health", Some(b"{}")).status, 405);

    let session = http.open("2025-06-18");
    assert_eq!(session.call("status", json!({})).expect("answered")["project"], "notes");
    let file = token_file(&project);
    let mode = file.metadata().expect("a file").permissions().mode();
    let token = std::fs::read_to_string(&file).expect("a token");
    assert_eq!((mode & 0o777, token.trim().len()), (0o600, 64));
    assert!(!project.log().contains(token.trim()), "it is not logged");
    assert!(!warned_of_http(&mut project));
    project.restart();
    assert_eq!(
        known(&project).open("2025-06-18").call("status", json!({})).expect("same")["project"],
        "notes"
    );
    assert_eq!(std::fs::read_to_string(&file).expect("a token"), token, "it is made once");
}

#[test]
fn only_the_user_switches_the_token_off_and_is_warned() {
    let mut project = started(&["http.token=none"]);
    assert!(http_without_token(&project).is_ok() && !token_file(&project).exists());
    assert!(project.log().contains("`http.token` is `none`") && warned_of_http(&mut project));
    let doctor = project
        .kgctl()
        .args(["--project", &project.root().display().to_string(), "doctor"])
        .output();
    let doctor = String::from_utf8_lossy(&doctor.expect("it runs").stdout).into_owned();
    assert!(doctor.contains("every program and every user of this machine"), "{doctor}");
    project.stop();
    project.set("http.token=required");
    project.write("kg.yaml", "http: {token: none}\n");
    let ended = project.try_start().expect_err("a folder cannot");
    assert!(ended.log.contains("`http.token` cannot be set by a folder"), "{}", ended.log);
}

fn http_without_token(project: &TestProject) -> Result<Value, Value> {
    project.http().open("2025-06-18").call("status", json!({}))
}

#[test]
fn a_page_of_this_machine_reads_nothing_unless_it_is_listed() {
    let (project, http) = served(&["http.origins=http://localhost:6274"]);
    let allowed = |reply: &Reply| reply.header("access-control-allow-origin");
    let hello = initialize("2025-06-18");
    for page in ["http://localhost:3000", "http://127.0.0.1", "http://[::1]:6274"] {
        let page = http.with("Origin", page);
        for reply in [page.post("/mcp", &hello), page.send("OPTIONS", "/mcp", None)] {
            assert_eq!((reply.status, allowed(&reply)), (403, None));
        }
    }
    let listed = "http://localhost:6274";
    let asked = project.http().with("Origin", listed).send("OPTIONS", "/mcp", None);
    assert_eq!((asked.status, allowed(&asked).as_deref()), (204, Some(listed)), "may it ask?");
    let stranger = project.http().with("Origin", listed).post("/mcp", &hello);
    assert_eq!((stranger.status, allowed(&stranger).as_deref()), (401, Some(listed)));
    let own = http.with("Origin", listed).post("/mcp", &hello);
    assert_eq!((own.status, allowed(&own).as_deref()), (200, Some(listed)));
}

#[test]
fn who_tries_tokens_locks_out_nobody_who_has_it() {
    let (project, http) = served(&[]);
    let thief = project.http().with("Authorization", "Bearer 0123456789abcdef");
    let tried: Vec<u16> = (0..60).map(|_| thief.send("GET", "/mcp", None).status).collect();
    assert!(tried.contains(&429), "{tried:?}");
    assert!(http.open("2025-06-18").call("status", json!({})).is_ok());
}

#[test]
fn half_open_connections_make_room_and_take_nobody_s() {
    // All requests come from one address, whose allowance must last for the newcomer at the end.
    let (project, http) = served(&["http.burst=10000"]);
    let token = std::fs::read_to_string(token_file(&project)).expect("it was made");
    let half_head = "POST /mcp HTTP/1.1\r\nHost: localh".to_string();
    let half_body = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\
         Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n\
         Content-Length: 9\r\n\r\n{{",
        token.trim()
    );
    let session = http.open("2025-11-25");
    let listening = session.send("GET", "/mcp", None);
    let half_open: Vec<TcpStream> = (0..N_HALF_OPEN)
        .map(|n| {
            let mut stream = http.connect();
            let sent = ["", &half_head, &half_body, &half_body][n % 4];
            // The connection may be gone already, which is the point of this test.
            let _ = stream.write_all(sent.as_bytes());
            stream
        })
        .collect();
    assert_eq!(
        http.open("2025-06-18").call("status", json!({})).expect("let in")["project"],
        "notes"
    );
    assert_eq!(session.call("status", json!({})).expect("still there")["project"], "notes");
    assert!(listening.is_open(), "a stream that is listened to is in use");
    drop((half_open, project));
}

#[test]
fn begun_sessions_end_nobody_s_who_came_back() {
    // All requests come from one address, whose allowance must last for the newcomer at the end.
    let (_project, http) = served(&["http.burst=10000"]);
    let live = [http.open("2025-06-18"), http.open("2025-11-25")];
    let hello = initialize("2025-06-18");
    for _ in 0..400 {
        let status = http.post("/mcp", &hello).status;
        assert!([200, 429].contains(&status), "{status}");
    }
    for session in live {
        assert!(session.call("status", json!({})).is_ok());
    }
    let stale: Vec<Reply> = (0..130).map(|_| http.send("GET", "/sse", None)).collect();
    assert!(stale.iter().all(|it| [200, 429].contains(&it.status)));
    let ping = request(7, "ping", json!({}));
    assert!(http.open("2025-06-18").post("/mcp", &ping).json()["result"].is_object());
}

#[test]
fn half_open_clients_of_the_socket_make_room_and_take_nobody_s() {
    let mut project = TestProject::of(&[BEES]);
    let mut live = project.agent();
    let socket = project.paths().socket.clone();
    let half_open: Vec<UnixStream> = (0..N_HALF_OPEN)
        .map(|n| {
            let mut stream = UnixStream::connect(&socket).expect("it listens");
            if n % 2 == 0 {
                // The connection may be gone already, which is the point of this test.
                let _ = stream.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"meth");
            }
            stream
        })
        .collect();
    assert_eq!(project.agent().call("status", json!({})).expect("let in")["project"], "notes");
    assert_eq!(live.ask("ping", json!({}))["result"], json!({}), "still there");
    drop(half_open);
    project.until("they have gone", |status| status["clients"] == 2);
}

#[test]
fn who_floods_and_does_not_read_keeps_nobody_from_being_served() {
    let mut project = TestProject::of(&[BEES]);
    let flood = |client: &mut Client| {
        // Until nothing more is accepted: the daemon reads on once its answers are read.
        client.set_write_timeout(Duration::from_millis(100)).expect("a limit");
        for id in 1_000..1_200 {
            let params =
                json!({"name": "hybrid_query", "arguments": {"q": "who lays eggs", "k": 100}});
            let line = format!("{}\n", request(id, "tools/call", params));
            if client.send_bytes(line.as_bytes()).is_err() {
                return;
            }
        }
    };
    let mut deaf: Vec<Client> = (0..60).map(|_| project.agent()).collect();
    std::thread::scope(|scope| {
        deaf.iter_mut().for_each(|client| drop(scope.spawn(|| flood(client))));
        for _ in 0..20 {
            assert_eq!(project.found("who lays eggs"), [BEES.0]);
        }
    });
}

#[test]
fn kgctl_switches_http_on_and_off_and_says_what_to_paste() {
    let home = SharedHome::of(&[("notes", BEES.0, BEES.1)]);
    let own = "# mine\nwatch: {debounce_ms: 30}  # soon\nembed: {background: \"off\"}\n";
    home.write("config/config.yaml", own);
    let state =
        || -> Value { serde_json::from_str(&home.kgctl_done(&["http", "--json"])).expect("JSON") };
    assert_eq!(state()["listen"], "");
    assert!(home.kgctl_done(&["http"]).contains("`kgctl http on`"));
    assert!(home.kgctl_refused(&["http", "on", "nowhere"]).1.contains("hint: such as"));
    home.kgctl_done(&["start"]);
    home.kgctl_done(&["http", "on", "127.0.0.1:0"]);
    let written = std::fs::read_to_string(home.at("config/config.yaml")).expect("a file");
    assert_eq!(written, format!("{own}http:\n  listen: \"127.0.0.1:0\"\n"));

    let paste = || -> (Value, Http) {
        let clients: Value =
            serde_json::from_str(&home.kgctl_done(&["http", "clients", "--json"])).expect("JSON");
        let server = clients["mcpServers"]["notes"].clone();
        let address = address_in(server["url"].as_str().expect("a URL")).expect("an address");
        let bearer = server["headers"]["Authorization"].as_str().expect("a token").to_string();
        (server, Http::at(address).with("Authorization", &bearer))
    };
    let (server, http) = paste();
    assert_eq!(state()["serving"], server["url"]);
    assert!(http.open("2025-06-18").call("status", json!({})).is_ok());
    let token = home.kgctl_done(&["http", "token"]);
    assert_eq!(server["headers"]["Authorization"], format!("Bearer {}", token.trim()));
    let text = home.kgctl_done(&["http", "clients"]);
    assert!(
        text.contains("Claude Code") && text.contains("\"servers\"") && text.contains(token.trim())
    );

    let new = home.kgctl_done(&["http", "token", "--new"]);
    let (_, renewed) = paste();
    assert_ne!(new, token);
    let old = Http::at(renewed.address).with("Authorization", &format!("Bearer {}", token.trim()));
    assert_eq!(old.post("/mcp", &initialize("2025-06-18")).status, 401);
    assert!(renewed.open("2025-06-18").call("status", json!({})).is_ok());

    // A deleted token is created again, and the daemon uses the new one.
    std::fs::remove_file(state()["token_file"].as_str().expect("a file")).expect("deleted");
    let (_, again) = paste();
    let old = Http::at(again.address).with("Authorization", &format!("Bearer {}", new.trim()));
    assert_eq!(old.post("/mcp", &initialize("2025-06-18")).status, 401);
    assert!(again.open("2025-06-18").call("status", json!({})).is_ok());

    home.kgctl_done(&["http", "off"]);
    assert_eq!((state()["listen"].clone(), state()["serving"].clone()), (json!(""), Value::Null));
    let of_several: Value =
        serde_json::from_str(&home.kgctl_done(&["http", "clients", "--all-projects", "--json"]))
            .expect("JSON");
    assert_eq!(of_several["servers"]["notes"]["headers"]["x-memory-workspace"], "notes");
    assert!(home.at("state/http.token").exists());
}
