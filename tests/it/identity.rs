//! Identity: a document and its note entity keep their identity, whatever people, editors, git and
//! sync tools do to their files; nothing is left at old paths, and a settled change is indexed
//! once.

#![allow(clippy::print_stdout, reason = "the long forms print their figures")]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use rusqlite::{Connection, OpenFlags};
use tests::{TestProject, index_text};

/// A debounce long enough for several steps of an editor, even on a busy machine.
const PATIENT: &str = "watch.debounce_ms=300";

const NOTES: &[(&str, &str)] = &[
    ("lamp.md", "# Lamp\n\nthe keeper lights the lamp when it gets dark and puts it out at dawn\n"),
    ("boat.md", "# Boat\n\nthe pilot takes the boat out to every ship that asks for one\n"),
    ("logs/tide.md", "# Tide\n\nhigh water comes later each day and the harbor empties twice\n"),
    ("plain.txt", "Rope is kept dry in the loft above the shed.\n"),
];

/// A project of [`NOTES`], settled, with the long debounce.
fn harbor() -> TestProject {
    let mut project = TestProject::empty();
    project.set(PATIENT);
    for (path, text) in NOTES {
        project.write(path, text);
    }
    project.start();
    project.settle();
    project
}

fn open(path: &Path) -> Connection {
    Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).expect("it opens")
}

fn pairs(path: &Path, sql: &str) -> BTreeMap<String, String> {
    let db = open(path);
    let mut statement = db.prepare(sql).expect("a query");
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).expect("rows");
    rows.collect::<Result<_, _>>().expect("rows")
}

/// Returns the uids by path from the index; the ledger must agree.
fn uids(project: &TestProject) -> BTreeMap<String, String> {
    let index = pairs(&project.paths().index, "SELECT path, uid FROM docs");
    let sql = "SELECT path, uid FROM documents WHERE gone_ms IS NULL";
    assert_eq!(index, pairs(&project.paths().ledger, sql), "index and ledger");
    index
}

fn uid(project: &TestProject, path: &str) -> String {
    uids(project).remove(path).unwrap_or_else(|| panic!("`{path}` is not indexed"))
}

/// Returns the number of file changes written since the daemon started.
fn n_written(project: &mut TestProject) -> u64 {
    project.status()["n_written"].as_u64().expect("a number")
}

/// Checks that every regular document file below the folder is indexed, and nothing else; notes
/// have their entity.
fn check_paths(project: &mut TestProject, expected: &[&str]) {
    let mut expected: Vec<String> = expected.iter().map(|path| path.to_string()).collect();
    expected.sort();
    let found: Vec<String> = uids(project).into_keys().collect();
    assert_eq!(found, expected);
    let graph = project.dump();
    let mut homes: Vec<String> = graph
        .rows("entity")
        .filter_map(|entity| entity["home"].as_str().map(String::from))
        .collect();
    homes.sort();
    expected.retain(|path| path.ends_with(".md"));
    assert_eq!(homes, expected, "entities of notes");
    assert_eq!(project.status()["orphaned_entities"], 0);
}

/// Moved documents, by old and new path; the others must stay.
type Moves<'a> = &'a [(&'a str, &'a str)];

/// Does something and settles: the documents must have moved as given, `n` documents must have been
/// written, and the index must equal a rebuild of the files.
fn check(
    what: &str,
    project: &mut TestProject,
    moves: Moves<'_>,
    n: u64,
    change: impl FnOnce(&mut TestProject),
) {
    let before = uids(project);
    let (pid, n_before) = (project.pid(), n_written(project));
    change(project);
    project.settle();
    let mut expected = before.clone();
    for (from, _) in moves {
        expected.remove(*from);
    }
    for (from, to) in moves {
        expected.insert(to.to_string(), before[*from].clone());
    }
    assert_eq!(uids(project), expected, "{what}");
    // A restart resets the counter.
    let n_known = if project.pid() == pid { n_before } else { 0 };
    let n_found = n_written(project) - n_known;
    assert_eq!(n_found, n, "{what}: documents written");
    let paths: Vec<&str> = expected.keys().map(String::as_str).collect();
    check_paths(project, &paths);
}

