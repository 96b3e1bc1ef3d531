//! Backup: sound copies of the ledger while it is written to, and putting one back.
//!
//! In: the ledger's file, and where a copy shall be. Out: a copy that was checked, or why there is none.
//! Invariants: a copy is one commit of the ledger, whole and by itself (no `-wal` beside it), mode 0600, and appears
//! under its name only when it is checked and on the disk; putting back first checks what is put back, keeps what it
//! replaces, and at every instant leaves a ledger in place.
//! Not here: when a backup is made (`serve/tool/maintain.rs`), the daemon's lock (`process/restore.rs`).

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::backup::{Backup as Online, StepResult};

use super::LedgerError;
use super::migrate::{TABLES, VERSION, inspect, is_damage};
use crate::store::Rewrite;
use crate::store::erase::{Counts, Gone, erase};
use crate::store::{StoreError, open};

/// Backups kept of those that got their name from us.
const KEPT: usize = 7;

/// Attempts to copy while somebody holds the ledger, and the pause between two.
const ATTEMPTS: (u32, Duration) = (100, Duration::from_millis(50));

/// What a copy holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backup {
    /// Where it is.
    pub path: PathBuf,
    /// Its size in bytes.
    pub n_bytes: u64,
    /// The version of its tables.
    pub version: u32,
    /// Rows a table; the same as in the ledger at that instant.
    pub rows: BTreeMap<String, u64>,
}

/// Held while a copy is made or rewritten: one that is made meanwhile would bring back what the others have lost.
static TURN: Mutex<()> = Mutex::new(());

/// Copies the ledger in `state_dir` to `to`, or to a new file in its folder of backups, of which the last 7 are kept.
/// `replaces` says that a file may be there already.
pub fn back_up(state_dir: &Path, to: Option<&Path>, replaces: bool) -> Result<Backup, StoreError> {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let ledger = state_dir.join("ledger.sqlite");
    let db = open::plain_reader(&ledger).map_err(|why| open::open_error(&ledger, why))?;
    match to {
        Some(to) => Ok(copy(&db, to, replaces)?),
        None => {
            let folder = folder_of(&ledger);
            fs::create_dir_all(&folder).map_err(LedgerError::io(&folder))?;
            let done = copy_numbered(&db, &folder)?;
            prune(&folder);
            Ok(done)
        }
    }
}

/// Copies an open ledger, whose file at `ledger` is gone, to a new file in the folder of backups.
pub(super) fn rescue(db: &Connection, ledger: &Path) -> Result<Backup, StoreError> {
    let folder = folder_of(ledger);
    fs::create_dir_all(&folder).map_err(LedgerError::io(&folder))?;
    copy_numbered(db, &folder)
}

/// The newest backup in the folder of backups beside a ledger.
pub(super) fn newest(ledger: &Path) -> Option<PathBuf> {
    own_backups(&folder_of(ledger)).pop()
}

fn folder_of(ledger: &Path) -> PathBuf {
    ledger.with_file_name("backups")
}

/// Names sort by age.
fn own_backups(folder: &Path) -> Vec<PathBuf> {
    let is_ours = |name: &str| name.starts_with("ledger-") && name.ends_with(".sqlite");
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries
        .filter(|entry| entry.file_name().to_str().is_some_and(is_ours))
        .map(|entry| entry.path())
        .collect();
    found.sort();
    found
}

fn prune(folder: &Path) {
    let found = own_backups(folder);
    for old in found.iter().take(found.len().saturating_sub(KEPT)) {
        if let Err(error) = fs::remove_file(old) {
            tracing::warn!(file = %old.display(), %error, "an old backup stays");
        }
    }
}

/// Copies under the name of the present second; the next free one when there is such a file.
fn copy_numbered(db: &Connection, folder: &Path) -> Result<Backup, StoreError> {
    let now = jiff::Zoned::now().strftime("%Y%m%d-%H%M%S").to_string();
    let mut path = folder.join(format!("ledger-{now}.sqlite"));
    let mut n = 1;
    loop {
        match copy(db, &path, false) {
            Err(StoreError::Ledger(LedgerError::Exists(_))) if n < 100 => {
                n += 1;
                // `_` sorts after the `.` of the first one.
                path = folder.join(format!("ledger-{now}_{n:02}.sqlite"));
            }
            done => return done,
        }
    }
}

