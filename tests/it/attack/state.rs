//! State: files that are deleted, replaced or damaged while the daemon runs.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use serde_json::{Value, json};
use tests::TestProject;

use super::writes;

/// Checks before a test gives up, after about a minute.
const LOOKS: u32 = 1_000;

/// The message of a loss, and the damage to a file that causes it.
type Damage = (&'static str, fn(&Path));

fn notes(n: u32) -> TestProject {
    let mut project = TestProject::empty();
    for i in 0..n {
        let text = format!("# Buoy {i}\n\nThe buoy zqbuoy{i} is anchored to pier {}.\n", i + 1);
        project.write(&format!("buoys/buoy-{i}.md"), text);
    }
    writes::plant(&project);
    project.start();
    project.settle();
    project
}

/// The files of a database.
fn files(path: &Path) -> [PathBuf; 3] {
    ["", "-wal", "-shm"].map(|suffix| PathBuf::from(format!("{}{suffix}", path.display())))
}

fn delete(path: &Path) {
    for file in files(path) {
        let _ = fs::remove_file(file);
    }
}

/// Replaces a file with another one that has the same bytes.
fn replace(path: &Path) {
    let copy = path.with_extension("copy");
    fs::copy(path, &copy).expect("copied");
    fs::rename(&copy, path).expect("replaced");
}

fn cut(path: &Path, n_bytes: u64) {
    File::options().write(true).open(path).and_then(|it| it.set_len(n_bytes)).expect("cut");
}

/// Returns what `status` reports as lost of a part, once that is noticed the `nth` time. Until then
/// a reply may be an error.
fn noticed(project: &mut TestProject, part: &str, nth: usize) -> String {
    for _ in 0..LOOKS {
        let status = project.try_call("status", json!({})).unwrap_or_default();
        if let Some(found) = lost(&status).iter().filter(|it| it["part"] == part).nth(nth) {
            return found["what"].as_str().expect("words").to_string();
        }
        let _ = project.try_call("wait", json!({"tick": u64::MAX, "timeout_ms": 50}));
    }
    panic!("nobody notices the loss of the {part}");
}

fn lost(status: &Value) -> Vec<Value> {
    status["mended"].as_array().cloned().unwrap_or_default()
}

/// Returns what `kgctl` prints.
fn kgctl(project: &TestProject, arguments: &[&str]) -> String {
    let mut command = project.kgctl();
    let output = command.arg("--project").arg(project.root()).args(arguments).output();
    let output = output.expect("it runs");
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

fn finds(project: &mut TestProject, word: &str) -> bool {
    let reply = project.try_call("hybrid_query", json!({"q": word, "k": 1, "formula": "text"}));
    reply.is_ok_and(|reply| reply["chunks"].to_string().contains(word))
}

#[test]
fn an_index_that_is_deleted_replaced_or_cut_is_built_again() {
    let mut project = notes(12);
    let index = project.paths().index.clone();
    let damages: [Damage; 4] = [
        ("was deleted", delete),
        ("was replaced", replace),
        ("was cut", |path| cut(path, 0)),
        ("-wal` was deleted", |path| fs::remove_file(&files(path)[1]).expect("a log")),
    ];
    for (i, (what, damage)) in damages.into_iter().enumerate() {
        damage(&index);
        let message = noticed(&mut project, "index", i);
        assert!(message.contains(what) && message.contains("built again"), "{what}: {message}");
        let word = format!("zqafter{i}x");
        project.write(&format!("after-{i}.md"), format!("# After\n\nThe word {word}.\n"));
        project.settle();
        assert!(finds(&mut project, "zqbuoy7") && finds(&mut project, &word), "{what}");
    }
    assert!(index.is_file(), "it is there again");
    let message = kgctl(&project, &["status"]);
    assert!(message.contains("built again from the files"), "{message}");
    project.verify("rebuilt under the running daemon");
    project.restart();
    project.settle();
    assert!(finds(&mut project, "zqafter3x"));
}

/// Returns the error of every tool that writes.
fn refusals(project: &mut TestProject) -> Vec<(&'static str, String)> {
    let refusal = |(tool, arguments)| {
        let error = writes::refusal(project, tool, arguments);
        assert_eq!(error["code"], "unavailable", "{tool}: {error}");
        (tool, format!("{}\nhint: {}", error["message"], error["hint"]))
    };
    writes::calls(&json!("link:a>b")).into_iter().map(refusal).collect()
}

fn contents(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        match entry.path() {
            path if path.is_dir() => all.extend(contents(&path)),
            path => all.push((path.clone(), fs::read_to_string(path).unwrap_or_default())),
        }
    }
    all.sort();
    all
}

#[test]
fn a_lost_ledger_stops_every_write_and_comes_back_whole() {
    let mut project = notes(6);
    project.call(
        "kb_store",
        json!({"short_title": "Rigging", "knowledge_details": "Zqrigging holds the mast."}),
    );
    writes::prepare(&mut project);
    let ledger = project.paths().ledger.clone();
    let before = contents(project.root());
    delete(&ledger);
    // At once, before the files are checked.
    for (tool, message) in refusals(&mut project) {
        assert!(message.contains("the ledger is lost"), "{tool}: {message}");
    }
    let message = noticed(&mut project, "ledger", 0);
    assert!(message.contains("was deleted"), "{message}");
    for (tool, message) in refusals(&mut project) {
        let names =
            message.contains("/backups/ledger-") && message.contains("kgctl backup --restore");
        assert!(message.contains("the ledger is lost") && names, "{tool}: {message}");
    }
    assert_eq!(contents(project.root()), before, "a refused write leaves nothing");
    // Reading continues, even of data that only the ledger has, and so does indexing.
    assert!(finds(&mut project, "zqbuoy2"));
    let entry = project.call("kb_get", json!({"ids": ["kb-00001"]}));
    assert!(entry.to_string().contains("Zqrigging"), "{entry}");
    project.write("late.md", "# Late\n\nThe word zqlatex.\n");
    project.settle();
    assert!(finds(&mut project, "zqlatex"));
    let status = project.status();
    assert!(
        status["writes_refused"]["hint"].as_str().is_some_and(|it| it.contains("--restore")),
        "{status}"
    );
    let message = kgctl(&project, &["doctor"]);
    assert!(
        message.contains("the ledger is lost") && message.contains("kgctl backup --restore"),
        "{message}"
    );
    assert!(kgctl(&project, &["status"]).contains("writes refused:"));

    let hint = status["writes_refused"]["hint"].as_str().expect("a hint").to_string();
    let backup = hint.split('`').nth(1).expect("a file").to_string();
    project.stop();
    let restored = project.command().args(["--restore", &backup]).output().expect("it runs");
    assert!(restored.status.success(), "{restored:?}");
    project.start();
    project.settle();
    // The version, which only the ledger has, was rescued from the open file.
    let versions =
        project.call("kb_maintain", json!({"action": "entry_versions", "entry_id": "kb-00001"}));
    assert!(versions.to_string().contains("Initial creation"), "{versions}");
    project.call("write_note", json!({"title": "New", "content": "x", "directory": "new"}));
}

/// An SQLite file in which `statement` was carried out, in the place of another.
fn made_by(path: &Path, statement: &str) {
    let made = Connection::open(path).and_then(|db| db.execute_batch(statement));
    made.expect("made");
}

#[test]
fn a_ledger_that_lost_what_it_held_while_no_daemon_ran_is_restored_and_that_is_said() {
    let mut project = notes(3);
    let entry = json!({"short_title": "Rigging", "knowledge_details": "Zqrigging holds the mast."});
    project.call("kb_store", entry);
    project.settle();
    let full = project.call("backup", json!({}))["path"].as_str().expect("a path").to_string();
    let versions = json!({"action": "entry_versions", "entry_id": "kb-00001"});
    let losses: [Damage; 5] = [
        ("it was missing at the start", delete),
        ("it was empty at the start", |ledger| {
            delete(ledger);
            fs::write(ledger, "").expect("written");
        }),
        ("it had no tables at the start", |ledger| {
            delete(ledger);
            made_by(ledger, "PRAGMA user_version = 7; VACUUM");
        }),
        ("it had lost its table `kb_versions` at the start", |ledger| {
            made_by(ledger, "DROP TABLE kb_versions");
        }),
        ("it was missing at the start and no backup holds anything", |ledger| {
            delete(ledger);
            fs::remove_dir_all(ledger.with_file_name("backups")).expect("deleted");
        }),
    ];
    for (words, lose) in losses {
        project.stop();
        lose(&project.paths().ledger.clone());
        let has_backup = Path::new(&full).exists();
        project.start();
        project.settle();
        let message = noticed(&mut project, "ledger", 0);
        let way = if has_backup { format!("restored from `{full}`") } else { "was made".into() };
        assert!(message.contains(words) && message.contains(&way), "{message}");
        for said in [kgctl(&project, &["status"]), kgctl(&project, &["doctor"]), project.log()] {
            assert!(said.contains(words), "{said}");
        }
        let kept = project.try_call("kb_maintain", versions.clone()).unwrap_or_default();
        assert_eq!(kept.to_string().contains("Initial creation"), has_backup, "{kept}");
        assert!(finds(&mut project, "zqbuoy2"));
        project.call("write_note", json!({"title": words, "content": "x", "directory": "new"}));
        if words.starts_with("it was empty") {
            // However often a ledger that had lost everything was backed up: the full backup stays.
            project.stop();
            let ledger = project.paths().ledger.clone();
            let away = ledger.with_extension("away");
            fs::rename(&ledger, &away).expect("moved");
            delete(&ledger);
            let hidden = ledger.with_file_name("hidden");
            fs::rename(ledger.with_file_name("backups"), &hidden).expect("moved");
            project.start();
            project.settle();
            fs::rename(&hidden, ledger.with_file_name("backups")).expect("moved");
            for _ in 0..8 {
                project.call("backup", json!({}));
            }
            assert!(Path::new(&full).exists(), "{words}");
        }
    }
}

#[test]
fn a_ledger_that_is_replaced_or_cut_stops_writes_too() {
    let damages: [Damage; 2] = [("was replaced", replace), ("was cut", |path| cut(path, 0))];
    for (what, damage) in damages {
        let mut project = notes(3);
        project.call("backup", json!({}));
        damage(&project.paths().ledger.clone());
        let message = noticed(&mut project, "ledger", 0);
        assert!(message.contains(what), "{message}");
        for (tool, message) in refusals(&mut project) {
            assert!(message.contains("/backups/ledger-"), "{tool}: {message}");
        }
        assert!(finds(&mut project, "zqbuoy1"));
        project.write("late.md", "# Late\n\nThe word zqlatex.\n");
        project.settle();
        assert!(finds(&mut project, "zqlatex"));
    }
}

/// A daemon that logs to a file, as when a client starts it.
fn with_log() -> TestProject {
    let mut project = notes(12);
    project.stop();
    let log = project.paths().log.display().to_string();
    project.launch_through(&["sh", "-c", "exec \"$@\" >>\"$0\" 2>&1", &log]);
    project.start();
    project.settle();
    project
}

fn all_are_noticed(project: &mut TestProject) {
    project.until("all of it is noticed", |status| {
        let parts: Vec<_> = lost(status).iter().map(|it| it["part"].clone()).collect();
        ["lock", "index", "ledger", "log"].iter().all(|part| parts.contains(&json!(part)))
    });
}

#[test]
fn a_state_folder_that_another_takes_the_place_of_is_filled_again() {
    let mut project = with_log();
    let state = project.paths().dir.clone();
    fs::rename(&state, project.scratch().join("away")).expect("moved");
    fs::create_dir(&state).expect("another");
    all_are_noticed(&mut project);
    project.settle();
    assert!(finds(&mut project, "zqbuoy11"));
    for (tool, message) in refusals(&mut project) {
        assert!(message.contains("the ledger is lost"), "{tool}: {message}");
    }
    let message = kgctl(&project, &["forget", "--text", "zqbuoy11", "--prove"]);
    assert!(message.contains("the ledger is lost") && message.contains("--restore"), "{message}");
    project.stop();
    // Its backup is of the ledger that was open.
    project.start();
    project.settle();
    assert!(noticed(&mut project, "ledger", 0).contains("was restored from"));
    project.call("write_note", json!({"title": "New", "content": "x", "directory": "new"}));
}

#[test]
fn a_log_that_is_deleted_or_replaced_is_made_again() {
    let mut project = with_log();
    let log = project.paths().log.clone();
    for (i, damage) in [delete, replace].into_iter().enumerate() {
        damage(&log);
        assert!(noticed(&mut project, "log", i).contains("made again"));
        let written = fs::read_to_string(&log).expect("a log");
        assert!(written.contains("its file was removed or replaced"), "{written}");
    }
}

#[test]
fn better_vectors_that_are_deleted_replaced_or_cut_are_made_again() {
    let mut project = notes(2);
    project.set("embed.background=on");
    project.restart();
    let vectors = project.paths().dir.join("vectors.sqlite");
    let is_whole = |status: &Value| {
        let embedding = &status["embedding"];
        embedding["done"]
            .as_u64()
            .is_some_and(|it| it > 0 && Some(it) == embedding["total"].as_u64())
    };
    project.until("the vectors are there", is_whole);
    let damages: [Damage; 3] =
        [("was deleted", delete), ("was replaced", replace), ("was cut", |path| cut(path, 0))];
    for (i, (what, damage)) in damages.into_iter().enumerate() {
        damage(&vectors);
        let message = noticed(&mut project, "vectors", i);
        assert!(message.contains(what) && message.contains("made again"), "{message}");
        project.until("they are made again", is_whole);
    }
}

#[test]
fn a_state_folder_that_is_deleted_is_made_again_and_nothing_is_written_meanwhile() {
    let mut project = with_log();
    let state = project.paths().dir.clone();
    fs::remove_dir_all(&state).expect("deleted");
    all_are_noticed(&mut project);
    project.settle();
    assert!(project.paths().index.is_file() && project.paths().lock.is_file());
    assert!(finds(&mut project, "zqbuoy11"));
    for (tool, message) in refusals(&mut project) {
        assert!(message.contains("the ledger is lost"), "{tool}: {message}");
    }
    // The ledger was still open: its copy is the newest backup.
    assert_eq!(fs::read_dir(state.join("backups")).expect("made").count(), 1);
}

#[test]
fn a_lock_and_a_socket_that_are_deleted_are_made_again() {
    let mut project = notes(2);
    let (lock, socket) = (project.paths().lock.clone(), project.paths().socket.clone());
    fs::remove_file(&lock).expect("deleted");
    // It takes the lock at once, finds the socket served, and ends.
    let second = project.command().output().expect("it runs");
    assert!(!second.status.success(), "{second:?}");
    assert!(noticed(&mut project, "lock", 0).contains("taken again"));
    assert!(fs::read_to_string(&lock).expect("a lock").starts_with(&project.pid().to_string()));
    let second = project.command().output().expect("it runs");
    assert_eq!(second.status.code(), Some(3), "{second:?}");
    fs::remove_file(&socket).expect("deleted");
    assert!(noticed(&mut project, "socket", 0).contains("made again"));
    assert!(kgctl(&project, &["status"]).contains("settled"), "a newcomer finds it");
    // A stale socket of another process, and a lock file without its holder.
    let other = project.scratch().join("other");
    drop(std::os::unix::net::UnixListener::bind(&other).expect("a socket"));
    fs::rename(&other, &socket).expect("replaced");
    cut(&lock, 0);
    assert!(noticed(&mut project, "socket", 1).contains("made again"));
    assert!(noticed(&mut project, "lock", 1).contains("taken again"));
    assert!(fs::read_to_string(&lock).expect("a lock").starts_with(&project.pid().to_string()));
    assert!(kgctl(&project, &["status"]).contains("settled"), "a newcomer finds it");
}

#[test]
fn a_daemon_whose_lock_another_took_ends() {
    let mut project = notes(2);
    let lock = project.paths().lock.clone();
    fs::remove_file(&lock).expect("deleted");
    let other = File::create(&lock).expect("another lock");
    other.lock().expect("taken");
    (&other).write_all(b"1 0.1.0 stay\n").expect("written");
    let ended = project.wait_for_end();
    assert_eq!(ended.status.code(), Some(3), "{}", ended.log);
    assert!(ended.log.contains("another daemon (process 1, version 0.1.0)"), "{}", ended.log);
}

/// Replaces a word in a database file with another one, everywhere; returns how often.
fn flip(path: &Path, word: &str, other: &str) -> usize {
    assert_eq!(word.len(), other.len());
    // The file is modified by another process than the daemon, so the daemon's locks stay.
    let file = File::options().read(true).write(true).open(path).expect("a database");
    let mut bytes = Vec::new();
    (&file).read_to_end(&mut bytes).expect("read");
    let at = |(at, found): (usize, &[u8])| (found == word.as_bytes()).then_some(at as u64);
    let places: Vec<u64> = bytes.windows(word.len()).enumerate().filter_map(at).collect();
    for place in &places {
        file.write_all_at(other.as_bytes(), *place).expect("written");
    }
    places.len()
}

fn checkpoint(path: &Path) {
    let db = Connection::open(path).expect("it opens");
    db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).expect("written back");
}