/// The index must equal one that is rebuilt with the same ledger.
fn check_rebuild(project: &mut TestProject, what: &str) {
    let live = index_text(&project.paths().index);
    project.stop();
    project.lose_index();
    project.start();
    project.settle();
    let anew = index_text(&project.paths().index);
    let differs = anew.lines().zip(live.lines()).find(|(anew, live)| anew != live);
    assert!(anew == live, "{what}: {differs:?}");
}

/// Makes a change while no daemon runs.
fn offline(project: &mut TestProject, change: impl FnOnce(&TestProject)) {
    assert!(project.stop().status.success());
    change(project);
    project.start();
}

fn append(project: &TestProject, path: &str, text: &str) {
    let mut file = File::options().append(true).open(project.at(path)).expect("it is there");
    file.write_all(text.as_bytes()).expect("written");
}

fn swap(project: &TestProject, one: &str, other: &str) {
    project.rename(one, "passing.tmp");
    project.rename(other, one);
    project.rename("passing.tmp", other);
}

#[test]
fn a_renamed_document_is_the_same_document() {
    let mut project = harbor();
    check("renamed", &mut project, &[("lamp.md", "beacon.md")], 1, |project| {
        project.rename("lamp.md", "beacon.md");
    });
    check("to another folder", &mut project, &[("boat.md", "logs/boat.md")], 1, |project| {
        project.rename("boat.md", "logs/boat.md");
    });
    check("another case", &mut project, &[("beacon.md", "Beacon.md")], 1, |project| {
        project.rename("beacon.md", "Beacon.md");
    });
    check("renamed and edited", &mut project, &[("Beacon.md", "fresnel.md")], 1, |project| {
        project.rename("Beacon.md", "fresnel.md");
        append(project, "fresnel.md", "\nIt turns.\n");
    });
    check("edited and renamed", &mut project, &[("fresnel.md", "lamp.md")], 1, |project| {
        append(project, "fresnel.md", "\nIt shines.\n");
        project.rename("fresnel.md", "lamp.md");
    });
    check("copied and deleted", &mut project, &[("plain.txt", "logs/rope.txt")], 1, |project| {
        fs::copy(project.at("plain.txt"), project.at("logs/rope.txt")).expect("copied");
        project.remove("plain.txt");
    });
    check_rebuild(&mut project, "renamed");
}

#[test]
fn a_document_renamed_while_the_daemon_was_stopped_is_the_same_document() {
    let mut project = harbor();
    check("renamed", &mut project, &[("lamp.md", "beacon.md")], 1, |project| {
        offline(project, |project| project.rename("lamp.md", "beacon.md"));
    });
    let moves: Moves<'_> = &[("boat.md", "logs/boat.md"), ("logs/tide.md", "a/tide.md")];
    check("to other folders", &mut project, moves, 2, |project| {
        offline(project, |project| {
            project.rename("boat.md", "logs/boat.md");
            project.rename("logs/tide.md", "a/tide.md");
        });
    });
    check("another case", &mut project, &[("beacon.md", "Beacon.md")], 1, |project| {
        offline(project, |project| project.rename("beacon.md", "Beacon.md"));
    });
    check("and edited", &mut project, &[("Beacon.md", "fresnel.md")], 1, |project| {
        offline(project, |project| {
            project.rename("Beacon.md", "fresnel.md");
            append(project, "fresnel.md", "\nIt turns.\n");
        });
    });
    check("over another one", &mut project, &[("fresnel.md", "plain.md")], 1, |project| {
        offline(project, |project| project.rename("fresnel.md", "plain.md"));
    });
    check_rebuild(&mut project, "stopped");
}

#[test]
fn a_document_renamed_while_the_index_was_lost_is_the_same_document() {
    let mut project = harbor();
    let moves: Moves<'_> = &[("lamp.md", "beacon.md"), ("logs/tide.md", "a/tide.md")];
    check("lost", &mut project, moves, NOTES.len() as u64, |project| {
        offline(project, |project| {
            project.lose_index();
            project.rename("lamp.md", "beacon.md");
            project.rename("logs/tide.md", "a/tide.md");
        });
    });
    check_rebuild(&mut project, "lost");
}

