//! `connect`: how two entities are related; and all tools see the same graph.

use expect_test::expect;
use serde_json::{Value, json};
use tests::TestProject;

use super::determinism::corpus;

const NOTES: &[(&str, &str)] = &[
    (
        "docs/alpha.md",
        "---\ntitle: Alpha\ntype: Service\ndate: 2026-03-01\n---\nAlpha is the gate of the harbor.\n\n\
         Alpha uses Beta for every event that it sends.\n",
    ),
    (
        "docs/beta.md",
        "---\ntitle: Beta\ntype: Service\ndate: 2026-04-02\n---\nBeta keeps events.\n\n\
         Beta is part of Gamma, which has four services.\n",
    ),
    (
        "docs/gamma.md",
        "---\ntitle: Gamma\ntype: Service\ndate: 2026-01-05\n---\nGamma is a platform.\n",
    ),
    (
        "docs/delta.md",
        "---\ntitle: Delta\ntype: Service\ndate: 2026-01-06\n---\nIt stands alone.\n",
    ),
    (
        "plans.md",
        "---\ndate: 2026-05-09\n---\nOn Mondays the people of Delta have lunch; now and then Gamma is at the table.\n",
    ),
];

/// Returns the text that an agent sees, without the last line, which has the tick.
fn text(project: &mut TestProject, arguments: Value) -> String {
    let reply = project.agent().call_whole("connect", arguments).expect("a reply");
    let text = reply["content"][0]["text"].as_str().expect("text").trim_end();
    text.rsplit_once('\n').expect("two lines").0.to_string()
}

