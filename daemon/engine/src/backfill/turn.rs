//! Turn: lets one daemon of a machine at a time compute better vectors.
//!
//! In: the folder that contains the state folders of all projects. Out: the turn, until it is dropped.
//! Invariants: the system releases the turn of a daemon that dies; if the lock cannot be created, every daemon gets a
//! turn.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

/// Name of the lock file, beside the projects' state folders.
const FILE: &str = "filling.lock";

/// The lock for which daemons compete.
#[derive(Debug, Clone)]
pub(super) struct Turns {
    path: Option<PathBuf>,
}

/// The turn, held until it is dropped.
#[derive(Debug)]
pub(super) struct Turn {
    lock: Option<File>,
}

impl Turns {
    /// Returns the lock of all daemons with a state folder beside this one.
    pub(super) fn beside(state_dir: &Path) -> Self {
        Turns { path: state_dir.parent().map(|it| it.join(FILE)) }
    }

    /// Returns a lock that is always free: embedding elsewhere costs this machine nothing.
    pub(super) fn free() -> Self {
        Turns { path: None }
    }

    /// Takes the turn; `None` if another daemon has it.
    pub(super) fn try_take(&self) -> Option<Turn> {
        let open = |path: &PathBuf| File::options().create(true).append(true).open(path);
        let Some(Ok(lock)) = self.path.as_ref().map(open) else { return Some(Turn { lock: None }) };
        match lock.try_lock() {
            Ok(()) => Some(Turn { lock: Some(lock) }),
            Err(TryLockError::WouldBlock) => None,
            Err(TryLockError::Error(_)) => Some(Turn { lock: None }),
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        // Closing the file is not enough: a worker that was just forked may have it open, too.
        if let Some(lock) = &self.lock {
            let _ = lock.unlock();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_has_the_turn_until_it_is_given_back() {
        let dir = tempfile::tempdir().expect("a folder");
        let turns = |project: &str| Turns::beside(&dir.path().join(project));
        let (ours, theirs) = (turns("notes-1"), turns("wiki-2"));
        let turn = ours.try_take().expect("nobody has it");
        assert!(theirs.try_take().is_none());
        assert!(Turns::free().try_take().is_some());
        drop(turn);
        assert!(theirs.try_take().is_some());
        assert!(Turns::beside(Path::new("/nowhere/at/all")).try_take().is_some());
    }
}
