//! Confine: opens files in one folder and nothing outside of it, even if links are swapped meanwhile.
//!
//! In: a folder, and a path below it (`a/b.md`). Out: an open file or folder, its kind, and its path without links.
//!
//! A path without links is opened directly. One with links is first resolved by name, then the real path is opened
//! without following any link: links that lead inside work, even absolute ones, and a link created in between is an
//! error. `open.rs` does this in one system call where the kernel can, else component by component.
//! Invariants: nothing outside the folder is opened or listed; a file is first opened without reading (`O_PATH`) and
//! checked through that descriptor, and reading reopens that same file, so a pipe or device is never opened for
//! reading.
//!
//! Rejected: resolving and opening in one step by `RESOLVE_BENEATH` alone, which refuses absolute links that lead
//! inside.

mod below;
mod found;
mod open;
#[cfg(test)]
mod tests;

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, fstat, mkdirat, statat};
use rustix::io::Errno;

pub use below::{Unfit, below};
pub use found::{Content, Found, Kind, Meta, entry};
use open::{LOOKED_AT, Way};

/// How often a path is resolved again because a link appeared meanwhile.
const MAX_TRIES: usize = 3;

/// Flags to open a folder and list it.
const LISTED: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Why an entry in the folder is not opened.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A link leads out of the folder.
    #[error("it leads out of the folder")]
    Outside,
    /// A link leads to a folder that contains this one.
    #[error("it leads to a folder around this one")]
    Around,
    /// A link leads to a missing target.
    #[error("the path has a broken symbolic link")]
    Dangling,
    /// Links form a loop.
    #[error("a loop of symbolic links")]
    Endless,
    /// A link appeared between resolving and opening, repeatedly.
    #[error("a symbolic link replaced part of the path while it was opened")]
    Swapped,
    /// A link leads to a name that is not UTF-8.
    #[error("a symbolic link in the path leads to a name that is not UTF-8")]
    NotUtf8,
    /// The system's error.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Error {
    /// Returns true when nothing is at the path, or a file is where a folder was expected.
    pub fn is_missing(&self) -> bool {
        matches!(self, Error::Io(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory))
    }

    /// Returns true when the folder has nothing at the path, whatever is at the target of a link.
    pub fn is_absent(&self) -> bool {
        self.is_missing() || self.leads_out() || matches!(self, Error::Dangling)
    }

    /// Returns true when the path leads out of the folder.
    pub fn leads_out(&self) -> bool {
        matches!(self, Error::Outside | Error::Around)
    }
}

impl From<Errno> for Error {
    fn from(error: Errno) -> Self {
        match error {
            // A link appeared where none was expected.
            Errno::LOOP => Error::Swapped,
            Errno::XDEV => Error::Outside,
            error => Error::Io(error.into()),
        }
    }
}

impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Io(error) => error,
            error => io::Error::other(error.to_string()),
        }
    }
}

/// Whether to create missing folders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// Create them, durably.
    Make,
    /// Return an error.
    Refuse,
}

/// A folder, with access confined to it.
#[derive(Debug)]
pub struct Root {
    path: PathBuf,
    folder: OwnedFd,
    way: Way,
}

/// The location of a file.
#[derive(Debug)]
pub struct Spot {
    /// The folder that contains it.
    pub folder: OwnedFd,
    /// Its name in that folder.
    pub name: String,
    /// Its path without links.
    pub real: String,
}

/// The entries of a folder.
#[derive(Debug)]
pub struct Listing {
    /// The folder itself.
    pub meta: Meta,
    /// Names, with their kinds where the file system reports them; links are not followed.
    pub entries: Vec<(std::ffi::OsString, Option<Kind>)>,
    folder: Dir,
}

impl Listing {
    /// Returns the current metadata of an entry; does not follow a link.
    ///
    /// # Errors
    /// The system's error.
    pub fn meta_of(&self, name: &std::ffi::OsStr) -> Result<Meta, Error> {
        Ok(Meta::of(&statat(self.folder.fd()?, name, AtFlags::SYMLINK_NOFOLLOW)?))
    }
}

