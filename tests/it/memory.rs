//! Memory (S1), as an agent sees it. It runs `kg-mcp --tools core,memory` and types:
//!
//! ```text
//! create_entities  {"entities": [{"name": "Ada Lovelace", "entity_type": "person",
//!                    "observations": ["Wrote the first program", "Lives in London"], "tags": ["history"]}]}
//!   created Ada Lovelace (person, memory/ada-lovelace.md)
//! add_observations {"observations": [{"entity_name": "ada lovelace", "contents": ["Likes poetry"]}]}
//!   Ada Lovelace: ^o3 Likes poetry
//! create_relations {"relations": [{"from_entity": "Ada Lovelace", "to_entity": "Charles Babbage",
//!                    "relation_type": "works_with"}]}
//! open_nodes       {"names": ["Ada Lovelace"]}        everything about her, observations in the order of their numbers
//! search_nodes     {"query": "who enjoys verse"}      the observation that fits best, of each entity
//! ```
//!
//! A person who opens `memory/ada-lovelace.md` sees:
//!
//! ```markdown
//! ---
//! title: Ada Lovelace
//! type: person
//! tags:
//!   - history
//! ---
//!
//! # Ada Lovelace
//!
//! - Wrote the first program ^o1
//! - Lives in London ^o2
//! - Likes poetry ^o3
//!
//! - works_with [[Charles Babbage]]
//! ```
//!
//! and edits it like any note: an added line is an observation (it gets the next number, which the
//! next tool that writes there saves), a removed line is forgotten, and no number is used twice.
//! Two agents that write at the same time lose nothing. A batch is processed entity by entity, each
//! completely or not at all; what failed is listed in `failed` (or next to the item) with a code
//! and a hint.

mod graph;
mod search;
mod starts;

use serde_json::{Value, json};
use tests::{Client, TestProject, all};

/// Returns `1 text` for every observation of an entity.
fn facts(project: &mut TestProject, name: &str) -> Vec<String> {
    let opened = project.call("open_nodes", json!({"names": [name]}));
    let facts = opened["entities"][0]["observations"].as_array().expect("an entity").clone();
    facts
        .iter()
        .map(|it| format!("{} {}", it["ordinal"], it["content"].as_str().unwrap_or("?")))
        .collect()
}

fn code(project: &mut TestProject, tool: &str, arguments: Value) -> String {
    let error = project.try_call(tool, arguments).expect_err("refused");
    error["code"].as_str().unwrap_or_default().to_string()
}

/// Creates a project with Ada, Charles and an engine.
fn people() -> TestProject {
    let mut project = TestProject::of(&[]);
    let made = project.call(
        "create_entities",
        json!({"entities": [
            {"name": "Ada Lovelace", "entity_type": "person", "tags": ["history"],
             "observations": ["Wrote the first program", "Lives in London"]},
            {"name": "Charles Babbage", "entity_type": "person", "observations": ["Designs engines of brass"]},
            {"name": "Analytical Engine", "entity_type": "machine", "summary": "Never built."},
        ]}),
    );
    assert_eq!(
        all(&made["entities"], "name"),
        ["Ada Lovelace", "Charles Babbage", "Analytical Engine"]
    );
    project
}

fn relate(project: &mut TestProject, from: &str, relation: &str, to: &str) -> Value {
    let it = json!({"from_entity": from, "to_entity": to, "relation_type": relation});
    project.call("create_relations", json!({"relations": [it]}))
}

