//! Invariant 3: the same files give the same graph, whatever the order, the timing and the history.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use tests::{TestProject, index_text};

/// Returns graph and index of a settled project as one text.
pub(crate) fn picture(project: &mut TestProject) -> String {
    let graph = project.dump().text();
    graph + &index_text(&project.paths().index)
}

/// Fails with the lines that differ, at most 40.
pub(crate) fn assert_same(one: &str, other: &str, what: &str) {
    if one == other {
        return;
    }
    let missing = |of: &str, in_this: &str| -> Vec<String> {
        let known: std::collections::HashSet<&str> = in_this.lines().collect();
        of.lines().filter(|line| !known.contains(line)).map(String::from).collect()
    };
    let mut report = String::new();
    let (only_one, only_other) = (missing(one, other), missing(other, one));
    for (sign, lines) in [("-", &only_one), ("+", &only_other)] {
        for line in lines.iter().take(20) {
            let _ = writeln!(report, "{sign} {}", line.chars().take(400).collect::<String>());
        }
    }
    panic!("{what}: {} and {} lines differ\n{report}", only_one.len(), only_other.len());
}

/// Returns the files of `corpus/docs`, or of the folder that `KG_TEST_FOLDER` names, by path.
pub(crate) fn corpus() -> Vec<(String, String)> {
    let root = match std::env::var_os("KG_TEST_FOLDER") {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus/docs"),
    };
    let mut files = Vec::new();
    let mut open = vec![root.clone()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).expect("the corpus").flatten() {
            if entry.path().is_dir() {
                open.push(entry.path());
                continue;
            }
            let Ok(text) = std::fs::read_to_string(entry.path()) else { continue };
            let path = entry.path();
            let is_read =
                path.extension().is_some_and(|it| it == "md" || it == "txt" || it == "html");
            let path = path.strip_prefix(&root).expect("inside").to_string_lossy().into_owned();
            if !is_read || path.starts_with('.') || path.contains("/.") {
                continue;
            }
            files.push((path, text));
        }
    }
    files.sort();
    files
}

/// Indexes these files at once: every other way must end with the same result.
fn fresh(files: &[(String, String)]) -> String {
    let mut project = TestProject::empty();
    for (path, text) in files {
        project.write(path, text);
    }
    project.start();
    project.settle();
    picture(&mut project)
}

/// Changes a running project of `before`, and compares the result with a fresh index.
fn check(what: &str, before: &[(&str, &str)], change: impl Fn(&mut TestProject)) {
    let mut project = TestProject::of(before);
    // What is kept in memory has to follow the change.
    project.dump();
    change(&mut project);
    project.settle();
    let live = picture(&mut project);
    let mut left = Vec::new();
    for row in project.dump().rows("document") {
        let path = row["path"].as_str().expect("a path").to_string();
        let text = project.text(&path);
        left.push((path, text));
    }
    assert_same(&fresh(&left), &live, what);
}

#[test]
fn the_corpus_twice_from_scratch() {
    let files = corpus();
    assert!(files.len() >= 30, "{}", files.len());
    assert_same(&fresh(&files), &fresh(&files), "two runs");
}

#[test]
fn the_corpus_file_by_file_in_reverse_with_detours() {
    let files = corpus();
    let expected = fresh(&files);
    let mut project = TestProject::empty();
    project.start();
    for (i, (path, text)) in files.iter().rev().enumerate() {
        match i % 5 {
            // Another text first.
            0 => {
                project
                    .write(path, format!("# Draft {i}\n\nThe Signing Service uses Draft {i}.\n"));
                project.settle();
                project.write(path, text);
            }
            // Another place first.
            1 => {
                project.write(&format!("inbox/{i}.md"), text);
                project.settle();
                project.rename(&format!("inbox/{i}.md"), path);
            }
            // Added, removed, and added again.
            2 => {
                project.write(path, text);
                project.settle();
                project.remove(path);
                project.settle();
                project.write(path, text);
            }
            // A neighbor that is removed again.
            3 => {
                project
                    .write("zz-passing.md", format!("# Passing {i}\n\nSee [[Billing]].\n{text}"));
                project.write(path, text);
                project.settle();
                project.remove("zz-passing.md");
            }
            _ => project.write(path, text),
        }
        if i % 3 == 0 {
            project.settle();
            project.dump();
        }
    }
    project.settle();
    assert_same(&expected, &picture(&mut project), "in reverse");
}

