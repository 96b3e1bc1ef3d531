//! Questions with operators, misspelt words and prefixes of words, through the whole daemon.

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

fn whole(project: &mut TestProject, question: &str) -> Value {
    project.call("hybrid_query", json!({"q": question, "max_chars": 20_000}))
}

/// Returns the paths of the hits, best first.
fn paths(reply: &Value) -> Vec<String> {
    let hits = reply["chunks"].as_array().expect("hits");
    hits.iter().map(|hit| hit["path"].as_str().expect("a path").to_string()).collect()
}

/// Returns the sorted paths of the hits, and the first reason.
fn ask(project: &mut TestProject, question: &str) -> (Vec<String>, String) {
    let reply = whole(project, question);
    let mut paths = paths(&reply);
    paths.sort();
    paths.dedup();
    let why = reply["explanations"][0].as_str().unwrap_or_default().to_string();
    assert_eq!(reply["relaxed"], Value::Null, "{question}: {reply}");
    (paths, why)
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
        // Required words decide which hits there are, not how each signal scores.
        let reply = whole(&mut project, question);
        for hit in reply["chunks"].as_array().expect("hits") {
            let part = |name: &str| hit["components"][name].as_f64().unwrap_or(0.0);
            assert!(part("vector") <= 0.5 && part("text") > 0.0, "{question}: {hit:#}");
        }
    }
}

