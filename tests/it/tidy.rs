//! House rules as tests: short lines, modules with heads, generated pages that are current.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Longest line, characters.
const MAX_WIDTH: usize = 120;

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a workspace").to_path_buf()
}

/// Returns all source files of the project: path relative to the workspace, and text.
pub(crate) fn sources() -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut open: Vec<PathBuf> = ["proto", "config", "notes", "daemon", "client", "tests"]
        .map(|name| workspace().join(name))
        .into();
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                if !path.ends_with("target") {
                    open.push(path);
                }
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(workspace()).expect("inside").display().to_string();
                found.push((name, fs::read_to_string(&path).expect("text")));
            }
        }
    }
    found.sort();
    assert!(found.len() > 100, "{}", found.len());
    found
}

fn is_test(path: &str) -> bool {
    path.starts_with("tests/it/") || path.ends_with("/tests.rs") || path.contains("/tests/")
}

#[test]
fn no_line_is_wider_than_a_screen() {
    let mut out = String::new();
    for (path, text) in sources() {
        // Expected output in a test may be as wide as the program prints it.
        let mut is_expected = false;
        for (i, line) in text.lines().enumerate() {
            is_expected = is_expected || line.contains("expect![[");
            let n = line.chars().count();
            let is_literal = line.contains('"') || line.ends_with('\\');
            if n > MAX_WIDTH && !is_expected && !(is_test(&path) && is_literal) {
                let _ = writeln!(out, "{path}:{}: {n} characters", i + 1);
            }
            is_expected = is_expected && !line.contains("]]");
        }
    }
    assert_eq!(out, "");
}

#[test]
fn every_module_says_what_it_is() {
    let mut out = String::new();
    for (path, text) in sources().iter().filter(|(path, _)| !is_test(path)) {
        if !text.starts_with("//! ") {
            let _ = writeln!(out, "{path}");
        }
    }
    assert_eq!(out, "");
}

#[test]
fn every_stage_says_what_goes_in_and_out() {
    let mut out = String::new();
    for stage in [
        "daemon/engine/src/watch/mod.rs",
        "daemon/formats/src/lib.rs",
        "daemon/extract/src/chunk/mod.rs",
        "daemon/extract/src/recognize/mod.rs",
        "daemon/extract/src/link/mod.rs",
        "daemon/extract/src/relate/mod.rs",
        "daemon/embed/src/stage/mod.rs",
        "daemon/engine/src/write/mod.rs",
    ] {
        let text = fs::read_to_string(workspace().join(stage)).expect("a stage");
        let head: String = text.lines().take_while(|line| line.starts_with("//!")).collect();
        for word in ["In: ", "Out: "] {
            if !head.contains(word) {
                let _ = writeln!(out, "{stage}: no `{word}`");
            }
        }
    }
    assert_eq!(out, "");
}

#[test]
fn the_reference_of_tools_is_current() {
    let path = workspace().join("docs/src/reference/tools.md");
    let wanted = proto::reference::tools_markdown();
    if std::env::var_os("KG_REGENERATE").is_some() {
        fs::write(&path, &wanted).expect("a file");
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == wanted, "`{}` is not current; `KG_REGENERATE=1` rewrites it", path.display());
}
