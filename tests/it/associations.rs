//! Associations: what is mentioned together more often than chance explains, in each answer that shows it.

use expect_test::expect;
use serde_json::json;
use tests::TestProject;

/// Ada and the Tide Clock stand together, in no stated relation; so does she with twelve settings, in a list of
/// thirteen names.
fn folder() -> TestProject {
    let settings: Vec<String> = (1..=12).map(|n| format!("`tide_level_{n}`")).collect();
    let settings = settings.join(", ");
    let levels = format!(
        "We sent Ada Lindqvist {settings}.\n\nWe never got back {settings} from Ada Lindqvist.\n"
    );
    let rest: String = (1..=60).map(|n| format!("- There is `other_name_{n}`.\n")).collect();
    TestProject::of(&[
        (
            "clock.md",
            "---\ntitle: Tide Clock\ntype: Service\n---\nIt rings.\n\n- Ada Lindqvist, Tide Clock\n- Mia Berg, Key Vault\n",
        ),
        (
            "week.md",
            "# Week\n\nOn Monday Ada Lindqvist was at the Tide Clock again. It rained.\n\n\
             Ada Lindqvist is away, and nobody winds the Tide Clock.\n",
        ),
        (
            "vault.md",
            "---\ntitle: Key Vault\ntype: Service\n---\nThe Key Vault uses the Sea Log.\n",
        ),
        (
            "log.md",
            "---\ntitle: Sea Log\ntype: Service\n---\nOf the Sea Log and the Key Vault we speak often.\n",
        ),
        ("levels.md", &levels),
        ("rest.md", &rest),
    ])
}

#[test]
fn explain_tells_what_goes_with_a_thing_and_quotes_it() {
    let mut project = folder();
    let ada = project.call("explain_entity", json!({"name": "Ada Lindqvist"}));
    let others = ada["goes_with"].as_array().expect("associations");
    let shown: Vec<String> = others
        .iter()
        .map(|it| {
            let units = it["units"].as_array().expect("units").iter();
            let units: Vec<_> =
                units.map(|it| format!("{}:{} {}", it["path"], it["line"], it["text"])).collect();
            format!("{} × {}, {}\n{}", it["name"], it["n_together"], it["ratio"], units.join("\n"))
        })
        .collect();
    // Running text comes first, and a list of thirteen names joins nobody.
    expect![[r#"
        "Tide Clock" × 3, 24.41
        "week.md":3 "On Monday Ada Lindqvist was at the Tide Clock again."
        "week.md":5 "Ada Lindqvist is away, and nobody winds the Tide Clock."
        "clock.md":7 "Ada Lindqvist, Tide Clock""#]]
    .assert_eq(&shown.join("\n"));
    // A relation among those listed is not said again.
    let vault = project.call("explain_entity", json!({"name": "Key Vault"}));
    assert_eq!(vault["relations"][0]["predicate"], "uses");
    assert_eq!(vault.get("goes_with"), None, "{vault}");
}

#[test]
fn connect_takes_associations_where_no_relations_lead() {
    let mut project = folder();
    let found = project.call("connect", json!({"a": "Ada Lindqvist", "b": "Tide Clock"}));
    let step = &found["paths"][0]["steps"][0];
    let facts = json!([step["predicate"], step["n_together"], step["evidence"][0]["text"]]);
    let sentence = "On Monday Ada Lindqvist was at the Tide Clock again.";
    assert_eq!(facts, json!(["mentioned_together", 3, sentence]));
    let found = project.call("connect", json!({"a": "Key Vault", "b": "Sea Log"}));
    let steps = found["paths"][0]["steps"].as_array().expect("a path");
    let predicates: Vec<_> = steps.iter().map(|it| &it["predicate"]).collect();
    assert_eq!(predicates, ["uses"], "stated relations first, and alone");
}

#[test]
fn the_map_tells_associations_from_relations() {
    let mut project = folder();
    let map = project.call("graph", json!({}));
    let name = |id: &serde_json::Value| {
        let node = map["nodes"].as_array().and_then(|all| all.iter().find(|it| it["id"] == *id));
        node.map(|it| it["name"].to_string()).unwrap_or_default()
    };
    let mut edges: Vec<String> = map["edges"]
        .as_array()
        .expect("edges")
        .iter()
        .map(|it| {
            format!("{} {} {} {}", name(&it["src"]), it["rel"], name(&it["dst"]), it["n_together"])
        })
        .collect();
    edges.sort();
    expect![[r#"
        "Ada Lindqvist" "mentioned_together" "Tide Clock" 3
        "Key Vault" "uses" "Sea Log" null"#]]
    .assert_eq(&edges.join("\n"));
}

#[test]
fn the_dump_lists_associations_by_name() {
    let mut project = folder();
    expect![[r#"
        association Ada Lindqvist + Tide Clock <clock.md> count=3 ratio=24.410000 ["week.md:3 [18,53]", "week.md:5 [73,127]", "clock.md:7 [53,78]"]
        association Key Vault <vault.md> + Sea Log <log.md> count=2 ratio=14.110000 ["log.md:5 [44,69]", "vault.md:5 [43,69]"]
    "#]].assert_eq(&project.dump().lines("association"));
}
