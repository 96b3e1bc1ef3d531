//! The better model's vectors, from outside, with the built-in model.

use std::fs::File;

use serde_json::{Value, json};
use tests::TestProject;

/// Each note paraphrases one question; the static vectors of the words have little in common.
const NOTES: [(&str, &str); 4] = [
    (
        "access.md",
        "# Access\n\nTo recover your login credentials, follow the reset link that support sends.\n",
    ),
    ("olives.md", "# Olives\n\nThe harvest begins in October, when the fruit turns violet.\n"),
    ("ferry.md", "# Ferry\n\nBoats leave the pier for the islands every two hours in summer.\n"),
    ("bread.md", "# Bread\n\nThe loaves are baked before the sun comes up.\n"),
];

fn project(background: &str) -> TestProject {
    let mut project = TestProject::empty();
    for (path, text) in NOTES {
        project.write(path, text);
    }
    project.set(&format!("embed.background={background}"));
    project
}

fn is_done(status: &Value) -> bool {
    status["embedding"]["state"] == "done" && status["embedding"]["total"].as_u64() > Some(0)
}

fn ask(project: &mut TestProject, question: &str) -> Value {
    project.call("hybrid_query", json!({"q": question, "formula": "vector"}))
}

#[test]
fn better_vectors_come_in_the_background_and_outlive_kill_restart_and_verification() {
    let mut project = project("idle");
    project.start();
    project.settle();
    project.until("better vectors", is_done);
    let status = project.status();
    assert_eq!(status["embedding"]["model"], "minilm-l6");
    assert_eq!(status["embedding"]["done"], status["counts"]["vectors"]);
    let reply = ask(&mut project, "I forgot my password");
    assert_eq!(reply["chunks"][0]["path"], "access.md", "{reply}");
    assert_eq!(reply["explanations"][0], "vector by all-MiniLM-L6-v2", "{reply}");

    project.kill9();
    // Nothing is embedded any more: the existing vectors are used again.
    project.set("embed.background=off");
    project.start();
    project.settle();
    project.until("better vectors", is_done);
    assert_eq!(ask(&mut project, "I forgot my password")["chunks"], reply["chunks"]);
    project.verify("with better vectors");

    // A window without a better vector is found by its static one, and the reply says so.
    project.write("password.md", "# Password\n\nA forgotten password is set anew by the office.\n");
    project.settle();
    project.until("a window that lacks its vector", |status| {
        status["embedding"]["total"].as_u64() == Some(5) && status["embedding"]["done"] == 4
    });
    let reply = ask(&mut project, "I forgot my password");
    assert_eq!(reply["chunks"][0]["path"], "password.md", "{reply}");

    project.remove("access.md");
    project.settle();
    let reply = ask(&mut project, "I forgot my password");
    let paths = reply["chunks"].as_array().expect("hits").iter().map(|hit| &hit["path"]);
    assert!(!paths.into_iter().any(|path| path == "access.md"), "{reply}");
}

#[test]
fn one_daemon_of_a_machine_makes_vectors_at_a_time() {
    let mut project = project("idle");
    let states = project.paths().dir.parent().expect("it lies in a folder").to_path_buf();
    std::fs::create_dir_all(&states).expect("a folder");
    let theirs = File::create(states.join("filling.lock")).expect("a lock");
    theirs.lock().expect("nobody else has it");
    project.start();
    let status = project.until("it waits for another daemon", |status| {
        status["settled"] == true && status["embedding"]["state"] == "waiting"
    });
    assert_eq!(status["embedding"]["done"], 0, "{status:#}");
    drop(theirs);
    project.until("better vectors", is_done);
}

