//! Several projects of a hub: their ticks, a wait for one, and entities that are the same.

use tests::http::Serving;

use super::*;

fn two(db: &Postgres) -> [TestProject; 2] {
    let press = "---\ntitle: Apple Press\n---\nThe Apple Press stands in the barn. It needs the Key Store.\n";
    let yard = "---\ntitle: Obst Presse\n---\nThe Obst Presse stands in the yard. It needs the Key Store.\n";
    let store = "---\ntitle: Key Store\ntype: Service\n---\nThe Key Store holds keys.\n";
    let a = TestProject::of(&[("press.md", press), ("store.md", store)]);
    let b = TestProject::of(&[("yard.md", yard), ("store.md", store)]);
    migrated(&a, db);
    for (project, name) in [(&a, "a"), (&b, "b")] {
        for role in ["pub", "tim"] {
            grant(project, db, name, role, role == "pub");
        }
        publish(project, db, name);
    }
    grant(&a, db, "a", "ann", false);
    [a, b]
}

#[test]
fn each_answer_names_its_ticks_and_waits_for_those_it_must_show() {
    let Some(db) = database() else { return };
    let [mut a, mut b] = two(&db);
    let front = Front::of(&db, "tim");
    let mut agent = front.agent();
    let ticks = |reply: &Value| -> Value {
        let rows = reply["projects"].as_array().expect("each one's").iter();
        rows.map(|it| (it["project"].as_str().expect("named").to_string(), it["tick"].clone()))
            .collect()
    };
    let found = agent.call("hybrid_query", json!({"q": "Where is the press?"})).expect("answered");
    let now = json!({"a": a.status()["tick"], "b": b.status()["tick"]});
    assert_eq!(ticks(&found), now);
    let whole = agent.call_whole("hybrid_query", json!({"q": "press", "at_least": now}));
    let text = whole["content"][0]["text"].as_str().expect("a text");
    assert!(text.contains(&format!("a tick {}, b tick {}", now["a"], now["b"])), "{text}");
    // What is published after the question was asked is waited for.
    a.write("new.md", "# Zebra Gateway\n\nThe Zebra Gateway opens at noon.\n");
    a.settle();
    let tick = a.status()["tick"].clone();
    publish(&a, &db, "a");
    let asked = json!({"q": "When does the Zebra Gateway open?", "at_least": {"a": tick}});
    let found = agent.call("hybrid_query", asked).expect("answered");
    assert_eq!((&ticks(&found)["a"], &found["chunks"][0]["path"]), (&tick, &json!("new.md")));
    let asked = json!({"at": "new.md", "project": "a", "at_least": {"a": tick, "b": now["b"]}});
    assert_eq!(agent.call("read_passage", asked).expect("answered")["tick"], tick);
    // One that never comes is an error of that project, and the others answer.
    let never = tick.as_u64().expect("a number") + 1_000;
    let found = agent.call("hybrid_query", json!({"q": "press", "at_least": {"a": never}}));
    let found = found.expect("the other one answers");
    assert_eq!(found["unavailable"][0]["project"], "a");
    assert_eq!(found["unavailable"][0]["code"], "deadline_exceeded");
    let message = found["unavailable"][0]["message"].as_str().expect("said");
    assert!(message.contains(&format!("not yet at {never}")), "{message}");
    assert_eq!(ticks(&found), json!({"b": now["b"]}));
    for (wanted, code) in [
        (json!({"c": 1}), "not_found"),
        (json!(1), "invalid_params"),
        (json!({"a": "soon"}), "invalid_params"),
    ] {
        let asked = json!({"q": "press", "project": "a", "at_least": wanted});
        let refused = agent.call("hybrid_query", asked).expect_err("refused");
        assert_eq!(refused["code"], code, "{refused}");
    }
    let tools = agent.ask("tools/list", json!({}))["result"]["tools"].take();
    for tool in tools.as_array().expect("a list") {
        assert_eq!(tool["inputSchema"]["properties"]["at_least"]["type"], "object", "{tool}");
    }
    // A session about one project takes a bare tick, too.
    let mut one = front.client("a");
    assert_eq!(one.call("status", json!({"at_least": tick})).expect("answered")["tick"], tick);
}

