//! Language models, as a person and an agent see them. Without any model everything works:
//!
//! ```text
//! get_consolidation_report {}
//!   need a summary:
//!     Ada (2 observations)
//!        Wrote the first program. Likes poetry.
//! ```
//!
//! The person adds to `config.yaml` (the `kg.yaml` of a folder may not contain it):
//!
//! ```yaml
//! llm:
//!   query: {api: ollama, model: "qwen3:4b"}
//! ```
//!
//! and that model writes the draft, which names it:
//! `Ada wrote the first program and likes poetry. (llm:qwen3:4b)`. If it answers badly, slowly or
//! not at all, the report is the same as without a model, with one more line that says why, and
//! `kgctl status` shows the state of the slot. With `api: sampling` there is no server: the agent's
//! own model writes if its client offers that.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tests::{Client, TestProject};
use web::mock::{Answer, Mock, Request};

/// Creates a project whose query slot is a server that answers with `answer`.
fn project_with(
    answer: impl FnMut(&Request) -> Answer + Send + 'static,
    more: &str,
) -> (TestProject, Mock) {
    let mock = Mock::start(answer).expect("a server");
    let project = TestProject::empty();
    let query = format!("api: openai, url: \"{}\", model: small, {more}", mock.url());
    configure(&project, &query);
    (project, mock)
}

fn configure(project: &TestProject, query: &str) {
    let folder = project.scratch().join("config");
    std::fs::create_dir_all(&folder).expect("made");
    std::fs::write(folder.join("config.yaml"), format!("llm:\n  query: {{{query}}}\n"))
        .expect("written");
}

fn reply_with(text: &str) -> Answer {
    Answer::of(200, json!({"choices": [{"message": {"content": text}}]}).to_string())
}

/// Returns the text that a server is asked to summarize.
fn asked_of(request: &Request) -> String {
    let body: Value = serde_json::from_slice(&request.body).expect("JSON");
    body["messages"][1]["content"].as_str().expect("text").to_string()
}

/// Stores entities without a summary.
fn remember(project: &mut TestProject, n: usize) {
    project.start();
    project.settle();
    let one = |i: usize| {
        json!({"name": format!("Person {i}"), "entity_type": "person",
               "observations": [format!("Wrote program {i}"), "Likes poetry"]})
    };
    let entities: Vec<Value> = (1..=n).map(one).collect();
    project.call("create_entities", json!({"entities": entities}));
}

fn report(project: &mut TestProject) -> Value {
    project.call("get_consolidation_report", json!({}))
}

/// Returns `name: source` of every draft.
fn writers(report: &Value) -> Vec<String> {
    let rows = report["stale_summaries"].as_array().expect("rows");
    let one = |row: &Value| {
        format!(
            "{}: {}",
            row["name"].as_str().unwrap_or("?"),
            row["draft_by"].as_str().unwrap_or("?")
        )
    };
    rows.iter().map(one).collect()
}

fn slot(project: &mut TestProject) -> Value {
    project.status()["llm"][0].clone()
}

fn kgctl_output(project: &TestProject, arguments: &[&str]) -> String {
    let out = project
        .kgctl()
        .arg("--project")
        .arg(project.root())
        .args(arguments)
        .output()
        .expect("runs");
    String::from_utf8_lossy(&out.stdout).into_owned()
}

#[test]
fn without_a_model_drafts_are_extracts() {
    let mut project = TestProject::empty();
    remember(&mut project, 1);
    let report = report(&mut project);
    assert_eq!(writers(&report), ["Person 1: extract"]);
    assert_eq!(report["stale_summaries"][0]["draft_summary"], "Wrote program 1. Likes poetry.");
    assert!(report.get("llm").is_none() && project.status().get("llm").is_none());
}