#[test]
fn memory_is_searched_by_the_better_vectors_where_all_facts_have_them() {
    let mut project = project("off");
    project.start();
    let entity = |name: &str, fact: &str| json!({"name": name, "entity_type": "topic", "observations": [fact]});
    let fact = "Login credentials are recovered by the link that support sends";
    let entities = [
        entity("Recovery", fact),
        entity("Orchard", "The harvest begins when the fruit turns violet"),
    ];
    project.call("create_entities", json!({"entities": entities}));
    project.settle();
    let search = |project: &mut TestProject| {
        let reply = project.call("search_nodes", json!({"query": "I forgot my password"}));
        let of = |it: &Value| (it["name"].to_string(), it["score"].to_string());
        reply["results"].as_array().expect("hits").iter().map(of).collect::<Vec<_>>()
    };
    let by_static = search(&mut project);
    project.stop();
    project.set("embed.background=idle");
    project.start();
    project.settle();
    project.until("better vectors", is_done);
    let by_better = search(&mut project);
    assert!(by_better[0].0.contains("Recovery"), "{by_better:?}");
    assert_ne!(by_better, by_static);
    project.stop();
    project.set("embed.background=off");
    project.start();
    project.settle();
    project.until("better vectors", is_done);
    assert_eq!(search(&mut project), by_better, "they are kept");

    // If one vector is missing, all are compared by static vectors, since the two spaces have no
    // common measure.
    let more = json!({"observations": [{"entity_name": "Orchard", "contents": ["Pressed on the same day"]}]});
    project.call("add_observations", more);
    assert_eq!(search(&mut project)[0], by_static[0]);
}

#[test]
fn a_window_that_lacks_its_better_vector_has_its_place_among_those_that_have_theirs() {
    let mut project = project("idle");
    for i in 0..20 {
        let text =
            format!("# Station {i}\n\nThe pump of station {i} is repaired by crew {}.\n", i % 7);
        project.write(&format!("station-{i}.md"), text);
    }
    project.start();
    project.settle();
    project.until("better vectors", is_done);
    project.stop();
    project.set("embed.background=off");
    project.write("safe.md", "# Safe\n\nIf you forgot the password of the safe, ask the office.\n");
    project.start();
    project.settle();
    project.until("all but one", |status| {
        let embedding = &status["embedding"];
        embedding["total"] == 25 && embedding["done"] == 24 && embedding["state"] == "off"
    });
    let reply = ask(&mut project, "I forgot my password");
    let hit = |n: usize| (&reply["chunks"][n]["path"], &reply["explanations"][n]);
    let (lacks, has) = ("vector by potion-base-8M", "vector by all-MiniLM-L6-v2");
    let mut first = [hit(0), hit(1)].map(|(path, why)| (path.clone(), why.clone()));
    first.sort_by_key(|(path, _)| path.to_string());
    assert_eq!(
        first,
        [(json!("access.md"), json!(has)), (json!("safe.md"), json!(lacks))],
        "{reply}"
    );
}

#[test]
fn without_a_better_model_there_is_nothing_to_tell() {
    let mut project = project("on");
    project.set("embed.model=none");
    project.start();
    project.settle();
    assert_eq!(project.status()["embedding"], Value::Null);
    let reply = ask(&mut project, "harvest of olives");
    assert_eq!(reply["chunks"][0]["path"], "olives.md");
    assert_eq!(reply["explanations"][0], "vector");
}

#[test]
fn while_the_better_model_does_not_answer_at_all_the_answer_says_whose_vectors_it_is_by() {
    let mut project = project("off");
    project.start();
    project.settle();
    let reply = ask(&mut project, "olive harvest");
    assert_eq!(reply["explanations"][0], "vector by potion-base-8M", "{reply}");
}

#[test]
fn without_a_model_that_does_not_exist_the_static_vectors_answer_and_it_is_logged() {
    let mut project = project("on");
    project.set("embed.model=nonsuch");
    project.start();
    project.settle();
    let reply = ask(&mut project, "olive harvest");
    assert_eq!(reply["chunks"][0]["path"], "olives.md", "{reply}");
    assert_eq!(reply["explanations"][0], "vector by potion-base-8M", "{reply}");
    let log = project.log();
    assert!(log.contains("`embed.model` is `nonsuch`") && log.contains("hint:"), "{log}");
}

#[test]
fn the_better_vectors_may_be_floats_and_answer_while_they_are_made_again() {
    let mut project = project("idle");
    project.start();
    project.settle();
    project.until("better vectors", is_done);
    let as_bytes = ask(&mut project, "I forgot my password");

    project.stop();
    project.set("vectors.precision=float32");
    project.start();
    project.settle();
    let reply = ask(&mut project, "I forgot my password");
    assert_eq!(reply["chunks"][0]["path"], "access.md", "never without: {reply}");
    project.until("floats", |status| {
        let space = status["embedding"]["space"].as_str().unwrap_or_default();
        is_done(status) && space.ends_with("/f32")
    });
    let reply = ask(&mut project, "I forgot my password");
    assert_eq!(reply["chunks"][0]["path"], "access.md", "{reply}");
    assert_eq!(reply["explanations"][0], "vector by all-MiniLM-L6-v2", "{reply}");
    let score = |reply: &Value| reply["chunks"][0]["score"].as_f64().expect("a score");
    assert!((score(&reply) - score(&as_bytes)).abs() < 0.01, "{reply}");

    project.stop();
    // Nothing is embedded any more.
    project.set("embed.background=off");
    project.set("vectors.precision=bit");
    project.start();
    project.settle();
    project
        .until("bytes alone", |status| is_done(status) && status["embedding"]["answers"].is_null());
    assert_eq!(ask(&mut project, "I forgot my password")["chunks"], as_bytes["chunks"]);
}

