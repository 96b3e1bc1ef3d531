//! Open: opens a path without links below an open folder.
//!
//! In: a folder, a path, flags. Out: a descriptor; `ELOOP` if a component is a link, `EXDEV` if the path leads out.
//! Invariant: all ways give the same result for the same path, except for pipes and devices; `tests.rs` checks this.

use std::os::fd::{AsFd, OwnedFd};
#[cfg(target_os = "linux")]
use std::sync::OnceLock;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, openat, statat};
#[cfg(target_os = "linux")]
use rustix::fs::{ResolveFlags, fstat, openat2};
use rustix::io::{Errno, retry_on_intr};

/// How to open a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// With `openat2`: in one step, by the kernel.
    #[cfg(target_os = "linux")]
    Kernel,
    /// Component by component, if the kernel has no `openat2` (before Linux 5.6) or a sandbox forbids it.
    #[cfg(target_os = "linux")]
    Walk,
    /// Likewise, without `O_PATH`, as on macOS: only files and folders are opened at all, and an entry that may not be
    /// read cannot be inspected.
    #[cfg(any(test, not(target_os = "linux")))]
    Plain,
}

/// `RESOLVE_BENEATH` alone would allow links that stay inside; ours are resolved before, so any further link is an
/// error.
#[cfg(target_os = "linux")]
const CONFINED: ResolveFlags =
    ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS).union(ResolveFlags::NO_MAGICLINKS);

/// Flags to open anything without reading it.
#[cfg(target_os = "linux")]
pub(crate) const LOOKED_AT: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
pub(crate) const LOOKED_AT: OFlags = PLAINLY;

/// Flags without `O_PATH`: opening never blocks, and no terminal becomes ours.
#[cfg(any(test, not(target_os = "linux")))]
const PLAINLY: OFlags =
    OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

impl Way {
    /// Returns the best way that works on this kernel.
    #[cfg(target_os = "linux")]
    pub(crate) fn of_this_kernel(folder: &OwnedFd) -> Way {
        static WAY: OnceLock<Way> = OnceLock::new();
        *WAY.get_or_init(|| {
            match openat2(folder, ".", OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), CONFINED) {
                Err(Errno::NOSYS | Errno::PERM) => Way::Walk,
                _ => Way::Kernel,
            }
        })
    }

    /// Returns the only way.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn of_this_kernel(_: &OwnedFd) -> Way {
        Way::Plain
    }

    /// Returns the flags to open anything without reading it.
    pub(crate) fn looking(self) -> OFlags {
        match self {
            #[cfg(any(test, not(target_os = "linux")))]
            Way::Plain => PLAINLY,
            #[cfg(target_os = "linux")]
            Way::Kernel | Way::Walk => LOOKED_AT,
        }
    }

    /// Opens a path; the empty one is the folder itself.
    pub(crate) fn open(
        self,
        folder: &OwnedFd,
        path: &str,
        flags: OFlags,
    ) -> Result<OwnedFd, Errno> {
        if path.is_empty() {
            return step(folder, ".", flags);
        }
        // Not left to the kernel, so that all ways judge such paths alike.
        if path.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Err(Errno::XDEV);
        }
        match self {
            #[cfg(target_os = "linux")]
            Way::Kernel => retry_on_intr(|| openat2(folder, path, flags, Mode::empty(), CONFINED)),
            _ => self.walk(folder, path, flags),
        }
    }

    fn walk(self, folder: &OwnedFd, path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
        let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
        let mut here = None;
        for part in folders.split('/').filter(|part| !part.is_empty()) {
            let around = here.as_ref().unwrap_or(folder);
            // `NOFOLLOW` in every step: a folder that was replaced by a link is an error.
            here = Some(step(around, part, self.looking() | OFlags::DIRECTORY)?);
        }
        let here = here.as_ref().unwrap_or(folder);
        #[cfg(any(test, not(target_os = "linux")))]
        // Opening a pipe or device may have effects, so the kind is checked first. A race remains, which `O_PATH`
        // avoids.
        if self == Way::Plain && !flags.contains(OFlags::DIRECTORY) {
            let kind = statat(here, name, AtFlags::SYMLINK_NOFOLLOW)?.st_mode;
            match FileType::from_raw_mode(kind) {
                FileType::RegularFile | FileType::Directory => {}
                FileType::Symlink => return Err(Errno::LOOP),
                _ => return Err(Errno::NOTSUP),
            }
        }
        step(here, name, flags)
    }
}

/// Opens one component; a link is `ELOOP`, as with `openat2`.
fn step(folder: impl AsFd, name: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
    let open = || openat(folder.as_fd(), name, flags | OFlags::NOFOLLOW, Mode::empty());
    let is_link = |mode| FileType::from_raw_mode(mode) == FileType::Symlink;
    match retry_on_intr(open) {
        // With `DIRECTORY`, a link is reported as "not a folder"; with `O_PATH` alone, the link itself is opened.
        Err(Errno::NOTDIR) => {
            let found = statat(folder.as_fd(), name, AtFlags::SYMLINK_NOFOLLOW)?;
            Err(if is_link(found.st_mode) { Errno::LOOP } else { Errno::NOTDIR })
        }
        #[cfg(target_os = "linux")]
        Ok(file) if flags.contains(OFlags::PATH) && is_link(fstat(&file)?.st_mode) => {
            Err(Errno::LOOP)
        }
        opened => opened,
    }
}
