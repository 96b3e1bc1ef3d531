//! Lock: one daemon a project.
//!
//! In: the path of the lock file. Out: the lock, until it is dropped or the process ends in
//! whatever way.
//! Invariants: the file is never removed (a daemon that holds a removed file would not be seen by
//! the next); what stands in it, `PID VERSION LIFE`, is only information, the system's lock on it is
//! what counts.
//! Not here: the socket (`serve/listen.rs`).

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

/// Why the lock was not taken.
#[derive(Debug, thiserror::Error)]
pub(super) enum LockError {
    /// Another daemon has it.
    #[error(
        "another daemon ({holder}) serves this project\n\
         hint: clients use that one; `kill` ends it after it has finished; its lock is `{}`",
        path.display()
    )]
    Held {
        /// The file.
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
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// The right to serve a project.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock, or says who has it. Does not wait. `life` (`stay` or `until-idle`) tells clients whether
    /// this daemon is one that they may replace.
    ///
    /// # Errors
    /// [`LockError::Held`] when another process has it.
    pub(super) fn take(path: &Path, life: &str) -> Result<Self, LockError> {
        let io_error = |source| LockError::Io { path: path.to_path_buf(), source };
        // Not truncated here: before the lock is ours, the file tells about its holder.
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
        file.set_len(0).map_err(io_error)?;
        let who = format!("{} {} {life}\n", std::process::id(), proto::version());
        file.write_all(who.as_bytes()).map_err(io_error)?;
        Ok(Lock { _file: file })
    }
}

fn holder(file: &mut File) -> String {
    let mut text = String::new();
    let read = file.take(100).read_to_string(&mut text);
    let mut words = text.split_whitespace();
    match (read, words.next(), words.next()) {
        (Ok(_), Some(pid), Some(version)) => format!("process {pid}, version {version}"),
        // It has the lock, but has not written yet.
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
}