#[test]
fn two_documents_that_swap_names_stay_themselves() {
    let mut project = harbor();
    let moves: Moves<'_> = &[("lamp.md", "boat.md"), ("boat.md", "lamp.md")];
    check("while it runs", &mut project, moves, 2, |project| swap(project, "lamp.md", "boat.md"));
    check("while it is stopped", &mut project, moves, 2, |project| {
        offline(project, |project| swap(project, "lamp.md", "boat.md"));
    });
    let moves: Moves<'_> = &[("plain.txt", "logs/tide.md"), ("logs/tide.md", "plain.txt")];
    check("of other formats", &mut project, moves, 2, |project| {
        swap(project, "plain.txt", "logs/tide.md");
    });
    check_rebuild(&mut project, "swapped");
}

#[test]
fn three_documents_that_pass_their_names_on_end_with_a_right_graph() {
    let mut project = harbor();
    project.rename("lamp.md", "passing.tmp");
    project.rename("boat.md", "lamp.md");
    project.rename("logs/tide.md", "boat.md");
    project.rename("passing.tmp", "logs/tide.md");
    project.settle();
    check_paths(&mut project, &["boat.md", "lamp.md", "logs/tide.md", "plain.txt"]);
    check_rebuild(&mut project, "passed on");
}

/// `KG_FULL=1` uses 5,000 files.
#[test]
fn a_renamed_folder_of_many_files_keeps_them_all() {
    let n = if std::env::var_os("KG_FULL").is_some() { 5_000 } else { 300 };
    let mut project = TestProject::empty();
    project.set(PATIENT);
    for i in 0..n {
        project.write(
            &format!("old/{}/{i}.md", i % 7),
            format!("# Sheet {i}\n\nrow {i} of the book\n"),
        );
    }
    project.start();
    project.settle();
    let before = uids(&project);
    let check = |project: &mut TestProject, to: &str| {
        project.settle();
        let moved = |path: &String| path.replacen("old/", &format!("{to}/"), 1);
        let expected: BTreeMap<String, String> =
            before.iter().map(|(path, uid)| (moved(path), uid.clone())).collect();
        assert_eq!(uids(project), expected, "{to}");
    };
    let n_before = n_written(&mut project);
    project.rename("old", "new");
    check(&mut project, "new");
    assert_eq!(n_written(&mut project) - n_before, n);
    offline(&mut project, |project| project.rename("new", "deep/er"));
    check(&mut project, "deep/er");
    assert_eq!(n_written(&mut project), n);
    project.stop();
    println!(
        "{n} files: each kept its uid through two renames of its folder and was written once for each"
    );
}

fn put(path: &Path, text: &str) {
    let mut file = File::create(path).expect("a file");
    file.write_all(text.as_bytes()).expect("written");
    file.sync_all().expect("on disk");
}

