//! `connect`: how two things hang together, and that every tool sees the same graph.

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
    ("docs/gamma.md", "---\ntitle: Gamma\ntype: Service\ndate: 2026-01-05\n---\nGamma is a platform.\n"),
    ("docs/delta.md", "---\ntitle: Delta\ntype: Service\ndate: 2026-01-06\n---\nIt stands alone.\n"),
    (
        "plans.md",
        "---\ndate: 2026-05-09\n---\nOn Mondays the people of Delta have lunch; now and then Gamma is at the table.\n",
    ),
];

/// The text that an agent sees.
fn text(project: &mut TestProject, arguments: Value) -> String {
    let reply = project.agent().call_whole("connect", arguments).expect("a reply");
    reply["content"][0]["text"].as_str().expect("text").to_string()
}

#[test]
fn paths_are_told_with_sentence_place_and_date() {
    let mut project = TestProject::of(NOTES);
    let told = text(&mut project, json!({"a": "Alpha", "b": "Gamma"}));
    expect![[r#""#]].assert_eq(&told);
    let back = text(&mut project, json!({"a": "docs/gamma.md", "b": "alpha"}));
    expect![[r#""#]].assert_eq(&back);
}

#[test]
fn where_nothing_joins_two_things_passages_that_mention_both_are_told() {
    let mut project = TestProject::of(NOTES);
    let told = text(&mut project, json!({"a": "Alpha", "b": "Gamma", "max_hops": 1}));
    expect![[r#""#]].assert_eq(&told);
    let told = text(&mut project, json!({"a": "Delta", "b": "Gamma"}));
    expect![[r#""#]].assert_eq(&told);
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
    let mut told = refused("Harbor Gateway", "README");
    told += &refused("Harbor Gatewax and more", "Harbor Gateway");
    told += &refused("Harbor Gateway", "Harbor Gateway.md");
    let ids = without_ids(&told);
    expect![[r#""#]].assert_eq(&ids);
}

/// Ids of entities as `#`: they follow from uids, which are random.
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
    let mut ids: Vec<i64> = graph.rows("relation").filter_map(|it| it["subject_id"].as_i64()).collect();
    ids.dedup();
    let mut n_checked = 0;
    for id in ids.into_iter().step_by(3).take(12) {
        let explained = project.call("explain_entity", json!({"entity_id": id, "limit": 30}));
        for it in explained["relations"].as_array().expect("relations") {
            let ends = json!({"a": it["subject_id"], "b": it["object_id"], "max_hops": 1, "limit": 1});
            let found = project.call("connect", ends);
            let steps = found["paths"][0]["steps"].as_array().cloned().unwrap_or_default();
            let same = |step: &&Value| {
                ["subject_id", "predicate", "object_id", "confidence"].iter().all(|key| step[key] == it[key])
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