/// Copies an open ledger to a file.
pub(super) fn copy(db: &Connection, to: &Path, replaces: bool) -> Result<Backup, StoreError> {
    if let Ok(found) = to.symlink_metadata() {
        // Only a file is ever replaced: not a folder, a link, or what stands for a device.
        if !found.is_file() {
            let source = io::Error::other("it is no regular file");
            return Err(LedgerError::Io { path: to.to_path_buf(), source }.into());
        }
        if !replaces {
            return Err(LedgerError::Exists(to.to_path_buf()).into());
        }
    }
    let draft = Draft::new(to)?;
    let rows = copy_rows(db, &draft.path)?;
    let copied = look(&draft.path)?;
    if copied.rows != rows {
        let why = format!("it holds {:?}, the ledger {rows:?}", copied.rows);
        return Err(LedgerError::Unsound { path: to.to_path_buf(), why }.into());
    }
    draft.publish(to, replaces)?;
    Ok(Backup { path: to.to_path_buf(), ..copied })
}

/// Copies one commit and gives its rows a table.
fn copy_rows(db: &Connection, draft: &Path) -> Result<BTreeMap<String, u64>, StoreError> {
    // One read transaction: what is counted is what is copied, whatever is written meanwhile.
    let view = db.unchecked_transaction()?;
    let rows = count(&view)?;
    let mut copy = open::plain(draft).map_err(|why| open::open_error(draft, why))?;
    {
        let online = Online::new(&view, &mut copy)?;
        let mut attempts = 0;
        while online.step(-1)? != StepResult::Done {
            attempts += 1;
            if attempts == ATTEMPTS.0 {
                let why = "the ledger was busy all the time".to_string();
                return Err(LedgerError::Unsound { path: draft.to_path_buf(), why }.into());
            }
            std::thread::sleep(ATTEMPTS.1);
        }
    }
    // The copy must be one file: without this it would want a `-wal` beside it.
    copy.query_row("PRAGMA journal_mode = DELETE", [], |row| row.get::<_, String>(0))?;
    copy.close().map_err(|(_, error)| error)?;
    Ok(rows)
}

/// Reads something of a copy of the ledger; `None` when it is not a sound one.
pub fn read_copy<T>(
    path: &Path,
    read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
) -> Option<T> {
    look(path).ok()?;
    open::plain_reader(path).and_then(|db| read(&db)).ok()
}

/// Writes a copy of the ledger anew without what is meant, in the format that it has, and leaves no free page; how much
/// went. It can be put back before and after, whenever that is cut short.
///
/// # Errors
/// When it is no sound ledger, or cannot be written; then it is as it was.
pub fn rewrite_copy(path: &Path, gone: &Gone, rewrite: &dyn Rewrite) -> Result<Counts, StoreError> {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    look(path)?;
    let source = open::plain_reader(path).map_err(|why| open::open_error(path, why))?;
    let draft = Draft::new(path)?;
    copy_rows(&source, &draft.path)?;
    drop(source);
    let db = open::plain(&draft.path).map_err(|why| open::open_error(path, why))?;
    let counts = erase(&db, gone, rewrite)?;
    db.execute_batch("VACUUM")?;
    db.close().map_err(|(_, error)| error)?;
    look(&draft.path)?;
    sys::fail::point("forget.copy");
    draft.publish(path, true)?;
    Ok(counts)
}

fn count(db: &Connection) -> rusqlite::Result<BTreeMap<String, u64>> {
    let names = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name";
    let mut statement = db.prepare(names)?;
    let names: Vec<String> =
        statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let n_rows = |name: &String| {
        let quoted = name.replace('"', "\"\"");
        db.query_row(&format!("SELECT count(*) FROM \"{quoted}\""), [], |row| row.get::<_, i64>(0))
    };
    names.iter().map(|name| Ok((name.clone(), n_rows(name)? as u64))).collect()
}

