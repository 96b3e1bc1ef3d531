//! The wire: old and new lifecycles, the list of tools, frozen schemas, sizes, many clients,
//! progress, cancellation, and one frozen request and reply per tool.

use std::fs;
use std::path::{Path, PathBuf};

use proto::catalog::CATALOG;
use proto::tool::ToolSet;
use serde_json::{Map, Value, json};
use tests::{Client, Revision, TestProject};

const NOTES: &[(&str, &str)] = &[
    (
        "Harbor Gateway.md",
        "---\ntype: Service\ntags: [edge]\naliases: [HGW]\n---\n# Harbor Gateway\n\nThe Harbor Gateway is the \
         service that lets ships in. The Harbor Gateway depends on the [[Tide Clock]].\n",
    ),
    (
        "Tide Clock.md",
        "---\ntype: Service\n---\n# Tide Clock\n\nThe Tide Clock is a service that tells when the water turns. \
         Ada Lindqvist maintains the Tide Clock.\n",
    ),
    (
        "schemas/service.md",
        "---\ntype: schema\nentity: Service\nschema:\n  links_to?(array): Service\n  owner: string\n---\n",
    ),
    ("log.txt", "On 2025-03-14 the Harbor Gateway stopped because the Tide Clock was slow.\n"),
];

#[test]
fn both_lifecycles_are_served() {
    let project = TestProject::of(NOTES);
    let revisions = [
        Revision::Initialize("2024-11-05"),
        Revision::Initialize("2025-03-26"),
        Revision::Initialize("2025-06-18"),
        Revision::Initialize("2025-11-25"),
        Revision::Stateless,
    ];
    let n_core = CATALOG.iter().filter(|it| it.set == ToolSet::Core).count();
    for revision in revisions {
        let mut client = Client::agent(&project.paths().socket, revision);
        if revision == Revision::Stateless {
            let found = client.ask("server/discover", json!({}));
            let versions = found["result"]["supportedVersions"].to_string();
            assert!(versions.contains("2026-07-28") && versions.contains("2024-11-05"), "{found}");
        }
        let tools = client.ask("tools/list", json!({}));
        assert_eq!(
            tools["result"]["tools"].as_array().map(Vec::len),
            Some(n_core),
            "{revision:?} {tools}"
        );
        let reply = client.call("hybrid_query", json!({"q": "when does the water turn"}));
        let reply = reply.unwrap_or_else(|error| panic!("{revision:?}: {error}"));
        assert_eq!(reply["chunks"][0]["path"], "Tide Clock.md", "{revision:?}");
    }
}

#[test]
fn tools_are_listed_by_set() {
    let project = TestProject::of_with_roots(NOTES);
    let names = |client: &mut Client| {
        let tools = client.ask("tools/list", json!({}));
        let tools = tools["result"]["tools"].as_array().expect("tools").clone();
        tools
            .iter()
            .map(|tool| tool["name"].as_str().expect("a name").to_string())
            .collect::<Vec<_>>()
    };
    let of = |sets: &[ToolSet]| {
        let ours = CATALOG.iter().filter(|entry| sets.iter().any(|set| entry.is_in(*set)));
        ours.map(|entry| entry.name.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(names(&mut project.agent()), of(&[ToolSet::Core]));
    let mut stranger = Client::stranger(&project.paths().socket);
    assert_eq!(names(&mut stranger), of(&[ToolSet::Default]));
    let mut admin = Client::admin(&project.paths().socket);
    assert_eq!(names(&mut admin), of(&ToolSet::ALL));
    let error = project.agent().call("dump", json!({})).expect_err("not for agents");
    assert!(
        error["message"].as_str().expect("words").contains("no tool is called `dump`"),
        "{error}"
    );
}

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

fn corpus() -> TestProject {
    let mut project = TestProject::empty();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus/docs");
    copy(&root, project.root());
    project.start();
    project.settle();
    project
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("the corpus").flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("a copy");
        }
    }
}

