use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::{SCHEMAS, distance, fits, nearest, repair};

fn arguments(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(arguments) => arguments,
        other => panic!("no object: {other}"),
    }
}

fn check(tool: &str, sent: Value, read: Value) {
    let repaired = repair(tool, arguments(sent.clone()));
    assert_eq!(Value::Object(repaired.clone()), read, "{tool} {sent}");
    assert_eq!(repair(tool, repaired.clone()), repaired, "{tool} {sent} twice");
}

#[test]
fn values_of_another_type_are_converted_where_one_reading_is_possible() {
    let table = [
        ("hybrid_query", json!({"q": "x", "k": "5"}), json!({"q": "x", "k": 5})),
        ("hybrid_query", json!({"q": "x", "k": 5.0}), json!({"q": "x", "k": 5})),
        ("hybrid_query", json!({"q": 5, "k": "five"}), json!({"q": "5", "k": "five"})),
        ("hybrid_query", json!({"q": "x", "k": 5.5}), json!({"q": "x", "k": 5.5})),
        ("hybrid_query", json!({"q": "x", "k": null, "tags": "null"}), json!({"q": "x"})),
        ("hybrid_query", json!({"q": "null"}), json!({"q": "null"})),
        ("hybrid_query", json!({"q": "x", "k": null, "limit": 1}), json!({"q": "x", "k": 1})),
        ("hybrid_query", json!({"query": null, "q": "x", "since": null}), json!({"q": "x"})),
        (
            "search_notes",
            json!({"query": "x", "note_types": null, "types": "person"}),
            json!({"query": "x", "note_types": ["person"]}),
        ),
        ("hybrid_query", json!({"q": "x", "tags": "a, b"}), json!({"q": "x", "tags": ["a", "b"]})),
        (
            "hybrid_query",
            json!({"q": "x", "tags": "a b,c"}),
            json!({"q": "x", "tags": ["a b", "c"]}),
        ),
        (
            "hybrid_query",
            json!({"q": "x", "tags": "[\"a\", \"b\"]"}),
            json!({"q": "x", "tags": ["a", "b"]}),
        ),
        (
            "hybrid_query",
            json!({"q": "x", "tags": ["a", 7]}),
            json!({"q": "x", "tags": ["a", "7"]}),
        ),
        ("hybrid_query", json!({"q": ["x"]}), json!({"q": "x"})),
        ("explain_entity", json!({"name": "x", "why": "True"}), json!({"name": "x", "why": true})),
        ("review_links", json!({"below": "0.5"}), json!({"below": 0.5})),
        ("extract_and_link", json!({"doc_ids": "3, 4"}), json!({"doc_ids": [3, 4]})),
        ("extract_and_link", json!({"doc_ids": 3}), json!({"doc_ids": [3]})),
        ("open_nodes", json!({"names": "Ada, the first"}), json!({"names": ["Ada, the first"]})),
        ("open_nodes", json!({"names": ""}), json!({"names": []})),
        (
            "search_notes",
            json!({"metadata_filters": "{\"status\": \"open\"}", "output_format": "JSON"}),
            json!({"metadata_filters": {"status": "open"}, "output_format": "json"}),
        ),
        (
            "search_notes",
            json!({"search_item_types": "observation, relation"}),
            json!({"search_item_types": ["observation", "relation"]}),
        ),
        (
            "create_entities",
            json!({"entities": "[{\"name\": \"Ada\", \"entityType\": \"person\", \"observations\": \"a, b c\"}]"}),
            json!({"entities": [{"name": "Ada", "entity_type": "person", "observations": ["a, b c"]}]}),
        ),
        (
            "create_entities",
            json!({"entities": {"name": "Ada", "type": "person"}}),
            json!({"entities": [{"name": "Ada", "entity_type": "person"}]}),
        ),
        ("edit_note", json!({"path": "a", "value": null}), json!({"path": "a", "value": null})),
        ("edit_note", json!({"path": "a", "value": "5"}), json!({"path": "a", "value": "5"})),
        ("write_note", json!({"metadata": {"n": "5"}}), json!({"metadata": {"n": "5"}})),
    ];
    for (tool, sent, read) in table {
        check(tool, sent, read);
    }
}

#[test]
fn a_parameter_is_found_by_other_names_of_its_concept() {
    let table = [
        ("hybrid_query", "query", "q"),
        ("hybrid_query", "top-k", "k"),
        ("hybrid_query", "maxChars", "max_chars"),
        ("hybrid_query", "folder", "path"),
        ("hybrid_query", "since", "after"),
        ("kb_ask", "query", "question"),
        ("entity_lookup", "name", "name"),
        ("explain_entity", "entity", "name"),
        ("explain_entity", "id", "entity_id"),
        ("get_neighborhood", "entity_name", "name"),
        ("query_observations", "entity", "entity_name"),
        ("open_nodes", "entities", "names"),
        ("delete_entities", "entityNames", "entity_names"),
        ("connect", "from", "a"),
        ("get_path", "target", "to_entity"),
        ("read_passage", "ref", "at"),
        ("read_note", "identifier", "path"),
        ("read_note", "title", "path"),
        ("read_note", "url", "path"),
        ("build_context", "uri", "path"),
        ("build_context", "page_size", "max_related"),
        ("search_notes", "text", "query"),
        ("search_notes", "limit", "page_size"),
        ("search_notes", "type", "note_types"),
        ("search_notes", "entity_types", "search_item_types"),
        ("search_notes", "after", "after_date"),
        ("search_notes", "threshold", "min_similarity"),
        ("recent_activity", "lookback", "timeframe"),
        ("list_directory", "dir", "path"),
        ("list_directory", "pattern", "glob"),
        ("write_note", "path", "directory"),
        ("write_note", "body", "content"),
        ("write_note", "type", "note_type"),
        ("edit_note", "content", "content_updates"),
        ("edit_note", "old_text", "find"),
        ("edit_note", "heading", "section"),
        ("move_note", "new_path", "destination"),
        ("ingest_docs", "files", "paths"),
        // No folder is read or deleted, and an offset is no page.
        ("delete_note", "directory", "directory"),
        ("read_note", "offset", "offset"),
        ("forget", "entity_name", "entity_name"),
    ];
    for (tool, sent, own) in table {
        let repaired = repair(tool, arguments(json!({ sent: "x" })));
        assert_eq!(repaired.keys().collect::<Vec<_>>(), [own], "{tool} {sent}");
    }
}