#[test]
fn entities_are_the_same_by_name_and_type_or_by_what_a_person_states() {
    let Some(db) = database() else { return };
    let [a, _b] = two(&db);
    let state = |role: &str, pair: [&str; 2], more: &[&str]| {
        let url = db.url(role);
        let arguments = [&["hub", "same-as", &url, pair[0], pair[1]], more].concat();
        kgctl(&a, &arguments).output().expect("it runs")
    };
    let pair = ["a:Apple Press", "b:obst presse"];
    assert_eq!(done(state("pub", pair, &[]))["changed"], true);
    assert_eq!(done(state("pub", [pair[1], pair[0]], &[]))["changed"], false, "it is known");
    for (role, pair, words) in [
        ("ann", pair, "has no project `a` that this role may publish"),
        ("tim", pair, "has no project `a` that this role may publish"),
        ("pub", ["a:Apple Press", "b:Nothing"], "no entity `Nothing`"),
        ("pub", ["a:Apple Press", "a:Key Store"], "both entities are of `a`"),
        ("pub", ["Apple Press", "b:Key Store"], "no entity of a project"),
    ] {
        let output = state(role, pair, &[]);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && error.contains(words), "{role}: {error}");
    }
    let seen = "SELECT count(*) FROM kg.same_as";
    assert_eq!(["ann", "tim", "pub"].map(|role| db.sql_as(role, seen)), ["0", "1", "1"]);
    let front = Front::of(&db, "tim");
    let mut agent = front.agent();
    let mut same = |q: &str, of: &str| -> Value {
        let found = agent.call("entity_lookup", json!({"q": q})).expect("answered");
        let rows = found["entities"].as_array().expect("a list").clone();
        let own = rows.iter().find(|it| it["project"] == of && it["name"] == q);
        own.map(|it| it["same_as"].clone()).unwrap_or_else(|| panic!("{q}: {rows:?}"))
    };
    assert_eq!(same("Key Store", "b"), json!([{"project": "a", "name": "Key Store"}]));
    assert_eq!(same("Apple Press", "a"), json!([{"project": "b", "name": "obst presse"}]));
    let whole = agent.call_whole("explain_entity", json!({"name": "Obst Presse", "project": "b"}));
    let text = whole["content"][0]["text"].as_str().expect("a text");
    assert!(text.ends_with("same as: [a] Apple Press"), "{text}");
    assert_eq!(whole["structuredContent"]["same_as"][0]["project"], "a");
    // Who sees one of the projects alone sees no statement, nor the other's name.
    let lone = Front::of(&db, "ann");
    let mut agent = lone.agent();
    let known = agent.call_whole("explain_entity", json!({"name": "Apple Press"})).to_string();
    assert!(
        known.contains("barn") && !known.contains("same_as") && !known.contains("resse"),
        "{known}"
    );
    let kept = std::fs::read_to_string(lone.places().same_as()).expect("kept");
    assert_eq!(kept, "[]");
    // Taken back, it is gone from answers at the next look.
    assert_eq!(done(state("pub", pair, &["--undo"]))["changed"], true);
    until("it is taken back", || {
        std::fs::read_to_string(front.places().same_as()).is_ok_and(|it| it == "[]")
    });
}

