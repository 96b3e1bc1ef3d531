//! Knowledge of agents over several projects and through `kg-mcp`: searches that go to all
//! projects, and the client's own model (sampling), whose answers pass through gateway and shim.

use serde_json::{Value, json};
use tests::{Agent, SharedHome};

const ALPHA: (&str, &str, &str) = ("alpha", "a.md", "# A\n\nNothing here.\n");
const BETA: (&str, &str, &str) = ("beta", "b.md", "# B\n\nNothing here.\n");
const TOOLS: [&str; 2] = ["--tools", "core,kb,memory"];

fn names<'a>(reply: &'a Value, field: &str) -> Vec<(&'a str, &'a str)> {
    let rows = reply["results"].as_array().expect("results").iter();
    let text = |row: &'a Value, name: &str| row[name].as_str().unwrap_or_default();
    rows.map(|row| (text(row, "project"), text(row, field))).collect()
}

#[test]
fn entries_and_entities_are_found_in_all_projects() {
    let home = SharedHome::of(&[ALPHA, BETA]);
    let mut agent = home.agent("", &[&["--all-projects"][..], &TOOLS].concat());
    for (project, what) in
        [("alpha", "The queue runs on Redis."), ("beta", "The queue runs on Postgres.")]
    {
        let entry = json!({"short_title": what, "knowledge_details": what, "project": project});
        agent.call("kb_store", entry).expect("stored");
        let entity = json!({"name": format!("Queue of {project}"), "entity_type": "service", "observations": [what]});
        agent
            .call("create_entities", json!({"entities": [entity], "project": project}))
            .expect("made");
    }
    let whole = agent.call_whole("kb_search", json!({"query": "queue"}));
    let found = &whole["structuredContent"];
    let ids = [("alpha", "kb-00001"), ("beta", "kb-00001")];
    assert_eq!(names(found, "id"), ids, "{found}");
    let text = whole["content"][0]["text"].as_str().expect("text");
    assert!(
        text.contains("[beta] kb-00001 factual_reference: The queue runs on Postgres."),
        "{text}"
    );
    let one = agent.call("kb_search", json!({"query": "queue", "limit": 1})).expect("found");
    assert_eq!(names(&one, "id").len(), 1, "`limit` holds for the whole");
    let found = agent.call("search_nodes", json!({"query": "queue"})).expect("found");
    assert_eq!(names(&found, "name").len(), 2, "{found}");
    let only =
        agent.call("kb_search", json!({"query": "queue", "project": "beta"})).expect("found");
    assert_eq!(only["results"].as_array().map(Vec::len), Some(1));

    home.kill("beta");
    std::fs::remove_dir_all(home.at("beta")).expect("it was there");
    for tool in ["kb_search", "search_nodes"] {
        let found = agent.call(tool, json!({"query": "queue"})).expect("the other one answers");
        assert_eq!(found["results"][0]["project"], "alpha", "{found}");
        assert_eq!(found["unavailable"][0]["project"], "beta", "{found}");
    }
}

