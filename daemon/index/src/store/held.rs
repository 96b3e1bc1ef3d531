//! Held: checks whether the files of the open databases are still those that were opened.
//!
//! In: a database that was opened or closed. Out: what happened to its files since.
//! Invariants: a database that is closed is not checked; files are only inspected by path, never
//! opened: closing such a file would drop the locks that SQLite holds on it, because POSIX locks belong to the
//! process. A lost ledger stays lost until the daemon ends, because writes to another file would not last.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::ledger::LedgerError;

/// SQLite's smallest page, bytes. A shorter database was truncated.
const HEADER_BYTES: u64 = 512;

/// One of the databases that a daemon keeps open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The index that is being written.
    Index,
    /// The ledger.
    Ledger,
    /// The vectors of the better model.
    Vectors,
}

/// The result of checking the files of a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// They are those that were opened, or the database is closed at the moment.
    Same,
    /// One is shorter than before, which can be SQLite's doing: worth an integrity check.
    Shorter,
    /// One is missing, replaced or truncated; the text says which.
    Lost(String),
}

/// The files of the databases that one project holds open. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Held(Arc<Mutex<Files>>);

#[derive(Debug, Default)]
struct Files {
    open: BTreeMap<Part, Open>,
    /// How often the files of a database were remembered.
    n_held: u64,
    /// Path of the ledger, and how it was lost.
    lost_ledger: Option<(PathBuf, String)>,
}

/// The files of one open database.
#[derive(Debug)]
struct Open {
    number: u64,
    files: Vec<File>,
}

/// Keeps the files of a database remembered until it is dropped. Drop it before the database is closed: closing deletes
/// the log, which must not be taken for a loss.
#[must_use]
#[derive(Debug)]
pub struct Holding {
    held: Held,
    part: Part,
    number: u64,
}

impl Drop for Holding {
    fn drop(&mut self) {
        // Another file may be open in its place by now, which stays remembered.
        let mut files = self.held.lock();
        if files.open.get(&self.part).is_some_and(|open| open.number == self.number) {
            files.open.remove(&self.part);
        }
    }
}

#[derive(Debug)]
struct File {
    path: PathBuf,
    /// Device and inode.
    identity: (u64, u64),
    n_bytes: u64,
}

impl Held {
    /// Remembers the files of a database that was just opened: the database, its log and the log's index.
    pub fn hold(&self, part: Part, path: &Path) {
        self.remember(part, path);
    }

    /// As [`Held::hold`], until the result is dropped.
    pub fn hold_while(&self, part: Part, path: &Path) -> Holding {
        Holding { held: self.clone(), part, number: self.remember(part, path) }
    }

    fn remember(&self, part: Part, path: &Path) -> u64 {
        let files = super::open::files(path);
        let known = files.into_iter().filter_map(|path| {
            let found = path.metadata().ok()?;
            Some(File { path, identity: identity(&found), n_bytes: found.len() })
        });
        let mut files = self.lock();
        files.n_held += 1;
        let number = files.n_held;
        files.open.insert(part, Open { number, files: known.collect() });
        number
    }

    /// Forgets the files of a database that was closed.
    pub fn release(&self, part: Part) {
        self.lock().open.remove(&part);
    }

    /// Checks the files of a database.
    pub fn look(&self, part: Part) -> Seen {
        let files = self.lock();
        let mut seen = Seen::Same;
        // The database itself first: SQLite removes the log of an empty database.
        for file in files.open.get(&part).into_iter().flat_map(|open| &open.files).rev() {
            match file.look() {
                Seen::Same => {}
                Seen::Shorter => seen = Seen::Shorter,
                lost => return lost,
            }
        }
        seen
    }

    /// Checks the files of a database, and remembers their present sizes for the next check.
    pub fn look_on(&self, part: Part) -> Seen {
        let seen = self.look(part);
        if matches!(seen, Seen::Lost(_)) {
            return seen;
        }
        for file in self.lock().open.get_mut(&part).into_iter().flat_map(|open| &mut open.files) {
            file.n_bytes = file.path.metadata().map_or(file.n_bytes, |it| it.len());
        }
        seen
    }

    /// Records that the ledger is lost; returns false if that is known already.
    pub(super) fn lose_ledger(&self, path: &Path, why: &str) -> bool {
        let mut files = self.lock();
        files.open.remove(&Part::Ledger);
        let is_new = files.lost_ledger.is_none();
        // The first reason stays: what follows is a consequence of it.
        files.lost_ledger.get_or_insert_with(|| (path.to_path_buf(), why.to_string()));
        is_new
    }

    /// Checks whether anything may be written now: a write that is not in the ledger would be lost at the next start.
    ///
    /// # Errors
    /// [`LedgerError::Lost`], with the newest backup.
    pub fn check_ledger(&self) -> Result<(), LedgerError> {
        let known = self.lock().lost_ledger.clone();
        // Copied before `look`, which takes the same lock.
        let lost = known.or_else(|| match self.look(Part::Ledger) {
            Seen::Lost(why) => Some((self.path(Part::Ledger)?, why)),
            Seen::Same | Seen::Shorter => None,
        });
        match lost {
            Some((path, why)) => Err(LedgerError::lost(path, why)),
            None => Ok(()),
        }
    }