#[test]
fn a_front_end_without_a_database_says_so_and_recovers() {
    let Some(mut db) = database() else { return };
    let [mut a, _b] = two(&db);
    let front = Front::of(&db, "ann");
    front.start();
    let stop = || {
        let pid = front.pid().expect("it runs");
        assert!(Command::new("kill").arg(&pid).status().expect("it runs").success());
        until("it ends", || front.pid().is_none());
    };
    stop();
    db.kill();
    // One that was never here before has no projects that could say what is wrong.
    let stranger = Front::of(&db, "tim");
    let refused = |output: Output| {
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(4), "{error}");
        let error: Value = serde_json::from_str(error.trim()).expect("JSON");
        error["error"].clone()
    };
    for front in [&stranger, &front] {
        let error = refused(front.kgctl(&["query", "press"]));
        let (message, hint) = (error["message"].to_string(), error["hint"].to_string());
        assert!(message.contains("the hub `") && message.contains("cannot be reached"), "{error}");
        assert!(
            message.contains(&db.port().to_string()) && hint.contains("PostgreSQL runs"),
            "{error}"
        );
        assert!(front.pid().is_some(), "it runs all the same");
    }
    let mut agent = front.agent();
    let error = agent.ask("tools/call", json!({"name": "status", "arguments": {}}));
    assert!(error.to_string().contains("cannot be reached"), "{error}");
    assert!(agent.hello.is_null(), "nothing is known of its tools");
    // Commands that need the database say so, too, without the password.
    let url = db.url("pub:hunter2");
    for arguments in [
        vec!["hub", "migrate", &url],
        vec!["hub", "grant", &url, "--name", "a", "--role", "ann"],
        vec!["hub", "revoke", &url, "--name", "a", "--role", "ann"],
        vec!["hub", "same-as", &url, "a:x", "b:y"],
        vec!["publish", &url, "--name", "a"],
        vec!["hub", "compare", &url, "--name", "a"],
    ] {
        let root = a.root().display().to_string();
        let output = kgctl(&a, &[&["--project", &root], arguments.as_slice()].concat()).output();
        let error = refused(output.expect("it runs")).to_string();
        assert!(error.contains("PostgreSQL runs") && !error.contains("hunter2"), "{error}");
    }
    db.begin();
    until("it recovers", || front.kgctl(&["query", "press"]).status.success());
    until("so does the other", || {
        stranger.kgctl(&["--project", "b", "query", "press"]).status.success()
    });
    let tick = a.status()["tick"].clone();
    let mut agent = front.agent();
    assert_eq!(agent.call("status", json!({})).expect("answered")["tick"], tick);
    // Once it runs, it goes on without the database, and follows when it is back.
    db.kill();
    assert_eq!(agent.call("status", json!({})).expect("answered")["tick"], tick);
    a.write("new.md", "# Zebra Gateway\n");
    a.settle();
    db.begin();
    publish(&a, &db, "a");
    let tick = a.status()["tick"].clone();
    let seen = agent.call("status", json!({"at_least": tick})).expect("answered");
    assert_eq!(seen["tick"], tick);
}

#[test]
fn an_agent_asks_across_three_folders_of_two_machines() {
    let Some(db) = database() else { return };
    // Two homes play the machines, a third one asks: the walk of `docs/src/how-to/hub.md`.
    let (one, two) = (SharedHome::of(&[]), SharedHome::of(&[]));
    let owner = db.url("admin");
    one.kgctl_done(&["hub", "migrate", &owner]);
    let folders = [
        (&one, "bees", "# Bees\n\nThe hives of the abbey stand in the orchard.\n"),
        (&one, "apples", "# Apples\n\nThe orchard of the abbey grows russets.\n"),
        (&two, "press", "# Press\n\nThe press of the abbey belongs to Brother Amand.\n"),
    ];
    for (home, name, text) in folders {
        one.kgctl_done(&["hub", "grant", &owner, "--name", name, "--role", "pub", "--publish"]);
        one.kgctl_done(&["hub", "grant", &owner, "--name", name, "--role", "ann"]);
        home.write(&format!("{name}/note.md"), text);
        let folder = home.at(name).display().to_string();
        home.kgctl_done(&["init", &folder, "--name", name]);
        home.kgctl_done(&["--project", name, "wait"]);
        home.kgctl_done(&["--project", name, "publish", &db.url("pub")]);
    }
    let front = Front::of(&db, "ann");
    let found = front.agent().call("hybrid_query", json!({"q": "What belongs to the abbey?"}));
    let found = found.expect("answered");
    let mut projects: Vec<&str> = found["chunks"]
        .as_array()
        .expect("hits")
        .iter()
        .filter_map(|it| it["project"].as_str())
        .collect();
    projects.sort_unstable();
    assert_eq!(projects, ["apples", "bees", "press"], "{found}");
}

