//! Inherited: a socket that systemd opened and passed on (`LISTEN_FDS`).
//!
//! In: the environment. Out: a door whose socket belongs to systemd, or `None` if systemd passed
//! none.
//! Invariants: the socket's path and mode are checked as if it had been created here; it is never
//! removed.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixListener as StdListener;
use std::path::{Path, PathBuf};

use rustix::fd::OwnedFd;
use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};

use super::{Door, ListenError, check_directory};

/// Returns the door that systemd passed, if it did. Must be called inside a runtime, once.
///
/// # Errors
/// [`ListenError::Unsafe`] if what was passed is not exactly one private Unix stream socket with a
/// path.
pub fn from_systemd() -> Result<Option<Door>, ListenError> {
    let named = |source| ListenError::Io { path: PathBuf::from("(from systemd)"), source };
    let mut fds = sd_notify::listen_fds().map_err(named)?;
    let Some(fd) = fds.next() else { return Ok(None) };
    if fds.next().is_some() {
        return Err(refused(Path::new("(from systemd)"), "there are several sockets"));
    }
    let listener = StdListener::from(adopt(fd).map_err(named)?);
    listener.set_nonblocking(true).map_err(named)?;
    let address = listener.local_addr().map_err(named)?;
    let Some(path) = address.as_pathname() else {
        return Err(refused(Path::new("(from systemd)"), "it has no path"));
    };
    check_socket(path)?;
    let listener = tokio::net::UnixListener::from_std(listener).map_err(named)?;
    Ok(Some(Door { listener, path: path.to_path_buf(), made: None }))
}

/// Duplicates a descriptor that is only known by its number. Going through the kernel needs no
/// `unsafe`; the original stays open, which does no harm.
fn adopt(fd: i32) -> io::Result<OwnedFd> {
    let ourselves = pidfd_open(getpid(), PidfdFlags::empty())?;
    Ok(pidfd_getfd(ourselves, fd, PidfdGetfdFlags::empty())?)
}

fn check_socket(path: &Path) -> Result<(), ListenError> {
    let found = fs::symlink_metadata(path)
        .map_err(|source| ListenError::Io { path: path.to_path_buf(), source })?;
    if found.mode() & 0o077 != 0 {
        return Err(refused(path, "others may connect to it"));
    }
    match path.parent() {
        Some(dir) => check_directory(dir),
        None => Ok(()),
    }
}

fn refused(path: &Path, why: &'static str) -> ListenError {
    let hint =
        "the socket unit needs one `ListenStream`, `SocketMode=0600` and `DirectoryMode=0700`";
    ListenError::Unsafe { path: path.to_path_buf(), why, hint }
}