#[test]
fn the_corpus_after_restarts_and_a_kill() {
    let files = corpus();
    let expected = fresh(&files);
    let mut project = TestProject::empty();
    let (first, second) = files.split_at(files.len() / 2);
    for (path, text) in second {
        project.write(path, text);
    }
    project.start();
    project.kill9();
    for (path, text) in first {
        project.write(path, text);
    }
    project.start();
    project.settle();
    project.restart();
    project.settle();
    assert_same(&expected, &picture(&mut project), "restarted");
}

const HOMES: &[(&str, &str)] = &[
    ("a/Readme.md", "# Readme\n\nAlpha Gateway depends on [[Billing]].\n"),
    ("b/Readme.md", "# Readme\n\nBilling uses Postgres.\n"),
    ("a/one.md", "# One\n\nSee [[Readme]] about Alpha Gateway.\n"),
    ("b/two.md", "# Two\n\nSee [[Readme]] about Billing.\n"),
    ("Billing.md", "# Billing\n\nBilling is a service.\n"),
];

#[test]
fn a_document_moves_nearer_to_another_home_of_an_ambiguous_name() {
    check("moved", HOMES, |project| project.rename("a/one.md", "b/one.md"));
}

#[test]
fn a_home_of_an_ambiguous_name_moves_away() {
    check("moved", HOMES, |project| project.rename("a/Readme.md", "c/Readme.md"));
}

#[test]
fn one_of_two_homes_goes() {
    check("gone", HOMES, |project| project.remove("b/Readme.md"));
}

#[test]
fn a_second_home_comes() {
    check("comes", &HOMES[1..], |project| project.write("a/Readme.md", HOMES[0].1));
}

#[test]
fn a_title_changes_and_old_mentions_lose_their_note() {
    check("retitled", HOMES, |project| {
        project
            .write("Billing.md", "---\ntitle: Invoicing\n---\n# Invoicing\n\nIt is a service.\n");
    });
}

#[test]
fn a_folder_moves() {
    check("moved", HOMES, |project| project.rename("a", "deep/er/a"));
}

#[test]
fn a_note_becomes_a_text_and_a_text_a_note() {
    check("to text", HOMES, |project| project.rename("Billing.md", "Billing.txt"));
    check("to a note", HOMES, |project| {
        project.write("Ledger.txt", "Billing uses the Ledger. The Ledger is a store.\n");
        project.settle();
        project.rename("Ledger.txt", "Ledger.md");
    });
}

#[test]
fn two_files_change_places_and_one_overwrites_another() {
    check("swapped", HOMES, |project| {
        project.rename("a/Readme.md", "a/passing.tmp");
        project.rename("b/Readme.md", "a/Readme.md");
        project.rename("a/passing.tmp", "b/Readme.md");
    });
    check("overwritten", HOMES, |project| project.rename("a/one.md", "Billing.md"));
    check("another case", HOMES, |project| project.rename("Billing.md", "billing.md"));
}

#[test]
fn a_copy_comes_and_the_original_goes() {
    check("copied", HOMES, |project| {
        project.write("copy/Billing.md", HOMES[4].1);
        project.settle();
        project.remove("Billing.md");
    });
}

#[test]
fn a_type_stated_later_and_taken_back() {
    check("typed", HOMES, |project| {
        project
            .write("Billing.md", "---\ntype: Service\n---\n# Billing\n\nBilling is a service.\n");
        project.settle();
        project.write("Billing.md", "# Billing\n\nBilling is a person.\n");
    });
}

