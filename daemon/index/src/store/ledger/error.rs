//! Errors of a ledger or of a copy, each with what to do about it.

use std::path::{Path, PathBuf};

use config::command::path_word;

/// A failure of the ledger, of a backup, or of a restore.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// SQLite cannot read it, or finds it inconsistent. Nothing was written.
    #[error("the ledger `{}` is damaged: {why}\nhint: {}", path.display(), way_back(best.as_deref()))]
    Damaged {
        /// The file.
        path: PathBuf,
        /// SQLite's message.
        why: String,
        /// The backup to go back to, of those in the project's own folder of backups.
        best: Option<PathBuf>,
    },
    /// Its file was deleted, replaced or truncated while the daemon ran.
    #[error(
        "the ledger is lost, so nothing is written: {why}\nhint: {}", way_back_of_lost(path, best.as_deref())
    )]
    Lost {
        /// Its path.
        path: PathBuf,
        /// What happened to it.
        why: String,
        /// The backup to go back to, of those in the project's own folder of backups.
        best: Option<PathBuf>,
    },
    /// A newer program wrote it. Nothing was written.
    #[error(
        "the ledger `{}` has version {found}, this kgd knows versions up to {known}\n\
         hint: install the newer kgd again{}", path.display(), or_before(path, *known)
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The newest version of this program.
        known: u32,
    },
    /// A file that was given as a backup is not a ledger.
    #[error(
        "`{}` is not a ledger: {why}\nhint: give a file that `kgctl backup` wrote; \
         the project's own lie in `backups` beside its ledger", path.display()
    )]
    NotALedger {
        /// The file.
        path: PathBuf,
        /// What is missing or wrong.
        why: String,
    },
    /// The file exists, and replacing it was not requested.
    #[error("`{}` exists already\nhint: give another name, or `--force` to replace it", .0.display())]
    Exists(PathBuf),
    /// The copy differs from the ledger.
    #[error(
        "the copy `{}` is not sound: {why}\nhint: try again; is the disk sound and not full?", path.display()
    )]
    Unsound {
        /// The copy, which was removed.
        path: PathBuf,
        /// What differs.
        why: String,
    },
    /// The system returned an error.
    #[error(
        "cannot write `{}`: {source}\nhint: give a file in a folder that exists and can be written",
        path.display()
    )]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
}

impl LedgerError {
    /// Returns the error for a lost ledger at `path`, with the backup to go back to.
    pub(in crate::store) fn lost(path: PathBuf, why: String) -> Self {
        let best = super::backup::best(&path);
        LedgerError::Lost { path, why, best }
    }

    /// Wraps an error of the system.
    pub(super) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        move |source| LedgerError::Io { path: path.to_path_buf(), source }
    }
}

fn way_back(best: Option<&Path>) -> String {
    match best {
        Some(file) => {
            let (shown, file) = (file.display(), path_word(file));
            format!("the newest full backup is `{shown}`; `kgctl backup --restore {file}` puts it back")
        }
        None => "there is no backup of it; move it away, and a new one is created without the uids, tags and review \
                 decisions; documents are not affected"
            .to_string(),
    }
}

fn way_back_of_lost(path: &Path, best: Option<&Path>) -> String {
    match best {
        Some(_) => format!("queries still work; {}", way_back(best)),
        None => format!(
            "there is no backup; put the file back, or move `{}` away and run `kgctl restart`, which creates a new \
             one without the uids, tags, versions and decisions",
            path.display()
        ),
    }
}

/// The hint about the copy that a migration from `version` to a newer one left, if it exists.
fn or_before(path: &Path, version: u32) -> String {
    let copy = super::migrate::copy_path(path, version);
    match copy.exists() {
        true => format!(
            "; or go back to the copy made before the change, with `kgctl backup --restore {}`",
            path_word(&copy)
        ),
        false => String::new(),
    }
}
