//! Durability: what a reply promises survives a crash and a full disk.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rusqlite::Connection;
use serde_json::{Value, json};
use tests::{Marked, SmallDisk, TestProject};

mod replay;

use super::writes;
use replay::{Disk, View};

/// A kind of sync, and the paths to which it applies.
type LeftOut<'a> = (&'a str, &'a dyn Fn(&Path) -> bool);

/// Returns every file of the project with its bytes.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        match entry.path() {
            path if path.is_dir() => all.extend(contents(&path)),
            path => drop(all.insert(path.clone(), fs::read(path).expect("a file"))),
        }
    }
    all
}

/// A call, the length of the trace when its reply came, and the project's files at that time.
struct Step {
    tool: &'static str,
    end: usize,
    files: BTreeMap<PathBuf, Vec<u8>>,
}

/// Runs a daemon under `strace` and makes one call of each kind of write. Returns the initial disk
/// and the trace; `None` without `strace`.
fn traced() -> Option<(TestProject, Disk, Vec<u8>, Vec<Step>)> {
    let mut project = TestProject::empty();
    project.write("harbor.md", "# Harbor\n\nIt leads to the [[Pier]].\n");
    project.write("pier.md", "# Pier\n\nThe pier is old.\n");
    project.write("buoy.md", "# Buoy\n\nThe buoy is red.\n");
    let trace = project.scratch().join("trace");
    let works = Command::new("strace").args(["-f", "-o", "/dev/null", "true"]).output();
    if !works.is_ok_and(|it| it.status.success()) {
        eprintln!("SKIPPED: no `strace` can be run here");
        return None;
    }
    let path = trace.to_str().expect("a path of ours").to_string();
    project.launch_through(&[&replay::STRACE[..], &["-o", &path]].concat());
    project.set("recognize.deep=false");
    let disk = Disk::of(&project.scratch().canonicalize().expect("it is there"));
    project.start();
    project.settle();
    let mut steps = vec![step(&project, "start", &trace)];
    for (tool, arguments) in [
        (
            "write_note",
            json!({"title": "Chart", "content": "The chart.", "directory": "maps/north/sea"}),
        ),
        (
            "edit_note",
            json!({"path": "pier.md", "operation": "append", "content_updates": "It is long."}),
        ),
        ("move_note", json!({"path": "pier.md", "destination": "docks/east/pier.md"})),
        ("delete_note", json!({"path": "buoy.md"})),
        (
            "kb_store",
            json!({"short_title": "Tide", "knowledge_details": "The tide turns twice a day."}),
        ),
        (
            "create_entities",
            json!({"entities": [{"name": "Ada", "entityType": "person", "observations": ["sails"]}]}),
        ),
        ("ingest_docs", json!({"paths": ["harbor.md"], "tags": ["port"], "skip_if_seen": false})),
    ] {
        project.call(tool, arguments);
        steps.push(step(&project, tool, &trace));
    }
    project.stop();
    let trace = fs::read(trace).expect("a trace");
    Some((project, disk, trace, steps))
}

/// Every call that ended before a reply precedes it in the trace: a traced thread waits for its
/// line to be written.
fn step(project: &TestProject, tool: &'static str, trace: &Path) -> Step {
    let end = fs::metadata(trace).expect("a trace").len() as usize;
    Step { tool, end, files: contents(project.root()) }
}

#[test]
fn what_was_answered_survives_a_crash_at_every_instant() {
    let Some((project, before, trace, steps)) = traced() else { return };
    let calls = replay::calls(&trace);
    let mut disk = before.clone();
    let n_instants =
        replayed(&project, &mut disk, &calls, &steps).unwrap_or_else(|why| panic!("{why}"));
    assert!(n_instants > 100, "{n_instants} instants are too few to be true");
    in_the_ledger(&project, &disk);
    // A daemon without any one kind of sync is detected.
    let state = project.paths().dir.clone();
    let is_folder = |path: &Path| path.extension().is_none();
    let left_out: [LeftOut<'_>; 5] = [
        ("notes", &|path| path.starts_with(project.root()) && !is_folder(path)),
        ("folders of notes", &|path| path.starts_with(project.root()) && is_folder(path)),
        ("new folders only", &|path| path == project.root()),
        ("kept versions", &|path| path.starts_with(state.join("kept"))),
        ("the journal", &|path| path.starts_with(state.join("writing"))),
    ];
    for (what, is_left_out) in left_out {
        let fewer: Vec<_> = calls
            .iter()
            .filter(|call| !call.synced().is_some_and(|path| is_left_out(&path)))
            .cloned()
            .collect();
        assert!(fewer.len() < calls.len(), "{what}: none was synced");
        let found = replayed(&project, &mut before.clone(), &fewer, &steps);
        assert!(found.is_err(), "{what}: nobody would notice that they are not synced");
    }
}

