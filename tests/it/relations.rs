//! Relations end to end: what corroborates, what contradicts, and relations that a user adds.

use serde_json::{Value, json};
use tests::TestProject;

const NOTES: [(&str, &str); 3] = [
    (
        "Alpha Service.md",
        "---\ntype: Service\n---\n# Alpha Service\n\nThe Alpha Service is part of the Beta Suite.\n",
    ),
    (
        "Beta Suite.md",
        "---\ntype: Product\n---\n# Beta Suite\n\nThe Beta Suite uses the Gamma Store.\n",
    ),
    ("Gamma Store.md", "---\ntype: Service\n---\n# Gamma Store\n\nIt keeps rows.\n"),
];

fn relation(project: &mut TestProject, about: &str, predicate: &str) -> Value {
    let reply = project.call("explain_entity", json!({ "name": about }));
    let relations = reply["relations"].as_array().cloned().unwrap_or_default();
    relations.into_iter().find(|it| it["predicate"] == predicate).unwrap_or(Value::Null)
}

#[test]
fn a_second_kind_of_source_raises_confidence() {
    let mut project = TestProject::of(&NOTES);
    let once = relation(&mut project, "Beta Suite", "uses")["confidence"].as_f64();
    project.write(
        "Beta Suite.md",
        "---\ntype: Product\n---\n# Beta Suite\n\nThe Beta Suite uses the Gamma Store.\n\n## Uses\n\n- Gamma Store\n",
    );
    project.settle();
    let twice = relation(&mut project, "Beta Suite", "uses")["confidence"].as_f64();
    assert!(once < twice, "{once:?} {twice:?}");
    let in_dump = project.dump();
    let dumped = in_dump.rows("relation").find(|it| it["predicate"] == "uses").cloned();
    let dumped = dumped.and_then(|it| it["confidence"].as_f64()).unwrap_or_default();
    assert!((dumped - twice.unwrap_or_default()).abs() < 0.001, "{dumped} {twice:?}");
}

#[test]
fn a_relation_that_is_stated_both_ways_is_doubted_and_reviewed() {
    let mut project = TestProject::of(&NOTES);
    let before = relation(&mut project, "Alpha Service", "part_of");
    // The words and, with deep reading, the grammar of the one sentence.
    assert_eq!(before["evidence"].as_array().map(Vec::len), Some(2), "{before}");
    project.write(
        "Beta Suite.md",
        "---\ntype: Product\n---\n# Beta Suite\n\nThe Beta Suite is a component of the Alpha Service.\n",
    );
    project.settle();
    let after = relation(&mut project, "Alpha Service", "part_of");
    assert!(after["confidence"].as_f64() < before["confidence"].as_f64(), "{after}");
    let patterns: Vec<&str> = after["evidence"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|it| it["pattern"].as_str())
        .collect();
    let is_against = |pattern: &&&str| pattern.starts_with("against ");
    let (against, for_it): (Vec<&str>, Vec<&str>) = patterns.iter().partition(is_against);
    assert_eq!(for_it, ["sentence:is part of", "depend:part of"]);
    assert!(against.contains(&"against sentence:is a component of"), "{patterns:?}");
    let reply = project.call("review_links", json!({}));
    let claims: Vec<&str> = reply["items"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|it| it["claim"].as_str())
        .filter(|claim| claim.contains("; contradicted in "))
        .collect();
    assert_eq!(claims.len(), 2, "both ways: {claims:?}");
    let of_alpha = "`Alpha Service` part_of `Beta Suite`; contradicted in Beta Suite.md";
    assert!(claims.iter().any(|claim| claim.starts_with(of_alpha)), "{claims:?}");
    // A key by names, as in older decisions, means all entities with these names.
    let key = "relation:betasuite>part_of>alphaservice";
    project.call("review_links", json!({ "reject": [key] }));
    let reply = project.call("review_links", json!({}));
    let is_listed = |it: &Value| {
        it["claim"]
            .as_str()
            .is_some_and(|it| it.starts_with("`Beta Suite` part_of `Alpha Service`"))
    };
    assert!(!reply["items"].as_array().into_iter().flatten().any(is_listed), "{reply}");
}

