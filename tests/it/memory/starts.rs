//! Starts: the first call sees what changed while no daemon ran.
//!
//! The first crawl starts late in these tests, as it does in a large folder on a busy machine.

use serde_json::json;
use tests::{TestProject, all};

use super::people;

/// `KG_FAIL`: the first crawl starts this many milliseconds late.
const LATE: &str = "watch.opening_ms=3000";

/// Stops the daemon, changes the folder with `work`, and starts the daemon again.
fn away(project: &mut TestProject, work: impl FnOnce(&TestProject)) {
    let ended = project.stop();
    assert!(ended.status.success(), "{ended:?}");
    work(project);
    project.fail(LATE);
    project.start();
}

#[test]
fn an_entity_whose_note_was_deleted_meanwhile_is_not_there() {
    let mut project = people();
    away(&mut project, |project| project.remove("memory/ada-lovelace.md"));
    let opened = project.call("open_nodes", json!({"names": ["Ada Lovelace", "Charles Babbage"]}));
    assert_eq!(all(&opened["entities"], "name"), ["Charles Babbage"], "{opened}");
    assert_eq!(opened["not_found"], json!(["Ada Lovelace"]));
}

#[test]
fn what_is_made_anew_after_a_start_is_kept() {
    let mut project = people();
    away(&mut project, |project| project.remove("memory/ada-lovelace.md"));
    let entity =
        json!({"name": "Ada Lovelace", "entity_type": "person", "observations": ["Is back"]});
    let made = project.call("create_entities", json!({"entities": [entity]}));
    assert_eq!(all(&made["entities"], "name"), ["Ada Lovelace"], "{made}");
    project.settle();
    assert!(project.text("memory/ada-lovelace.md").contains("Is back"));
    let opened = project.call("open_nodes", json!({"names": ["Ada Lovelace"]}));
    assert_eq!(opened["entities"][0]["observations"][0]["content"], "Is back", "{opened}");
}

#[test]
fn entities_written_meanwhile_are_there_however_many() {
    let mut project = people();
    away(&mut project, |project| {
        for n in 0..300 {
            let text =
                format!("---\ntitle: Newcomer {n}\ntype: person\n---\n\n- Came by night {n}\n");
            project.write(&format!("memory/newcomer-{n}.md"), text);
        }
        project.remove("memory/charles-babbage.md");
    });
    let asked = ["Newcomer 7", "Newcomer 299", "Charles Babbage"];
    let opened = project.call("open_nodes", json!({"names": asked}));
    assert_eq!(all(&opened["entities"], "name"), ["Newcomer 7", "Newcomer 299"], "{opened}");
}

#[test]
fn an_entry_whose_note_was_deleted_meanwhile_is_not_there() {
    let mut project = people();
    let entry =
        |title: &str, details: &str| json!({"short_title": title, "knowledge_details": details});
    project.call("kb_store", entry("WAL mode", "Readers do not block the writer."));
    project
        .call("kb_store", entry("Checkpoints", "A checkpoint copies the log into the database."));
    away(&mut project, |project| project.remove("kb/kb-00001-wal-mode.md"));
    let found = project.call("kb_search", json!({"query": "do readers block the writer"}));
    assert!(!all(&found["results"], "id").contains(&"kb-00001"), "{found}");
    away(&mut project, |project| project.remove("kb/kb-00002-checkpoints.md"));
    let found = project.call("kb_get", json!({"entry_id": "kb-00002"}));
    assert_eq!(found["not_found"], json!(["kb-00002"]), "{found}");
}
