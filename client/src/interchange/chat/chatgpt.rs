//! ChatGPT's export.
//!
//! Facts (the export has no published schema; this is what `conversations.json` of 2023 to 2025 holds, as converters
//! such as `chatgpt-to-markdown` and `basic-memory` read it): an array of conversations with `title`, `create_time` and
//! `update_time` (seconds), `conversation_id` or `id`, `current_node`, and `mapping`, a tree of nodes by id with
//! `parent`, `children` and `message`. A message has `author.role` (`system`, `user`, `assistant`, `tool`) and
//! `author.name`, `create_time`, `weight` (0 is hidden), `metadata` (`attachments`,
//! `is_visually_hidden_from_conversation`) and `content` by `content_type`: `text` and `multimodal_text` have `parts`
//! (texts, or objects that point to files), `code` and `execution_output` have `text`.
//! Decisions: the branch that was shown last is the conversation; thoughts, instructions and what is hidden are
//! counted, not imported.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::super::moment::moment;
use super::{Conversation, Turn, code, id_of, title_of};

pub(super) fn read(value: &Value) -> Result<Conversation, String> {
    let nodes = value.get("mapping").and_then(Value::as_object).ok_or("`mapping` is no object")?;
    let mut it = Conversation {
        title: title_of(value.get("title")),
        created: value.get("create_time").and_then(moment),
        updated: value.get("update_time").and_then(moment),
        ..Conversation::default()
    };
    it.id = id_of(value, &["conversation_id", "id"], &it);
    let branch = branch(nodes, value.get("current_node").and_then(Value::as_str));
    let shown: HashSet<&str> = branch.iter().copied().collect();
    // Every edit of a message begins a branch; only the displayed one is imported.
    for id in nodes.keys().filter(|id| !shown.contains(id.as_str())) {
        if nodes.get(id).and_then(|node| node.get("message")).is_some_and(|it| !it.is_null()) {
            it.leave_out("messages of other branches");
        }
    }
    for id in branch {
        let message = nodes.get(id).and_then(|node| node.get("message"));
        if let Some(message) = message.filter(|message| !message.is_null()) {
            add(message, &mut it);
        }
    }
    Ok(it)
}

/// Returns the ids of the displayed branch, from the root on.
fn branch<'a>(nodes: &'a Map<String, Value>, current: Option<&'a str>) -> Vec<&'a str> {
    let key = |id: &str| nodes.get_key_value(id).map(|(id, _)| id.as_str());
    let mut path = Vec::new();
    let mut seen = HashSet::new();
    let mut at = current.and_then(key).or_else(|| last_leaf(nodes));
    // `seen` ends a cycle of parents, which a damaged export may have.
    while let Some(id) = at.filter(|id| seen.insert(*id)) {
        path.push(id);
        at = nodes.get(id).and_then(|node| node.get("parent")?.as_str()).and_then(key);
    }
    path.reverse();
    path
}

/// Returns the latest message, for a conversation without a current node.
fn last_leaf(nodes: &Map<String, Value>) -> Option<&str> {
    let time = |node: &Value| {
        node.get("message").and_then(|it| it.get("create_time")?.as_f64()).unwrap_or(0.0)
    };
    let is_leaf = |node: &Value| {
        node.get("children").and_then(Value::as_array).is_none_or(|children| children.is_empty())
    };
    let leaves = nodes.iter().filter(|(_, node)| is_leaf(node));
    leaves.max_by(|a, b| time(a.1).total_cmp(&time(b.1))).map(|(id, _)| id.as_str())
}

fn add(message: &Value, it: &mut Conversation) {
    let text_at = |path: &str| message.pointer(path).and_then(Value::as_str);
    let role = text_at("/author/role").unwrap_or("unknown");
    let is_hidden = message.get("weight").and_then(Value::as_f64) == Some(0.0)
        || message.pointer("/metadata/is_visually_hidden_from_conversation")
            == Some(&Value::Bool(true));
    if role == "system" || is_hidden {
        // Most conversations begin with an empty system message, which is not worth a count.
        let has_text = !parts_of(message).0.is_empty();
        return if has_text {
            it.leave_out("hidden and system messages")
        };
    }
    let speaker = match (role, text_at("/author/name")) {
        ("user", _) => "User".to_string(),
        ("assistant", _) => "Assistant".to_string(),
        ("tool", Some(name)) => format!("Tool {name}"),
        ("tool", None) => "Tool".to_string(),
        (role, _) => role.to_string(),
    };
    let kind = text_at("/content/content_type").unwrap_or("text");
    let (parts, mut attached) = parts_of(message);
    let text = match kind {
        "text" | "multimodal_text" => parts.join("\n\n"),
        "code" => {
            let language = text_at("/content/language").unwrap_or("");
            text_at("/content/text").map(|text| code(language, text)).unwrap_or_default()
        }
        // Output of programs as code, so that nothing in it is taken for Markdown.
        "execution_output" | "system_error" => {
            text_at("/content/text").map(|text| code("text", text)).unwrap_or_default()
        }
        "tether_quote" => {
            let named = ["/content/title", "/content/url", "/content/text"].map(text_at);
            named.into_iter().flatten().collect::<Vec<_>>().join("\n\n")
        }
        "tether_browsing_display" => text_at("/content/result").unwrap_or("").to_string(),
        other => {
            return it.leave_out(match other {
                "thoughts" | "reasoning_recap" => "thoughts",
                "user_editable_context" | "model_editable_context" => "instructions and memories",
                _ => "messages of unknown kinds",
            });
        }
    };
    let files = message.pointer("/metadata/attachments").and_then(Value::as_array);
    for file in files.into_iter().flatten() {
        let name = file.get("name").or_else(|| file.get("id")).and_then(Value::as_str);
        attached.extend(name.map(str::to_string));
    }
    it.add_turn(Turn { speaker, at: message.get("create_time").and_then(moment), text, attached });
}

/// Returns the texts of a message, and the files that it refers to.
fn parts_of(message: &Value) -> (Vec<&str>, Vec<String>) {
    let parts = message.pointer("/content/parts").and_then(Value::as_array);
    let (mut texts, mut attached) = (Vec::new(), Vec::new());
    for part in parts.into_iter().flatten() {
        let text = part.as_str().or_else(|| part.get("text")?.as_str());
        match text.filter(|text| !text.is_empty()) {
            Some(text) => texts.push(text),
            None => attached.extend(pointer(part)),
        }
    }
    (texts, attached)
}

/// Returns `image file-abc` for an object that refers to a file.
fn pointer(part: &Value) -> Option<String> {
    let kind = part.get("content_type").and_then(Value::as_str)?;
    let kind = kind.split('_').next().unwrap_or(kind);
    let place = part.get("asset_pointer").and_then(Value::as_str).unwrap_or("");
    let name = place.rsplit('/').next().unwrap_or(place);
    Some(format!("{kind} {name}").trim().to_string())
}
