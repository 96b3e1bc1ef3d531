//! Below: turns a path from a user into a path below the folder.
//!
//! In: the folder, a path as written. Out: `a/b.md` for `./a//b.md`, or why there is none.

use std::path::{Component, Path};

/// Longest name of a file or folder, bytes.
const MAX_NAME_BYTES: usize = 255;

/// Longest path, bytes; the system's own limit includes the folder.
const MAX_PATH_BYTES: usize = 3_000;

/// Why a path cannot be one below the folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unfit {
    /// It leads out of the folder.
    Outside,
    /// It is not a valid path.
    Bad(&'static str),
}

/// Returns the part of a path below `root`, empty for the root itself. An absolute path inside the root is allowed.
///
/// # Errors
/// [`Unfit`].
pub fn below(root: &Path, path: &str) -> Result<String, Unfit> {
    if path.len() > MAX_PATH_BYTES {
        return Err(Unfit::Bad("it is too long"));
    }
    if path.contains('\0') {
        return Err(Unfit::Bad("no name contains a NUL"));
    }
    let relative = match Path::new(path) {
        whole if whole.is_absolute() => whole.strip_prefix(root).map_err(|_| Unfit::Outside)?,
        relative => relative,
    };
    let mut parts = Vec::new();
    for part in relative.components() {
        match part {
            Component::Normal(name) => parts.push(name.to_str().unwrap_or_default()),
            Component::CurDir => {}
            _ => return Err(Unfit::Outside),
        }
    }
    if parts.iter().any(|name| name.len() > MAX_NAME_BYTES) {
        return Err(Unfit::Bad("a name in it is longer than 255 bytes"));
    }
    Ok(parts.join("/"))
}
