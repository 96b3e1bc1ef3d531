//! Abandoned calls end at once, and one client's requests do not block others.

use super::*;

/// Connects clients that occupy every reader with endless queries.
async fn besiege(server: &TestServer, q: &str) -> Vec<Client> {
    let mut clients = Vec::new();
    for _ in 0..max_readers() / max_reads_of_one() {
        let mut client = server.guest().await;
        for id in 1..=max_reads_of_one() as u64 {
            client.request(id, "tools/call", asking(q)).await;
        }
        clients.push(client);
    }
    queries(q, |_, n_running| n_running == max_readers()).await;
    clients
}

fn asking(q: &str) -> Value {
    json!({"name": "hybrid_query", "arguments": {"q": q}})
}

/// Checks that the readers are free again: one more client is answered.
async fn somebody_is_answered(server: &TestServer) {
    let mut client = server.guest().await;
    check(
        &client.call(1, "hybrid_query", json!({"q": "x"})).await,
        expect![[r#"
            nothing found
            (notes, tick 7)
        "#]],
    );
}

#[tokio::test]
async fn cancelled_queries_end_and_let_others_in() {
    let server = TestServer::new().await;
    let mut clients = besiege(&server, "endless, cancelled").await;
    for client in &mut clients {
        for id in 1..=max_reads_of_one() {
            let params = json!({"requestId": id});
            let cancel =
                json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
            client.send_line(&cancel.to_string()).await;
        }
    }
    queries("endless, cancelled", |_, n_running| n_running == 0).await;
    somebody_is_answered(&server).await;
    // Clients that cancelled are still served.
    clients[0].ask(9, "ping", json!({})).await;
}

#[tokio::test]
async fn queries_of_clients_that_vanish_end() {
    let server = TestServer::new().await;
    drop(besiege(&server, "endless, vanished").await);
    queries("endless, vanished", |_, n_running| n_running == 0).await;
    somebody_is_answered(&server).await;
}

#[tokio::test]
async fn overdue_queries_end() {
    // Long enough to start all of them on a slow machine, before the first ones time out.
    let server = TestServer::with_deadline(100).await;
    let q = "endless, overdue";
    let mut clients = Vec::new();
    for _ in 0..max_readers() {
        let mut client = server.guest().await;
        client.request(1, "tools/call", asking(q)).await;
        clients.push(client);
    }
    for client in &mut clients {
        check(
            &client.next_reply().await.expect("an answer"),
            expect![[r#"
                ! deadline_exceeded: `hybrid_query` did not finish within 100 ms
                hint: ask for less, try again, or raise `serve.request_deadline_ms`
            "#]],
        );
    }
    queries(q, |_, n_running| n_running == 0).await;
}

#[tokio::test]
async fn who_asks_many_things_waits_for_himself() {
    let server = TestServer::new().await;
    let q = "endless, of one";
    let mut greedy = server.guest().await;
    for id in 1..MAX_IN_FLIGHT as u64 {
        greedy.request(id, "tools/call", asking(q)).await;
    }
    queries(q, |_, n_running| n_running == max_reads_of_one()).await;
    for _ in 0..10 {
        somebody_is_answered(&server).await;
    }
    assert_eq!(queries(q, |_, _| true).await, (max_reads_of_one(), max_reads_of_one()));
    drop(greedy);
    queries(q, |_, n_running| n_running == 0).await;
}

#[tokio::test]
async fn who_does_not_read_makes_few_answers() {
    let server = TestServer::new().await;
    let q = "big 1000000";
    let mut deaf = server.guest().await;
    for id in 1..MAX_IN_FLIGHT as u64 {
        deaf.request(id, "tools/call", asking(q)).await;
    }
    let wanted = MAX_QUEUED_LINES + max_reads_of_one();
    queries(q, |n_begun, _| n_begun >= wanted).await;
    for _ in 0..20 {
        somebody_is_answered(&server).await;
    }
    // One more is being written, and a socket buffers less than one.
    let (n_begun, _) = queries(q, |_, n_running| n_running == 0).await;
    assert!(n_begun <= wanted + 2, "{n_begun}");
    // Nothing is lost: a client that reads at last gets everything.
    let mut n_answers = 0;
    while n_answers < MAX_IN_FLIGHT - 1 {
        deaf.next_reply().await.expect("an answer");
        n_answers += 1;
    }
}

#[tokio::test]
async fn a_long_wait_of_a_client_that_vanishes_ends() {
    let server = TestServer::new().await;
    let mut client = server.guest().await;
    let arguments = json!({"paths": ["… vanished"]});
    client.request(1, "tools/call", json!({"name": "ingest_docs", "arguments": arguments})).await;
    queries("… vanished", |_, n_running| n_running == 1).await;
    drop(client);
    queries("… vanished", |_, n_running| n_running == 0).await;
}
