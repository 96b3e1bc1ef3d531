//! Entries from files, what is never stored of them, and maintenance.

use serde_json::{Value, json};
use tests::{TestProject, all};

use crate::kb::{found, get, queue, store, write_old};

#[test]
fn files_become_entries_and_again_when_they_change() {
    let mut project = TestProject::empty();
    project.set("kb.max_ingest_bytes=1000");
    project.start();
    let guide = "---\ntags: [ops]\n---\n# Guide\n\nThe guide tells how the shop is run from day to day.\n\n\
                 ## Why green\n\nWe decided on green instead of red because red is taken by the others.\n";
    project.write("docs/guide.md", guide);
    project.write(
        "docs/deep/run.sh",
        "#!/bin/sh\n# Rotates the keys of all hosts every night at two.\nset -e\n",
    );
    project.write("docs/.env", "PASSWORD=x\n");
    project.write("docs/id_rsa", "nothing secret but the name is\n");
    project.write("docs/picture.png", [0_u8, 1, 2]);
    project.write(
        "docs/leak.md",
        format!(
            "# Leak\n\nThe token is gh{} and more.\n",
            "p_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
        ),
    );
    // Only its format shows what it announces.
    project.write("docs/marked.md", "# Marked\n\nPassw&#111;rd: Tr0ub4dor3\n");
    project.write("docs/big.md", "More words than are read. ".repeat(100));
    project.settle();
    let actions = |reply: &Value| -> Vec<String> {
        let files = reply["files"].as_array().expect("files").clone();
        files.iter().map(|it| format!("{} {}", it["path"], it["action"]).replace('"', "")).collect()
    };
    let dry =
        project.call("kb_ingest", json!({"path": "docs", "dry_run": true, "project_ref": "shop"}));
    assert_eq!(
        actions(&dry),
        [
            "docs/.env skipped",
            "docs/big.md skipped",
            "docs/deep/run.sh dry_run",
            "docs/guide.md dry_run",
            "docs/id_rsa skipped",
            "docs/leak.md flagged",
            "docs/marked.md flagged",
            "docs/picture.png skipped"
        ]
    );
    assert_eq!(
        (&dry["entries_created"], &dry["flagged"], &dry["skipped"]),
        (&json!(3), &json!(2), &json!(4))
    );
    assert!(!project.at("kb").exists(), "nothing is written in a dry run");

    let flat = project
        .call("kb_ingest", json!({"path": "docs", "recursive": false, "project_ref": "shop"}));
    assert_eq!((&flat["ingested"], &flat["entries_created"]), (&json!(1), &json!(2)));
    let guided = flat["files"]
        .as_array()
        .expect("files")
        .iter()
        .find(|it| it["action"] == "ingested")
        .expect("one");
    assert_eq!(guided["summary"], "The guide tells how the shop is run from day to day.");
    assert_eq!(all(&guided["entries"], "entry_type"), ["factual_reference", "decision"]);
    let entry = get(&mut project, "kb-00002");
    assert_eq!(
        (&entry["short_title"], &entry["long_title"]),
        (&json!("Why green"), &json!("Guide › Why green"))
    );
    assert_eq!((&entry["tags"], &entry["project_ref"]), (&json!(["ops"]), &json!("shop")));
    let near = project.call(
        "kb_ask",
        json!({"question": "x", "strategy": "related", "scope": "note:docs/guide.md"}),
    );
    assert_eq!(all(&near["entries"], "id"), ["kb-00001", "kb-00002"]);

    let again = project.call("kb_ingest", json!({"path": "docs/guide.md"}));
    assert_eq!((&again["unchanged"], &again["entries_created"]), (&json!(1), &json!(0)));
    project.write("docs/guide.md", guide.replace("red is taken", "red is loud"));
    let again = project.call("kb_ingest", json!({"path": "docs/*.md"}));
    let guided = again["files"]
        .as_array()
        .expect("files")
        .iter()
        .find(|it| it["action"] == "ingested")
        .expect("one");
    assert_eq!(guided["replaced"], json!(["kb-00001", "kb-00002"]));
    assert_eq!(all(&guided["entries"], "id"), ["kb-00003", "kb-00004"]);
    let opened = project.call("kb_get", json!({"entry_id": ["kb-00002", "kb-00004"]}));
    assert_eq!(opened["not_found"], json!(["kb-00002"]));
    let versions =
        project.call("kb_maintain", json!({"action": "entry_versions", "entry_id": "kb-00002"}));
    assert_eq!(
        all(&versions["versions"], "change_reason"),
        [
            "Ingested from `docs/guide.md`",
            "Replaced: `docs/guide.md` has changed and was ingested again"
        ]
    );
    let stats = project.call("kb_maintain", json!({"action": "stats"}))["stats"].clone();
    assert_eq!(
        (&stats["entries"], &stats["active"], &stats["ingested_files"]),
        (&json!(4), &json!(2), &json!(1))
    );
    assert_eq!(stats["edges"]["extracted_from"], 2);
    project.verify("ingested entries");
}