#[test]
fn paths_are_told_with_sentence_place_and_date() {
    let mut project = TestProject::of(NOTES);
    let shown = text(&mut project, json!({"a": "Alpha", "b": "Gamma"}));
    expect![[r#"
        Alpha → Gamma: 1 path
        1. Alpha uses Beta — “Alpha uses Beta for every event that it sends.” (docs/alpha.md:8, 2026-03-01)
           Beta part_of Gamma — “Beta is part of Gamma, which has four services.” (docs/beta.md:8, 2026-04-02)  (.43)"#]].assert_eq(&shown);
    let back = text(&mut project, json!({"a": "docs/gamma.md", "b": "alpha"}));
    expect![[r#"
        Gamma → Alpha: 1 path
        1. Beta part_of Gamma — “Beta is part of Gamma, which has four services.” (docs/beta.md:8, 2026-04-02)
           Alpha uses Beta — “Alpha uses Beta for every event that it sends.” (docs/alpha.md:8, 2026-03-01)  (.43)"#]].assert_eq(&back);
}

#[test]
fn where_nothing_joins_two_things_passages_that_mention_both_are_told() {
    let mut project = TestProject::of(NOTES);
    let shown = text(&mut project, json!({"a": "Alpha", "b": "Gamma", "max_hops": 1}));
    expect![[r#"
        Alpha → Gamma: no path within 1 hop
        related to each:
          Alpha uses Beta — “Alpha uses Beta for every event that it sends.” (docs/alpha.md:8, 2026-03-01)
          Beta part_of Gamma — “Beta is part of Gamma, which has four services.” (docs/beta.md:8, 2026-04-02)"#]].assert_eq(&shown);
    let shown = text(&mut project, json!({"a": "Delta", "b": "Gamma"}));
    expect![[r#"
        Delta → Gamma: no path within 4 hops
        mentioned together, which is much weaker than a relation:
          “On Mondays the people of Delta have lunch; now and then Gamma is at the table.” (plans.md:4, 2026-05-09)
        related to each:
          Beta part_of Gamma — “Beta is part of Gamma, which has four services.” (docs/beta.md:8, 2026-04-02)"#]].assert_eq(&shown);
}

#[test]
fn a_rejected_relation_joins_nothing() {
    let mut project = TestProject::of(NOTES);
    let listed = project.call("review_links", json!({"below": 1.0, "limit": 50}));
    let items = listed["items"].as_array().expect("items");
    let uses = items.iter().find(|it| it["claim"] == "`Alpha` uses `Beta`").expect("the relation");
    project.call("review_links", json!({"reject": [uses["key"]]}));
    let found = project.call("connect", json!({"a": "Alpha", "b": "Gamma"}));
    assert_eq!(found["paths"], json!([]));
    let path = project.call("get_path", json!({"from_entity": "Alpha", "to_entity": "Gamma"}));
    assert_eq!(path["found"], false);
}

#[test]
fn names_that_mean_nothing_or_several_things_are_refused_with_candidates() {
    let mut project = TestProject::of(&[
        ("web/README.md", "The web.\n"),
        ("api/README.md", "The interface.\n"),
        ("Harbor Gateway.md", "A gate.\n"),
    ]);
    let mut refused = |a: &str, b: &str| {
        let error = project.try_call("connect", json!({"a": a, "b": b})).expect_err("refused");
        format!("{}: {}\n  {}\n", error["code"], error["message"], error["hint"])
    };
    let mut shown = refused("Harbor Gateway", "README");
    shown += &refused("Harbour Gatewey", "Harbor Gateway");
    shown += &refused("Harbor Gateway", "Harbor Gateway.md");
    let ids = without_ids(&shown);
    expect![[r#"
        "ambiguous": "`README` names 2 notes: # (api/README.md), # (web/README.md)"
          "call again with one of these as `b`"
        "not_found": "no entity is called `Harbour Gatewey`"
          "nearest: Harbor Gateway"
        "invalid_params": "`a` and `b` are the same thing"
          "`explain_entity` shows what it is related to"
    "#]]
    .assert_eq(&ids);
}

/// Replaces ids of entities with `#`: they depend on uids, which are random.
fn without_ids(text: &str) -> String {
    let mut out = String::new();
    let mut digits = String::new();
    for c in text.chars().chain(['\0']) {
        if c.is_ascii_digit() {
            digits.push(c);
            continue;
        }
        out += if digits.len() > 4 { "#" } else { &digits };
        digits.clear();
        if c != '\0' {
            out.push(c);
        }
    }
    out
}

#[test]
fn what_explain_entity_shows_every_path_finds() {
    let files = corpus();
    let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let mut project = TestProject::of(&files);
    let graph = project.dump();
    let mut ids: Vec<i64> =
        graph.rows("relation").filter_map(|it| it["subject_id"].as_i64()).collect();
    ids.dedup();
    let mut n_checked = 0;
    for id in ids.into_iter().step_by(3).take(24) {
        let explained = project.call("explain_entity", json!({"entity_id": id, "limit": 30}));
        for it in explained["relations"].as_array().expect("relations") {
            let ends =
                json!({"a": it["subject_id"], "b": it["object_id"], "max_hops": 1, "limit": 1});
            let found = project.call("connect", ends);
            let steps = found["paths"][0]["steps"].as_array().cloned().unwrap_or_default();
            let same = |step: &&Value| {
                ["subject_id", "predicate", "object_id", "confidence"]
                    .iter()
                    .all(|key| step[key] == it[key])
            };
            let step = steps.iter().find(same);
            let step = step.unwrap_or_else(|| panic!("{it}\nnot in\n{found}"));
            assert!(step["evidence"][0]["date"].is_string(), "{step}");
            let place = |name: &str, path: &str| it.get(path).unwrap_or(&it[name]).clone();
            let ends = json!({
                "from_entity": place("subject", "subject_path"), "to_entity": place("object", "object_path"),
            });
            let path = project.call("get_path", ends);
            assert_eq!(path["path"].as_array().map(Vec::len), Some(2), "{it}\n{path}");
            n_checked += 1;
        }
    }
    assert!(n_checked > 20, "{n_checked}");
}

#[test]
fn notes_memory_and_entries_are_one_graph() {
    let mut project = TestProject::of(&[(
        "runbook.md",
        "# Runbook\n\nThe Tide Clock uses the Harbor Gateway for every reading.\n",
    )]);
    let entities = json!({"entities": [
        {"name": "Ada Lovelace", "entity_type": "person"},
        {"name": "Tide Clock", "entity_type": "service"},
        {"name": "Harbor Gateway", "entity_type": "service"},
    ]});
    project.call("create_entities", entities);
    let relation = json!({"from_entity": "Ada Lovelace", "to_entity": "Tide Clock", "relation_type": "takes care of"});
    project.call("create_relations", json!({"relations": [relation]}));
    let entry = json!({
        "short_title": "Clock", "knowledge_details": "It is slow.", "hints": {"person": "Ada Lovelace"},
    });
    let stored = project.call("kb_store", entry);
    let id = stored["entry_id"].as_str().unwrap_or("kb-00001").to_string();
    let other = json!({"short_title": "Gate", "knowledge_details": "It is blue.", "hints": {"tool": "Harbor Gateway"}});
    project.call("kb_store", other);
    project.settle();
    // From an entry through a person in memory to a statement of a document.
    let found = project.call("connect", json!({"a": id, "b": "Harbor Gateway"}));
    let steps = found["paths"][0]["steps"].as_array().expect("a path").iter();
    let steps: Vec<String> =
        steps.map(|it| format!("{} {}", it["predicate"], it["evidence"][0]["path"])).collect();
    expect![[r#"
        "mentions_person" "kb/kb-00001-clock.md"
        "takes_care_of" "memory/ada-lovelace.md"
        "uses" "runbook.md""#]]
    .assert_eq(&steps.join("\n"));
    let question = json!({
        "question": "how?", "strategy": "connection", "scope": id, "target": "tool:harbor-gateway",
    });
    let answer = project.call("kb_ask", question);
    let steps = answer["path"].as_array().expect("a path").iter();
    let steps: Vec<String> =
        steps.map(|it| format!("{} {} {}", it["from"], it["edge"], it["to"])).collect();
    expect![[r#"
        "kb-00001" "mentions_person" "Ada Lovelace"
        "Ada Lovelace" "takes_care_of" "Tide Clock"
        "Tide Clock" "uses" "Harbor Gateway""#]]
    .assert_eq(&steps.join("\n"));
    let ends = json!({"from_entity": "Ada Lovelace", "to_entity": "Harbor Gateway"});
    let path = project.call("get_path", ends);
    assert_eq!(path["path"], json!(["Ada Lovelace", "Tide Clock", "Harbor Gateway"]));
    assert_eq!(path["relations"][0]["relation_type"], "takes care of");
    assert_eq!(path["relations"][1]["relation_type"], "uses");
    let near = project.call("get_neighborhood", json!({"name": "Tide Clock"}));
    let types: Vec<&str> = near["relations"]
        .as_array()
        .expect("relations")
        .iter()
        .filter_map(|it| it["relation_type"].as_str())
        .collect();
    assert!(types.contains(&"uses") && types.contains(&"takes care of"), "{near}");
    let drawn = project.call("graph", json!({"name": "Ada Lovelace", "hops": 1}));
    let rels: Vec<&Value> =
        drawn["edges"].as_array().expect("edges").iter().map(|it| &it["rel"]).collect();
    assert!(
        rels.contains(&&json!("mentions_person")) && rels.contains(&&json!("takes_care_of")),
        "{drawn}"
    );
}

#[test]
fn sources_that_disagree_are_both_shown() {
    let mut project = TestProject::of(&[
        ("Tide Clock.md", "---\ntype: Service\ndate: 2026-01-01\n---\n- owned_by [[Trust Team]]\n"),
        ("Trust Team.md", "---\ntype: Organization\n---\nA team.\n"),
        ("Harbor Team.md", "---\ntype: Organization\n---\nA team.\n"),
        (
            "meeting.md",
            "---\ndate: 2026-02-02\n---\nThe Tide Clock is owned by the Harbor Team since Monday.\n\n\
             The Tide Clock does not use the Key Vault.\n",
        ),
        ("plan.md", "---\ndate: 2025-02-02\n---\nThe Tide Clock uses the Key Vault.\n"),
        ("Key Vault.md", "---\ntype: Service\n---\nKeys.\n"),
    ]);
    let shown = text(&mut project, json!({"a": "Tide Clock", "b": "Trust Team", "limit": 1}));
    expect![[r#"
        Tide Clock → Trust Team: 1 path
        1. Tide Clock owned_by Trust Team — “owned_by Trust Team” (Tide Clock.md:5, 2026-01-01)
             but: “The Tide Clock is owned by the Harbor Team since Monday.” (meeting.md:4, 2026-02-02)  (.75)"#]].assert_eq(&shown);
    let shown = text(&mut project, json!({"a": "Tide Clock", "b": "Key Vault", "limit": 1}));
    expect![[r#"
        Tide Clock → Key Vault: 1 path
        1. Tide Clock uses Key Vault — “The Tide Clock uses the Key Vault.” (plan.md:4, 2025-02-02)
             but: “The Tide Clock does not use the Key Vault.” (meeting.md:6, 2026-02-02)  (.47)"#]]
    .assert_eq(&shown);
}

#[test]
fn a_note_says_where_it_comes_from_and_who_may_read_it() {
    let mut project = TestProject::of(&[
        ("a.md", "---\nsecurity: internal\n---\nThe gate of the harbor opens at six.\n"),
        ("b.md", "The gate of the harbor closes at ten.\n"),
    ]);
    let note = json!({
        "title": "Gate", "content": "The gate of the harbor is blue.", "source_url": "https://example.org/gate",
    });
    project.call("write_note", note);
    let text = project.text("gate.md");
    assert!(text.contains("source_url: https://example.org/gate"), "{text}");
    let found = project.call("hybrid_query", json!({"q": "gate of the harbor"}));
    let origins = |hits: &Value| {
        let hits = hits.as_array().expect("hits").iter();
        let mut all: Vec<String> = hits
            .map(|it| format!("{} {} {}", it["path"], it["source_url"], it["security"]))
            .collect();
        all.sort();
        all.join("\n")
    };
    expect![[r#"
        "a.md" null "internal"
        "b.md" null null
        "gate.md" "https://example.org/gate" null"#]]
    .assert_eq(&origins(&found["chunks"]));
    let found = project.call("search_notes", json!({"query": "gate of the harbor"}));
    expect![[r#"
        "a.md" null "internal"
        "b.md" null null
        "gate.md" "https://example.org/gate" null"#]]
    .assert_eq(&origins(&found["results"]));
    let found =
        project.call("hybrid_query", json!({"q": "gate of the harbor", "security": "Internal"}));
    assert_eq!(origins(&found["chunks"]), r#""a.md" null "internal""#);
    let filters = json!({"query": "gate", "metadata_filters": {"security": "internal"}});
    let found = project.call("search_notes", filters);
    assert_eq!(origins(&found["results"]), r#""a.md" null "internal""#);
    let none = project.call("hybrid_query", json!({"q": "gate", "security": "secret"}));
    assert_eq!(none["chunks"], json!([]));
}
