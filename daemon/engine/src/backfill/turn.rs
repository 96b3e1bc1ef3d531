//! Turn: one daemon of a machine makes better vectors at a time.
//!
//! In: the folder that the states of all projects share. Out: the turn, for as long as it is held.
//! Invariants: the system ends the turn of a daemon that dies; where the lock cannot be made, everybody has a turn.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

/// The lock's name, beside the folders of the projects' states.
const FILE: &str = "filling.lock";

/// Where turns are taken.
#[derive(Debug, Clone)]
pub(super) struct Turns {
    path: Option<PathBuf>,
}

/// The turn, until it is dropped.
#[derive(Debug)]
pub(super) struct Turn {
    lock: Option<File>,
}

impl Turns {
    /// Those of the daemons whose states lie beside this one.
    pub(super) fn beside(state_dir: &Path) -> Self {
        Turns { path: state_dir.parent().map(|it| it.join(FILE)) }
    }

    /// No turns: what is filled costs this machine nothing.
    pub(super) fn free() -> Self {
        Turns { path: None }
    }

    /// Takes the turn, unless another daemon has it.
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
        // Closing is not enough: a worker that was just forked may have the file open, too.
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