#[test]
fn an_entity_is_a_note_that_people_can_read() {
    let mut project = people();
    let added = json!({"observations": [{"entity_name": "ada lovelace", "contents": ["Likes poetry", "Lives in London"]}]});
    let added = project.call("add_observations", added);
    assert_eq!(added["results"][0]["added"], json!([{"ordinal": 3, "content": "Likes poetry"}]));
    assert_eq!(
        added["results"][0]["existing"],
        json!([{"ordinal": 2, "content": "Lives in London"}])
    );
    let related = relate(&mut project, "Ada Lovelace", "works_with", "Charles Babbage");
    assert_eq!(related["created"][0]["to"], "Charles Babbage");
    assert_eq!(
        project.text("memory/ada-lovelace.md"),
        "---\ntitle: Ada Lovelace\ntype: person\ntags:\n  - history\n---\n\n# Ada Lovelace\n\n\
         - Wrote the first program ^o1\n- Lives in London ^o2\n- Likes poetry ^o3\n\n- works_with [[Charles Babbage]]\n"
    );
    let opened = project.call("open_nodes", json!({"names": ["Ada Lovelace", "Nobody"]}));
    let ada = &opened["entities"][0];
    assert_eq!((&ada["entity_type"], &ada["tags"]), (&json!("person"), &json!(["history"])));
    assert_eq!(
        all(&ada["observations"], "content"),
        ["Wrote the first program", "Lives in London", "Likes poetry"]
    );
    assert_eq!(opened["not_found"], json!(["Nobody"]));
    let relation =
        json!({"from": "Ada Lovelace", "to": "Charles Babbage", "relation_type": "works_with"});
    assert_eq!(opened["relations"], json!([relation]));
    assert!(ada["created_at"].as_str() <= ada["updated_at"].as_str(), "{ada}");
    // From the other end it is the same relation, and the other tools see the same note.
    assert_eq!(
        project.call("open_nodes", json!({"names": ["charles babbage"]}))["relations"],
        json!([relation])
    );
    let context = project.call("build_context", json!({"path": "memory://ada-lovelace"}));
    assert_eq!(context["notes"][0]["relations"][0]["to_path"], "memory/charles-babbage.md");
}