#[test]
fn a_question_is_answered_from_whichever_projects_know() {
    let beta = "# Logo\n\nThe logo of the harbor is green.\n\n## Keys\n\nSigning keys rotate every 30 days.\n";
    let home = SharedHome::of(&[
        ("alpha", "keys.md", "# Keys\n\nSigning keys rotate every 90 days.\n"),
        ("beta", "logo.md", beta),
        ("gamma", "ana.md", "---\ntype: person\n---\n# Ana Silva\n\nAna Silva is an engineer.\n"),
    ]);
    let mut agent = home.agent("", &[&["--all-projects"][..], &TOOLS].concat());
    for project in ["alpha", "beta", "gamma"] {
        // A plan needs the names that a project resolves a moment after its text is searchable.
        while agent.call("status", json!({"project": project})).expect("answered")["settled"]
            != true
        {
            std::thread::yield_now();
        }
    }
    let places = |reply: &Value| -> Vec<(String, String)> {
        let rows = reply["statements"].as_array().expect("statements").iter();
        let text = |row: &Value, name: &str| row[name].as_str().unwrap_or_default().to_string();
        rows.map(|row| (text(row, "project"), text(row, "path"))).collect()
    };
    let own = |project: &str, path: &str| (project.to_string(), path.to_string());
    let logo = agent.call("ask", json!({"query": "what colour is the logo of the harbor"}));
    assert_eq!(places(&logo.expect("answered")), [own("beta", "logo.md")]);
    let ana = agent.call("ask", json!({"query": "who is Ana Silva"})).expect("answered");
    assert_eq!((places(&ana)[0].0.as_str(), &ana["plan"]), ("gamma", &json!("summary")), "{ana}");
    let keys = json!({"query": "how often do signing keys rotate"});
    let both = agent.call_whole("ask", keys.clone());
    let found = places(&both["structuredContent"]);
    assert!(
        found.contains(&own("alpha", "keys.md")) && found.contains(&own("beta", "logo.md")),
        "{both}"
    );
    assert!(found.iter().all(|it| it.0 != "gamma"), "{both}");
    let text = both["content"][0]["text"].as_str().expect("text");
    assert!(text.starts_with("plan: search (") && text.contains("[alpha] "), "{text}");
    for project in [json!(["alpha"]), json!(["alpha", "gamma"]), json!("alpha")] {
        let mut keys = keys.clone();
        keys["project"] = project;
        let one = agent.call("ask", keys).expect("answered");
        assert!(one["statements"].as_array().is_some_and(|it| !it.is_empty()), "{one}");
        assert!(!one.to_string().contains("30 days"), "{one}");
    }
    let two = json!({"path": "keys.md", "project": ["alpha", "beta"]});
    assert_eq!(agent.call("read_passage", two).expect_err("one only")["code"], "invalid_params");
}

/// What the model of a client is asked, while request `id` runs.
#[test]
fn changes_and_what_is_known_of_a_thing_come_from_all_projects() {
    let note = |fact: &str| format!("---\ntype: person\n---\n# Ana Silva\n\n- {fact}\n");
    let (alpha, beta) = (note("[role] Reviewer"), note("[pet] A cat"));
    let home = SharedHome::of(&[
        ("alpha", "ana.md", &alpha),
        ("beta", "ana.md", &beta),
        ("gamma", "g.md", "# Garden\n\nTomatoes want sun.\n"),
    ]);
    let mut agent = home.agent("", &[&["--all-projects"][..], &TOOLS].concat());
    for project in ["alpha", "beta", "gamma"] {
        while agent.call("status", json!({"project": project})).expect("answered")["settled"]
            != true
        {
            std::thread::yield_now();
        }
    }
    for (project, text) in [("alpha", "Ada waters the plants"), ("beta", "Bo feeds the cat")] {
        agent.call("remember", json!({"text": text, "project": project})).expect("kept");
    }
    let whole = agent.call_whole("changes", json!({"since": "1h"}));
    let (reply, text) = (&whole["structuredContent"], whole["content"][0]["text"].as_str());
    assert_eq!(reply["n_added"], 2, "{reply}");
    let of: Vec<_> = reply["changes"].as_array().expect("changes").iter().collect();
    let mut projects: Vec<_> = of.iter().filter_map(|it| it["project"].as_str()).collect();
    projects.sort_unstable();
    assert_eq!(projects, ["alpha", "beta"], "{reply}");
    assert!(of[0]["at"].as_str() >= of[1]["at"].as_str(), "the latest first: {reply}");
    let text = text.expect("text");
    assert!(text.contains("2 added") && text.contains("[beta] added kb/"), "{text}");
    assert!(text.contains("Bo feeds the cat") && text.contains("Ada waters the plants"), "{text}");
    let some = agent.call("changes", json!({"since": "1h", "project": ["alpha", "gamma"]}));
    assert_eq!(some.expect("changes")["n_added"], 1);

    let whole = agent.call_whole("explain_entity", json!({"name": "Ana Silva"}));
    let known = whole["structuredContent"]["entities"].as_array().expect("entities");
    let known: Vec<_> = known.iter().map(|it| it["project"].as_str().unwrap_or_default()).collect();
    assert_eq!(known, ["alpha", "beta"], "{whole}");
    let text = whole["content"][0]["text"].as_str().expect("text");
    for held in ["## [alpha]\n", "[role] Reviewer", "## [beta]\n", "[pet] A cat"] {
        assert!(text.contains(held), "{held}: {text}");
    }
    assert!(!text.contains("gamma"), "{text}");
    let error = agent.call("explain_entity", json!({"name": "Nobody Known"})).expect_err("unknown");
    assert_eq!(error["code"], "not_found", "{error}");
}

