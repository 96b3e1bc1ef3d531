//! Writes: a call of every tool with which an agent writes, and the state that each of them needs.

use proto::catalog::CATALOG;
use proto::tool::{Effect, ToolSet};
use serde_json::{Value, json};
use tests::TestProject;

/// Tools that write no file and nothing durable in an existing project.
const OTHERS: [&str; 2] = ["extract_and_link", "create_memory_project"];

/// Writes the notes on which the calls act, before the daemon starts.
pub(super) fn plant(project: &TestProject) {
    for name in ["edited", "moved", "deleted", "restored", "told"] {
        let text =
            format!("# The {name}\n\nThis note is about the harbor, the pier and the sea.\n");
        project.write(&format!("acts/{name}.md"), text);
    }
}

/// Creates the rest of the state through tools.
pub(super) fn prepare(project: &mut TestProject) {
    let person = |name: &str| json!({"name": name, "entityType": "person", "observations": ["sails", "reads"]});
    project.call("create_entities", json!({"entities": [person("Ada"), person("Bob")]}));
    project.call("create_relations", json!({"relations": [knows()]}));
    project.call("kb_store", json!({"short_title": "Ebb", "knowledge_details": "It comes late."}));
    project.call("delete_note", json!({"path": "acts/restored.md"}));
    // Not `settle`, which checks for files that a daemon with its own disk has elsewhere.
    project.until("settled", |status| status["settled"] == true);
}

fn knows() -> Value {
    json!({"from_entity": "Ada", "to_entity": "Bob", "relation_type": "knows"})
}

/// Returns a call of every writing tool of an agent; `decided` is the key of a doubtful link.
pub(super) fn calls(decided: &Value) -> Vec<(&'static str, Value)> {
    let renamed = json!({"from_entity": "Ada", "to_entity": "Bob", "old_type": "knows", "new_type": "teaches"});
    let helps = json!({"from_entity": "Ada", "to_entity": "Bob", "relation_type": "helps"});
    let grace = json!({"name": "Grace", "entityType": "person", "observations": ["x"]});
    let tide = json!({"short_title": "Tide", "knowledge_details": "It turns."});
    let calls = vec![
        ("remember", json!({"text": "Ada sails on Sundays.", "about": "Ada"})),
        ("ingest_docs", json!({"paths": ["acts/told.md"], "tags": ["x"], "skip_if_seen": false})),
        ("review_links", json!({"reject": [decided]})),
        ("write_note", json!({"title": "New", "content": "x", "directory": "new"})),
        ("edit_note", json!({"path": "acts/edited.md", "operation": "append", "content": "x"})),
        ("move_note", json!({"path": "acts/moved.md", "destination": "gone/moved.md"})),
        ("delete_note", json!({"path": "acts/deleted.md"})),
        ("restore_note", json!({"path": "acts/restored.md"})),
        ("create_entities", json!({"entities": [grace]})),
        ("set_summary", json!({"name": "Ada", "summary": "A sailor."})),
        ("set_tags", json!({"name": "Ada", "tags": ["sea"]})),
        ("add_observations", json!({"observations": [{"entity_name": "Ada", "contents": ["x"]}]})),
        ("replace_observation", json!({"entity_name": "Ada", "ordinal": 1, "new_content": "rows"})),
        ("delete_observations", json!({"deletions": [{"entity_name": "Ada", "ordinals": [2]}]})),
        ("create_relations", json!({"relations": [helps]})),
        ("update_relation_type", renamed),
        ("delete_relations", json!({"relations": [knows()]})),
        ("delete_entities", json!({"entity_names": ["Bob"]})),
        ("kb_store", tide.clone()),
        ("kb_store_batch", json!({"entries": [tide]})),
        ("kb_ingest", json!({"path": "acts/told.md"})),
        ("kb_maintain", json!({"action": "deactivate", "entry_id": "kb-00001"})),
    ];
    let is_meant = |name: &str| OTHERS.contains(&name) || calls.iter().any(|it| it.0 == name);
    let writing =
        CATALOG.iter().filter(|it| it.effect == Effect::Writes && it.set != ToolSet::Admin);
    let missing: Vec<&str> = writing.map(|it| it.name).filter(|name| !is_meant(name)).collect();
    assert_eq!(missing, [""; 0], "tools that write need a call here");
    calls
}

/// Returns the error of a call that must fail, even if only its one item fails.
pub(super) fn refusal(project: &mut TestProject, tool: &str, arguments: Value) -> Value {
    fn error_in(value: &Value) -> Option<&Value> {
        match value {
            Value::Object(fields) if fields.contains_key("code") => Some(value),
            Value::Object(fields) => fields.values().find_map(error_in),
            Value::Array(items) => items.iter().find_map(error_in),
            _ => None,
        }
    }
    let reply = match project.try_call(tool, arguments) {
        Err(error) => return error,
        Ok(reply) => reply,
    };
    match (error_in(&reply), reply["files"][0]["reason"].as_str()) {
        (Some(error), _) => error.clone(),
        // `kb_ingest` explains for each file why it was not read.
        (None, Some(why)) => json!({"code": "unavailable", "message": why, "hint": null}),
        (None, None) => panic!("`{tool}` was done: {reply:#}"),
    }
}