#[test]
fn what_is_there_already_is_not_made_again_and_bad_items_do_not_stop_the_others() {
    let mut project = people();
    project.write(
        "people/Grace.md",
        "---\ntype: person\naliases: [Amazing Grace]\n---\n- Wrote a compiler ^o4\n",
    );
    project.settle();
    let made = project.call(
        "create_entities",
        json!({"entities": [
            {"name": "ADA LOVELACE", "entity_type": "robot"},
            {"name": "grace", "entity_type": "person"},
            {"name": " ", "entity_type": "person"},
            {"name": "Bad tag", "entity_type": "x", "tags": ["a b, c"]},
            {"name": "C++", "entity_type": "language", "observations": ["[x] done", "see [[Ada]]", "a\n\n- b", "knows [[Ada]]"]},
            {"name": "C", "entity_type": "language"},
            {"name": "a/b", "entity_type": "path"},
            {"name": "a:b", "entity_type": "path"},
            {"name": "No type"},
            7,
        ]}),
    );
    assert_eq!(all(&made["existing"], "name"), ["Ada Lovelace", "Grace"]);
    assert!(all(&made["failed"], "code").iter().all(|it| *it == "invalid_params"), "{made}");
    let untyped =
        made["failed"].as_array().expect("rows").iter().find(|it| it["name"] == "No type");
    assert_eq!(untyped.expect("told")["message"], "missing field `entity_type`");
    assert_eq!(
        code(&mut project, "create_entities", json!({"entities": [{"name": "x"}]})),
        "invalid_params"
    );
    let added = project.call(
        "add_observations",
        json!({"observations": [{"entity_name": "grace"}, {"entity_name": "grace", "contents": []}]}),
    );
    assert_eq!(added["results"][0]["error"]["message"], "missing field `contents`", "{added}");
    let related = project.call(
        "create_relations",
        json!({"relations": [{"from": "C++"}, {"from": "C++", "to": "C", "relationType": "extends"}]}),
    );
    assert_eq!(all(&related["created"], "to"), ["C"], "{related}");
    assert_eq!(all(&related["failed"], "name"), ["C++"]);
    let names = all(&made["entities"], "name");
    assert!(names.ends_with(&["C++", "C", "a/b", "a:b"]), "{made}");
    // A note with that name that is not an entity yet becomes one; its content stays.
    project.write(
        "Ideas/Kite.md",
        "---\ntags: [toy]\n---\nIt flies.\n\n- [ ] buy one\n- fast\n- plain two\n",
    );
    project.settle();
    let kite = json!({"entities": [{"name": "Kite", "entity_type": "thing", "summary": "A toy that flies.",
        "tags": ["toy", "wind"], "observations": ["needs wind", "fast"]}]});
    let made = project.call("create_entities", kite.clone());
    assert_eq!(made["entities"][0]["path"], "Ideas/Kite.md", "{made}");
    assert_eq!(made["entities"][0]["was_note"], true);
    // Also by the heading that a note is shown by.
    project.write("n1.md", "# Blue Heron\n\nIt wades.\n");
    project.settle();
    let heron = json!({"entities": [{"name": "Blue Heron", "entity_type": "bird"}]});
    let made = project.call("create_entities", heron);
    assert_eq!(made["entities"][0]["path"], "n1.md", "{made}");
    assert_eq!(made["entities"][0]["was_note"], true);
    let text = project.text("Ideas/Kite.md");
    assert!(text.contains("type: thing") && text.contains("tags: [toy, wind]"), "{text}");
    // New text comes after the list, not in it.
    let body = "It flies.\n\n- [ ] buy one\n- fast ^o2\n- plain two\n- needs wind ^o1\n";
    assert!(text.contains(body), "{text}");
    let things = project.call("get_nodes_by_type", json!({"entity_type": "thing"}));
    assert_eq!(things["nodes"][0]["summary"], "A toy that flies.", "{things}");
    let found = project.call("search_nodes", json!({"query": "wind", "mode": "text"}));
    assert_eq!(all(&found["results"], "name"), ["Kite"], "{found}");
    assert_eq!(all(&project.call("create_entities", kite)["existing"], "name"), ["Kite"]);
    assert_eq!(
        facts(&mut project, "C++"),
        ["1 [x] done", "2 see [[Ada]]", "3 a\n\n- b", "4 knows [[Ada]]"]
    );
    let opened = project.call(
        "open_nodes",
        json!({"names": ["C", "a/b", "a:b", "Amazing Grace", "people/Grace.md"]}),
    );
    assert_eq!(all(&opened["entities"], "name"), ["C", "a/b", "a:b", "Grace"]);
    assert_eq!(opened["entities"][3]["observations"][0]["ordinal"], 4);
    // If two notes have one name, the tool does not choose.
    project.write("more/Ada Lovelace.md", "Another one.\n");
    project.settle();
    assert_eq!(
        code(&mut project, "set_tags", json!({"name": "Ada Lovelace", "tags": ["x"]})),
        "ambiguous"
    );
    let opened = project.call("open_nodes", json!({"names": ["Ada Lovelace"]}));
    assert_eq!(opened["failed"][0]["code"], "ambiguous");
    assert!(
        opened["failed"][0]["hint"].as_str().expect("paths").contains("`more/Ada Lovelace.md`"),
        "{opened}"
    );
    project.call("set_tags", json!({"name": "memory/ada-lovelace.md", "tags": ["x"]}));
}

