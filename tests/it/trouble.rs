//! Trouble of the machine: a full, locked, read-only or damaged disk, a clock that jumps, memory
//! that runs out. Nothing is lost, questions are answered, the problem is reported, and afterwards
//! the index equals a rebuild.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::Connection;
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use serde_json::{Value, json};
use tests::{Marked, SmallDisk, TestProject};

use crate::determinism::{assert_same, picture};

/// Room for a small index, bytes.
const DISK_BYTES: u64 = 24_000_000;

fn project_of(n_files: u32) -> (TestProject, Marked) {
    let (project, mut marked) = (TestProject::empty(), Marked::default());
    marked.fill(&project, n_files);
    (project, marked)
}

/// Creates a project whose databases are on a small disk; prints a message and returns `None` if no
/// disk can be mounted.
fn on_a_small_disk() -> Option<(TestProject, Marked, SmallDisk)> {
    let (mut project, marked) = project_of(12);
    let Some(disk) = SmallDisk::mount(&project.scratch().join("state"), DISK_BYTES) else {
        eprintln!("SKIPPED: this system lets us mount nothing");
        return None;
    };
    let launcher = disk.launcher();
    project.launch_through(&launcher.iter().map(String::as_str).collect::<Vec<_>>());
    project.set("serve.request_deadline_ms=1000");
    Some((project, marked, disk))
}

fn is_sound(project: &mut TestProject, marked: &Marked) {
    project.settle();
    let faults = marked.check(project);
    assert!(faults.is_empty(), "{faults:#?}");
}

/// Checks that the index equals one built from scratch.
fn equals_a_rebuild(project: &mut TestProject) {
    let live = picture(project);
    project.stop();
    project.lose_index();
    project.start();
    project.settle();
    assert_same(&picture(project), &live, "a rebuild");
}

/// Waits until nothing can be written; returns what `status` says about it.
fn stalled(project: &mut TestProject) -> Value {
    project.until("stalled", |status| !status["stalled"].is_null())["stalled"].take()
}

/// Checks that a file of `Marked` is found although nothing can be written.
fn still_answers(project: &mut TestProject) {
    let found = project.call("hybrid_query", json!({"q": "zqbx7", "formula": "text"}));
    assert_eq!(found["chunks"].as_array().map(Vec::len), Some(1), "{found:#}");
}

fn limit(project: &TestProject, resource: Resource, n_bytes: Option<u64>) {
    let pid = Pid::from_raw(project.pid() as i32);
    let maximum = getrlimit(resource).maximum;
    prlimit(pid, resource, Rlimit { current: n_bytes, maximum }).expect("our own child");
}

#[test]
fn a_full_disk_is_waited_for() {
    let Some((mut project, mut marked, disk)) = on_a_small_disk() else { return };
    project.start();
    project.settle();
    disk.fill();
    let tick = project.status()["tick"].clone();
    for i in 0..40 {
        marked.write(&project, &format!("late/page-{i}.md"));
    }
    let stall = stalled(&mut project);
    assert!(stall["why"].as_str().is_some_and(|why| why.starts_with("no space left")), "{stall}");
    assert!(stall["hint"].as_str().is_some_and(|hint| hint.contains("free some space")), "{stall}");
    still_answers(&mut project);
    let refused = project
        .try_call("ingest_docs", json!({"paths": ["late/page-1.md"], "skip_if_seen": false}));
    let refused = refused.expect_err("nothing can be written");
    assert_eq!(refused["code"], "unavailable", "{refused}");
    assert!(refused["hint"].is_string(), "{refused}");
    let refused = project.try_call("wait", json!({"timeout_ms": 100})).expect_err("not settled");
    assert_eq!(refused["code"], "unavailable", "{refused}");
    assert_eq!(project.status()["tick"], tick, "a commit on a full disk");

    disk.free();
    project
        .until("writing again", |status| status["stalled"].is_null() && status["settled"] == true);
    project.stop();
    disk.copy_out();
    project.launch_through(&[]);
    project.start();
    is_sound(&mut project, &marked);
    equals_a_rebuild(&mut project);
}

#[test]
fn a_daemon_on_a_full_disk_ends_when_asked_and_goes_on_later() {
    let Some((mut project, mut marked, disk)) = on_a_small_disk() else { return };
    project.start();
    project.settle();
    disk.fill();
    for i in 0..40 {
        marked.write(&project, &format!("late/page-{i}.md"));
    }
    stalled(&mut project);
    let ended = project.stop();
    assert_eq!(ended.status.code(), Some(0), "{}", ended.log);
    assert!(ended.log.contains("cannot drain the belt"), "{}", ended.log);
    disk.free();
    project.start();
    project.until("settled", |status| status["settled"] == true);
    project.stop();
    disk.copy_out();
    project.launch_through(&[]);
    project.start();
    is_sound(&mut project, &marked);
    equals_a_rebuild(&mut project);
}