#[test]
fn an_answer_of_ten_hits_is_small_and_names_its_size() {
    let project = corpus();
    let mut agent = project.agent();
    let questions =
        ["how do we rotate the signing keys", "who is on call", "release", "why was it decided"];
    for question in questions {
        let result = agent.call_whole("hybrid_query", json!({"q": question})).expect("a result");
        let text = result["content"][0]["text"].as_str().expect("text");
        let n_hits = result["structuredContent"]["chunks"].as_array().map_or(0, Vec::len);
        // The first hits get most of the space; the cursor leads to what does not fit.
        assert!((7..=10).contains(&n_hits), "{question}: {n_hits}");
        let n_chars: Vec<usize> = result["structuredContent"]["chunks"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|hit| hit["snippet"].as_str().map_or(0, |it| it.chars().count()))
            .collect();
        assert!(n_chars[..5].iter().sum::<usize>() > 5 * 150, "{question}: {n_chars:?}");
        assert!(
            text.chars().count() <= 3_000,
            "{question}: {} characters of text",
            text.chars().count()
        );
    }
    let request = json!({"q": questions[0], "format": "json"});
    let result = agent.call_whole("hybrid_query", request).expect("a result");
    let n_chars = result["structuredContent"].to_string().chars().count();
    assert!(n_chars <= 3_000, "{n_chars} structured");
    // More on request.
    let large = json!({"q": questions[0], "max_chars": 20_000});
    let result = agent.call_whole("hybrid_query", large).expect("a result");
    let text = result["content"][0]["text"].as_str().expect("text");
    assert!(text.chars().count() > 3_000, "{}", text.chars().count());
    // A smaller budget has fewer hits rather than shorter passages that no longer show why they
    // match.
    let result = agent.call_whole("hybrid_query", json!({"q": questions[0], "max_chars": 1_500}));
    let hits = result.expect("a result")["structuredContent"]["chunks"].clone();
    let hits = hits.as_array().expect("hits").clone();
    assert!((3..10).contains(&hits.len()), "{}", hits.len());
    for hit in &hits[..hits.len().min(3)] {
        let snippet = hit["snippet"].as_str().unwrap_or_default();
        // A short passage is shown whole.
        assert!(!snippet.ends_with('…') || snippet.chars().count() >= 100, "{hit}");
    }
}

#[test]
fn eight_clients_at_once_get_what_one_gets() {
    let mut project = corpus();
    let socket = project.paths().socket.clone();
    let questions =
        ["rotate the signing keys", "release checklist", "incident in March", "who owns billing"];
    let expected: Vec<Value> = questions
        .iter()
        .map(|q| project.call("hybrid_query", json!({"q": q}))["chunks"].clone())
        .collect();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (socket, expected) = (&socket, &expected);
            scope.spawn(move || {
                let mut client = Client::agent(socket, Revision::Initialize("2025-06-18"));
                for round in 0..50 {
                    let i = (thread + round) % questions.len();
                    let reply =
                        client.call("hybrid_query", json!({"q": questions[i]})).expect("a reply");
                    assert_eq!(reply["chunks"], expected[i]);
                }
            });
        }
    });
    let status = project.until("they have gone", |status| status["clients"] == 1);
    assert_eq!(status["counts"]["quarantine"], 0);
}

#[test]
fn a_long_call_tells_how_far_it_is() {
    let project = corpus();
    let mut agent = project.agent();
    let reply = agent.ask(
        "tools/call",
        json!({
            "name": "ingest_docs", "_meta": {"progressToken": "p1"},
            "arguments": {"paths": ["**/*.md"], "skip_if_seen": false},
        }),
    );
    let ingested = reply["result"]["structuredContent"]["ingested"].as_u64().expect("a number");
    assert!(ingested > 20, "{reply}");
    let progress: Vec<&Value> =
        agent.notifications.iter().filter(|n| n["method"] == "notifications/progress").collect();
    assert!(!progress.is_empty(), "none came");
    let mut last = -1.0;
    for notification in progress {
        let params = &notification["params"];
        assert_eq!(params["progressToken"], "p1");
        let done = params["progress"].as_f64().expect("a number");
        assert!(done > last && done <= params["total"].as_f64().expect("a number"), "{params}");
        last = done;
    }
}

#[test]
fn a_cancelled_call_ends_and_the_session_goes_on() {
    let project = TestProject::of(NOTES);
    let mut admin = Client::admin(&project.paths().socket);
    let id = admin.request(
        "tools/call",
        json!({"name": "wait", "arguments": {"tick": 1_000_000, "timeout_ms": 600_000}}),
    );
    admin.send(&json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": id, "reason": "changed my mind"},
    }));
    // MCP: a cancelled request gets no answer; the next one does.
    assert_eq!(admin.ask("ping", json!({}))["result"], json!({}));
    let reply = admin.call("wait", json!({"tick": 1})).expect("a reply");
    assert_eq!(reply["reached"], true);
}

