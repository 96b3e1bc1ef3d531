//! Relations that a model reads from entries after they were stored: marked as the model's,
//! replaced when the text changes, and deleted and read again on request. Whatever the model does,
//! storing and asking work as without it.

use serde_json::{Value, json};
use tests::TestProject;
use web::mock::{Answer, Mock, Request};

/// Creates a project whose extraction slot is a server that answers with `answer`; `more` are
/// further settings of the slot.
fn project_with(
    mut answer: impl FnMut(&Asked) -> Answer + Send + 'static,
    more: &str,
) -> (TestProject, Mock) {
    let mock = Mock::start(move |request| answer(&Asked::of(request))).expect("a server");
    let project = TestProject::empty();
    let slot = format!("api: openai, url: \"{}\", model: small, max_retries: 0{more}", mock.url());
    (started(project, &slot), mock)
}

fn started(mut project: TestProject, slot: &str) -> TestProject {
    let folder = project.scratch().join("config");
    std::fs::create_dir_all(&folder).expect("made");
    std::fs::write(folder.join("config.yaml"), format!("llm:\n  extraction: {{{slot}}}\n"))
        .expect("written");
    project.start();
    project.settle();
    project
}

/// A request about entries.
struct Asked {
    is_batch: bool,
    text: String,
}

impl Asked {
    fn of(request: &Request) -> Self {
        let body: Value = serde_json::from_slice(&request.body).expect("JSON");
        let of = |at: usize| body["messages"][at]["content"].as_str().expect("text").to_string();
        Asked { is_batch: of(0).contains("JSON object"), text: of(1) }
    }
}

fn reply_with(text: &str) -> Answer {
    Answer::of(200, json!({"choices": [{"message": {"content": text}}]}).to_string())
}

/// Returns `[{"entity": …}]` of items such as `uses technology:SQLite`.
fn relations(items: &[(&str, &str, &str)]) -> Value {
    let one = |(relation, kind, name): &(&str, &str, &str)| json!({"entity": name, "entity_type": kind, "relationship": relation});
    items.iter().map(one).collect()
}

fn store(project: &mut TestProject, entries: &[(&str, &str)]) {
    let one = |(title, details): &(&str, &str)| json!({"short_title": title, "knowledge_details": details, "tags": ["async-io"]});
    let entries: Vec<Value> = entries.iter().map(one).collect();
    let reply = project.call("kb_store_batch", json!({"entries": entries}));
    assert!(reply.get("failed").is_none_or(|it| it.as_array().is_some_and(Vec::is_empty)));
}

fn enrichment(project: &mut TestProject) -> Value {
    project.call("kb_maintain", json!({"action": "stats"}))["stats"]["enrichment"].clone()
}

fn until_read(project: &mut TestProject) -> Value {
    project.until_graph("entries are read", |project| {
        let counts = enrichment(project);
        (counts["waiting"] == 0).then_some(counts)
    })
}

fn edges(project: &mut TestProject, id: &str) -> Vec<String> {
    let reply = project.call("kb_get", json!({"entry_id": id}));
    let edges = reply["entries"][0]["edges"].as_array().cloned().unwrap_or_default();
    edges.iter().map(|it| it.as_str().expect("text").to_string()).collect()
}