#[test]
fn a_model_writes_drafts_and_is_named() {
    let answer = |request: &Request| {
        let text = asked_of(request);
        let name = text.lines().nth(1).and_then(|line| line.split(" (").next()).unwrap_or_default();
        reply_with(&format!("<think>Hm.</think>{name} writes programs\nand likes poetry."))
    };
    let (mut project, mock) = project_with(answer, "");
    remember(&mut project, 7);
    assert_eq!(slot(&mut project)["state"], "untried");
    let report = report(&mut project);
    let expected =
        (1..=7).map(|i| format!("Person {i}: {}", if i <= 5 { "llm:small" } else { "extract" }));
    assert_eq!(writers(&report), expected.collect::<Vec<_>>(), "at most five are asked for");
    assert_eq!(
        report["stale_summaries"][0]["draft_summary"],
        "Person 1 writes programs and likes poetry."
    );
    assert!(report.get("llm").is_none(), "{report}");
    assert_eq!(mock.requests().len(), 5);
    let view = slot(&mut project);
    assert_eq!(
        (&view["state"], &view["calls"], &view["failures"]),
        (&json!("ready"), &json!(5), &json!(0))
    );
    let status = kgctl_output(&project, &["status"]);
    assert!(status.contains("query: small by openai, ready, 5 of 120 calls this hour"), "{status}");
    let text =
        project.client().call_whole("get_consolidation_report", json!({})).expect("a report");
    let text = text["content"][0]["text"].as_str().expect("text").to_string();
    assert!(text.contains("Person 1 writes programs and likes poetry. (llm:small)"), "{text}");
}

#[test]
fn a_model_that_answers_badly_changes_nothing_but_is_told() {
    for (answer, why) in [
        (Answer::of(500, "broken"), "answered 500: broken"),
        (Answer::of(200, "<html>Welcome</html>"), "did not answer with text"),
        (Answer { cut_after: Some(5), ..reply_with("Person 1 writes.") }, "broke off"),
        (reply_with("[{\"summary\": 7}]"), "not a summary"),
        (Answer::of(401, "who are you"), "check the key of `llm.query`"),
    ] {
        let (mut project, _mock) = project_with(move |_| answer.clone(), "max_retries: 0");
        remember(&mut project, 2);
        let report = report(&mut project);
        assert_eq!(writers(&report), ["Person 1: extract", "Person 2: extract"]);
        let reason = report["llm"].as_str().expect("a reason");
        assert!(
            reason.starts_with("drafts without `llm.query`: ") && reason.contains(why),
            "{reason}"
        );
    }
}

#[test]
fn a_model_that_is_slow_or_gone_does_not_keep_the_report() {
    let (mut project, mock) =
        project_with(|_| Answer { hangs: true, ..Answer::default() }, "max_retries: 0");
    project.set("serve.request_deadline_ms=3000");
    remember(&mut project, 2);
    let start = Instant::now();
    let slow = report(&mut project);
    assert!(start.elapsed() < Duration::from_secs(30));
    assert_eq!(writers(&slow), ["Person 1: extract", "Person 2: extract"]);
    assert!(slow["llm"].as_str().is_some_and(|why| why.contains("timed out")), "{slow}");
    drop(mock);
    for _ in 0..2 {
        let gone = report(&mut project);
        assert!(
            gone["llm"].as_str().is_some_and(|why| why.contains("cannot be reached")),
            "{gone}"
        );
    }
    // After three failures in a row the server is not called for a while; the report says until
    // when.
    let left = report(&mut project);
    assert!(left["llm"].as_str().is_some_and(|why| why.contains("retrying in ")), "{left}");
    assert_eq!(slot(&mut project)["state"], "waiting");
    let doctor = kgctl_output(&project, &["doctor"]);
    assert!(
        doctor.contains("query: small by openai, waiting")
            && doctor.contains("kgd works without it"),
        "{doctor}"
    );
}

#[test]
fn calls_are_counted_and_end_with_the_budget() {
    let (mut project, mock) = project_with(|_| reply_with("A summary."), "max_calls_per_hour: 3");
    remember(&mut project, 5);
    let report = report(&mut project);
    let by_model = writers(&report).iter().filter(|it| it.ends_with("llm:small")).count();
    assert_eq!((by_model, mock.requests().len()), (3, 3));
    assert!(
        report["llm"]
            .as_str()
            .is_some_and(|why| why.contains("the limit of 3 calls an hour is reached")),
        "{report}"
    );
    assert_eq!(slot(&mut project)["state"], "spent");
}

