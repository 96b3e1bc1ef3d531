//! Layers: crates of the daemon use only crates below them, SQL stands in `index` alone, and cycles inside a crate do
//! not grow.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use tests::house::is_test;

/// The crates of the daemon, lowest first, each with the current number of pairs of its top-level
/// modules that depend on each other. A number may only become smaller.
const LAYERS: [(&str, usize); 13] = [
    ("sys", 0),
    ("language", 0),
    ("model", 0),
    ("redact", 0),
    ("embed", 0),
    ("formats", 0),
    ("extract", 0),
    ("index", 0),
    ("hub", 0),
    ("query", 0),
    ("engine", 0),
    ("server", 0),
    ("daemon", 0),
];

/// Crates that name SQLite: `index`, and `sys`, which limits its memory. All others reach the databases through
/// `index`.
const WITH_SQLITE: [&str; 2] = ["daemon/index", "daemon/sys"];

/// Words of statements, in any case, and of what runs one.
const OF_SQL: [&str; 13] = [
    r"\bselect\s+[^;]*\bfrom\b",
    r"\b(left )?join \w+ \w+ on\b",
    r"\b(order|group) by \w",
    r"\binsert (or \w+ )?into\b",
    r"\b(replace into|delete from|drop (table|index)|create (table|index|view|virtual))\b",
    r"\bupdate \w+ set\b",
    r"\bpragma \w",
    r"\bvalues ?\(\?",
    r"\b(attach|detach) database\b",
    r"[=<>] ?\?\d",
    r"\b(prepare_cached|query_row|query_map|execute_batch)\(",
    r"\bopen_for_reading\b",
    r"\brusqlite\b",
];

/// Functions of `index` that give or take a connection, for tests and benches: the words above keep all other crates
/// from the first one, and only it gives one.
const SHOWN_TO_BENCHES: [&str; 3] = ["fn open_for_reading(", "fn load(", "fn nearest_in_table("];

/// Files with statements for other databases than ours: PostgreSQL, and graph databases that import an export.
const FOR_OTHERS: [&str; 6] = [
    "client/src/interchange/export/csv.rs",
    "daemon/hub/src/publish.rs",
    "daemon/hub/src/pull.rs",
    "daemon/hub/src/rows.rs",
    "daemon/hub/src/same.rs",
    "daemon/hub/src/schema.rs",
];

/// Folders under `daemon/` that are not layers: a library of its own, and a workspace of its own.
const BESIDE: [&str; 2] = ["onnx", "rust-bert"];

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a workspace").to_path_buf()
}

fn folder(layer: &str) -> PathBuf {
    let daemon = workspace().join("daemon");
    if layer == "daemon" { daemon } else { daemon.join(layer) }
}

#[test]
fn every_crate_of_the_daemon_has_its_place() {
    let entries = fs::read_dir(workspace().join("daemon")).expect("a folder").flatten();
    let crates = entries.filter(|entry| entry.path().join("Cargo.toml").exists());
    let names = crates.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let is_placed = |name: &String| {
        BESIDE.contains(&name.as_str()) || LAYERS.iter().any(|(layer, _)| layer == name)
    };
    let homeless: Vec<String> = names.filter(|name| !is_placed(name)).collect();
    assert_eq!(homeless, Vec::<String>::new());
}

#[test]
fn arrows_between_crates_point_down() {
    let mut out = String::new();
    for (rank, (layer, _)) in LAYERS.iter().enumerate() {
        let Ok(manifest) = fs::read_to_string(folder(layer).join("Cargo.toml")) else { continue };
        let names = manifest.lines().filter_map(|line| line.split(['.', ' ', '=']).next());
        for name in names {
            let target = LAYERS.iter().position(|(other, _)| *other == name);
            if target.is_some_and(|target| target >= rank) {
                let _ = writeln!(out, "`{layer}` names `{name}`, which is not below it");
            }
        }
    }
    assert_eq!(out, "");
}

#[test]
fn sql_stands_in_index_alone() {
    let words = regex::RegexSet::new(OF_SQL.map(|it| format!("(?is){it}"))).expect("patterns");
    let is_inside = |path: &str| {
        (path.contains("/src/") && !path.starts_with("tests/"))
            && !WITH_SQLITE.iter().any(|folder| path.starts_with(&format!("{folder}/")))
            && !BESIDE.iter().any(|folder| path.starts_with(&format!("daemon/{folder}/")))
    };
    let mut found = Vec::new();
    for (path, text) in crate::tidy::sources() {
        if !is_inside(&path) || is_test(&path) {
            continue;
        }
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or(&text);
        let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
        let is_sql = words.is_match(&lines.collect::<Vec<_>>().join("\n"));
        if is_sql != FOR_OTHERS.contains(&path.as_str()) {
            found.push(path);
        }
    }
    assert_eq!(found, Vec::<String>::new(), "call a reader of `index`");
}

