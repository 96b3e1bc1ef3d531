//! Opener: reads stay inside the project's folder, whatever is swapped meanwhile.
//!
//! kgd opens everything of a project through the crate `confine`, whose own tests race both of its
//! ways.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};
use tests::{Client, TestProject};

/// A word that occurs only outside the project.
const OUTSIDE: &str = "zqoutsideleak";

/// How often a file and a link to an outside file are swapped, and as often a folder and a link.
const N_SWAPS: u32 = 50_000;

/// Least number of calls of each tool, most of them during the swaps.
const N_ROUNDS: u32 = 10;

fn exchange(one: &Path, other: &Path) {
    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).expect("both are there");
}

/// Repeats the calls in turn until the end, and counts the rounds.
fn call_on(socket: &Path, calls: &[(&str, Value)], is_over: &AtomicBool, n_rounds: &AtomicU32) {
    let mut client = Client::admin(socket);
    while !is_over.load(Ordering::Relaxed) {
        for (tool, arguments) in calls {
            // A refusal is fine, too: the path may lead out at this moment.
            let reply = client.call(tool, arguments.clone());
            let text = reply.unwrap_or_else(|error| error).to_string();
            assert!(!text.contains(OUTSIDE), "{tool}: {text}");
        }
        n_rounds.fetch_add(1, Ordering::Relaxed);
    }
}

/// Reads every file below a folder.
fn bytes_below(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(bytes_below(&path));
        } else if let Ok(bytes) = std::fs::read(&path) {
            found.push((path, bytes));
        }
    }
    found
}

#[test]
fn nothing_from_outside_is_indexed_or_returned_while_links_are_swapped_in() {
    let mut project = TestProject::of(&[
        ("n1.md", "# One\n\nInside the harbor.\n"),
        ("d/x.md", "# Two\n\nInside the bay.\n"),
        ("kb.md", "# Three\n\nInside the fjord.\n"),
    ]);
    let outside = project.scratch().join("outside");
    std::fs::create_dir(&outside).expect("a folder");
    let secret = format!("# Outside\n\nWe decided that {OUTSIDE} is private.\n");
    for name in ["x.md", "secret.md"] {
        std::fs::write(outside.join(name), &secret).expect("a file");
    }
    // Next to the project, so that the project contains only what is swapped.
    let aside = |name: &str| project.scratch().join(name);
    std::os::unix::fs::symlink(outside.join("secret.md"), aside("file")).expect("a link");
    std::os::unix::fs::symlink(&outside, aside("folder")).expect("a link");
    let socket = project.paths().socket.clone();
    let edit = json!({"path": "d/x.md", "operation": "append", "content": "+", "dry_run": true});
    let callers = [
        vec![
            ("ingest_docs", json!({"paths": ["n1.md", "d", "kb.md"], "skip_if_seen": false})),
            ("ingest_docs", json!({"paths": ["**/*.md"]})),
            ("kb_ingest", json!({"path": ".", "dry_run": true})),
            ("read_note", json!({"path": "n1.md"})),
            ("read_note", json!({"path": "d/x.md"})),
            ("edit_note", edit),
        ],
        vec![("rescan", json!({"full": true}))],
    ];
    let n_rounds = callers.each_ref().map(|_| AtomicU32::new(0));
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for (calls, n_rounds) in callers.iter().zip(&n_rounds) {
            let (socket, is_over) = (&socket, &is_over);
            scope.spawn(move || call_on(socket, calls, is_over, n_rounds));
        }
        let until = |n| {
            while n_rounds.iter().any(|it| it.load(Ordering::Relaxed) < n) {
                std::thread::yield_now();
            }
        };
        until(1);
        let swappers = [("n1.md", "file"), ("d", "folder")].map(|(inside, name)| {
            let (inside, link) = (project.at(inside), aside(name));
            scope.spawn(move || {
                for _ in 0..N_SWAPS {
                    exchange(&inside, &link);
                }
            })
        });
        for it in swappers {
            it.join().expect("both are there");
        }
        until(N_ROUNDS);
        is_over.store(true, Ordering::Relaxed);
    });
    project.call("rescan", json!({}));
    project.settle();
    for (path, bytes) in bytes_below(&project.paths().dir) {
        let holds = bytes.windows(OUTSIDE.len()).any(|it| it == OUTSIDE.as_bytes());
        assert!(!holds, "{}", path.display());
    }
    let found = project.call("hybrid_query", json!({"q": OUTSIDE}));
    assert!(!found["chunks"].to_string().contains("private"), "{found}");
    for (word, path) in [("harbor", "n1.md"), ("bay", "d/x.md")] {
        let found = project.found(word);
        assert_eq!(found.first().map(String::as_str), Some(path), "{found:?}");
    }
}