fn asked(agent: &mut Agent) -> Value {
    let message = agent.next_message();
    assert_eq!(message["method"], "sampling/createMessage", "{message}");
    message["id"].clone()
}

#[test]
fn the_clients_model_answers_through_shim_and_gateway() {
    let home = SharedHome::of(&[ALPHA, BETA]);
    let settings = "watch: {debounce_ms: 30}\nembed: {background: \"off\"}\n\
                    serve: {request_deadline_ms: 4000}\nllm: {query: {api: sampling}}\n";
    home.write("config/config.yaml", settings);
    let alpha = home.at("alpha").display().to_string();
    for served in [&["--project", &alpha][..], &["--all-projects"]] {
        let sampling = json!({"sampling": {}});
        let mut agent = home.agent_offering("", &[served, &TOOLS].concat(), sampling);
        let of = |mut arguments: Value| {
            if served.len() == 1 {
                arguments["project"] = "alpha".into();
            }
            arguments
        };
        let entry =
            json!({"short_title": "Redis queue", "knowledge_details": "The queue runs on Redis."});
        agent.call("kb_store", of(entry)).expect("stored");
        let call = |agent: &mut Agent, tool: &str| {
            let arguments = of(json!({"question": "what does the queue run on"}));
            agent.request("tools/call", json!({"name": tool, "arguments": arguments}))
        };
        // The model answers.
        let id = call(&mut agent, "kb_summarize");
        let question = asked(&mut agent);
        let content = json!({"type": "text", "text": "On Redis [kb-00001]."});
        agent.answer(
            &question,
            json!({"result": {
                "role": "assistant", "model": "theirs", "stopReason": "endTurn", "content": content,
            }}),
        );
        let reply = agent.reply_to(id)["result"]["structuredContent"].take();
        assert_eq!(
            (&reply["method"], &reply["answer"]),
            (&json!("llm:theirs"), &json!("On Redis [kb-00001].")),
            "{served:?} {reply}"
        );
        // The user declines.
        let id = call(&mut agent, "kb_ask");
        let question = asked(&mut agent);
        agent.answer(&question, json!({"error": {"code": -1, "message": "declined"}}));
        let reply = agent.reply_to(id)["result"]["structuredContent"].take();
        assert!(reply["llm"].as_str().is_some_and(|it| it.contains("declined")), "{reply}");
        assert_eq!(reply["entries"][0]["id"], "kb-00001", "{reply}");
        // The model does not answer: the reply comes as without it, in time.
        let id = call(&mut agent, "kb_summarize");
        asked(&mut agent);
        let reply = agent.reply_to(id)["result"]["structuredContent"].take();
        assert_eq!(reply["method"], "extractive", "{reply}");
        assert!(reply["llm"].is_string(), "{reply}");
    }
    // A client that offers no model is not asked.
    let mut agent = home.agent("", &[&["--all-projects"][..], &TOOLS].concat());
    let question = json!({"question": "what does the queue run on", "project": "alpha"});
    let reply = agent.call("kb_ask", question).expect("answered");
    assert!(reply["llm"].as_str().is_some_and(|it| it.contains("offers no model")), "{reply}");
}
