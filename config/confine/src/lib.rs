//! Confine: opens what lies in one folder, and nothing outside of it, whatever is swapped meanwhile.
//!
//! In: a folder, and a path below it (`a/b.md`). Out: an open file or folder, what it is, and its path without links.
//!
//! A path without links is opened at once. One with links is first resolved by name, then the real path is opened
//! without following any link, so a link that leads inside works, an absolute one too, and a link that is put there in
//! between is an error. `open.rs` does this in one system call where the kernel can, else part by part.
//! Invariants: nothing outside the folder is opened or listed; a file is first opened without reading (`O_PATH`) and
//! judged through that descriptor, and reading opens the very same file, so a pipe or device is never opened.
//! Not here: which files of a folder are read (the daemon's rules), or replacing one (the daemon's notes).
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
use open::Way;

/// How often a path is resolved anew because a link was put there meanwhile.
const MAX_TRIES: usize = 3;

/// A folder that is read; the list of its entries is complete.
const LISTED: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Whatever it is, without reading it.
const LOOKED_AT: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

/// Why something in the folder is not opened.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A link leads out.
    #[error("it leads out of the folder")]
    Outside,
    /// A link leads to a folder around this one.
    #[error("it leads to a folder around this one")]
    Around,
    /// A link leads to nothing.
    #[error("a link on its way leads nowhere")]
    Dangling,
    /// Links lead to each other.
    #[error("links on its way lead to each other")]
    Endless,
    /// A link was put there between resolving and opening, again and again.
    #[error("a link was put in its way while it was opened")]
    Swapped,
    /// A link leads to a name that is not text.
    #[error("a link on its way leads to a name that is not UTF-8")]
    NotUtf8,
    /// The system said no.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Error {
    /// True when there is nothing at the path; a file where a folder should be counts, too.
    pub fn is_missing(&self) -> bool {
        matches!(self, Error::Io(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory))
    }

    /// True when nothing of the folder lies at the path, whatever else may lie where it leads.
    pub fn is_absent(&self) -> bool {
        self.is_missing() || self.leads_out() || matches!(self, Error::Dangling)
    }

    /// True when the path leads out of the folder.
    pub fn leads_out(&self) -> bool {
        matches!(self, Error::Outside | Error::Around)
    }
}