/// Notes in three languages; a question shares no word with the notes that answer it.
const TONGUES: [(&str, &str); 6] = [
    (
        "de/wechsel.md",
        "# Turnus\n\nAlle neunzig Tage ersetzt das Büro die geheimen Zugangsdaten, und die alten gelten noch eine \
         Woche, damit niemand ausgesperrt wird.\n",
    ),
    (
        "de/brot.md",
        "# Backstube\n\nDie Laibe werden gebacken, bevor die Sonne aufgeht, und am Morgen auf dem Markt verkauft.\n",
    ),
    (
        "ja/kagi.md",
        "# 交換\n\n秘密の認証情報は事務所が九十日ごとに新しいものに取り替えます。古いものは一週間だけ使えます。\n",
    ),
    ("ja/pan.md", "# パン屋\n\n日の出の前にパンを焼き、朝になると市場で売ります。\n"),
    ("en/rotation.md", "# Schedule\n\nThe office replaces secret credentials every ninety days.\n"),
    (
        "en/bread.md",
        "# Bakery\n\nThe loaves are baked before the sun comes up and sold in the market.\n",
    ),
];

#[test]
fn a_question_finds_what_is_written_in_other_languages() {
    let mut project = TestProject::empty();
    project.write_all(&TONGUES);
    project.set("embed.background=idle");
    project.start();
    project.settle();
    let status = project.until("vectors in both spaces", is_done);
    let other = &status["embedding"]["others"][0];
    assert_eq!(status["embedding"]["total"], 2, "{status:#}");
    assert_eq!(
        (&other["model"], &other["done"], &other["total"]),
        (&json!("e5-small"), &json!(6), &json!(6))
    );
    let found = |project: &mut TestProject, question: &str| -> Vec<String> {
        let reply = ask(project, question);
        let hits = reply["chunks"].as_array().expect("hits").iter();
        hits.map(|hit| hit["path"].as_str().unwrap_or_default().to_string()).take(3).collect()
    };
    for question in [
        "Wann müssen Passwörter erneuert werden?",
        "パスワードの変更はいつ必要ですか？",
        "When must passwords be renewed?",
    ] {
        let mut best = found(&mut project, question);
        best.sort();
        assert_eq!(best, ["de/wechsel.md", "en/rotation.md", "ja/kagi.md"], "{question}");
    }
    // Single statements, too, though they share no word with the question.
    let facts = "# Ordnung\n\n- [regel] Kennwörter sind alle drei Monate zu ändern\n  \
                 - [frist] Auch im Urlaub\n- [regel] Das Brot wird vor Sonnenaufgang gebacken\n";
    project.write("de/ordnung.md", facts);
    project.settle();
    project.until("their vectors", is_done);
    let arguments = json!({"query": "Wann müssen Passwörter erneuert werden?", "search_type": "vector",
        "search_item_types": ["observation"]});
    let reply = project.call("search_notes", arguments);
    let first = &reply["results"][0]["snippet"];
    assert_eq!(first, "Kennwörter sind alle drei Monate zu ändern", "{reply:#}");
    let nested = &reply["results"][1]["snippet"];
    assert_eq!(nested, "Auch im Urlaub", "as near as the passage that holds it: {reply:#}");
    let unpacked = project.scratch().join("state/unpacked");
    assert!(unpacked.join("e5-small-100k-2/model.onnx").exists(), "unpacked once");
    project.verify("with windows that only one model reads");
}

#[test]
fn an_english_folder_neither_loads_nor_unpacks_the_model_of_other_languages() {
    let mut project = project("idle");
    project.start();
    project.settle();
    let status = project.until("better vectors", is_done);
    assert_eq!(status["embedding"]["others"], Value::Null, "{status:#}");
    ask(&mut project, "Wie werden Schlüssel rotiert?");
    assert!(!project.scratch().join("state/unpacked").exists());
}
