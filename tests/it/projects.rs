//! Many projects: one server in front of several daemons, and the commands that manage the list of
//! projects.

use expect_test::expect;
use serde_json::{Value, json};
use tests::{Agent, SharedHome};

const ALPHA: (&str, &str, &str) = (
    "alpha",
    "keys.md",
    "# Signing Keys\n\nThe signing keys of the Harbor Gateway rotate every month.\n\n## Vault\n\nThe Tide Vault \
     stores the signing keys.\n",
);
const BETA: (&str, &str, &str) = (
    "beta",
    "notes/rotation.md",
    "# Rotation\n\nAda Lindqvist rotates the signing keys of the Beacon Service by hand.\n",
);
const GAMMA: (&str, &str, &str) =
    ("gamma", "lamp.md", "# Lamp\n\nThe lamp needs no signing keys.\n");

/// Starts an agent for all projects; everything is indexed.
fn agent(home: &SharedHome, folder: &str, arguments: &[&str]) -> Agent {
    let mut agent = home.agent(folder, arguments);
    let tools = agent.ask("tools/list", json!({}))["result"]["tools"].take();
    let tool = tools.as_array().and_then(|it| it.iter().find(|it| it["name"] == "hybrid_query"));
    let names =
        tool.expect("it is offered")["inputSchema"]["properties"]["project"]["enum"].clone();
    for name in names.as_array().expect("the served ones") {
        let indexed = agent.call("ingest_docs", json!({"paths": ["**/*.md"], "project": name}));
        assert_eq!(indexed.expect("indexed")["project"], *name);
        // A link to a note that was indexed later is resolved in a later tick.
        while agent.call("status", json!({"project": name})).expect("answered")["settled"] != true {
            std::thread::yield_now();
        }
    }
    agent
}

fn projects_of(found: &Value) -> Vec<&str> {
    let mut all: Vec<_> = found["chunks"]
        .as_array()
        .expect("hits")
        .iter()
        .filter_map(|it| it["project"].as_str())
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}

#[test]
fn a_search_goes_to_all_projects_and_a_call_to_the_one_it_names() {
    let home = SharedHome::of(&[ALPHA, BETA, GAMMA]);
    let mut agent = agent(&home, "", &["--all-projects"]);
    assert_eq!(agent.hello["serverInfo"]["name"], "kgd");
    let told = agent.hello["instructions"].as_str().expect("instructions").to_string();
    assert!(told.contains("`alpha`, `beta`, `gamma`") && told.contains("hybrid_query"), "{told}");

    let result = agent.call_whole("hybrid_query", json!({"q": "signing keys", "k": 3}));
    let found = &result["structuredContent"];
    assert_eq!(projects_of(found), ["alpha", "beta", "gamma"]);
    assert_eq!(found["chunks"].as_array().map(Vec::len), Some(3), "`k` holds for the whole");
    let text = result["content"][0]["text"].as_str().expect("a text");
    for place in ["[alpha] keys.md:", "[beta] notes/rotation.md:", "[gamma] lamp.md:"] {
        assert!(text.contains(place), "{text}");
    }
    let ticks = found["projects"].as_array().expect("each one's").clone();
    assert!(ticks.len() == 3 && ticks.iter().all(|it| it["tick"].as_u64() > Some(0)), "{ticks:?}");

    let named = agent
        .call("hybrid_query", json!({"q": "signing keys", "project": "BETA"}))
        .expect("answered");
    assert_eq!(named["project"], "beta");
    assert!(
        named["chunks"]
            .as_array()
            .expect("hits")
            .iter()
            .all(|it| it["path"] == "notes/rotation.md")
    );

    let names = agent.call("entity_lookup", json!({"q": "Harbor Gateway"})).expect("answered");
    assert_eq!(names["entities"][0]["project"], "alpha", "{names}");
    let status = agent.call("status", json!({"project": "gamma"})).expect("answered");
    assert_eq!(status["project"], "gamma");
    // The place of a hit can be read in its project.
    let handle = named["chunks"][0]["ref"].clone();
    let passage =
        agent.call("read_passage", json!({"at": handle, "project": "beta"})).expect("answered");
    assert_eq!(passage["path"], "notes/rotation.md");
}