    /// Returns the main file of an open database.
    fn path(&self, part: Part) -> Option<PathBuf> {
        self.lock().open.get(&part).and_then(|open| Some(open.files.last()?.path.clone()))
    }

    fn lock(&self) -> MutexGuard<'_, Files> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl File {
    fn look(&self) -> Seen {
        let shown = self.path.display();
        let Ok(found) = self.path.metadata() else {
            return Seen::Lost(format!("`{shown}` was deleted while the daemon ran"));
        };
        let is_log = self.path.extension().is_none_or(|it| it != "sqlite");
        if identity(&found) != self.identity {
            // The next reader makes a log anew that was deleted.
            let how =
                if is_log { "deleted while the daemon ran" } else { "replaced by another file" };
            return Seen::Lost(format!("`{shown}` was {how}"));
        }
        match found.len() {
            n if n >= self.n_bytes => Seen::Same,
            // SQLite truncates a log once all of it is in the database.
            n if n < HEADER_BYTES && !is_log => {
                Seen::Lost(format!("`{shown}` was cut to {n} bytes"))
            }
            _ => Seen::Shorter,
        }
    }
}

fn identity(found: &Metadata) -> (u64, u64) {
    (found.dev(), found.ino())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_that_is_gone_another_or_cut_is_lost() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("ledger.sqlite");
        let wal = folder.path().join("ledger.sqlite-wal");
        let held = Held::default();
        let begin = || {
            fs::write(&path, [1; 8192]).expect("written");
            fs::write(&wal, [1; 8192]).expect("written");
            held.hold(Part::Ledger, &path);
            assert_eq!(held.look(Part::Ledger), Seen::Same);
        };
        let cut = |path: &Path, n| {
            fs::File::options().write(true).open(path).and_then(|it| it.set_len(n)).expect("cut");
        };
        let lost = |what: &str| match held.look(Part::Ledger) {
            Seen::Lost(why) => assert!(why.contains(what), "{why}"),
            seen => panic!("{what}: {seen:?}"),
        };
        begin();
        fs::remove_file(&path).expect("removed");
        lost("ledger.sqlite` was deleted");
        begin();
        fs::remove_file(&wal).expect("removed");
        lost("ledger.sqlite-wal` was deleted");
        begin();
        fs::write(folder.path().join("other"), [1; 8192]).expect("written");
        fs::rename(folder.path().join("other"), &wal).expect("made anew");
        lost("ledger.sqlite-wal` was deleted");
        begin();
        fs::write(folder.path().join("other"), [1; 8192]).expect("written");
        fs::rename(folder.path().join("other"), &path).expect("replaced");
        lost("was replaced");
        begin();
        cut(&wal, 0);
        assert_eq!(held.look(Part::Ledger), Seen::Shorter);
        cut(&path, 4096);
        assert_eq!(held.look_on(Part::Ledger), Seen::Shorter);
        assert_eq!(held.look_on(Part::Ledger), Seen::Same, "it is said once");
        cut(&path, 0);
        assert!(matches!(held.look_on(Part::Ledger), Seen::Lost(_)));
        lost("was cut to 0 bytes");
        held.release(Part::Ledger);
        assert_eq!(held.look(Part::Ledger), Seen::Same, "it is closed");
    }

    #[test]
    fn files_are_held_until_their_database_is_closed_and_others_stay() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("vectors.sqlite");
        fs::write(&path, [1; 8192]).expect("written");
        let held = Held::default();
        let closed = held.hold_while(Part::Vectors, &path);
        drop(closed);
        fs::remove_file(&path).expect("removed");
        assert_eq!(held.look(Part::Vectors), Seen::Same, "it was closed before");
        fs::write(&path, [1; 8192]).expect("written");
        let first = held.hold_while(Part::Vectors, &path);
        let second = held.hold_while(Part::Vectors, &path);
        drop(first);
        fs::remove_file(&path).expect("removed");
        assert!(matches!(held.look(Part::Vectors), Seen::Lost(_)), "the second is open");
        drop(second);
    }

    #[test]
    fn a_lost_ledger_stays_lost() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("ledger.sqlite");
        fs::write(&path, [1; 8192]).expect("written");
        let held = Held::default();
        held.hold(Part::Ledger, &path);
        held.check_ledger().expect("it is there");
        fs::remove_file(&path).expect("removed");
        let message = held.check_ledger().expect_err("lost").to_string();
        assert!(
            message.contains("was deleted") && message.contains("\nhint: there is no backup"),
            "{message}"
        );
        assert!(held.lose_ledger(&path, "gone"), "the first time");
        fs::write(&path, [1; 8192]).expect("written");
        held.check_ledger().expect_err("lost");
        assert!(!held.lose_ledger(&path, "gone"), "once");
    }
}
