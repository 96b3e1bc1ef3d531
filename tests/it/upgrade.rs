//! Another version or other settings: the index before answers until the new one is whole.

use std::path::PathBuf;

use rusqlite::Connection;
use serde_json::{Value, json};
use tests::TestProject;

/// Enough documents that a new index is not built before a question can be asked.
fn library() -> TestProject {
    let mut project = TestProject::empty();
    for i in 0..120 {
        let text = format!(
            "# Station {i}\n\nStation {i} depends on [[Station {}]]. The word is qzword{i}.\n\n\
             ## Log\n\nThe **storm drain** of Station {i} was cleaned by Ada Lindqvist.\n",
            (i + 1) % 120
        );
        project.write(&format!("s{}/station-{i}.md", i % 9), text);
    }
    project.start();
    project.settle();
    project
}

fn next_index(project: &TestProject) -> PathBuf {
    project.paths().index.with_file_name("index.next.sqlite")
}

/// The reply to a question after a document that an empty index would not have.
fn ask(project: &mut TestProject, i: u32) -> Value {
    let reply = project.call("hybrid_query", json!({"q": format!("qzword{i}"), "formula": "text"}));
    let path = format!("s{}/station-{i}.md", i % 9);
    assert_eq!(reply["chunks"][0]["path"], path, "{reply:#}");
    reply
}

#[test]
fn the_index_before_answers_while_another_is_built_and_a_kill_costs_only_time() {
    let mut project = library();
    let tick = project.status()["tick"].as_u64().expect("a tick");
    project.stop();
    project.set("chunk.max_tokens=60");
    project.set("chunk.min_tokens=10");
    project.set("chunk.overlap_tokens=10");
    // Dies while it builds the new one: what there is of that is gone on with.
    project.set_environment("KG_FAIL", "commit.document@60");
    let ended = project.command().output().expect("it runs");
    assert!(ended.status.code().is_none(), "it was killed: {ended:?}");
    assert!(next_index(&project).exists() && project.paths().index.exists());

    project.set_environment("KG_FAIL", "");
    project.start();
    let mut n_before = 0;
    loop {
        let reply = ask(&mut project, 119);
        let says = reply["building"].as_str().unwrap_or_default().to_string();
        if !says.contains("the index before") {
            break;
        }
        n_before += 1;
        assert!(says.starts_with("rebuilding, "), "{says}");
        assert_eq!(reply["tick"], tick, "the index before stands still");
        assert_eq!(project.status()["settled"], false);
    }
    assert!(n_before > 0, "it answered while the new one was built");
    project.settle();
    assert!(!next_index(&project).exists());
    assert!(ask(&mut project, 119)["tick"].as_u64() > Some(tick), "ticks go on");
    project.verify("after the upgrade");
}

#[test]
fn an_index_of_another_shape_is_moved_aside_and_its_ledger_kept() {
    let mut project = library();
    let uids = |project: &TestProject| -> String {
        let db = Connection::open(&project.paths().ledger).expect("opens");
        let sql = "SELECT group_concat(path || uid ORDER BY path) FROM documents";
        db.query_row(sql, [], |row| row.get(0)).expect("uids")
    };
    let before = uids(&project);
    project.stop();
    let db = Connection::open(&project.paths().index).expect("opens");
    db.execute("UPDATE meta SET value = '1/other' WHERE key = 'made_by'", []).expect("written");
    drop(db);
    project.start();
    project.settle();
    ask(&mut project, 7);
    assert!(project.paths().index.with_file_name("index.sqlite.old").exists());
    assert_eq!(uids(&project), before);
    project.verify("after a change of the tables");
}
