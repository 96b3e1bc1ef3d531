//! The packages of a release, built from stand-ins for its programs: valid (`config/dist/check.py`
//! defines that), reproducible, and with a wheel that installs without a network.
//!
//! Tests that need Python 3.11 or its module `venv` are skipped, with a message, if it is missing.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a workspace").to_path_buf()
}

/// Returns whether Python can load a module; prints a message if not.
fn has_python(module: &str) -> bool {
    let loaded = Command::new("python3").args(["-c", &format!("import {module}")]).output();
    let is_there = loaded.is_ok_and(|it| it.status.success());
    if !is_there {
        eprintln!("SKIPPED: there is no python3 with the module `{module}`");
    }
    is_there
}

/// Runs a program that must succeed; returns its output.
fn done(command: &mut Command) -> String {
    let output = command.output().expect("it runs");
    let to_text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}{}", to_text(&output.stdout), to_text(&output.stderr));
    to_text(&output.stdout)
}

/// Writes scripts with the names of the programs that start those of this build.
fn stand_ins(folder: &Path) {
    fs::create_dir(folder).expect("a folder");
    for name in ["kgd", "kgctl", "kg-mcp"] {
        let program = match name {
            "kgd" => tests::kgd().to_path_buf(),
            other => tests::kgctl().with_file_name(other),
        };
        let script = folder.join(name);
        fs::write(&script, format!("#!/bin/sh\nexec '{}' \"$@\"\n", program.display()))
            .expect(name);
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect(name);
    }
}

/// Builds all packages; returns their bytes by name.
fn packages(programs: &Path, out: &Path) -> BTreeMap<String, Vec<u8>> {
    let script = workspace().join("config/dist/build.py");
    let mut command = Command::new("python3");
    command.arg(script).arg("--programs").arg(programs).arg("--out").arg(out);
    done(command.env("SOURCE_DATE_EPOCH", "1790000000").env_remove("GITHUB_REPOSITORY"));
    let files = fs::read_dir(out).expect("a folder").flatten();
    files
        .map(|it| (it.file_name().display().to_string(), fs::read(it.path()).expect("bytes")))
        .collect()
}

#[test]
fn packages_are_sound_and_the_same_each_time() {
    if !has_python("tomllib") {
        return;
    }
    let scratch = TempDir::new().expect("a folder");
    let at = |name: &str| scratch.path().join(name);
    stand_ins(&at("programs"));
    let first = packages(&at("programs"), &at("first"));
    let second = packages(&at("programs"), &at("second"));
    assert_eq!(first.len(), 11, "{:?}", first.keys());
    for (name, bytes) in &first {
        assert!(second.get(name) == Some(bytes), "{name} is not the same the second time");
    }

    let wheel = first.keys().find(|name| name.ends_with(".whl")).expect("a wheel");
    if !has_python("ensurepip") {
        return;
    }
    let venv = at("venv");
    done(Command::new("python3").args(["-m", "venv"]).arg(&venv));
    let mut install = Command::new(venv.join("bin/python"));
    install.args(["-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]);
    done(install.arg(at("first").join(wheel)));
    for (program, called) in
        [("kgd", "kgd"), ("kgctl", "kgctl"), ("kg-mcp", "kg-mcp"), ("kgd-mcp", "kg-mcp")]
    {
        let version = done(Command::new(venv.join("bin").join(program)).arg("--version"));
        assert_eq!(version.trim(), format!("{called} {}", proto::version()), "{program}");
    }
}

#[test]
fn a_program_that_was_exchanged_is_noticed() {
    if !has_python("tomllib") {
        return;
    }
    let script = "\
import sys
sys.path.insert(0, sys.argv[1])
import check, packages
from archive import text
release = packages.Release('1.2.3', 'x86_64-unknown-linux-musl', 1790000000, 'https://h.example/o/n', 'A <a@b.example>',
    {'kgd': b'd', 'kgctl': b'c', 'kg-mcp': b'm'}, {f'{n}.1': '' for n in packages.PROGRAMS},
    {'bash': '', 'zsh': '', 'fish': ''}, {'kgd@.service': 'ExecStart=:%h/.cargo/bin/kgd --project'},
    {n: text(n) for n in ('LICENSE-MIT', 'LICENSE-APACHE', 'README.md')})
other = release.__class__(**{**release.__dict__, 'programs': {**release.programs, 'kg-mcp': b'other'}})
for make, rule in ((packages.wheel, check.wheel), (packages.npm, check.npm), (packages.deb, check.deb),
                   (packages.oci, check.image), (packages.mcpb, check.bundle), (packages.tarball, check.tarball)):
    (data,) = make(release).values()
    rule(data, release)
    try:
        rule(data, other)
    except AssertionError as error:
        assert 'kg-mcp is not the program' in str(error), error
    else:
        sys.exit(f'{rule.__name__} did not notice')
";
    let folder = workspace().join("config/dist");
    done(Command::new("python3").args(["-B", "-c", script]).arg(folder));
}
