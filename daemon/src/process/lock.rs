//! Lock: one daemon per state folder, and one per folder of documents.
//!
//! In: the path of the lock file, the folder of documents. Out: the lock, until it is dropped or the process ends.
//! Invariants: we never delete the file; a lock is valid only while the path leads to the locked file, so a file that
//! others delete or replace is locked again, or given up if another daemon was faster; its content, `PID VERSION LIFE`,
//! is only information: what counts is the system's lock on it. The folder of documents is locked by its device,
//! inode and birth, whatever leads to it, and whatever state folder the daemon has; nothing is written there, and
//! programs that lock the folder themselves never meet us.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use rustix::fs::{FlockOperation, flock};
use rustix::net::UCred;

/// Attempts to see who has the name of a folder while nobody listens, and the pause between two.
const TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(5);

/// Why the lock was not taken.
#[derive(Debug, thiserror::Error)]
pub(super) enum LockError {
    /// Another daemon holds it.
    #[error(
        "another daemon ({holder}) serves this project\n\
         hint: clients use that one; `kill` ends it after it has finished; its lock is `{}`",
        path.display()
    )]
    Held {
        /// Path of the lock file.
        path: PathBuf,
        /// Its process and version, as it wrote them.
        holder: String,
    },
    /// A daemon with another state folder serves the same folder of documents.
    #[error(
        "`{}` is served already by process {pid}, whose state folder is `{}`\n\
         hint: use that one, with the same `HOME` and `XDG_STATE_HOME` or `KG_STATE_DIR`; or first `kill {pid}`",
        root.display(), state.display()
    )]
    Elsewhere {
        /// The folder of documents.
        root: PathBuf,
        /// The other daemon.
        pid: i32,
        /// Its state folder; its folder in `/proc` if that is unknown.
        state: PathBuf,
    },
    /// The file cannot be used.
    #[error(
        "cannot lock `{}`: {source}\nhint: let the daemon's user write there, or give another `KG_STATE_DIR`",
        path.display()
    )]
    Io {
        /// Path of the lock file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// The right to serve a project.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
    path: PathBuf,
    life: String,
    /// Holds the name of the folder of documents.
    folder: Option<UnixListener>,
}

impl Lock {
    /// Takes the lock of a state folder, and that of the folder of documents. Daemons that write no notes do not take
    /// that one, such as those with which `kgctl eval` compares settings.
    ///
    /// # Errors
    /// [`LockError::Held`] or [`LockError::Elsewhere`] if another process holds one of them.
    pub(super) fn of(path: &Path, life: &str, root: Option<&PathBuf>) -> Result<Self, LockError> {
        let lock = Self::take(path, life)?;
        match root {
            Some(root) => lock.of_folder(root),
            None => Ok(lock),
        }
    }

    /// Takes the lock without waiting. `life` (`stay` or `until-idle`) lets clients know whether they may replace this
    /// daemon.
    ///
    /// # Errors
    /// [`LockError::Held`] if another process holds it.
    pub(super) fn take(path: &Path, life: &str) -> Result<Self, LockError> {
        loop {
            let lock = Self::take_once(path, life)?;
            // Deleted or replaced between opening and locking: the next daemon would lock another file.
            if lock.is_there() {
                return Ok(lock);
            }
        }
    }

