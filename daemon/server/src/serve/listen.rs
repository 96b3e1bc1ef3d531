//! Listen: the socket, and who may connect to it.
//!
//! In: a path, or a socket that systemd made. Out: a `Door` that accepts the owner's processes and
//! nobody else.
//! Invariants: the socket has mode 0600 in a directory that only its owner may write to (0700 if it
//! is created here); a running daemon's socket is never taken; only a socket created here is ever
//! removed.

use std::fs::{self, DirBuilder, Metadata, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use config::limits::MAX_SOCKET_PATH_BYTES;
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_NOW};
use rustix::process::geteuid;
use tokio::net::{UnixListener, UnixStream};

#[cfg(target_os = "linux")]
mod inherited;

#[cfg(target_os = "linux")]
pub use inherited::from_systemd;

/// Why there is no door.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// Another daemon answers at that path.
    #[error("a daemon already serves `{}`\nhint: `kgctl status` asks it", .0.display())]
    Served(PathBuf),
    /// The path is too long for a socket.
    #[error(
        "the socket path `{}` has {} bytes, but the system allows {MAX_SOCKET_PATH_BYTES}\n\
         hint: give a shorter one with `--socket`, or set `KG_RUNTIME_DIR`",
        .0.display(),
        .0.as_os_str().len()
    )]
    TooLong(PathBuf),
    /// The path, or the directory around it, is not safe to use.
    #[error("`{}` cannot hold the socket: {why}\nhint: {hint}", path.display())]
    Unsafe {
        /// The path or directory.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
        /// What to do about it.
        hint: &'static str,
    },
    /// The system refused.
    #[error("cannot listen at `{}`: {source}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// A listening socket. Dropping it stops listening and removes the socket if it was created here.
#[derive(Debug)]
pub struct Door {
    listener: UnixListener,
    path: PathBuf,
    /// Device and inode of the socket, if it was created here and not by systemd.
    made: Option<(u64, u64)>,
}

impl Door {
    /// Creates the socket at `path`. A stale socket is replaced. Must be called inside a runtime.
    ///
    /// # Errors
    /// [`ListenError::Served`] if a daemon answers there; the others describe the path's fault.
    pub async fn bind(path: &Path) -> Result<Self, ListenError> {
        if path.as_os_str().len() > MAX_SOCKET_PATH_BYTES {
            return Err(ListenError::TooLong(path.to_path_buf()));
        }
        let io_error = |source| ListenError::Io { path: path.to_path_buf(), source };
        if let Some(dir) = path.parent().filter(|dir| !dir.as_os_str().is_empty()) {
            DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(io_error)?;
            check_directory(dir)?;
        }
        clear(path).await?;
        // Between bind and chmod the umask keeps strangers out, and after it `accept` would.
        let listener = UnixListener::bind(path).map_err(io_error)?;
        fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(io_error)?;
        let found = fs::symlink_metadata(path).map_err(io_error)?;
        Ok(Door { listener, path: path.to_path_buf(), made: Some(identity(&found)) })
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the next connection of a process of the same user; closes those of others.
    ///
    /// # Errors
    /// System errors, such as too many open files; the door is still usable.
    pub async fn accept(&self) -> io::Result<UnixStream> {
        loop {
            let (stream, _) = self.listener.accept().await?;
            let peer = stream.peer_cred()?;
            if peer.uid() == geteuid().as_raw() {
                return Ok(stream);
            }
            tracing::warn!(uid = peer.uid(), "another user tried to connect");
        }
    }

    /// Recreates the socket if it was removed or replaced, and returns whether it did.
    ///
    /// # Errors
    /// As [`Door::bind`].
    pub async fn tend(&mut self) -> Result<bool, ListenError> {
        let found = fs::symlink_metadata(&self.path).ok().map(|found| identity(&found));
        if self.made.is_none() || self.made == found {
            return Ok(false);
        }
        tracing::warn!(path = %self.path.display(), "the socket was removed; recreating it");
        // Dropping the old door does not remove the new socket: its identity differs.
        *self = Door::bind(&self.path.clone()).await?;
        Ok(true)
    }

    /// Touches the socket, so that cleaners of temporary files see that it is in use.
    ///
    /// # Errors
    /// System errors.
    pub fn touch(&self) -> Result<(), ListenError> {
        if self.made.is_none() {
            return Ok(());
        }
        let now = || Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
        let times = Timestamps { last_access: now(), last_modification: now() };
        rustix::fs::utimensat(CWD, &self.path, &times, AtFlags::SYMLINK_NOFOLLOW)
            .map_err(|error| ListenError::Io { path: self.path.clone(), source: error.into() })
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        let found = fs::symlink_metadata(&self.path).ok().map(|found| identity(&found));
        if self.made.is_some() && self.made == found {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Makes `link`, the path where clients look, a link to a socket elsewhere. Does nothing if it is
/// one already.
///
/// # Errors
/// [`ListenError::Served`] if another daemon answers at `link`.
pub async fn link_to(link: &Path, socket: &Path) -> Result<(), ListenError> {
    let io_error = |source| ListenError::Io { path: link.to_path_buf(), source };
    if link == socket || fs::read_link(link).is_ok_and(|target| target == socket) {
        return Ok(());
    }
    if let Some(dir) = link.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(io_error)?;
        check_directory(dir)?;
    }
    clear(link).await?;
    std::os::unix::fs::symlink(socket, link).map_err(io_error)
}

fn check_directory(dir: &Path) -> Result<(), ListenError> {
    let found =
        fs::metadata(dir).map_err(|source| ListenError::Io { path: dir.to_path_buf(), source })?;
    let unsafe_because =
        |why, hint| Err(ListenError::Unsafe { path: dir.to_path_buf(), why, hint });
    if found.uid() != geteuid().as_raw() {
        unsafe_because("it belongs to another user", "choose a directory of your own")
    } else if found.mode() & 0o022 != 0 {
        // Others may read the directory: the socket has mode 0600, and `accept` rejects strangers.
        unsafe_because(
            "others may write to it",
            "`chmod 700` it, or choose another with `--socket`",
        )
    } else {
        Ok(())
    }
}

/// Removes a stale socket; leaves everything else alone.
async fn clear(path: &Path) -> Result<(), ListenError> {
    let io_error = |source| ListenError::Io { path: path.to_path_buf(), source };
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(io_error(error)),
    };
    if !found.file_type().is_socket() && !found.is_symlink() {
        let (why, hint) = ("something else lies there", "move it away, or choose another path");
        return Err(ListenError::Unsafe { path: path.to_path_buf(), why, hint });
    }
    match UnixStream::connect(path).await {
        // A full backlog means that a daemon is there.
        Ok(_) => Err(ListenError::Served(path.to_path_buf())),
        Err(error) if error.kind() == ErrorKind::WouldBlock => {
            Err(ListenError::Served(path.to_path_buf()))
        }
        Err(error)
            if matches!(error.kind(), ErrorKind::ConnectionRefused | ErrorKind::NotFound) =>
        {
            fs::remove_file(path).map_err(io_error)
        }
        Err(error) => Err(io_error(error)),
    }
}

fn identity(found: &Metadata) -> (u64, u64) {
    (found.dev(), found.ino())
}

/// Returns no door: there is no systemd.
///
/// # Errors
/// Never.
#[cfg(not(target_os = "linux"))]
pub fn from_systemd() -> Result<Option<Door>, ListenError> {
    Ok(None)
}

#[cfg(test)]
mod tests;