/// How an editor saves: the folder, the file's name, the new text.
type Editor = (&'static str, fn(&Path, &str, &str));

const EDITORS: &[Editor] = &[
    ("vim, backupcopy=no", |dir, name, text| {
        let (file, backup) = (dir.join(name), dir.join(format!("{name}~")));
        put(&dir.join(format!(".{name}.swp")), "swap");
        put(&dir.join("4913"), "");
        fs::remove_file(dir.join("4913")).expect("the probe");
        fs::rename(&file, &backup).expect("a backup");
        put(&file, text);
        fs::remove_file(&backup).expect("the backup");
        fs::remove_file(dir.join(format!(".{name}.swp"))).expect("the swap file");
    }),
    ("vim, backupcopy=yes", |dir, name, text| {
        let (file, backup) = (dir.join(name), dir.join(format!("{name}~")));
        put(&dir.join(format!(".{name}.swp")), "swap");
        fs::copy(&file, &backup).expect("a backup");
        put(&file, text);
        fs::remove_file(&backup).expect("the backup");
        fs::remove_file(dir.join(format!(".{name}.swp"))).expect("the swap file");
    }),
    ("in place: VS Code, Obsidian", |dir, name, text| put(&dir.join(name), text)),
    ("in place, in pieces", |dir, name, text| {
        let mut file = File::create(dir.join(name)).expect("a file");
        for piece in text.as_bytes().chunks(16) {
            file.write_all(piece).expect("written");
        }
    }),
    ("a temporary file that looks like a document", |dir, name, text| {
        let temporary = dir.join(format!("{name}.new.md"));
        put(&temporary, text);
        fs::rename(temporary, dir.join(name)).expect("renamed");
    }),
    ("VS Code, atomic", |dir, name, text| {
        let temporary = dir.join(format!("{name}.vsctmp.tmp"));
        put(&temporary, text);
        fs::rename(temporary, dir.join(name)).expect("renamed");
    }),
    ("gedit", |dir, name, text| {
        let temporary = dir.join(".goutputstream-AB12CD");
        put(&temporary, text);
        fs::rename(temporary, dir.join(name)).expect("renamed");
    }),
    ("emacs", |dir, name, text| {
        let (file, lock) = (dir.join(name), dir.join(format!(".#{name}")));
        std::os::unix::fs::symlink("me@harbor.1234:1", &lock).expect("a lock");
        put(&dir.join(format!("#{name}#")), "autosaved");
        fs::rename(&file, dir.join(format!("{name}~"))).expect("a backup");
        put(&file, text);
        fs::remove_file(dir.join(format!("#{name}#"))).expect("the autosave");
        fs::remove_file(lock).expect("the lock");
    }),
];

#[test]
fn a_save_by_any_editor_is_one_change_of_the_same_document() {
    let mut project = harbor();
    for (i, (editor, save)) in EDITORS.iter().enumerate() {
        check(editor, &mut project, &[], 1, |project| {
            let text = format!("# Lamp\n\nwords that stand in no other version, {i} of them\n");
            save(project.root(), "lamp.md", &text);
        });
        let text = project.text("lamp.md");
        assert!(text.contains(&format!("{i} of them")), "{editor}");
    }
    check_rebuild(&mut project, "saved");
}

#[test]
fn a_rename_over_another_document_carries_the_uid_unless_it_is_a_save() {
    let mut project = harbor();
    // A draft that was indexed a moment ago counts as a save of the file that it replaces.
    project.write("draft.md", "# Draft\n\nall other words, and none of them old\n");
    project.settle();
    let before = uids(&project);
    project.rename("draft.md", "boat.md");
    project.settle();
    assert_eq!(uid(&project, "boat.md"), before["boat.md"]);
    check_paths(&mut project, &["boat.md", "lamp.md", "logs/tide.md", "plain.txt"]);
    // One that has existed for long is a document of its own; one with much the same text is not.
    make_old(&mut project);
    project.rename("lamp.md", "boat.md");
    project.settle();
    assert_eq!(uid(&project, "boat.md"), before["lamp.md"]);
    let text = project.text("boat.md");
    project.write("copy.md", format!("{text}\nOne line more.\n"));
    project.settle();
    make_old(&mut project);
    project.rename("copy.md", "boat.md");
    project.settle();
    assert_eq!(uid(&project, "boat.md"), before["lamp.md"]);
    check_paths(&mut project, &["boat.md", "logs/tide.md", "plain.txt"]);
    check_rebuild(&mut project, "renamed over");
}

/// Makes all documents old.
fn make_old(project: &mut TestProject) {
    project.stop();
    let ledger = Connection::open(&project.paths().ledger).expect("it opens");
    ledger.execute("UPDATE documents SET first_seen_ms = 1000", []).expect("older");
    drop(ledger);
    project.start();
    project.settle();
}

fn git(project: &TestProject, arguments: &[&str]) -> bool {
    let who = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=false"];
    let done = Command::new("git").current_dir(project.root()).args(who).args(arguments).output();
    let Ok(done) = done else { return false };
    assert!(done.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    true
}

#[test]
fn uids_come_back_with_the_branch() {
    let mut project = TestProject::empty();
    project.set(PATIENT);
    if !git(&project, &["init", "-q", "-b", "main"]) {
        println!("SKIPPED: no git here");
        return;
    }
    for (path, text) in NOTES {
        project.write(path, text);
    }
    git(&project, &["add", "."]);
    git(&project, &["commit", "-qm", "one"]);
    git(&project, &["checkout", "-qb", "other"]);
    git(&project, &["mv", "lamp.md", "beacon.md"]);
    // Moved and edited: git deletes one file and writes the other.
    git(&project, &["mv", "logs/tide.md", "tables.md"]);
    append(&project, "tables.md", "\nAlmanac.\n");
    git(&project, &["rm", "-q", "plain.txt"]);
    append(&project, "boat.md", "\nIt is painted white.\n");
    project.write("crew.md", "# Crew\n\nfour hands and a cook\n");
    git(&project, &["add", "."]);
    git(&project, &["commit", "-qam", "two"]);
    git(&project, &["checkout", "-q", "main"]);
    project.start();
    project.settle();
    let main = uids(&project);
    git(&project, &["checkout", "-q", "other"]);
    project.settle();
    let other = uids(&project);
    check_paths(&mut project, &["boat.md", "crew.md", "beacon.md", "tables.md"]);
    assert_eq!(other["tables.md"], main["logs/tide.md"], "moved and edited");
    assert_eq!(other["beacon.md"], main["lamp.md"]);
    assert_eq!(other["boat.md"], main["boat.md"]);
    git(&project, &["checkout", "-q", "main"]);
    project.settle();
    assert_eq!(uids(&project), main, "there and back");
    offline(&mut project, |project| {
        git(project, &["checkout", "-q", "other"]);
    });
    project.settle();
    assert_eq!(uids(&project), other, "while it is stopped");
    offline(&mut project, |project| {
        git(project, &["checkout", "-q", "main"]);
    });
    project.settle();
    assert_eq!(uids(&project), main, "and back");
    check_rebuild(&mut project, "branches");
}

#[test]
fn files_that_sync_tools_and_downloads_leave_half_written_are_no_documents() {
    let mut project = harbor();
    let halves = [
        ".syncthing.lamp.md.tmp",
        "~syncthing~lamp.md.tmp",
        ".lamp.md.abc123",
        ".lamp.md.~5f3a",
        "lamp.md.~5f3a",
        ".~lock.lamp.md#",
        "~$lamp.md",
        "lamp.md.crdownload",
        "lamp.md.part",
        "lamp.md.filepart",
        ".dropbox.cache/2026/lamp.md",
        ".sync/Archive/lamp.md",
        ".stversions/lamp.md",
        ".~tmp~/lamp.md",
    ];
    check("halves", &mut project, &[], 0, |project| {
        halves.iter().for_each(|half| project.write(half, "# Half\n\nof a file\n"));
    });
    check("the whole", &mut project, &[], 1, |project| {
        project.write(".syncthing.lamp.md.tmp", "# Lamp\n\nthe version of the other machine\n");
        project.rename(".syncthing.lamp.md.tmp", "lamp.md");
    });
    check("rsync", &mut project, &[], 1, |project| {
        project.write(".boat.md.Xy12Zq", "# Boat\n\nthe version of the server\n");
        project.rename(".boat.md.Xy12Zq", "boat.md");
    });
    check("a download", &mut project, &[], 1, |project| {
        project.rename("lamp.md.part", "lamp.md");
    });
}

fn set_time(project: &TestProject, path: &str, time: SystemTime) {
    let file = File::options().append(true).open(project.at(path)).expect("it is there");
    file.set_modified(time).expect("a time");
}

#[test]
fn a_touched_document_is_of_another_day_only_where_it_states_none() {
    let mut project = TestProject::empty();
    project.set(PATIENT);
    let stated = "---\ndate: 2024-05-06\n---\n# Stated\n\nA day of its own.\n";
    project.write("stated.md", stated);
    project.write("plain.md", "# Plain\n\nNo day.\n");
    let noon = SystemTime::UNIX_EPOCH + Duration::from_secs(20_000 * 86_400 + 43_200);
    let day = Duration::from_secs(86_400);
    set_time(&project, "stated.md", noon);
    set_time(&project, "plain.md", noon);
    project.start();
    project.settle();
    let days = |project: &TestProject| pairs(&project.paths().index, "SELECT path, day FROM docs");
    assert_eq!(days(&project)["plain.md"], "2024-10-04");
    let n = n_written(&mut project);
    for time in [noon + Duration::from_secs(60), noon + day, noon + day * 2] {
        set_time(&project, "stated.md", time);
        set_time(&project, "plain.md", time);
    }
    project.until_graph("the day is known", |project| {
        (days(project)["plain.md"] == "2024-10-06").then_some(())
    });
    project.settle();
    assert_eq!(days(&project)["stated.md"], "2024-05-06");
    assert_eq!(n_written(&mut project) - n, 2, "one settled change each");
    offline(&mut project, |project| set_time(project, "plain.md", noon));
    project.settle();
    assert_eq!(days(&project)["plain.md"], "2024-10-04");
    let live = index_text(&project.paths().index);
    project.stop();
    project.lose_index();
    project.start();
    project.settle();
    assert_eq!(index_text(&project.paths().index), live);
}