#[test]
fn personal_data_is_hidden_in_entries_where_the_settings_say_so() {
    let mut project = TestProject::empty();
    project.set("privacy.pii=redact");
    project.write(
        "contact.md",
        "# Contact\n\nWrite to ada@lovelace.org when the pumps of the cellar stop again.\n",
    );
    project.start();
    project.settle();
    let done = project.call("kb_ingest", json!({"path": "contact.md"}));
    assert_eq!(done["files"][0]["redactions"], json!(["email"]), "{done}");
    let entry = get(&mut project, "kb-00001");
    assert_eq!(
        entry["knowledge_details"],
        "Write to (email hidden) when the pumps of the cellar stop again."
    );
    assert!(!project.text("kb/kb-00001-contact.md").contains("lovelace"));
}

#[test]
fn upkeep_counts_purges_and_reads_again() {
    let mut project = queue();
    let stats = project.call("kb_maintain", json!({"action": "stats"}))["stats"].clone();
    assert_eq!(
        stats["by_type"],
        json!({"decision": 2, "factual_reference": 1, "pattern_convention": 1})
    );
    assert_eq!((&stats["by_project"], &stats["with_embeddings"]), (&json!({"shop": 2}), &json!(4)));
    assert_eq!(stats["edges"]["supersedes"], 1);
    let message = |project: &mut TestProject, request: Value| {
        project.call("kb_maintain", request)["message"].as_str().expect("words").to_string()
    };
    assert_eq!(
        message(&mut project, json!({"action": "rebuild_embeddings"})),
        "every entry has its vectors"
    );
    let forced = json!({"action": "rebuild_embeddings", "force": true});
    assert_eq!(message(&mut project, forced), "4 entries were read again, 0 of them failed");
    let graph = message(&mut project, json!({"action": "rebuild_graph"}));
    assert!(graph.starts_with("the graph was read again from 4 entries"), "{graph}");
    assert!(message(&mut project, json!({"action": "vacuum"})).starts_with("nothing to do"));
    // An entry deactivated long ago is purged; one deactivated today is not.
    write_old(
        &project,
        "kb/kb-00030-old.md",
        "---\nid: kb-00030\ntitle: Old\nactive: false\n---\nOld news.\n",
        200,
    );
    project.settle();
    project.call("kb_maintain", json!({"action": "deactivate", "entry_id": "kb-00004"}));
    let purged = project.call("kb_maintain", json!({"action": "purge_inactive", "confirm": true}));
    assert_eq!(purged["purged"], json!(["kb-00030"]));
    assert!(
        !project.at("kb/kb-00030-old.md").exists()
            && project.at("kb/kb-00004-colour-of-the-logo.md").exists()
    );
    assert_eq!(store(&mut project, "Next", "No number is given twice.", json!({})), "kb-00031");
    // A deleted note is restored from its versions.
    project.remove("kb/kb-00003-small-jobs.md");
    project.settle();
    let restored = project
        .call("kb_maintain", json!({"action": "restore", "entry_id": "kb-00003", "version": 1}));
    assert_eq!(restored["entry"]["short_title"], "Small jobs");
}

#[test]
fn a_read_only_project_tells_entries_and_keeps_none() {
    let mut project = TestProject::empty();
    project.set("write=false");
    project.write("kb/kb-00001-a.md", "---\nid: kb-00001\ntitle: A\n---\nThe moon is far away.\n");
    project.start();
    project.settle();
    assert_eq!(found(&mut project, "moon far away"), ["kb-00001"]);
    assert_eq!(get(&mut project, "kb-00001")["knowledge_details"], "The moon is far away.");
    let refused =
        project.try_call("kb_store", json!({"short_title": "x", "knowledge_details": "y"}));
    assert!(refused.is_err(), "{refused:?}");
}
