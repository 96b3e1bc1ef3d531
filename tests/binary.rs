//! Binary: finds or builds the executables.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Returns the `kgd` of this build: next to the test's own executable. Built if it is missing or
/// older than its sources; `KGD_BIN` names another one.
///
/// # Panics
/// If it is missing and cannot be built.
pub fn kgd() -> &'static Path {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    FOUND.get_or_init(|| match std::env::var_os("KGD_BIN") {
        Some(path) => PathBuf::from(path),
        None => beside_this_test("kgd", &["daemon", "config", "notes", "proto"]),
    })
}

/// Returns the `kgctl` of this build, likewise; `kg-mcp` is next to it.
///
/// # Panics
/// If it is missing and cannot be built.
pub fn kgctl() -> &'static Path {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    FOUND.get_or_init(|| beside_this_test("kgctl", &["client", "config", "notes", "proto"]))
}

/// Returns a program built from the sources in these folders.
fn beside_this_test(program: &str, folders: &[&str]) -> PathBuf {
    let test = std::env::current_exe().expect("a running test has an executable");
    // `target/debug/deps/it-0123` and `target/debug/kgd`.
    let profile = test.ancestors().nth(2).expect("an executable lies in a folder");
    let path = profile.join(program);
    if is_current(&path, folders) {
        return path;
    }
    // Test processes run in parallel: one builds, the others wait for it.
    let lock = OpenOptions::new()
        .create(true)
        .append(true)
        .open(profile.join(".kgd-build-lock"))
        .expect("the target folder can be written");
    lock.lock().expect("a lock");
    if !is_current(&path, folders) {
        let mut build = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        build.current_dir(env!("CARGO_MANIFEST_DIR"));
        if profile.ends_with("release") {
            build.args(["build", "--release", "-p", "kgd", "--bins"]);
        } else {
            // Together with the tests, because the programs alone need other features of the
            // dependencies, which would all be compiled a second time.
            build.args(["build", "--workspace", "--bins", "--tests"]);
        }
        let status = build.status().expect("cargo runs");
        assert!(status.success() && path.exists(), "`{program}` cannot be built");
    }
    path
}

/// Returns false when a Rust source in one of the folders is younger than the executable.
fn is_current(executable: &Path, folders: &[&str]) -> bool {
    let changed = |path: &Path| path.metadata().and_then(|metadata| metadata.modified()).ok();
    let Some(built) = changed(executable) else { return false };
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a workspace");
    let mut open: Vec<PathBuf> = folders.iter().map(|folder| workspace.join(folder)).collect();
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                // Editing a test does not outdate a program.
                if !(path.ends_with("target") || path.ends_with("tests")) {
                    open.push(path);
                }
            } else if path.extension().is_some_and(|extension| extension == "rs")
                && !path.ends_with("tests.rs")
                && changed(&path).is_some_and(|time| time > built)
            {
                return false;
            }
        }
    }
    true
}
