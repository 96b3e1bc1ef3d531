//! Asker: a request of the client as far as its answer must know it.
//!
//! In: a request's id, method and parameters; later its result, which may be made of several. Out: the answer's line.
//! Invariants: since revision 2026-07-28 each request says its own, and its result says of what type it is and how
//! long it may be kept; what a project said of that itself stays, and a client of an older revision sees nothing of it.
//! Not here: what the result is (`job.rs`).

use serde_json::{Map, Value};

use super::line;

/// The first revision whose results say more.
const NEWEST: &str = "2026-07-28";

/// What a request says of its revision.
const REVISION: &str = "/_meta/io.modelcontextprotocol~1protocolVersion";

/// Requests whose results say how long they may be kept.
const KEPT: &[&str] = &[
    "server/discover",
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
];

/// Who waits for an answer.
#[derive(Debug)]
pub(super) struct Asker {
    /// The request's id, as JSON.
    pub(super) id: String,
    is_newest: bool,
    is_kept: bool,
}

impl Asker {
    /// The one who sent this request.
    pub(super) fn of(id: String, method: &str, params: &Value) -> Self {
        let revision = params.pointer(REVISION).and_then(Value::as_str);
        let is_newest = revision.is_some_and(|it| it >= NEWEST);
        Asker { id, is_newest, is_kept: KEPT.contains(&method) }
    }

    /// The line of a result.
    pub(super) fn result(&self, mut result: Value) -> Vec<u8> {
        if let Some(fields) = result.as_object_mut().filter(|_| self.is_newest) {
            add(fields, "resultType", "complete".into());
            if self.is_kept {
                // As daemons say of their own: what is listed may change at any time.
                add(fields, "ttlMs", 0.into());
                add(fields, "cacheScope", "private".into());
            }
        }
        line::result(&self.id, &result)
    }

    /// The line of an error.
    pub(super) fn error(&self, error: &Value) -> Vec<u8> {
        line::error(&self.id, error)
    }
}

fn add(fields: &mut Map<String, Value>, name: &str, value: Value) {
    if !fields.contains_key(name) {
        fields.insert(name.to_string(), value);
    }
}