    /// Also locks the folder of documents, so that no daemon of this user with another state folder serves it, too.
    ///
    /// # Errors
    /// [`LockError::Elsewhere`] if one does.
    fn of_folder(mut self, root: &Path) -> Result<Self, LockError> {
        // The system frees the name with the process. Its scope is a network namespace, so a daemon in a container that
        // shares the folder is not seen; a folder on a network file system is locked on this machine.
        let uid = rustix::process::geteuid();
        let own = self.path.parent();
        let mut tries = 0;
        let locked = loop {
            let locked = root.metadata().and_then(|found| {
                // Whoever has served a deleted folder has its name still, and a new folder may get its inode.
                let born = found.created().ok().and_then(|it| it.duration_since(UNIX_EPOCH).ok());
                let born = born.unwrap_or_default().as_nanos();
                let (uid, device, inode) = (uid.as_raw(), found.dev(), found.ino());
                let name = format!("kgd/{uid}/{device:x}:{inode:x}:{born:x}");
                listen_or_look(&SocketAddr::from_abstract_name(name)?)
            });
            // A daemon of this very state folder, whose lock we have, is ending; so is one without any open files.
            let is_ending = |pid: i32| {
                let state = state_of(pid);
                Some(state.as_path()) == own || state == process_dir(pid)
            };
            match &locked {
                // Shorter than a second daemon may hold the lock while the first one looks (`FAILED_START`).
                Ok(Err(other))
                    if tries < TRIES / 2 && is_ending(other.pid.as_raw_nonzero().get()) =>
                {
                    tries += 1;
                    std::thread::sleep(PAUSE);
                }
                _ => break locked,
            }
        };
        let why = match locked {
            Ok(Ok(listener)) => {
                self.folder = Some(listener);
                return Ok(self);
            }
            Ok(Err(other)) if other.uid == uid => {
                let pid = other.pid.as_raw_nonzero().get();
                let (root, state) = (root.to_path_buf(), state_of(pid));
                return Err(LockError::Elsewhere { root, pid, state });
            }
            Ok(Err(other)) => format!("user {} holds its name", other.uid.as_raw()),
            Err(error) => error.to_string(),
        };
        tracing::warn!(
            why,
            "cannot notice whether a daemon with another state folder serves this folder"
        );
        Ok(self)
    }

    /// Checks that the lock file is still the one that others find, and takes the lock again if
    /// not; returns whether anything had to be done. A file that was only truncated is just
    /// rewritten.
    ///
    /// # Errors
    /// [`LockError::Held`] if another daemon took it in the meantime: this one must end.
    pub(super) fn tend(&mut self) -> Result<bool, LockError> {
        // Connections of daemons that were refused.
        while self.folder.as_ref().is_some_and(|it| it.accept().is_ok()) {}
        if self.is_there() {
            let is_cut = self.file.metadata().is_ok_and(|it| it.len() == 0);
            return if is_cut { self.describe().map(|()| true) } else { Ok(false) };
        }
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        config::place::create_private_dir(folder).map_err(|error| LockError::Io {
            path: self.path.clone(),
            source: io::Error::other(error),
        })?;
        let mut again = Self::take(&self.path, &self.life)?;
        again.folder = self.folder.take();
        *self = again;
        Ok(true)
    }

    fn is_there(&self) -> bool {
        let identity = |found: Metadata| (found.dev(), found.ino());
        let own = self.file.metadata().map(identity);
        own.is_ok_and(|own| self.path.metadata().map(identity).is_ok_and(|there| there == own))
    }

    fn take_once(path: &Path, life: &str) -> Result<Self, LockError> {
        let io_error = |source| LockError::Io { path: path.to_path_buf(), source };
        // Not truncated here: until the lock is ours, the file describes its holder.
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path)
            .map_err(io_error)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => {
                return Err(LockError::Held {
                    path: path.to_path_buf(),
                    holder: holder(&mut file),
                });
            }
            Err(error) => return Err(io_error(error.into())),
        }
        let lock = Lock { file, path: path.to_path_buf(), life: life.to_string(), folder: None };
        lock.describe()?;
        Ok(lock)
    }

    /// Writes the holder into the file.
    fn describe(&self) -> Result<(), LockError> {
        let who = format!("{} {} {}\n", std::process::id(), proto::version(), self.life);
        let written = self.file.set_len(0).and_then(|()| self.file.write_all_at(who.as_bytes(), 0));
        written.map_err(|source| LockError::Io { path: self.path.clone(), source })
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // First, because whoever gets the lock of the state folder wants the folder next.
        drop(self.folder.take());
        // Closing is not enough: a worker between `fork` and `exec` still has the file open, and the next daemon would
        // find a lock without a living holder.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

/// Listens at an address, or returns who does.
fn listen_or_look(address: &SocketAddr) -> io::Result<Result<UnixListener, UCred>> {
    let mut tries = 0;
    loop {
        match UnixListener::bind_addr(address) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
            bound => return bound.and_then(|it| it.set_nonblocking(true).map(|()| Ok(it))),
        }
        match UnixStream::connect_addr(address) {
            // It is ending, or has the address but does not listen yet.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused && tries < TRIES => {
                tries += 1;
                std::thread::sleep(PAUSE);
            }
            other => return Ok(Err(rustix::net::sockopt::socket_peercred(other?)?)),
        }
    }
}