/// Says what a file holds if it is a sound ledger of a version we know. Writes nothing.
pub fn check(path: &Path) -> Result<Backup, StoreError> {
    if let Some(missing) = missing_table(path) {
        return Err(not_a_ledger(path, format!("it has no table `{missing}`")));
    }
    let found = look(path)?;
    if found.version > VERSION {
        let (path, found) = (path.to_path_buf(), found.version);
        return Err(LedgerError::Newer { path, found, known: VERSION }.into());
    }
    Ok(found)
}

/// A table that every ledger has and this database has not; `None` also when it is no database.
fn missing_table(path: &Path) -> Option<&'static str> {
    let db = open::plain_reader(path).ok()?;
    let mut statement =
        db.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1").ok()?;
    TABLES.into_iter().find(|table| statement.exists([table]).is_ok_and(|is_there| !is_there))
}

/// Says what a sound database holds.
fn look(path: &Path) -> Result<Backup, StoreError> {
    let n_bytes = path.metadata().map_err(|error| not_a_ledger(path, error.to_string()))?.len();
    let read = open::plain_reader(path).and_then(|db| Ok((inspect(&db)?, count(&db)?)));
    match read {
        Ok(((version, verdict), rows)) if verdict == "ok" => {
            Ok(Backup { path: path.to_path_buf(), n_bytes, version, rows })
        }
        Ok(((_, verdict), _)) => Err(not_a_ledger(path, verdict)),
        Err(error) if is_damage(&error) => Err(not_a_ledger(path, error.to_string())),
        Err(error) => Err(open::open_error(path, error)),
    }
}

fn not_a_ledger(path: &Path, why: String) -> StoreError {
    LedgerError::NotALedger { path: path.to_path_buf(), why }.into()
}

/// The check of a database whose file is missing.
const GONE: &str = "its file is gone";

/// The health of the databases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkup {
    /// `ok`, or SQLite's first complaint about the index.
    pub index: String,
    /// `ok`, or SQLite's first complaint about the ledger.
    pub ledger: String,
    /// Version of the ledger's tables.
    pub ledger_version: u32,
    /// The newest backup in the folder of backups.
    pub newest_backup: Option<PathBuf>,
}

/// Checks both databases in `state_dir` for damage, each through a connection of its own. Reads the index nearly whole.
pub fn check_up(state_dir: &Path) -> Result<Checkup, StoreError> {
    let (index, ledger) = (state_dir.join("index.sqlite"), state_dir.join("ledger.sqlite"));
    let quick = |db: Connection| db.query_row("PRAGMA quick_check(1)", [], |row| row.get(0));
    let verdict = match open::reader(&index).and_then(|db| Ok(quick(db)?)) {
        _ if !index.exists() => GONE.to_string(),
        Err(StoreError::Sqlite(error)) if is_damage(&error) => error.to_string(),
        read => read?,
    };
    let (ledger_version, ledger_verdict) =
        match open::plain_reader(&ledger).and_then(|db| inspect(&db)) {
            _ if !ledger.exists() => (0, GONE.to_string()),
            Err(error) if is_damage(&error) => (0, error.to_string()),
            read => read?,
        };
    let newest_backup = newest(&ledger);
    Ok(Checkup { index: verdict, ledger: ledger_verdict, ledger_version, newest_backup })
}

/// The outcome of a restore.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// What was put back.
    pub backup: Backup,
    /// Where the ledger lies that was replaced, if there was one.
    pub kept: Option<PathBuf>,
}

/// Puts a copy in the place of the ledger in `state_dir`. No daemon may run. The index is given up: it holds uids, tags
/// and decisions of the ledger that is replaced, and is built anew from the files.
pub fn restore(state_dir: &Path, from: &Path) -> Result<Restored, StoreError> {
    let checked = check(from)?;
    let ledger = state_dir.join("ledger.sqlite");
    let source = open::plain_reader(from).map_err(|why| open::open_error(from, why))?;
    let draft = Draft::new(&ledger)?;
    copy_rows(&source, &draft.path)?;
    drop(source);
    look(&draft.path)?;
    open::remove(&state_dir.join(open::STAND_IN))?;
    // The one that is being built beside it, too: either has the uids of the ledger that goes.
    open::remove(&state_dir.join(open::NEXT))?;
    open::remove(&state_dir.join(open::LIVE))?;
    let kept = keep_aside(&ledger)?;
    draft.publish(&ledger, true)?;
    Ok(Restored { backup: checked, kept })
}

