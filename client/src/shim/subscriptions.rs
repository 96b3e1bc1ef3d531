//! Subscriptions: what a client watches, so that it can be repeated to the next daemon.
//!
//! In: requests of the client (`resources/list`, `resources/subscribe`, `resources/unsubscribe`),
//! answers of the daemon. Out: requests of our own to the next daemon; once it has answered them,
//! notifications for the client, because what it watches may have changed meanwhile.

use std::collections::{BTreeSet, HashMap};

use serde::Deserialize;
use serde_json::{Value, json};

/// Most watched addresses: as many as a daemon watches in one session.
const MAX_WATCHED: usize = 1_000;

/// Prefix of the methods concerned.
const METHODS: &str = "resources/";

/// The subscriptions of one client.
#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    /// Whether it watches the list of resources.
    watches_list: bool,
    /// Addresses of the resources that it watches.
    resources: BTreeSet<String>,
    /// For the id of each request of ours, as JSON, the notification that the client gets when it
    /// is answered.
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

impl Subscriptions {
    /// Records a request of the client.
    pub(super) fn on_request(&mut self, line: &[u8]) {
        // Few lines do; the others are not parsed twice.
        if !line.windows(METHODS.len()).any(|it| it == METHODS.as_bytes()) {
            return;
        }
        let Ok(Request { method, params }) = serde_json::from_slice(line) else { return };
        let uri = params.and_then(|params| params.uri);
        match (method.strip_prefix(METHODS), uri) {
            (Some("list"), _) => self.watches_list = true,
            (Some("subscribe"), Some(uri)) if self.resources.len() < MAX_WATCHED => {
                self.resources.insert(uri);
            }
            (Some("unsubscribe"), Some(uri)) => {
                self.resources.remove(&uri);
            }
            _ => {}
        }
    }

    /// Returns the requests that repeat the subscriptions to another daemon.
    pub(super) fn repeated(&mut self) -> Vec<Vec<u8>> {
        let list = self.watches_list.then(|| ("list", json!({}), "list_changed"));
        let resources =
            self.resources.iter().map(|uri| ("subscribe", json!({ "uri": uri }), "updated"));
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

    /// Handles an answer of the daemon. If it answers a request of ours, returns the notification
    /// that replaces it.
    pub(super) fn on_answer(&mut self, id: &str) -> Option<Vec<u8>> {
        self.asked.remove(id)
    }

    /// Drops requests to a daemon that is gone.
    pub(super) fn on_disconnect(&mut self) {
        self.asked.clear();
    }
}