/// The budget bounds what an agent's model reads, however many projects there are.
#[test]
fn the_budget_holds_for_all_projects_together() {
    let long = |name: &str| {
        let text =
            format!("Signing keys of {name} are rotated by hand every week, says Ada Lindqvist. ");
        (1..40).map(|n| format!("# Part {n}\n\n{}\n\n", text.repeat(3))).collect::<String>()
    };
    let texts = ["alpha", "beta"].map(long);
    let [alpha, beta] = [("alpha", "keys.md", &*texts[0]), ("beta", "keys.md", &*texts[1])];
    let home = SharedHome::of(&[alpha, beta]);
    let mut agent = agent(&home, "", &["--all-projects", "--tools", "core,notes"]);
    for (tool, query) in [("hybrid_query", "q"), ("ask", "query"), ("search_notes", "query")] {
        for max_chars in [None, Some(900), Some(400)] {
            let mut arguments = json!({"format": "json"});
            arguments[query] = "how are the signing keys rotated".into();
            if let Some(max_chars) = max_chars {
                arguments["max_chars"] = max_chars.into();
            }
            let arguments_told = arguments.to_string();
            let result = agent.call_whole(tool, arguments);
            let text = result["content"][0]["text"].as_str().expect("text");
            assert_ne!(result["isError"], true, "{tool} {arguments_told}: {text}");
            let (n, most) = (text.chars().count(), max_chars.unwrap_or(3_000));
            assert!(n <= most, "{tool}: {n} of {most}: {text}");
            assert_eq!(
                serde_json::from_str::<Value>(text).expect("JSON"),
                result["structuredContent"]
            );
        }
    }
    let unknown = agent.ask("tools/call", json!({"name": "hybrid_qeury", "arguments": {}}));
    assert!(unknown.to_string().contains("did you mean `hybrid_query`?"), "{unknown}");
}

#[test]
fn pages_over_several_projects_tell_every_hit_once() {
    let home = SharedHome::of(&[ALPHA, BETA, GAMMA]);
    for n in 0..4 {
        home.write(
            &format!("alpha/a{n}.md"),
            &format!("# Note {n}\n\nRoom {n} has signing keys number {n}.\n"),
        );
        home.write(
            &format!("gamma/c{n}/c.md"),
            &format!("# Shelf {n}\n\nShelf {n} holds the signing keys.\n"),
        );
    }
    let mut agent = agent(&home, "", &["--project", "alpha,beta", "--project", "gamma"]);
    let whole =
        agent.call("hybrid_query", json!({"q": "signing keys", "k": 100, "max_chars": 20000}));
    let place = |hit: &Value| format!("{} {} {}", hit["project"], hit["path"], hit["ref"]);
    let places = |found: &Value| {
        found["chunks"].as_array().expect("hits").iter().map(place).collect::<Vec<_>>()
    };
    let mut all = places(&whole.expect("answered"));
    let (mut told, mut cursor) = (Vec::new(), None::<String>);
    loop {
        let mut arguments = json!({"q": "signing keys", "k": 1});
        if let Some(cursor) = &cursor {
            arguments["cursor"] = cursor.as_str().into();
        }
        let page = agent.call("hybrid_query", arguments).expect("a page");
        told.extend(places(&page));
        assert!(told.len() <= all.len(), "{told:?}");
        match page["next_cursor"].as_str() {
            Some(next) => cursor = Some(next.to_string()),
            None => break,
        }
    }
    all.sort_unstable();
    told.sort_unstable();
    assert!(all.len() >= 8, "{all:?}");
    assert_eq!(told, all);
}

