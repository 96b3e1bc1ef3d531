//! Questions with operators, misspelt words and beginnings of words, through the whole daemon.

use serde_json::{Value, json};
use tests::TestProject;

const NOTES: &[(&str, &str)] = &[
    (
        "ops/rotation.md",
        "---\ntags: [runbook]\n---\n# Rotation\n\nThe signing key is rotated by the vault each quarter.\n",
    ),
    (
        "ops/vault.md",
        "# Vault\n\nThe vault holds a key for signing of archives. Backups are encrypted.\n",
    ),
    ("garden.md", "# Garden\n\nA key of brass opens the shed. Tomatoes need rotation, too.\n"),
    (
        "boats.md",
        "# Boats\n\nThe harbor has a ferry to the lighthouse; backups of the ferry are rare.\n",
    ),
];

fn project() -> TestProject {
    let mut project = TestProject::empty();
    for (path, text) in NOTES {
        project.write(path, text);
    }
    project.start();
    project.settle();
    project
}

/// Paths of the hits, sorted, and the first reason.
fn ask(project: &mut TestProject, question: &str) -> (Vec<String>, String) {
    let reply = project.call("hybrid_query", json!({"q": question, "max_chars": 20_000}));
    let hits = reply["chunks"].as_array().expect("hits");
    let text = |it: &Value| it.as_str().expect("text").to_string();
    let mut paths: Vec<String> = hits.iter().map(|hit| text(&hit["path"])).collect();
    paths.sort();
    paths.dedup();
    (paths, reply["explanations"].get(0).map(text).unwrap_or_default())
}

#[test]
fn operators_say_what_every_hit_must_match() {
    let mut project = project();
    let rows: &[(&str, &[&str])] = &[
        ("\"signing key\"", &["ops/rotation.md"]),
        ("key AND vault", &["ops/rotation.md", "ops/vault.md"]),
        ("tomatoes OR ferry", &["boats.md", "garden.md"]),
        ("key NOT vault", &["garden.md"]),
        ("key -vault", &["garden.md"]),
        ("(tomatoes OR archives) AND key", &["garden.md", "ops/vault.md"]),
        ("encryp*", &["ops/vault.md"]),
        ("rotatio*", &["garden.md", "ops/rotation.md"]),
        ("key tag:runbook", &["ops/rotation.md"]),
        ("backups path:ops/", &["ops/vault.md"]),
        ("title:vault key", &["ops/vault.md"]),
    ];
    for (question, expected) in rows {
        let (found, why) = ask(&mut project, question);
        assert_eq!(found, *expected, "{question}: {why}");
        assert!(!why.contains("any of its words"), "{question}: {why}");
    }
}

#[test]
fn an_expression_that_nothing_matches_is_relaxed_and_a_broken_one_is_words() {
    let mut project = project();
    let (found, why) = ask(&mut project, "\"brass ferry\" AND shed");
    assert!(found.contains(&"garden.md".into()) && found.contains(&"boats.md".into()), "{found:?}");
    assert!(why.starts_with("nothing matches it all, so any of its words: "), "{why}");
    for question in ["ferry AND", "(ferry", "\"ferry", "NOT ferry", "ferry OR OR", "* ferry -"] {
        let (found, why) = ask(&mut project, question);
        assert!(found.contains(&"boats.md".into()), "{question}: {found:?}");
        assert!(!why.contains("any of its words"), "{question}: {why}");
    }
}

#[test]
fn a_word_that_stands_nowhere_is_read_as_the_nearest_one_and_the_answer_says_so() {
    let mut project = project();
    let best = |project: &mut TestProject, q: &str| {
        let reply = project.call("hybrid_query", json!({"q": q, "formula": "text"}));
        (reply["chunks"][0]["path"].clone(), reply["explanations"][0].to_string())
    };
    let (path, why) = best(&mut project, "tomattoes");
    assert_eq!((path, why.contains("read as")), (json!("garden.md"), true), "{why}");
    let (path, why) = best(&mut project, "the lightouse");
    assert_eq!(path, json!("boats.md"));
    assert!(why.contains("`lightouse` read as `lighthouse`"), "{why}");
    let (path, why) = best(&mut project, "tomat");
    assert_eq!(path, json!("garden.md"));
    assert!(why.contains("`tomat` read as the beginning of a word"), "{why}");
    let (_, why) = best(&mut project, "ferry");
    assert!(!why.contains("read as"), "{why}");
}
