//! Rude: clients that misbehave, which must not affect anybody else.
//!
//! In: a running daemon. Out: nothing; the fate of their own requests does not matter.

use std::sync::atomic::Ordering;

use serde_json::json;

use super::Stage;
use crate::Client;

/// Requests of a flood: more than a client may have in flight.
const FLOOD: i64 = 100;

/// Connects, misbehaves and leaves, until the crowd is over.
pub(super) fn misbehave(stage: &Stage<'_>, first: usize) {
    let mut visit = first;
    while !stage.is_over.load(Ordering::SeqCst) {
        let mut client = Client::admin(&stage.project.paths().socket);
        // They may be disconnected.
        let _ = match visit % 4 {
            0 => flood(&mut client, "dump"),
            1 => client.send_bytes(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/ca"),
            2 => flood(&mut client, "hybrid_query").and_then(|()| take_back(&mut client)),
            _ => flood(&mut client, "wait").map(|()| client.finish_sending()),
        };
        drop(client);
        stage.count(|report| report.n_rude += 1);
        visit += 1;
    }
}

/// Sends many requests at once and reads none of the replies.
fn flood(client: &mut Client, tool: &str) -> std::io::Result<()> {
    let arguments = match tool {
        "hybrid_query" => json!({"q": "who keeps the ledger of the desk", "k": 100}),
        "wait" => json!({"tick": 1_000_000_000_u64, "timeout_ms": 600_000}),
        _ => json!({"limit": 200}),
    };
    for id in 1000..1000 + FLOOD {
        let params = json!({"name": tool, "arguments": arguments});
        let request = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        client.send_bytes(format!("{request}\n").as_bytes())?;
    }
    Ok(())
}

fn take_back(client: &mut Client) -> std::io::Result<()> {
    for id in 1000..1000 + FLOOD {
        let params = json!({"requestId": id});
        let cancel =
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
        client.send_bytes(format!("{cancel}\n").as_bytes())?;
    }
    Ok(())
}
