//! Many projects: one server in front of several daemons, which searches all of them and sends each
//! call to the project it is about.

use serde_json::{Value, json};
use tests::{Agent, SharedHome};

pub(crate) const ALPHA: (&str, &str, &str) = (
    "alpha",
    "keys.md",
    "# Signing Keys\n\nThe signing keys of the Harbor Gateway rotate every month.\n\n## Vault\n\nThe Tide Vault \
     stores the signing keys.\n",
);
pub(crate) const BETA: (&str, &str, &str) = (
    "beta",
    "notes/rotation.md",
    "# Rotation\n\nAda Lindqvist rotates the signing keys of the Beacon Service by hand.\n",
);
pub(crate) const GAMMA: (&str, &str, &str) =
    ("gamma", "lamp.md", "# Lamp\n\nThe lamp needs no signing keys.\n");

/// Starts an agent for all projects; everything is indexed.
pub(crate) fn agent(home: &SharedHome, folder: &str, arguments: &[&str]) -> Agent {
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
    let instructions = agent.hello["instructions"].as_str().expect("instructions").to_string();
    assert!(
        instructions.contains("`alpha`, `beta`, `gamma`") && instructions.contains("hybrid_query"),
        "{instructions}"
    );

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
            let shown_arguments = arguments.to_string();
            let result = agent.call_whole(tool, arguments);
            let text = result["content"][0]["text"].as_str().expect("text");
            assert_ne!(result["isError"], true, "{tool} {shown_arguments}: {text}");
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
    let (mut paged, mut cursor) = (Vec::new(), None::<String>);
    loop {
        let mut arguments = json!({"q": "signing keys", "k": 1});
        if let Some(cursor) = &cursor {
            arguments["cursor"] = cursor.as_str().into();
        }
        let page = agent.call("hybrid_query", arguments).expect("a page");
        paged.extend(places(&page));
        assert!(paged.len() <= all.len(), "{paged:?}");
        match page["next_cursor"].as_str() {
            Some(next) => cursor = Some(next.to_string()),
            None => break,
        }
    }
    all.sort_unstable();
    paged.sort_unstable();
    assert!(all.len() >= 8, "{all:?}");
    assert_eq!(paged, all);
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

fn takes_project(agent: &mut Agent, tool: &str) -> Value {
    let tools = agent.ask("tools/list", json!({}))["result"]["tools"].take();
    let found = tools.as_array().and_then(|all| all.iter().find(|it| it["name"] == tool).cloned());
    found.expect("it is offered")["inputSchema"]["properties"]["project"].take()
}

#[test]
fn all_projects_begun_with_one_are_those_that_are_made_later_too() {
    let home = SharedHome::of(&[ALPHA]);
    let roots = home.at("agents");
    std::fs::create_dir(&roots).expect("made");
    home.write("config/config.yaml", &format!("projects: {{roots: [{:?}]}}\n", roots.display()));
    let mut agent = home.agent("", &["--all-projects", "--tools", "core,notes"]);
    assert_eq!(takes_project(&mut agent, "hybrid_query")["enum"], json!(["alpha"]));
    assert_eq!(agent.hello["capabilities"]["tools"]["listChanged"], true);
    // Where there is one, nothing needs to be named.
    let note = json!({"title": "Oil", "directory": "", "content": "The lamp burns oil."});
    assert_eq!(agent.call("write_note", note.clone()).expect("the only one")["project"], "alpha");
    let wish = json!({"name": "Second", "path": roots.join("second")});
    agent.call("create_memory_project", wish).expect("made");
    let second = json!({"title": "Tide", "content": "It is high.", "project": "Second"});
    assert_eq!(agent.call("write_note", second).expect("written")["project"], "Second");
    assert!(roots.join("second/tide.md").exists());
    assert_eq!(takes_project(&mut agent, "hybrid_query")["enum"], json!(["alpha", "Second"]));
    // Of two, none is meant.
    assert_eq!(agent.call("write_note", note).expect_err("which one?")["code"], "ambiguous");
}

#[test]
fn all_projects_begun_with_none_say_how_to_make_one_and_serve_it() {
    let home = SharedHome::of(&[]);
    let mut agent = home.agent("", &["--all-projects"]);
    let instructions = agent.hello["instructions"].as_str().expect("instructions").to_string();
    assert!(instructions.contains("`kgctl init DIR`"), "{instructions}");
    assert!(takes_project(&mut agent, "hybrid_query").is_object());
    let refused = agent.call("status", json!({})).expect_err("there is none");
    let hint = refused["hint"].as_str().expect("a hint");
    assert!(refused["code"] == "not_found" && hint.contains("`kgctl init DIR`"), "{refused}");
    home.write("alpha/keys.md", ALPHA.2);
    home.kgctl_done(&["project", "add", "alpha"]);
    assert_eq!(agent.call("status", json!({})).expect("served")["project"], "alpha");
}

#[test]
fn a_project_that_is_removed_or_renamed_is_so_in_a_running_session() {
    let home = SharedHome::of(&[ALPHA, BETA]);
    let mut agent = agent(&home, "", &["--all-projects", "--tools", "core,notes"]);
    let unlike = |error: Value, name: &str| error.to_string().replace(name, "NAME");
    let listed = |agent: &mut Agent| -> Vec<String> {
        let reply = agent.call("list_memory_projects", json!({})).expect("listed");
        let rows = reply["projects"].as_array().expect("rows").iter();
        rows.filter_map(|it| it["name"].as_str().map(String::from)).collect()
    };
    home.kgctl_done(&["remove", "beta"]);
    assert_eq!(listed(&mut agent), ["alpha"]);
    let found = agent.call("hybrid_query", json!({"q": "signing keys"})).expect("answered");
    assert_eq!(projects_of(&found), ["alpha"]);
    assert!(found.get("unavailable").is_none(), "{found}");
    let note = |name: &str| json!({"title": "Late", "content": "x", "project": name});
    let [gone, never] =
        ["beta", "nope"].map(|it| unlike(agent.call("write_note", note(it)).expect_err(it), it));
    assert_eq!(gone, never, "as one that never was");
    assert!(!home.at("beta/late.md").exists());
    assert_eq!(home.daemon("beta"), None, "nothing starts it again");
    home.kgctl_done(&["project", "add", "beta", "--name", "second"]);
    assert_eq!(listed(&mut agent), ["alpha", "second"]);
    let status = agent.call("status", json!({"project": "second"})).expect("served");
    assert_eq!(status["project"], "second");
    // A folder that is registered has its new name at once.
    home.kgctl_done(&["project", "add", "beta", "--name", "third"]);
    assert_eq!(listed(&mut agent), ["alpha", "third"]);
    assert_eq!(
        agent.call("status", json!({"project": "second"})).expect_err("gone")["code"],
        "not_found"
    );
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
