//! Where the executables are.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The `kgd` of this build: beside the test's own executable. Built when it is missing or older than its
/// sources; `KGD_BIN` names another one.
///
/// # Panics
/// When it is neither there nor can be built.
pub fn kgd() -> &'static Path {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    FOUND.get_or_init(|| match std::env::var_os("KGD_BIN") {
        Some(path) => PathBuf::from(path),
        None => beside_this_test("kgd", &["daemon", "config", "notes", "proto", "proto/mcp_http"]),
    })
}

/// The `kgctl` of this build, likewise; `kg-mcp` lies beside it.
///
/// # Panics
/// When it is neither there nor can be built.
pub fn kgctl() -> &'static Path {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    FOUND.get_or_init(|| {
        beside_this_test("kgctl", &["client", "config", "notes", "proto", "proto/mcp_http"])
    })
}

/// A program, made from these packages; the first holds it.
fn beside_this_test(program: &str, packages: &[&str]) -> PathBuf {
    let test = std::env::current_exe().expect("a running test has an executable");
    // `target/debug/deps/it-0123` and `target/debug/kgd`.
    let profile = test.ancestors().nth(2).expect("an executable lies in a folder");
    let path = profile.join(program);
    if is_current(&path, packages) {
        return path;
    }
    // Test processes run at once: one builds, the others wait for it.
    let lock = OpenOptions::new()
        .create(true)
        .append(true)
        .open(profile.join(".kgd-build-lock"))
        .expect("the target folder can be written");
    lock.lock().expect("a lock");
    if !is_current(&path, packages) {
        let mut build = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        build.current_dir(env!("CARGO_MANIFEST_DIR"));
        if profile.ends_with("release") {
            let package = packages.first().expect("at least one");
            build.args(["build", "--release", "-p", package, "--bins"]);
        } else {
            // With what was built for the tests. One package by itself wants other features of the libraries, so that
            // the daemon and heavy libraries would be compiled a second time.
            build.args(["build", "--workspace", "--bins", "--tests"]);
        }
        let status = build.status().expect("cargo runs");
        assert!(status.success() && path.exists(), "`{program}` cannot be built");
    }
    path
}

/// True when no source is younger: `cargo test -p tests` builds the daemon's library, but not its executable.
fn is_current(executable: &Path, packages: &[&str]) -> bool {
    let changed = |path: &Path| path.metadata().and_then(|metadata| metadata.modified()).ok();
    let Some(built) = changed(executable) else { return false };
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a workspace");
    let mut open: Vec<PathBuf> =
        packages.iter().map(|package| workspace.join(package).join("src")).collect();
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.path().is_dir() {
                open.push(entry.path());
            } else if changed(&entry.path()).is_some_and(|time| time > built) {
                return false;
            }
        }
    }
    true
}