#[test]
fn a_number_is_not_given_twice_while_its_note_is_there() {
    let mut project = people();
    let add = |project: &mut TestProject, text: &str| {
        let reply = project.call(
            "add_observations",
            json!({"observations": [{"entity_name": "Ada Lovelace", "contents": [text]}]}),
        );
        reply["results"][0]["added"][0]["ordinal"].as_u64().expect("a number")
    };
    assert_eq!(add(&mut project, "third"), 3);
    let deletions = json!({"deletions": [{"entity_name": "Ada Lovelace", "ordinals": [1, 3, 9]}, {"entity_name": "Nobody", "ordinals": [1]}]});
    let deleted = project.call("delete_observations", deletions);
    assert_eq!(deleted["results"][0]["deleted_ordinals"], json!([1, 3]));
    assert_eq!(deleted["results"][0]["not_found_ordinals"], json!([9]));
    assert_eq!(deleted["results"][1]["not_found"], true);
    // An unknown name and an empty request are reported.
    let deletions = json!({"deletions": [{"entity_name": "Ada Lovelace", "observations": ["Never said"]},
        {"entity_name": "Ada Lovelace"}]});
    let deleted = project.call("delete_observations", deletions);
    assert_eq!(deleted["results"][0]["not_found_observations"], json!(["Never said"]), "{deleted}");
    assert_eq!(deleted["results"][1]["error"]["code"], "invalid_params", "{deleted}");
    assert_eq!(add(&mut project, "fourth"), 4);
    // The number stays used even if a person removes the last line and the counter in the
    // frontmatter.
    let text = project
        .text("memory/ada-lovelace.md")
        .replace("- fourth ^o4\n", "")
        .replace("last_ordinal: 3\n", "");
    project.write("memory/ada-lovelace.md", &text);
    project.settle();
    assert_eq!(add(&mut project, "fifth"), 5);
    let replaced =
        json!({"entity_name": "Ada Lovelace", "ordinal": 2, "new_content": "Lives in Marylebone"});
    let replaced = project.call("replace_observation", replaced);
    assert_eq!(
        (&replaced["old_content"], &replaced["ordinal"]),
        (&json!("Lives in London"), &json!(2))
    );
    assert_eq!(facts(&mut project, "Ada Lovelace"), ["2 Lives in Marylebone", "5 fifth"]);
    let missing = json!({"entity_name": "Ada Lovelace", "ordinal": 1, "new_content": "x"});
    assert_eq!(code(&mut project, "replace_observation", missing), "not_found");
    let empty = json!({"entity_name": "Ada Lovelace", "ordinal": 2, "new_content": " "});
    assert_eq!(code(&mut project, "replace_observation", empty), "invalid_params");

    // Text that a person put below an observation is deleted with it and reported; its number stays
    // used.
    project.write(
        "memory/tree.md",
        "---\ntype: plant\n---\n- trunk ^o3\n  - bough ^o9\n    is thick\n- root ^o2\n",
    );
    project.settle();
    let deletions = json!({"deletions": [{"entity_name": "tree", "ordinals": [3]}]});
    let deleted = project.call("delete_observations", deletions);
    assert_eq!(
        deleted["results"][0]["deleted_below"],
        json!(["- bough ^o9", "is thick"]),
        "{deleted}"
    );
    assert!(project.text("memory/tree.md").contains("last_ordinal: 9\n"));

    // A secret is refused whichever tool brings it; the rest of the batch is stored.
    let before = project.text("memory/ada-lovelace.md");
    let token = format!("Her token is ghp_{}", "aB3dE6gH9".repeat(4));
    let made = json!({"entities": [{"name": "Leak", "entity_type": "person", "observations": [token]},
        {"name": "Safe", "entity_type": "person"}]});
    let made = project.call("create_entities", made);
    assert_eq!(all(&made["failed"], "code"), ["refused"], "{made}");
    assert!(made.to_string().contains("nothing was written"), "{made}");
    assert_eq!(all(&made["entities"], "name"), ["Safe"]);
    assert!(!project.at("memory/leak.md").exists());
    let added = json!({"observations": [{"entity_name": "Ada Lovelace", "contents": [token]}]});
    let added = project.call("add_observations", added);
    assert_eq!(added["results"][0]["error"]["code"], "refused", "{added}");
    let replaced = json!({"entity_name": "Ada Lovelace", "ordinal": 2, "new_content": token});
    assert_eq!(code(&mut project, "replace_observation", replaced), "refused");
    let tags = json!({"name": "Ada Lovelace", "tags": [token]});
    assert_eq!(code(&mut project, "set_tags", tags), "refused");
    let summary = json!({"name": "Ada Lovelace", "summary": token});
    assert_eq!(code(&mut project, "set_summary", summary), "refused");
    assert_eq!(project.text("memory/ada-lovelace.md"), before);
}

