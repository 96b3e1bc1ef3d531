//! Asker: the parts of a client's request that its answer depends on.
//!
//! In: a request's id, method and parameters; later its result, perhaps merged from several. Out: the answer's line.
//! Invariants: since revision 2026-07-28 each request states its revision, and its result states its type and how long
//! it may be cached; a project's own values are kept, and a client of an older revision sees none of this.

use proto::form::wants_json;
use serde_json::{Map, Value};

use super::line;

/// The first revision with these additional fields.
const NEWEST: &str = "2026-07-28";

/// The pointer to a request's revision.
const REVISION: &str = "/_meta/io.modelcontextprotocol~1protocolVersion";

/// Requests whose results state how long they may be cached.
const KEPT: &[&str] = &[
    "server/discover",
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
];

/// The origin of a request.
#[derive(Debug)]
pub(super) struct Asker {
    /// The request's id, as JSON.
    pub(super) id: String,
    is_newest: bool,
    is_kept: bool,
    /// Whether a tool's result must omit structured content.
    is_text_only: bool,
}

impl Asker {
    /// Records the origin of a request.
    pub(super) fn of(id: String, method: &str, params: &Value, is_structured: bool) -> Self {
        let is_json = params["arguments"].as_object().is_some_and(wants_json);
        let is_text_only = method == "tools/call" && !is_structured && !is_json;
        let revision = params.pointer(REVISION).and_then(Value::as_str);
        let is_newest = revision.is_some_and(|it| it >= NEWEST);
        Asker { id, is_newest, is_kept: KEPT.contains(&method), is_text_only }
    }

    /// Returns whether a tool's result has structured content.
    pub(super) fn is_structured(&self) -> bool {
        !self.is_text_only
    }

    /// Returns the line of a result.
    pub(super) fn result(&self, mut result: Value) -> Vec<u8> {
        if let Some(fields) = result.as_object_mut().filter(|_| self.is_text_only) {
            fields.shift_remove("structuredContent");
        }
        if let Some(fields) = result.as_object_mut().filter(|_| self.is_newest) {
            add(fields, "resultType", "complete".into());
            if self.is_kept {
                // Daemons state the same: a list may change at any time.
                add(fields, "ttlMs", 0.into());
                add(fields, "cacheScope", "private".into());
            }
        }
        line::result(&self.id, &result)
    }

    /// Returns the line of an error.
    pub(super) fn error(&self, error: &Value) -> Vec<u8> {
        line::error(&self.id, error)
    }
}

fn add(fields: &mut Map<String, Value>, name: &str, value: Value) {
    if !fields.contains_key(name) {
        fields.insert(name.to_string(), value);
    }
}