/// Replays calls on a disk and checks the result after each; returns the number of instants.
fn replayed(
    project: &TestProject,
    disk: &mut Disk,
    calls: &[replay::Call],
    steps: &[Step],
) -> Result<usize, String> {
    let mut calls = calls.iter().peekable();
    let mut n_instants = 0;
    for pair in steps.windows(2) {
        let [before, after] = pair else { continue };
        while let Some(call) = calls.next_if(|call| call.end <= after.end) {
            disk.apply(call);
            if call.end > before.end {
                is_old_or_new(project, disk, before, after)?;
                n_instants += 1;
            }
        }
        is_answered(disk, before, after)?;
        before_is_kept(project, disk, before, after)?;
    }
    Ok(n_instants)
}

/// After the reply, only the new version may be found.
fn is_answered(disk: &Disk, before: &Step, after: &Step) -> Result<(), String> {
    let is_new = |path: &&PathBuf| disk.read(path, View::Lazy).as_ref() == after.files.get(*path);
    match before.files.keys().chain(after.files.keys()).find(|path| !is_new(path)) {
        Some(path) => Err(format!("after `{}`: {}", after.tool, path.display())),
        None => Ok(()),
    }
}

/// At any instant a note is complete, either old or new; a moved note exists somewhere; a temporary
/// file has an entry with which the next start removes it.
fn is_old_or_new(
    project: &TestProject,
    disk: &Disk,
    before: &Step,
    after: &Step,
) -> Result<(), String> {
    let tool = after.tool;
    for view in [View::Lazy, View::Eager] {
        for path in before.files.keys().chain(after.files.keys()) {
            let found = disk.read(path, view);
            let is = |step: &Step| found.as_ref() == step.files.get(path);
            if !is(before) && !is(after) {
                return Err(format!("{view:?}, in `{tool}`: {} is {found:?}", path.display()));
            }
        }
        let is_there = |path: &str| disk.read(&project.at(path), view).is_some();
        if tool == "move_note" && !is_there("pier.md") && !is_there("docks/east/pier.md") {
            return Err(format!("{view:?}: lost in a move"));
        }
        let entries = disk.files(&project.paths().dir.join("writing"), View::Lazy);
        let entries: Vec<_> = entries.iter().filter_map(|it| disk.read(it, View::Lazy)).collect();
        for path in disk.files(project.root(), view) {
            let name = path.strip_prefix(project.root()).expect("inside").display().to_string();
            if name.contains(".kgd-") && !entries.contains(&name.clone().into_bytes()) {
                return Err(format!("{view:?}, in `{tool}`: nobody would remove `{name}`"));
            }
        }
    }
    Ok(())
}

/// What a call replaced, removed or moved is kept, durably.
fn before_is_kept(
    project: &TestProject,
    disk: &Disk,
    before: &Step,
    after: &Step,
) -> Result<(), String> {
    for (path, bytes) in &before.files {
        if after.files.get(path) == Some(bytes) {
            continue;
        }
        let name = path.strip_prefix(project.root()).expect("inside");
        let kept = disk.files(&project.paths().dir.join("kept").join(name), View::Lazy);
        if !kept.iter().any(|it| disk.read(it, View::Lazy).as_ref() == Some(bytes)) {
            return Err(format!(
                "after `{}`: {} as it was, among {kept:?}",
                after.tool,
                name.display()
            ));
        }
    }
    Ok(())
}

/// After a crash the ledger has the entry's version and the tags.
fn in_the_ledger(project: &TestProject, disk: &Disk) {
    let crashed = project.scratch().join("crashed.sqlite");
    for suffix in ["", "-wal"] {
        let path = PathBuf::from(format!("{}{suffix}", project.paths().ledger.display()));
        let bytes =
            disk.read(&path, View::Lazy).unwrap_or_else(|| panic!("{} is lost", path.display()));
        fs::write(format!("{}{suffix}", crashed.display()), bytes).expect("written");
    }
    let db = Connection::open(&crashed).expect("it opens");
    let count =
        |sql: &str| db.query_row(sql, [], |row| row.get::<_, i64>(0)).expect("a sound ledger");
    assert_eq!(count("SELECT count(*) FROM kb_versions"), 1, "the entry's version");
    assert_eq!(count("SELECT count(*) FROM ingested WHERE tags LIKE '%port%'"), 1, "the tags");
    assert_eq!(
        count("SELECT count(*) FROM memory_events WHERE node = 'Ada'"),
        1,
        "the entity's event"
    );
}