#[test]
fn only_index_depends_on_sqlite_and_it_shows_no_connection() {
    let root = workspace();
    let crates = fs::read_dir(&root)
        .expect("a folder")
        .chain(fs::read_dir(root.join("daemon")).expect("a folder"));
    for folder in crates.flatten().map(|it| it.path()) {
        let Ok(manifest) = fs::read_to_string(folder.join("Cargo.toml")) else { continue };
        let name = folder.strip_prefix(&root).expect("inside").display().to_string();
        let is_allowed = WITH_SQLITE.contains(&name.as_str()) || name == "tests" || name == "fuzz";
        assert!(is_allowed || !manifest.contains("rusqlite"), "{name}");
    }
    let shown = regex::Regex::new(
        r"(?s)\n *pub (?:fn \w+[^{;]*?\bConnection\b[^{;]*\{|\w+: [^\n]*\bConnection\b)",
    );
    let shown = shown.expect("a pattern");
    let is_known = |text: &str| SHOWN_TO_BENCHES.iter().any(|name| text.contains(name));
    for (path, text) in crate::tidy::sources() {
        let is_index = path.starts_with("daemon/index/src/") && !is_test(&path);
        if is_index && !path.ends_with("/testing.rs") {
            let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or(&text);
            let all: Vec<&str> = shown.find_iter(code).map(|it| it.as_str()).collect();
            let all: Vec<&str> = all.into_iter().filter(|it| !is_known(it)).collect();
            assert_eq!(all, [""; 0], "{path}");
        }
    }
}

#[test]
fn log_filters_know_every_crate_of_the_daemon() {
    let text = fs::read_to_string(workspace().join("daemon/src/process/log.rs")).expect("text");
    let list = text.split("const CRATES").nth(1).and_then(|rest| rest.split(';').nth(1));
    let list = list.expect("the list of crates");
    let missing: Vec<&str> = LAYERS
        .into_iter()
        .map(|(layer, _)| layer)
        .filter(|layer| !list.contains(&format!("\"{layer}\"")))
        .collect();
    assert_eq!(missing, Vec::<&str>::new());
}

#[test]
fn the_read_path_never_sees_the_write_path() {
    let manifest = fs::read_to_string(folder("query").join("Cargo.toml")).unwrap_or_default();
    assert!(!manifest.lines().any(|line| line.starts_with("engine")), "`query` names `engine`");
}

#[test]
fn knots_inside_a_crate_do_not_grow() {
    let mut out = String::new();
    for (layer, allowed) in LAYERS {
        let found = knots(&folder(layer).join("src"));
        if found.len() != allowed {
            let _ = writeln!(out, "{layer}: {} instead of {allowed}: {found:?}", found.len());
        }
    }
    assert_eq!(out, "", "more is a new knot; after less, lower the number");
}

/// Returns the pairs of top-level modules that depend on each other through `crate::` paths,
/// without tests.
fn knots(src: &Path) -> Vec<(String, String)> {
    let mut arrows: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut open = vec![src.to_path_buf()];
    while let Some(place) = open.pop() {
        for path in fs::read_dir(&place).into_iter().flatten().flatten().map(|it| it.path()) {
            let inside = path.strip_prefix(src).expect("inside");
            let first = inside.components().next().expect("a name").as_os_str().to_string_lossy();
            let module = first.trim_end_matches(".rs").to_string();
            if path.is_dir() {
                if !path.ends_with("tests") {
                    open.push(path);
                }
            } else if path.extension().is_some_and(|it| it == "rs") && !path.ends_with("tests.rs") {
                let text = fs::read_to_string(&path).expect("text");
                let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or(&text);
                let targets = code.split("crate::").skip(1).map(|rest| {
                    rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next()
                });
                let targets = targets.flatten().map(String::from).filter(|it| *it != module);
                arrows.entry(module.clone()).or_default().extend(targets);
            }
        }
    }
    let reaches = |from: &str, to: &str| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from.to_string()]);
        while let Some(module) = open.pop() {
            for next in arrows.get(&module).into_iter().flatten() {
                if next == to {
                    return true;
                }
                if seen.insert(next.clone()) {
                    open.push(next.clone());
                }
            }
        }
        false
    };
    let names: Vec<&String> = arrows.keys().collect();
    let pairs = names
        .iter()
        .enumerate()
        .flat_map(|(at, a)| names.iter().skip(at + 1).map(move |b| (a.to_string(), b.to_string())));
    pairs.filter(|(a, b)| reaches(a, b) && reaches(b, a)).collect()
}
