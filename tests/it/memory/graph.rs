//! Memory as a whole: relations, search, reports, imports and a rebuild.

use serde_json::{Value, json};
use tests::{Client, TestProject, all};

use super::{code, facts, people, relate};

#[test]
fn relations_make_a_graph() {
    let mut project = people();
    relate(&mut project, "Ada Lovelace", "works_with", "Charles Babbage");
    relate(&mut project, "Charles Babbage", "designs", "Analytical Engine");
    let again = relate(&mut project, "Ada Lovelace", "works_with", "Charles Babbage");
    assert_eq!(again["already_existed"].as_array().map(Vec::len), Some(1), "{again}");
    assert_eq!(
        relate(&mut project, "Ada Lovelace", "knows", "Nobody")["not_found"],
        json!(["Nobody"])
    );
    let long = relate(&mut project, "Ada Lovelace", "is a very good friend of", "Charles Babbage");
    assert_eq!(long["created"][0]["relation_type"], "is a very good friend of");
    let path = project
        .call("get_path", json!({"from_entity": "Analytical Engine", "to_entity": "Ada Lovelace"}));
    assert_eq!(path["path"], json!(["Analytical Engine", "Charles Babbage", "Ada Lovelace"]));
    assert_eq!(all(&path["relations"], "from"), ["Charles Babbage", "Ada Lovelace"]);
    let near = project.call("get_neighborhood", json!({"name": "Ada Lovelace"}));
    // Her notes also say where she lives.
    assert_eq!(all(&near["nodes"], "name"), ["Ada Lovelace", "Charles Babbage", "London"]);
    assert_eq!(near["relations"].as_array().map(Vec::len), Some(3), "{near}");
    let far = project.call("get_neighborhood", json!({"name": "Ada Lovelace", "depth": 2}));
    assert_eq!(
        all(&far["nodes"], "name"),
        ["Ada Lovelace", "Charles Babbage", "London", "Analytical Engine"]
    );
    let between = json!({"entity_a": "Charles Babbage", "entity_b": "Ada Lovelace"});
    let types = project.call("get_relations_between", between.clone());
    assert_eq!(
        all(&types["relations"], "relation_type"),
        ["is a very good friend of", "works_with"]
    );
    let renamed = json!({"from_entity": "Ada Lovelace", "to_entity": "Charles Babbage", "old_type": "works_with", "new_type": "corresponds_with"});
    project.call("update_relation_type", renamed.clone());
    assert_eq!(code(&mut project, "update_relation_type", renamed), "not_found");
    let gone = json!({"relations": [
        {"from_entity": "Ada Lovelace", "to_entity": "Charles Babbage", "relation_type": "is a very good friend of"},
        {"from_entity": "Ada Lovelace", "to_entity": "Charles Babbage", "relation_type": "nothing"},
    ]});
    let gone = project.call("delete_relations", gone);
    assert_eq!((&gone["deleted"], &gone["not_found"]), (&json!(1), &json!(1)));
    let types = project.call("get_relations_between", between);
    assert_eq!(all(&types["relations"], "relation_type"), ["corresponds_with"]);
    project
        .call("create_entities", json!({"entities": [{"name": "Alone", "entity_type": "person"}]}));
    assert_eq!(all(&project.call("get_orphans", json!({}))["nodes"], "name"), ["Alone"]);
    let none =
        project.call("get_path", json!({"from_entity": "Alone", "to_entity": "Ada Lovelace"}));
    assert_eq!(none["found"], false);
    // A mention without a relation is reported, also by another name.
    project.call("add_observations", json!({"observations": [{"entity_name": "Alone", "contents": ["Met Ada Lovelace", "Wrote to Ada Lovelace"]}]}));
    project.settle();
    let gaps = project.call("get_relation_gaps", json!({}));
    assert_eq!(
        gaps["gaps"][0],
        json!({"node": "Alone", "referenced_name": "Ada Lovelace", "reference_count": 2,
               "key": "relation:alone>related_to>adalovelace"})
    );
}

