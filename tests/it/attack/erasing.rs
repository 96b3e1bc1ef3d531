//! Erasing: what is forgotten is gone from every byte that kgd keeps. A person types:
//!
//! ```text
//! kgctl forget notes/plan.md --prove      after deleting it
//! kgctl forget --entity "Ada Lovelace" --prove
//! kgctl forget --text - --prove < string
//! ```
//!
//! and sees what was removed where, which of their own files still contain it, and that a scan of
//! the state folder found nothing. An agent can do none of this.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;

use rusqlite::Connection;
use serde_json::{Value, json};
use tests::http::{initialize, request};
use tests::{Revision, SharedHome, TestProject};

/// Stored with its quotes escaped in JSON, its umlaut folded in index words, and lowercase as a name.
const STRING: &str = "Xyzzy-Plugh \"4711\" grün";

/// The part of it that is the same in every form.
const CORE: &str = "xyzzy-plugh";

const ENTITY: &str = "Vernier Quuxley";

fn plan(days: &str) -> String {
    format!(
        "---\ntitle: Harbor plan\ntags: ['{STRING}']\n---\n# Plan\n\nThe lock of the harbor opens by {STRING} alone.\n\
         It was agreed on {days} days before the storm. [[{STRING}]] is a `{STRING}`.\n"
    )
}

/// A project with the string and the entity in every place where kgd stores anything: rows, index
/// words, versions, kept copies, events, backups, logs, pages, and pages of deleted rows.
fn planted() -> TestProject {
    let mut project = TestProject::empty();
    project.write("notes/plan.md", plan("three"));
    project.write("other.md", "# Other\n\nThe harbor has a lock. Somebody keeps it.\n");
    project.start();
    project.settle();
    let edit = json!({"path": "notes/plan.md", "operation": "append", "content": "More words.\n"});
    project.call("edit_note", edit);
    let observed = format!("{ENTITY} knows that {STRING} is the word of the day");
    project.call(
        "create_entities",
        json!({"entities": [{"name": ENTITY, "entity_type": "person", "observations": [observed]}]}),
    );
    project.call(
        "add_observations",
        json!({"observations": [{"entity_name": ENTITY, "contents": ["Lives by the quiet harbor of Ostmarsch"]}]}),
    );
    let details = format!("The harbor opens at noon.\n\nSay {STRING} to the keeper of the lock.");
    let entry = json!({"short_title": "Harbor", "knowledge_details": details, "tags": ["harbor"]});
    project.call("kb_store", entry);
    let source = "https://x.org/Xyzzy-Plugh%20%224711%22%20gr%C3%BCn";
    let request = json!({"paths": ["other.md"], "tags": ["ops"], "source_url": source});
    project.call("ingest_docs", request);
    project.call("backup", json!({}));
    let state = &project.paths().dir;
    let log = format!("INFO of notes/plan.md and {ENTITY}: {STRING}\nINFO something else\n");
    fs::write(state.join("daemon.log"), &log).expect("written");
    fs::write(state.join("daemon.log.old"), &log).expect("written");
    fs::write(state.join("index.sqlite.old"), &log).expect("written");
    let (code, _, error) = kgctl(&project, &["graph", ENTITY], "");
    assert_eq!(code, 0, "{error}");
    project.settle();
    project
}

/// What a person does first: remove the string from their own files.
fn taken_from_files(project: &mut TestProject) {
    for path in ["notes/plan.md", "memory/vernier-quuxley.md", "kb/kb-00001-harbor.md"] {
        let text = project.text(path);
        let lines = text.lines().filter(|line| !line.contains("Xyzzy"));
        project.write(path, lines.map(|line| format!("{line}\n")).collect::<String>());
    }
    project.settle();
}

