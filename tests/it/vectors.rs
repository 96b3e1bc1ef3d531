//! Vectors in memory, from outside: they follow every save, and a kill or a restart changes no
//! answer.

use serde_json::{Value, json};
use tests::TestProject;

const QUESTIONS: [&str; 3] =
    ["who repairs the pump", "how often are the filters cleaned", "rust on the old pipes"];

fn write(project: &TestProject, i: usize, what: &str) {
    let text = format!(
        "# Station {i}\n\nThe pump of station {i} is repaired by crew {}. {what}\n\n\
         ## Log\n\nThe filters were cleaned on day {}, and the pipes showed rust.\n",
        i % 7,
        i * 3 % 31
    );
    project.write(&format!("station-{i}.md"), text);
}

/// Returns the hits by vector alone: path, lines, score and snippet.
fn answers(project: &mut TestProject) -> Vec<Value> {
    let ask = |question| {
        let reply = project.call("hybrid_query", json!({"q": question, "formula": "vector"}));
        let chunks = reply["chunks"].as_array().expect("hits").clone();
        assert!(!chunks.is_empty(), "{question}");
        let fields = |hit: &Value| json!([hit["path"], hit["lines"], hit["score"], hit["snippet"]]);
        chunks.iter().map(fields).collect::<Vec<_>>()
    };
    QUESTIONS.into_iter().flat_map(ask).collect()
}

/// Asks until the vectors are in memory; until then the table answers.
fn wait_for_memory(project: &mut TestProject) {
    project.until("vectors in memory", |status| {
        status["vectors_in_memory"]["rows"].as_u64() > Some(0)
    });
}

#[test]
fn vectors_in_memory_follow_saves_and_survive_a_kill() {
    let mut project = TestProject::empty();
    for i in 0..40 {
        write(&project, i, "");
    }
    project.start();
    project.settle();
    assert_eq!(project.status()["vectors_in_memory"], Value::Null, "nobody has asked");
    let from_table = answers(&mut project);
    wait_for_memory(&mut project);
    assert_eq!(answers(&mut project), from_table);

    for i in 0..10 {
        write(&project, i * 3, "A second pump stands by.");
        project.remove(&format!("station-{}.md", i * 3 + 1));
    }
    project.settle();
    wait_for_memory(&mut project);
    let after_saves = answers(&mut project);
    assert_ne!(after_saves, from_table);

    project.kill9();
    project.start();
    project.settle();
    assert_eq!(answers(&mut project), after_saves, "from the table");
    wait_for_memory(&mut project);
    assert_eq!(answers(&mut project), after_saves, "from memory");
    project.verify("after a kill");

    // A verification may replace the index by its own; the answers stay the same.
    answers(&mut project);
    wait_for_memory(&mut project);
    assert_eq!(answers(&mut project), after_saves);
}

#[test]
fn a_filter_keeps_vectors_outside_of_it_away() {
    let mut project = TestProject::empty();
    for i in 0..12 {
        write(&project, i, "");
    }
    project.write("other/note.md", "# Note\n\nThe pump hums at night.\n");
    project.start();
    project.settle();
    let ask = |project: &mut TestProject| {
        let filtered = json!({"q": QUESTIONS[0], "formula": "vector", "path": "other/"});
        let reply = project.call("hybrid_query", filtered);
        let paths = reply["chunks"].as_array().expect("hits").iter();
        paths.map(|hit| hit["path"].as_str().unwrap_or_default().to_string()).collect::<Vec<_>>()
    };
    assert_eq!(ask(&mut project), ["other/note.md"]);
    wait_for_memory(&mut project);
    assert_eq!(ask(&mut project), ["other/note.md"]);
}

/// Sets how vectors are held, and restarts.
fn hold_as(project: &mut TestProject, precision: &str) {
    project.stop();
    project.set(&format!("vectors.precision={precision}"));
    project.start();
    project.settle();
}

#[test]
fn each_precision_answers_alike_and_may_be_changed_at_a_restart() {
    let mut project = TestProject::empty();
    project.set("embed.model=none");
    project.set("embed.background=idle");
    for i in 0..40 {
        write(&project, i, "");
    }
    project.write("harbor.md", "# Harbor\n\nBoats leave the pier for the islands at noon.\n");
    project.start();
    project.settle();
    let as_bytes = answers(&mut project);

    hold_as(&mut project, "bit");
    assert_eq!(answers(&mut project), as_bytes, "from the table");
    wait_for_memory(&mut project);
    assert_eq!(answers(&mut project), as_bytes, "so few are all scored by their bytes");
    project.write("mill.md", "# Mill\n\nThe miller grinds wheat and barley.\n");
    project.settle();
    let first = |project: &mut TestProject, question: &str| {
        let reply = project.call("hybrid_query", json!({"q": question, "formula": "vector"}));
        reply["chunks"][0]["path"].clone()
    };
    assert_eq!(first(&mut project, "grinding wheat"), "mill.md");

    hold_as(&mut project, "float32");
    assert_eq!(first(&mut project, "when do boats leave"), "harbor.md", "whatever there is");
    let is_done = |status: &Value| {
        let embedding = &status["embedding"];
        embedding["state"] == "done" && embedding["space"] == "potion-base-8M@bf8b056/f32"
    };
    project.until("floats", is_done);
    assert_eq!(first(&mut project, "when do boats leave"), "harbor.md");
    project.write("forge.md", "# Forge\n\nThe smith hammers iron on the anvil.\n");
    project.settle();
    project.until("floats of what was saved", is_done);
    assert_eq!(first(&mut project, "hammering iron"), "forge.md");
    project.remove("forge.md");
    project.remove("mill.md");
    project.settle();

    hold_as(&mut project, "int8");
    assert_eq!(answers(&mut project), as_bytes);
    assert_eq!(project.status()["embedding"], Value::Null);
}

#[test]
fn a_precision_that_there_is_not_is_refused() {
    let mut project = TestProject::empty();
    project.write("note.md", "# Note\n\nThe pump hums at night.\n");
    project.set("vectors.precision=int4");
    let ended = project.try_start().expect_err("refused");
    assert!(ended.log.contains("vectors.precision"), "{}", ended.log);
}