#[test]
fn the_files_that_steer_indexing_are_read_inside_only() {
    let mut project = TestProject::empty();
    let outside = project.scratch().join("outside");
    std::fs::write(&outside, "[broken-secret\nsecret: [\n").expect("a file");
    for name in [".kgignore", ".gitignore"] {
        project.link("../outside", name);
    }
    project.write("a.md", "A heron waits.\n");
    project.start();
    project.settle();
    let warnings = project.status()["warnings"].to_string();
    assert!(warnings.contains("it leads out of the folder"), "{warnings}");
    assert!(!warnings.contains("secret"), "{warnings}");
    project.stop();
    for name in ["kg.yaml", "kg.predicates.toml"] {
        project.link("../outside", name);
        let ended = project.try_start().expect_err("it leads out");
        let text = format!("{ended:?}\n{}", project.log());
        assert!(text.contains("of the folder") || text.contains("outside the folder"), "{text}");
        assert!(!text.contains("secret"), "{text}");
        project.remove(name);
    }
}

/// Calls that open or inspect something by its path.
const BY_PATH: [&str; 12] = [
    "File::open(",
    "OpenOptions::new(",
    "fs::read(",
    "fs::read_to_string(",
    "fs::read_dir(",
    "fs::metadata(",
    "fs::symlink_metadata(",
    ".metadata()",
    ".symlink_metadata()",
    ".canonicalize()",
    ".is_dir()",
    ".exists()",
];

/// Code that reads or writes files of projects.
const OF_PROJECTS: [&str; 12] = [
    "daemon/query/src/",
    "daemon/server/src/notes/",
    "daemon/engine/src/",
    "daemon/src/project",
    "daemon/server/src/serve/resources.rs",
    "daemon/server/src/serve/prompts.rs",
    "daemon/server/src/serve/tool/",
    "config/src/load",
    "client/src/interchange/vault.rs",
    "client/src/interchange/note_sink.rs",
    "client/src/interchange/memory/import.rs",
    "client/src/bin/kgctl/census.rs",
];

/// Files that are opened by path there, through any call or a specific one, because they are not
/// files of a project.
const NOT_OF_PROJECTS: [(&str, &str, &str); 16] = [
    ("daemon/server/src/notes/forget.rs", "fs::read(&version.file)", "the state folder"),
    ("daemon/server/src/notes/journal.rs", "", "the state folder"),
    ("daemon/server/src/notes/kept.rs", "", "the state folder"),
    ("daemon/server/src/notes/mod.rs", "", "the state folder: the lock, kept versions"),
    ("daemon/server/src/notes/files.rs", ".metadata()", "of an open file"),
    ("daemon/extract/src/recognize/", "", "the user's own models and tables"),
    ("daemon/formats/src/pdf/meta.rs", ".metadata()", "of a PDF"),
    ("daemon/engine/src/watch/events.rs", "", "which watches are set, and the system's limits"),
    ("daemon/extract/src/relate/vocabulary/file.rs", "", "what the user's own settings name"),
    ("daemon/server/src/project/", "", "the state folder"),
    ("daemon/server/src/serve/tool/maintain.rs", ".canonicalize()", "where a backup goes"),
    ("daemon/server/src/notes/lock.rs", "OpenOptions::new(", "the lock in the state folder"),
    ("daemon/server/src/serve/tool/notes/projects.rs", "", "folders that are to be projects"),
    ("daemon/server/src/serve/tool/notes/write.rs", "Path::new(\"/\")", "folders of the machine"),
    ("config/src/load/edit.rs", "", "the user's own settings"),
    ("config/src/load/tree.rs", ".canonicalize()", "the user's own settings"),
];

/// A vault's notes are read through the opener; this path is named by the user to find vaults.
const OF_BASIC_MEMORY: (&str, &str) = ("client/src/interchange/vault.rs", "std::fs::read(path)");

#[test]
fn files_of_projects_are_opened_by_one_opener() {
    let mut out = String::new();
    for (path, text) in crate::tidy::sources() {
        let is_test = path.ends_with("tests.rs") || path.contains("/tests/");
        if is_test || !OF_PROJECTS.iter().any(|of| path.starts_with(of)) {
            continue;
        }
        let is_excepted = |line: &str| {
            let fits =
                |(of, call, _): &(&str, &str, &str)| path.starts_with(of) && line.contains(call);
            NOT_OF_PROJECTS.iter().any(fits)
                || path == OF_BASIC_MEMORY.0 && line.contains(OF_BASIC_MEMORY.1)
        };
        for line in text.lines().take_while(|line| line.trim() != "#[cfg(test)]") {
            let is_comment = line.trim_start().starts_with("//");
            let call = BY_PATH.iter().find(|call| line.contains(**call));
            if let Some(call) = call.filter(|_| !is_comment && !is_excepted(line)) {
                out += &format!("{path}: `{call}` opens by path; use `confine::Root`\n");
            }
        }
    }
    assert_eq!(out, "");
}
