//! Confine: opens the folder of a given path, inside the project.
//!
//! In: a path relative to the root. Out: the open folder and the name in it, with every link on the
//! way followed.
//! Invariants: those of the crate `confine`, which opens the folder; here its refusals become those
//! of a note.

use std::io;
use std::path::Path;

use ::confine::{Error, Root, Unfit};
pub(super) use ::confine::{Missing, Spot};

use super::NoteError;

/// Returns the part of a path below the root as one string: `a/b.md` for `./a//b.md`. An absolute
/// path inside the root is accepted, too.
pub(super) fn below(root: &Path, path: &str) -> Result<String, NoteError> {
    let bad = |why: &str| NoteError::BadPath { path: path.to_string(), why: why.to_string() };
    match ::confine::below(root, path) {
        Ok(below) if below.is_empty() || path.ends_with('/') => Err(bad("it names no file")),
        Ok(below) => Ok(below),
        Err(Unfit::Outside) => Err(NoteError::Outside(path.to_string())),
        Err(Unfit::Bad(why)) => Err(bad(why)),
    }
}

/// Opens the folder of a path that [`below`] returned.
pub(super) fn spot(root: &Path, path: &str, missing: Missing) -> Result<Spot, NoteError> {
    opened(root)?.spot(path, missing).map_err(|error| refused(path, error))
}

/// Returns the path with its links followed. Parts that do not exist yet are kept as written.
pub(super) fn resolved(root: &Path, path: &str) -> Result<String, NoteError> {
    opened(root)?.real(path).map_err(|error| refused(path, error))
}

/// Returns whether anything exists at a path, even a dangling link.
pub(super) fn is_there(root: &Path, path: &str) -> bool {
    opened(root).is_ok_and(|root| root.look(path).is_ok())
}

/// Returns whether a file is reached through a link, or is a link itself, wherever that leads.
pub(super) fn is_by_link(root: &Path, path: &str) -> bool {
    let Ok(root) = opened(root) else { return false };
    match root.find(path) {
        Ok(found) => !found.meta.is_folder() && found.real != path,
        Err(error) => !matches!(error, Error::Io(_)),
    }
}

fn opened(root: &Path) -> Result<Root, NoteError> {
    Root::open_canonical(root).map_err(|why| NoteError::NoFolder { root: root.to_path_buf(), why })
}

fn refused(path: &str, error: Error) -> NoteError {
    let path = path.to_string();
    match error {
        Error::Outside | Error::Around => NoteError::Outside(path),
        Error::Dangling | Error::Endless | Error::NotUtf8 => {
            NoteError::BadPath { path, why: error.to_string() }
        }
        Error::Io(why) if why.kind() == io::ErrorKind::NotFound => NoteError::NotFound(path),
        Error::Io(why) if why.kind() == io::ErrorKind::NotADirectory => {
            NoteError::BadPath { path, why: "a part of it is not a folder".into() }
        }
        error => NoteError::Io { path, why: error.into() },
    }
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
            ("a\0b", Err("NUL")),
            ("a\nb.md", Ok("a\nb.md")),
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