#[test]
fn a_relation_leads_to_the_entity_that_was_named_whatever_its_name() {
    let mut project = TestProject::empty();
    project.write("docs/auth.md", "# Authentication\n\nHow to sign in.\n");
    project.write("deep/Kit.md", "A kit.\n");
    project.start();
    project.settle();
    let names = ["docs/auth", "deep/Kit", "./Foo", "`run()`", "tick ` one", "C#"];
    let named = |name: &&str| json!({"name": name, "entity_type": "thing"});
    let mut entities: Vec<Value> = names.iter().map(named).collect();
    entities.push(named(&"gateway"));
    project.call("create_entities", json!({"entities": entities}));
    for name in names {
        let made = relate(&mut project, "gateway", "uses", name);
        assert_eq!(made["created"][0]["to"], name, "{made}");
        let between = json!({"entity_a": "gateway", "entity_b": name});
        let between = project.call("get_relations_between", between);
        assert_eq!(all(&between["relations"], "relation_type"), ["uses"], "{name}: {between}");
        assert_eq!(relate(&mut project, "gateway", "uses", name)["already_existed"][0]["to"], name);
    }
    assert!(all(&project.call("get_orphans", json!({}))["nodes"], "name").is_empty());
    project.call("delete_entities", json!({"entity_names": names}));
    let text = project.text("memory/gateway.md");
    assert!(!text.contains("uses"), "{text}");
    // A dangling relation is reported and can be renamed and removed; no new one can be created.
    project.write("memory/gateway.md", format!("{text}\n- knows [[Nobody]]\n"));
    let renamed = json!({"from_entity": "gateway", "to_entity": "Nobody", "old_type": "knows", "new_type": "misses"});
    assert_eq!(project.call("update_relation_type", renamed)["to_entity"], "Nobody");
    let opened = project.call("open_nodes", json!({"names": ["gateway"]}));
    assert_eq!(all(&opened["relations"], "relation_type"), ["misses"], "{opened}");
    assert_eq!(relate(&mut project, "gateway", "sees", "Nobody")["not_found"], json!(["Nobody"]));
    let gone = json!({"relations": [{"from_entity": "gateway", "to_entity": "Nobody", "relation_type": "misses"}]});
    assert_eq!(project.call("delete_relations", gone)["deleted"], 1);
    assert!(!project.text("memory/gateway.md").contains("Nobody"));
}

#[test]
fn names_and_types_that_a_title_cannot_hold_are_still_a_persons_to_change() {
    let mut project = TestProject::of(&[]);
    let entities = json!({"entities": [
        {"name": "Ann", "entity_type": ""}, {"name": "Big  Co", "entity_type": "company",
         "observations": ["Works with Ann on it", "Ann is her friend", "Ann's idea"]},
        {"name": "日本", "entity_type": "place"},
        {"name": "Trip", "entity_type": "plan", "observations": ["旅行は日本へ", "in 日本 now"]},
    ]});
    project.call("create_entities", entities);
    let gaps = project.call("get_relation_gaps", json!({}));
    let found_gaps: Vec<(&str, &str, u64)> = gaps["gaps"]
        .as_array()
        .expect("gaps")
        .iter()
        .map(|it| {
            let name = |key: &str| it[key].as_str().unwrap_or_default();
            (name("node"), name("referenced_name"), it["reference_count"].as_u64().unwrap_or(0))
        })
        .collect();
    assert_eq!(found_gaps, [("Big  Co", "Ann", 3), ("Trip", "日本", 2)], "{gaps}");
    for (path, from, to) in [
        ("memory/ann.md", "type: note", "type: person"),
        ("memory/big--co.md", "Big Co", "Big Corp"),
    ] {
        let text = project.text(path);
        assert!(text.contains(from), "{text}");
        project.write(path, text.replace(from, to));
    }
    let opened = project.call("open_nodes", json!({"names": ["Ann", "Big Corp"]}));
    assert_eq!(all(&opened["entities"], "name"), ["Ann", "Big Corp"], "{opened}");
    assert_eq!(all(&opened["entities"], "entity_type"), ["person", "company"]);
}