#[test]
fn what_a_person_writes_by_hand_counts() {
    let mut project = people();
    let by_hand = "---\ntype: person\ntitle: Ada Lovelace\n---\nShe is *good*.\n\n* Lives in London ^o2\n* By hand\n* studies [[Analytical Engine]]\n* Wrote the first program ^o1\n";
    project.write("memory/ada-lovelace.md", by_hand);
    project.settle();
    assert_eq!(
        facts(&mut project, "Ada Lovelace"),
        ["1 Wrote the first program", "2 Lives in London", "3 By hand"]
    );
    // Reading saved no numbers; the next tool that writes does.
    assert_eq!(project.text("memory/ada-lovelace.md"), by_hand);
    let path = project
        .call("get_path", json!({"from_entity": "Ada Lovelace", "to_entity": "Analytical Engine"}));
    assert_eq!(path["path"], json!(["Ada Lovelace", "Analytical Engine"]));
    project.call(
        "add_observations",
        json!({"observations": [{"entity_name": "Ada Lovelace", "contents": ["New"]}]}),
    );
    assert_eq!(
        project.text("memory/ada-lovelace.md"),
        by_hand
            .replace("By hand\n", "By hand ^o3\n")
            .replace("program ^o1\n", "program ^o1\n* New ^o4\n")
    );
}

#[test]
fn what_a_person_did_a_moment_ago_counts_for_the_next_tool() {
    let mut project = TestProject::empty();
    // The watcher would report the change too late.
    project.set("watch.debounce_ms=5000");
    project.start();
    let wren = json!({"name": "Wren", "entity_type": "bird", "observations": ["Sings"]});
    let wren = json!({"entities": [wren, {"name": "Robin", "entity_type": "bird"}]});
    project.call("create_entities", wren.clone());
    // Changed: every read sees it.
    let text = project.text("memory/wren.md");
    project.write("memory/wren.md", text.replace("Sings", "Sings at dawn"));
    assert_eq!(facts(&mut project, "Wren"), ["1 Sings at dawn"]);
    project.write("memory/wren.md", text.replace("Sings", "Nests in walls"));
    let found = project.call("search_nodes", json!({"query": "walls", "mode": "text"}));
    assert_eq!(all(&found["results"], "name"), ["Wren"], "{found}");
    project.write("memory/owl.md", "---\ntitle: Owl\ntype: bird\n---\n- Hunts\n");
    let birds = project.call("get_nodes_by_type", json!({"entity_type": "bird"}));
    assert_eq!(all(&birds["nodes"], "name"), ["Owl", "Robin", "Wren"]);
    // Moved: the note is found at its new path.
    project.rename("memory/wren.md", "memory/birds/wren.md");
    let added = json!({"observations": [{"entity_name": "Wren", "contents": ["Small"]}]});
    let added = project.call("add_observations", added);
    assert_eq!(added["results"][0]["added"][0]["ordinal"], 2, "{added}");
    assert!(project.text("memory/birds/wren.md").contains("- Small ^o2"));
    // Removed: nothing leads there, and the entity can be created again.
    project.remove("memory/birds/wren.md");
    let related = relate(&mut project, "Robin", "knows", "Wren");
    assert_eq!(related["not_found"], json!(["Wren"]), "{related}");
    let made = project.call("create_entities", wren);
    assert_eq!(all(&made["entities"], "name"), ["Wren"], "{made}");
    assert_eq!(all(&made["existing"], "name"), ["Robin"]);
    assert!(project.at("memory/wren.md").exists());
    // The history lists who did what, the newest first, also for deleted entities.
    project.call("delete_entities", json!({"entity_names": ["Robin"]}));
    let report = project.call("memory_report", json!({"history": 10, "entity": "robin"}));
    assert_eq!(all(&report["history"], "tool"), ["delete_entities"], "{report}");
    let report = project.call("memory_report", json!({"history": 2}));
    assert_eq!(all(&report["history"], "name"), ["Robin", "Wren"], "{report}");
    assert!(all(&report["history"], "client").iter().all(|it| !it.is_empty()), "{report}");
    // It also lists what the note tools do to entities.
    let text = json!({"path": "memory/wren.md", "content_updates": "- Brown"});
    project.call("edit_note", text);
    project.call("move_note", json!({"path": "memory/wren.md", "destination": "memory/little/"}));
    let report = project.call("memory_report", json!({"history": 2, "entity": "wren"}));
    assert_eq!(all(&report["history"], "tool"), ["move_note", "edit_note"], "{report}");
    project.call("delete_note", json!({"path": "memory/little/wren.md"}));
    let report = project.call("memory_report", json!({"history": 1, "entity": "wren"}));
    assert_eq!(all(&report["history"], "tool"), ["delete_note"], "{report}");
}