#[test]
fn a_limit_on_file_sizes_is_waited_for() {
    let (mut project, mut marked) = project_of(12);
    project.start();
    project.settle();
    limit(&project, Resource::Fsize, Some(16_384));
    for i in 0..20 {
        marked.write(&project, &format!("late/page-{i}.md"));
    }
    let stall = stalled(&mut project);
    assert!(stall["hint"].as_str().is_some_and(|hint| hint.contains("file sizes")), "{stall}");
    still_answers(&mut project);
    limit(&project, Resource::Fsize, getrlimit(Resource::Fsize).maximum);
    is_sound(&mut project, &marked);
    equals_a_rebuild(&mut project);
}

#[test]
fn databases_that_another_process_holds_are_waited_for() {
    let (mut project, mut marked) = project_of(12);
    project.start();
    project.settle();
    let paths = project.paths().clone();
    for path in [&paths.ledger, &paths.index] {
        let other = Connection::open(path).expect("a database");
        other.execute_batch("BEGIN IMMEDIATE").expect("nobody else writes");
        marked.write(&project, "late/page.md");
        let stall = stalled(&mut project);
        assert!(
            stall["why"].as_str().is_some_and(|why| why.contains("another process")),
            "{stall}"
        );
        still_answers(&mut project);
        other.execute_batch("ROLLBACK").expect("it was begun");
        drop(other);
        is_sound(&mut project, &marked);
    }
    equals_a_rebuild(&mut project);
}

/// Returns every file below a folder with its content.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(contents(&path));
        } else {
            found.insert(path.display().to_string(), fs::read(&path).unwrap_or_default());
        }
    }
    found
}

#[test]
fn a_read_only_disk_is_told_at_the_start_and_nothing_is_begun() {
    let Some((mut project, marked, disk)) = on_a_small_disk() else { return };
    project.start();
    project.settle();
    project.stop();
    let state = disk.outside(&project.scratch().join("state"));
    let before = contents(&state);
    disk.run("mount -o remount,ro \"$1\"");
    let ended = project.try_start().expect_err("nothing can be written");
    assert_eq!(ended.status.code(), Some(1), "{}", ended.log);
    assert!(
        ended.log.contains("Read-only file system") && ended.log.contains("\nhint: "),
        "{}",
        ended.log
    );
    disk.run("mount -o remount,rw \"$1\"");
    assert!(contents(&state) == before, "something was written or moved");

    for name in ["index.sqlite", "ledger.sqlite"] {
        let script =
            format!("f=$(echo \"$1\"/*/{name}); mount --bind $f $f && mount -o remount,bind,ro $f");
        disk.run(&script);
        let begin = project.log().len();
        let ended = project.try_start().expect_err("nothing can be written");
        let log = &ended.log[begin..];
        assert_eq!(ended.status.code(), Some(1), "{log}");
        assert!(
            log.contains(name) && log.contains("read-only") && log.contains("\nhint: "),
            "{log}"
        );
        disk.run(&format!("umount \"$1\"/*/{name}"));
    }
    project.start();
    project.until("settled", |status| status["settled"] == true);
    project.stop();
    disk.copy_out();
    project.launch_through(&[]);
    project.start();
    is_sound(&mut project, &marked);
}

#[test]
fn a_disk_that_is_full_at_the_start_costs_no_index() {
    let Some((mut project, marked, disk)) = on_a_small_disk() else { return };
    disk.run("mkdir -p \"$1\"");
    disk.fill();
    let ended = project.try_start().expect_err("no room for a database");
    assert_eq!(ended.status.code(), Some(1), "{}", ended.log);
    assert!(ended.log.contains("hint: "), "{}", ended.log);
    disk.free();
    project.start();
    project.until("settled", |status| status["settled"] == true);
    project.stop();
    disk.copy_out();
    project.launch_through(&[]);
    project.start();
    is_sound(&mut project, &marked);
}

/// Returns the uids by path, from the ledger.
fn uids(project: &TestProject) -> BTreeMap<String, String> {
    let db = Connection::open(&project.paths().ledger).expect("the ledger opens");
    let mut statement =
        db.prepare("SELECT path, uid FROM documents WHERE gone_ms IS NULL").expect("documents");
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).expect("rows");
    rows.collect::<Result<_, _>>().expect("rows")
}