impl Root {
    /// Opens a folder; follows links on the way to it.
    ///
    /// # Errors
    /// The system's error, also when it is not a folder.
    pub fn open(path: &Path) -> io::Result<Root> {
        let folder = rustix::fs::open(path, LOOKED_AT | OFlags::DIRECTORY, Mode::empty())?;
        let way = Way::of_this_kernel(&folder);
        Ok(Root { path: path.to_path_buf(), folder, way })
    }

    /// Opens a folder by its canonical path: where a link has come into it, another folder is in the place of this one,
    /// which counts as missing.
    ///
    /// # Errors
    /// As [`Root::open`].
    pub fn open_canonical(path: &Path) -> io::Result<Root> {
        let everything = rustix::fs::open("/", LOOKED_AT | OFlags::DIRECTORY, Mode::empty())?;
        let way = Way::of_this_kernel(&everything);
        let inside = path.strip_prefix("/").ok().and_then(Path::to_str);
        let inside = inside.ok_or(io::ErrorKind::InvalidInput)?;
        match way.open(&everything, inside, way.looking() | OFlags::DIRECTORY) {
            Ok(folder) => Ok(Root { path: path.to_path_buf(), folder, way }),
            Err(Errno::LOOP) => {
                let why = "a symbolic link is in its place, or on the way to it";
                Err(io::Error::new(io::ErrorKind::NotADirectory, why))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Opens what is at a path, following links; the empty path is the folder itself.
    ///
    /// # Errors
    /// [`Error`].
    pub fn find(&self, path: &str) -> Result<Found, Error> {
        self.reach(path, self.way.looking()).and_then(|(file, real)| {
            let meta = Meta::of(&fstat(&file)?);
            Ok(Found { meta, real, file })
        })
    }

    /// Returns the metadata of what is at a path; does not follow a link at its end.
    ///
    /// # Errors
    /// [`Error`], of the containing folder.
    pub fn look(&self, path: &str) -> Result<Meta, Error> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let (folder, _) = self.reach(folder, self.way.looking() | OFlags::DIRECTORY)?;
        let name = if name.is_empty() { "." } else { name };
        Ok(Meta::of(&statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?))
    }

    /// Reads a regular file up to a limit; returns none for anything else.
    ///
    /// # Errors
    /// [`Error`].
    pub fn read(&self, path: &str, max_bytes: u64) -> Result<Option<Content>, Error> {
        self.find(path)?.read(max_bytes)
    }

    /// Lists a folder.
    ///
    /// # Errors
    /// [`Error`]; also when the listing breaks off.
    pub fn list(&self, path: &str) -> Result<Listing, Error> {
        let (folder, _) = self.reach(path, LISTED)?;
        let meta = Meta::of(&fstat(&folder)?);
        let mut folder = Dir::new(folder)?;
        let mut entries = Vec::new();
        while let Some(entry) = folder.read() {
            let entry = entry?;
            let name = std::os::unix::ffi::OsStrExt::from_bytes(entry.file_name().to_bytes());
            let name: &std::ffi::OsStr = name;
            if name != "." && name != ".." {
                let kind = entry.file_type();
                let kind = (kind != FileType::Unknown).then(|| Kind::of(kind));
                entries.push((name.to_os_string(), kind));
            }
        }
        Ok(Listing { meta, entries, folder })
    }

    /// Returns the location of a path: its folder is opened, and all links are followed, also one at its end.
    ///
    /// # Errors
    /// [`Error`].
    pub fn spot(&self, path: &str, missing: Missing) -> Result<Spot, Error> {
        let real = self.real(path)?;
        let (folder, name) = real.rsplit_once('/').unwrap_or(("", &real));
        let folder = self.open_real(folder, missing)?;
        Ok(Spot { folder, name: name.to_string(), real: real.clone() })
    }

    /// Opens a folder, following links.
    ///
    /// # Errors
    /// [`Error`].
    pub fn folder(&self, path: &str, missing: Missing) -> Result<OwnedFd, Error> {
        self.open_real(&self.real(path)?, missing)
    }

    /// Returns the path with its links followed, by name. Missing components are kept as written.
    ///
    /// # Errors
    /// [`Error`].
    pub fn real(&self, path: &str) -> Result<String, Error> {
        let mut rest = String::new();
        // Cut components off the end until the rest exists; `rest` collects those cut off.
        let mut there = path;
        loop {
            match self.resolve(there) {
                Err(error) if error.is_missing() && !there.is_empty() => {}
                Ok(real) if real.is_empty() || rest.is_empty() => return Ok(real + &rest),
                Ok(real) => return Ok(format!("{real}/{rest}")),
                Err(error) => return Err(error),
            }
            let (parent, name) = there.rsplit_once('/').unwrap_or(("", there));
            rest = if rest.is_empty() { name.to_string() } else { format!("{name}/{rest}") };
            there = parent;
        }
    }

    /// Opens a folder by a path without links.
    fn open_real(&self, real: &str, missing: Missing) -> Result<OwnedFd, Error> {
        // The usual case in one step: the whole folder exists.
        match self.way.open(&self.folder, real, LISTED) {
            Err(Errno::NOENT) if missing == Missing::Make => {}
            opened => return Ok(opened?),
        }
        let mut here = self.way.open(&self.folder, "", LISTED)?;
        for part in real.split('/') {
            here = match self.way.open(&here, part, LISTED) {
                Err(Errno::NOENT) => {
                    // Full permissions: the umask of the user applies, as for any new folder.
                    match mkdirat(&here, part, Mode::RWXU | Mode::RWXG | Mode::RWXO) {
                        // Synced even if another process has just created it: a crash could remove that folder together
                        // with our file.
                        Ok(()) | Err(Errno::EXIST) => sync(&here)?,
                        Err(error) => return Err(error.into()),
                    }
                    self.way.open(&here, part, LISTED)?
                }
                opened => opened?,
            };
        }
        Ok(here)
    }

    /// Opens what a path leads to; returns it with its path without links.
    fn reach(&self, path: &str, flags: OFlags) -> Result<(OwnedFd, String), Error> {
        // Only a path with links, which `open` refuses, costs a second look.
        match self.way.open(&self.folder, path, flags) {
            Err(Errno::LOOP) => {}
            opened => return Ok((opened?, path.to_string())),
        }
        for _ in 0..MAX_TRIES {
            let real = self.resolve(path)?;
            match self.way.open(&self.folder, &real, flags) {
                Err(Errno::LOOP) => {}
                opened => return Ok((opened?, real)),
            }
        }
        Err(Error::Swapped)
    }

    /// Returns the path without links, by name, of something that exists.
    fn resolve(&self, path: &str) -> Result<String, Error> {
        // Joining an empty path would append a slash.
        let whole = if path.is_empty() { self.path.clone() } else { self.path.join(path) };
        let real = whole.canonicalize().map_err(|error| match Error::Io(error) {
            Error::Io(error) if Errno::from_io_error(&error) == Some(Errno::LOOP) => Error::Endless,
            // Nothing at the target, but a link at the path itself.
            error if error.is_missing() && whole.is_symlink() => Error::Dangling,
            error => error,
        })?;
        // The root's own path may contain links, too.
        let root = self.path.canonicalize()?;
        match real.strip_prefix(&root) {
            Ok(inside) => inside.to_str().map(str::to_string).ok_or(Error::NotUtf8),
            Err(_) if root.starts_with(&real) => Err(Error::Around),
            Err(_) => Err(Error::Outside),
        }
    }
}

/// Syncs the entries of a folder to disk.
///
/// # Errors
/// The system's error, unless the file system does not support syncing folders.
pub fn sync(folder: &OwnedFd) -> io::Result<()> {
    match rustix::fs::fsync(folder) {
        Ok(()) | Err(Errno::INVAL | Errno::NOTSUP) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
