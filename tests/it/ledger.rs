//! Data that files cannot hold: stored, migrated, backed up and restored; and files that fail,
//! counted and retried.

use std::fs;
use std::path::{Path, PathBuf};

use expect_test::{Expect, expect};
use rusqlite::Connection;
use serde_json::{Value, json};
use tests::TestProject;

const NOTES: &[(&str, &str)] = &[
    ("Signing Service.md", "# Signing Service\n\nThe Signing Service depends on the Key Vault.\n"),
    ("Key Vault.md", "# Key Vault\n\nThe Key Vault keeps keys.\n"),
    ("log.txt", "The Signing Service was restarted.\n"),
];

/// A project of the notes with everything that a ledger stores: uids, tags, and a decision.
fn decided() -> (TestProject, Value) {
    let mut project = TestProject::of(NOTES);
    project.call("ingest_docs", json!({"paths": ["log.txt"], "tags": ["ops", "log"]}));
    let listed = project.call("review_links", json!({"below": 1.0, "limit": 100}));
    let items = listed["items"].as_array().expect("items").clone();
    let item =
        items.iter().find(|item| item["claim"] == "`Signing Service` depends_on `Key Vault`");
    let key = item.unwrap_or_else(|| panic!("not listed: {items:#?}"))["key"].clone();
    assert_eq!(project.call("review_links", json!({"reject": [key]}))["decided"], 1);
    project.settle();
    (project, key)
}

/// Returns the uids of documents, by path, from the ledger.
fn uids(project: &TestProject) -> Vec<String> {
    let db = Connection::open(&project.paths().ledger).expect("opens");
    let mut statement = db
        .prepare("SELECT path || ' ' || uid FROM documents WHERE gone_ms IS NULL ORDER BY path")
        .expect("sound");
    let rows = statement.query_map([], |row| row.get(0)).expect("rows");
    rows.collect::<Result<_, _>>().expect("rows")
}

fn version(ledger: &Path) -> u32 {
    let db = Connection::open(ledger).expect("opens");
    db.query_row("PRAGMA user_version", [], |row| row.get(0)).expect("a number")
}

/// Runs a `kgctl` command; returns exit code, output, errors.
fn kgctl(project: &TestProject, arguments: &[&str]) -> (i32, String, String) {
    let output = project
        .kgctl()
        .arg("--project")
        .arg(project.root())
        .args(arguments)
        .output()
        .expect("it runs");
    let text = |bytes: &[u8]| {
        String::from_utf8_lossy(bytes)
            .replace(&project.scratch().display().to_string(), "<scratch>")
    };
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

/// Runs a daemon that must not start; returns its message.
fn refusal(project: &TestProject) -> String {
    let output = project.command().output().expect("it runs");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let text = String::from_utf8_lossy(&output.stderr);
    let own = text.find("kgd: ").map_or(&text[..], |at| &text[at..]);
    own.replace(&project.paths().dir.display().to_string(), "<state>")
}

#[test]
fn a_ledger_of_the_first_release_is_migrated_also_when_each_step_is_cut_short() {
    let mut project = TestProject::empty();
    for (path, text) in NOTES {
        project.write(path, text);
    }
    project.paths().create_dirs().expect("made");
    let ledger = project.paths().ledger.clone();
    let db = Connection::open(&ledger).expect("opens");
    db.execute_batch(
        "CREATE TABLE documents(path TEXT PRIMARY KEY, uid TEXT NOT NULL UNIQUE, hash BLOB NOT NULL,
           first_seen_ms INTEGER NOT NULL, gone_ms INTEGER) WITHOUT ROWID;
         CREATE INDEX documents_gone ON documents(hash) WHERE gone_ms IS NOT NULL;
         CREATE TABLE ingested(uid TEXT PRIMARY KEY, tags TEXT NOT NULL, source_url TEXT) WITHOUT ROWID;
         CREATE TABLE decisions(key TEXT PRIMARY KEY, verdict INTEGER NOT NULL, decided_ms INTEGER NOT NULL)
           WITHOUT ROWID;
         INSERT INTO documents VALUES('log.txt', '00c0ffee00c0ffee', x'00000000000000000000000000000000', 5, NULL);
         INSERT INTO ingested VALUES('00c0ffee00c0ffee', '[\"ops\"]', NULL);",
    )
    .expect("made");
    drop(db);
    for done in 1..=3 {
        let ended = project.command().env("KG_FAIL", "migrate.step").output().expect("it runs");
        assert_eq!(ended.status.code(), None, "it was killed: {ended:?}");
        assert_eq!(version(&ledger), done);
    }
    project.start();
    project.settle();
    assert!(
        uids(&project).contains(&"log.txt 00c0ffee00c0ffee".to_string()),
        "{:?}",
        uids(&project)
    );
    let graph = project.dump();
    let log = graph.rows("document").find(|row| row["path"] == "log.txt").expect("indexed");
    assert_eq!(log["tags"], json!(["ops"]), "{log}");
    assert_eq!(version(&ledger.with_file_name("ledger.sqlite.v0")), 0);
}

