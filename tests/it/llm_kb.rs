//! Language models and entries: a plan of `kb_ask`, an answer of `kb_summarize` and the entries of
//! a file are made by a model if one is configured, and by rules if it returns nothing usable.

use serde_json::{Value, json};
use tests::TestProject;
use web::mock::{Answer, Mock, Request};

/// Creates a project with two entries and a model server. `answer` receives the task's name and the
/// text.
fn project_with(
    slot: &str,
    mut answer: impl FnMut(&str, &str) -> Answer + Send + 'static,
) -> (TestProject, Mock) {
    let answer = move |request: &Request| {
        let body: Value = serde_json::from_slice(&request.body).expect("JSON");
        let of =
            |at: usize| body["messages"][at]["content"].as_str().unwrap_or_default().to_string();
        let system = of(0);
        let task =
            [("plan how", "plan"), ("answer a question", "answer"), ("JSON list", "entries")];
        // Relations of entries are read in the background (`llm_enrich.rs`).
        if of(1).starts_with("<entry>") {
            return reply_with("[]");
        }
        let task =
            task.iter().find(|(words, _)| system.contains(words)).map_or("summary", |it| it.1);
        answer(task, &of(1))
    };
    let mock = Mock::start(answer).expect("a server");
    let mut project = TestProject::empty();
    let folder = project.scratch().join("config");
    std::fs::create_dir_all(&folder).expect("made");
    let settings =
        format!("{{api: openai, url: \"{}\", model: small, max_retries: 0}}", mock.url());
    std::fs::write(folder.join("config.yaml"), format!("llm:\n  {slot}: {settings}\n"))
        .expect("written");
    project.start();
    project.settle();
    for (title, details) in [
        ("Redis queue", "The queue runs on Redis. It holds jobs for a day."),
        ("Postgres queue", "The queue runs on Postgres since May."),
    ] {
        let entry = json!({"short_title": title, "knowledge_details": details, "tags": ["queue"]});
        project.call("kb_store", entry);
    }
    (project, mock)
}

/// Returns how many requests were about a file.
fn n_about_files(mock: &Mock) -> usize {
    let is_file = |it: &&Request| String::from_utf8_lossy(&it.body).contains("<file>\\npath");
    mock.requests().iter().filter(is_file).count()
}

fn reply_with(text: &str) -> Answer {
    Answer::of(200, json!({"choices": [{"message": {"content": text}}]}).to_string())
}

#[test]
fn a_model_plans_where_no_strategy_is_given() {
    let (mut project, mock) = project_with("query", |_, text| {
        assert!(text.contains("2 entries") && text.contains("\ntag:queue\n"), "{text}");
        reply_with(
            r#"```json {"strategy": "timeline", "scope": "tag:queue", "reasoning": "asks how it went"}```"#,
        )
    });
    let answer = project.call("kb_ask", json!({"question": "what became of our broker"}));
    assert_eq!((&answer["strategy"], &answer["scope"]), (&json!("timeline"), &json!("tag:queue")));
    assert_eq!(
        (&answer["planned_by"], &answer["reason"]),
        (&json!("llm:small"), &json!("asks how it went"))
    );
    assert_eq!(answer["entries"].as_array().map(Vec::len), Some(2), "{answer}");
    assert_eq!(mock.requests().len(), 1);
    let given = json!({"question": "queue", "strategy": "related", "scope": "tag:queue"});
    assert!(project.call("kb_ask", given).get("planned_by").is_none());
    assert_eq!(mock.requests().len(), 1, "who gives a strategy needs no plan");
}