#[test]
fn one_that_was_killed_is_started_again_and_one_whose_folder_is_gone_is_told() {
    let home = SharedHome::of(&[ALPHA, BETA, GAMMA]);
    let mut agent = agent(&home, "", &["--all-projects"]);
    home.kill("beta");
    let found = agent.call("hybrid_query", json!({"q": "signing keys"})).expect("answered");
    assert_eq!(projects_of(&found), ["alpha", "beta", "gamma"]);
    assert!(found.get("unavailable").is_none(), "{found}");

    home.kill("gamma");
    std::fs::remove_dir_all(home.at("gamma")).expect("it was there");
    let result = agent.call_whole("hybrid_query", json!({"q": "signing keys"}));
    let found = &result["structuredContent"];
    assert_eq!(projects_of(found), ["alpha", "beta"]);
    let away = &found["unavailable"];
    assert_eq!((away.as_array().map(Vec::len), &away[0]["project"]), (Some(1), &json!("gamma")));
    let message = away[0]["message"].as_str().expect("why");
    assert!(
        message.starts_with("the folder of `gamma`") && message.ends_with("is not there"),
        "{message}"
    );
    let text = result["content"][0]["text"].as_str().expect("a text");
    assert!(text.starts_with("(gamma is not in this: the folder of `gamma`"), "{text}");

    // A request to that project alone fails, and the error names the project.
    let refused =
        agent.ask("tools/call", json!({"name": "status", "arguments": {"project": "gamma"}}));
    let data = &refused["error"]["data"];
    assert_eq!((&data["code"], &data["project"]), (&json!("unavailable"), &json!("gamma")));
    // A new session starts through one of the other projects.
    drop(agent);
    let mut agent = home.agent("", &["--project", "gamma", "--project", "alpha"]);
    assert_eq!(agent.hello["serverInfo"]["name"], "kgd");
    let found = agent.call("entity_lookup", json!({"q": "Harbor Gateway"})).expect("answered");
    assert_eq!(found["entities"][0]["name"], "Harbor Gateway");
}

#[test]
fn what_was_not_named_goes_to_the_current_folder_and_a_write_nowhere_else() {
    let home = SharedHome::of(&[ALPHA, BETA, GAMMA]);
    let ingest = json!({"paths": ["**/*.md"]});
    {
        let mut nowhere = agent(&home, "", &["--project", "alpha", "--project", "beta"]);
        let refused = nowhere.call("ingest_docs", ingest.clone()).expect_err("which one?");
        assert_eq!(refused["code"], "ambiguous");
        assert_eq!(refused["hint"], "use `project`, one of `alpha`, `beta`");
        assert_eq!(nowhere.call("status", json!({})).expect_err("which one?")["code"], "ambiguous");
        let wrong = nowhere
            .call("hybrid_query", json!({"q": "x", "project": "gamma"}))
            .expect_err("not served");
        assert_eq!(
            (&wrong["code"], &wrong["hint"]),
            (&json!("not_found"), &json!("use one of `alpha`, `beta`"))
        );
    }
    home.kgctl_done(&["project", "default", "beta"]);
    {
        let mut reader = home.agent("", &["--project", "alpha", "--project", "beta"]);
        assert_eq!(reader.call("status", json!({})).expect("the default")["project"], "beta");
        assert_eq!(
            reader.call("ingest_docs", ingest.clone()).expect_err("no guess")["code"],
            "ambiguous"
        );
        let unknown =
            reader.call("read_passage", json!({"path": "nowhere.md"})).expect_err("unknown");
        assert_eq!(unknown["project"], "beta", "an error says whose it is");
    }
    {
        // Without `--project`, the default answers reads; a write must name its project.
        let mut unnamed = home.agent("", &["--tools", "core,notes"]);
        assert_eq!(unnamed.call("status", json!({})).expect("the default")["project"], "beta");
        let mut note = json!({"title": "Oil", "content": "x"});
        let refused = unnamed.call("write_note", note.clone()).expect_err("no guess");
        assert_eq!(refused["code"], "ambiguous");
        let hint = "use `project`: `beta`, or start `kg-mcp` with `--project beta`";
        assert_eq!(refused["hint"], hint);
        note["project"] = "beta".into();
        assert_eq!(unnamed.call("write_note", note).expect("named")["project"], "beta");
    }
    {
        let mut inside = home.agent("beta/notes", &["--project", "alpha", "--project", "beta"]);
        assert_eq!(inside.call("status", json!({})).expect("here")["project"], "beta");
        assert_eq!(inside.call("ingest_docs", ingest.clone()).expect("here")["project"], "beta");
    }
    // Inside a project that is not served, no other project is used instead.
    let mut other = home.agent("gamma", &["--project", "alpha", "--project", "beta"]);
    assert_eq!(other.call("ingest_docs", ingest).expect_err("not served")["code"], "ambiguous");
}

