//! Lock: one daemon per project.
//!
//! In: the path of the lock file. Out: the lock, until it is dropped or the process ends in any way.
//! Invariants: we never delete the file; a lock is valid only while the path leads to the locked file, so a file that
//! others delete or replace is locked again, or given up if another daemon was faster; its content, `PID VERSION LIFE`,
//! is only information: what counts is the system's lock on it.
//! Not here: the socket (`serve/listen.rs`).

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

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
}

impl Lock {
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

    /// Checks that the lock file is still the one that others find, and takes the lock again if
    /// not; returns whether anything had to be done. A file that was only truncated is just
    /// rewritten.
    ///
    /// # Errors
    /// [`LockError::Held`] if another daemon took it in the meantime: this one must end.
    pub(super) fn tend(&mut self) -> Result<bool, LockError> {
        if self.is_there() {
            let is_cut = self.file.metadata().is_ok_and(|it| it.len() == 0);
            return if is_cut { self.describe().map(|()| true) } else { Ok(false) };
        }
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        config::place::create_private_dir(folder).map_err(|error| LockError::Io {
            path: self.path.clone(),
            source: io::Error::other(error),
        })?;
        *self = Self::take(&self.path.clone(), &self.life.clone())?;
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
        let lock = Lock { file, path: path.to_path_buf(), life: life.to_string() };
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
        // Closing is not enough: a worker between `fork` and `exec` still has the file open, and the next daemon would
        // find a lock without a living holder.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
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
