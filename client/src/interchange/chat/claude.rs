//! Claude's export.
//!
//! Facts (no published schema; as converters such as `basic-memory` and `polylogue` read `conversations.json` of 2024
//! and 2025): an array of conversations with `uuid`, `name`, `created_at`, `updated_at` (ISO 8601) and `chat_messages`;
//! a message has `sender` (`human`, `assistant`), `created_at`, `text`, in newer exports also `content` (blocks by
//! `type`: `text`, `tool_use`, `tool_result`, `thinking`), `attachments` and `files` with `file_name`, and
//! `parent_message_uuid`; a conversation may have `current_leaf_message_uuid`.
//! Decisions: if the leaf is given, its branch is the conversation, else all messages in order; thoughts are counted,
//! not imported; nor is the text extracted from attachments.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::super::moment::moment;
use super::{Conversation, Turn, code, id_of, title_of};

pub(super) fn read(value: &Value) -> Result<Conversation, String> {
    let messages = value.get("chat_messages").and_then(Value::as_array);
    let messages = messages.ok_or("`chat_messages` is no list")?;
    let mut it = Conversation {
        title: title_of(value.get("name")),
        created: value.get("created_at").and_then(moment),
        updated: value.get("updated_at").and_then(moment),
        ..Conversation::default()
    };
    it.id = id_of(value, &["uuid"], &it);
    let leaf = value.get("current_leaf_message_uuid").and_then(Value::as_str);
    let shown = leaf.and_then(|leaf| branch(messages, leaf));
    for (idx, message) in messages.iter().enumerate() {
        if shown.as_ref().is_none_or(|shown| shown.contains(&idx)) {
            add(message, &mut it);
        } else {
            it.leave_out("messages of other branches");
        }
    }
    Ok(it)
}

/// Returns the messages on the way from a leaf to the root; none when the parents are missing.
fn branch(messages: &[Value], leaf: &str) -> Option<HashSet<usize>> {
    let id = |message: &'_ Value, key: &str| message.get(key)?.as_str().map(str::to_string);
    let by_id: HashMap<String, usize> =
        messages.iter().enumerate().filter_map(|(idx, it)| Some((id(it, "uuid")?, idx))).collect();
    let mut shown = HashSet::new();
    let mut at = by_id.get(leaf).copied();
    // `insert` ends a cycle of parents, which a damaged export may have.
    while let Some(idx) = at.filter(|idx| shown.insert(*idx)) {
        let parent = messages.get(idx).and_then(|it| id(it, "parent_message_uuid"));
        at = parent.and_then(|parent| by_id.get(&parent).copied());
    }
    // A leaf that leads nowhere is from an export without parents, unless it is the only message.
    (shown.len() > 1 || messages.len() == shown.len()).then_some(shown)
}

fn add(message: &Value, it: &mut Conversation) {
    let stated = |key: &str| message.get(key).and_then(Value::as_str);
    let speaker = match stated("sender").unwrap_or("unknown") {
        "human" | "user" => "User".to_string(),
        "assistant" => "Assistant".to_string(),
        other => other.to_string(),
    };
    let blocks = message.get("content").and_then(Value::as_array);
    let mut texts = Vec::new();
    for block in blocks.into_iter().flatten() {
        let text = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or("");
        match text("type") {
            "text" => texts.push(text("text").to_string()),
            "tool_use" => {
                let input = block.get("input").map(serde_json::to_string_pretty);
                let input = input.and_then(Result::ok).unwrap_or_default();
                texts.push(format!(
                    "Tool {}:\n\n{}",
                    notes::plain::encoded(text("name")),
                    code("json", &input)
                ));
            }
            "tool_result" => texts.push(code("text", &result_of(block.get("content")))),
            "thinking" => it.leave_out("thoughts"),
            _ => it.leave_out("blocks of unknown kinds"),
        }
    }
    texts.retain(|text| !text.trim().is_empty());
    // Older exports have only `text`; in newer ones it repeats the blocks.
    let text = match texts.is_empty() {
        true => stated("text").unwrap_or("").to_string(),
        false => texts.join("\n\n"),
    };
    let mut attached = Vec::new();
    for key in ["attachments", "files", "files_v2"] {
        let files = message.get(key).and_then(Value::as_array);
        for file in files.into_iter().flatten() {
            let name = file.get("file_name").or_else(|| file.get("file_uuid"));
            let name = name.and_then(Value::as_str).filter(|name| !name.is_empty());
            // A file may be listed under several of these keys.
            attached.extend(name.map(str::to_string).filter(|name| !attached.contains(name)));
        }
    }
    it.add_turn(Turn {
        speaker,
        at: stated("created_at").and_then(|at| moment(&at.into())),
        text,
        attached,
    });
}

fn result_of(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(blocks)) => {
            let texts = blocks.iter().filter_map(|it| it.get("text")?.as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}