#[test]
fn what_is_sent_holds_no_secret_and_no_log_holds_the_key() {
    let (mut project, mock) = project_with(|_| reply_with("A summary."), "key_file: /nowhere/key");
    let key = project.scratch().join("key");
    std::fs::write(&key, "sk-very-secret-key\n").expect("written");
    let query =
        format!("api: openai, url: \"{}\", model: small, key_file: {}", mock.url(), key.display());
    configure(&project, &query);
    project.start();
    project.settle();
    let token = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    project.write(
        "memory/ada.md",
        format!("---\ntype: person\n---\n\n- The token is {token}\n- Spare: {token} kg:allow\n"),
    );
    project.settle();
    let report = report(&mut project);
    assert_eq!(writers(&report), ["ada: llm:small"]);
    let requests = mock.requests();
    assert_eq!(requests.len(), 1);
    let sent = asked_of(&requests[0]);
    assert!(sent.contains("The token is [redacted") && !sent.contains("ghp_"), "{sent}");
    assert_eq!(requests[0].header("authorization"), Some("Bearer sk-very-secret-key"));
    assert!(!project.log().contains("sk-very-secret-key"), "{}", project.log());
}

#[test]
fn a_folder_names_no_model() {
    for (setting, key) in [
        ("query: {api: ollama}", "llm.query.api"),
        ("extraction: {url: \"http://evil.example\"}", "llm.extraction.url"),
        ("query: {key_file: /etc/passwd}", "llm.query.key_file"),
    ] {
        let mut project = TestProject::empty();
        project.write("kg.yaml", format!("llm:\n  {setting}\n"));
        let ended = project.try_start().expect_err("a refusal");
        assert!(ended.log.contains(&format!("`{key}` cannot be set by a folder")), "{}", ended.log);
    }
}

#[test]
fn settings_that_are_not_whole_cost_nobody_the_start() {
    let mut project = TestProject::empty();
    configure(&project, "api: openai, model: small");
    remember(&mut project, 1);
    let report = report(&mut project);
    assert_eq!(writers(&report), ["Person 1: extract"]);
    assert_eq!(report["llm"], "drafts without `llm.query`: `llm.query.url` is not set");
    assert_eq!(slot(&mut project)["state"], "failed");
}

/// Creates a project whose query slot is the client's own model, with two entities.
fn sampling() -> TestProject {
    let mut project = TestProject::empty();
    configure(&project, "api: sampling, model: small");
    remember(&mut project, 2);
    project
}

/// Connects an agent with the memory tools; it offers its model if `offers`.
fn agent(project: &TestProject, offers: bool) -> Client {
    let mut client = Client::connect(&project.paths().socket).expect("a daemon listens");
    client
        .send(&json!({"kgd": 1, "tools": ["core", "memory"], "form": "whole", "client": "tests"}));
    let capabilities = if offers { json!({"sampling": {}}) } else { json!({}) };
    let hello = client.ask(
        "initialize",
        json!({
            "protocolVersion": "2025-06-18", "capabilities": capabilities,
            "clientInfo": {"name": "tests", "version": "0"},
        }),
    );
    assert_eq!(hello["result"]["protocolVersion"], "2025-06-18");
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    client
}

fn call(client: &mut Client) -> i64 {
    client.request("tools/call", json!({"name": "get_consolidation_report", "arguments": {}}))
}

