//! MCP over HTTP, as a client sees it. What a user types, and the result:
//!
//! `kgd --http 127.0.0.1:8765` (or `http: {listen: "127.0.0.1:8765"}` in the user's own
//! `config.yaml`) answers at `http://127.0.0.1:8765/mcp` in every revision of the protocol, and at
//! `/sse` for clients of 2024-11-05; nothing else about the daemon changes. Without either it opens
//! no TCP socket at all. `http.tools` selects the sets of tools.
//!
//! Access requires the token that the first start creates (`attack/doors.rs`), or that of
//! `http.token_file`. With `http.token: none`, as in most tests here, any program on this machine
//! has access; if other machines can reach the address, the daemon then refuses to start. A web
//! page in a browser has no access (its `Origin` is foreign), nor a page whose name resolves here
//! (its `Host` is). Every refusal has a reason, as JSON-RPC with code, message and hint.
//!
//! `kg-mcp --http` serves several projects; see `http_workspaces.rs`.

use std::io::{Read, Write};
use std::net::TcpListener;

use expect_test::expect;
use serde_json::{Value, json};
use tests::TestProject;
use tests::http::{Http, Reply, initialize, request};

const NOTES: &[(&str, &str)] = &[
    ("bees.md", "# Bees\n\nThey fly. The Queen Bee lays eggs.\n"),
    ("ants.md", "# Ants\n\nThey walk. The Ant Queen lays eggs, too.\n"),
];

/// Starts a project that is served over HTTP, with these settings and numbers for `KG_FAIL`.
fn served(settings: &[&str], numbers: &str) -> (TestProject, Http) {
    let mut project = TestProject::empty();
    NOTES.iter().for_each(|(path, text)| project.write(path, text));
    project.set("http.listen=127.0.0.1:0");
    project.set("http.token=none");
    project.set("http.tools=core");
    project.set("serve.structured=true");
    settings.iter().for_each(|it| project.set(it));
    project.fail(numbers);
    project.start();
    project.settle();
    let http = project.http();
    (project, http)
}

/// Renders a refusal on one line.
fn shown(reply: Reply) -> String {
    let status = reply.status;
    let retry =
        reply.header("retry-after").map(|it| format!(" retry-after={it}")).unwrap_or_default();
    let error = reply.json()["error"].take();
    let data = &error["data"];
    let workspace =
        data["workspace"].as_str().map(|it| format!(" workspace={it}")).unwrap_or_default();
    format!(
        "{status} {} {} {}{workspace}{retry} | {}\n",
        error["code"],
        data["code"].as_str().unwrap_or("?"),
        error["message"].as_str().unwrap_or("?"),
        data["hint"].as_str().unwrap_or("-"),
    )
}

#[test]
fn a_session_asks_writes_and_ends_in_each_revision() {
    let (_project, http) = served(&["http.tools=core,notes"], "");
    for revision in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let session = http.open(revision);
        let note = json!({"title": format!("Of {revision}"), "content": format!("Wasps of {revision} sting.")});
        let written = session.call("write_note", note).expect("written");
        // The next request finds what was written.
        let found =
            session.call("hybrid_query", json!({"q": format!("wasps {revision}")})).expect("found");
        assert!(found["tick"].as_u64() >= written["tick"].as_u64());
        assert_eq!(found["chunks"][0]["path"], written["path"], "{found}");
        let read = session
            .post("/mcp", &request(3, "resources/read", json!({"uri": "memory://bees"})))
            .json();
        assert_eq!(read["result"]["contents"][0]["text"], NOTES[0].1, "{read}");
        assert_eq!(session.send("DELETE", "/mcp", None).status, 204);
        let after = session.post("/mcp", &request(4, "ping", json!({})));
        assert_eq!(
            (after.status, after.json()["error"]["data"]["code"].clone()),
            (404, json!("not_found"))
        );
    }
}