#[test]
fn near_names_join_and_part() {
    let files = &[
        ("a.md", "# Notes\n\nThe Signing Service signs. The Signing Services sign.\n"),
        ("b.md", "# More\n\nThe Signing Service rotates keys. Sigming Service is a slip.\n"),
        ("c.md", "# Third\n\nSigning Service and Key Management Service talk.\n"),
    ];
    check("the strongest name goes", files, |project| {
        project.write("b.md", "# More\n\nNothing.\n");
        project.settle();
        project
            .write("c.md", "# Third\n\nThe Signing Services sign twice. Signing Services again.\n");
    });
    check("a note takes the name", files, |project| {
        project.write("Signing Service.md", "# Signing Service\n\nIt signs.\n");
        project.settle();
        project.write("d.md", "# D\n\nSigning Service.\n");
        project.settle();
        project.remove("Signing Service.md");
    });
}

#[test]
fn terms_enter_and_leave_the_gazetteer() {
    let page =
        |n: u32| format!("# Page {n}\n\nThe **blue lantern** burns. A blue lantern is lit.\n");
    let pages: Vec<(String, String)> = (0..5).map(|n| (format!("p{n}.md"), page(n))).collect();
    let pages: Vec<(&str, &str)> = pages.iter().map(|(p, t)| (p.as_str(), t.as_str())).collect();
    check("one leaves", &pages, |project| {
        for n in 0..3 {
            project.remove(&format!("p{n}.md"));
            project.settle();
        }
    });
    check("more come", &pages[..2], |project| {
        for n in 2..5 {
            project.write(&format!("p{n}.md"), page(n));
            project.settle();
        }
    });
}

/// A pseudorandom sequence that is the same in every run.
struct Dice(u64);

impl Dice {
    fn throw(&mut self, sides: usize) -> usize {
        // Knuth's MMIX constants; the high bits are the good ones.
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % sides
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.throw(from.len())]
    }
}

const NAMES: &[&str] = &[
    "Signing Service",
    "Signing Services",
    "signing-service",
    "Key Vault",
    "Zoë Lindqvar",
    "Zoe Lindqvar",
    "Tide Clock",
    "the Tide Clock",
    "Readme",
    "C++",
    "C#",
    "ISO 27001",
    "kv_rotate",
    "blue lantern",
    "HTTP/2",
];

/// Paragraphs that occur in many documents, and variants of them.
const REPEATED: &[&str] = &[
    "The Tide Clock of every harbor is set by the keeper at noon, and whoever finds it late must tell the office of the \
     Signing Service before the next tide comes in.",
    "The Tide Clock of every harbor is set by the keeper at dawn, and whoever finds it late must tell the office of the \
     Signing Service before the next tide comes in.",
    "The Tide Clock of each harbor is set by the keeper at dawn, and whoever finds it late must tell the office of the \
     Key Vault before the next tide comes in.",
    "Nothing in this note may be passed on to anybody outside of the company.",
];

/// Returns a document with names, in a form that involves every stage.
fn document(dice: &mut Dice) -> String {
    let mut text = String::new();
    if dice.throw(2) == 0 {
        let kind = dice.pick(&["Service", "Person", "Concept", "decision"]);
        let _ = write!(text, "---\ntype: {kind}\n");
        if dice.throw(3) == 0 {
            let _ = writeln!(
                text,
                "title: {}",
                dice.pick(&["Key Vault", "Tide Clock", "Readme", "Beacon"])
            );
        }
        if dice.throw(3) == 0 {
            let _ = writeln!(
                text,
                "aliases: [{}]",
                dice.pick(&["KV", "Signer", "Tide Clock", "Beacon"])
            );
        }
        text.push_str("---\n");
    }
    let _ = writeln!(text, "# {}\n", dice.pick(NAMES));
    for _ in 0..=dice.throw(5) {
        let (a, b) = (dice.pick(NAMES), dice.pick(NAMES));
        let _ = match dice.throw(8) {
            6 | 7 => writeln!(text, "{}\n", dice.pick(REPEATED)),
            0 => writeln!(text, "{a} depends on {b}.\n"),
            1 => writeln!(text, "See [[{a}]] and **{b}**.\n"),
            2 => writeln!(text, "## {a}\n\n- {b}\n- `{a}`\n"),
            3 => writeln!(
                text,
                "{a} is a service that uses the {b}. The {b} was seen on 2025-03-14.\n"
            ),
            4 => writeln!(text, "1. Stop {a}.\n2. Start {b}.\n"),
            _ => writeln!(text, "[{a}](../one/Readme.md) replaced {b} in version 2.1.\n"),
        };
    }
    text
}