#[test]
fn two_agents_that_write_at_once_lose_nothing() {
    let project = people();
    let socket = project.paths().socket.clone();
    std::thread::scope(|scope| {
        for agent in 0..4 {
            let socket = &socket;
            scope.spawn(move || {
                let mut client = Client::admin(socket);
                for n in 0..10 {
                    let contents = [format!("agent {agent} says {n}")];
                    let item = json!({"entity_name": "Ada Lovelace", "contents": contents});
                    let reply = client.call("add_observations", json!({"observations": [item]})).expect("added");
                    assert_eq!(reply["results"][0]["added"].as_array().map(Vec::len), Some(1), "{reply}");
                    let entity = json!({"name": format!("Thing {n}"), "entity_type": "thing", "observations": [format!("from {agent}")]});
                    client.call("create_entities", json!({"entities": [entity]})).expect("made or there");
                }
            });
        }
    });
    let mut project = project;
    let facts = facts(&mut project, "Ada Lovelace");
    assert_eq!(facts.len(), 42, "{facts:?}");
    let ordinals: std::collections::BTreeSet<&str> =
        facts.iter().filter_map(|it| it.split(' ').next()).collect();
    assert_eq!(ordinals.len(), 42);
    let things = project.call("get_nodes_by_type", json!({"entity_type": "THING"}));
    assert_eq!(things["nodes"].as_array().map(Vec::len), Some(10), "{things}");
}