/// Returns the indexed text of the documents that contain a word; answers quote the file itself.
fn indexed(index: &Path, word: &str) -> String {
    let db = Connection::open(index).expect("it opens");
    let sql = "SELECT coalesce(group_concat(text), '') FROM docs WHERE instr(text, ?1)";
    db.query_row(sql, [word], |row| row.get(0)).expect("read")
}

#[test]
fn flipped_bytes_of_a_text_are_found_and_mended() {
    let mut project = notes(30);
    let index = project.paths().index.clone();
    for scrubs_now in [true, false] {
        if !scrubs_now {
            project.fail("scrub.rest_ms=100");
        }
        // After a start, nothing of the index is in the daemon's memory.
        project.stop();
        checkpoint(&index);
        let n = flip(&index, "buoy zqbuoy7 is anchored", "buoy zqbuoy7 is snchored");
        assert!(n > 0, "the text is in the index as it is");
        let _ = fs::remove_file(project.paths().dir.join("scrubbed"));
        project.start();
        if scrubs_now {
            assert!(
                indexed(&index, "zqbuoy7").contains("is snchored"),
                "a flip is not seen by reading"
            );
            project.call("checkup", json!({"scrub": true}));
        }
        let message = noticed(&mut project, "text", 0);
        assert!(message.contains("buoys/buoy-7.md") && message.contains("read again"), "{message}");
        project.until_graph("mended", |_| {
            indexed(&index, "zqbuoy7").contains("is anchored").then_some(())
        });
        let scrub = project.until("a whole round", |it| it["scrub"]["finished_at"].is_string());
        assert_eq!(scrub["scrub"]["damaged"], 1, "{}", scrub["scrub"]);
        project.settle();
    }
    let message = kgctl(&project, &["doctor", "--scrub"]);
    assert!(
        message.contains("scrub: last round over at") && message.contains("1 damaged"),
        "{message}"
    );
    project.verify("mended");
}

