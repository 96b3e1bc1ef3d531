//! Files: reads a file, replaces it atomically, removes or renames it.
//!
//! In: an open folder and a name in it (`confine.rs`). Out: bytes; or the new file, durably.
//! Invariants: only regular files are opened, and opening never blocks; at every instant the name
//! shows either the old bytes or the new ones; the new file has the mode, owner and attributes of
//! the old one; the file is compared once more just before it is replaced, and the replaced one
//! afterwards: a file that somebody put there in between is put back, if the file system can
//! exchange two names; a file that another process has open for writing is not replaced, nor one
//! that it opens meanwhile, if the file system has leases: what it writes later would go to a file
//! without a name; a temporary file is gone when this returns, and after a crash when the next
//! daemon starts (`journal.rs`).

use std::fs::{File, Metadata, Permissions};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{
    AtFlags, Mode, OFlags, RenameFlags, XattrFlags, fchown, fgetxattr, flistxattr, fsetxattr,
    fstat, linkat, openat, renameat, renameat_with, statat, unlinkat,
};
use rustix::io::Errno;
use sys::lease::{Lease, NoLease};

use super::confine::Spot;
use super::journal::Journal;

/// Largest attribute list, and largest attribute, that is copied, bytes.
const MAX_ATTRIBUTE_BYTES: usize = 64 * 1024;

/// How often the file of a program that saves again and again is put back.
const MAX_EXCHANGES: usize = 16;

/// How long a program that has the file open for writing is waited for: one that saves is done in
/// less.
const WRITER_PATIENCE: Duration = Duration::from_millis(100);

/// Interval between looks whether it is done.
const WRITER_INTERVAL: Duration = Duration::from_millis(5);

/// A file as read.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) bytes: Vec<u8>,
    pub(super) is_cut: bool,
    metadata: Metadata,
    file: File,
}

impl Found {
    /// Returns a warning if the file has other names.
    pub(super) fn several_names(&self) -> Vec<String> {
        let n_others = self.n_names().saturating_sub(1);
        if n_others == 0 {
            return vec![];
        }
        vec![format!(
            "the file had {n_others} more names (hard links); they still show what it was before"
        )]
    }

    /// Returns the number of names that lead to the same file.
    pub(super) fn n_names(&self) -> u64 {
        self.metadata.nlink()
    }

    /// Returns the size, including what was cut.
    pub(super) fn n_bytes(&self) -> u64 {
        self.metadata.len()
    }

    /// Returns whether nobody has permission to write it.
    pub(super) fn is_protected(&self) -> bool {
        self.metadata.permissions().mode() & 0o222 == 0
    }

    /// Returns its permission bits.
    pub(super) fn mode(&self) -> u32 {
        self.metadata.mode() & 0o7777
    }

    fn is_same(&self, other: &Found) -> bool {
        (self.metadata.dev(), self.metadata.ino()) == (other.metadata.dev(), other.metadata.ino())
            && self.bytes == other.bytes
    }

    /// Keeps other processes from writing to the file; without a lease if the system gives none.
    pub(super) fn lease(&self) -> Result<Option<Lease<'_>>, Trouble> {
        let until = Instant::now() + WRITER_PATIENCE;
        loop {
            match Lease::take(&self.file) {
                Ok(lease) => return Ok(Some(lease)),
                Err(NoLease::Unknown) => return Ok(None),
                Err(NoLease::Written) if Instant::now() >= until => return Err(Trouble::Written),
                Err(NoLease::Written) => std::thread::sleep(WRITER_INTERVAL),
            }
        }
    }
}

/// Why a file could not be replaced or moved.
#[derive(Debug)]
pub(super) enum Trouble {
    /// Not a regular file.
    NotAFile,
    /// The file has changed; its current bytes.
    Changed(Option<Vec<u8>>),
    /// Another process has it open for writing.
    Written,
    /// The system refused.
    Io(io::Error),
}

impl From<Errno> for Trouble {
    fn from(error: Errno) -> Self {
        Trouble::Io(error.into())
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Trouble::Io(error)
    }
}

/// Reads at most `max_bytes` of a file; `None` if it does not exist.
pub(super) fn read(spot: &Spot, max_bytes: u64) -> Result<Option<Found>, Trouble> {
    read_at(&spot.folder, &spot.name, max_bytes)
}