#[test]
fn a_stop_during_a_call_is_told() {
    let mut project = TestProject::of(NOTES);
    let mut waiting = Client::admin(&project.paths().socket);
    let id = waiting.request(
        "tools/call",
        json!({"name": "wait", "arguments": {"tick": 1_000_000, "timeout_ms": 600_000}}),
    );
    assert_eq!(waiting.ask("ping", json!({}))["result"], json!({}), "it is under way");
    project.call("shutdown", json!({}));
    let reply = waiting.reply_to(id);
    let content = &reply["result"]["structuredContent"];
    assert!(content["code"] == "unavailable" || content["reached"] == false, "{reply}");
    assert_eq!(waiting.hear(), None);
    assert_eq!(project.wait_for_end().status.code(), Some(0));
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

/// What the context of a model contains if the client was set up with nothing but a command.
#[test]
fn a_stranger_gets_few_tools_and_text_alone() {
    let project = TestProject::of(NOTES);
    let mut client = Client::stranger(&project.paths().socket);
    let listed = client.ask("tools/list", json!({}))["result"]["tools"].take();
    let tools = listed.as_array().expect("a list");
    let n_chars = listed.to_string().chars().count();
    assert!(tools.len() <= 15 && n_chars <= 15_000, "{} tools, {n_chars} characters", tools.len());
    for tool in tools {
        assert!(tool.get("outputSchema").is_none(), "{tool}");
        assert!(tool["title"].is_string() && tool["annotations"]["idempotentHint"].is_boolean());
        assert_eq!(tool["_meta"]["anthropic/maxResultSizeChars"], 100_000, "{tool}");
    }
    let ask = |client: &mut Client, more: Value| {
        let mut arguments = json!({"q": "when does the water turn"});
        arguments
            .as_object_mut()
            .expect("an object")
            .extend(more.as_object().expect("one").clone());
        client.call_whole("hybrid_query", arguments).expect("a result")
    };
    let result = ask(&mut client, json!({}));
    assert!(result.get("structuredContent").is_none(), "{result}");
    assert!(result["content"][0]["text"].as_str().expect("text").contains("Tide Clock.md"));
    for more in [json!({"format": "json"}), json!({"output_format": "json", "max_chars": 900})] {
        let result = ask(&mut client, more);
        let text = result["content"][0]["text"].as_str().expect("text");
        assert_eq!(serde_json::from_str::<Value>(text).expect("JSON"), result["structuredContent"]);
        assert_eq!(result["structuredContent"]["chunks"][0]["path"], "Tide Clock.md");
    }
    let failed = client.call_whole("explain_entity", json!({"name": "Nobody"})).expect("a result");
    assert!(failed["isError"] == true && failed.get("structuredContent").is_none(), "{failed}");
}

/// A client that forwards only one of the two forms gets the same facts within the same budget.
#[test]
fn both_forms_keep_to_the_budget_and_hold_the_same_hits() {
    let project = corpus();
    let mut client = Client::connect(&project.paths().socket).expect("a daemon listens");
    client.send(&json!({"kgd": 1, "tools": ["default"], "form": "structured", "client": "tests"}));
    client.open(Revision::Initialize("2025-06-18"));
    let calls = [
        ("hybrid_query", json!({"q": "how do we rotate the signing keys"})),
        ("ask", json!({"query": "why did we choose Ed25519"})),
        ("explain_entity", json!({"name": "Ada Moreno"})),
        ("read_note", json!({"identifier": "Ada Moreno"})),
        ("list_notes", json!({})),
        ("connect", json!({"a": "Ada Moreno", "b": "Signing Service"})),
        ("status", json!({})),
    ];
    for (tool, arguments) in calls {
        for max_chars in [None, Some(1_200), Some(300)] {
            let mut arguments = arguments.clone();
            if let Some(max_chars) = max_chars {
                arguments["max_chars"] = max_chars.into();
            }
            let result = client.call_whole(tool, arguments).expect("a result");
            assert!(result["isError"] != true, "{tool}: {result}");
            let text = result["content"][0]["text"].as_str().expect("text");
            let structured = result["structuredContent"].to_string();
            let most = max_chars.unwrap_or(3_000);
            let sizes = [text, &structured].map(|it| it.chars().count());
            assert!(sizes.iter().all(|it| *it <= most), "{tool}: {sizes:?} of {most}");
            for hit in result["structuredContent"]["chunks"].as_array().into_iter().flatten() {
                let path = hit["path"].as_str().expect("a path");
                assert!(text.contains(path), "{path} is not in the text");
            }
        }
    }
}
