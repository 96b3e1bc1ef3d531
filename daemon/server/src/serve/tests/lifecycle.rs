//! Handshakes of every revision, tools, progress, shutdown.

use super::*;

#[tokio::test]
async fn every_revision_shakes_hands() {
    let server = TestServer::new().await;
    let mut out = String::new();
    for version in
        ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "1999-01-01", "2026-07-28"]
    {
        let mut client = server.connect().await;
        let hello = client.initialize(version).await;
        let tools = client.ask(1, "tools/list", json!({})).await;
        let pong = client.ask(2, "ping", json!({})).await;
        let answer = client.call(3, "hybrid_query", json!({"q": "x"})).await;
        let result = &answer["result"];
        out += &format!(
            "{version}: {} {}, {} tools, pong {}, project {}, {:?}\n",
            hello["result"]["protocolVersion"].as_str().expect("a version"),
            hello["result"]["serverInfo"]["name"],
            tools["result"]["tools"].as_array().expect("tools").len(),
            pong["result"],
            result["structuredContent"]["project"],
            shown(&answer),
        );
    }
    expect![[r#"
        2024-11-05: 2024-11-05 "kgd", 12 tools, pong {}, project "notes", "nothing found\n(notes, tick 7)\n"
        2025-03-26: 2025-03-26 "kgd", 12 tools, pong {}, project "notes", "nothing found\n(notes, tick 7)\n"
        2025-06-18: 2025-06-18 "kgd", 12 tools, pong {}, project "notes", "nothing found\n(notes, tick 7)\n"
        2025-11-25: 2025-11-25 "kgd", 12 tools, pong {}, project "notes", "nothing found\n(notes, tick 7)\n"
        1999-01-01: 2025-11-25 "kgd", 12 tools, pong {}, project "notes", "nothing found\n(notes, tick 7)\n"
        2026-07-28: 2025-11-25 "kgd", 12 tools, pong {}, project "notes", "nothing found\n(notes, tick 7)\n"
    "#]].assert_eq(&out);
}

/// The metadata of every request of the newest revision.
fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "0"},
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