#[test]
fn a_person_asks_all_projects_or_those_that_are_named() {
    let Some(db) = database() else { return };
    let [_a, _b] = two(&db);
    let front = Front::of(&db, "tim");
    let asked = |arguments: &[&str]| -> (Option<i32>, Vec<String>, Value) {
        let output = front.kgctl(arguments);
        let reply: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let rows = reply["projects"].as_array().into_iter().flatten();
        let names = rows.filter_map(|it| it["project"].as_str().map(String::from)).collect();
        (output.status.code(), names, reply)
    };
    let question = "Where does the Obst Presse stand?";
    let (code, names, reply) = asked(&["query", question]);
    assert_eq!((code, names), (Some(0), vec!["a".to_string(), "b".to_string()]), "{reply}");
    assert_eq!(
        (&reply["chunks"][0]["project"], &reply["unavailable"]),
        (&json!("b"), &json!(null))
    );
    for arguments in [
        &["ask", question][..],
        &["--project", "a,b", "lookup", "Key Store"],
        &["explain", "Key Store"],
    ] {
        let (code, _, reply) = asked(arguments);
        let text = reply.to_string();
        let has = |name: &str| text.contains(&format!("\"project\":\"{name}\""));
        assert!(code == Some(0) && has("a") && has("b"), "{arguments:?}: {reply}");
    }
    let (code, names, reply) = asked(&["changes", "--since", "1d"]);
    assert_eq!((code, names.join(" ")), (Some(3), "a b".to_string()), "{reply}");
    // One that is named answers as ever, and what is about one project goes to the one that knows the names.
    let (code, _, reply) = asked(&["--project", "a", "query", question]);
    assert_eq!((code, &reply["project"]), (Some(0), &json!("a")), "{reply}");
    let (code, _, reply) = asked(&["connect", "Obst Presse", "Key Store"]);
    assert_eq!((code, &reply["project"]), (Some(0), &json!("b")), "{reply}");
    assert_eq!(asked(&["lookup", "Nobody At All"]).0, Some(3), "nothing is found");
    let text = front.home.kgctl(&["--hub", &front.url, "query", question]);
    let text = String::from_utf8(text.stdout).expect("UTF-8");
    assert!(text.starts_with("1. [b] yard.md:") && text.contains("(a tick "), "{text}");
    // A place is one project's own.
    let output = front.kgctl(&["read", "yard.md"]);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && error.contains("use `--project NAME`"), "{error}");
}

#[test]
fn a_session_over_http_that_names_no_project_is_about_all() {
    let Some(db) = database() else { return };
    let [_a, _b] = two(&db);
    let front = Front::of(&db, "tim");
    let mut command = front.home.command(&tests::kgctl().with_file_name("kg-mcp"));
    command.args(["--hub", &front.url, "--http", "127.0.0.1:0", "--structured"]);
    let serving = Serving::start(command);
    let question = json!({"q": "Where does the Obst Presse stand?"});
    let both = |found: &Value| {
        let rows = found["projects"].as_array().into_iter().flatten();
        rows.filter_map(|it| it["project"].as_str()).collect::<Vec<_>>().join(" ")
    };
    let session = serving.http.open("2025-06-18");
    for found in [
        session.call("hybrid_query", question.clone()).expect("answered"),
        serving.http.call_once("hybrid_query", question.clone()).expect("answered"),
    ] {
        assert_eq!(
            (both(&found), &found["chunks"][0]["project"]),
            ("a b".to_string(), &json!("b"))
        );
    }
    let one = session.call("hybrid_query", json!({"q": "press", "project": "a"}));
    assert_eq!(one.expect("answered")["project"], "a");
    let named = serving.http.with("X-Memory-Workspace", "b").open("2025-06-18");
    assert_eq!(named.call("hybrid_query", question).expect("answered")["project"], "b");
    assert_eq!(serving.stop(), Some(0));
}

