//! Open: opens a path without links below an open folder.
//!
//! In: a folder, a path, flags. Out: a descriptor; `ELOOP` where a component is a link, `EXDEV` where the path leads
//! out.
//! Invariant: both ways give the same result for the same path; `tests.rs` checks this.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::OnceLock;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, fstat, openat, openat2, statat};
use rustix::io::{Errno, retry_on_intr};

/// How to open a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// With `openat2`: in one step, by the kernel.
    Kernel,
    /// Component by component, where the kernel has no `openat2` (before Linux 5.6), or a sandbox forbids it.
    Walk,
}

/// `RESOLVE_BENEATH` would allow links that stay inside; ours are resolved before, and a new one is an error.
const CONFINED: ResolveFlags =
    ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS).union(ResolveFlags::NO_MAGICLINKS);

impl Way {
    /// Returns the best way that works on this kernel.
    pub(crate) fn of_this_kernel(folder: &OwnedFd) -> Way {
        static WAY: OnceLock<Way> = OnceLock::new();
        *WAY.get_or_init(|| {
            match openat2(folder, ".", OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), CONFINED) {
                Err(Errno::NOSYS | Errno::PERM) => Way::Walk,
                _ => Way::Kernel,
            }
        })
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
        if path.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Err(Errno::XDEV);
        }
        match self {
            Way::Kernel => retry_on_intr(|| openat2(folder, path, flags, Mode::empty(), CONFINED)),
            Way::Walk => walk(folder, path, flags),
        }
    }
}

fn walk(folder: &OwnedFd, path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let mut here = None;
    for part in folders.split('/').filter(|part| !part.is_empty()) {
        let around = here.as_ref().unwrap_or(folder);
        here = Some(step(around, part, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC)?);
    }
    step(here.as_ref().unwrap_or(folder), name, flags)
}

/// Opens one component; a link is `ELOOP`, as with `openat2`.
pub(crate) fn step(folder: impl AsFd, name: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
    let open = || openat(folder.as_fd(), name, flags | OFlags::NOFOLLOW, Mode::empty());
    let is_link = |mode| FileType::from_raw_mode(mode) == FileType::Symlink;
    match retry_on_intr(open) {
        // With `DIRECTORY` a link is not a folder; with `PATH` alone the link itself is opened.
        Err(Errno::NOTDIR) => {
            let found = statat(folder.as_fd(), name, AtFlags::SYMLINK_NOFOLLOW)?;
            Err(if is_link(found.st_mode) { Errno::LOOP } else { Errno::NOTDIR })
        }
        Ok(file) if flags.contains(OFlags::PATH) && is_link(fstat(&file)?.st_mode) => {
            Err(Errno::LOOP)
        }
        opened => opened,
    }
}