/// Returns the state folder of another daemon: where the lock file lies that it has open.
fn state_of(pid: i32) -> PathBuf {
    let process = process_dir(pid);
    let open = std::fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
    let mut files = open.filter_map(|it| std::fs::read_link(it.path()).ok());
    let lock = files.find(|it| it.file_name().is_some_and(|name| name == "lock"));
    lock.and_then(|it| Some(it.parent()?.to_path_buf())).unwrap_or(process)
}

fn process_dir(pid: i32) -> PathBuf {
    PathBuf::from(format!("/proc/{pid}"))
}

fn holder(file: &mut File) -> String {
    let mut text = String::new();
    let read = file.take(100).read_to_string(&mut text);
    let mut words = text.split_whitespace();
    match (read, words.next(), words.next()) {
        (Ok(_), Some(pid), Some(version)) => format!("process {pid}, version {version}"),
        // The holder has the lock but has not written yet.
        _ => "just starting".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_is_told_about_the_first() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("lock");
        let first = Lock::take(&path, "stay").expect("free");
        let error = Lock::take(&path, "stay").expect_err("taken").to_string();
        assert!(error.contains(&format!("process {}, version ", std::process::id())), "{error}");
        drop(first);
        Lock::take(&path, "stay").expect("free again");
    }

    #[test]
    fn a_folder_is_locked_whatever_leads_to_it_and_the_holder_is_named() {
        let dir = tempfile::tempdir().expect("a directory");
        let root = dir.path().join("notes");
        for name in ["notes", "one", "two"] {
            std::fs::create_dir(dir.path().join(name)).expect("a folder");
        }
        std::os::unix::fs::symlink(&root, dir.path().join("link")).expect("a link");
        let take = |state: &str, root: &str| {
            let root = dir.path().join(root);
            Lock::of(&dir.path().join(state).join("lock"), "stay", Some(&root))
        };
        let mut first = take("one", "notes").expect("free");
        for _ in 0..300 {
            // However many try: none of them waits for an answer.
            let error = take("two", "link").expect_err("served").to_string();
            let (pid, state) = (std::process::id(), dir.path().join("one"));
            assert!(error.contains(&format!("process {pid}, whose state folder is `")), "{error}");
            assert!(error.contains(&state.display().to_string()), "{error}");
            first.tend().expect("ours");
        }
        take("two", "one").expect("another folder");
        drop(first);
        take("two", "notes").expect("free again");
    }

    #[test]
    fn a_lock_ends_with_its_holder_although_a_child_has_the_file_open() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("lock");
        let first = Lock::take(&path, "stay").expect("free");
        let inherited = first.file.try_clone().expect("the same open file, as after a fork");
        drop(first);
        Lock::take(&path, "stay").expect("free again");
        drop(inherited);
    }

    #[test]
    fn a_lock_that_was_removed_is_taken_again_unless_another_was_faster() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("state/lock");
        std::fs::create_dir(dir.path().join("state")).expect("a folder");
        let mut first = Lock::take(&path, "stay").expect("free");
        assert!(!first.tend().expect("ours"), "nothing has happened");
        std::fs::remove_dir_all(dir.path().join("state")).expect("removed");
        assert!(first.tend().expect("nobody has it"));
        Lock::take(&path, "stay").expect_err("taken");
        std::fs::write(dir.path().join("other"), "").expect("written");
        std::fs::rename(dir.path().join("other"), &path).expect("replaced");
        assert!(first.tend().expect("nobody has it"));
        Lock::take(&path, "stay").expect_err("taken");
        std::fs::write(&path, "").expect("cut");
        assert!(first.tend().expect("ours"));
        let error = Lock::take(&path, "stay").expect_err("taken").to_string();
        assert!(error.contains(&format!("process {}, version ", std::process::id())), "{error}");
        std::fs::remove_file(&path).expect("removed");
        let second = Lock::take(&path, "stay").expect("another file");
        assert!(matches!(first.tend(), Err(LockError::Held { .. })));
        drop(second);
    }
}