#[tokio::test]
async fn the_newest_revision_discovers() {
    let server = TestServer::new().await;
    let mut client = server.connect().await;
    let found = client.ask(1, "server/discover", json!({"_meta": meta()})).await;
    let versions = found["result"]["supportedVersions"].to_string();
    expect![[r#"["2024-11-05","2025-03-26","2025-06-18","2025-11-25","2026-07-28"]"#]]
        .assert_eq(&versions);
    let tools = client.ask(2, "tools/list", json!({"_meta": meta()})).await;
    assert_eq!(tools["result"]["resultType"], "complete", "{tools}");
    let params = json!({"_meta": meta(), "name": "hybrid_query", "arguments": {"q": "x"}});
    let answer = client.ask(3, "tools/call", params).await;
    assert_eq!(answer["result"]["resultType"], "complete", "{answer}");
    // Without its metadata a request of this revision is refused, not misread.
    check(
        &client.ask(4, "tools/list", json!({})).await,
        expect![[r#"
            -32602 request _meta is missing or has malformed required fields: io.modelcontex…
        "#]],
    );
    // A probe commits to nothing: a client may still fall back.
    let mut client = server.connect().await;
    client.ask(1, "server/discover", json!({"_meta": meta()})).await;
    assert_eq!(client.initialize("2025-11-25").await["result"]["protocolVersion"], "2025-11-25");
}

#[tokio::test]
async fn the_library_s_own_client_is_served() {
    let server = TestServer::new().await;
    let stream = UnixStream::connect(&server.path).await.expect("connected");
    let client = ().serve(stream).await.expect("a handshake");
    let names: Vec<_> =
        client.list_all_tools().await.expect("tools").into_iter().map(|tool| tool.name).collect();
    expect![[r#"
        hybrid_query
        ask
        read_passage
        explain_entity
        connect
        remember
        changes
        status
        read_note
        write_note
        edit_note
        move_note
        delete_note
        backlinks
        list_notes"#]]
    .assert_eq(&names.join("\n"));
    let arguments = json!({"q": "x"}).as_object().cloned().unwrap_or_default();
    let call = rmcp::model::CallToolRequestParams::new("hybrid_query").with_arguments(arguments);
    let result = client.call_tool(call).await.expect("a result");
    let text = result.content.first().and_then(|it| it.as_text()).map(|it| it.text.as_str());
    assert_eq!((text, result.structured_content), (Some("nothing found\n(notes, tick 7)"), None));
    client.cancel().await.expect("closed");
}

#[tokio::test]
async fn a_tool_says_what_it_does() {
    let server = TestServer::new().await;
    let mut client = server.guest().await;
    let tools = client.ask(1, "tools/list", json!({})).await;
    let mut out = String::new();
    for tool in tools["result"]["tools"].as_array().expect("tools") {
        assert!(tool["description"].is_string() && tool["outputSchema"]["properties"].is_object());
        out += &format!("{} {}\n", tool["name"].as_str().expect("a name"), tool["annotations"]);
    }
    expect![[r#"
        hybrid_query {"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}
        ask {"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}
        read_passage {"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}
        entity_lookup {"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}
        explain_entity {"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}
        connect {"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}
        remember {"readOnlyHint":false,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}
        changes {"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}
        ingest_docs {"readOnlyHint":false,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}
        extract_and_link {"readOnlyHint":false,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}
        review_links {"readOnlyHint":false,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}
        status {"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}
    "#]]
    .assert_eq(&out);
}

#[tokio::test]
async fn a_preamble_chooses_the_tools() {
    let server = TestServer::new().await;
    let mut agent = server.guest().await;
    check(
        &agent.call(1, "wait", json!({})).await,
        expect![[r#"
            -32602 no tool is called `wait`
            hint: this session has `hybrid_query`, `ask`, `read_passage`, `entity_lookup`, `…
        "#]],
    );
    let mut kgctl = server.stranger().await;
    kgctl.send_line(r#"{"kgd":1,"tools":["admin"],"client":"kgctl"}"#).await;
    kgctl.initialize("2025-06-18").await;
    check(
        &kgctl.call(1, "wait", json!({"tick": "soon"})).await,
        expect![[r#"
            ! ?: parameter `tick` of `wait`: invalid type: string "soon", expected u64
            hint: it takes `tick`, `timeout_ms`
        "#]],
    );
    check(
        &kgctl.call(2, "hybrid_query", json!({"q": "x"})).await,
        expect![[r#"
            -32602 no tool is called `hybrid_query` here: it is in the set `core`
            hint: `kg-mcp --tools admin,core` has it; this session has `graph`, `open_page`,…
        "#]],
    );
    let mut wrong = server.stranger().await;
    wrong.send_line(r#"{"kgd":1,"tools":["all"]}"#).await;
    check(
        &wrong.next_reply().await.expect("an error"),
        expect![[r#"
            -32602 no set of tools is called `all`
            hint: sets are `default`, `core`, `notes`, `memory`, `kb`
        "#]],
    );
    assert_eq!(wrong.next_reply().await, None);
}

#[tokio::test]
async fn a_failed_call_is_a_result_with_code_and_hint() {
    let server = TestServer::new().await;
    let mut client = server.guest().await;
    check(
        &client.call(1, "explain_entity", json!({"name": "x"})).await,
        expect![[r#"
        ! not_found: nothing is called `x`
        hint: look it up
    "#]],
    );
    check(
        &client.call(2, "hybrid_query", json!({"colour": "x"})).await,
        expect![[r#"
            ! invalid_params: `hybrid_query` has no parameter `colour`
            hint: it takes `q` (required), `k`, `hops`, `rels`, `path`, `tags`, `type`, `sec…
        "#]],
    );
    check(
        &client.call(3, "hybrid_query", json!({"q": "panic"})).await,
        expect![[r#"
            ! internal: `hybrid_query` crashed
            hint: this is a bug in kgd; the daemon's log says where
        "#]],
    );
    check(
        &client.call(4, "ingest_docs", json!({"paths": ["panic"]})).await,
        expect![[r#"
            ! internal: `ingest_docs` crashed
            hint: this is a bug in kgd; the daemon's log says where
        "#]],
    );
    check(
        &client.call(5, "hybrid_query", json!({"q": "still here"})).await,
        expect![[r#"
        nothing found
        (notes, tick 7)
    "#]],
    );
}

#[tokio::test]
async fn every_call_ends_by_its_deadline() {
    let server = TestServer::with_deadline(1).await;
    let mut client = server.guest().await;
    check(
        &client.call(1, "review_links", json!({})).await,
        expect![[r#"
        ! deadline_exceeded: `review_links` did not finish within 1 ms
        hint: ask for less, try again, or raise `serve.request_deadline_ms`
    "#]],
    );
}

#[tokio::test]
async fn progress_comes_before_the_answer_and_only_when_asked_for() {
    let server = TestServer::new().await;
    let mut client = server.guest().await;
    let params = json!({
        "name": "ingest_docs", "arguments": {"paths": ["…"]}, "_meta": {"progressToken": "t1"},
    });
    client.request(1, "tools/call", params).await;
    let notification = client.next_reply().await.expect("a notification");
    assert_eq!(notification["method"], "notifications/progress");
    expect![[r#"{"progressToken":"t1","progress":1.0,"total":2.0,"message":"half"}"#]]
        .assert_eq(&notification["params"].to_string());
    let params = json!({"requestId": 1, "reason": "enough"});
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
    client.send_line(&cancel.to_string()).await;
    // The cancelled call is not answered; the next one is, without progress.
    check(
        &client.call(2, "ingest_docs", json!({"paths": ["a.md"]})).await,
        expect![[r#"
        ingested 2, skipped 0, failed 0
        (notes, tick 7)
    "#]],
    );
}

#[tokio::test]
async fn many_clients_are_served_at_once() {
    let server = TestServer::new().await;
    let waiting = tokio::spawn({
        let mut client = server.guest().await;
        async move {
            client.call(1, "ingest_docs", json!({"paths": ["…"]})).await;
        }
    });
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..40 {
        let mut client = server.guest().await;
        tasks.spawn(async move {
            for id in 1..=5 {
                let reply = client.call(id, "hybrid_query", json!({"q": format!("big {n}")})).await;
                let truncated = reply["result"]["structuredContent"]["truncated"].as_str();
                assert_eq!(truncated.map(str::len), Some(n));
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.expect("served");
    }
    waiting.abort();
}

#[tokio::test]
async fn whoever_waits_is_told_that_the_daemon_stops() {
    let mut server = TestServer::new().await;
    let mut client = server.guest().await;
    client
        .request(1, "tools/call", json!({"name": "ingest_docs", "arguments": {"paths": ["…"]}}))
        .await;
    // Answered after the request above was read, so that one is running.
    client.request(2, "ping", json!({})).await;
    assert_eq!(client.next_reply().await.expect("a reply")["id"], 2);
    assert_eq!(server.project.activity().n_clients(), 1);
    let sessions = server.stop_accepting().await;
    assert!(UnixStream::connect(&server.path).await.is_err(), "the door is closed");
    check(
        &client.call(3, "hybrid_query", json!({"q": "x"})).await,
        expect![[r#"
        ! unavailable: the daemon is stopping
        hint: try again in a moment
    "#]],
    );
    sessions.end(Duration::from_secs(60)).await;
    check(
        &client.next_reply().await.expect("the last reply"),
        expect![[r#"
        ! unavailable: the daemon is stopping
        hint: try again in a moment
    "#]],
    );
    assert_eq!(client.next_reply().await, None);
    assert_eq!(server.project.activity().n_clients(), 0);
}
