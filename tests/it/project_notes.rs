//! Notes of several projects: where they are written, by which addresses they are found, and which
//! project answers.

use serde_json::{Value, json};
use tests::SharedHome;

use crate::projects::{ALPHA, BETA, GAMMA, agent};

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
    let reply = agent.call_whole("read_note", json!({"path": path, "project": "gamma"}));
    let text = reply["content"][0]["text"].as_str().expect("a text");
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

    let prompt = agent.ask("prompts/get", json!({"name": "beta.recent_activity", "arguments": {}}));
    assert!(prompt["result"]["messages"].is_array(), "{prompt}");
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
        let message = agent.next_message();
        if message["method"] == "notifications/resources/updated" {
            assert_eq!(message["params"]["uri"], note);
            break;
        }
    }

    // The subscription is repeated at the next daemon. A search is repeated if the daemon dies
    // during it.
    home.kill("beta");
    let search = json!({"name": "hybrid_query", "arguments": {"q": "signing keys"}});
    let id = agent.request("tools/call", search);
    let mut seen = Vec::new();
    let wanted =
        ["list_changed", "updated"].map(|it| json!(format!("notifications/resources/{it}")));
    while !wanted.iter().all(|it| seen.contains(it)) || !seen.contains(&json!(id)) {
        let next = agent.next_message();
        if next["method"] == wanted[1] {
            assert_eq!(next["params"]["uri"], note);
        }
        seen.extend([next["method"].clone(), next["id"].clone()]);
    }
    home.write("beta/notes/bell.md", "# Bell\n\nIt rings.\n");
    while agent.next_message()["method"] != wanted[0] {}
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