#[test]
fn a_moved_note_is_kept_as_it_was() {
    let mut project = TestProject::of(&[("a.md", "# A\n\nThe first.\n")]);
    project.call("move_note", json!({"path": "a.md", "destination": "b/c.md"}));
    let mut command = project.kgctl();
    let listed = command.arg("--project").arg(project.root()).args(["restore", "a.md"]).output();
    let listed = String::from_utf8_lossy(&listed.expect("it runs").stdout).into_owned();
    assert!(listed.contains("a.md") && listed.contains("moved"), "{listed}");
    let mut command = project.kgctl();
    let restored = command
        .arg("--project")
        .arg(project.root())
        .args(["restore", "a.md", "--at", "last"])
        .output();
    assert!(restored.expect("it runs").status.success());
    assert_eq!(project.text("a.md"), "# A\n\nThe first.\n");
}

/// Each tool that writes returns its error, and reports correctly whether it has changed a file.
fn all_refused(project: &mut TestProject, root: &Path, key: &Value) {
    for (tool, arguments) in writes::calls(key) {
        let before = contents(root);
        let error = writes::refusal(project, tool, arguments);
        assert_eq!(error["code"], "unavailable", "{tool}: {error}");
        let message = error["message"].as_str().expect("words").to_lowercase();
        assert!(message.contains("no space left"), "{tool}: {error}");
        let hint = error["hint"].as_str();
        assert!(
            hint.map_or(tool == "kb_ingest", |it| it.contains("free some space")),
            "{tool}: {error}"
        );
        let has_changed = contents(root) != before;
        assert_eq!(has_changed, message.contains("changed on the disk"), "{tool}: {error}");
    }
}

#[test]
fn every_tool_answers_on_a_full_disk_of_databases() {
    let (mut project, mut marked) = (TestProject::empty(), Marked::default());
    marked.fill(&project, 12);
    writes::plant(&project);
    let Some(disk) = SmallDisk::mount(&project.scratch().join("state"), 24_000_000) else {
        eprintln!("SKIPPED: this system lets us mount nothing");
        return;
    };
    let launcher = disk.launcher();
    project.launch_through(&launcher.iter().map(String::as_str).collect::<Vec<_>>());
    project.set("serve.request_deadline_ms=2000");
    project.start();
    project.settle();
    writes::prepare(&mut project);
    let listed = project.call("review_links", json!({"below": 1.0, "limit": 1}));
    let key = listed["items"][0]["key"].clone();
    assert!(key.is_string(), "{listed}");
    disk.fill();
    for i in 0..40 {
        marked.write(&project, &format!("late/page-{i}.md"));
    }
    project.until("nothing can be written", |status| !status["stalled"].is_null());
    let root = project.root().to_path_buf();
    all_refused(&mut project, &root, &key);
    // A refused write is not done later.
    disk.free();
    project
        .until("writing again", |status| status["stalled"].is_null() && status["settled"] == true);
    let stored =
        project.call("kb_store", json!({"short_title": "Tide", "knowledge_details": "It turns."}));
    assert!(stored.to_string().contains("kb-00002"), "no number was used up: {stored}");
    project.stop();
}

#[test]
fn every_tool_answers_on_a_full_disk_of_notes() {
    let (mut project, mut marked) = (TestProject::empty(), Marked::default());
    marked.fill(&project, 8);
    writes::plant(&project);
    let root = project.root().to_path_buf();
    let Some(disk) = SmallDisk::mount(&root, 2_000_000) else {
        eprintln!("SKIPPED: this system lets us mount nothing");
        return;
    };
    // The overlay starts with a copy of the project.
    let inside = disk.outside(&root);
    for (path, bytes) in contents(&root) {
        let path = inside.join(path.strip_prefix(&root).expect("inside"));
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, bytes).expect("written");
    }
    let launcher = disk.launcher();
    project.launch_through(&launcher.iter().map(String::as_str).collect::<Vec<_>>());
    project.start();
    project.until("indexed", |status| {
        status["settled"] == true && status["progress"]["indexed"] == 13
    });
    writes::prepare(&mut project);
    disk.fill();
    let before = contents(&inside);
    // Calls that remove a file, or write none, need no space.
    let need_none = ["delete_note", "move_note", "delete_entities", "ingest_docs", "review_links"];
    for (tool, arguments) in writes::calls(&json!("link:a>b")) {
        if need_none.contains(&tool) {
            continue;
        }
        let error = writes::refusal(&mut project, tool, arguments);
        assert_eq!(error["code"], "unavailable", "{tool}: {error}");
        let hint = error["hint"].as_str();
        assert!(
            hint.map_or(tool == "kb_ingest", |it| it
                .contains("nothing was changed; free some space")),
            "{tool}: {error}"
        );
    }
    let after = contents(&inside);
    assert_eq!(after.keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
    assert!(after == before, "a refused write changes nothing");
    project.stop();
}
