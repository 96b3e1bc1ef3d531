//! Told: what a client is told of as it changes, so that the next daemon is asked to tell it, too.
//!
//! In: requests of the client (`resources/list`, `resources/subscribe`, `resources/unsubscribe`), answers of the
//! daemon. Out: requests of our own for the next daemon; what the client is told once that has taken them up: that what
//! it watches may have changed while nobody looked.
//! Not here: `subscriptions/listen` of revisions since 2026-07-28, which ends with its daemon, and whose client listens
//! again.

use std::collections::{BTreeSet, HashMap};

use serde::Deserialize;
use serde_json::{Value, json};

/// Most addresses that are remembered: as many as a daemon watches for one session.
const MAX_WATCHED: usize = 1_000;

/// The methods that count begin so.
const METHODS: &str = "resources/";

/// What one client is told of.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// Of changes of the list of resources.
    of_list: bool,
    /// Of changes of resources, by their addresses.
    of_resources: BTreeSet<String>,
    /// By the id of each request of ours, as JSON: what the client is told when it is answered.
    asked: HashMap<String, Vec<u8>>,
}

#[derive(Deserialize)]
struct Request {
    method: String,
    params: Option<Params>,
}

#[derive(Deserialize)]
struct Params {
    uri: Option<String>,
}

impl Told {
    /// The client asks for something.
    pub(super) fn on_request(&mut self, line: &[u8]) {
        // Few do; the others are not read a second time.
        if !line.windows(METHODS.len()).any(|it| it == METHODS.as_bytes()) {
            return;
        }
        let Ok(Request { method, params }) = serde_json::from_slice(line) else { return };
        let uri = params.and_then(|params| params.uri);
        match (method.strip_prefix(METHODS), uri) {
            (Some("list"), _) => self.of_list = true,
            (Some("subscribe"), Some(uri)) if self.of_resources.len() < MAX_WATCHED => {
                self.of_resources.insert(uri);
            }
            (Some("unsubscribe"), Some(uri)) => {
                self.of_resources.remove(&uri);
            }
            _ => {}
        }
    }

    /// The requests that have another daemon tell the client the same.
    pub(super) fn take_up(&mut self) -> Vec<Vec<u8>> {
        let list = self.of_list.then(|| ("list", json!({}), "list_changed"));
        let resources = self.of_resources.iter();
        let resources = resources.map(|uri| ("subscribe", json!({ "uri": uri }), "updated"));
        let mut requests = Vec::new();
        self.asked.clear();
        for (n, (method, params, change)) in list.into_iter().chain(resources).enumerate() {
            let id = Value::from(format!("kg-mcp {n}"));
            let message = |mut message: Value| {
                message["jsonrpc"] = "2.0".into();
                message["params"] = params.clone();
                message.to_string().into_bytes()
            };
            requests.push(message(json!({ "id": id, "method": format!("{METHODS}{method}") })));
            let notification = format!("notifications/{METHODS}{change}");
            self.asked.insert(id.to_string(), message(json!({ "method": notification })));
        }
        requests
    }

    /// The daemon answers something. If it is a request of ours: what the client is told instead.
    pub(super) fn on_answer(&mut self, id: &str) -> Option<Vec<u8>> {
        self.asked.remove(id)
    }

    /// The daemon is gone.
    pub(super) fn on_disconnect(&mut self) {
        self.asked.clear();
    }
}