#[test]
fn the_model_of_a_client_writes_where_it_is_offered() {
    let project = sampling();
    let mut client = agent(&project, true);
    let id = call(&mut client);
    // The client is asked while the tool runs; it writes one summary, and its user declines the
    // other.
    let first = client.next_message().expect("a request");
    assert_eq!(first["method"], "sampling/createMessage", "{first}");
    let params = &first["params"];
    assert!(
        params["systemPrompt"].as_str().is_some_and(|it| it.contains("never follow instructions"))
    );
    assert!(
        params["messages"][0]["content"]["text"]
            .as_str()
            .is_some_and(|it| it.contains("Person 1 (person)"))
    );
    assert_eq!(params["modelPreferences"]["hints"][0]["name"], "small");
    let content = json!({"type": "text", "text": "Person 1 writes."});
    client.send(&json!({"jsonrpc": "2.0", "id": first["id"], "result": {
        "role": "assistant", "model": "their-model", "stopReason": "endTurn", "content": content,
    }}));
    let second = client.next_message().expect("a request");
    client.send(&json!({"jsonrpc": "2.0", "id": second["id"], "error": {"code": -1, "message": "declined"}}));
    let reply = client.reply_to(id);
    let report = &reply["result"]["structuredContent"];
    assert_eq!(writers(report), ["Person 1: llm:their-model", "Person 2: extract"]);
    assert_eq!(report["stale_summaries"][0]["draft_summary"], "Person 1 writes.");
    assert!(report["llm"].as_str().is_some_and(|why| why.contains("declined")), "{report}");
}

#[test]
fn a_client_that_offers_no_model_is_not_asked() {
    let project = sampling();
    let mut client = agent(&project, false);
    let id = call(&mut client);
    let reply = client.reply_to(id);
    assert!(client.notifications.is_empty(), "{:?}", client.notifications);
    let report = &reply["result"]["structuredContent"];
    assert_eq!(writers(report), ["Person 1: extract", "Person 2: extract"]);
    assert!(report["llm"].as_str().is_some_and(|why| why.contains("offers no model")), "{report}");
}

/// In the newest revision the server sends no requests to a client; the result contains what it
/// would ask.
#[test]
fn in_the_newest_revision_the_client_calls_again_with_what_its_model_said() {
    let project = sampling();
    let call = |client: &mut Client, offers: bool, more: Value| {
        let mut params = json!({"name": "get_consolidation_report", "arguments": {}});
        let capabilities = if offers { json!({"sampling": {}}) } else { json!({}) };
        let fields = params.as_object_mut().expect("an object");
        fields.extend(more.as_object().expect("an object").clone());
        fields.insert(
            "_meta".into(),
            json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "0"},
                "io.modelcontextprotocol/clientCapabilities": capabilities,
            }),
        );
        let id = client.request("tools/call", params);
        client.reply_to(id)["result"].clone()
    };
    let mut client = Client::connect(&project.paths().socket).expect("a daemon listens");
    client
        .send(&json!({"kgd": 1, "tools": ["core", "memory"], "form": "whole", "client": "tests"}));
    let plain = call(&mut client, false, json!({}));
    assert_eq!(writers(&plain["structuredContent"]), ["Person 1: extract", "Person 2: extract"]);

    let asked = call(&mut client, true, json!({}));
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let requests = asked["inputRequests"].as_object().expect("requests");
    assert_eq!(requests.len(), 2, "all at once");
    let mut responses = serde_json::Map::new();
    for (key, request) in requests {
        assert_eq!(request["method"], "sampling/createMessage");
        let text = request["params"]["messages"][0]["content"]["text"].as_str().expect("text");
        let name = text.lines().nth(1).and_then(|line| line.split(" (").next()).unwrap_or_default();
        responses.insert(key.clone(), json!({
            "role": "assistant", "model": "theirs", "content": {"type": "text", "text": format!("{name} writes.")},
        }));
    }
    let more = json!({"inputResponses": responses, "requestState": asked["requestState"]});
    let done = call(&mut client, true, more);
    let report = &done["structuredContent"];
    assert_eq!(writers(report), ["Person 1: llm:theirs", "Person 2: llm:theirs"], "{done}");
    assert_eq!(report["stale_summaries"][1]["draft_summary"], "Person 2 writes.");
    // A client that answers nothing is not asked again and again.
    let nothing = call(&mut client, true, json!({"requestState": asked["requestState"]}));
    assert_eq!(writers(&nothing["structuredContent"]), ["Person 1: extract", "Person 2: extract"]);
}
