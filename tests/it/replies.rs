//! Replies: one call of every tool. Its arguments and its reply fit the tool's schemas, and both
//! equal the frozen ones in `proto/golden`.

use std::fs;
use std::path::{Path, PathBuf};

use proto::catalog::CATALOG;
use serde_json::{Map, Value, json};
use tests::TestProject;

use crate::wire::NOTES;

/// Collects where a value does not match a schema, for the keywords that our schemas use: types,
/// required fields, items, unknown fields.
fn misfits(schema: &Value, value: &Value, at: &str, out: &mut Vec<String>) {
    let fits = |name: &str| match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        _ => false,
    };
    let is_of_type = match &schema["type"] {
        Value::String(name) => fits(name),
        Value::Array(names) => names.iter().filter_map(Value::as_str).any(fits),
        _ => true,
    };
    if !is_of_type {
        out.push(format!("{at}: {value} is no {}", schema["type"]));
        return;
    }
    let branches = schema["anyOf"].as_array().map(|all| {
        all.iter().map(|branch| {
            let mut out = Vec::new();
            required(branch, value, at, &mut out);
            out
        })
    });
    // Reports the errors of the branch that fits best.
    out.extend(branches.into_iter().flatten().min_by_key(Vec::len).unwrap_or_default());
    required(schema, value, at, out);
    let nothing = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&nothing);
    for (field, inner) in value.as_object().into_iter().flatten() {
        match (properties.get(field), &schema["additionalProperties"]) {
            (Some(schema), _) => misfits(schema, inner, &format!("{at}.{field}"), out),
            (None, Value::Object(_)) => {
                misfits(&schema["additionalProperties"], inner, &format!("{at}.{field}"), out);
            }
            (None, _) if properties.is_empty() => {}
            (None, _) => out.push(format!("{at}: `{field}` is not declared")),
        }
    }
    for (i, inner) in value.as_array().into_iter().flatten().enumerate() {
        if schema["items"].is_object() {
            misfits(&schema["items"], inner, &format!("{at}[{i}]"), out);
        }
    }
}

fn required(schema: &Value, value: &Value, at: &str, out: &mut Vec<String>) {
    for field in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if value.get(field).is_none() {
            out.push(format!("{at}: `{field}` is missing"));
        }
    }
}

#[test]
fn an_error_fits_the_output_schema_of_each_tool() {
    let mut project = TestProject::of(NOTES);
    let tools = project.client().ask("tools/list", json!({}));
    let error = project.client().call("read_note", json!({"path": "nowhere"})).expect_err("none");
    for tool in tools["result"]["tools"].as_array().expect("tools") {
        let mut schema = tool["outputSchema"].clone();
        // Undeclared fields are valid in JSON Schema.
        for field in ["code", "message", "hint"] {
            let declared = &mut schema["properties"][field];
            if declared.is_null() {
                *declared = json!({"type": "string"});
            }
        }
        let mut out = Vec::new();
        misfits(&schema, &error, "error", &mut out);
        assert_eq!(out, Vec::<String>::new(), "{}", tool["name"]);
    }
}