#[test]
fn what_a_model_read_is_marked_replaced_forgotten_and_read_again() {
    let answer = |asked: &Asked| {
        assert!(!asked.text.contains("ghp_"), "{}", asked.text);
        let of = |text: &str| -> Value {
            let mut found = vec![("implements", "concept", "AsyncIO")];
            if text.contains("rows") {
                found.push(("Depends on", "technology", "SQLite"));
            }
            relations(&found)
        };
        if !asked.is_batch {
            return reply_with(&of(&asked.text).to_string());
        }
        let mut all = serde_json::Map::new();
        for part in asked.text.split("<entry>\nid: ").skip(1) {
            let id = part.lines().next().expect("an id");
            all.insert(id.to_string(), of(part));
        }
        reply_with(&format!("```json\n{}\n```", Value::Object(all)))
    };
    let (mut project, mock) = project_with(answer, "");
    let first = [("Store", "The store keeps rows."), ("Index", "The index has rows, too.")];
    store(&mut project, &first);
    let counts = until_read(&mut project);
    assert_eq!(counts, json!({"read": 2, "relations": 4, "waiting": 0, "unreadable": 0}));
    let stated = ["has_tag tag:async-io"];
    // A known node in another spelling is the same node.
    let read = ["implements (llm) tag:async-io", "depends_on (llm) technology:sqlite"];
    assert_eq!(edges(&mut project, "kb-00001"), [stated[0], read[0], read[1]]);
    let way = json!({"question": "how", "strategy": "connection", "scope": "kb-00001",
        "target": "technology:sqlite"});
    let way = project.call("kb_ask", way)["path"][0].clone();
    assert_eq!((&way["edge"], &way["llm"]), (&json!("depends_on"), &json!(true)));
    let near = json!({"question": "near", "strategy": "related", "scope": "technology:sqlite"});
    let near = project.call("kb_ask", near);
    assert_eq!(near["entries"][0]["context"], "directly connected (depends_on (llm))", "{near}");

    // After an edit, relations read from the old text are gone.
    let n_before = mock.requests().len();
    let edit = json!({"update_entry_id": "kb-00001", "knowledge_details": "It is gone."});
    let stored = project.call("kb_store", edit);
    assert_eq!(stored["edges"], json!(stated));
    until_read(&mut project);
    assert_eq!(edges(&mut project, "kb-00001"), [stated[0], read[0]]);
    assert_eq!(mock.requests().len(), n_before + 1, "the other one is as it was");

    // Written by hand, with a secret that must not reach the model.
    let token = ["ghp_", "0123456789abcdefghijABCDEFGHIJ012345"].concat();
    project.write("kb/kb-00003-hand.md", format!("---\nid: kb-00003\n---\nrows, token {token}\n"));
    project.settle();
    until_read(&mut project);
    assert!(edges(&mut project, "kb-00003").contains(&read[1].to_string()));
    let hints = project.call("kb_search", json!({"query": "token"}))["hints"].clone();
    assert!(hints.to_string().contains("(via tag:async-io, llm)"), "{hints}");

    // The results survive a restart, and the model does not read the text twice.
    let n_before = mock.requests().len();
    project.restart();
    project.settle();
    until_read(&mut project);
    assert_eq!(edges(&mut project, "kb-00002").len(), 3);
    project.call("kb_maintain", json!({"action": "forget_enriched", "entry_id": "kb-00002"}));
    assert_eq!(edges(&mut project, "kb-00002"), stated);
    assert_eq!(edges(&mut project, "kb-00003").len(), 2, "only of one");
    project.call("kb_maintain", json!({"action": "forget_enriched"}));
    assert_eq!(edges(&mut project, "kb-00003"), Vec::<String>::new());
    assert_eq!(enrichment(&mut project)["read"], 0);
    assert_eq!(mock.requests().len(), n_before, "what is forgotten stays so");
    project.call("kb_maintain", json!({"action": "enrich", "entry_id": "kb-00002"}));
    until_read(&mut project);
    assert_eq!(edges(&mut project, "kb-00002").len(), 3);
    assert_eq!(mock.requests().len(), n_before + 1);
    project.call("kb_maintain", json!({"action": "enrich"}));
    assert_eq!(until_read(&mut project)["read"], 3);
    project.verify("what a model read is no part of the index");
}

#[test]
fn a_batch_that_cannot_be_read_is_asked_for_one_by_one() {
    let (mut project, mock) = project_with(
        |asked| match asked.is_batch {
            true => reply_with("I would say that all of them use SQLite."),
            false if asked.text.contains("Broken") => reply_with("{\"no\": \"list\""),
            false => reply_with(&relations(&[("uses", "tool", "Cargo")]).to_string()),
        },
        "",
    );
    store(&mut project, &[("One", "It is built."), ("Broken", "It is not."), ("Three", "Too.")]);
    let counts = until_read(&mut project);
    assert_eq!(counts, json!({"read": 2, "relations": 2, "waiting": 0, "unreadable": 1}));
    assert_eq!(mock.requests().len(), 4);
    assert!(edges(&mut project, "kb-00003").contains(&"uses (llm) tool:cargo".to_string()));
    assert_eq!(edges(&mut project, "kb-00002"), ["has_tag tag:async-io"]);
}

#[test]
fn whatever_a_model_does_entries_are_kept_and_found() {
    let hangs = Answer { hangs: true, ..Answer::default() };
    for (reply, more) in [
        (hangs, ", timeout_ms: 500"),
        (Answer::of(503, "busy"), ""),
        (Answer::of(401, "who are you"), ""),
        (Answer::default(), ""),
        (reply_with("no list"), ", max_calls_per_hour: 1"),
    ] {
        let (mut project, mock) = project_with(move |_| reply.clone(), more);
        store(&mut project, &[("Store", "It keeps rows."), ("Index", "It has lines.")]);
        let found = project.call("kb_search", json!({"query": "rows"}));
        assert_eq!(found["results"][0]["id"], "kb-00001", "{found}");
        assert_eq!(edges(&mut project, "kb-00001"), ["has_tag tag:async-io"]);
        let state = project.until("it was asked", |status| {
            let slot = &status["llm"][0];
            slot["failures"] != 0 || slot["state"] == "spent"
        });
        assert_eq!(enrichment(&mut project)["waiting"], 2, "{state}");
        assert!(mock.requests().len() < 4, "it is left alone: {}", mock.requests().len());
    }
    // Without a model, or with only a client's model, nothing is pending.
    for slot in ["api: off", "api: sampling"] {
        let mut project = started(TestProject::empty(), slot);
        store(&mut project, &[("Store", "It keeps rows.")]);
        assert_eq!(enrichment(&mut project), Value::Null);
        let refused = project.try_call("kb_maintain", json!({"action": "enrich"}));
        let refused = refused.expect_err("refused").to_string();
        assert!(refused.contains("no model reads entries"), "{refused}");
    }
}