#[test]
fn an_expression_that_nothing_matches_is_relaxed_and_a_broken_one_is_words() {
    let mut project = project();
    let reply = whole(&mut project, "\"brass ferry\" AND shed");
    let found = paths(&reply);
    assert!(found.contains(&"garden.md".into()) && found.contains(&"boats.md".into()), "{found:?}");
    assert_eq!(
        reply["relaxed"], "nothing matches all of it, so any of its words may match",
        "{reply}"
    );
    for question in ["ferry AND", "(ferry", "\"ferry", "NOT ferry", "ferry OR OR", "* ferry -"] {
        let reply = whole(&mut project, question);
        assert!(paths(&reply).contains(&"boats.md".into()), "{question}: {reply}");
        assert_eq!(reply["relaxed"], Value::Null, "{question}: {reply}");
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

const TAGGED: &[(&str, &str)] = &[
    (
        "kitchen/rye.md",
        "---\ntags: [baking/bread]\ndate: 2024-03-01\n---\n# Rye\n\nA loaf of rye rests.\n",
    ),
    (
        "kitchen/cake.md",
        "---\ntags: [Baking, draft]\ndate: 2024-02-01\n---\n# Cake\n\nFlour and eggs.\n",
    ),
    (
        "Kitchen notes.md",
        "---\ndate: 2024-01-01\n---\n# Notes\n\nThe oven is repaired in May. A loaf burns.\n",
    ),
    (
        "harbor/boats.md",
        "---\ntags: [harbor]\n---\n# Boats\n\nThe ferry leaves at ten, a loaf on board.\n",
    ),
];

#[test]
fn tags_and_paths_alone_list_documents() {
    let mut project = TestProject::of(TAGGED);
    let rows: &[(&str, &[&str])] = &[
        ("tag:baking", &["kitchen/rye.md", "kitchen/cake.md"]),
        ("tag:#BAKING/", &["kitchen/rye.md", "kitchen/cake.md"]),
        ("tag:baking/bread", &["kitchen/rye.md"]),
        ("which tag:harbor", &["harbor/boats.md"]),
        ("tag:baking -tag:draft", &["kitchen/rye.md"]),
        ("tag:baking -flour", &["kitchen/rye.md"]),
        ("tag:draft OR tag:baking/bread", &["kitchen/rye.md", "kitchen/cake.md"]),
        ("path:kitchen/", &["kitchen/rye.md", "kitchen/cake.md"]),
        ("path:kitchen/*.md tag:draft", &["kitchen/cake.md"]),
        ("path:*notes.md", &["Kitchen notes.md"]),
        ("path:KITCHEN/", &["kitchen/rye.md", "kitchen/cake.md"]),
        ("path:kitchen", &["kitchen/rye.md", "kitchen/cake.md"]),
        ("path:\"Kitchen notes\"", &["Kitchen notes.md"]),
        ("loaf path:HARBOR/", &["harbor/boats.md"]),
        ("loaf -path:kitchen/ -tag:harbor", &["Kitchen notes.md"]),
    ];
    for (question, expected) in rows {
        let reply = whole(&mut project, question);
        assert_eq!(paths(&reply), *expected, "{question}: {reply:#}");
        assert_eq!(reply["chunks"][0]["weak"], Value::Null, "{question}: {reply:#}");
    }
    let first = project.call("hybrid_query", json!({"q": "tag:baking", "k": 1}));
    let more = json!({"q": "tag:baking", "k": 1, "cursor": first["next_cursor"]});
    let second = project.call("hybrid_query", more);
    assert_eq!(
        (paths(&first), paths(&second)),
        (vec!["kitchen/rye.md".into()], vec!["kitchen/cake.md".into()])
    );
    assert_eq!(second["next_cursor"], Value::Null);
}

#[test]
fn a_tag_or_path_that_is_not_there_is_named_with_the_nearest_ones() {
    let mut project = TestProject::of(TAGGED);
    for (question, hint) in [
        ("tag:bakign", "no document has the tag `bakign`; nearest: `baking`, `baking/bread`"),
        ("loaf tag:harbour", "no document has the tag `harbour`; nearest: `harbor`"),
        ("path:kichen/", "no document is in `kichen/`; nearest: `kitchen/`"),
        ("tag:harbor tag:draft", "no document has the tag `harbor` and has the tag `draft`"),
        ("loaf path:zzz/*.md", "no document matches the path's pattern"),
    ] {
        let reply = whole(&mut project, question);
        assert_eq!((paths(&reply).len(), reply["relaxed"].clone()), (0, Value::Null), "{reply}");
        let text = reply["hint"].as_str().expect("a hint");
        assert!(text.starts_with(hint), "{question}: {text}");
    }
    let reply = whole(&mut project, "-excluded");
    assert!(
        reply["hint"].as_str().expect("a hint").starts_with("it only excludes words"),
        "{reply}"
    );
}

#[test]
fn what_is_excluded_and_asked_of_documents_stays_where_words_are_given_up() {
    let mut project = TestProject::of(TAGGED);
    let rows: &[(&str, &[&str], &str)] = &[
        (
            "loaf zeppelin9 -rests",
            &["Kitchen notes.md", "harbor/boats.md"],
            "; what it excludes still apply",
        ),
        ("loaf zeppelin9 tag:harbor", &["harbor/boats.md"], "; its tags and paths still apply"),
        (
            "loaf zeppelin9 path:kitchen/ -flour",
            &["kitchen/rye.md"],
            "; its tags and paths and what it excludes",
        ),
        ("\"loaf zeppelin9\"", &["Kitchen notes.md", "harbor/boats.md", "kitchen/rye.md"], ""),
    ];
    for (question, expected, kept) in rows {
        let reply = whole(&mut project, question);
        let relaxed = reply["relaxed"].as_str().expect("relaxed");
        assert!(
            relaxed.starts_with(&format!(
                "nothing matches all of it, so any of its words may match{kept}"
            )),
            "{relaxed}"
        );
        let found = paths(&reply);
        let has = |path: &&&str| found.contains(&(**path).to_string());
        assert_eq!(expected.iter().filter(has).count(), expected.len(), "{question}: {found:?}");
        let is_rye = found.contains(&"kitchen/rye.md".to_string());
        assert_eq!(is_rye, expected.contains(&"kitchen/rye.md"), "{question}: {found:?}");
        let is_cake = found.contains(&"kitchen/cake.md".to_string());
        assert!(
            !is_cake || question.ends_with("-rests") || kept.is_empty(),
            "{question}: {found:?}"
        );
    }
}

#[test]
fn a_colon_within_a_word_joins_no_phrase_and_makes_no_field() {
    let mut project = TestProject::of(&[
        ("log.txt", "The error came from a proxy; its upstream was down.\n"),
        ("other.txt", "Nothing happened on Monday, and the garden was quiet.\n"),
    ]);
    for question in ["error:upstream", "upstream:error", "level:error proxy"] {
        let reply = whole(&mut project, question);
        assert_eq!(reply["chunks"][0]["path"], "log.txt", "{question}");
        assert!(reply["chunks"][0]["components"]["text"].is_number(), "{question}: {reply:#}");
    }
    let reply = project.call("hybrid_query", json!({"q": "upstream", "formula": "minmax"}));
    assert!(reply["chunks"][0]["components"]["text"].is_number(), "{reply:#}");
}

#[test]
fn a_form_of_a_word_is_not_told_as_another_word() {
    let mut project =
        TestProject::of(&[("house.txt", "They build and built, all building is done.\n")]);
    project.settle();
    let reply = project.call("hybrid_query", json!({"q": "builder", "formula": "text"}));
    let why = reply["explanations"][0].as_str().expect("a reason");
    assert!(why.starts_with("`builder` read as `build`"), "{why}");
}

#[test]
fn what_is_demanded_is_found_by_meaning_alone_also_behind_many_nearer_passages() {
    let mut project = TestProject::empty();
    for n in 0..450 {
        let text =
            format!("# Keeper {n}\n\nThe keeper of lighthouse {n} feeds a cat each night.\n");
        project.write(&format!("keepers/{n}.md"), &text);
    }
    let goods =
        "Invoices of the mill name flour, paint, bolts, rent, ink, coal and two saws. ".repeat(9);
    let tin = format!(
        "# Tin\n\n{goods}Behind a cat the keeper of the lighthouse wrote: for one night.\n"
    );
    project.write("tin.md", &tin);
    project.start();
    project.settle();
    let question = "cat of the lighthouse keeper \"for one night\"";
    let reply = project
        .call("hybrid_query", json!({"q": question, "formula": "vector", "max_chars": 20_000}));
    assert_eq!(paths(&reply), ["tin.md"], "{reply}");
}