#[test]
fn summary_tags_types_and_recent_changes() {
    let mut project = people();
    let set = project.call(
        "set_summary",
        json!({"name": "Ada Lovelace", "summary": "A mathematician: the first."}),
    );
    assert_eq!(set["summary"], "A mathematician: the first.");
    project
        .call("set_tags", json!({"name": "Ada Lovelace", "tags": ["#maths", "poetry", "maths"]}));
    let people = project.call("get_nodes_by_type", json!({"entity_type": "person"}));
    assert_eq!(all(&people["nodes"], "name"), ["Ada Lovelace", "Charles Babbage"]);
    assert_eq!(people["nodes"][0]["tags"], json!(["maths", "poetry"]));
    assert_eq!(people["nodes"][0]["summary"], "A mathematician: the first.");
    let recent = project.call("get_recently_modified", json!({"limit": 1}));
    assert_eq!(all(&recent["nodes"], "name"), ["Ada Lovelace"]);
    let pending = project.call("get_pending_consolidation", json!({}));
    assert_eq!(all(&pending["nodes"], "name"), ["Charles Babbage"]);
    project.call(
        "add_observations",
        json!({"observations": [{"entity_name": "Ada Lovelace", "contents": ["New"]}]}),
    );
    let pending = project.call("get_pending_consolidation", json!({}));
    assert_eq!(all(&pending["nodes"], "name"), ["Ada Lovelace", "Charles Babbage"]);
    assert!(pending["nodes"][0]["summary_updated_at"].is_string(), "{pending}");
    // A summary is as old as the call that set it; one written by hand is older than the last write
    // of a tool. A change of neither facts nor summary makes nothing stale.
    let entity = json!({"name": "Mars", "entity_type": "planet", "summary": "Red.", "observations": ["cold"]});
    project.call("create_entities", json!({"entities": [entity]}));
    let front = |name: &str, summary: &str| {
        format!("---\ntitle: {name}\ntype: planet\n{summary}---\n- round\n- orbits [[Sun]]\n")
    };
    project.write("memory/venus.md", front("Venus", "summary: Hot.\n"));
    project.write("memory/pluto.md", front("Pluto", ""));
    project.write("memory/sun.md", "---\ntype: star\n---\n");
    project.settle();
    project.call("set_summary", json!({"name": "Pluto", "summary": "Small."}));
    project.call("set_tags", json!({"name": "Pluto", "tags": ["far"]}));
    let retyped = json!({"from_entity": "Pluto", "to_entity": "Sun", "old_type": "orbits", "new_type": "circles"});
    project.call("update_relation_type", retyped);
    let planets = |project: &mut TestProject| {
        let pending = project.call("get_pending_consolidation", json!({}));
        let names = all(&pending["nodes"], "name").into_iter().map(String::from);
        names.filter(|it| ["Mars", "Venus", "Pluto"].contains(&it.as_str())).collect::<Vec<_>>()
    };
    assert!(planets(&mut project).is_empty());
    let hot = json!({"observations": [{"entity_name": "Venus", "contents": ["hot"]}]});
    project.call("add_observations", hot);
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(60);
    let mars = std::fs::OpenOptions::new().append(true).open(project.at("memory/mars.md"));
    std::io::Write::write_all(&mut mars.as_ref().expect("opens"), b"- dry\n").expect("written");
    mars.expect("opens").set_modified(later).expect("set");
    project.settle();
    assert_eq!(planets(&mut project), ["Mars", "Venus"]);
    project.call("delete_entities", json!({"entity_names": ["Mars", "Venus", "Pluto", "sun"]}));
    let stats = project.call("get_stats", json!({}));
    assert_eq!((&stats["node_count"], &stats["observation_count"]), (&json!(3), &json!(4)));
    assert_eq!(stats["embedding_coverage"], 1.0);
    for (tool, arguments, expected) in [
        ("set_tags", json!({"name": "Ada Lovelace", "tags": ["two words"]}), "invalid_params"),
        ("set_summary", json!({"name": "Nobody", "summary": "x"}), "not_found"),
        ("get_recently_modified", json!({"limit": 0}), "invalid_params"),
        ("create_entities", json!({}), "invalid_params"),
        ("query_observations", json!({"entity_name": "Nobody", "query": "x"}), "not_found"),
        ("search_nodes", json!({"query": " "}), "invalid_params"),
        ("get_neighborhood", json!({"name": "Ada Lovelace", "depth": 9}), "invalid_params"),
        ("find_similar_nodes", json!({"min_score": 3}), "invalid_params"),
        ("get_consolidation_report", json!({"since": "soon"}), "invalid_params"),
    ] {
        assert_eq!(code(&mut project, tool, arguments), expected, "{tool}");
    }
}

#[test]
fn an_entity_with_a_tag_that_is_none_is_not_made_and_named_once() {
    let mut project = TestProject::of(&[]);
    let entity = json!({"name": "Nora", "entity_type": "person", "observations": ["Knits"], "tags": ["crew lead", "#deck", "a,b"]});
    let reply = project.call("create_entities", json!({"entities": [entity]}));
    assert_eq!(all(&reply["entities"], "name"), [""; 0], "{reply}");
    assert_eq!(all(&reply["failed"], "name"), ["Nora"], "{reply}");
    assert!(
        reply["failed"][0]["message"].as_str().is_some_and(|it| it.contains("`crew lead`")),
        "{reply}"
    );
    let opened = project.call("open_nodes", json!({"names": ["Nora"]}));
    assert_eq!(opened["not_found"], json!(["Nora"]), "{opened}");
}
