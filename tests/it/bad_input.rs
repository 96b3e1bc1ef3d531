//! Bad files: odd encodings, broken front matter, bombs, links, permissions, folders that vanish.
//! Each is reported in `status`, and changes nothing else: every test has a bystander file, which
//! must stay searchable.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use expect_test::{Expect, expect};
use serde_json::{Value, json};
use tests::TestProject;

pub(crate) const BYSTANDER: (&str, &str) =
    ("bystander.md", "# Bystander\n\nThe quince orchard blooms in April.\n");

/// Returns what `status` reports about a path: failures, warnings, and whether it is indexed.
fn reported(project: &mut TestProject, path: &str) -> String {
    let status = project.status();
    let mut out = String::new();
    for (list, field) in [("quarantine", "reason"), ("warnings", "warning")] {
        for row in status[list].as_array().expect("a list") {
            if row["path"] == path {
                let stage =
                    row["stage"].as_str().map_or(String::new(), |stage| format!("{stage}: "));
                out += &format!("{list}: {stage}{}\n", row[field].as_str().expect("text"));
            }
        }
    }
    let rows = status["survey"]["not_read"].as_array().expect("a list");
    let is_listed =
        |row: &&Value| row["reason"] != "failed" && all_text(&row["paths"]).contains(&path);
    for row in rows.iter().filter(is_listed) {
        out += &format!("not read: {}\n", row["reason"].as_str().expect("text"));
    }
    let graph = project.dump();
    if let Some(row) = graph.rows("document").find(|row| row["path"] == path) {
        out += &format!(
            "indexed as {:?}, {} bytes\n",
            row["title"].as_str().unwrap_or(""),
            row["bytes"]
        );
    }
    out
}