#[test]
fn a_question_over_many_projects_goes_to_those_that_fit_best() {
    let Some(db) = database() else { return };
    let [a, _b] = two(&db);
    // Twenty more, all alike but for their names; neither they nor `a` say anything of the yard.
    for n in 0..20 {
        db.copy_project("a", &format!("a{n}"));
        grant(&a, &db, &format!("a{n}"), "tim", false);
        grant(&a, &db, &format!("a{n}"), "ann", false);
    }
    let front = Front::of(&db, "tim");
    let mut agent = front.agent();
    let asked = |reply: &Value| -> Vec<String> {
        let rows = reply["projects"].as_array().expect("each one's").iter();
        rows.filter_map(|it| it["project"].as_str().map(str::to_string)).collect()
    };
    let whole = agent.call_whole("hybrid_query", json!({"q": "What stands in the yard?"}));
    let (found, text) = (&whole["structuredContent"], whole["content"][0]["text"].to_string());
    assert_eq!((asked(found).len(), &found["chunks"][0]["project"]), (16, &json!("b")), "{found}");
    let note = "asked 16 of 22 projects, those that fit best; name `project` to ask another";
    assert!(found["asked"] == note && text.contains(note), "{whole}");
    let named = agent.call("entity_lookup", json!({"q": "Obst Presse"})).expect("answered");
    assert_eq!(named["entities"][0]["project"], "b", "{named}");
    // What is about one project goes to the one that knows the name.
    let known = agent.call("explain_entity", json!({"name": "Obst Presse"})).expect("answered");
    assert_eq!(known["entities"][0]["project"], "b", "{known}");
    let path = agent.call("connect", json!({"a": "Obst Presse", "b": "Key Store"}));
    assert_eq!(path.expect("answered")["project"], "b");
    // Projects that are named, or waited for, are asked.
    let few = json!({"q": "What stands in the yard?", "project": ["a0", "a1"]});
    assert_eq!(asked(&agent.call("hybrid_query", few).expect("answered")), ["a0", "a1"]);
    let tick = agent.call("status", json!({"project": "a"})).expect("answered")["tick"].clone();
    let ticks =
        json!({"q": "What stands in the yard?", "at_least": {"a19": tick, "a18": tick, "a": tick}});
    let waited = asked(&agent.call("hybrid_query", ticks).expect("answered"));
    assert!(
        ["a", "a18", "a19", "b"].iter().all(|it| waited.contains(&it.to_string())),
        "{waited:?}"
    );
    // Only what is visible counts: another role's order knows nothing of `b`.
    let lone = Front::of(&db, "ann");
    let found = lone.agent().call("hybrid_query", json!({"q": "What stands in the yard?"}));
    assert!(!asked(&found.expect("answered")).contains(&"b".to_string()));
    // A right that is taken back takes the outline with it.
    run(&a, &["hub", "revoke", &db.url("admin"), "--name", "b", "--role", "tim"]);
    until("it is no longer named", || {
        let found = agent.call("hybrid_query", json!({"q": "What stands in the yard?"}));
        found.is_ok_and(|it| !asked(&it).contains(&"b".to_string()))
    });
}

#[test]
fn the_compose_file_starts_what_there_is() {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../compose.yaml");
    let text = std::fs::read_to_string(file).expect("read");
    let all: Value = serde_saphyr::from_str(&text).expect("YAML");
    let (database, front) = (&all["services"]["database"], &all["services"]["front"]);
    assert_eq!(database["image"], "pgvector/pgvector:pg18");
    assert_eq!(front["depends_on"]["database"]["condition"], "service_healthy");
    // Each volume that a service mounts is declared, and its flags are those of the program.
    for service in [database, front] {
        let mounts = service["volumes"].as_array().expect("a list").iter();
        let named = mounts.filter_map(|it| it.as_str()?.split_once(':')).map(|(from, _)| from);
        for name in named.filter(|it| !it.starts_with('$')) {
            assert!(all["volumes"].get(name).is_some(), "{name}");
        }
    }
    let command = front["command"].as_str().expect("a command");
    let help = Command::new(tests::kgctl().with_file_name("kg-mcp")).arg("--help").output();
    let help = String::from_utf8(help.expect("it runs").stdout).expect("UTF-8");
    for flag in command.split_whitespace().filter(|it| it.starts_with("--")) {
        assert!(help.contains(&format!("{flag} ")), "{flag}");
    }
    assert!(command.contains("@database/kg?sslmode=disable"), "{command}");
    assert_eq!(front["environment"]["KG_PUBLISH__PLAINTEXT_HOSTS"], "database");
}