const PLACES: &[&str] = &[
    "Readme.md",
    "one/Readme.md",
    "two/Readme.md",
    "Signing Service.md",
    "one/Key Vault.md",
    "two/Key Vault.txt",
    "two/deep/Beacon.md",
    "Tide Clock.md",
    "Zoë Lindqvar.md",
    "one/log.txt",
    "two/log.html",
    "notes.md",
];

/// Makes twenty random changes (create, edit, rename, move, delete, chmod, touch, swap, whole
/// folders), sometimes several at once, sometimes with a restart or a kill in between.
fn wander(seed: u64) {
    let mut dice = Dice(seed);
    let mut project = TestProject::empty();
    project.start();
    for _ in 0..20 {
        change(&mut project, &mut dice);
        if dice.throw(2) == 0 {
            project.settle();
        }
    }
    // Unreadable files must become readable for a rebuild to include them.
    PLACES.iter().for_each(|path| set_mode(&project, path, 0o644));
    project.settle();
    project.verify(&format!("seed {seed}"));
    let live = picture(&mut project);
    project.stop();
    project.lose_index();
    project.start();
    project.settle();
    assert_same(&picture(&mut project), &live, &format!("seed {seed}"));
}

fn change(project: &mut TestProject, dice: &mut Dice) {
    let (path, other) = (dice.pick(PLACES), dice.pick(PLACES));
    let (is_there, is_other_there) = (project.at(path).exists(), project.at(other).exists());
    match dice.throw(12) {
        0 if is_there => project.remove(path),
        1 if is_there => project.rename(path, other),
        2 if project.at("two").exists() && !project.at("three").exists() => {
            project.rename("two", "three")
        }
        3 if project.at("three").exists() && !project.at("two").exists() => {
            project.rename("three", "two")
        }
        4 if dice.throw(3) == 0 => {
            project.kill9();
            project.start();
        }
        5 if dice.throw(3) == 0 => project.restart(),
        6 => set_mode(project, path, if dice.throw(2) == 0 { 0o000 } else { 0o644 }),
        7 if is_there => touch(project, path, dice.throw(20_000) as u64),
        8 if is_there && is_other_there && path != other => {
            project.rename(path, "swapping.tmp");
            project.rename(other, path);
            project.rename("swapping.tmp", other);
        }
        9 if project.at("one").exists() && dice.throw(3) == 0 => {
            std::fs::remove_dir_all(project.at("one")).expect("it was there");
        }
        _ => {
            set_mode(project, path, 0o644);
            project.write(path, document(dice));
        }
    }
}

/// Sets a file's mode, if it exists. No effect for a user who may read everything.
fn set_mode(project: &TestProject, path: &str, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    if project.at(path).exists() {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(project.at(path), mode).expect("our own file");
    }
}

/// Sets a file's modification time to some day after 1970.
fn touch(project: &TestProject, path: &str, day: u64) {
    set_mode(project, path, 0o644);
    let file = std::fs::File::options().append(true).open(project.at(path)).expect("our own file");
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(day * 86_400);
    file.set_modified(time).expect("our own file");
}

#[test]
fn random_changes_end_where_a_rebuild_does() {
    // `KG_SEEDS=100..200` tries others.
    let seeds = std::env::var("KG_SEEDS").unwrap_or_else(|_| "0..4".to_string());
    let (low, high) = seeds.split_once("..").expect("a range");
    let number = |text: &str| text.parse::<u64>().expect("a number");
    for seed in number(low)..number(high) {
        wander(seed);
    }
}