/// Overwrites bytes of a file without changing its length.
fn damage(path: &Path, spans: impl IntoIterator<Item = (u64, usize)>) {
    use std::os::unix::fs::FileExt;
    let file = File::options().write(true).open(path).expect("it is there");
    for (at, n_bytes) in spans {
        file.write_all_at(&vec![0xA5; n_bytes], at).expect("bytes");
    }
}

/// Damages the databases of a stopped project, starts it, and compares with a rebuild; uids stay.
fn survives(how: &str, spoil: impl Fn(&TestProject)) {
    let (mut project, mut marked) = project_of(40);
    project.start();
    project.settle();
    let before = uids(&project);
    project.kill9();
    spoil(&project);
    project.start();
    // Replies may be errors until the damage is found.
    project.settle_or_end().expect("it goes on");
    marked.write(&project, "after.md");
    marked.write(&project, "s1/station-1.md");
    is_sound(&mut project, &marked);
    let after = uids(&project);
    for (path, uid) in &before {
        assert_eq!(after.get(path), Some(uid), "{how}: the uid of {path}");
    }
    equals_a_rebuild(&mut project);
}

/// Moves everything into the main file, so that damage there hits data that are read.
fn checkpoint(path: &Path) {
    let db = Connection::open(path).expect("it opens");
    db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).expect("written back");
}

#[test]
fn a_damaged_header_is_a_reason_to_rebuild() {
    survives("header", |project| {
        checkpoint(&project.paths().index);
        damage(&project.paths().index, [(0, 100)]);
    });
}

#[test]
fn damaged_pages_are_found_and_the_index_is_rebuilt() {
    survives("pages", |project| {
        checkpoint(&project.paths().index);
        let n_bytes = fs::metadata(&project.paths().index).expect("it is there").len();
        let pages = n_bytes / 4096;
        damage(
            &project.paths().index,
            (2..pages).filter(|page| page % 7 == 3).map(|page| (page * 4096, 512)),
        );
    });
}

#[test]
fn a_damaged_log_costs_no_more_than_its_commits() {
    survives("log", |project| {
        let wal = format!("{}-wal", project.paths().index.display());
        let n_bytes = fs::metadata(&wal).expect("a killed daemon leaves its log").len();
        damage(Path::new(&wal), [(n_bytes / 2, 5_000)]);
    });
    survives("log from its first byte", |project| {
        let wal = format!("{}-wal", project.paths().index.display());
        damage(Path::new(&wal), [(0, 5_000)]);
    });
}

#[test]
fn pages_that_are_damaged_under_a_running_daemon_are_found() {
    let (mut project, mut marked) = project_of(40);
    project.start();
    project.settle();
    project.restart();
    project.settle();
    let before = uids(&project);
    checkpoint(&project.paths().index);
    let n_bytes = fs::metadata(&project.paths().index).expect("it is there").len();
    damage(&project.paths().index, (2..n_bytes / 4096).map(|page| (page * 4096, 512)));
    for i in 0..20 {
        marked.write(&project, &format!("s1/station-{i}.md"));
    }
    // Replies may be errors until the damage is found.
    project.settle_or_end().expect("it goes on");
    assert!(project.log().contains("damaged"), "{}", project.log());
    is_sound(&mut project, &marked);
    let after = uids(&project);
    assert!(before.iter().all(|(path, uid)| after.get(path) == Some(uid)), "uids");
    equals_a_rebuild(&mut project);
}

fn set_time(project: &TestProject, path: &str, time: SystemTime) {
    let file = File::options().write(true).open(project.at(path)).expect("it is there");
    file.set_modified(time).expect("a time");
}

#[test]
fn times_of_files_may_lie_anywhere() {
    let (mut project, mut marked) = project_of(12);
    let day = Duration::from_secs(86_400);
    let times = [
        ("s0/station-0.md", UNIX_EPOCH, "1970-01-01"),
        ("s1/station-1.md", UNIX_EPOCH + day * 47_117, "2099-01-01"),
        ("s2/station-2.md", UNIX_EPOCH - day * 365, "1969-01-01"),
    ];
    for (path, time, _) in &times {
        set_time(&project, path, *time);
    }
    project.start();
    project.settle();
    let graph = project.dump();
    for (path, _, day) in &times {
        let row = graph.rows("document").find(|row| row["path"] == *path).expect("a document");
        assert_eq!(row["day"], *day, "{row}");
    }
    // The time is set back after an edit, with the daemon running and stopped.
    marked.write(&project, "s3/station-3.md");
    set_time(&project, "s3/station-3.md", UNIX_EPOCH + day);
    is_sound(&mut project, &marked);
    project.stop();
    marked.write(&project, "s3/station-3.md");
    set_time(&project, "s3/station-3.md", UNIX_EPOCH);
    marked.write(&project, "s1/station-1.md");
    set_time(&project, "s1/station-1.md", UNIX_EPOCH + day * 10);
    project.start();
    is_sound(&mut project, &marked);
    equals_a_rebuild(&mut project);
}