/// Runs a `kgctl` command with standard input; returns its exit code, output and errors.
fn kgctl(project: &TestProject, arguments: &[&str], input: &str) -> (i32, String, String) {
    let mut command = project.kgctl();
    command.arg("--project").arg(project.root()).args(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it runs");
    child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

/// Lists every file below a folder.
fn files_below(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        match entry.file_type().expect("a kind") {
            kind if kind.is_dir() => files_below(&entry.path(), found),
            _ => found.push(entry.path()),
        }
    }
}

/// Returns the files of the state folder whose bytes or names contain a string, ignoring case.
fn holders(project: &TestProject, wanted: &str) -> Vec<String> {
    let mut files = Vec::new();
    files_below(&project.paths().dir, &mut files);
    let wanted = wanted.to_lowercase().into_bytes();
    let is_in = |bytes: &[u8]| {
        bytes.to_ascii_lowercase().windows(wanted.len()).any(|window| window == wanted)
    };
    let below =
        |path: &Path| path.strip_prefix(&project.paths().dir).expect("below").display().to_string();
    let holds = |path: &std::path::PathBuf| {
        is_in(below(path).as_bytes()) || is_in(&fs::read(path).unwrap_or_default())
    };
    let mut found: Vec<String> = files.iter().filter(|it| holds(it)).map(|it| below(it)).collect();
    found.sort();
    found
}

fn rows(database: &Path, sql: &str) -> Vec<String> {
    let db = Connection::open(database).expect("opens");
    let mut statement = db.prepare(sql).expect("sound");
    let rows = statement.query_map([], |row| row.get(0)).expect("rows");
    rows.collect::<Result<_, _>>().expect("rows")
}

/// Returns the only backup.
fn backup(project: &TestProject) -> std::path::PathBuf {
    let mut found = Vec::new();
    files_below(&project.paths().dir.join("backups"), &mut found);
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

#[test]
fn a_string_goes_from_everything_that_is_kept() {
    let mut project = planted();
    taken_from_files(&mut project);
    let before = holders(&project, CORE);
    let logs = ["daemon.log", "daemon.log.old", "index.sqlite.old"];
    for kept in
        ["index.sqlite-wal", "ledger.sqlite", "backups/", "kept/notes/plan.md/"].iter().chain(&logs)
    {
        assert!(before.iter().any(|it| it.starts_with(kept)), "not planted in {kept}: {before:?}");
    }
    let (code, out, error) = kgctl(&project, &["forget", "--text", "-", "--prove"], STRING);
    assert_eq!(code, 0, "{out}{error}");
    assert!(out.contains("kb_versions") && out.contains("gone: "), "{out}");
    assert!(!out.to_lowercase().contains("xyzzy"), "{out}");
    assert_eq!(holders(&project, CORE), [""; 0]);
    assert_eq!(holders(&project, "xyzzy"), [""; 0]);
    // The span is gone, and nothing else.
    let versions = "SELECT text FROM kb_versions ORDER BY version LIMIT 1";
    for ledger in [project.paths().ledger.clone(), backup(&project)] {
        let text = rows(&ledger, versions).remove(0);
        assert!(
            text.contains("The harbor opens at noon.\n\nSay [forgotten] to the keeper"),
            "{text}"
        );
    }
    let log = fs::read_to_string(project.paths().dir.join("daemon.log")).expect("a log");
    assert!(
        log.starts_with(&format!("INFO of notes/plan.md and {ENTITY}: [forgotten]\n")),
        "{log}"
    );
    assert!(log.contains("INFO something else\n"), "{log}");
    let (code, out, _) = kgctl(&project, &["restore", "notes/plan.md", "--at", "last"], "");
    assert_eq!(code, 0, "{out}");
    let restored = project.text("notes/plan.md");
    assert!(
        restored.contains("opens by [forgotten] alone.\nIt was agreed on three days"),
        "{restored}"
    );
    project.settle();
    project.verify("after a string was forgotten");
    let copy = backup(&project).display().to_string();
    let (code, out, error) = kgctl(&project, &["backup", "--restore", &copy], "");
    assert!(project.wait_for_end().status.success());
    kgctl(&project, &["stop"], "");
    assert_eq!(code, 0, "{out}{error}");
}

#[test]
fn a_document_goes_and_while_it_is_there_the_receipt_says_so() {
    let mut project = planted();
    let (code, out, _) = kgctl(&project, &["forget", "notes/plan.md", "--prove"], "");
    assert_eq!(code, 1, "{out}");
    assert!(out.contains("still in notes/plan.md") && out.contains("hint: "), "{out}");
    // Whatever is left in the databases comes from the file.
    assert!(out.contains("as long as these files do") && !out.contains("left in"), "{out}");
    project.remove("notes/plan.md");
    let (code, out, error) = kgctl(&project, &["forget", "notes/plan.md", "--prove"], "");
    assert_eq!(code, 0, "{out}{error}");
    assert_eq!(holders(&project, "plan.md"), [""; 0]);
    assert_eq!(holders(&project, "It was agreed on"), [""; 0]);
    let known = "SELECT path FROM documents ORDER BY path";
    assert!(!rows(&project.paths().ledger, known).contains(&"notes/plan.md".to_string()));
    // Once more, as after an interrupted run.
    let (code, out, _) = kgctl(&project, &["forget", "notes/plan.md", "--prove"], "");
    assert_eq!(code, 0, "{out}");
    for wrong in [
        vec!["forget", "notes/pln.md", "--prove"],
        vec!["forget", "--entity", "Nosuch Person", "--prove"],
    ] {
        let (code, out, _) = kgctl(&project, &wrong, "");
        assert_eq!((code, out.contains("not found")), (3, true), "{out}");
    }
    project.verify("after a document was forgotten");
}

/// Returns the versions that are kept: of entries in every ledger, and of notes, with their places.
fn kept_versions(project: &TestProject) -> Vec<String> {
    let mut ledgers = vec![project.paths().ledger.clone()];
    files_below(&project.paths().dir.join("backups"), &mut ledgers);
    let versions = "SELECT entry || ' ' || version || ' ' || text FROM kb_versions";
    let mut found: Vec<String> = ledgers.iter().flat_map(|it| rows(it, versions)).collect();
    let mut kept = Vec::new();
    files_below(&project.paths().dir.join("kept"), &mut kept);
    let text = |it: &std::path::PathBuf| fs::read_to_string(it).expect("a text");
    found.extend(kept.iter().map(|it| format!("{} {}", it.display(), text(it))));
    found.sort();
    found
}

#[test]
fn what_others_say_as_well_stays_in_their_versions_and_the_proof_names_them() {
    let shared = "---\nauthor: Somebody of the harbor\nstatus: being written\n---\n";
    let note = |name: &str| {
        format!(
            "{shared}# Note {name}\n\nOnly {name} says this much.\n\n- [ ] shared task for every note\n"
        )
    };
    let mut project = TestProject::empty();
    for name in ["alpha", "beta", "gamma"] {
        project.write(&format!("{name}.md"), note(name));
    }
    project.start();
    project.settle();
    for name in ["alpha", "beta", "gamma"] {
        let edit = json!({"path": format!("{name}.md"), "operation": "append", "content": "More words.\n"});
        project.call("edit_note", edit);
        let details = format!("The keeper of {name} has the key of the lock.");
        project.call("kb_store", json!({"short_title": name, "knowledge_details": details}));
    }
    project.call("backup", json!({}));
    project.settle();
    let expected: Vec<String> =
        kept_versions(&project).into_iter().filter(|it| !it.contains("alpha")).collect();
    assert_eq!(expected.len(), 6, "two notes, and two entries in two ledgers: {expected:?}");
    for (path, word) in [("alpha.md", "Only alpha"), ("kb/kb-00001-alpha.md", "keeper of alpha")] {
        project.remove(path);
        let (code, out, error) = kgctl(&project, &["forget", path, "--prove"], "");
        assert_eq!(code, 0, "{out}{error}");
        assert!(
            out.contains("also in beta.md") || out.contains("also in kb/kb-00002-beta.md"),
            "{out}"
        );
        assert!(
            !out.contains("still in") && !out.contains("edit or delete"),
            "others are innocent: {out}"
        );
        assert_eq!(holders(&project, word), [""; 0], "{path}");
    }
    assert_eq!(kept_versions(&project), expected);
    let (code, out, _) = kgctl(&project, &["restore", "beta.md", "--at", "last"], "");
    assert_eq!((code, project.text("beta.md")), (0, note("beta")), "{out}");
    project.settle();
    project.verify("after two documents were forgotten");
}

#[test]
fn a_document_goes_from_every_path_that_it_ever_had() {
    let mut project = TestProject::of(&[("other.md", "# Other\n\nNobody else says a word.\n")]);
    let edit = |project: &mut TestProject, path: &str| {
        let content = "And this was added.\n";
        project.call("edit_note", json!({"path": path, "operation": "append", "content": content}));
    };
    let rename = |project: &mut TestProject, from: &str, to: &str| {
        project.rename(from, to);
        project.settle();
    };
    let names = ["tool", "former", "soon", "unread", "file", "sub", "down", "folder-down"];
    for name in names {
        let text = format!("# Plan\n\nThe zqforget{name} is what nobody may read.\n");
        project.write(&format!("old-{name}/t.md"), text);
    }
    project.settle();
    for name in names {
        edit(&mut project, &format!("old-{name}/t.md"));
    }
    let entry = |details: &str| json!({"short_title": "Pay", "knowledge_details": details});
    project.call("kb_store", entry("salary: 90k, zqforgetentry"));
    edit(&mut project, "kb/kb-00001-pay.md");
    project.call("backup", json!({}));
    for name in ["tool", "former", "soon"] {
        let to = format!("new-{name}/moved.md");
        project.call("move_note", json!({"path": format!("old-{name}/t.md"), "destination": to}));
    }
    // Before the daemon has noticed what the tool did, or what a person did.
    project.rename("new-soon/moved.md", "new-soon/renamed.md");
    project.rename("old-unread/t.md", "new-unread/t.md");
    project.call("delete_note", json!({"path": "new-unread/t.md"}));
    project
        .call("move_note", json!({"path": "kb/kb-00001-pay.md", "destination": "archive/pay.md"}));
    edit(&mut project, "archive/pay.md");
    rename(&mut project, "old-file/t.md", "new-file/moved.md");
    rename(&mut project, "old-sub", "new-sub");
    project.stop();
    project.rename("old-down/t.md", "new-down/moved.md");
    project.rename("old-folder-down", "new-folder-down");
    project.start();
    project.settle();
    // Another document comes to an old path: nothing of it may go.
    project.write("old-tool/t.md", "# New\n\nThis zqinnocent is somebody else's.\n");
    project.settle();
    edit(&mut project, "old-tool/t.md");
    for (name, path) in [
        ("tool", "new-tool/moved.md"),
        ("former", "old-former/t.md"),
        ("soon", "new-soon/renamed.md"),
        ("unread", "old-unread/t.md"),
        ("file", "new-file/moved.md"),
        ("sub", "new-sub"),
        ("down", "new-down/moved.md"),
        ("folder-down", "new-folder-down"),
        ("entry", "archive/pay.md"),
    ] {
        let word = format!("zqforget{name}");
        assert!(holders(&project, &word).iter().any(|it| it.starts_with("kept/")), "{name}");
        let folder = path.split('/').next().expect("a folder").replace("old-former", "new-former");
        fs::remove_dir_all(project.at(&folder)).expect("removed");
        project.settle();
        let (code, out, error) = kgctl(&project, &["forget", path, "--prove"], "");
        assert_eq!(code, 0, "{name}: {out}{error}");
        assert_eq!(holders(&project, &word), [""; 0], "{name}: {out}");
    }
    assert_eq!(rows(&project.paths().ledger, "SELECT text FROM kb_versions"), [""; 0]);
    assert!(holders(&project, "zqinnocent").iter().any(|it| it.starts_with("kept/old-tool/")));
}

#[test]
fn an_entry_goes_whoever_else_states_its_id() {
    let mut project = TestProject::of(&[("other.md", "# Other\n\nNobody else says a word.\n")]);
    for (title, word) in [("Door", "zqkeeper"), ("Lock", "zqlocksmith")] {
        let details = format!("Only the {word} has a key that fits.");
        project.call("kb_store", json!({"short_title": title, "knowledge_details": details}));
    }
    let template = "---\nid: kb-00001\n---\n# Template\n\nFor whatever is stored next.\n";
    project.write("tpl.md", template);
    project.write("a-copy.md", project.text("kb/kb-00002-lock.md"));
    project.settle();
    project.call("edit_note", json!({"path": "tpl.md", "operation": "append", "content": "More."}));
    project.call("backup", json!({}));
    project.remove("kb/kb-00001-door.md");
    project.remove("kb/kb-00002-lock.md");
    let (code, out, error) = kgctl(&project, &["forget", "kb-00001", "--prove"], "");
    assert_eq!((code, holders(&project, "zqkeeper").len()), (0, 0), "{out}{error}");
    let (code, out, error) = kgctl(&project, &["forget", "kb/kb-00002-lock.md", "--prove"], "");
    assert_eq!(code, 0, "{out}{error}");
    assert!(out.contains("also in a-copy.md") && !out.contains("still in"), "{out}");
    for ledger in [project.paths().ledger.clone(), backup(&project)] {
        assert_eq!(rows(&ledger, "SELECT text FROM kb_versions"), [""; 0]);
    }
    // Nothing of the notes that state the same ids went with them.
    let (code, out, _) = kgctl(&project, &["restore", "tpl.md", "--at", "last"], "");
    assert_eq!((code, project.text("tpl.md")), (0, template.to_string()), "{out}");
}

#[test]
fn a_name_is_forgotten_and_restored_as_it_is_shown() {
    let mut project = TestProject::empty();
    let (note, shown) = ("d\u{200b}ir/pl\u{202e}an.md", r"d\u{200b}ir/pl\u{202e}an.md");
    let text = "# Plan\n\nThe word is zqhidden.\n";
    project.write(note, text);
    project.start();
    project.settle();
    project.call("edit_note", json!({"path": shown, "operation": "append", "content": "More."}));
    let (code, out, error) = kgctl(&project, &["restore", shown], "");
    assert!(code == 0 && out.contains(shown), "{out}{error}");
    let (code, out, error) = kgctl(&project, &["restore", shown, "--at", "last"], "");
    assert_eq!((code, project.text(note)), (0, text.to_string()), "{out}{error}");
    project.remove(note);
    let (code, out, error) = kgctl(&project, &["forget", shown, "--prove"], "");
    assert_eq!((code, holders(&project, "zqhidden").len()), (0, 0), "{out}{error}");
    let entity = json!({"name": "Ada\u{202e}", "entity_type": "person", "observations": ["Lives by zqquay"]});
    project.call("create_entities", json!({"entities": [entity]}));
    project.call("delete_entities", json!({"entity_names": [r"Ada\u{202e}"]}));
    project.settle();
    let (code, out, error) =
        kgctl(&project, &["forget", "--entity", r"Ada\u{202e}", "--prove"], "");
    assert_eq!((code, holders(&project, "zqquay").len()), (0, 0), "{out}{error}");
}

#[test]
fn a_name_typed_in_the_letters_of_a_list_is_restored_and_forgotten() {
    let names = [
        ("new\nline.md", "new line.md"),
        ("Cafe\u{301} Notes.md", "Caf\u{e9} Notes.md"),
        ("zw\u{200b}sp.md", "zwsp.md"),
        ("Pla\u{301}n/a.md", "Pl\u{e1}n"),
    ];
    let mut project = TestProject::empty();
    let word = |n: usize| format!("zqtyped{n}x");
    for (n, (note, _)) in names.iter().enumerate() {
        project.write(note, format!("# Note {n}\n\nThe word is {}.\n", word(n)));
    }
    project.start();
    project.settle();
    for (n, (note, typed)) in names.iter().enumerate() {
        let text = project.text(note);
        project.call("edit_note", json!({"path": note, "operation": "append", "content": "More."}));
        if typed.ends_with(".md") {
            let (code, out, error) = kgctl(&project, &["restore", typed, "--at", "last"], "");
            assert_eq!((code, project.text(note)), (0, text), "{typed}: {out}{error}");
        }
        project.remove(note);
        let (code, out, error) = kgctl(&project, &["forget", typed, "--prove"], "");
        assert_eq!((code, holders(&project, &word(n)).len()), (0, 0), "{typed}: {out}{error}");
    }
}

#[test]
fn a_typed_name_that_may_be_several_forgets_none_and_a_forgotten_one_means_no_other() {
    let mut project = TestProject::empty();
    for name in ["Plan.md", "PLAN.md"] {
        project.write(name, format!("# {name}\n\nThe word is zqcase{}.\n", name.to_lowercase()));
    }
    project.start();
    project.settle();
    let (code, _, error) = kgctl(&project, &["forget", "plan.md", "--prove"], "");
    assert!(code != 0 && error.contains("`PLAN.md`, `Plan.md`"), "{error}");
    for name in ["Plan.md", "PLAN.md"] {
        project.call("edit_note", json!({"path": name, "operation": "append", "content": "More."}));
    }
    project.remove("Plan.md");
    for _ in 0..2 {
        let (code, out, error) = kgctl(&project, &["forget", "Plan.md", "--prove"], "");
        assert_eq!(code, 0, "{out}{error}");
    }
    let (code, out, _) = kgctl(&project, &["restore", "PLAN.md"], "");
    assert_eq!(code, 0, "{out}");
}

#[test]
fn a_name_that_means_nothing_says_what_was_looked_for() {
    // That another note mentions the name does not make it known.
    let mut project = TestProject::of(&[("a.md", "# A\n\nSee pln.md for it.\n")]);
    let entity = json!({"name": ENTITY, "entity_type": "person", "observations": ["Lives here"]});
    project.call("create_entities", json!({"entities": [entity]}));
    let (code, out, _) = kgctl(&project, &["forget", "pln.md", "--prove"], "");
    assert_eq!(code, 3, "{out}");
    for said in [
        "at this path",
        "an entry with this id",
        "entity of this name\n",
        "0 copies",
        "forget --text -",
    ] {
        assert!(out.contains(said), "{said}: {out}");
    }
    let (code, out, _) = kgctl(&project, &["forget", ENTITY], "");
    assert!(code == 3 && out.contains("there is one, which `--entity` forgets"), "{out}");
    project.call("kb_store", json!({"short_title": "Door", "knowledge_details": "Ask zqkeeper."}));
    project.remove("kb/kb-00001-door.md");
    let (code, out, _) = kgctl(&project, &["forget", "kb-00001", "--prove"], "");
    assert_eq!((code, holders(&project, "zqkeeper").len()), (0, 0), "{out}");
}

#[test]
fn a_name_that_was_forgotten_means_what_had_it_since_and_one_note_alone() {
    let mut project = TestProject::empty();
    project.write("t.md", "# T\n\nThe word is zqfirst.\n");
    project.start();
    project.settle();
    project.call("edit_note", json!({"path": "t.md", "content": "More."}));
    project.remove("t.md");
    project.settle();
    let (code, out, _) = kgctl(&project, &["forget", "t.md", "--prove"], "");
    assert_eq!((code, holders(&project, "zqfirst").len()), (0, 0), "{out}");
    project.write("t.md", "# T\n\nThe word is zqsecond.\n");
    project.settle();
    project.call("edit_note", json!({"path": "t.md", "content": "More."}));
    project.call("move_note", json!({"path": "t.md", "destination": "b.md"}));
    project.settle();
    project.remove("b.md");
    project.settle();
    assert!(!holders(&project, "zqsecond").is_empty());
    let (code, out, _) = kgctl(&project, &["forget", "t.md", "--prove"], "");
    assert_eq!((code, holders(&project, "zqsecond").len()), (0, 0), "{out}");
    for folder in ["x", "y"] {
        let text = format!("---\ntitle: Plan\ntype: plan\n---\nThe word is zq{folder}.\n");
        project.write(&format!("{folder}/plan.md"), text);
    }
    project.settle();
    let (code, _, error) = kgctl(&project, &["forget", "--entity", "Plan"], "");
    assert!(
        code != 0 && error.contains("several notes are called `Plan`: `x/plan.md`, `y/plan.md`"),
        "{error}"
    );
    assert!(!holders(&project, "zqx").is_empty() && !holders(&project, "zqy").is_empty());
}

#[test]
fn files_that_are_not_indexed_are_searched_for_a_string() {
    let project = TestProject::of(&[("a.md", "# A\n\nNothing.\n"), (".kgignore", "ign/\n")]);
    let text = "MARMALADEKILO55";
    for path in ["data.json", "ign/x.md", ".hidden/y.txt"] {
        project.write(path, format!("id,{text}\n"));
    }
    let (code, out, _) = kgctl(&project, &["forget", "--text", text, "--prove"], "");
    assert_eq!(code, 1, "{out}");
    for path in ["data.json", "ign/x.md", ".hidden/y.txt"] {
        assert!(out.contains(&format!("still in {path}")), "{path}: {out}");
    }
}

#[test]
fn an_entity_goes_with_its_history() {
    let mut project = planted();
    project.call("delete_entities", json!({"entity_names": [ENTITY]}));
    project.settle();
    assert!(!holders(&project, ENTITY).is_empty());
    assert!(!holders(&project, "Ostmarsch").is_empty());
    let (code, out, error) = kgctl(&project, &["forget", "--entity", ENTITY, "--prove"], "");
    assert_eq!(code, 0, "{out}{error}");
    for gone in [ENTITY, "vernier-quuxley", "vernierquuxley", "quiet harbor of Ostmarsch"] {
        assert_eq!(holders(&project, gone), [""; 0], "{gone}");
    }
    assert_eq!(rows(&project.paths().ledger, "SELECT node FROM memory_events"), [""; 0]);
    assert_eq!(rows(&project.paths().ledger, "SELECT kind FROM removals"), ["entity"]);
}

#[test]
fn a_run_that_is_killed_anywhere_is_finished_by_the_next() {
    let mut project = planted();
    taken_from_files(&mut project);
    project.stop();
    let (state, copy) = (project.paths().dir.clone(), project.scratch().join("copy"));
    let copied = |from: &Path, to: &Path| {
        let _ = fs::remove_dir_all(to);
        let done = std::process::Command::new("cp").arg("-a").args([from, to]).status();
        assert!(done.expect("`cp` runs").success());
    };
    copied(&state, &copy);
    let points = ["ledger", "copy", "kept", "vectors", "index"].map(|it| format!("forget.{it}"));
    let text = json!({"text": STRING, "prove": true});
    let path = json!({"path": "notes/plan.md", "prove": true});
    let runs = points.iter().map(|it| (it, &text, CORE));
    let of_path = points.iter().take(3).map(|it| (it, &path, "It was agreed on"));
    for (point, request, word) in runs.chain(of_path) {
        copied(&copy, &state);
        project.fail(point);
        if word != CORE && project.at("notes/plan.md").exists() {
            project.remove("notes/plan.md");
        }
        project.start();
        assert!(project.attempt("forget", request.clone()).is_none(), "{point} was not reached");
        project.wait_for_end();
        project.fail("");
        project.start();
        let reply = project.call("forget", request.clone());
        assert_eq!(reply["proof"]["gone"], true, "{point}: {reply:#}");
        assert_eq!(holders(&project, word), [""; 0], "{point}");
        project.stop();
    }
}

#[test]
fn a_better_detector_takes_spans_out_of_what_is_stored_and_leaves_versions_to_be_restored() {
    let mut project = TestProject::of(&[("a.md", "# A\n\nWords.\n")]);
    project.call(
        "kb_store",
        json!({"short_title": "Door", "knowledge_details": "Ask the keeper for it."}),
    );
    let edit = json!({"path": "a.md", "operation": "append", "content": "More words.\n"});
    project.call("edit_note", edit);
    project.call("backup", json!({}));
    project.settle();
    project.stop();
    // The state of a version that did not recognize the token as a secret.
    let token = ["gh", "p_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"].concat();
    let state = project.paths().dir.clone();
    let text = format!("The keeper's token is {token}, they say.\nThe rest stays.\n");
    for ledger in [project.paths().ledger.clone(), backup(&project)] {
        let db = Connection::open(&ledger).expect("opens");
        db.execute("UPDATE kb_versions SET text = ?1", [&text]).expect("written");
        // The journal behind `changes` keeps lines of a document as JSON.
        let lines = json!([["+", &text]]).to_string();
        let n = db.execute("UPDATE changes SET lines = ?1", [lines]).expect("written");
        assert!(n > 0, "the journal of {}", ledger.display());
        db.execute("UPDATE scrubbed SET detectors = 'older'", []).expect("written");
    }
    fs::write(state.join("daemon.log"), &text).expect("written");
    let mut kept = Vec::new();
    files_below(&state.join("kept"), &mut kept);
    fs::write(&kept[0], &text).expect("written");
    assert_eq!(holders(&project, &token).len(), 4);

    project.start();
    let ledger = project.paths().ledger.clone();
    project.until_graph("looked through", |_| {
        (rows(&ledger, "SELECT detectors FROM scrubbed") != ["older"]).then_some(())
    });
    let left = holders(&project, &token);
    assert!(left.len() == 1 && left[0].contains("kept"), "{left:?}");
    let mode = fs::metadata(&kept[0]).expect("a version").permissions().mode();
    assert_eq!(mode & 0o077, 0, "{mode:o}");
    let clean = text.replace(&token, "[redacted:github-token]");
    for ledger in [ledger.clone(), backup(&project)] {
        assert_eq!(rows(&ledger, "SELECT text FROM kb_versions"), std::slice::from_ref(&clean));
        let lines = rows(&ledger, "SELECT lines FROM changes WHERE lines LIKE '%keeper%' LIMIT 1");
        assert_eq!(lines, [json!([["+", &clean]]).to_string()]);
    }
    assert_eq!(fs::read_to_string(state.join("daemon.log")).expect("a log"), clean);
    let (code, out, _) = kgctl(&project, &["restore", "a.md", "--at", "last"], "");
    assert_eq!(code, 0, "{out}");
    assert_eq!(project.text("a.md"), text);
    assert_eq!(rows(&ledger, "SELECT kind FROM removals"), ["secrets"]);
    project.settle();
    // Nobody but the user sees it, and `forget` reaches it.
    let history = project.call("note_history", json!({"path": "a.md"}));
    let versions = history["changes"].as_array().expect("rows").iter();
    for version in versions.filter_map(|it| it["version"].as_str()) {
        let shown = project.call("note_history", json!({"path": "a.md", "version": version}));
        assert!(!shown.to_string().contains(&token), "{shown}");
    }
    project.call("forget", json!({"text": token}));
    assert_eq!(holders(&project, &token), [""; 0]);
}

/// Returns code and message of a call that must fail.
fn refusal(answer: Result<Value, Value>) -> String {
    answer.expect_err("refused").to_string()
}

#[test]
fn no_agent_can_forget_anything() {
    let mut project = TestProject::empty();
    project.write("a.md", "# A\n\nThe harbor opens at noon.\n");
    project.set("http.listen=127.0.0.1:0");
    project.set("http.tools=core,notes,memory,kb");
    project.set("http.token=none");
    project.start();
    project.settle();
    let request = json!({"text": "The harbor opens"});
    let listed = |tools: &Value| tools.to_string().contains("\"forget\"");
    let mut agent = project.agent();
    assert!(!listed(&agent.ask("tools/list", json!({}))));
    assert!(refusal(agent.call("forget", request.clone())).contains("no tool is called `forget`"));
    let http = project.http().open("2025-06-18");
    assert!(refusal(http.call("forget", request.clone())).contains("no tool is called `forget`"));
    // With every set that an agent may have.
    let mut all = tests::Client::connect(&project.paths().socket).expect("connected");
    all.send(&json!({"kgd": 1, "tools": ["core", "notes", "memory", "kb"], "form": "whole", "client": "kg-mcp"}));
    all.open(Revision::Initialize("2025-06-18"));
    assert!(!listed(&all.ask("tools/list", json!({}))));
    assert!(refusal(all.call("forget", request)).contains("no tool is called `forget`"));

    project.stop();
    project.set("http.tools=core,admin");
    let ended = project.try_start().expect_err("refused");
    assert!(ended.log.contains("no set of tools for agents"), "{}", ended.log);
}

#[test]
fn kg_mcp_passes_no_admin_tools_on_whatever_it_is_told() {
    let home = SharedHome::of(&[("notes", "a.md", "# A\n\nThe harbor opens at noon.\n")]);
    let shim = tests::kgctl().with_file_name("kg-mcp");
    for arguments in
        [&["--tools", "admin"][..], &["--tools", "core,admin", "--http", "127.0.0.1:0"]]
    {
        let output = home.command(&shim).args(["--project", "notes"]).args(arguments).output();
        let output = output.expect("it runs");
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("not for agents"), "{output:?}");
    }
    // A preamble sent by the agent follows that of the shim, so it is just an invalid line.
    let mut command = home.command(&shim);
    command.args(["--project", "notes", "--tools", "core,notes,memory,kb"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it runs");
    let mut input = child.stdin.take().expect("a pipe");
    let output = BufReader::new(child.stdout.take().expect("a pipe"));
    let call = json!({"name": "forget", "arguments": {"text": "The harbor opens"}});
    for line in [
        json!({"kgd": 1, "tools": ["core", "admin"], "form": "whole", "client": "kgctl"}),
        initialize("2025-06-18"),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        request(7, "tools/call", call),
    ] {
        writeln!(input, "{line}").expect("it reads");
    }
    let mut lines = output.lines().map(|line| line.expect("text"));
    let answer = lines.find(|line| line.contains("\"id\":7")).expect("an answer");
    assert!(answer.contains("no tool is called `forget`"), "{answer}");
    drop(input);
    child.wait().expect("our own child");
}
