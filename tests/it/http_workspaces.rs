//! `kg-mcp --http 127.0.0.1:8765 --all-projects`: one address for several projects. The header
//! `X-Memory-Workspace` names the project of a session, or of a request of revision 2026-07-28; it
//! must be registered. Tools have no parameter for it. Daemons are started on demand, and a session
//! survives the restart of its own.

use expect_test::expect;
use serde_json::json;
use tests::SharedHome;
use tests::http::{Reply, Serving, initialize, request};

const ALPHA: (&str, &str, &str) = ("alpha", "bees.md", "# Bees\n\nThey fly over Alpha.\n");
const BETA: (&str, &str, &str) = ("beta", "ants.md", "# Ants\n\nThey walk in Beta.\n");

fn serve(home: &SharedHome, arguments: &[&str]) -> Serving {
    let mut command = home.command(&tests::kgctl().with_file_name("kg-mcp"));
    command.args(["--http", "127.0.0.1:0", "--structured", "--tools", "core"]).args(arguments);
    Serving::start(command)
}

fn shown(reply: Reply) -> String {
    let status = reply.status;
    let error = reply.json()["error"].take();
    let data = &error["data"];
    format!(
        "{status} {} {} workspace={} | {}\n",
        data["code"], error["message"], data["workspace"], data["hint"]
    )
}

#[test]
fn each_session_is_about_the_workspace_that_its_client_names() {
    let home = SharedHome::of(&[ALPHA, BETA]);
    let serving = serve(&home, &["--all-projects", "--tools", "core,notes"]);
    let http = &serving.http;
    let of = |name: &str| http.with("X-Memory-Workspace", name);
    for (name, path) in [("alpha", "bees.md"), ("beta", "ants.md")] {
        let session = of(name).open("2025-06-18");
        session
            .call("ingest_docs", json!({"paths": ["*.md"], "skip_if_seen": false}))
            .expect("indexed");
        let found = session.call("hybrid_query", json!({"q": "what do they do"})).expect("found");
        assert_eq!(
            (&found["project"], &found["chunks"][0]["path"]),
            (&json!(name), &json!(path)),
            "{found}"
        );
        let once = of(name).call_once("read_note", json!({"path": path})).expect("read");
        assert_eq!(once["project"], name);
    }
    let session = of("Beta").open("2025-11-25");
    let tools = session.post("/mcp", &request(1, "tools/list", json!({}))).json();
    let has = |field: &str| {
        let tools = tools["result"]["tools"].as_array().expect("a list").iter();
        tools.filter(|it| it["inputSchema"]["required"].to_string().contains(field)).count()
    };
    assert_eq!((has("\"workspace\""), has("\"project\"")), (0, 0));
    let hello = initialize("2025-06-18");
    let replies: String = [
        http.post("/mcp", &hello),
        of("gamma").post("/mcp", &hello),
        of("gamma").ask_once("tools/list", json!({})),
        of("alpha").with("Mcp-Session-Id", "0123").post("/mcp", &request(1, "ping", json!({}))),
        of("").send("GET", "/sse", None),
    ]
    .map(shown)
    .concat();
    expect![[r#"
        400 "invalid_params" "the header `X-Memory-Workspace` must name a workspace" workspace=null | "served are `alpha`, `beta`"
        400 "not_found" "no workspace is called `gamma`" workspace="gamma" | "served are `alpha`, `beta`"
        400 "not_found" "no workspace is called `gamma`" workspace="gamma" | "served are `alpha`, `beta`"
        404 "not_found" "no session has this id" workspace="alpha" | "it ended, or was idle for too long: begin another one with `initialize`"
        400 "not_found" "no workspace is called ``" workspace="" | "served are `alpha`, `beta`"
    "#]].assert_eq(&replies);
    let moved =
        session.with("X-Memory-Workspace", "alpha").post("/mcp", &request(2, "ping", json!({})));
    expect![[r#"
        400 "invalid_params" "this session is about the workspace `beta`, not `alpha`" workspace="alpha" | "begin another session for another workspace"
    "#]].assert_eq(&shown(moved));
    let mut stream = of("alpha").send("GET", "/sse", None);
    let path = stream.event().expect("where to post").data;
    http.post(&path, &hello);
    assert_eq!(stream.event().expect("an answer").json()["result"]["serverInfo"]["name"], "kgd");

    // A project that is registered later is available, too.
    home.write("gamma/wasps.md", "# Wasps\n\nThey sting.\n");
    home.kgctl_done(&["project", "add", "gamma"]);
    assert_eq!(of("gamma").call_once("status", json!({})).expect("there")["project"], "gamma");
    drop(stream);
    assert_eq!(serving.stop(), Some(0));
}

#[test]
fn a_session_survives_its_daemon() {
    let home = SharedHome::of(&[ALPHA]);
    let serving = serve(&home, &[]);
    let session = serving.http.open("2025-06-18");
    assert_eq!(session.call("status", json!({})).expect("answered")["project"], "alpha");
    home.kill("alpha");
    // The call during which the death is noticed may be lost, and says so.
    let after = session.call("status", json!({})).or_else(|_| session.call("status", json!({})));
    assert_eq!(after.expect("another daemon")["project"], "alpha");
    let newest =
        serving.http.call_once("status", json!({})).expect("no header is needed for one project");
    assert_eq!(newest["project"], "alpha");
}

#[test]
fn a_session_of_a_project_that_is_removed_is_refused_whatever_it_names() {
    let home = SharedHome::of(&[ALPHA, BETA]);
    let serving = serve(&home, &["--all-projects"]);
    let session = serving.http.with("X-Memory-Workspace", "beta").open("2025-06-18");
    assert_eq!(session.call("status", json!({})).expect("answered")["project"], "beta");
    home.kgctl_done(&["remove", "beta"]);
    for http in [&session, &session.without("X-Memory-Workspace")] {
        let reply = http.post("/mcp", &request(9, "tools/list", json!({})));
        let error = reply.json()["error"].take();
        assert_eq!(error["message"], "no workspace is called `beta`", "{error}");
    }
    assert_eq!(home.daemon("beta"), None, "nothing starts it again");
}

#[test]
fn what_cannot_be_served_ends_it_with_a_reason() {
    let home = SharedHome::of(&[ALPHA]);
    let run = |arguments: &[&str]| {
        let mut command = home.command(&tests::kgctl().with_file_name("kg-mcp"));
        let output = command.args(arguments).output().expect("it runs");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let errors = [
        run(&["--http", "0.0.0.0:0"]),
        run(&["--http", "nowhere"]),
        run(&["--http"]),
        run(&["--http", "0", "--project", "nope"]).lines().next().unwrap_or_default().to_string(),
    ]
    .join("\n");
    expect![[r#"
        error: `0.0.0.0:0` can be reached from other machines, which needs a token
        hint: remove `http.token: none` from your own `config.yaml`, or serve at `127.0.0.1` behind a proxy

        error: `nowhere` is not an address to serve HTTP at
        hint: use one like `127.0.0.1:8765`

        error: `--http` needs a value
        hint: `kg-mcp --help`

        error: no project or folder is called `nope` (from `--project`); registered projects:"#]].assert_eq(&errors);
}
