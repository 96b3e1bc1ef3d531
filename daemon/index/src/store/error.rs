//! Errors of the store: the writer stops and the daemon exits non-zero.

use std::path::PathBuf;

/// Trouble with a database.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A database file cannot be opened or created.
    #[error("cannot open `{}`: {why}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// SQLite's or the system's words.
        why: String,
    },
    /// Readers did not end, so that the file could not be replaced.
    #[error("{n_readers} readers still use the index; hint: try again")]
    Busy {
        /// How many.
        n_readers: usize,
    },
    /// The index has changed since it was looked at.
    #[error("the index has changed meanwhile; hint: try again")]
    Moved,
    /// The index was damaged, built again, and damaged at once.
    #[error("the index is damaged again and again ({why})\nhint: is the disk sound?")]
    Hopeless {
        /// SQLite's words.
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
    /// True when the work was stopped on request; it was rolled back, and nothing is wrong.
    pub fn is_interruption(&self) -> bool {
        matches!(self, StoreError::Interrupted(_))
    }

    /// Interprets an error while an interruption is asked for. Virtual tables report one in words of their own
    /// (sqlite-vec: `out of memory`), so every error counts as one; a real one returns when the work is repeated.
    pub(super) fn while_interrupted(self) -> Self {
        match self {
            StoreError::Sqlite(error) => StoreError::Interrupted(error),
            other => other,
        }
    }
}
