//! Trouble: classifies the errors of a database by what to do about them.
//!
//! In: a [`StoreError`]. Out: wait, rebuild, or stop; and for waiting, a message for people.

use rusqlite::ErrorCode;
use rusqlite::ffi::{SQLITE_IOERR_CORRUPTFS, SQLITE_IOERR_DATA, SQLITE_IOERR_SHORT_READ};

use super::StoreError;

/// Why writes are paused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stall {
    /// What is wrong.
    pub why: String,
    /// What a person can do about it.
    pub remedy: &'static str,
}

impl Stall {
    /// Returns the hint for a caller who waits.
    pub fn hint(&self) -> String {
        format!("{}; indexing then resumes by itself", self.remedy)
    }

    /// Returns the error of a write that was not started, with the hint on a line of its own.
    pub fn refusal(&self) -> String {
        format!("nothing was recorded: {}\nhint: {}", self.why, self.hint())
    }
}

/// What to do about an error of a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// Wait: it passes by itself, or a person removes the cause. Nothing is lost meanwhile.
    Passing(Stall),
    /// Rebuild: the file does not hold what was written to it.
    Corrupt,
    /// Stop: neither waiting nor a rebuild helps.
    Lasting,
}

impl StoreError {
    /// Classifies the error.
    pub fn trouble(&self) -> Trouble {
        match self {
            StoreError::Sqlite(error) => of_sqlite(error),
            StoreError::Busy { n_readers } => Trouble::Passing(Stall {
                why: format!("{n_readers} readers still use the index"),
                remedy: "wait for them",
            }),
            StoreError::Open { .. }
            | StoreError::Interrupted(_)
            | StoreError::Hopeless { .. }
            | StoreError::Ledger(_)
            | StoreError::Moved
            | StoreError::Gone => Trouble::Lasting,
        }
    }
}

/// As [`StoreError::trouble`], for SQLite's own error.
pub(super) fn of_sqlite(error: &rusqlite::Error) -> Trouble {
    use rusqlite::Error;
    match error {
        Error::SqliteFailure(failure, message) => {
            let words = message.clone().unwrap_or_else(|| failure.to_string());
            of_code(failure.code, failure.extended_code, &words)
        }
        // A column has another type than was written to it.
        Error::FromSqlConversionFailure(..)
        | Error::IntegralValueOutOfRange(..)
        | Error::InvalidColumnType(..)
        | Error::Utf8Error(..) => Trouble::Corrupt,
        _ => Trouble::Lasting,
    }
}

fn of_code(code: ErrorCode, extended: i32, words: &str) -> Trouble {
    let passing =
        |what: &str, remedy| Trouble::Passing(Stall { why: format!("{what} ({words})"), remedy });
    match code {
        ErrorCode::DiskFull => passing("no space left for the databases", "free some space"),
        // These three mean that the device returned wrong or too few bytes; other I/O errors say nothing about the
        // content.
        ErrorCode::SystemIoFailure
            if [SQLITE_IOERR_CORRUPTFS, SQLITE_IOERR_DATA, SQLITE_IOERR_SHORT_READ]
                .contains(&extended) =>
        {
            Trouble::Corrupt
        }
        ErrorCode::SystemIoFailure => passing(
            "the system cannot read or write the databases",
            "look at the disk, its quota and the limit on file sizes",
        ),
        ErrorCode::ReadOnly => passing(
            "the databases are read-only",
            "let the daemon's user write to the state folder",
        ),
        ErrorCode::DatabaseBusy
        | ErrorCode::DatabaseLocked
        | ErrorCode::FileLockingProtocolFailed => passing(
            "another process holds the databases",
            "end whatever else has them open for writing",
        ),
        ErrorCode::CannotOpen | ErrorCode::PermissionDenied => passing(
            "the databases cannot be opened",
            "look at the state folder and its permissions",
        ),
        ErrorCode::OutOfMemory => {
            passing("no memory left for the databases", "give the daemon more memory")
        }
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => Trouble::Corrupt,
        _ => Trouble::Lasting,
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    #[test]
    fn codes_tell_waiting_from_rebuilding_from_stopping() {
        let rows = [
            (ffi::SQLITE_FULL, "passing"),
            (ffi::SQLITE_IOERR_WRITE, "passing"),
            (ffi::SQLITE_IOERR_FSYNC, "passing"),
            (ffi::SQLITE_IOERR_SHMSIZE, "passing"),
            (ffi::SQLITE_READONLY, "passing"),
            (ffi::SQLITE_READONLY_DBMOVED, "passing"),
            (ffi::SQLITE_BUSY, "passing"),
            (ffi::SQLITE_BUSY_SNAPSHOT, "passing"),
            (ffi::SQLITE_LOCKED, "passing"),
            (ffi::SQLITE_CANTOPEN, "passing"),
            (ffi::SQLITE_NOMEM, "passing"),
            (ffi::SQLITE_CORRUPT, "corrupt"),
            (ffi::SQLITE_CORRUPT_VTAB, "corrupt"),
            (ffi::SQLITE_NOTADB, "corrupt"),
            (ffi::SQLITE_IOERR_CORRUPTFS, "corrupt"),
            // The log is shorter than its index claims.
            (ffi::SQLITE_IOERR_SHORT_READ, "corrupt"),
            (ffi::SQLITE_CONSTRAINT_UNIQUE, "lasting"),
            (ffi::SQLITE_MISUSE, "lasting"),
        ];
        for (code, expected) in rows {
            let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
            let found = match StoreError::from(error).trouble() {
                Trouble::Passing(_) => "passing",
                Trouble::Corrupt => "corrupt",
                Trouble::Lasting => "lasting",
            };
            assert_eq!(found, expected, "{code}");
        }
    }
}
