//! Garbage, floods, and clients that do not read.

use super::*;

#[tokio::test]
async fn garbage_is_answered_and_then_cut_off() {
    let server = TestServer::new().await;
    let mut client = server.guest().await;
    client.send_line("GET / HTTP/1.1").await;
    check(
        &client.next_reply().await.expect("an error"),
        expect![[r#"
        -32700 not JSON: expected value at line 1 column 1
    "#]],
    );
    client.send_line(r#"{"foo":"bar","id":"a"}"#).await;
    let refused = client.next_reply().await.expect("an error");
    assert_eq!(refused["id"], json!("a"));
    check(
        &refused,
        expect![[r#"
            -32600 this is JSON, but not a JSON-RPC 2.0 message
        "#]],
    );
    client.send_line(r#"{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}"#).await;
    let refused = client.next_reply().await.expect("an error");
    assert_eq!(refused["id"], json!(1.5));
    check(
        &refused,
        expect![[r#"
            -32600 this is JSON, but not a JSON-RPC 2.0 message
        "#]],
    );
    // A good line in between shows that it is a client after all.
    client.ask(1, "ping", json!({})).await;
    let mut n_errors = 0;
    for n in 0..20 {
        if client.writing.write_all(format!("{}\n", "[".repeat(n * 1000)).as_bytes()).await.is_err()
        {
            break;
        }
    }
    while client.next_reply().await.is_some() {
        n_errors += 1;
    }
    assert_eq!(n_errors, 10);
}

#[tokio::test]
async fn half_a_character_is_refused_under_the_id_of_its_request() {
    let server = TestServer::new().await;
    let mut client = server.guest().await;
    let params = r#"{"name":"hybrid_query","arguments":{"q":"x \ud83d"}}"#;
    client
        .send_line(&format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{params}}}"#
        ))
        .await;
    let refused = client.next_reply().await.expect("an error");
    assert_eq!(refused["id"], json!(7));
    check(
        &refused,
        expect![[r#"
            -32700 not JSON: unexpected end of hex escape at line 1 column 105
            hint: a string in it is not valid text, such as half a surrogate pair; send whol…
        "#]],
    );
}

#[tokio::test]
async fn half_a_line_is_nothing() {
    let server = TestServer::new().await;
    for half in ["", r#"{"jsonrpc":"2.0","id":1,"#, "\n\r\n  \n"] {
        let mut client = server.connect().await;
        client.writing.write_all(half.as_bytes()).await.expect("written");
        client.writing.shutdown().await.expect("shut");
        assert_eq!(client.next_reply().await, None);
    }
}

#[tokio::test]
async fn what_was_asked_before_the_end_is_answered() {
    let server = TestServer::new().await;
    let mut client = server.guest().await;
    client.request(1, "tools/call", json!({"name": "hybrid_query", "arguments": {"q": "x"}})).await;
    client.writing.shutdown().await.expect("shut");
    assert_eq!(client.next_reply().await.expect("a reply")["id"], 1);
    assert_eq!(client.next_reply().await, None);
}

#[tokio::test]
async fn a_line_that_is_too_long_costs_only_itself() {
    let server = TestServer::new().await;
    let mut client = server.guest().await;
    let part = vec![b'x'; 1 << 20];
    for _ in 0..3 {
        client.writing.write_all(&part).await.expect("read and dropped");
    }
    client.send_line("").await;
    check(
        &client.next_reply().await.expect("an error"),
        expect![[r#"
        -32600 the line is too long: at most 1 MiB a message
    "#]],
    );
    client.ask(1, "ping", json!({})).await;
}

#[tokio::test]
async fn old_clients_may_batch_and_chatter() {
    let server = TestServer::new().await;
    let mut client = server.connect().await;
    // rmcp alone closes the connection on a notification before the handshake.
    client.send_line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    client.send_line("\u{feff}{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"ping\"}\r").await;
    assert_eq!(client.next_reply().await.expect("pong")["id"], 9);
    client.initialize("2025-03-26").await;
    let ping = |id: u64| json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
    client
        .send_line(&json!([ping(1), {"jsonrpc": "2.0", "method": "x/y"}, 7, ping(2)]).to_string())
        .await;
    let mut replies = vec![];
    for _ in 0..3 {
        replies.push(client.next_reply().await.expect("a reply").to_string());
    }
    replies.sort();
    expect![[r#"
        {"jsonrpc":"2.0","id":1,"result":{}}
        {"jsonrpc":"2.0","id":2,"result":{}}
        {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"unrecognized JSON-RPC message"}}
    "#]].assert_eq(&(replies.join("\n") + "\n"));
    client.send_line("[]").await;
    check(
        &client.next_reply().await.expect("an error"),
        expect![[r#"
        -32600 a batch holds 1 to 64 messages, not 0
    "#]],
    );
}

#[tokio::test]
async fn odd_capabilities_do_not_keep_a_client_out() {
    let server = TestServer::new().await;
    let odd = [
        json!({"roots": {"listChanged": true}, "sampling": {}, "experimental": {"x": {}}}),
        json!({"experimental": {"x": true}, "sampling": true, "roots": []}),
        json!({"elicitation": {}, "extensions": 1, "tasks": {"list": {}}}),
        json!(null),
    ];
    for capabilities in odd {
        let mut client = server.connect().await;
        let params = json!({
            "protocolVersion": "2025-06-18", "capabilities": capabilities, "clientInfo": {"name": "odd"},
        });
        let reply = client.ask(1, "initialize", params).await;
        assert_eq!(reply["result"]["protocolVersion"], "2025-06-18", "{capabilities} {reply}");
    }
}

#[tokio::test]
async fn malformed_parameters_of_a_known_method_are_named() {
    let server = TestServer::new().await;
    let mut client = server.guest().await;
    check(
        &client.ask(1, "tools/call", json!({"tool": "x"})).await,
        expect![[r#"
        -32602 the parameters of `tools/call` are not understood
        hint: it takes `name`, and an object `arguments`
    "#]],
    );
    check(
        &client.ask(2, "tools/call", json!({"name": "status", "arguments": []})).await,
        expect![[r#"
        -32602 the parameters of `tools/call` are not understood
        hint: it takes `name`, and an object `arguments`
    "#]],
    );
    check(
        &client.ask(3, "tools/fly", json!({})).await,
        expect![[r#"
        -32601 tools/fly
    "#]],
    );
    check(
        &client.call(4, "no_such_tool", json!({})).await,
        expect![[r#"
            -32602 no tool is called `no_such_tool`
            hint: this session has `hybrid_query`, `ask`, `read_passage`, `entity_lookup`, `…
        "#]],
    );
}

#[tokio::test]
async fn too_many_requests_and_used_ids_are_refused() {
    let server = TestServer::new().await;
    let mut client = server.guest().await;
    let params = json!({"name": "ingest_docs", "arguments": {"paths": ["…"]}});
    for id in 0..MAX_IN_FLIGHT as u64 {
        client.request(id + 100, "tools/call", params.clone()).await;
    }
    check(
        &client.ask(1, "ping", json!({})).await,
        expect![[r#"
        -32600 too many requests at once
        hint: wait for replies before sending more
    "#]],
    );
    check(
        &client.ask(100, "ping", json!({})).await,
        expect![[r#"
        -32600 a request with this id is being answered
        hint: give every request its own id
    "#]],
    );
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 100}});
    client.send_line(&cancel.to_string()).await;
    assert_eq!(client.ask(2, "ping", json!({})).await["result"], json!({}));
}

#[tokio::test]
async fn a_client_that_does_not_read_is_cut_off() {
    let dir = tempfile::tempdir().expect("a directory");
    let project = open(&dir, PATIENT_MS).await;
    let (ours, theirs) = UnixStream::pair().expect("a pair");
    let mut client = Client::new(theirs);
    let (reading, writing) = ours.into_split();
    let writing = TimedWriter::new(writing, Duration::from_millis(50));
    let wire = Wire::new(Lines::new(reading, 1 << 20), writing, HangUp::default());
    let preamble = Preamble { form: Some(Form::Whole), ..Preamble::default() };
    let session = Session::new(project, fake_routes(), &preamble, wire.in_flight());
    let serving =
        tokio::spawn(
            async move { session.serve(wire).await.expect("a handshake").waiting().await },
        );
    client.initialize("2025-06-18").await;
    // Each answer is larger than the socket's buffer, and none is read.
    for id in 1..40 {
        let params = json!({"name": "hybrid_query", "arguments": {"q": "big 1000000"}});
        let message = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        if client.writing.write_all(format!("{message}\n").as_bytes()).await.is_err() {
            break;
        }
    }
    serving.await.expect("no panic").expect("the session ended by itself");
}