/// Returns every tool except `shutdown`, with arguments that make it reply with as much as it can.
fn calls() -> Vec<(&'static str, Value)> {
    vec![
        ("hybrid_query", json!({"q": "what does the Harbor Gateway depend on", "k": 2})),
        ("read_passage", json!({"at": "Harbor Gateway.md:6", "around": 1})),
        ("entity_lookup", json!({"q": "harbor", "limit": 2})),
        ("explain_entity", json!({"name": "HGW", "hops": 2, "limit": 3, "why": true})),
        ("connect", json!({"a": "HGW", "b": "Tide Clock", "max_hops": 2, "limit": 1})),
        ("ask", json!({"query": "who uses the Harbor Gateway", "limit": 3})),
        (
            "ingest_docs",
            json!({"paths": ["*.txt", "missing.md"], "tags": ["log"], "source_url": "https://example.org/log"}),
        ),
        ("extract_and_link", json!({})),
        ("review_links", json!({"below": 1.0, "limit": 2})),
        ("status", json!({})),
        ("search", json!({"query": "when does the water turn", "limit": 2})),
        (
            "search_notes",
            json!({
                "query": "water", "page_size": 2, "search_type": "hybrid",
                "search_item_types": ["entity", "relation"], "note_types": ["Service"],
            }),
        ),
        ("read_note", json!({"path": "memory://harbor-gateway"})),
        ("view_note", json!({"path": "Tide Clock"})),
        ("read_content", json!({"path": "Harbor Gateway.md"})),
        ("fetch", json!({"id": "tide-clock"})),
        (
            "write_note",
            json!({
                "title": "Pilot Boat", "directory": "boats", "tags": ["edge"], "metadata": {"crew": 3},
                "content": "- [fact] It is orange #color\n- waits_for [[Tide Clock]]\n- sails_to [[Far Island]]\n",
                "overwrite": true,
            }),
        ),
        (
            "edit_note",
            json!({"path": "Pilot Boat", "find": "orange", "content_updates": "red", "dry_run": true}),
        ),
        (
            "move_note",
            json!({"path": "Tide Clock", "destination": "clocks/Clock of Tides.md", "dry_run": true}),
        ),
        ("build_context", json!({"path": "memory://tide-clock", "max_related": 2})),
        ("backlinks", json!({"path": "Tide Clock.md"})),
        ("list_directory", json!({"depth": 2})),
        ("list_notes", json!({"tags": ["edge"]})),
        ("recent_activity", json!({"timeframe": "1 hour"})),
        ("changes", json!({"since": "1 hour", "path": "**/*.md", "limit": 2, "max_chars": 1000})),
        ("schema_infer", json!({"type": "Service", "threshold": 0.5})),
        ("schema_validate", json!({"type": "Service"})),
        ("schema_diff", json!({"type": "Service"})),
        ("list_memory_projects", json!({})),
        ("create_memory_project", json!({"name": "Second", "path": "<scratch>/second"})),
        ("get_mcp_instructions", json!({})),
        ("delete_note", json!({"path": "boats/pilot-boat.md"})),
        (
            "create_entities",
            json!({"entities": [
                {"name": "Ada Lovelace", "entity_type": "person", "tags": ["history"], "summary": "A mathematician.",
                 "observations": ["Wrote the first program", "Maintains the Tide Clock"]},
                {"name": "Charles Babbage", "entity_type": "person", "observations": ["Wrote the first plans"]},
                {"name": "Tide Clock", "entity_type": "Service"},
            ]}),
        ),
        (
            "add_observations",
            json!({"observations": [
                {"entity_name": "Ada Lovelace", "contents": ["Likes poetry", "Lives in London"]},
                {"entity_name": "Nobody", "contents": ["x"]},
            ]}),
        ),
        (
            "create_relations",
            json!({"relations": [
                {"from_entity": "Ada Lovelace", "to_entity": "Charles Babbage", "relation_type": "works_with"},
                {"from_entity": "Charles Babbage", "to_entity": "Harbor Gateway", "relation_type": "builds"},
                {"from_entity": "Charles Babbage", "to_entity": "Nobody", "relation_type": "knows"},
            ]}),
        ),
        ("open_nodes", json!({"names": ["Ada Lovelace", "Nobody"]})),
        ("get_nodes_by_type", json!({"entity_type": "person"})),
        ("get_recently_modified", json!({"days": 1, "limit": 1})),
        ("set_summary", json!({"name": "Charles Babbage", "summary": "An engineer."})),
        ("set_tags", json!({"name": "Charles Babbage", "tags": ["engines"]})),
        (
            "replace_observation",
            json!({"entity_name": "Ada Lovelace", "ordinal": 3, "new_content": "Reads poetry"}),
        ),
        (
            "delete_observations",
            json!({"deletions": [{"entity_name": "Ada Lovelace", "ordinals": [4, 9]}]}),
        ),
        (
            "query_observations",
            json!({"entity_name": "Ada Lovelace", "query": "program", "mode": "text"}),
        ),
        (
            "update_relation_type",
            json!({
                "from_entity": "Ada Lovelace", "to_entity": "Charles Babbage", "old_type": "works_with",
                "new_type": "writes_to",
            }),
        ),
        (
            "get_relations_between",
            json!({"entity_a": "Charles Babbage", "entity_b": "Ada Lovelace"}),
        ),
        ("get_neighborhood", json!({"name": "Ada Lovelace", "depth": 2})),
        ("get_path", json!({"from_entity": "Ada Lovelace", "to_entity": "Harbor Gateway"})),
        ("get_orphans", json!({})),
        ("get_relation_gaps", json!({})),
        ("find_similar_nodes", json!({"min_score": 0.1})),
        ("search_nodes", json!({"query": "program", "limit": 2})),
        ("get_consolidation_report", json!({})),
        ("get_pending_consolidation", json!({})),
        ("get_stats", json!({})),
        ("read_graph", json!({})),
        (
            "delete_relations",
            json!({"relations": [
                {"from_entity": "Charles Babbage", "to_entity": "Harbor Gateway", "relation_type": "builds"},
            ]}),
        ),
        ("delete_entities", json!({"entity_names": ["Ada Lovelace", "Charles Babbage", "Nobody"]})),
        (
            "kb_store",
            json!({
                "short_title": "Water turns late", "long_title": "The water turns later than the clock says",
                "knowledge_details": "The water turns 12 minutes late.", "entry_type": "lesson_learned",
                "project_ref": "harbor", "tags": ["water"], "hints": {"person": "Ada Lindqvist", "supersedes": "kb-00099"},
            }),
        ),
        (
            "kb_store_batch",
            json!({"entries": [
                {"short_title": "Clock", "knowledge_details": "The clock of the tides is slow; see kb-00001.",
                 "tags": ["water"], "hints": {"supersedes": "kb-00001"}},
                {"short_title": "Nothing", "knowledge_details": " "},
            ]}),
        ),
        ("kb_search", json!({"query": "when does the water turn", "limit": 1})),
        ("kb_get", json!({"entry_id": ["kb-00001", "kb-00077"]})),
        ("kb_ask", json!({"question": "how is kb-00002 connected to person:ada-lindqvist"})),
        ("kb_summarize", json!({"question": "when does the water turn"})),
        ("kb_ingest", json!({"path": "*.txt", "dry_run": true})),
        ("kb_maintain", json!({"action": "entry_versions", "entry_id": "kb-00001", "version": 1})),
        ("graph", json!({"name": "HGW", "hops": 2, "limit": 3})),
        ("dump", json!({"limit": 2})),
        ("open_page", json!({})),
        ("render_document", json!({"path": "Tide Clock.md"})),
        ("entity_decisions", json!({"name": "Harbor Gateway"})),
        ("broken_links", json!({"limit": 2})),
        ("memory_report", json!({})),
        ("wait", json!({"timeout_ms": 60_000})),
        ("verify", json!({"limit": 2})),
        ("rescan", json!({})),
        ("retry", json!({})),
        ("deep_pass", json!({})),
        ("reload", json!({})),
        ("checkup", json!({})),
        (
            "remember",
            json!({"text": "The Tide Clock loses 3 minutes a week.", "about": "Tide Clock"}),
        ),
        ("note_history", json!({"path": "boats/pilot-boat.md"})),
        ("restore_note", json!({"path": "boats/pilot-boat.md"})),
        ("backup", json!({})),
        ("forget", json!({"text": "a string that nobody wrote", "prove": true})),
    ]
}