fn read_at(folder: &OwnedFd, name: &str, max_bytes: u64) -> Result<Option<Found>, Trouble> {
    let file = match ::confine::entry(folder, name) {
        Ok(found) => found.open()?.ok_or(Trouble::NotAFile)?,
        Err(error) if error.is_missing() => return Ok(None),
        Err(error) => return Err(Trouble::Io(error.into())),
    };
    let metadata = file.metadata()?;
    let mut bytes = Vec::new();
    (&file).take(max_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    let is_cut = bytes.len() as u64 > max_bytes;
    Ok(Some(Found { bytes, is_cut, metadata, file }))
}

/// Replaces a file with bytes, or creates it, with a mode if one is given. `keep` is called when
/// the new file is ready, and keeps the old bytes: if it fails, nothing changes.
pub(super) fn replace(
    spot: &Spot,
    mode: Option<u32>,
    old: Option<&Found>,
    bytes: &[u8],
    journal: &Journal,
    keep: impl FnOnce() -> io::Result<()>,
) -> Result<(), Trouble> {
    // Before the work, which would be in vain.
    drop(old.map(Found::lease).transpose()?);
    let temporary = Temporary::make(spot, journal, old.is_none() && mode.is_none())?;
    temporary.file().write_all(bytes)?;
    match (old, mode) {
        (Some(old), _) => take_after(old, temporary.file())?,
        (None, Some(mode)) => {
            temporary.file().set_permissions(Permissions::from_mode(mode & 0o7777))?;
        }
        (None, None) => {}
    }
    temporary.file().sync_all()?;
    sys::fail::point("note.written");
    keep()?;
    sys::fail::point("note.kept");
    let lease = old.map(Found::lease).transpose()?.flatten();
    let now = read(spot, u64::MAX)?;
    match (old, &now) {
        (None, None) => temporary.link_to(spot)?,
        (Some(old), Some(now)) if old.is_same(now) => temporary.take_place_of(old, lease)?,
        _ => return Err(Trouble::Changed(now.map(|found| found.bytes))),
    }
    sys::fail::point("note.renamed");
    Ok(temporary.settle()?)
}

/// Removes a file if it still is the one that was read.
pub(super) fn remove(
    spot: &Spot,
    old: &Found,
    keep: impl FnOnce() -> io::Result<()>,
) -> Result<(), Trouble> {
    let _lease = old.lease()?;
    keep()?;
    let now = read(spot, u64::MAX)?;
    if !now.as_ref().is_some_and(|now| old.is_same(now)) {
        return Err(Trouble::Changed(now.map(|found| found.bytes)));
    }
    unlinkat(&spot.folder, spot.name.as_str(), AtFlags::empty())?;
    sys::fail::point("note.removed");
    Ok(::confine::sync(&spot.folder)?)
}

/// Renames a file to a path where nothing is. `keep` is called first and keeps its bytes: if it
/// fails, nothing changes.
pub(super) fn rename(
    from: &Spot,
    to: &Spot,
    keep: impl FnOnce() -> io::Result<()>,
) -> Result<(), Trouble> {
    keep()?;
    let (old, new) = (from.name.as_str(), to.name.as_str());
    match renameat_with(&from.folder, old, &to.folder, new, RenameFlags::NOREPLACE) {
        Ok(()) => {}
        Err(Errno::EXIST) => return Err(Trouble::Changed(None)),
        // The file system does not support `renameat2`.
        Err(Errno::INVAL | Errno::NOSYS) => {
            linkat(&from.folder, old, &to.folder, new, AtFlags::empty())?;
            unlinkat(&from.folder, old, AtFlags::empty())?;
        }
        Err(error) => return Err(error.into()),
    }
    sys::fail::point("note.moved");
    // The new folder first: after a crash the file may be at both paths, but never at none.
    ::confine::sync(&to.folder)?;
    Ok(::confine::sync(&from.folder)?)
}

/// Creates a folder in the state folder, durably.
pub(super) fn make_dir(path: &Path) -> io::Result<()> {
    config::place::create_private_dir(path).map_err(|error| match error {
        config::place::PlaceError::Io { source, .. } => source,
        other => io::Error::other(other),
    })
}

/// Turns an error about the note into one that names the state folder.
pub(super) fn in_state(dir: &Path, why: &io::Error) -> io::Error {
    io::Error::new(why.kind(), format!("the state folder `{}`: {why}", dir.display()))
}

/// Copies owner, attributes and mode of the old file, as far as permitted.
fn take_after(old: &Found, new: &File) -> io::Result<()> {
    let own = new.metadata()?;
    let (uid, gid) = (old.metadata.uid(), old.metadata.gid());
    if (own.uid(), own.gid()) != (uid, gid) {
        let (user, group) = (rustix::fs::Uid::from_raw(uid), rustix::fs::Gid::from_raw(gid));
        // Only root can change the owner, but a group that we belong to can be kept.
        let _ = fchown(new, Some(user), Some(group)).or_else(|_| fchown(new, None, Some(group)));
    }
    copy_attributes(&old.file, new);
    // Last, because changing the owner clears some mode bits.
    new.set_permissions(Permissions::from_mode(old.mode()))
}

/// Copies access lists, labels and other extended attributes. Those that cannot be copied are
/// skipped.
fn copy_attributes(old: &File, new: &File) {
    let mut names = vec![0u8; MAX_ATTRIBUTE_BYTES];
    let Ok(n) = flistxattr(old, names.as_mut_slice()) else { return };
    let mut value = vec![0u8; MAX_ATTRIBUTE_BYTES];
    for name in
        names.get(..n).unwrap_or(&[]).split(|byte| *byte == 0).filter(|name| !name.is_empty())
    {
        if let Ok(n) = fgetxattr(old, name, value.as_mut_slice()) {
            let _ = fsetxattr(new, name, value.get(..n).unwrap_or(&[]), XattrFlags::empty());
        }
    }
}

/// A file that is about to take the place of another; removed if it does not.
pub(super) struct Temporary<'a> {
    spot: &'a Spot,
    name: String,
    file: File,
    _entry: super::journal::Entry,
}