#[test]
fn without_a_plan_rules_choose_and_it_is_told() {
    for (reply, why) in [
        (reply_with("I would look for queues."), "not a plan"),
        (reply_with(r#"{"strategy": "drop_tables"}"#), "not a plan"),
        (Answer::of(500, "broken"), "answered 500: broken"),
        (Answer::default(), ""),
    ] {
        let (mut project, _mock) = project_with("query", move |_, _| reply.clone());
        let answer = project.call("kb_ask", json!({"question": "history of tag:queue"}));
        assert_eq!(
            (&answer["strategy"], &answer["scope"]),
            (&json!("timeline"), &json!("tag:queue"))
        );
        assert!(answer.get("planned_by").is_none());
        let reason = answer["llm"].as_str().expect("a reason");
        assert!(
            reason.starts_with("planned without `llm.query`: ") && reason.contains(why),
            "{reason}"
        );
    }
    // A scope that does not exist is ignored: the entries are searched with the words of the plan.
    let wrong = r#"{"strategy": "timeline", "scope": "tag:brokers", "search_query": "Postgres"}"#;
    let (mut project, _mock) = project_with("query", move |_, _| reply_with(wrong));
    let answer = project.call("kb_ask", json!({"question": "what became of our broker"}));
    assert_eq!(answer["strategy"], "auto");
    assert_eq!(answer["entries"][0]["short_title"], "Postgres queue", "{answer}");
}

#[test]
fn a_model_writes_the_answer_with_citations() {
    let (mut project, mock) = project_with("query", |task, text| {
        assert_eq!(task, "answer");
        assert!(text.contains("id: kb-00001\nRedis queue") && text.contains("since May"), "{text}");
        let token = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
        reply_with(&format!(
            "It ran on Redis [kb-00001], and on Postgres since May [kb-00002] [kb-00099]. \
             Mars is red. The key is {token} [kb-00002]"
        ))
    });
    let summary = project.call("kb_summarize", json!({"question": "what does the queue run on"}));
    let answer = "It ran on Redis [kb-00001], and on Postgres since May [kb-00002]. Mars is red. \
                  The key is [redacted:github-token] [kb-00002]";
    assert_eq!((&summary["answer"], &summary["method"]), (&json!(answer), &json!("llm:small")));
    assert_eq!(summary["sentences"][0], json!({"text": "It ran on Redis", "cited": ["kb-00001"]}));
    let expected =
        [("Mars is red.", json!([])), ("The key is [redacted:github-token]", json!(["kb-00002"]))];
    let expected: Vec<Value> =
        expected.into_iter().map(|(text, cited)| json!({"text": text, "cited": cited})).collect();
    assert_eq!(
        summary["sentences"].as_array().map(|it| &it[2..]),
        Some(expected.as_slice()),
        "{summary}"
    );
    assert!(summary["hint"].as_str().is_some_and(|it| it.contains("kb-00099")), "{summary}");
    assert_eq!(mock.requests().len(), 1);
    // If nothing is found, the model is not called.
    let nothing = json!({"question": "queue", "scope": "project:none"});
    let _ = project.try_call("kb_summarize", nothing);
    assert_eq!(mock.requests().len(), 1);
}

#[test]
fn an_answer_that_cites_nothing_is_none() {
    for (reply, why) in [
        (reply_with("It runs on Redis."), "without naming an entry"),
        (reply_with("It runs on MySQL [kb-00077]."), "without naming an entry"),
        (Answer { hangs: true, ..Answer::default() }, "timed out"),
    ] {
        let (mut project, _mock) = project_with("query", move |_, _| reply.clone());
        project.stop();
        project.set("serve.request_deadline_ms=3000");
        project.start();
        project.settle();
        let summary =
            project.call("kb_summarize", json!({"question": "what does the queue run on"}));
        assert_eq!(summary["method"], "extractive");
        assert!(summary["answer"].as_str().is_some_and(|it| it.contains("[kb-0000")), "{summary}");
        assert!(summary["llm"].as_str().is_some_and(|it| it.contains(why)), "{summary}");
    }
}

#[test]
fn files_are_read_by_a_model() {
    let entries = r##"[{"short_title": "Keys rotate monthly", "long_title": "Signing keys rotate every month",
        "knowledge_details": "On the first.", "entry_type": "pattern_convention", "tags": ["keys"]}]"##;
    let (mut project, mock) = project_with("extraction", move |task, text| {
        assert!(text.starts_with("<file>\npath: keys.md\n"), "{text}");
        match task {
            "summary" => reply_with("It says how keys rotate."),
            _ => reply_with(entries),
        }
    });
    project.write(
        "keys.md",
        "# Keys\n\nSigning keys rotate on the first of every month, by hand, for now.\n",
    );
    project.settle();
    let dry = project.call("kb_ingest", json!({"path": "keys.md", "dry_run": true}));
    assert!(dry["files"][0].get("written_by").is_none() && n_about_files(&mock) == 0, "{dry}");
    let done = project.call("kb_ingest", json!({"path": "keys.md", "project_ref": "ops"}));
    let file = &done["files"][0];
    assert_eq!(
        (&file["action"], &file["written_by"]),
        (&json!("ingested"), &json!("llm:small")),
        "{done}"
    );
    assert_eq!(file["summary"], "It says how keys rotate.");
    assert_eq!(file["entries"][0]["short_title"], "Keys rotate monthly");
    assert_eq!(n_about_files(&mock), 2);
    let id = file["entries"][0]["id"].as_str().expect("an id").to_string();
    let entry = project.call("kb_get", json!({"entry_id": id}));
    assert_eq!(entry["entries"][0]["entry_type"], "pattern_convention", "{entry}");
    // If the call has no time for the model, rules do the work and the reply says so; the model reads the file in a
    // later call.
    project.stop();
    project.set("serve.request_deadline_ms=1000");
    project.start();
    project.write(
        "keys.md",
        "# Keys\n\nSigning keys rotate on the second of every month, by hand, for now.\n",
    );
    project.settle();
    let ingest = |project: &mut TestProject| {
        project.call("kb_ingest", json!({"path": "keys.md"}))["files"][0].clone()
    };
    let file = ingest(&mut project);
    let outcome = |file: &Value| {
        let fields =
            ["action", "written_by"].map(|it| file[it].as_str().unwrap_or("-").to_string());
        let title = file["entries"][0]["short_title"].as_str().unwrap_or("-").to_string();
        (fields, title, file["llm"].as_str().unwrap_or("-").contains("ingest it again"))
    };
    let expected = |action: &str, by: &str, title: &str, again: bool| {
        ([action, by].map(String::from), title.to_string(), again)
    };
    assert_eq!(outcome(&file), expected("ingested", "-", "Keys", true), "{file}");
    assert_eq!(file["replaced"], json!([id]));
    let file = ingest(&mut project);
    assert_eq!(outcome(&file), expected("unchanged", "-", "-", true), "{file}");
    project.stop();
    project.set("serve.request_deadline_ms=30000");
    project.start();
    project.settle();
    let file = ingest(&mut project);
    assert_eq!(
        outcome(&file),
        expected("ingested", "llm:small", "Keys rotate monthly", false),
        "{file}"
    );
    let entry = project.call("kb_get", json!({"entry_id": file["entries"][0]["id"]}));
    assert_eq!(entry["entries"][0]["project_ref"], "ops", "the project stays: {entry}");
    assert_eq!(ingest(&mut project)["action"], "unchanged");
}

#[test]
fn a_model_that_gives_nothing_leaves_a_file_to_the_rules() {
    for (reply, why) in
        [(Answer::of(503, "busy"), "answered 503"), (reply_with("[\"nothing\"]"), "not a summary")]
    {
        let (mut project, _mock) = project_with("extraction", move |_, _| reply.clone());
        project.write(
            "keys.md",
            "# Keys\n\nSigning keys rotate on the first of every month, by hand, for now.\n",
        );
        project.settle();
        let done = project.call("kb_ingest", json!({"path": "keys.md"}));
        let file = &done["files"][0];
        assert_eq!(
            (&file["action"], &file["entries"][0]["short_title"]),
            (&json!("ingested"), &json!("Keys")),
            "{done}"
        );
        assert!(file["llm"].as_str().is_some_and(|it| it.contains(why)), "{done}");
        assert!(file.get("written_by").is_none(), "{done}");
        // The next call asks the model again; until then the entries made by rules stay.
        let again = project.call("kb_ingest", json!({"path": "keys.md"}));
        assert_eq!(again["files"][0]["action"], "unchanged", "{again}");
        assert!(again["files"][0]["llm"].is_string(), "{again}");
    }
}
