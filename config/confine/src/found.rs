//! Found: a file system entry that is open, but not read yet.
//!
//! Invariant: the file that is read is the one that was checked: reading reopens the same file, not its name.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;

use rustix::fs::{FileType, Mode, OFlags, Stat, fstat, openat};

use crate::{Error, LOOKED_AT};

/// Kind of a file system entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symlink.
    Link,
    /// A pipe, socket or device.
    Other,
}

impl Kind {
    pub(crate) fn of(kind: FileType) -> Self {
        match kind {
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Folder,
            FileType::Symlink => Kind::Link,
            _ => Kind::Other,
        }
    }
}

/// Metadata of a file system entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Meta {
    /// What it is.
    pub kind: Kind,
    /// Size, bytes.
    pub n_bytes: u64,
    /// Modification time, milliseconds since 1970.
    pub mtime_ms: i64,
    /// Type and permissions, as in `st_mode`.
    pub mode: u32,
    /// Device and inode.
    pub id: (u64, u64),
}

impl Meta {
    #[allow(clippy::unnecessary_cast, reason = "numbers have other widths on other systems")]
    pub(crate) fn of(stat: &Stat) -> Self {
        let nanos = i64::try_from(stat.st_mtime_nsec).unwrap_or(0);
        Meta {
            kind: Kind::of(FileType::from_raw_mode(stat.st_mode)),
            n_bytes: u64::try_from(stat.st_size).unwrap_or(0),
            mtime_ms: stat.st_mtime.saturating_mul(1_000).saturating_add(nanos / 1_000_000),
            mode: stat.st_mode as u32,
            id: (stat.st_dev as u64, stat.st_ino),
        }
    }

    /// Returns true for a regular file.
    pub fn is_file(&self) -> bool {
        self.kind == Kind::File
    }

    /// Returns true for a folder.
    pub fn is_folder(&self) -> bool {
        self.kind == Kind::Folder
    }

    /// Returns true for a symlink.
    pub fn is_link(&self) -> bool {
        self.kind == Kind::Link
    }
}

/// An entry that was opened without reading it.
#[derive(Debug)]
pub struct Found {
    /// What it is.
    pub meta: Meta,
    /// Its path without links.
    pub real: String,
    pub(crate) file: OwnedFd,
}

/// The bytes of a file.
#[derive(Debug)]
pub struct Content {
    /// No more bytes than the limit.
    pub bytes: Vec<u8>,
    /// True when the file was longer.
    pub is_cut: bool,
    /// Metadata from before the first byte was read.
    pub meta: Meta,
}

impl Found {
    /// Opens a regular file for reading; returns none for anything else, which is not opened.
    ///
    /// # Errors
    /// The system's error.
    pub fn open(&self) -> io::Result<Option<File>> {
        if !self.meta.is_file() {
            return Ok(None);
        }
        reopened(&self.file).map(Some)
    }

    /// Reads a regular file up to a limit; returns none for anything else.
    ///
    /// # Errors
    /// The system's error.
    pub fn read(&self, max_bytes: u64) -> Result<Option<Content>, Error> {
        let Some(file) = self.open()? else { return Ok(None) };
        let meta = Meta::of(&fstat(&file).map_err(io::Error::from)?);
        let expected = meta.n_bytes.min(max_bytes).saturating_add(1);
        let mut bytes = Vec::with_capacity(usize::try_from(expected).unwrap_or(0));
        // One byte more than the limit distinguishes a file that grew from one that fits.
        file.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
        let is_cut = bytes.len() as u64 > max_bytes;
        bytes.truncate(usize::try_from(max_bytes).unwrap_or(usize::MAX));
        Ok(Some(Content { bytes, is_cut, meta }))
    }
}

/// Opens the entry of this name in an open folder; does not follow a link.
///
/// # Errors
/// The system's error.
pub fn entry(folder: &OwnedFd, name: &str) -> Result<Found, Error> {
    let file = openat(folder, name, LOOKED_AT | OFlags::NOFOLLOW, Mode::empty())?;
    Ok(Found { meta: Meta::of(&fstat(&file)?), real: name.to_string(), file })
}

/// Opens the same file for reading.
#[cfg(target_os = "linux")]
fn reopened(file: &OwnedFd) -> io::Result<File> {
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::OpenOptionsExt;

    // `NONBLOCK`: do not wait for another process that holds a lease on it.
    let flags = i32::try_from((OFlags::NONBLOCK | OFlags::NOCTTY).bits()).unwrap_or(0);
    // `O_PATH` descriptors cannot be read; this opens the very file behind one.
    let again = format!("/proc/self/fd/{}", file.as_raw_fd());
    std::fs::OpenOptions::new().read(true).custom_flags(flags).open(again)
}

/// Without `O_PATH`, the descriptor can already be read, and no one else reads it.
#[cfg(not(target_os = "linux"))]
fn reopened(file: &OwnedFd) -> io::Result<File> {
    use std::io::Seek;

    let mut file = File::from(file.try_clone()?);
    file.rewind()?;
    Ok(file)
}