#[test]
fn a_deleted_entity_goes_with_its_relations_and_its_note_is_kept() {
    let mut project = people();
    project.write(
        "plan.md",
        "- uses [[Analytical Engine]], [[Charles Babbage]]\n\nThe [[Analytical Engine]] is late.\n",
    );
    project.settle();
    relate(&mut project, "Charles Babbage", "designs", "Analytical Engine");
    let deleted = project
        .call("delete_entities", json!({"entity_names": ["analytical engine", "Nobody", "plan"]}));
    assert_eq!(deleted["deleted"], json!(["analytical engine"]));
    assert_eq!(deleted["not_found"], json!(["Nobody"]));
    assert_eq!(deleted["failed"][0]["code"], "refused");
    assert_eq!(deleted["removed_relations"].as_array().map(Vec::len), Some(2), "{deleted}");
    assert!(!project.at("memory/analytical-engine.md").exists());
    assert_eq!(
        project.text("plan.md"),
        "- uses [[Charles Babbage]]\n\nThe [[Analytical Engine]] is late.\n"
    );
    assert!(!project.text("memory/charles-babbage.md").contains("designs"));
    let kept = project
        .kgctl()
        .args(["--project"])
        .arg(project.root())
        .arg("restore")
        .output()
        .expect("runs");
    assert!(String::from_utf8_lossy(&kept.stdout).contains("memory/analytical-engine.md"));
    let report = project.call("get_consolidation_report", json!({}));
    assert_eq!(
        (&report["event_summary"]["creates"], &report["event_summary"]["deletes"]),
        (&json!(2), &json!(1))
    );
    // An entity that is created again starts from scratch.
    project.call("create_entities", json!({"entities": [{"name": "Analytical Engine", "entity_type": "machine", "observations": ["Again"]}]}));
    assert_eq!(facts(&mut project, "Analytical Engine"), ["1 Again"]);
}

#[test]
fn search_finds_by_meaning_by_words_and_by_name() {
    let mut project = people();
    project.call(
        "create_entities",
        json!({"entities": [
            {"name": "Rover", "entity_type": "dog", "observations": ["Barks at the postman every morning", "Sleeps on the sofa"]},
            {"name": "Kubernetes", "entity_type": "tool", "observations": ["Runs containers on a cluster", "Upgraded to 1.31 in May"]},
        ]}),
    );
    let found = project
        .call("search_nodes", json!({"query": "puppy noise towards mail carrier", "limit": 2}));
    assert_eq!(found["results"][0]["name"], "Rover", "{found}");
    assert_eq!(found["results"][0]["matched_observation"], "Barks at the postman every morning");
    assert_eq!(found["results"][0]["matched_perspective"], "general");
    let words = project.call("search_nodes", json!({"query": "containers", "mode": "text"}));
    assert_eq!(all(&words["results"], "name"), ["Kubernetes"]);
    assert_eq!(
        project.call("search_nodes", json!({"query": "puppy", "mode": "text"}))["results"],
        json!([])
    );
    let name = project.call("search_nodes", json!({"query": "analytical engine"}));
    assert_eq!(
        (&name["results"][0]["name"], &name["results"][0]["matched_perspective"]),
        (&json!("Analytical Engine"), &json!("name"))
    );
    let within = project
        .call("query_observations", json!({"entity_name": "Rover", "query": "where does he rest"}));
    assert_eq!(all(&within["results"], "content")[0], "Sleeps on the sofa", "{within}");
    let within = project.call(
        "query_observations",
        json!({"entity_name": "Rover", "query": "postman", "mode": "text"}),
    );
    assert_eq!(within["results"].as_array().map(Vec::len), Some(1), "{within}");
}