fn all_text(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

pub(crate) fn bystander_is_found(project: &mut TestProject) {
    assert_eq!(project.found("quince orchard")[0], BYSTANDER.0);
}

/// Indexes one file with these bytes next to the bystander; checks what is reported, and that its
/// words are found if they should be.
fn check(path: &str, bytes: &[u8], words: Option<&str>, expected: Expect) {
    let mut project = TestProject::of(&[BYSTANDER]);
    project.write(path, bytes);
    project.settle();
    expected.assert_eq(&reported(&mut project, path));
    bystander_is_found(&mut project);
    if let Some(words) = words {
        assert_eq!(project.found(words)[0], path, "{words}");
    }
    // A repaired file is indexed, and its failure is forgotten.
    project.write(path, "# Repaired\n\nA walrus naps.\n");
    project.until_graph("repaired", |project| {
        (project.found("walrus naps").first().is_some_and(|first| first == path)
            && reported(project, path).starts_with("indexed"))
        .then_some(())
    });
}

#[test]
fn an_empty_file() {
    check(
        "empty.md",
        b"",
        None,
        expect![[r#"
        indexed as "empty", 0 bytes
    "#]],
    );
}

#[test]
fn a_file_of_white_space() {
    check(
        "white.txt",
        b" \n\n\t\n",
        None,
        expect![[r#"
        indexed as "white", 5 bytes
    "#]],
    );
}

#[test]
fn a_file_of_ten_megabytes() {
    check(
        "big.txt",
        "a line of words\n".repeat(640_000).as_bytes(),
        None,
        expect![[r#"
        not read: too large
    "#]],
    );
}

#[test]
fn nul_bytes() {
    check(
        "binary.txt",
        &b"\0\x01\x02data\0\0".repeat(1000),
        None,
        expect![[r#"
        quarantine: normalize: binary content in a text file; hint: rename it or list it in `.kgignore`
    "#]],
    );
    check(
        "stray.txt",
        b"one stray \0 in the turnip field",
        Some("turnip field"),
        expect![[r#"
        warnings: 1 NUL bytes were dropped
        indexed as "stray", 31 bytes
    "#]],
    );
}

#[test]
fn latin_1() {
    check(
        "latin.txt",
        b"Das Caf\xe9 am M\xfcnsterplatz verkauft Br\xf6tchen.\n",
        Some("Brötchen"),
        expect![[r#"
        warnings: not UTF-8: read as windows-1252
        indexed as "latin", 44 bytes
    "#]],
    );
}

#[test]
fn utf_16_with_a_mark() {
    let units: Vec<u16> = "\u{feff}# Meadow\r\n\r\nMeadow larks sing.\r\n".encode_utf16().collect();
    let little: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
    let big: Vec<u8> = units.iter().flat_map(|unit| unit.to_be_bytes()).collect();
    check(
        "little.md",
        &little,
        Some("meadow larks"),
        expect![[r#"
        warnings: not UTF-8: read as UTF-16LE
        indexed as "little", 66 bytes
    "#]],
    );
    check(
        "big.md",
        &big,
        Some("meadow larks"),
        expect![[r#"
        warnings: not UTF-8: read as UTF-16BE
        indexed as "big", 66 bytes
    "#]],
    );
}

#[test]
fn windows_line_ends_and_a_byte_order_mark() {
    let text = b"\xef\xbb\xbf---\r\ntitle: Fen\r\n---\r\n# Fen\r\n\r\nA bittern booms.\r\n";
    check(
        "fen.md",
        text,
        Some("bittern booms"),
        expect![[r#"
        indexed as "Fen", 52 bytes
    "#]],
    );
}

#[test]
fn invalid_yaml() {
    let text = b"---\ntitle: [unclosed\ntags: a: b\n---\n# Quarry\n\nGranite is cut.\n";
    check(
        "yaml.md",
        text,
        Some("granite cut"),
        expect![[r#"
        warnings: front matter is not YAML: line 3: illegal placement of ':' indicator
        indexed as "yaml", 62 bytes
    "#]],
    );
}

#[test]
fn an_alias_bomb() {
    let mut text = String::from("---\na0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for i in 1..12 {
        let refs = vec![format!("*a{}", i - 1); 9].join(", ");
        text += &format!("a{i}: &a{i} [{refs}]\n");
    }
    text += "---\n# Bomb\n\nNothing explodes in the vineyard.\n";
    check(
        "bomb.md",
        text.as_bytes(),
        Some("explodes vineyard"),
        expect![[r#"
        warnings: front matter is read without `a4` (line 6): an alias refers to itself, or repeats too much; `a5` (line 7): an alias refers to itself, or repeats too much; `a6` (line 8): an alias refers to itself, or repeats too much; `a7` (line 9): an alias refers to itself, or repeats too much; `a8` (line 10): an alias refers to itself, or repeats too much; and 3 more
        indexed as "bomb", 693 bytes
    "#]],
    );
}

#[test]
fn deep_nesting() {
    let quotes = format!("{}deep down a newt sleeps\n", "> ".repeat(20_000));
    check(
        "quotes.md",
        quotes.as_bytes(),
        None,
        expect![[r#"
        warnings: a line nests more than 100 lists or quotations; the document is read as plain text
        indexed as "quotes", 40024 bytes
    "#]],
    );
    let tags =
        format!("<html><body>{}deep down{}", "<div>".repeat(50_000), "</div>".repeat(50_000));
    check(
        "tags.html",
        tags.as_bytes(),
        None,
        expect![[r#"
        warnings: elements nest too deep; read without lists, tables and links
        indexed as "tags", 550021 bytes
    "#]],
    );
    let brackets = format!("---\nx: {}\n---\n# Y\n\nText.\n", "[".repeat(20_000));
    check(
        "brackets.md",
        brackets.as_bytes(),
        None,
        expect![[r#"
        warnings: front matter is not YAML: line 2: recursion limit exceeded
        indexed as "brackets", 20023 bytes
    "#]],
    );
}

#[test]
fn symlinks_to_nothing_in_circles_and_outside() {
    let mut project = TestProject::of(&[BYSTANDER]);
    project.write("folder/real.md", "# Real\n\nA real finch.\n");
    project.link("nowhere.md", "dangling.md");
    project.link("circle-b.md", "circle-a.md");
    project.link("circle-a.md", "circle-b.md");
    project.link("..", "folder/up");
    project.link("/etc", "outside");
    project.link("/etc/hostname", "outside.txt");
    project.settle();
    // Links to folders have no extension; a crawl lists them.
    project.restart();
    project.until("all is listed", |status| {
        let rows = status["survey"]["not_read"].as_array();
        rows.is_some_and(|rows| {
            rows.iter().filter_map(|row| row["count"].as_u64()).sum::<u64>() >= 6
        })
    });
    let mut out = String::new();
    for path in ["dangling.md", "circle-a.md", "circle-b.md", "folder/up", "outside", "outside.txt"]
    {
        out += &format!("{path} {}", reported(&mut project, path));
        if !out.ends_with('\n') {
            out.push('\n');
        }
    }
    expect![[r#"
        dangling.md not read: dangling symlink
        circle-a.md not read: symlink loop
        circle-b.md not read: symlink loop
        folder/up not read: symlink loop
        outside not read: symlink out of the root
        outside.txt not read: symlink out of the root
    "#]]
    .assert_eq(&out);
    bystander_is_found(&mut project);
    assert_eq!(project.found("real finch")[0], "folder/real.md");
    let paths: Vec<String> =
        project.dump().rows("document").map(|row| row["path"].to_string()).collect();
    assert_eq!(paths.len(), 2, "{paths:?}");
}

#[test]
fn a_folder_or_pipe_named_like_a_document() {
    let mut project = TestProject::of(&[BYSTANDER]);
    project.write("folder.md/inside.md", "# Inside\n\nA badger digs.\n");
    let made = std::process::Command::new("mkfifo").arg(project.at("pipe.md")).status();
    assert!(made.expect("`mkfifo` runs").success());
    project.settle();
    assert_eq!(project.found("badger digs")[0], "folder.md/inside.md");
    bystander_is_found(&mut project);
    let status = project.until("the pipe is listed", |status| {
        status["survey"]["not_read"].as_array().is_some_and(|rows| !rows.is_empty())
    });
    assert_eq!(all_text(&status["survey"]["not_read"][0]["paths"]), ["pipe.md"]);
    expect![[r#"
        not read: not a regular file
    "#]]
    .assert_eq(&reported(&mut project, "pipe.md"));
}

/// Returns whether this runs as root, for whom no file is unreadable.
fn is_root() -> bool {
    let is_root = config::place::current_uid() == 0;
    if is_root {
        eprintln!("skipped: root may read everything");
    }
    is_root
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("our own file");
}

#[test]
fn an_unreadable_file_keeps_what_was_known_of_it() {
    if is_root() {
        return;
    }
    let mut project = TestProject::of(&[BYSTANDER, ("a.md", "# A\n\nA heron waits.\n")]);
    set_mode(&project.at("a.md"), 0o000);
    project.write("b.md", "# B\n\nB.\n");
    set_mode(&project.at("b.md"), 0o000);
    project
        .until("listed", |status| status["quarantine"].as_array().is_some_and(|q| !q.is_empty()));
    bystander_is_found(&mut project);
    assert_eq!(project.found("heron waits")[0], "a.md");
    set_mode(&project.at("a.md"), 0o600);
    set_mode(&project.at("b.md"), 0o600);
    project.settle();
}

#[test]
fn a_folder_that_loses_its_permission_deletes_nothing() {
    if is_root() {
        return;
    }
    let mut project = TestProject::of(&[BYSTANDER, ("sub/a.md", "# A\n\nA heron waits.\n")]);
    set_mode(&project.at("sub"), 0o000);
    project.write("new.md", "# New\n\nNew.\n");
    project.until("listed", |status| {
        !status["quarantine"].as_array().expect("a list").is_empty()
            || !status["warnings"].as_array().expect("a list").is_empty()
    });
    assert_eq!(project.found("heron waits")[0], "sub/a.md");
    set_mode(&project.at("sub"), 0o700);
    project.settle();
}

#[test]
fn a_root_that_goes_away_deletes_nothing() {
    let mut project = TestProject::of(&[BYSTANDER, ("sub/a.md", "# A\n\nA heron waits.\n")]);
    let root = project.root().to_path_buf();
    let away = project.scratch().join("away");
    fs::rename(&root, &away).expect("it is there");
    let status = project.until("the root is missed", |status| {
        status["warnings"].as_array().is_some_and(|rows| !rows.is_empty())
    });
    let shown = status["warnings"].to_string().replace(&root.display().to_string(), "ROOT");
    expect![[r#"[{"path":".","warning":"the root `ROOT` cannot be read: No such file or directory (os error 2); nothing is removed; hint: restore or mount it"}]"#]].assert_eq(&shown);
    assert_eq!(status["progress"]["indexed"], 2);
    bystander_is_found(&mut project);
    // An empty mount point in its place does not empty the index either.
    fs::create_dir(&root).expect("free");
    project.restart();
    let status = project.until("the root is empty", |status| {
        status["warnings"].as_array().is_some_and(|rows| !rows.is_empty())
    });
    let shown = status["warnings"].to_string().replace(&root.display().to_string(), "ROOT");
    expect![[r#"[{"path":".","warning":"the root `ROOT` is empty, but files of it are known; nothing is removed; hint: is it mounted?"}]"#]].assert_eq(&shown);
    assert_eq!(status["progress"]["indexed"], 2);
    assert_eq!(project.found("heron waits")[0], "sub/a.md");
    fs::remove_dir(&root).expect("empty");
    fs::rename(&away, &root).expect("it was there");
    project.restart();
    project.until("all is well", |status| {
        status["settled"] == true && status["warnings"].as_array().is_some_and(Vec::is_empty)
    });
    assert_eq!(project.status()["progress"]["indexed"], 2);
}

#[test]
fn a_missing_root_is_told_at_the_start() {
    let project = TestProject::empty();
    fs::remove_dir(project.root()).expect("empty");
    let output = project.command().output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8_lossy(&output.stderr);
    let message = message.replace(&project.scratch().display().to_string(), "SCRATCH");
    expect![[r#"
        kgd: no project or folder is called `SCRATCH/notes` (from `--project`); none is registered
        hint: register a folder with `kgctl init DIR`
    "#]]
    .assert_eq(&message);
}

#[test]
fn one_name_for_two_documents_is_nobody_s_guess() {
    let mut project = TestProject::of(&[
        BYSTANDER,
        ("north/Dock.md", "# Dock\n\nThe northern dock has a crane.\n"),
        ("south/Dock.md", "# Dock\n\nThe southern dock has a slipway.\n"),
        ("north/plan.md", "# Plan\n\nPaint the [[Dock]] in May.\n"),
        ("plan.md", "# Plans\n\nPaint a [[Dock]] in June.\n"),
    ]);
    assert_eq!(project.found("dock crane")[0], "north/Dock.md");
    assert_eq!(project.found("dock slipway")[0], "south/Dock.md");
    bystander_is_found(&mut project);
    let table: String = project
        .dump()
        .mention_table()
        .lines()
        .filter(|line| line.contains("plan.md"))
        .map(|line| format!("{line}\n"))
        .collect();
    expect![[r#"
        north/plan.md:3 "Dock" stated Document -> Dock <north/Dock.md>
        plan.md:1 "Plans" gazetteer Concept -> Plans <plan.md>
        plan.md:3 "Dock" stated Document -> -
    "#]]
    .assert_eq(&table);
    let error = project.try_call("explain_entity", json!({"name": "Dock"})).expect_err("two docks");
    // A note's id depends on its uid, which differs in each run.
    let words = text_of(&error["message"]);
    let words = words
        .split(' ')
        .map(|word| if word.parse::<i64>().is_ok_and(|n| n > 2) { "N" } else { word });
    expect![[r#"
        ambiguous: `Dock` names 2 notes: N (north/Dock.md), N (south/Dock.md)
        hint: call again with one of these as `entity_id`"#]]
    .assert_eq(&format!(
        "{}: {}\nhint: {}",
        text_of(&error["code"]),
        words.collect::<Vec<_>>().join(" "),
        text_of(&error["hint"])
    ));
}

pub(crate) fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), String::from)
}

#[test]
fn files_that_vanish_while_they_are_read() {
    let mut project = TestProject::of(&[BYSTANDER]);
    for round in 0..300 {
        let path = format!("passing/{}.md", round % 7);
        project.write(&path, format!("# Passing {round}\n\nHere and gone.\n"));
        if round % 3 != 0 {
            project.remove(&path);
        }
        if round % 50 == 0 {
            fs::remove_dir_all(project.at("passing")).expect("it is there");
        }
    }
    fs::remove_dir_all(project.at("passing")).expect("it is there");
    project.settle();
    let status = project.status();
    assert_eq!(status["quarantine"], json!([]));
    assert_eq!(status["counts"]["documents"], 1);
    bystander_is_found(&mut project);
}
