//! Confine: from a path that somebody gives to a folder that is open, inside the project.
//!
//! In: a path relative to the root. Out: the open folder and the name in it, with every link on the way followed.
//! Invariants: nothing outside the root is opened, looked at or made; a folder is opened part by part without following
//! links, so that one which is put there in between is an error; links are followed before, by name, where they lead
//! inside.
//! Rejected: `openat2` with `RESOLVE_BENEATH`, which also refuses absolute links that lead inside, and is not
//! everywhere.
//! Not here: whether the watcher reads the path (`mod.rs`).

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
use rustix::io::Errno;

use super::NoteError;

/// Longest name of a file or folder, bytes.
const MAX_NAME_BYTES: usize = 255;

/// Longest path, bytes; the system's own limit counts the root, too.
const MAX_PATH_BYTES: usize = 3_000;

/// A place for a file.
#[derive(Debug)]
pub(super) struct Spot {
    /// Its folder.
    pub(super) folder: OwnedFd,
    /// Its name there.
    pub(super) name: String,
    /// Its path from the root, without links.
    pub(super) real: String,
}

/// Whether missing folders are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    Make,
    Refuse,
}

/// The part of a path below the root as one string: `a/b.md` of `./a//b.md`. An absolute path inside the root is one,
/// too.
pub(super) fn below(root: &Path, path: &str) -> Result<String, NoteError> {
    let bad = |why: &str| NoteError::BadPath { path: path.to_string(), why: why.to_string() };
    let outside = || NoteError::Outside(path.to_string());
    if path.len() > MAX_PATH_BYTES {
        return Err(bad("it is too long"));
    }
    if path.contains(char::is_control) {
        return Err(bad("a name cannot hold control characters"));
    }
    let relative = match Path::new(path) {
        whole if whole.is_absolute() => whole.strip_prefix(root).map_err(|_| outside())?,
        relative => relative,
    };
    let mut parts = Vec::new();
    for part in relative.components() {
        match part {
            Component::Normal(name) => parts.push(name.to_str().unwrap_or_default()),
            Component::CurDir => {}
            _ => return Err(outside()),
        }
    }
    if parts.is_empty() || path.ends_with('/') {
        return Err(bad("it names no file"));
    }
    if parts.iter().any(|name| name.len() > MAX_NAME_BYTES) {
        return Err(bad("a name in it is longer than 255 bytes"));
    }
    Ok(parts.join("/"))
}

/// Opens the folder of a path, which is of [`below`].
pub(super) fn spot(root: &Path, path: &str, missing: Missing) -> Result<Spot, NoteError> {
    let failed = |why: io::Error| NoteError::Io { path: path.to_string(), why };
    let real = resolved(root, path)?;
    let (folders, name) = real.rsplit_once('/').unwrap_or(("", &real));
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut folder =
        openat(CWD, root, flags, Mode::empty()).map_err(|error| failed(error.into()))?;
    for part in folders.split('/').filter(|part| !part.is_empty()) {
        let open = |folder: &OwnedFd| openat(folder, part, flags | OFlags::NOFOLLOW, Mode::empty());
        folder = match open(&folder) {
            Err(Errno::NOENT) if missing == Missing::Make => {
                match mkdirat(&folder, part, Mode::RWXU | Mode::RWXG | Mode::RWXO) {
                    // Somebody else made it just now.
                    Ok(()) | Err(Errno::EXIST) => {
                        // A note in a folder that a crash takes away would be gone with it.
                        super::files::sync(&folder).map_err(failed)?;
                        open(&folder)
                    }
                    Err(error) => Err(error),
                }
            }
            opened => opened,
        }
        .map_err(|error| match error {
            Errno::NOENT => NoteError::NotFound(path.to_string()),
            Errno::NOTDIR => NoteError::BadPath {
                path: path.to_string(),
                why: format!("`{part}` is not a folder"),
            },
            error => failed(error.into()),
        })?;
    }
    Ok(Spot { folder, name: name.to_string(), real: real.clone() })
}

/// The path with its links followed. What is not there yet is taken as it is written.
pub(super) fn resolved(root: &Path, path: &str) -> Result<String, NoteError> {
    let failed = |why: io::Error| NoteError::Io { path: path.to_string(), why };
    let whole = root.join(path);
    let mut there = whole.as_path();
    let mut rest = PathBuf::new();
    let real = loop {
        match there.canonicalize() {
            Ok(real) => break real,
            Err(error) if is_missing(&error) => {}
            Err(error) => return Err(failed(error)),
        }
        if there.symlink_metadata().is_ok_and(|found| found.is_symlink()) {
            return Err(NoteError::BadPath {
                path: path.to_string(),
                why: "a link on its way leads nowhere".into(),
            });
        }
        let (Some(parent), Some(name)) = (there.parent(), there.file_name()) else {
            return Err(NoteError::Outside(path.to_string()));
        };
        rest = if rest.as_os_str().is_empty() { name.into() } else { Path::new(name).join(rest) };
        there = parent;
    };
    let Ok(inside) = real.strip_prefix(root) else {
        return Err(NoteError::Outside(path.to_string()));
    };
    // To join nothing would end the path with a slash.
    let full = if rest.as_os_str().is_empty() { inside.to_path_buf() } else { inside.join(rest) };
    full.to_str().map(str::to_string).ok_or_else(|| NoteError::BadPath {
        path: path.to_string(),
        why: "a link on its way leads to a name that is not UTF-8".into(),
    })
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_stays_below_the_root() {
        let root = Path::new("/r/notes");
        let name = "x".repeat(256);
        for (path, wanted) in [
            ("a/b.md", Ok("a/b.md")),
            ("./a//b.md", Ok("a/b.md")),
            ("/r/notes/a.md", Ok("a.md")),
            ("../a.md", Err("leads out")),
            ("a/../../b.md", Err("leads out")),
            ("a/../b.md", Err("leads out")),
            ("/etc/passwd", Err("leads out")),
            ("/r/notes2/a.md", Err("leads out")),
            ("", Err("names no file")),
            (".", Err("names no file")),
            ("a/", Err("names no file")),
            ("a\0b", Err("control")),
            ("a\nb.md", Err("control")),
            (&name, Err("longer than 255")),
        ] {
            match (below(root, path), wanted) {
                (Ok(found), Ok(wanted)) => assert_eq!(found, wanted),
                (Err(error), Err(wanted)) => {
                    assert!(error.to_string().contains(wanted), "{path}: {error}")
                }
                (found, _) => panic!("{path}: {found:?}"),
            }
        }
    }
}