#[test]
fn notes_are_written_where_they_belong_and_found_from_everywhere() {
    let home = SharedHome::of(&[ALPHA, BETA, GAMMA]);
    home.kgctl_done(&["project", "add", "alpha", "--read-only"]);
    let mut agent = agent(&home, "", &["--all-projects", "--tools", "core,notes"]);
    // The first project is read-only and offers no tool that writes notes; the others do.
    let tools = agent.ask("tools/list", json!({}))["result"]["tools"].take();
    let tools: Vec<_> = tools.as_array().expect("a list").iter().collect();
    let write = tools.iter().find(|it| it["name"] == "write_note").expect("it is offered");
    let required = write["inputSchema"]["required"].as_array().expect("a list");
    assert!(required.contains(&json!("project")), "{write}");

    let note = |project: Option<&str>| {
        let mut note = json!({"title": "Lamp Oil", "content": "- [fact] The lamp burns whale oil.\n", "directory": "supplies"});
        if let Some(project) = project {
            note["project"] = project.into();
        }
        note
    };
    assert_eq!(agent.call("write_note", note(None)).expect_err("where?")["code"], "ambiguous");
    let refused = agent.call("write_note", note(Some("alpha"))).expect_err("read-only");
    assert_eq!((&refused["code"], &refused["project"]), (&json!("read_only"), &json!("alpha")));
    let written = agent.call("write_note", note(Some("gamma"))).expect("written");
    assert_eq!(written["project"], "gamma");
    let path = written["path"].as_str().expect("a path").to_string();
    assert!(home.at("gamma").join(&path).is_file() && !home.at("beta").join(&path).exists());

    let result = agent.call_whole("search", json!({"query": "lamp whale oil", "limit": 2}));
    let best = &result["structuredContent"]["notes"][0];
    assert_eq!((&best["project"], &best["path"]), (&json!("gamma"), &json!(path)), "{result}");
    let text = result["content"][0]["text"].as_str().expect("a text");
    assert!(text.starts_with(&format!("1. [gamma] {path}")), "{text}");
    let found = agent
        .call("search_notes", json!({"query": "signing keys", "page_size": 2}))
        .expect("answered");
    let owners =
        found["results"].as_array().expect("results").iter().map(|it| it["project"].clone());
    let mut owners: Vec<_> = owners.filter_map(|it| it.as_str().map(str::to_string)).collect();
    owners.sort_unstable();
    owners.dedup();
    assert_eq!(
        (owners.len(), &found["has_more"], &found["page_size"]),
        (2, &json!(true), &json!(2)),
        "{found}"
    );
    let listed = agent.call("list_notes", json!({"page_size": 2, "page": 2})).expect("answered");
    assert_eq!(
        (listed["notes"].as_array().map(Vec::len), &listed["n_notes"]),
        (Some(2), &json!(4)),
        "{listed}"
    );
    let recent = agent.call("recent_activity", json!({"timeframe": "1d"})).expect("answered");
    assert_eq!(
        (&recent["notes"][0]["path"], &recent["notes"][0]["project"]),
        (&json!(path), &json!("gamma")),
        "{recent}"
    );

    // By the address that the note has in this session, without a `project`.
    let permalink = best["permalink"].as_str().expect("a permalink");
    let read = agent
        .call("read_note", json!({"path": format!("memory://gamma/{permalink}")}))
        .expect("answered");
    assert_eq!((&read["project"], &read["path"]), (&json!("gamma"), &json!(path)));

    // The address in the reply works, and so does the bare one, since only one project has it.
    let told = agent.call_whole("read_note", json!({"path": path, "project": "gamma"}));
    let text = told["content"][0]["text"].as_str().expect("a text");
    let whole = format!("memory://gamma/{permalink}");
    assert!(text.lines().any(|line| line.starts_with(&format!("{whole}  checksum"))), "{text}");
    let bare = format!("memory://{permalink}");
    for given in [
        json!({"path": whole}),
        json!({"path": whole, "project": "gamma"}),
        json!({"path": bare}),
        json!({"path": bare, "project": "gamma"}),
    ] {
        let read = agent
            .call("read_note", given.clone())
            .unwrap_or_else(|error| panic!("{given}: {error}"));
        assert_eq!((&read["project"], &read["path"]), (&json!("gamma"), &json!(path)), "{given}");
    }
    home.write("beta/supplies/lamp-oil.md", "# Lamp Oil\n");
    let paths = json!({"paths": ["supplies/*.md"], "project": "beta"});
    agent.call("ingest_docs", paths).expect("indexed");
    let refused = agent.call("read_note", json!({"path": bare})).expect_err("two have it");
    assert_eq!(refused["code"], "ambiguous", "{refused}");
    let hint = refused["hint"].as_str().expect("a hint");
    assert!(hint.contains(&whole) && hint.contains("`memory://beta/lamp-oil`"), "{hint}");
    let mut inside = home.agent("beta/notes", &["--all-projects", "--tools", "core,notes"]);
    let read = inside.call("read_note", json!({"path": bare})).expect("here");
    assert_eq!(read["project"], "beta");
    let missing = agent.call("backlinks", json!({"path": "memory://nobody/wrote-this"}));
    assert_eq!(missing.expect_err("none")["code"], "not_found");

    let result = agent.call_whole("list_memory_projects", json!({}));
    let text = result["content"][0]["text"].as_str().expect("a text");
    assert!(text.contains("(1 document, "), "{text}");
    let projects = &result["structuredContent"];
    let row = |it: &Value| {
        format!("{} {} {} {}", it["name"], it["is_active"], it["answers"], it["n_documents"])
    };
    let rows: Vec<_> = projects["projects"].as_array().expect("a list").iter().map(row).collect();
    assert_eq!(rows, [r#""alpha" true true 1"#, r#""beta" true true 2"#, r#""gamma" true true 2"#]);
    assert!(agent.call("get_mcp_instructions", json!({})).is_ok());
}

#[test]
fn resources_and_prompts_of_several_projects_bear_their_names() {
    let home = SharedHome::of(&[ALPHA, BETA]);
    let mut agent = agent(&home, "", &["--all-projects", "--tools", "core,notes"]);
    let mut list = |method: &str, field: &str, key: &str| -> Vec<String> {
        let reply = agent.ask(method, json!({}))["result"][field].take();
        let list = reply.as_array().unwrap_or_else(|| panic!("{method}: {reply}")).clone();
        list.iter().filter_map(|it| it[key].as_str().map(str::to_string)).collect()
    };
    let resources = list("resources/list", "resources", "uri");
    assert_eq!(resources[0], "kgd://project_info/alpha");
    assert!(resources.contains(&"kgd://project_info/beta".to_string()), "{resources:?}");
    let note = resources
        .iter()
        .find(|it| it.starts_with("memory://beta/"))
        .expect("a note of beta")
        .clone();
    let templates = list("resources/templates/list", "resourceTemplates", "uriTemplate");
    assert_eq!(templates, ["memory://alpha/{+permalink}", "memory://beta/{+permalink}"]);
    let prompts = list("prompts/list", "prompts", "name");
    assert!(prompts.contains(&"beta.recent_activity".to_string()), "{prompts:?}");

    let read = agent.ask("resources/read", json!({"uri": note}));
    let content = &read["result"]["contents"][0];
    assert_eq!(content["uri"], note);
    assert!(content["text"].as_str().is_some_and(|it| it.contains("Beacon Service")), "{read}");
    let info = agent.ask("resources/read", json!({"uri": "kgd://project_info/beta"}));
    let info = info["result"]["contents"][0]["text"].as_str().expect("a text").to_string();
    assert!(info.contains("\"project\": \"beta\""), "{info}");
    // Without a project in the address, the note is found in the project that has it.
    let bare = note.replace("memory://beta/", "memory://");
    let read = agent.ask("resources/read", json!({"uri": bare}));
    assert_eq!(read["result"]["contents"][0]["uri"], note, "{read}");
    let nowhere = agent.ask("resources/read", json!({"uri": "memory://nowhere/x"}));
    assert!(
        nowhere["error"]["data"]["hint"].as_str().is_some_and(|it| it.contains("`alpha`, `beta`")),
        "{nowhere}"
    );

    let said = agent.ask("prompts/get", json!({"name": "beta.recent_activity", "arguments": {}}));
    assert!(said["result"]["messages"].is_array(), "{said}");
    let template = json!({"type": "ref/resource", "uri": "memory://beta/{+permalink}"});
    let completed = agent.ask(
        "completion/complete",
        json!({"ref": template, "argument": {"name": "permalink", "value": "rot"}}),
    );
    assert!(completed["result"]["completion"]["values"].is_array(), "{completed}");

    // A change is reported under the watched address.
    assert!(agent.ask("resources/subscribe", json!({"uri": note})).get("result").is_some());
    home.write("beta/notes/rotation.md", "# Rotation\n\nNobody rotates anything.\n");
    loop {
        let heard = agent.hear();
        if heard["method"] == "notifications/resources/updated" {
            assert_eq!(heard["params"]["uri"], note);
            break;
        }
    }

    // The subscription is repeated at the next daemon. A search is repeated if the daemon dies
    // during it.
    home.kill("beta");
    let search = json!({"name": "hybrid_query", "arguments": {"q": "signing keys"}});
    let id = agent.request("tools/call", search);
    let mut heard = Vec::new();
    let wanted =
        ["list_changed", "updated"].map(|it| json!(format!("notifications/resources/{it}")));
    while !wanted.iter().all(|it| heard.contains(it)) || !heard.contains(&json!(id)) {
        let next = agent.hear();
        if next["method"] == wanted[1] {
            assert_eq!(next["params"]["uri"], note);
        }
        heard.extend([next["method"].clone(), next["id"].clone()]);
    }
    home.write("beta/notes/bell.md", "# Bell\n\nIt rings.\n");
    while agent.hear()["method"] != wanted[0] {}
}

#[test]
fn one_project_is_served_without_a_word_of_others() {
    let home = SharedHome::of(&[ALPHA]);
    let mut agent = home.agent("", &["--all-projects"]);
    let tools = agent.ask("tools/list", json!({}))["result"]["tools"].take();
    assert!(
        !agent.hello["instructions"].as_str().expect("instructions").contains("several projects")
    );
    let list = tools.as_array().expect("a list");
    let query = list.iter().find(|it| it["name"] == "hybrid_query").expect("it is offered");
    assert!(query["inputSchema"]["properties"]["project"]["enum"].is_null());
}

#[test]
fn a_call_that_is_taken_back_is_not_answered() {
    let home = SharedHome::of(&[ALPHA, BETA]);
    let mut agent = agent(&home, "", &["--all-projects"]);
    let id = agent
        .request("tools/call", json!({"name": "hybrid_query", "arguments": {"q": "signing keys"}}));
    agent.notify("notifications/cancelled", json!({"requestId": id}));
    let next = agent.call("status", json!({"project": "alpha"})).expect("the session goes on");
    assert_eq!(next["project"], "alpha");
}

#[test]
fn projects_are_added_named_and_forgotten_by_command() {
    let home = SharedHome::of(&[]);
    home.write("notes/a.md", "# A\n");
    home.write("notes/inner/b.md", "# B\n");
    home.write("other/c.md", "# C\n");
    let root = home.at("").display().to_string();
    let short = |text: String| text.replace(&root, "/home/");

    let added = short(home.kgctl_done(&["project", "add", "notes", "--name", "My Notes"]));
    expect![[r#"
        My Notes: registered: /home/notes
        an agent starts its daemon when it needs it; `kgctl start --project 'My Notes'` indexes now
    "#]]
    .assert_eq(&added);
    let refused = [
        home.kgctl_refused(&["project", "add", "nowhere"]),
        home.kgctl_refused(&["project", "add", "notes/a.md"]),
        home.kgctl_refused(&["project", "add", "notes/inner"]),
        home.kgctl_refused(&["project", "add", "other", "--name", "my-notes"]),
        home.kgctl_refused(&["project", "add", "other", "--name", "a,b"]),
        home.kgctl_refused(&["project", "default", "other"]),
        home.kgctl_refused(&["project", "remove", "other"]),
    ];
    let told: String = refused.iter().map(|(code, said)| format!("{code} {said}")).collect();
    expect![[r#"
        2 error: cannot use `nowhere`: No such file or directory (os error 2)
        hint: a project is an existing folder
        2 error: cannot use `notes/a.md`: not a directory
        hint: a project is an existing folder
        2 error: `/home/notes/inner` lies inside `/home/notes`: with `My Notes` registered, its documents are read twice, into two projects
        hint: `--yes` skips this question
        2 error: cannot use the project name `my-notes`: `My Notes`, `/home/notes`, has this name
        hint: choose another `--name`
        2 error: cannot use the project name `a,b`: commas separate names in a list of projects
        hint: use letters, digits, spaces, `-`, `_` or `.`
        3 error: no project is called `other`
        hint: `kgctl list` lists the projects
        3 error: no project is called `other`
        hint: `kgctl list` lists the projects
    "#]].assert_eq(&told);

    expect![[r#"
        My Notes: /home/notes (the only one)
    "#]]
    .assert_eq(&short(home.kgctl_done(&["project", "default"])));
    home.kgctl_done(&["project", "add", "other", "--read-only"]);
    let (code, said) = home.kgctl_refused(&["project", "default"]);
    assert_eq!(code, 3, "{said}");
    home.kgctl_done(&["project", "default", "other"]);
    let list = short(home.kgctl_done(&["project", "list"]));
    let list = list.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    let list: Vec<_> =
        list.map(|line| line.split(" 20").next().unwrap_or_default().to_string()).collect();
    expect![[r#"
        NAME STATE ADDED FOLDER
        My Notes stopped
        other * stopped, read-only"#]]
    .assert_eq(&list.join("\n"));
    let rows: Value =
        serde_json::from_str(&home.kgctl_done(&["project", "list", "--json"])).expect("JSON");
    assert_eq!((&rows[1]["default"], &rows[1]["read_only"]), (&json!(true), &json!(true)));

    let (code, said) = home.kgctl_refused(&["project", "remove", "other"]);
    assert!(code == 2 && said.contains("`kgctl project default NAME`"), "{said}");
    expect![[r#"
        other: removed; its documents are kept, its index is kept
    "#]]
    .assert_eq(&short(home.kgctl_done(&["project", "remove", "other", "--yes"])));
    assert!(home.at("other/c.md").is_file());
}

#[test]
fn a_project_is_read_only_without_a_word_in_its_folder() {
    let home = SharedHome::of(&[ALPHA]);
    let setting = || {
        let rows = home.kgctl_done(&["--project", "alpha", "config", "show"]);
        rows.lines().find(|row| row.starts_with("write ")).map(str::to_string).expect("a row")
    };
    assert!(setting().contains("true"));
    home.kgctl_done(&["--project", "alpha", "start"]);
    let before = home.daemon("alpha").expect("it runs");
    let told = home.kgctl_done(&["project", "add", "alpha", "--read-only"]);
    assert!(told.contains("read-only") && told.contains("was restarted"), "{told}");
    let after = home.daemon("alpha").expect("it runs again");
    assert_ne!(before, after, "the daemon heeds it");
    let row = setting();
    assert!(row.contains("false") && row.contains("projects.json"), "{row}");
    home.kgctl_done(&["project", "add", "alpha", "--writable"]);
    assert!(setting().contains("true"));
    let inside = std::fs::read_dir(home.at("alpha")).expect("there").count();
    assert_eq!(inside, 1, "nothing was written into the folder");
    // If the folder's own setting contradicts the mark, the command fails; the mark can still be
    // removed.
    home.write("alpha/kg.yaml", "write: true\n");
    let (code, said) = home.kgctl_refused(&["project", "add", "alpha", "--read-only"]);
    assert!(code == 2 && said.contains("allows what you have forbidden"), "{said}");
    home.kgctl_done(&["project", "add", "alpha", "--writable"]);
    assert!(setting().contains("true"));
}

#[test]
fn an_agents_configuration_may_name_several_projects() {
    let home = SharedHome::of(&[ALPHA, BETA]);
    let args = |arguments: &[&str]| -> Value {
        let entry: Value = serde_json::from_str(&home.kgctl_done(arguments)).expect("JSON");
        entry["mcpServers"].clone()
    };
    let root = |name: &str| home.at(name).display().to_string();
    let all = args(&["mcp-config", "--all-projects"]);
    assert_eq!(all["kgd"]["args"], json!(["--all-projects"]));
    let two = args(&["mcp-config", "alpha", "beta"]);
    assert_eq!(two["kgd"]["args"], json!(["--project", root("alpha"), "--project", root("beta")]));
    let one = args(&["--project", "beta", "mcp-config"]);
    assert_eq!(one["beta"]["args"], json!(["--project", root("beta")]));
    let output = home.kgctl(&["--project", "beta", "mcp-config"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("--all-projects"));
}

/// S3: a named vault is the only one that answers; otherwise each hit names its vault.
#[test]
fn multi_vault_scoping_works_as_expected() {
    let note = "# Rotation\n\nHow the signing keys are rotated.\n\n- uses [[Vault]]\n";
    let home = SharedHome::of(&[("global", "rotation.md", note), ("work", "rotation.md", note)]);
    home.write("work/plan.md", "# Plan\n\nThe plan to rotate signing keys, see [[Rotation]].\n");
    let mut agent = agent(&home, "", &["--all-projects", "--tools", "core,notes"]);
    let whose = |found: &Value, list: &str, field: &str| -> Vec<String> {
        let hits = found[list].as_array().unwrap_or_else(|| panic!("no {list}: {found}"));
        let mut all: Vec<_> =
            hits.iter().map(|it| format!("{}/{}", it[field], it["path"])).collect();
        all.sort_unstable();
        all.iter().map(|it| it.replace('"', "")).collect()
    };
    let every = ["global/rotation.md", "work/plan.md", "work/rotation.md"];
    let question = json!({"query": "rotate signing keys"});
    let found = agent.call("search", question.clone()).expect("answered");
    assert_eq!(whose(&found, "notes", "project"), every);
    let listed = agent.call("list_notes", json!({})).expect("answered");
    assert_eq!(whose(&listed, "notes", "project"), every);
    for (vault, expected) in [("global", &every[..1]), ("work", &every[1..])] {
        let with = |mut arguments: Value| {
            arguments["vault"] = vault.into();
            arguments
        };
        let found = agent.call("search", with(question.clone())).expect("answered");
        assert_eq!(whose(&found, "notes", "vault"), expected, "{vault}");
        let listed = agent.call("list_notes", with(json!({}))).expect("answered");
        assert_eq!(listed["project"], vault);
        assert_eq!(listed["notes"].as_array().map(Vec::len), Some(expected.len()), "{listed}");
        // One path in two vaults: the named vault's note is read.
        let read = agent.call("read_note", with(json!({"path": "rotation.md"}))).expect("read");
        assert_eq!(read["project"], vault, "{read}");
        let back = agent.call("backlinks", with(json!({"path": "rotation.md"}))).expect("answered");
        let n = back["backlinks"].as_array().map(Vec::len);
        assert_eq!(n, Some(usize::from(vault == "work")), "no link leads out of its vault");
    }
    let unknown = agent.call("search", json!({"query": "keys", "vault": "elsewhere"}));
    assert_eq!(unknown.expect_err("none")["code"], "not_found");
}

#[test]
fn a_project_that_is_made_meanwhile_is_served_at_once() {
    let home = SharedHome::of(&[ALPHA, BETA]);
    home.write("agents/mine/lamp.md", "# Lamp\n\nThe lamp of the pier.\n");
    let roots = home.at("agents");
    home.write("config/config.yaml", &format!("projects: {{roots: [{:?}]}}\n", roots.display()));
    let mut agent = agent(&home, "", &["--all-projects", "--tools", "core,notes"]);
    let wish = json!({"name": "Fourth", "path": roots.join("fourth"), "project": "alpha"});
    agent.call("create_memory_project", wish).expect("made");
    let note =
        json!({"title": "Tide", "directory": "", "content": "It is high.", "project": "Fourth"});
    let written = agent.call("write_note", note).expect("written");
    assert_eq!(written["project"], "Fourth", "{written}");
    assert!(roots.join("fourth/tide.md").exists(), "{written}");
    // What a person registers, too.
    let mine = roots.join("mine");
    home.kgctl_done(&["project", "add", mine.to_str().expect("text"), "--name", "mine"]);
    let status = agent.call("status", json!({"project": "mine"})).expect("served");
    assert_eq!(status["project"], "mine");
    let unknown = agent.call("status", json!({"project": "nobody"})).expect_err("none");
    assert_eq!(unknown["code"], "not_found", "{unknown}");
}
