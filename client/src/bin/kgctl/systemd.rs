//! Systemd: installs units for a daemon that starts at login, and again if it fails.
//!
//! In: a project. Out: units and drop-ins in the user's unit folder, enabled and started.
//! Invariants: files that a user has edited are not overwritten; settings of one project are in drop-ins of its
//! instance.

use std::fmt::Write;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use client::launch::{Target, find_kgd};

use super::context::warn;
use super::failure::{Exit, Failure};

const UNITS: [(&str, &str); 2] = [
    ("kgd@.service", include_str!("../../../../systemd/kgd@.service")),
    ("kgd@.socket", include_str!("../../../../systemd/kgd@.socket")),
];

/// Our drop-in of a project's instance.
const DROP_IN: &str = "kgctl.conf";

/// Fails where no user manager runs, without which nothing works: before anything is written.
pub(super) fn check() -> Result<(), Failure> {
    systemctl(&["show-environment"])
}

/// Installs, enables and starts the units of a project; returns a line for the user.
pub(super) fn install(target: &Target) -> Result<String, Failure> {
    let folder = unit_folder()?;
    std::fs::create_dir_all(&folder)?;
    for (name, text) in UNITS {
        let path = folder.join(name);
        match std::fs::read_to_string(&path) {
            Ok(found) if found != text => {
                warn(&format!(
                    "note: `{}` differs from ours and was not changed\n",
                    path.display()
                ));
            }
            Ok(_) => {}
            Err(_) => std::fs::write(&path, text)?,
        }
    }
    let instance = instance(target);
    for (kind, text) in [("service", service_drop_in(target)?), ("socket", socket_drop_in(target))]
    {
        let dir = folder.join(format!("{instance}.{kind}.d"));
        std::fs::create_dir_all(&dir)?;
        std::fs::write(dir.join(DROP_IN), text)?;
    }
    systemctl(&["daemon-reload"])?;
    // The socket first: it cannot be bound once the service has created its own.
    systemctl(&["enable", "--now", &format!("{instance}.socket")])?;
    systemctl(&["enable", "--now", &format!("{instance}.service")])?;
    Ok(format!(
        "systemd runs the daemon as `{instance}.service`\nto have it run while you are not logged in: \
         `loginctl enable-linger`"
    ))
}

/// Disables the units of a project, if [`install`] made some, and deletes its drop-ins.
pub(super) fn uninstall(target: &Target) {
    let Ok(folder) = unit_folder() else { return };
    let instance = instance(target);
    let drop_ins = ["socket", "service"].map(|kind| folder.join(format!("{instance}.{kind}.d")));
    if !drop_ins.iter().any(|dir| dir.join(DROP_IN).is_file()) {
        return;
    }
    let units = ["socket", "service"].map(|kind| format!("{instance}.{kind}"));
    let done = systemctl(&["disable", "--now", &units[0], &units[1]]);
    if let Some(text) = done.err().and_then(|failure| failure.text()) {
        warn(&text);
    }
    for dir in drop_ins {
        // A user's own drop-ins are kept, and the folder with them.
        let _ = std::fs::remove_file(dir.join(DROP_IN));
        let _ = std::fs::remove_dir(dir);
    }
}

fn instance(target: &Target) -> String {
    format!("kgd@{}", escape_path(&target.project.root))
}

fn unit_folder() -> Result<PathBuf, Failure> {
    let config =
        std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".config"));
    let config = config.or_else(home);
    let config = config
        .ok_or_else(|| Failure::new(Exit::Failed, "no home folder is known\nhint: set `HOME`"))?;
    Ok(config.join("systemd/user"))
}

/// Returns the drop-in that names the program, and its places if the user's environment sets them:
/// a user manager does not have the variables of a shell.
fn service_drop_in(target: &Target) -> Result<String, Failure> {
    let kgd = find_kgd(|name| std::env::var_os(name))?;
    let kgd = std::path::absolute(kgd)?;
    let mut text = "# Written by `kgctl init --systemd`.\n[Service]\nExecStart=\n".to_string();
    let _ = writeln!(text, "ExecStart=:{} --project %f", quoted(&kgd));
    let kgctl = std::path::absolute(std::env::current_exe()?)?;
    let reload = format!("ExecReload=:{} --project %f --no-start reload", quoted(&kgctl));
    let _ = writeln!(text, "ExecReload=\n{reload}");
    let places = &target.places;
    let chosen = [
        ("KG_STATE_DIR", &places.state),
        ("KG_RUNTIME_DIR", &places.runtime),
        ("KG_CONFIG_DIR", &places.config),
    ];
    for (name, path) in chosen.into_iter().filter(|(name, _)| std::env::var_os(name).is_some()) {
        let _ = writeln!(
            text,
            "Environment={}",
            quoted(Path::new(&format!("{name}={}", path.display())))
        );
    }
    Ok(text)
}

fn socket_drop_in(target: &Target) -> String {
    let socket = specifier_safe(&target.paths.socket.display().to_string());
    format!(
        "# Written by `kgctl init --systemd`.\n[Socket]\nListenStream=\nListenStream={socket}\n"
    )
}

/// Quotes a word of a unit file and escapes what systemd would expand.
fn quoted(path: &Path) -> String {
    let text = specifier_safe(&path.display().to_string());
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn specifier_safe(text: &str) -> String {
    text.replace('%', "%%")
}

/// Returns a path as an instance name, like `systemd-escape --path`.
fn escape_path(path: &Path) -> String {
    let text = path.as_os_str().as_encoded_bytes();
    let text = text.strip_prefix(b"/").unwrap_or(text);
    if text.is_empty() {
        return "-".to_string();
    }
    let mut escaped = String::with_capacity(text.len());
    for (idx, byte) in text.iter().enumerate() {
        match byte {
            b'/' => escaped.push('-'),
            b'.' if idx == 0 => escaped.push_str("\\x2e"),
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b':' | b'_' | b'.' => {
                escaped.push(char::from(*byte))
            }
            other => {
                let _ = write!(escaped, "\\x{other:02x}");
            }
        }
    }
    escaped
}

fn systemctl(arguments: &[&str]) -> Result<(), Failure> {
    let done = Command::new("systemctl").arg("--user").args(arguments).output();
    let done = done.map_err(|error| match error.kind() {
        ErrorKind::NotFound => {
            let failure = Failure::new(
                Exit::Failed,
                "`systemctl` is missing: this system does not run systemd",
            );
            failure.hint("leave out `--systemd`; clients start the daemon when they need it")
        }
        _ => error.into(),
    })?;
    if done.status.success() {
        return Ok(());
    }
    let output = String::from_utf8_lossy(&done.stderr);
    let failure = Failure::new(
        Exit::Failed,
        format!("`systemctl --user {}`: {}", arguments.join(" "), output.trim()),
    );
    Err(failure.hint(
        "a user manager must run: log in, or `loginctl enable-linger`; or leave out `--systemd`",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_instances() {
        let table = [
            ("/home/kim/my notes", r"home-kim-my\x20notes"),
            ("/", "-"),
            ("/.hidden/a.b_c:d", r"\x2ehidden-a.b_c:d"),
            ("/a-b/ü", r"a\x2db-\xc3\xbc"),
        ];
        for (path, expected) in table {
            assert_eq!(escape_path(Path::new(path)), expected, "{path}");
        }
    }

    #[test]
    fn words_are_literal() {
        assert_eq!(quoted(Path::new(r#"/a b/100%/"q"\x"#)), r#""/a b/100%%/\"q\"\\x""#);
    }
}