#[test]
fn a_parameter_that_is_given_stays() {
    check("hybrid_query", json!({"q": "x", "query": "y"}), json!({"q": "x", "query": "y"}));
    // `replace` may be the new text of an edit only where there is nothing else.
    let sent = json!({"title": "x", "content": "y", "force": "true"});
    check("write_note", sent, json!({"title": "x", "content": "y", "overwrite": true}));
}

#[test]
fn what_is_empty_and_what_is_said_twice_is_left_out() {
    let table = [
        ("move_note", json!({"path": "a", "is_directory": false}), json!({"path": "a"})),
        (
            "move_note",
            json!({"path": "a", "is_directory": true}),
            json!({"path": "a", "is_directory": true}),
        ),
        ("move_note", json!({"identifier": "a", "destination_path": ""}), json!({"path": "a"})),
        ("edit_note", json!({"path": "a", "find_text": "", "section": ""}), json!({"path": "a"})),
        (
            "edit_note",
            json!({"path": "a", "content": ""}),
            json!({"path": "a", "content_updates": ""}),
        ),
        ("edit_note", json!({"path": "a", "value": ""}), json!({"path": "a", "value": ""})),
        (
            "edit_note",
            json!({"path": "a", "old_text": "x", "find": ""}),
            json!({"path": "a", "find": "x"}),
        ),
        (
            "edit_note",
            json!({"path": "a", "replace_subsections": false}),
            json!({"path": "a", "replace_subsections": false}),
        ),
        ("read_note", json!({"path": ""}), json!({"path": ""})),
        ("read_note", json!({"identifier": ""}), json!({"path": ""})),
        ("hybrid_query", json!({"q": "x", "colour": ""}), json!({"q": "x"})),
        ("hybrid_query", json!({"q": "x", "colour": "red"}), json!({"q": "x", "colour": "red"})),
        ("hybrid_query", json!({"q": "x", "query": "x"}), json!({"q": "x"})),
        ("hybrid_query", json!({"q": "x", "kk": 5}), json!({"q": "x", "kk": 5})),
        (
            "search_notes",
            json!({"query": "x", "after_date": "", "note_types": "", "since": ""}),
            json!({"query": "x"}),
        ),
        ("recent_activity", json!({"type": "", "timeframe": false}), json!({})),
        (
            "build_context",
            json!({"url": "a", "page_size": 10, "max_related": 5}),
            json!({"path": "a", "max_related": 5}),
        ),
    ];
    for (tool, sent, read) in table {
        check(tool, sent, read);
    }
}

#[test]
fn the_nearest_parameter_is_named() {
    let table = [
        ("hybrid_query", "qurey", Some("query")),
        ("hybrid_query", "kk", Some("k")),
        ("read_note", "line", Some("from_line")),
        ("search_notes", "qurey", Some("query")),
        ("search_notes", "page_sise", Some("page_size")),
        ("search_notes", "metadataFilter", Some("metadata_filters")),
        ("write_note", "contnet", Some("content")),
        ("hybrid_query", "colour", None),
        ("status", "x", None),
    ];
    for (tool, sent, own) in table {
        assert_eq!(nearest(tool, sent).as_deref(), own, "{tool} {sent}");
    }
    assert_eq!(distance("query", "qurey"), 1);
    assert_eq!(distance("", "abc"), 3);
}

/// A value of the type that a schema names.
fn example(schema: &Value) -> Value {
    let texts = ["a, b", "5", "true", "[\"a\"]", "{}", "null", ""].map(Value::from);
    let others = [json!(7), json!(0.5), json!(true), json!({}), json!([])];
    let found = others.iter().chain(&texts).find(|value| fits(schema, value));
    found.cloned().unwrap_or_else(|| json!("text"))
}

#[test]
fn what_was_accepted_stays_as_it_was() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden");
    let mut seen = 0;
    for file in fs::read_dir(golden).expect("golden files").map(|it| it.expect("entry").path()) {
        if file.to_string_lossy().ends_with(".request.json") {
            let text = fs::read_to_string(&file).expect("read");
            let request: Value = serde_json::from_str(&text).expect("JSON");
            let tool = request["name"].as_str().expect("name");
            check(tool, request["arguments"].clone(), request["arguments"].clone());
            seen += 1;
        }
    }
    assert!(seen > 60, "{seen}");
    for (tool, schema) in SCHEMAS.iter() {
        for (name, property) in super::properties(schema) {
            let value = example(property);
            if fits(property, &value) {
                check(tool, json!({ name: value }), json!({ name: value }));
            }
        }
    }
}