#[test]
fn a_denial_makes_no_relation_and_speaks_against_one() {
    let mut project = TestProject::of(&NOTES);
    let before = relation(&mut project, "Beta Suite", "uses");
    project.write("Audit.md", "# Audit\n\nThe Beta Suite does not use the Gamma Store.\n");
    project.write("Doubt.md", "# Doubt\n\nThe Alpha Service does not use the Gamma Store.\n");
    project.settle();
    assert_eq!(relation(&mut project, "Alpha Service", "uses"), Value::Null);
    let after = relation(&mut project, "Beta Suite", "uses");
    assert!(after["confidence"].as_f64() < before["confidence"].as_f64(), "{after}");
    let against: Vec<&Value> = after["evidence"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|it| it["pattern"].as_str().is_some_and(|it| it.starts_with("against ")))
        .collect();
    assert_eq!(against.len(), 1, "{after}");
    assert_eq!(against[0]["path"], "Audit.md");
    assert_eq!(against[0]["text"], "Beta Suite does not use the Gamma Store");
    let dumped = project.dump();
    let dumped = dumped.rows("relation").find(|it| it["predicate"] == "uses").cloned();
    assert_eq!(dumped.expect("dumped")["denied"][0]["path"], "Audit.md");
    let reviewed = project.call("review_links", json!({}));
    let claims = reviewed["items"].as_array().into_iter().flatten();
    let claims: Vec<&str> = claims
        .filter_map(|it| it["claim"].as_str())
        .filter(|claim| claim.contains("; contradicted in "))
        .collect();
    let of_beta = "`Beta Suite` uses `Gamma Store`; contradicted in Audit.md";
    assert!(matches!(claims[..], [one] if one.starts_with(of_beta)), "{claims:?}");
    project.remove("Audit.md");
    project.settle();
    assert_eq!(relation(&mut project, "Beta Suite", "uses")["confidence"], before["confidence"]);
}

#[test]
fn a_folder_adds_a_relation_without_code() {
    let mut project = TestProject::of(&[
        (
            "Alpha Service.md",
            "---\ntype: Service\n---\n# Alpha Service\n\nThe Alpha Service watches the Gamma Store.\n",
        ),
        (
            "Gamma Store.md",
            "---\ntype: Service\n---\n# Gamma Store\n\nMonitored by: Alpha Service\n",
        ),
    ]);
    assert_eq!(relation(&mut project, "Alpha Service", "monitors"), Value::Null);
    let rows =
        "[monitors]\ninverse = \"monitored_by\"\ncues = [{ words = \"watches\", weight = 0.9 }]\n";
    project.write("kg.predicates.toml", rows);
    project.restart();
    project.settle();
    let found = relation(&mut project, "Alpha Service", "monitors");
    assert_eq!(found["object"], "Gamma Store", "{found}");
    let patterns: Vec<&str> = found["evidence"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|it| it["pattern"].as_str())
        .collect();
    assert_eq!(patterns, ["sentence:watches", "depend:watch", "list:monitored by"]);
    let refused = project
        .try_call("hybrid_query", json!({"q": "watches", "rels": ["likes"]}))
        .expect_err("nobody states that");
    assert!(refused["hint"].as_str().is_some_and(|it| it.contains("monitors")), "{refused}");
    project.verify("with relations of its own");
    project.remove("kg.predicates.toml");
    project.restart();
    project.settle();
    assert_eq!(relation(&mut project, "Alpha Service", "monitors"), Value::Null);
}

#[test]
fn a_wrong_file_of_relations_is_named_with_its_line() {
    let mut project = TestProject::of(&NOTES);
    project.stop();
    project.write("kg.predicates.toml", "[monitors]\ncues = [\n  { word = \"watches\" },\n]\n");
    let ended = project.try_start().err();
    let log = project.log();
    assert!(ended.is_some(), "{log}");
    assert!(
        log.contains("kg.predicates.toml`, line 3: `monitors.cues.word` is not known"),
        "{log}"
    );
}
