//! Leaving: what leaves the daemon is without secrets, too.
//!
//! In: replies and errors as tools made them. Out: the same, cleaned.
//! Documents were cleaned when they were read, and their text goes out as it is stored: what the user allowed there
//! (`privacy.allow_paths`, `privacy.allow_marks`) is shown. Everything else may repeat a request, a path or a reason,
//! and is cleaned here.
//! Not here: what a secret is (`pipeline/normalize/redact.rs`); the log (`process.rs`).

use proto::error::ErrorView;
use serde_json::{Map, Value};

use crate::pipeline::normalize::redact::clean;

/// Keys of replies under which stored text stands, and nothing that a caller said.
const STORED: [&str; 10] = [
    "knowledge_details",
    "excerpt",
    "snippet",
    "text",
    "section",
    "name",
    "aliases",
    "rows",
    "content",
    "checksum",
];

/// Keys of requests that must be taken as they are: to find what they name, or because they are to be written. What a
/// write may do to secrets is decided where the note is known (`notes/secrets.rs`).
const TAKEN: [&str; 21] = [
    "knowledge_details",
    "entries",
    "entities",
    "observations",
    "deletions",
    "relations",
    "new_content",
    "newContent",
    "summary",
    "paths",
    "cursor",
    "path",
    "identifier",
    "destination",
    "content",
    "content_updates",
    "find",
    "find_text",
    "value",
    "metadata",
    "expected_checksum",
];

/// Cleans what a caller says before anything is done with it: an answer may repeat it in another form, such as a norm,
/// in which nobody could tell a secret any more.
pub(super) fn clean_request(mut arguments: Map<String, Value>) -> Map<String, Value> {
    let open = arguments.iter_mut().filter(|(key, _)| !TAKEN.contains(&key.as_str()));
    open.for_each(|(_, value)| clean_reply(value));
    arguments
}

/// Cleans every string of a reply that is not stored text.
pub(super) fn clean_reply(reply: &mut Value) {
    match reply {
        Value::String(text) => {
            if let std::borrow::Cow::Owned(cleaned) = clean(text) {
                *text = cleaned;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(clean_reply),
        Value::Object(fields) => {
            let open = fields.iter_mut().filter(|(key, _)| !STORED.contains(&key.as_str()));
            open.for_each(|(_, value)| clean_reply(value));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Cleans one text.
pub(super) fn clean_text(text: &str) -> String {
    clean(text).into_owned()
}

/// Cleans what an error says.
pub(super) fn clean_error(error: ErrorView) -> ErrorView {
    let ErrorView { code, message, hint, mut conflict } = error;
    let hint = hint.map(|hint| clean(&hint).into_owned());
    for version in conflict.iter_mut().flat_map(|it| [&mut it.theirs, &mut it.yours]).flatten() {
        version.text = clean(&version.text).into_owned();
    }
    ErrorView { code, message: clean(&message).into_owned(), hint, conflict }
}

#[cfg(test)]
mod tests {
    use super::clean_reply;

    #[test]
    fn only_stored_text_leaves_as_it_is() {
        let token = format!("gh{}", "p_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
        let mut reply = serde_json::json!({
            "chunks": [{ "snippet": token, "path": token }], "truncated": format!("of `{token}`"), "n": 1
        });
        clean_reply(&mut reply);
        assert_eq!(reply["chunks"][0]["snippet"], token);
        assert_eq!(reply["chunks"][0]["path"], "[redacted:github-token]");
        assert_eq!(reply["truncated"], "of `[redacted:github-token]`");
    }
}
