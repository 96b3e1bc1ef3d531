//! Alone: answers of a session that serves no project yet, and so has nobody to ask.
//!
//! In: the handshake, or the request for the list of tools. Out: what any project would say, and how to make one.
//! Invariant: a client that began before there was a project can use one that is made later.

use proto::catalog::{CATALOG, Entry};
use proto::tool::ToolSet;
use serde_json::{Value, json};

use super::naming::{add_project, instructions};
use super::route::First;
use super::served::Served;

/// The revision that has `server/discover`.
const NEWEST: &str = "2026-07-28";

pub(super) fn answer(of: First, params: &Value, sets: &[ToolSet], served: &Served) -> Value {
    let mut capabilities = json!({ "tools": { "listChanged": true } });
    if sets.iter().any(|it| matches!(it, ToolSet::Default | ToolSet::Notes)) {
        capabilities["resources"] = json!({ "subscribe": true, "listChanged": true });
        capabilities["prompts"] = json!({});
    }
    let mut hello = json!({
        "capabilities": capabilities,
        "serverInfo": { "name": "kgd", "version": proto::version() },
        "instructions": instructions(None, served),
    });
    match of {
        First::Hello => {
            hello["protocolVersion"] = params["protocolVersion"].clone();
            hello
        }
        First::Discover => {
            hello["supportedVersions"] = json!([NEWEST]);
            hello
        }
        First::Tools => {
            let is_offered = |it: &&Entry| sets.iter().any(|set| it.is_in(*set));
            let tool = |it: &Entry| {
                let is_whole = sets.contains(&it.set);
                let schema = if is_whole { (it.input)() } else { it.brief_input() };
                json!({ "name": it.name, "description": it.summary, "inputSchema": schema })
            };
            let tools: Vec<Value> = CATALOG.iter().filter(is_offered).map(tool).collect();
            let mut list = json!({ "tools": tools });
            add_project(&mut list, served);
            list
        }
    }
}