#[test]
fn search_shows_every_observation_that_fits_and_favors_the_time_of_a_question() {
    let mut project = TestProject::of(&[]);
    let turns = [
        "Ana (8 May 2023): I moved into the flat above the bakery",
        "Ben (8 May 2023): I started violin lessons on Tuesday",
        "Ana (9 May 2023): I keep the spare keys in the blue jar",
        "Ben (14 August 2023): The violin teacher moved to Lisbon",
        "Ana (15 August 2023): My sister adopted a greyhound",
        "Ana (16 August 2023): The second spare key is at the bakery",
    ];
    project.call(
        "create_entities",
        json!({"entities": [
            {"name": "Talks", "entity_type": "conversation", "observations": turns},
            {"name": "Harbor", "entity_type": "place", "observations": ["Has a lighthouse"]},
        ]}),
    );
    let found = project.call("search_nodes", json!({"query": "where are the spare keys?"}));
    let first = &found["results"][0];
    let mut contents = all(&first["observations"], "content");
    contents.truncate(2);
    contents.sort_unstable();
    assert_eq!(contents, [turns[5], turns[2]], "{found}");
    assert_eq!(first["matched_observation"], first["observations"][0]["content"]);
    assert_eq!(all(&found["entities"][0]["observations"], "content"), turns, "as they are stored");
    for (question, turn) in [("violin in May 2023", turns[1]), ("violin last August", turns[3])] {
        let found = project.call("search_nodes", json!({"query": question}));
        assert_eq!(found["results"][0]["matched_observation"], turn, "{found}");
    }
    let page = |project: &mut TestProject, page: u32| {
        project.call("search_nodes", json!({"query": "the bakery", "limit": 1, "page": page}))
    };
    let one = page(&mut project, 1);
    assert_eq!(
        (&one["results"][0]["name"], &one["next_page"]),
        (&json!("Talks"), &json!(2)),
        "{one}"
    );
    let two = page(&mut project, 2);
    assert_eq!(
        (&two["results"][0]["name"], &two["next_page"]),
        (&json!("Harbor"), &json!(null)),
        "{two}"
    );
}

#[test]
fn a_report_tells_pairs_clusters_orphans_and_drafts() {
    let mut project = TestProject::of(&[]);
    let entity = |name: &str, facts: &[&str]| json!({"name": name, "entity_type": "thing", "observations": facts});
    project.call(
        "create_entities",
        json!({"entities": [
            entity("Postgres backup", &["The database backup runs every night", "Backups of the database go to the vault"]),
            entity("Database dump", &["A dump of the database is made every night", "Database dumps are kept in the vault"]),
            entity("Sourdough", &["Bread dough rises for twelve hours", "Bake the bread in a hot oven"]),
            entity("Rye bread", &["Rye dough rises for ten hours", "Bake the rye bread in the oven"]),
        ]}),
    );
    let similar = project.call("find_similar_nodes", json!({"min_score": 0.6}));
    let pairs: Vec<_> = all(&similar["pairs"], "node_a")
        .into_iter()
        .zip(all(&similar["pairs"], "node_b"))
        .collect();
    assert!(
        pairs.contains(&("Database dump", "Postgres backup"))
            && pairs.contains(&("Rye bread", "Sourdough")),
        "{similar}"
    );
    assert_eq!(pairs.len(), 2, "{similar}");
    let report = project.call("get_consolidation_report", json!({"since": "1 hour"}));
    assert_eq!(report["stale_summaries"].as_array().map(Vec::len), Some(4));
    assert!(
        report["stale_summaries"][0]["draft_summary"]
            .as_str()
            .expect("a draft")
            .contains("database"),
        "{report}"
    );
    assert_eq!(report["orphaned_nodes"].as_array().map(Vec::len), Some(4));
    let clusters = report["cluster_summary"].as_array().expect("clusters");
    assert_eq!(clusters.len(), 2, "{report}");
    assert!(
        clusters[0]["centroid_label"].as_str().expect("a label").contains("database"),
        "{report}"
    );
    assert_eq!(report["event_summary"]["creates"], 4);
    relate(&mut project, "Rye bread", "resembles", "Sourdough");
    let similar = project.call("find_similar_nodes", json!({"min_score": 0.6}));
    assert_eq!(similar["pairs"].as_array().map(Vec::len), Some(1), "{similar}");
}