#[test]
fn a_newer_ledger_is_refused_and_nothing_is_written() {
    let (mut project, _) = decided();
    project.stop();
    let ledger = project.paths().ledger.clone();
    let db = Connection::open(&ledger).expect("opens");
    db.execute_batch("PRAGMA user_version = 99").expect("written");
    drop(db);
    let (before, index) =
        (fs::read(&ledger).expect("read"), fs::read(&project.paths().index).expect("read"));
    expect![[r#"
        kgd: the ledger `<state>/ledger.sqlite` has version 99, this kgd knows versions up to 10
        hint: install the newer kgd again
    "#]]
    .assert_eq(&refusal(&project));
    assert!(
        fs::read(&ledger).expect("read") == before
            && fs::read(&project.paths().index).expect("read") == index
    );
}

#[test]
fn a_backup_made_while_the_daemon_works_brings_everything_back() {
    let (mut project, key) = decided();
    let (before, known) = (project.dump().text(), uids(&project));
    let copy = project.scratch().join("copy.sqlite");
    let (code, out, err) = kgctl(&project, &["backup", "copy.sqlite"]);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("1 decisions, 3 documents, 1 ingested"), "{out}");
    let (code, _, err) = kgctl(&project, &["backup", "copy.sqlite"]);
    expect![[r#"
        error: `<scratch>/copy.sqlite` exists already
        hint: give another name, or `--force` to replace it
    "#]]
    .assert_eq(&err);
    assert_eq!(code, 2);
    assert_eq!(kgctl(&project, &["backup", "copy.sqlite", "--force"]).0, 0);

    project.stop();
    fs::remove_file(&project.paths().ledger).expect("it was there");
    fs::write(project.paths().ledger.with_extension("sqlite-wal"), "left over").expect("written");
    let (code, out, err) = kgctl(&project, &["backup", "--restore", "copy.sqlite"]);
    assert_eq!(code, 0, "{err}");
    assert!(
        out.contains(
            "was restored; 0 breakers, 0 change_marks, 1 change_state, 0 changes, 1 days_seen, 1 decisions, 3 documents, 1 ingested"
        ),
        "{out}"
    );
    assert!(copy.exists());
    project.start();
    project.settle();
    assert_eq!(uids(&project), known);
    assert_eq!(project.dump().text(), before);
    let is_listed = |project: &mut TestProject| {
        let listed = project.call("review_links", json!({"below": 1.0, "limit": 100}));
        listed["items"].as_array().expect("items").iter().any(|item| item["key"] == key)
    };
    assert!(!is_listed(&mut project), "the decision is in force");
    assert_eq!(project.call("review_links", json!({"undo": [key]}))["decided"], 1);
    assert!(is_listed(&mut project));
}

/// Stops a daemon that `kgctl` has started, even if the test fails.
struct Started<'a>(&'a TestProject);

impl Drop for Started<'_> {
    fn drop(&mut self) {
        kgctl(self.0, &["stop"]);
    }
}

#[test]
fn a_restore_stops_a_running_daemon_and_starts_it_again() {
    let (mut project, _) = decided();
    let copy = project.call("backup", json!({}))["path"].as_str().expect("a path").to_string();
    let listed = project.call("review_links", json!({"below": 1.0, "limit": 100}));
    project.write("new.md", "# New\n\nThe Key Vault has a door.\n");
    project.settle();
    let (code, out, err) = {
        let done = kgctl(&project, &["backup", "--restore", &copy, "--json"]);
        assert!(project.wait_for_end().status.success());
        done
    };
    let _guard = Started(&project);
    assert_eq!(code, 0, "{err}");
    let reply: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(reply["rows"]["documents"], 3);
    assert!(
        reply["kept"].as_str().is_some_and(|kept| kept.ends_with("/ledger.sqlite.before-restore")),
        "{reply}"
    );
    assert_eq!(kgctl(&project, &["--no-start", "wait"]).0, 0, "it runs again");
    let (_, out, _) =
        kgctl(&project, &["--no-start", "--json", "review", "--below", "1", "--limit", "100"]);
    let again: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(again["items"].as_array().map(Vec::len), listed["items"].as_array().map(Vec::len));
    // A file that is not a backup does not affect the daemon.
    let (code, _, err) = kgctl(&project, &["backup", "--restore", "notes/log.txt"]);
    assert_eq!(code, 2, "{err}");
    assert!(
        err.contains(
            "`<scratch>/notes/log.txt` is not a backup: it is not an SQLite database\nhint: "
        ),
        "{err}"
    );
    let (code, _, err) =
        kgctl(&project, &["backup", "--restore", project.paths().index.to_str().expect("text")]);
    assert_eq!(code, 1, "{err}");
    assert!(err.contains("is not a ledger: it has no table `decisions`\nhint: "), "{err}");
    assert_eq!(kgctl(&project, &["--no-start", "wait"]).0, 0, "it runs again");
}

#[test]
fn a_damaged_ledger_stops_the_start_and_names_the_way_back() {
    let (mut project, _) = decided();
    let before = project.dump().text();
    let copy = project.call("backup", json!({}))["path"].as_str().expect("a path").to_string();
    project.stop();
    let ledger = project.paths().ledger.clone();
    let mut bytes = fs::read(&ledger).expect("read");
    let middle = 4096..bytes.len();
    bytes[middle].fill(0x5a);
    fs::write(&ledger, &bytes).expect("written");
    let message = refusal(&project);
    let name = Path::new(&copy).file_name().expect("a name").to_string_lossy();
    let root = project.root().display();
    let wanted = format!(
        "hint: the newest full backup is `<state>/backups/{name}`; `kgctl backup --restore <state>/backups/{name} \
         --project {root}` puts it back"
    );
    assert!(
        message.contains("the ledger `<state>/ledger.sqlite` is damaged: ")
            && message.contains(&wanted),
        "{message}"
    );
    assert_eq!(fs::read(&ledger).expect("read"), bytes, "nothing is written to it");
    // The message reaches the user of the project.
    let (code, _, err) = kgctl(&project, &["status"]);
    assert!(code == 4 && err.contains("is damaged") && err.contains("--restore"), "{err}");
    assert_eq!(kgctl(&project, &["backup", "--restore", &copy]).0, 0);
    project.start();
    project.settle();
    assert_eq!(project.dump().text(), before);
}

#[test]
fn a_lost_ledger_gets_the_uids_of_the_index() {
    let (mut project, _) = decided();
    let known = uids(&project);
    project.stop();
    fs::remove_file(&project.paths().ledger).expect("it was there");
    project.start();
    project.settle();
    assert_eq!(uids(&project), known);
}

/// Returns the files that failed, as `checkup` lists them.
fn failed(project: &mut TestProject) -> String {
    let reply = project.call("checkup", json!({}));
    assert_eq!((&reply["index"], &reply["ledger"]), (&json!("ok"), &json!("ok")));
    let line = |it: &Value| {
        let skipped = if it["skipped"] == true { ", skipped" } else { "" };
        let text = |field: &str| it[field].as_str().unwrap_or_default().to_string();
        format!(
            "{} {} {}{skipped}: {}\n",
            text("path"),
            text("stage"),
            it["failures"],
            text("reason")
        )
    };
    reply["failed"].as_array().expect("a list").iter().map(line).collect()
}

fn check_failed(project: &mut TestProject, expected: Expect) {
    expected.assert_eq(&failed(project));
}

#[test]
fn a_file_that_fails_three_times_is_left_alone_until_it_changes() {
    let mut project = TestProject::of(NOTES);
    project.write("binary.txt", b"\0\x01\x02data\0\0".repeat(1000));
    project.settle();
    for expected in ["1", "2", "3, skipped", "3, skipped", "3, skipped"] {
        let wanted = format!(
            "binary.txt normalize {expected}: \
             binary content in a text file; hint: rename it or list it in `.kgignore`\n"
        );
        assert_eq!(failed(&mut project), wanted);
        project.restart();
        project.settle();
    }
    assert!(project.log().contains("skipped from now on, until it changes"), "{}", project.log());
    let tick = project.status()["tick"].clone();
    project.restart();
    project.settle();
    assert_eq!(project.status()["tick"], tick, "nothing is tried, nothing is written");
    // A rescan skips it, too; the same content with another time is not a change.
    let file = fs::File::options().append(true).open(project.at("binary.txt")).expect("ours");
    project.stop();
    file.set_modified(std::time::SystemTime::UNIX_EPOCH).expect("ours");
    project.start();
    project.call("rescan", json!({}));
    project.settle();
    assert_eq!(project.status()["tick"], tick);
    // Changed content is tried, and counted from one.
    project.stop();
    project.write("binary.txt", b"\0\x01\x03data\0\0".repeat(1000));
    project.start();
    project.settle();
    assert!(
        failed(&mut project).starts_with("binary.txt normalize 1: "),
        "{}",
        failed(&mut project)
    );
    project.write("binary.txt", "Now a text about quinces.\n");
    project.settle();
    check_failed(&mut project, expect![""]);
    assert_eq!(project.found("quinces")[0], "binary.txt");
}

#[test]
fn a_failed_file_that_goes_while_no_daemon_runs_is_forgotten() {
    let mut project = TestProject::of(NOTES);
    project.write("binary.txt", b"\0\x01\x02data\0\0".repeat(1000));
    project.settle();
    project.stop();
    project.remove("binary.txt");
    project.start();
    project.settle();
    check_failed(&mut project, expect![""]);
    assert_eq!(project.status()["quarantine"], json!([]));
}

#[test]
fn a_file_that_cannot_be_read_is_counted_in_the_ledger_and_tried_again_when_asked() {
    let mut project = TestProject::of(NOTES);
    project.stop();
    project.write("sub/refused.md", "# Refused\n\nA heron waits.\n");
    project.set_environment("KG_FAIL", "read.refused=1");
    for _ in 0..4 {
        project.start();
        project.settle();
        project.stop();
    }
    // The ledger has the count, so it survives a rebuild of the index.
    project.lose_index();
    project.start();
    project.settle();
    check_failed(
        &mut project,
        expect![[r#"
            sub/refused.md watch 3, skipped: `sub/refused.md` cannot be read: Input/output error (os error 5); it is tried again later
        "#]],
    );
    let (code, out, _) = kgctl(&project, &["retry", "notes/sub"]);
    assert_eq!(code, 1);
    expect![[r#"
        failed sub/refused.md (watch): `sub/refused.md` cannot be read: Input/output error (os error 5); it is tried again later
    "#]]
    .assert_eq(&out);
    assert!(
        failed(&mut project).starts_with("sub/refused.md watch 1: "),
        "{}",
        failed(&mut project)
    );
    project.set_environment("KG_FAIL", "");
    // Nothing about the file shows that it can be read now.
    project.stop();
    project.start();
    let (code, out, err) = kgctl(&project, &["retry", "--all"]);
    assert!(
        code == 0 && (out == "indexed sub/refused.md\n" || out == "nothing has failed\n"),
        "{out}{err}"
    );
    project.settle();
    assert_eq!(project.found("heron waits")[0], "sub/refused.md");
    check_failed(&mut project, expect![""]);
    let (code, _, err) = kgctl(&project, &["retry", "log.txt"]);
    assert_eq!(code, 3);
    expect![[r#"
        error: nothing failed at `log.txt`
        hint: `kgctl doctor --project <scratch>/notes` lists what failed; `kgctl ingest PATH --force --project <scratch>/notes` indexes any file anew
    "#]]
    .assert_eq(&err);
}

#[test]
fn a_rescan_finds_what_nobody_reported() {
    let mut project = TestProject::empty();
    project.set("watch.poll=true");
    project.set("watch.poll_interval_ms=3600000");
    project.write("a.md", "# A\n\nA heron.\n");
    project.start();
    project.settle();
    assert_eq!(project.call("rescan", json!({}))["commits"], 0);
    project.write("b.md", "# B\n\nAn egret.\n");
    let reply = project.call("rescan", json!({}));
    assert!(reply["commits"].as_u64() > Some(0) && reply["files"] == 2, "{reply}");
    assert_eq!(project.found("egret")[0], "b.md");
    // The deep pass commits, too.
    project.settle();
    let (code, out, _) = kgctl(&project, &["rescan"]);
    assert!(
        code == 0
            && out.starts_with("notes: 2 files compared in ")
            && out.ends_with("nothing had changed\n")
    );
}

#[test]
fn a_full_rescan_finds_a_change_that_size_and_time_do_not_tell() {
    let mut project = TestProject::of(NOTES);
    let path = project.at("log.txt");
    let time = path.metadata().and_then(|it| it.modified()).expect("a time");
    project.stop();
    let (old, new) = (NOTES[2].1, "The Signing Service was re-opened.\n");
    assert_eq!(old.len(), new.len());
    project.write("log.txt", new);
    fs::File::options()
        .append(true)
        .open(&path)
        .and_then(|it| it.set_modified(time))
        .expect("ours");
    project.start();
    let opened = |project: &mut TestProject| {
        project.call("wait", json!({}));
        let reply = project.call("hybrid_query", json!({"q": "opened", "formula": "text"}));
        reply["chunks"].as_array().map(Vec::len)
    };
    assert_eq!(kgctl(&project, &["rescan"]).0, 0);
    assert_eq!(opened(&mut project), Some(0), "nothing tells of it");
    let (code, out, err) = kgctl(&project, &["rescan", "--full"]);
    assert!(
        code == 0 && out.contains("3 files compared") && out.contains("indexed in"),
        "{out}{err}"
    );
    assert_eq!(opened(&mut project), Some(1));
}

#[test]
fn verify_says_that_the_index_is_what_the_files_say() {
    let (project, _) = decided();
    let (code, out, err) = kgctl(&project, &["verify"]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.starts_with("notes  same: ") && out.contains("PART"), "{out}");
}

#[test]
fn doctor_looks_into_the_databases_and_lists_what_failed() {
    let mut project = TestProject::of(NOTES);
    project.write("binary.txt", b"\0\x01\x02data\0\0".repeat(1000));
    project.settle();
    let (code, out, err) = kgctl(&project, &["doctor", "--json"]);
    assert_eq!(code, 0, "{out}{err}");
    let found: Vec<Value> = serde_json::from_str(&out).expect("JSON");
    let of = |subject: &str, verdict: &str| -> Vec<String> {
        let rows = found.iter().filter(|it| it["subject"] == subject && it["verdict"] == verdict);
        rows.map(|it| it["detail"].as_str().expect("text").to_string()).collect()
    };
    assert!(of("index", "good").contains(&"undamaged".to_string()), "{out}");
    assert!(of("ledger", "good")[0].starts_with("undamaged, version 10; no backup yet"), "{out}");
    assert_eq!(of("watching", "good"), ["by events"]);
    assert!(of("memory", "good")[0].contains(" private, the rest mapped files; peak "), "{out}");
    let documents = of("document", "warning");
    assert!(
        documents
            .iter()
            .any(|it| it.contains("`binary.txt` failed in normalize") && it.contains("1 failure"))
    );

    let path: PathBuf = project.paths().ledger.clone();
    project.stop();
    let db = Connection::open(&path).expect("opens");
    db.execute_batch(
        "PRAGMA writable_schema = 1; DELETE FROM sqlite_schema WHERE name = 'documents_gone'",
    )
    .expect("spoilt");
    drop(db);
    let message = refusal(&project);
    assert!(
        message.contains("is damaged: ") && message.contains("\nhint: there is no backup of it; "),
        "{message}"
    );
}
