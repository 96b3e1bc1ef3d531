//! Leaving: removes secrets from everything that leaves the daemon, and escapes hidden characters.
//!
//! In: replies as JSON, errors, arguments. Out: the same, cleaned.
//! Hidden characters are escaped (`proto::visible`), and escaped names that come back are restored.
//! Documents were cleaned of secrets when they were read; their text leaves as stored, so secrets
//! that the user allowed (`privacy.allow_paths`, `privacy.allow_marks`) are shown. Everything else
//! may repeat a request, a path or a reason, and is cleaned here. The text form of replies is
//! cleaned by its style (`form.rs`).

use std::borrow::Cow;

use proto::error::ErrorView;
pub(super) use proto::visible::show_value as show_reply;
use proto::visible::{named, restore, show};
use serde_json::{Map, Value};

use redact::clean;

/// Keys of replies that hold stored text and never repeat an argument.
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

/// Keys of requests that must not be cleaned: they name something, or are to be written. What a
/// write may do to secrets is decided where the note is known (`notes/secrets.rs`).
const TAKEN: [&str; 24] = [
    "knowledge_details",
    "text",
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
    "id",
    "identifier",
    "destination",
    "destination_folder",
    "content",
    "content_updates",
    "find",
    "find_text",
    "value",
    "metadata",
    "expected_checksum",
];

/// Keys of requests, at any depth, whose value names something that an answer may have shown.
const NAMING: [&str; 26] = [
    "a",
    "about",
    "at",
    "b",
    "deletions",
    "destination",
    "destination_folder",
    "directory",
    "doc_type",
    "entity",
    "entity_a",
    "entity_b",
    "entity_name",
    "entity_names",
    "from_entity",
    "id",
    "identifier",
    "name",
    "names",
    "note_types",
    "path",
    "paths",
    "tags",
    "to_entity",
    "type",
    "types",
];

/// Cleans arguments before they are used: an answer may repeat them in another form, such as a
/// norm, in which a secret could no longer be recognized.
pub(super) fn clean_request(mut arguments: Map<String, Value>) -> Map<String, Value> {
    let open = arguments.iter_mut().filter(|(key, _)| !TAKEN.contains(&key.as_str()));
    open.for_each(|(_, value)| clean_reply(value));
    arguments
}

/// Returns whether a name among the arguments holds an escape.
pub(super) fn have_escapes(arguments: &mut Map<String, Value>) -> bool {
    let mut found = false;
    each_name(arguments, &mut |name| found |= matches!(restore(name), Cow::Owned(_)));
    found
}

/// Restores the escaped names among the arguments, except what is `spelled` so ([`proto::visible::named`]).
pub(super) fn restore_names(arguments: &mut Map<String, Value>, spelled: &[String]) {
    each_name(arguments, &mut |name| *name = named(name, spelled));
}

fn is_naming(key: &str) -> bool {
    NAMING.contains(&key)
}

fn each_name(arguments: &mut Map<String, Value>, then: &mut impl FnMut(&mut String)) {
    arguments.iter_mut().for_each(|(key, value)| each_of(value, is_naming(key), then));
}

fn each_of(value: &mut Value, is_name: bool, then: &mut impl FnMut(&mut String)) {
    match value {
        Value::String(text) if is_name => then(text),
        Value::Array(items) => items.iter_mut().for_each(|it| each_of(it, is_name, then)),
        Value::Object(fields) if !is_name => each_name(fields, then),
        Value::Object(fields) => fields.values_mut().for_each(|it| each_of(it, true, then)),
        _ => {}
    }
}

/// Cleans every string of a reply that is not stored text.
pub(super) fn clean_reply(reply: &mut Value) {
    match reply {
        Value::String(text) => {
            if let Cow::Owned(cleaned) = clean(text) {
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

/// Cleans one text and escapes its hidden characters.
pub(super) fn clean_text(text: &str) -> String {
    show(&clean(text)).into_owned()
}

/// Cleans an error.
pub(super) fn clean_error(error: ErrorView) -> ErrorView {
    let ErrorView { code, message, hint, mut conflict } = error;
    let hint = hint.map(|hint| clean_text(&hint));
    for version in conflict.iter_mut().flat_map(|it| [&mut it.theirs, &mut it.yours]).flatten() {
        version.text = clean_text(&version.text);
    }
    ErrorView { code, message: clean_text(&message), hint, conflict }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{clean_reply, have_escapes, restore_names, show_reply};

    #[test]
    fn what_is_shown_can_be_named_again() {
        let mut reply = json!({ "path": "a\u{202e}b.md", "metadata": { "k\u{200b}": ["\u{1b}"] } });
        show_reply(&mut reply);
        assert_eq!(
            reply,
            json!({ "path": r"a\u{202e}b.md", "metadata": { r"k\u{200b}": [r"\u{1b}"] } })
        );
        let asked = json!({ "path": reply["path"], "content": reply["path"], "q": reply["path"] });
        let mut asked = asked.as_object().expect("a map").clone();
        assert!(have_escapes(&mut asked));
        restore_names(&mut asked, &[]);
        assert_eq!(asked["path"], "a\u{202e}b.md");
        assert_eq!((&asked["content"], &asked["q"]), (&reply["path"], &reply["path"]));
    }

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
