//! Another version or other settings: the old index answers until the new one is complete.

use std::fs;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use rusqlite::Connection;
use serde_json::{Value, json};
use tests::TestProject;

/// Creates a project with so many documents that a question can be asked before the new index is
/// built.
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

/// Asks for a document that an empty index would not have; returns the reply.
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
    // The daemon dies while it builds the new index; the next one continues the build.
    project.set_environment("KG_FAIL", "commit.document@60");
    let ended = project.command().output().expect("it runs");
    assert!(ended.status.code().is_none(), "it was killed: {ended:?}");
    assert!(next_index(&project).exists() && project.paths().index.exists());

    project.set_environment("KG_FAIL", "");
    project.start();
    let mut n_before = 0;
    loop {
        let reply = ask(&mut project, 119);
        let building = reply["building"].as_str().unwrap_or_default().to_string();
        if !building.contains("the index before") {
            break;
        }
        n_before += 1;
        assert!(building.starts_with("rebuilding, "), "{building}");
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

/// Returns the ledger's rows that cannot be derived from the files, one per line.
fn kept(ledger: &Path) -> Vec<String> {
    let db = Connection::open(ledger).expect("opens");
    let tables = [
        ("documents", "path || ' ' || uid || ' ' || first_seen_ms"),
        ("ingested", "uid || ' ' || tags"),
        ("decisions", "key || ' ' || verdict || ' ' || decided_ms"),
        ("memory_events", "at_ms || ' ' || client || ' ' || operation || ' ' || node"),
        ("memory_ordinals", "uid || ' ' || highest"),
        ("kb_sequence", "last"),
        ("kb_versions", "entry || ' ' || version || ' ' || at_ms || ' ' || reason || ' ' || text"),
        ("kb_accesses", "entry || ' ' || at_ms"),
    ];
    let mut rows = Vec::new();
    for (table, columns) in tables {
        let sql = format!("SELECT '{table} ' || {columns} FROM {table}");
        let mut statement = db.prepare(&sql).expect("sound");
        let found = statement.query_map([], |row| row.get::<_, String>(0)).expect("rows");
        let n_before = rows.len();
        rows.extend(found.map(|row| row.expect("a row")));
        assert!(rows.len() > n_before, "{table} is empty");
    }
    rows.sort();
    rows
}

/// Puts the folder and the state of an earlier kgd in place: index 17, ledger 7. (Its copies of
/// replaced notes are left out, since they expire after 30 days.)
fn left_by_an_earlier_version() -> TestProject {
    let project = TestProject::empty();
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/state-17");
    for path in [
        "Key Vault.md",
        "Signing Service.md",
        "log.txt",
        "kb/kb-00001-rotation-of-keys.md",
        "memory/ada-lindqvist.md",
    ] {
        project.write(path, fs::read(fixture.join("notes").join(path)).expect("committed"));
    }
    project.paths().create_dirs().expect("made");
    for name in ["index.sqlite", "ledger.sqlite", "vectors.sqlite"] {
        let packed = fs::File::open(fixture.join("state").join(format!("{name}.gz")));
        let mut file = fs::File::create(project.paths().dir.join(name)).expect("made");
        std::io::copy(&mut GzDecoder::new(packed.expect("committed")), &mut file).expect("whole");
    }
    project
}

#[test]
fn a_state_folder_of_an_earlier_version_is_taken_on_without_loss() {
    let mut project = left_by_an_earlier_version();
    let before = kept(&project.paths().ledger);
    project.start();
    project.settle();
    assert_eq!(kept(&project.paths().ledger), before);
    assert!(project.paths().ledger.with_file_name("ledger.sqlite.v7").exists(), "a copy is kept");
    // Rejected items stay rejected, and tagged documents are found by tag.
    let listed = project.call("review_links", json!({"below": 1.0, "limit": 100}));
    assert_eq!(listed["items"], json!([]));
    let tagged = project.call("hybrid_query", json!({"q": "restarted", "tags": ["ops"]}));
    assert_eq!(tagged["chunks"][0]["path"], "log.txt", "{tagged}");
    let versions = json!({"action": "entry_versions", "entry_id": "kb-00001"});
    let versions = project.call("kb_maintain", versions).to_string();
    assert!(versions.contains("audit"), "{versions}");
    let history = project.call("memory_report", json!({"history": 10}));
    assert_eq!(history["history"][0]["name"], "Ada Lindqvist", "{history}");
    // Stored texts are searched for secrets after an upgrade, during which nothing can be verified.
    while !project.log().contains("removed secrets that older detectors had missed") {
        project.status();
    }
    project.verify("after the upgrade");
    let mut doctor = project.kgctl();
    let output = doctor.arg("--project").arg(project.root()).args(["doctor", "--json"]).output();
    let output = output.expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && !text.contains("\"bad\""), "{text}");
    project.restart();
    project.settle();
    assert_eq!(kept(&project.paths().ledger), before, "nor after a restart");
}