/// Parameters are accepted under the names that `@modelcontextprotocol/server-memory` uses.
#[test]
fn parameters_of_the_reference_server_are_taken() {
    let mut project = TestProject::of(&[]);
    let entities = json!([
        {"name": "Ada", "entityType": "person", "observations": ["writes programs"]},
        {"name": "Engine", "entityType": "machine", "observations": []},
    ]);
    let made = project.call("create_entities", json!({"entities": entities}));
    assert_eq!(all(&made["entities"], "name"), ["Ada", "Engine"]);
    let relation = json!([{"from": "Ada", "to": "Engine", "relationType": "programs"}]);
    assert_eq!(
        project.call("create_relations", json!({"relations": relation}))["created"]
            .as_array()
            .map(Vec::len),
        Some(1)
    );
    let added = json!({"observations": [{"entityName": "Ada", "contents": ["likes maths", "writes programs"]}]});
    assert_eq!(
        all(&project.call("add_observations", added)["results"][0]["added"], "content"),
        ["likes maths"]
    );
    let graph = project.call("read_graph", json!({}));
    assert_eq!(all(&graph["entities"], "name"), ["Ada", "Engine"]);
    assert_eq!(graph["relations"][0]["relation_type"], "programs");
    assert_eq!(project.call("search_nodes", json!({"query": "Ada"}))["results"][0]["name"], "Ada");
    let deletions = json!({"deletions": [{"entityName": "Ada", "observations": ["likes maths"]}]});
    assert_eq!(
        project.call("delete_observations", deletions)["results"][0]["deleted_ordinals"],
        json!([2])
    );
    assert_eq!(project.call("delete_relations", json!({"relations": relation}))["deleted"], 1);
    assert_eq!(
        project.call("delete_entities", json!({"entityNames": ["Ada"]}))["deleted"],
        json!(["Ada"])
    );
    assert_eq!(all(&project.call("read_graph", json!({}))["entities"], "name"), ["Engine"]);
}

#[test]
fn what_was_imported_from_the_reference_server_is_memory() {
    let mut project = TestProject::of(&[]);
    let file = project.scratch().join("memory.json");
    let lines = "{\"type\":\"entity\",\"name\":\"Ada\",\"entityType\":\"person\",\"observations\":[\"a *b* [c]\",\"two\\nlines\"]}\n";
    std::fs::write(&file, lines).expect("written");
    let done = project
        .kgctl()
        .arg("--project")
        .arg(project.root())
        .arg("import")
        .arg(&file)
        .output()
        .expect("runs");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    project.settle();
    assert_eq!(facts(&mut project, "Ada"), ["1 a *b* [c]", "2 two\nlines"]);
    project.call(
        "add_observations",
        json!({"observations": [{"entity_name": "Ada", "contents": ["three"]}]}),
    );
    assert_eq!(facts(&mut project, "Ada")[2], "3 three");
}

#[test]
fn a_rebuild_gives_the_same_memory() {
    let mut project = people();
    relate(&mut project, "Ada Lovelace", "works_with", "Charles Babbage");
    project.call("set_summary", json!({"name": "Ada Lovelace", "summary": "First."}));
    project.call(
        "delete_observations",
        json!({"deletions": [{"entity_name": "Ada Lovelace", "ordinals": [2]}]}),
    );
    project.settle();
    let verified = project.call("verify", json!({}));
    assert_eq!(verified["same"], true, "{verified}");
    let before = project.call(
        "open_nodes",
        json!({"names": ["Ada Lovelace", "Charles Babbage", "Analytical Engine"]}),
    );
    project.stop();
    let index = project.paths().index.clone();
    for ending in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{ending}", index.display()));
    }
    project.start();
    project.settle();
    let after = project.call(
        "open_nodes",
        json!({"names": ["Ada Lovelace", "Charles Babbage", "Analytical Engine"]}),
    );
    assert_eq!(
        (&after["entities"], &after["relations"]),
        (&before["entities"], &before["relations"])
    );
}

#[test]
fn a_read_only_project_offers_none_of_the_tools_that_write_and_an_agent_sees_its_sets_only() {
    let project =
        TestProject::of(&[("kg.yaml", "write: false\n"), ("a.md", "---\ntype: x\n---\n")]);
    let mut client = Client::admin(&project.paths().socket);
    let error = client.call("set_tags", json!({"name": "a", "tags": []})).expect_err("read-only");
    assert_eq!(error["code"], "read_only");
    assert_eq!(client.call("get_stats", json!({})).expect("reads")["node_count"], 1);
    let error = project.agent().call("get_stats", json!({})).expect_err("not of the set");
    assert!(error.to_string().contains("no tool is called `get_stats`"), "{error}");
}
