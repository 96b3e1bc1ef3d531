//! Errors of the store: the writer stops and the daemon exits with a non-zero code.

use std::path::PathBuf;

/// A failure of a database.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A database file cannot be opened or created.
    #[error("cannot open `{}`: {why}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// The message of SQLite or the system.
        why: String,
    },
    /// Readers did not finish, so the file could not be replaced.
    #[error("{n_readers} readers still use the index; hint: try again")]
    Busy {
        /// Number of readers.
        n_readers: usize,
    },
    /// The index changed since it was checked.
    #[error("the index changed during the call; hint: try again")]
    Moved,
    /// The index was damaged, rebuilt, and damaged again at once.
    #[error("the index was rebuilt and is damaged again ({why})\nhint: is the disk sound?")]
    Hopeless {
        /// SQLite's message.
        why: String,
    },
    /// The writer is gone.
    #[error("the writer has stopped")]
    Gone,
    /// The ledger is damaged, newer than this program, or cannot be copied.
    #[error(transparent)]
    Ledger(#[from] super::ledger::LedgerError),
    /// A statement failed.
    #[error("index: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// The work was stopped on request.
    #[error("interrupted: {0}")]
    Interrupted(rusqlite::Error),
}

impl StoreError {
    /// Returns whether the work was stopped on request; it was rolled back and can be repeated.
    pub fn is_interruption(&self) -> bool {
        matches!(self, StoreError::Interrupted(_))
    }

    /// Converts an error that occurred while an interruption was requested. Virtual tables report one with messages
    /// of their own (sqlite-vec: `out of memory`), so every error counts as one; a real failure recurs when the work
    /// is repeated.
    pub(super) fn while_interrupted(self) -> Self {
        match self {
            StoreError::Sqlite(error) => StoreError::Interrupted(error),
            other => other,
        }
    }
}