#[test]
fn the_newest_revision_needs_no_session() {
    let (project, http) = served(&[], "");
    let discovered = http.ask_once("server/discover", json!({}));
    assert_eq!((discovered.status, discovered.header("mcp-session-id")), (200, None));
    assert!(discovered.json()["result"]["supportedVersions"].is_array());
    let tools = http.ask_once("tools/list", json!({})).json();
    let tools = tools["result"]["tools"].as_array().expect("a list");
    assert!(tools.iter().any(|it| it["name"] == "hybrid_query"));
    assert!(!tools.iter().any(|it| it["name"] == "write_note"), "`http.tools` is `core`");
    assert!(tools.iter().all(|it| it["inputSchema"]["properties"].get("workspace").is_none()));
    let found = http.call_once("hybrid_query", json!({"q": "who lays eggs"})).expect("found");
    assert_eq!(found["project"], "notes");
    let refused = http.call_once("explain_entity", json!({"name": "Nobody"})).expect_err("unknown");
    assert_eq!(refused["code"], "not_found");

    // The ids of two clients are independent.
    let both: Vec<_> = (0..2)
        .map(|_| {
            let http = http.clone();
            std::thread::spawn(move || http.call_once("hybrid_query", json!({"q": "queen"})))
        })
        .collect();
    both.into_iter().for_each(|it| assert!(it.join().expect("it ends").is_ok()));

    // Progress is reported before the answer.
    let mut arguments =
        json!({"name": "ingest_docs", "arguments": {"paths": ["*.md"], "skip_if_seen": false}});
    arguments["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28", "progressToken": "t",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let head = http
        .with("MCP-Protocol-Version", "2026-07-28")
        .with("Mcp-Method", "tools/call")
        .with("Mcp-Name", "ingest_docs");
    let mut reply = head.post("/mcp", &request(9, "tools/call", arguments));
    assert_eq!(reply.header("content-type").as_deref(), Some("text/event-stream"));
    assert_eq!(reply.header("x-accel-buffering").as_deref(), Some("no"));
    let first = reply.event().expect("progress");
    assert_eq!((&first.id, &first.json()["params"]["progressToken"]), (&None, &json!("t")));
    assert_eq!(reply.json()["result"]["structuredContent"]["ingested"], 2);
    drop(project);
}

#[test]
fn what_cannot_be_served_says_why() {
    let (_project, http) = served(&[], "");
    let session = http.open("2025-06-18");
    let ping = request(1, "ping", json!({}));
    let hello = initialize("2025-06-18");
    let newest = http.with("MCP-Protocol-Version", "2026-07-28").with("Mcp-Method", "tools/list");
    let bare = request(5, "tools/list", json!({}));
    let big = vec![b' '; (1 << 20) + 1];
    let refusals = [
        http.with("Host", "evil.example.com").post("/mcp", &hello),
        http.with("Origin", "https://evil.example.com").post("/mcp", &hello),
        http.with("Origin", "null").send("OPTIONS", "/mcp", None),
        http.send("POST", "/mcp", Some(b"{\"jsonrpc\":")),
        http.send("POST", "/mcp", Some(b"{\"id\":1}")),
        http.send("POST", "/mcp", Some(&big)),
        http.with("Content-Type", "text/plain").post("/mcp", &hello),
        http.with("Accept", "text/html").post("/mcp", &hello),
        http.with("Accept", "application/json").send("GET", "/mcp", None),
        http.post("/mcp", &ping),
        http.with("Mcp-Session-Id", "0123").post("/mcp", &ping),
        session.with("MCP-Protocol-Version", "1999-01-01").post("/mcp", &ping),
        session.with("X-Memory-Workspace", "others").post("/mcp", &ping),
        session.with("Last-Event-ID", "nonsense").send("GET", "/mcp", None),
        http.with("X-Memory-Workspace", "nowhere").post("/mcp", &hello),
        http.post("/mcp", &json!([hello, ping])),
        newest.post("/mcp", &bare),
        http.ask_once("no/such/method", json!({})),
        http.ask_once("ping", json!({})),
        http.post("/sse/messages/?session_id=0123", &ping),
        http.send("PUT", "/mcp", Some(b"{}")),
        http.send("GET", "/nowhere", None),
    ];
    let shown: String = refusals.into_iter().map(shown).collect();
    expect![[r#"
        403 -32000 refused `evil.example.com` is not a name of this server | if it is yours, list it under `http.hosts` in your own `config.yaml`
        403 -32000 refused pages of `https://evil.example.com` may not ask here | if it is yours, list it under `http.origins` in your own `config.yaml`
        403 -32000 refused pages of `null` may not ask here | if it is yours, list it under `http.origins` in your own `config.yaml`
        400 -32700 invalid_params not JSON: EOF while parsing a value at line 1 column 11 | -
        400 -32600 invalid_params this is JSON, but not a JSON-RPC 2.0 message | -
        413 -32000 invalid_params the body is longer than 1048576 bytes | give paths of files instead of their text
        415 -32000 invalid_params a body is `application/json`, not `text/plain` | -
        406 -32000 invalid_params the header `Accept` must list `application/json, text/event-stream` | -
        406 -32000 invalid_params the header `Accept` must list `text/event-stream` | -
        400 -32000 invalid_params the header `Mcp-Session-Id` is missing | `initialize` begins a session, and its reply has the id
        404 -32000 not_found no session has this id | it ended, or was idle for too long: begin another one with `initialize`
        400 -32000 version_mismatch sessions are of no revision `1999-01-01` of the protocol | `MCP-Protocol-Version` is one of 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25
        400 -32000 invalid_params this session is about the workspace `notes`, not `others` workspace=others | begin another session for another workspace
        400 -32000 invalid_params the header `Last-Event-ID` is unknown | -
        400 -32000 not_found no workspace is called `nowhere` workspace=nowhere | served are `notes`
        400 -32600 invalid_params `initialize` is a request, and comes alone | -
        400 -32602 invalid_params `_meta` lacks io.modelcontextprotocol/protocolVersion, io.modelcontextprotocol/clientCapabilities | -
        404 -32601 ? no/such/method | -
        404 -32601 invalid_params revision 2026-07-28 has no `ping` | -
        404 -32000 not_found no stream has this `session_id` | the first event of `/sse` names the address for messages
        405 -32000 invalid_params method `PUT` is not supported here | -
        404 -32000 not_found no page at `/nowhere` | MCP is at `/mcp`, for older clients at `/sse`
    "#]].assert_eq(&shown);
    // None of it affected anybody else.
    assert!(session.call("status", json!({})).is_ok());
    let named = http.with("X-Memory-Workspace", "Notes").open("2025-06-18");
    assert_eq!(named.call("status", json!({})).expect("answered")["project"], "notes");
}

#[test]
fn off_loopback_and_where_one_is_set_a_token_is_needed() {
    let mut project = TestProject::empty();
    project.set("http.listen=0.0.0.0:0");
    project.set("http.token=none");
    let ended = project.try_start().expect_err("anybody could ask");
    assert_eq!(ended.status.code(), Some(1));
    assert!(ended.log.contains("needs a token\nhint: remove `http.token: none`"), "{}", ended.log);

    let file = project.scratch().join("token");
    std::fs::write(&file, "a-token-of-24-characters\n").expect("a file");
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    std::fs::set_permissions(&file, open).expect("set");
    project.set("http.token=required");
    project.set(&format!("http.token_file={}", file.display()));
    project.start();
    let everywhere = project.http();
    let http = Http::at(([127, 0, 0, 1], everywhere.address.port()).into());
    let hello = initialize("2025-06-18");
    let refused = http.post("/mcp", &hello);
    assert_eq!(refused.header("www-authenticate").as_deref(), Some("Bearer"));
    let mut replies = shown(refused);
    for wrong in ["Bearer a-token-of-24-charactersX", "Basic a-token-of-24-characters"] {
        replies += &shown(http.with("Authorization", wrong).post("/mcp", &hello));
    }
    replies += &shown(http.send("GET", "/sse", None));
    expect![[r#"
        401 -32000 refused a token is needed | send `Authorization: Bearer …`; `kgctl http clients` prints what to paste
        401 -32000 refused the token is wrong | send `Authorization: Bearer …`; `kgctl http clients` prints what to paste
        401 -32000 refused the token is wrong | send `Authorization: Bearer …`; `kgctl http clients` prints what to paste
        401 -32000 refused a token is needed | send `Authorization: Bearer …`; `kgctl http clients` prints what to paste
    "#]].assert_eq(&replies);
    let known = http.with("Authorization", "Bearer a-token-of-24-characters");
    assert!(known.open("2025-06-18").call("status", json!({})).is_ok());
    let log = project.log();
    assert!(!log.contains("a-token-of-24"), "it is not logged");
    let warning = format!("`{}` is open to other users", file.display());
    assert!(log.contains(&warning), "{log}");
}

#[test]
fn a_page_that_is_listed_may_ask_from_a_browser() {
    let (_project, http) =
        served(&["http.origins=https://app.example.org", "http.hosts=kg.example.org"], "");
    let page = http.with("Origin", "https://app.example.org");
    let asked = page.send("OPTIONS", "/mcp", None);
    let allowed = |reply: &Reply| reply.header("access-control-allow-origin");
    assert_eq!((asked.status, allowed(&asked).as_deref()), (204, Some("https://app.example.org")));
    assert!(
        asked
            .header("access-control-allow-headers")
            .is_some_and(|it| it.contains("X-Memory-Workspace"))
    );
    let hello = page.post("/mcp", &initialize("2025-06-18"));
    assert_eq!((hello.status, allowed(&hello).as_deref()), (200, Some("https://app.example.org")));
    let own = http.with("Host", "kg.example.org").with("Origin", "https://kg.example.org");
    let hello = own.post("/mcp", &initialize("2025-06-18"));
    assert_eq!((hello.status, allowed(&hello)), (200, None), "the same origin needs no leave");
    assert!(
        page.post("/mcp", &initialize("2025-06-18"))
            .header("access-control-expose-headers")
            .is_some_and(|it| it.contains("Mcp-Session-Id"))
    );
    let foreign = http.with("Origin", "http://localhost.evil.com").send("OPTIONS", "/mcp", None);
    assert_eq!((foreign.status, allowed(&foreign)), (403, None));
}

#[test]
fn too_many_connections_or_requests_are_turned_away() {
    let (mut project, http) = served(&[], "http.connections=2,http.burst=9,http.rate=1");
    // Two connections in use: an idle one would be displaced.
    let [first, second] = ["2025-06-18", "2025-11-25"].map(|revision| {
        let stream = http.open(revision).send("GET", "/mcp", None);
        assert_eq!(stream.status, 200);
        stream
    });
    let replies = shown(http.send("GET", "/", None));
    drop(second);
    // Until the server has noticed that one is gone.
    while http.send("GET", "/", None).status == 503 {}
    drop(first);
    let mut limited = http.send("GET", "/", None);
    while limited.status != 429 {
        limited = http.send("GET", "/", None);
    }
    expect![[r#"
        503 -32000 unavailable too many connections are open retry-after=1 | close some, or try again
        429 -32000 unavailable too many requests retry-after=1 | wait 1 s
    "#]].assert_eq(&(replies + &shown(limited)));
    let status = project.status();
    assert_eq!(status["project"], "notes", "the socket has limits of its own");
    assert!(status["http"].as_str().is_some_and(|it| it.ends_with("/mcp")), "{status}");
}

#[test]
fn limits_are_settings() {
    let (_project, http) =
        served(&["http.max_body_bytes=1024", "http.requests_per_second=1", "http.burst=3"], "");
    let large = http.send("POST", "/mcp", Some(" ".repeat(2_000).as_bytes()));
    assert_eq!(large.status, 413);
    let is_limited = (0..4).any(|_| http.send("GET", "/", None).status == 429);
    assert!(is_limited, "more than three at once");
}

#[test]
fn who_dawdles_is_cut_off_and_a_session_that_nobody_uses_ends() {
    let (mut project, http) =
        served(&[], "http.patience_ms=300,http.body_ms=300,http.idle_ms=1,http.sessions=2");
    let mut silent = http.connect();
    write!(silent, "POST /mcp HTTP/1.1\r\nHost: localh").expect("written");
    let mut received = Vec::new();
    silent.read_to_end(&mut received).expect("it hangs up");
    let mut half = http.connect();
    let head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{";
    half.write_all(head.as_bytes()).expect("written");
    let expected = "408 -32000 deadline_exceeded the body did not come in time | -\n";
    assert_eq!(shown(Reply::read(half)), expected);

    let hello = http.post("/mcp", &initialize("2025-06-18"));
    let id = hello.header("mcp-session-id").expect("a session");
    let session = http.with("Mcp-Session-Id", &id);
    while session.send("GET", "/mcp", None).status != 404 {}
    project.until("nobody but the test is there", |status| status["clients"] == 1);
}

#[test]
fn changes_are_told_on_the_stream_and_again_to_who_was_cut_off() {
    let (project, http) = served(&["http.tools=core,notes"], "");
    let session = http.open("2025-11-25");
    let mut stream = session.send("GET", "/mcp", None);
    assert_eq!(stream.event().map(|it| it.data), Some(String::new()), "an id to begin with");
    let watched = json!({"uri": "memory://bees"});
    let subscribed = session.post("/mcp", &request(1, "resources/subscribe", watched)).json();
    assert!(subscribed["result"].is_object(), "{subscribed}");
    project.write("bees.md", "# Bees\n\nThey fly far.\n");
    let notice = stream.event().expect("told");
    assert_eq!(notice.json()["params"]["uri"], "memory://bees");
    let place = notice.id.expect("by which to go on");
    drop(stream);
    project.write("bees.md", "# Bees\n\nThey fly farther.\n");
    // The change is indexed before anybody listens again.
    let mut missed = session.with("Last-Event-ID", &place).send("GET", "/mcp", None);
    let event =
        std::iter::from_fn(|| missed.event()).find(|it| !it.data.is_empty()).expect("told again");
    assert_eq!(event.json()["method"], "notifications/resources/updated");
    // Progress is on the stream of its request, with ids; the answer follows.
    let arguments = json!({
        "name": "ingest_docs", "arguments": {"paths": ["*.md"], "skip_if_seen": false}, "_meta": {"progressToken": 1},
    });
    let mut reply = session.post("/mcp", &request(2, "tools/call", arguments));
    assert!(
        reply
            .event()
            .is_some_and(|it| it.id.is_some() && it.json()["params"]["progressToken"] == 1)
    );
    assert!(reply.json()["result"].is_object());
    // Its stream has ended, but can still be replayed.
    let mut again = session.with("Last-Event-ID", "2-0").send("GET", "/mcp", None);
    assert!(std::iter::from_fn(|| again.event()).count() >= 1);
    assert_eq!(session.send("DELETE", "/mcp", None).status, 204);
    assert!(
        std::iter::from_fn(|| missed.event()).all(|it| it.json()["method"].is_string()),
        "the stream ends"
    );
}

#[test]
fn clients_of_the_older_transport_have_a_stream_and_a_place_to_post() {
    let (mut project, http) = served(&[], "");
    let mut stream = http.with("Accept", "text/event-stream").send("GET", "/sse", None);
    let place = stream.event().expect("where to post");
    assert_eq!(place.name, "endpoint");
    let path = place.data.clone();
    assert!(path.starts_with("/sse/messages/?session_id="), "{path}");
    let reply = http.post(&path, &initialize("2024-11-05"));
    assert_eq!((reply.status, reply.text().as_str()), (202, ""));
    let hello = stream.event().expect("an answer");
    assert_eq!((hello.name.as_str(), &hello.id), ("message", &None));
    assert_eq!(hello.json()["result"]["protocolVersion"], "2024-11-05");
    http.post(&path, &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    http.post(
        &path,
        &request(1, "tools/call", json!({"name": "hybrid_query", "arguments": {"q": "eggs"}})),
    );
    let found = stream.event().expect("an answer").json();
    assert!(found["result"]["structuredContent"]["chunks"].is_array(), "{found}");
    let replies = shown(
        http.with("X-Memory-Workspace", "others").post(&path, &request(2, "ping", json!({}))),
    );
    expect![[r#"
        400 -32000 invalid_params this session is about the workspace `notes`, not `others` workspace=others | begin another session for another workspace
    "#]].assert_eq(&replies);
    // The session ends with its stream.
    drop(stream);
    while http.post(&path, &request(3, "ping", json!({}))).status != 404 {}
    project.until("it is gone", |status| status["clients"] == 1);
}

#[test]
fn a_daemon_that_is_told_to_stop_answers_first_and_hangs_up() {
    let (mut project, http) = served(&[], "");
    let session = http.open("2025-11-25");
    let mut stream = session.send("GET", "/mcp", None);
    let mut legacy = http.send("GET", "/sse", None);
    let silent = http.connect();
    let params =
        json!({"name": "ingest_docs", "arguments": {"paths": ["*.md"], "skip_if_seen": false}});
    let waiting = session.clone();
    let waiting =
        std::thread::spawn(move || waiting.post("/mcp", &request(1, "tools/call", params)).json());
    let ended = project.stop();
    assert!(ended.status.success(), "{ended:?}");
    assert!(!ended.log.contains("ERROR") && !ended.log.contains("panicked"), "{}", ended.log);
    while stream.event().is_some() {}
    while legacy.event().is_some() {}
    let answer = waiting.join();
    // Answered, refused with a reason, or too late to connect.
    let is_known =
        |it: &Value| it["result"].is_object() || it["error"]["data"]["code"] == "unavailable";
    assert!(answer.is_err() || answer.as_ref().is_ok_and(is_known), "{answer:?}");
    drop(silent);
}

#[test]
fn an_address_that_is_taken_ends_who_was_told_to_serve_there_and_only_warns_who_shares_a_setting() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let mut project = TestProject::of(NOTES);
    assert!(!project.log().contains("HTTP"), "off by default");
    let ended = project.stop();
    assert!(ended.status.success());
    let output = project.command().args(["--http", &address]).output().expect("it runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && errors.contains("cannot serve HTTP at"), "{errors}");
    project.set(&format!("http.listen={address}"));
    project.start();
    assert!(project.log().contains("no HTTP"), "{}", project.log());
    assert_eq!(project.status()["project"], "notes");
    project.stop();
    for wrong in ["http.tools=admin", "http.token_file=token", "http.listen=nowhere"] {
        let output = project.command().args(["--set", "http.listen=0", "--set", wrong]).output();
        let output = output.expect("it runs");
        assert!(!output.status.success(), "{wrong}");
        assert!(
            String::from_utf8_lossy(&output.stderr).contains("hint: ") || wrong.contains("file"),
            "{wrong}"
        );
    }
}