/// Replaces `<scratch>` by a folder that only this test has.
fn placed(arguments: &Value, project: &TestProject) -> Value {
    let scratch = project.scratch().display().to_string();
    let text = arguments.to_string().replace("<scratch>", &scratch);
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn structured_content_fits_its_schema_and_text_is_for_reading() {
    let mut project = TestProject::of_with_roots(NOTES);
    let tools = project.client().ask("tools/list", json!({}));
    let tools = tools["result"]["tools"].as_array().expect("tools").clone();
    for (name, arguments) in calls() {
        let arguments = placed(&arguments, &project);
        let tool = tools.iter().find(|tool| tool["name"] == name).expect("listed");
        let mut out = Vec::new();
        misfits(&tool["inputSchema"], &arguments, "arguments", &mut out);
        let result = project.client().call_whole(name, arguments).expect("a result");
        assert_ne!(result["isError"], true, "{name}: {result}");
        misfits(&tool["outputSchema"], &result["structuredContent"], "reply", &mut out);
        assert_eq!(out, Vec::<String>::new(), "{name}");
        let text = result["content"][0]["text"].as_str().expect("text");
        // `fetch` is for clients that parse its text as JSON.
        assert_eq!(text.starts_with('{'), name == "fetch", "{name}: {text}");
        assert!(!text.trim().is_empty(), "{name}");
    }
}

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../proto/golden").join(name)
}

/// Compares with a frozen file, or rewrites it if `KG_REGENERATE=1`.
fn check_golden(name: &str, value: &Value) {
    let text = format!("{value:#}\n");
    if std::env::var_os("KG_REGENERATE").is_some() {
        fs::create_dir_all(golden("")).expect("a folder");
        fs::write(golden(name), text).expect("a file");
        return;
    }
    let frozen = fs::read_to_string(golden(name)).unwrap_or_default();
    assert_eq!(text, frozen, "`proto/golden/{name}` differs; `KG_REGENERATE=1` rewrites it");
}