#[test]
fn a_damaged_ledger_is_found_and_ends_the_daemon_which_names_the_newest_backup() {
    let mut project = notes(2);
    project.call("backup", json!({}));
    project.stop();
    let ledger = project.paths().ledger.clone();
    project.start();
    project.settle();
    // Another process, as far as SQLite's locks are concerned: only bytes are written.
    checkpoint(&ledger);
    let root: u64 = {
        let db = Connection::open(&ledger).expect("it opens");
        let sql = "SELECT rootpage FROM sqlite_schema WHERE name = 'documents'";
        db.query_row(sql, [], |row| row.get::<_, i64>(0)).expect("a table") as u64
    };
    let file = File::options().write(true).open(&ledger).expect("a database");
    file.write_all_at(&[0xa5; 512], (root - 1) * 4096).expect("damaged");
    drop(file);
    let _ = project.attempt("checkup", json!({"scrub": true}));
    let ended = project.wait_for_end();
    assert_eq!(ended.status.code(), Some(1), "{}", ended.log);
    assert!(
        ended.log.contains("is damaged") && ended.log.contains("/backups/ledger-"),
        "{}",
        ended.log
    );
}

#[test]
fn a_damaged_page_that_nobody_reads_is_found() {
    let mut project = notes(30);
    project.restart();
    project.settle();
    let index = project.paths().index.clone();
    checkpoint(&index);
    let root: u64 = Connection::open(&index)
        .and_then(|db| {
            let sql = "SELECT rootpage FROM sqlite_schema WHERE name = 'docs_pass'";
            db.query_row(sql, [], |row| row.get::<_, i64>(0))
        })
        .expect("an index of a table") as u64;
    let file = File::options().write(true).open(&index).expect("a database");
    file.write_all_at(&[0xa5; 512], (root - 1) * 4096).expect("damaged");
    drop(file);
    project.call("checkup", json!({"scrub": true}));
    assert!(noticed(&mut project, "index", 0).contains("built again"));
    project.settle();
    assert!(finds(&mut project, "zqbuoy21"));
    assert!(index.metadata().expect("there").size() > 4096);
    project.verify("built again");
}