impl From<Errno> for Error {
    fn from(error: Errno) -> Self {
        match error {
            // A link, where none may be.
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

/// Whether missing folders are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// They are, durably.
    Make,
    /// They are an error.
    Refuse,
}

/// A folder in which things are opened.
#[derive(Debug)]
pub struct Root {
    path: PathBuf,
    folder: OwnedFd,
    way: Way,
}

/// A place for a file.
#[derive(Debug)]
pub struct Spot {
    /// Its folder.
    pub folder: OwnedFd,
    /// Its name there.
    pub name: String,
    /// Its path without links.
    pub real: String,
}

/// The entries of a folder.
#[derive(Debug)]
pub struct Listing {
    /// The folder itself.
    pub meta: Meta,
    /// Names, and what they are where the file system says so at once; a link is not followed.
    pub entries: Vec<(std::ffi::OsString, Option<Kind>)>,
    folder: Dir,
}

impl Listing {
    /// What an entry is now; a link is not followed.
    ///
    /// # Errors
    /// What the system says.
    pub fn meta_of(&self, name: &std::ffi::OsStr) -> Result<Meta, Error> {
        Ok(Meta::of(&statat(self.folder.fd()?, name, AtFlags::SYMLINK_NOFOLLOW)?))
    }
}

impl Root {
    /// Opens a folder; links on the way to it are followed.
    ///
    /// # Errors
    /// What the system says, also when it is not a folder.
    pub fn open(path: &Path) -> io::Result<Root> {
        let folder = rustix::fs::open(path, LOOKED_AT | OFlags::DIRECTORY, Mode::empty())?;
        let way = Way::of_this_kernel(&folder);
        Ok(Root { path: path.to_path_buf(), folder, way })
    }

    /// What lies at a path, links followed; the empty path is the folder itself.
    ///
    /// # Errors
    /// [`Error`].
    pub fn find(&self, path: &str) -> Result<Found, Error> {
        self.reach(path, LOOKED_AT).and_then(|(file, real)| {
            let meta = Meta::of(&fstat(&file)?);
            Ok(Found { meta, real, file })
        })
    }

    /// What lies at a path, where a link at its end is not followed.
    ///
    /// # Errors
    /// [`Error`], of the folder around it.
    pub fn look(&self, path: &str) -> Result<Meta, Error> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let (folder, _) = self.reach(folder, LOOKED_AT | OFlags::DIRECTORY)?;
        entry(&folder, if name.is_empty() { "." } else { name }).map(|found| found.meta)
    }

    /// The bytes of a regular file, at most so many; none of anything else.
    ///
    /// # Errors
    /// [`Error`].
    pub fn read(&self, path: &str, max_bytes: u64) -> Result<Option<Content>, Error> {
        self.find(path)?.read(max_bytes)
    }

    /// The entries of a folder.
    ///
    /// # Errors
    /// [`Error`]; a list that breaks off is one.
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

    /// The place at a path: its folder is open, and the path has its links followed, one at its end too.
    ///
    /// # Errors
    /// [`Error`].
    pub fn spot(&self, path: &str, missing: Missing) -> Result<Spot, Error> {
        let real = self.real(path)?;
        let (folder, name) = real.rsplit_once('/').unwrap_or(("", &real));
        let folder = self.open_real(folder, missing)?;
        Ok(Spot { folder, name: name.to_string(), real: real.clone() })
    }

    /// Opens a folder, links followed.
    ///
    /// # Errors
    /// [`Error`].
    pub fn folder(&self, path: &str, missing: Missing) -> Result<OwnedFd, Error> {
        self.open_real(&self.real(path)?, missing)
    }

    /// The path with its links followed, by name. What is not there yet is taken as it is written.
    ///
    /// # Errors
    /// [`Error`].
    pub fn real(&self, path: &str) -> Result<String, Error> {
        let mut rest = String::new();
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
        match self.way.open(&self.folder, real, LISTED) {
            Err(Errno::NOENT) if missing == Missing::Make => {}
            opened => return Ok(opened?),
        }
        let mut here = self.way.open(&self.folder, "", LISTED)?;
        for part in real.split('/') {
            here = match self.way.open(&here, part, LISTED) {
                Err(Errno::NOENT) => {
                    match mkdirat(&here, part, Mode::RWXU | Mode::RWXG | Mode::RWXO) {
                        // Synced, too, where somebody else made it just now: a file in a folder that a crash
                        // takes away would be gone with it.
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

    /// Opens what a path leads to, with the path without links.
    fn reach(&self, path: &str, flags: OFlags) -> Result<(OwnedFd, String), Error> {
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

    /// The path without links, by name, of something that is there.
    fn resolve(&self, path: &str) -> Result<String, Error> {
        // To join nothing would end the path with a slash.
        let whole = if path.is_empty() { self.path.clone() } else { self.path.join(path) };
        let real = whole.canonicalize().map_err(|error| match Error::Io(error) {
            Error::Io(error) if Errno::from_io_error(&error) == Some(Errno::LOOP) => Error::Endless,
            error if error.is_missing() && whole.is_symlink() => Error::Dangling,
            error => error,
        })?;
        let root = self.path.canonicalize()?;
        match real.strip_prefix(&root) {
            Ok(inside) => inside.to_str().map(str::to_string).ok_or(Error::NotUtf8),
            Err(_) if root.starts_with(&real) => Err(Error::Around),
            Err(_) => Err(Error::Outside),
        }
    }
}

/// Writes a folder's entries to the disk.
///
/// # Errors
/// What the system says; a file system that knows no such thing is none.
pub fn sync(folder: &OwnedFd) -> io::Result<()> {
    match rustix::fs::fsync(folder) {
        Ok(()) | Err(Errno::INVAL | Errno::NOTSUP) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