impl<'a> Temporary<'a> {
    pub(super) fn make(spot: &'a Spot, journal: &Journal, is_new: bool) -> io::Result<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        // Hidden and `.tmp`, so that watchers and sync programs ignore it.
        let name = format!(
            "{}{}-{number}{}",
            super::journal::BEGINNING,
            std::process::id(),
            super::journal::ENDING
        );
        let path = spot
            .real
            .rsplit_once('/')
            .map_or(name.clone(), |(folder, _)| format!("{folder}/{name}"));
        let entry = journal.begin(&path)?;
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // A new file gets the usual mode. One that replaces another is private until it has the
        // mode of that.
        let mode = if is_new { Mode::from_raw_mode(0o666) } else { Mode::RUSR | Mode::WUSR };
        let file = openat(&spot.folder, name.as_str(), flags, mode)?;
        Ok(Temporary { spot, name, file: File::from(file), _entry: entry })
    }

    fn file(&self) -> &File {
        &self.file
    }

    /// Makes the result durable. Removes the temporary name first: none may be left once its entry
    /// is gone.
    fn settle(self) -> io::Result<()> {
        self.remove();
        ::confine::sync(&self.spot.folder)
    }

    fn remove(&self) {
        // Not found if it has become the other file.
        let _ = unlinkat(&self.spot.folder, self.name.as_str(), AtFlags::empty());
    }

    /// Takes the place of a file, unless somebody put another one there meanwhile, or waits for the
    /// lease to write to it.
    pub(super) fn take_place_of(
        &self,
        old: &Found,
        lease: Option<Lease<'_>>,
    ) -> Result<(), Trouble> {
        let (folder, own, name) = (&self.spot.folder, self.name.as_str(), self.spot.name.as_str());
        let exchange = || renameat_with(folder, own, folder, name, RenameFlags::EXCHANGE);
        match exchange() {
            Ok(()) => {}
            Err(Errno::NOENT) => return Err(Trouble::Changed(None)),
            // The file system cannot exchange names: a file saved at this very moment is lost.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                return Ok(renameat(folder, own, folder, name)?);
            }
            Err(error) => return Err(error.into()),
        }
        let is_same = read_at(folder, own, u64::MAX)?.is_some_and(|out| old.is_same(&out));
        if is_same && !lease.as_ref().is_some_and(Lease::is_awaited) {
            return Ok(());
        }
        // Put back what was saved meanwhile; if somebody saves again at that moment, the newer
        // file.
        let id = |name: &str| -> Result<_, Errno> {
            let stat = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
            Ok((stat.st_dev, stat.st_ino))
        };
        let ours = fstat(&self.file).map(|stat| (stat.st_dev, stat.st_ino));
        let (mut placed, mut newest) = (ours, id(own));
        for _ in 0..MAX_EXCHANGES {
            if exchange().is_err() {
                break;
            }
            let out = id(own);
            if out == placed {
                break;
            }
            (placed, newest) = (newest, out);
        }
        if is_same {
            return Err(Trouble::Written);
        }
        Err(Trouble::Changed(read(self.spot, u64::MAX)?.map(|found| found.bytes)))
    }

    /// Moves the file to a name that must be free; a file that somebody created there meanwhile
    /// stays.
    fn link_to(&self, spot: &Spot) -> Result<(), Trouble> {
        let (old, new) = (self.name.as_str(), spot.name.as_str());
        let moved =
            renameat_with(&self.spot.folder, old, &spot.folder, new, RenameFlags::NOREPLACE);
        let moved = match moved {
            Err(Errno::INVAL | Errno::NOSYS) => {
                linkat(&self.spot.folder, old, &spot.folder, new, AtFlags::empty())
            }
            moved => moved,
        };
        match moved {
            Err(Errno::EXIST) => {
                Err(Trouble::Changed(read(spot, u64::MAX)?.map(|found| found.bytes)))
            }
            moved => Ok(moved?),
        }
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        self.remove();
    }
}