#[test]
fn a_clock_that_jumps_changes_nothing_but_times() {
    let (mut project, mut marked) = project_of(12);
    let ms = 40 * 24 * 3_600 * 1_000_u64;
    project.start();
    project.settle();
    for (i, jump) in ["clock.ahead_ms", "", "clock.behind_ms", ""].iter().enumerate() {
        project.stop();
        let wish = if jump.is_empty() { String::new() } else { format!("{jump}={ms}") };
        project.set_environment("KG_FAIL", &wish);
        project.start();
        let paths = marked.paths();
        marked.write(&project, &paths[i]);
        marked.rename(&project, &paths[i + 4], &format!("moved/page-{i}.md"));
        marked.remove(&project, &paths[i + 8]);
        marked.write(&project, &format!("new/page-{i}.md"));
        is_sound(&mut project, &marked);
    }
    equals_a_rebuild(&mut project);
}

#[test]
fn one_start_under_a_clock_that_is_ahead_makes_nothing_old() {
    let mut project = TestProject::of(&[("a.md", "# A\n\nThe tern nests.\n")]);
    project
        .call("edit_note", json!({"identifier": "a", "operation": "append", "content": "More."}));
    project.settle();
    let (before, text) = (uids(&project), project.text("a.md"));
    project.call("delete_note", json!({"identifier": "a"}));
    project.settle();
    project.stop();
    // The kept versions bear the time of the system's clock, which this test cannot set: it makes them old instead.
    let kept = project.paths().dir.join("kept/a.md");
    for entry in std::fs::read_dir(&kept).expect("kept").flatten() {
        let name = entry.file_name().into_string().expect("text");
        let (_, rest) = name.split_once('T').expect("a time");
        std::fs::rename(entry.path(), kept.join(format!("20200101T{rest}"))).expect("renamed");
    }
    let ms = 60 * 24 * 3_600 * 1_000_u64;
    for wish in [format!("clock.ahead_ms={ms}"), String::new()] {
        project.set_environment("KG_FAIL", &wish);
        project.start();
        project.settle();
        project.call(
            "write_note",
            json!({"title": "B", "content": wish, "directory": "new", "overwrite": true}),
        );
        project.settle();
        assert_eq!(std::fs::read_dir(&kept).expect("still there").count(), 2, "{wish}");
        if !wish.is_empty() {
            project.stop();
        }
    }
    // A document that comes back elsewhere is itself again.
    project.write("back.md", text);
    project.settle();
    assert_eq!(uids(&project).get("back.md"), before.get("a.md"));
}

#[test]
fn a_daemon_that_is_short_of_memory_loses_nothing() {
    let (mut project, mut marked) = project_of(40);
    // Reading a megabyte of prose deeply takes a minute in a debug build.
    project.set("recognize.deep=false");
    project.start();
    project.settle();
    // The limit is below current use, so the next allocation from the system fails.
    limit(&project, Resource::As, Some(1 << 20));
    for i in 0..12 {
        project.write(&format!("late/long-{i}.txt"), "The Signing Service signs. ".repeat(4_000));
    }
    for i in 0..60 {
        marked.write(&project, &format!("late/page-{i}.md"));
    }
    // If an allocation fails in the database, the daemon waits. Anywhere else it aborts, unless the
    // memory it has is enough.
    let mut has_ended = false;
    while !has_ended {
        has_ended = project.end().is_some();
        let status = if has_ended { None } else { project.attempt("status", json!({})) };
        let is_over = |status: &Value| !status["stalled"].is_null() || status["settled"] == true;
        if status.and_then(Result::ok).is_some_and(|status| is_over(&status)) {
            break;
        }
    }
    if has_ended {
        project.start();
    } else {
        limit(&project, Resource::As, getrlimit(Resource::As).maximum);
    }
    is_sound(&mut project, &marked);
    equals_a_rebuild(&mut project);
}
