//! The wire: old and new lifecycles, the list of tools, the size of replies, many clients at once,
//! progress and cancellation.

use proto::catalog::CATALOG;
use proto::tool::ToolSet;
use serde_json::{Value, json};
use tests::{Client, Revision, TestProject};

pub(crate) const NOTES: &[(&str, &str)] = &[
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

fn corpus() -> TestProject {
    let mut project = TestProject::empty();
    crate::determinism::corpus().iter().for_each(|(path, text)| project.write(path, text));
    project.start();
    project.settle();
    project
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
    assert_eq!(waiting.next_message(), None);
    assert_eq!(project.wait_for_end().status.code(), Some(0));
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