/// Restores the newest sound backup where the ledger in `state_dir` is missing, before anything opens it. Returns what
/// was done, for `status`; `None` when the ledger is there or the project is new.
pub fn replace_missing(state_dir: &Path) -> Option<String> {
    let ledger = state_dir.join(open::LEDGER_FILE);
    let backups = own_backups(&folder_of(&ledger));
    let is_new = backups.is_empty() && !state_dir.join(open::LIVE).exists();
    if is_new || ledger.symlink_metadata().is_ok() {
        return None;
    }
    for backup in backups.iter().rev() {
        match restore(state_dir, backup) {
            Ok(_) => {
                let file = backup.display();
                return Some(format!(
                    "it was missing at the start and was restored from `{file}`; what only the ledger kept since that \
                     backup is lost, files are not affected"
                ));
            }
            Err(error) => {
                tracing::warn!(backup = %backup.display(), %error, "cannot restore a backup")
            }
        }
    }
    let lost = "it was missing at the start and there is no backup: an empty one was made. Review decisions, versions \
                of entries and tags of ingestion are lost, files are not affected";
    Some(lost.to_string())
}

/// Leaves a second name for the ledger, and takes its log of late writes away from the first: a log must never meet
/// another file than its own.
fn keep_aside(ledger: &Path) -> Result<Option<PathBuf>, StoreError> {
    if ledger.symlink_metadata().is_err() {
        return Ok(None);
    }
    // A sound ledger takes its log in; of a damaged one both are kept.
    if let Ok(db) = open::plain(ledger) {
        let _ = db.query_row("PRAGMA journal_mode = DELETE", [], |row| row.get::<_, String>(0));
    }
    let kept = free_name(ledger);
    fs::hard_link(ledger, &kept)
        .or_else(|_| fs::copy(ledger, &kept).map(|_| ()))
        .map_err(LedgerError::io(&kept))?;
    for suffix in ["-wal", "-shm"] {
        let (from, to) = (with_suffix(ledger, suffix), with_suffix(&kept, suffix));
        match fs::rename(&from, &to) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(LedgerError::io(&to)(error).into());
            }
            _ => {}
        }
    }
    Ok(Some(kept))
}

fn free_name(ledger: &Path) -> PathBuf {
    let first = with_suffix(ledger, ".before-restore");
    let names = (2..).map(|n| with_suffix(&first, &format!("-{n}")));
    std::iter::once(first.clone()).chain(names).find(|name| !name.exists()).unwrap_or(first)
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn remove_if_there(path: &Path) -> Result<(), LedgerError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(LedgerError::io(path)(error)),
        _ => Ok(()),
    }
}

/// A file in the making, beside where it shall be; removed unless it is published.
struct Draft {
    path: PathBuf,
}

impl Draft {
    fn new(to: &Path) -> Result<Self, LedgerError> {
        let path = with_suffix(to, &format!(".part-{}", std::process::id()));
        remove_if_there(&path)?;
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .map_err(LedgerError::io(to))?;
        Ok(Draft { path })
    }

    /// Gives it its name, once it is on the disk.
    fn publish(self, to: &Path, replaces: bool) -> Result<(), LedgerError> {
        let done = File::open(&self.path).and_then(|file| file.sync_all());
        done.map_err(LedgerError::io(&self.path))?;
        if replaces {
            fs::rename(&self.path, to).map_err(LedgerError::io(to))?;
        } else {
            // Unlike a rename, a link never replaces what somebody has put there meanwhile.
            match fs::hard_link(&self.path, to) {
                Ok(()) => {}
                Err(_) if to.symlink_metadata().is_ok() => {
                    return Err(LedgerError::Exists(to.to_path_buf()));
                }
                // A file system without links.
                Err(_) => fs::rename(&self.path, to).map_err(LedgerError::io(to))?,
            }
        }
        if let Some(folder) = to.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            // The name is on the disk when the folder is; some file systems cannot say so.
            let _ = File::open(folder).and_then(|folder| folder.sync_all());
        }
        Ok(())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        for suffix in ["", "-journal", "-wal", "-shm"] {
            let _ = fs::remove_file(with_suffix(&self.path, suffix));
        }
    }
}

#[cfg(test)]
mod tests;