/// Replaces numbers that differ between runs by their meaning, and rounds scores to two digits.
fn mask(value: &mut Value, field: &str, root: &str) {
    const VOLATILE: &[&str] = &[
        "id",
        "doc_id",
        "src",
        "dst",
        "pid",
        "tick",
        "ingest_rate",
        "n_written",
        "started_at",
        "average_transaction_ms",
        "entity",
        "subject_id",
        "object_id",
        "clients",
        "version",
        "last_file",
        "address",
        "html",
        "next_cursor",
        "ref",
        "before",
        "after",
        "seconds",
        "commits",
        "running",
        "most",
        "started",
        "compared",
        "idle_bytes",
        "sandbox",
        "date",
        "day",
        "period",
        "modified",
        "since",
        "entity_id",
        "created_at",
        "updated_at",
        "last_modified",
        "last_observation_at",
        "summary_updated_at",
    ];
    match value {
        _ if VOLATILE.contains(&field) => *value = json!(format!("<{field}>")),
        Value::Number(number) if number.is_f64() => {
            let rounded = format!("{:.2}", number.as_f64().unwrap_or(0.0));
            *value = json!(rounded.parse::<f64>().expect("a number"));
        }
        // `relation:@0123456789abcdef>uses>…`: the ledger's uids identify notes.
        Value::String(text) if field == "key" => {
            let parts: Vec<&str> = text.split('@').collect();
            let is_uid = |uid: &str| uid.bytes().all(|byte| byte.is_ascii_hexdigit());
            let uids =
                parts.iter().skip(1).filter_map(|part| part.get(..16).filter(|it| is_uid(it)));
            *text = uids.fold(text.clone(), |text, uid| text.replace(uid, "<uid>"));
        }
        Value::String(text) => *text = text.replace(root, "<root>"),
        Value::Array(items) => items.iter_mut().for_each(|item| mask(item, "", root)),
        Value::Object(fields) => {
            fields.iter_mut().for_each(|(name, value)| mask(value, name, root))
        }
        _ => {}
    }
}

/// Tools that are older than this rule; their replies are tested elsewhere and not frozen.
const FIRST_ADMIN_TOOLS: &[&str] = &["dump", "wait", "shutdown"];

#[test]
fn replies_are_as_frozen() {
    let mut project = TestProject::of_with_roots(NOTES);
    let root = project.root().display().to_string();
    let scratch = project.scratch().display().to_string();
    for (tool, arguments) in calls() {
        if FIRST_ADMIN_TOOLS.contains(&tool) {
            continue;
        }
        project.settle();
        let placed = placed(&arguments, &project);
        let mut result = project.client().call_whole(tool, placed).expect("a result");
        let mut reply = result["structuredContent"].take();
        mask(&mut reply, "", &root);
        mask(&mut reply, "", &scratch);
        if tool == "backup" {
            (reply["path"], reply["bytes"]) = (json!("<path>"), json!("<bytes>"));
        }
        if tool == "forget" {
            // How much space deleted rows take depends on when the log was written back.
            reply["removed"][0]["n"] = json!("<bytes>");
            (reply["proof"]["files"], reply["proof"]["bytes"]) = (json!("<n>"), json!("<bytes>"));
        }
        if tool == "changes" {
            // These depend on when the first index was complete.
            (reply["hint"], reply["since_tick"], reply["until_tick"]) =
                (json!("<hint>"), json!("<tick>"), json!("<tick>"));
            for change in reply["changes"].as_array_mut().expect("a list") {
                change["at"] = json!("<at>");
            }
        }
        if tool == "note_history" {
            for change in reply["changes"].as_array_mut().expect("a list") {
                (change["at"], change["version"]) = (json!("<at>"), json!("<version>"));
            }
        }
        if tool == "memory_report" {
            reply["text"] = json!("<text>");
        }
        // Whether vectors are already in memory depends on a thread.
        if let Some(reply) = reply.as_object_mut() {
            reply.retain(|field, _| !matches!(field.as_str(), "vectors_in_memory" | "embedding"));
        }
        check_golden(
            &format!("{tool}.request.json"),
            &json!({"name": tool, "arguments": arguments}),
        );
        check_golden(&format!("{tool}.reply.json"), &reply);
    }
}

#[test]
fn every_tool_has_its_golden_pair() {
    let mut missing = Vec::new();
    for entry in CATALOG.iter().filter(|entry| !FIRST_ADMIN_TOOLS.contains(&entry.name)) {
        for part in ["request", "reply"] {
            let name = format!("{}.{part}.json", entry.name);
            if !golden(&name).exists() {
                missing.push(name);
            }
        }
    }
    assert_eq!(missing, [""; 0], "KG_REGENERATE=1 makes them");
}
