//! Backup: copies of the ledger made while it is in use, and restoring one.
//!
//! In: the ledger's file, and where a copy goes. Out: a verified copy, or why there is none.
//! Invariants: a copy is one commit of the ledger, complete in a single file (no `-wal`), mode 0600, and appears
//! under its name only when it is verified and on disk; a restore first verifies the copy, keeps the ledger it
//! replaces, and leaves a ledger in place at every instant.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::backup::{Backup as Online, StepResult};

use super::LedgerError;
use super::migrate::{Lack, VERSION, complete, inspect, is_damage, lacks, of_its_own};
use crate::store::Rewrite;
use crate::store::erase::{Counts, Gone, erase};
use crate::store::{StoreError, open};

mod which;

use which::{Rows, best_of, holdings, holds_more, prune, readable};
pub(super) use which::{best, holds_nothing};

/// Attempts to copy while the ledger is locked, and the pause between two.
const ATTEMPTS: (u32, Duration) = (100, Duration::from_millis(50));

/// A verified copy of the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backup {
    /// Its path.
    pub path: PathBuf,
    /// Its size in bytes.
    pub n_bytes: u64,
    /// The version of its tables.
    pub version: u32,
    /// Number of rows by table; the same as in the ledger at that instant.
    pub rows: Rows,
}

/// Held while copies are made or rewritten: a copy made during an erasure would bring the erased text back.
static TURN: Mutex<()> = Mutex::new(());

/// Copies the ledger in `state_dir` to `to`, or to a new file in its folder of backups, which keeps the last 7 and the
/// one that holds most. With `replaces`, `to` may exist.
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

/// Copies an open ledger whose file at `ledger` is missing to a new file in the folder of backups.
pub(super) fn rescue(db: &Connection, ledger: &Path) -> Result<Backup, StoreError> {
    let folder = folder_of(ledger);
    fs::create_dir_all(&folder).map_err(LedgerError::io(&folder))?;
    copy_numbered(db, &folder)
}

fn folder_of(ledger: &Path) -> PathBuf {
    ledger.with_file_name("backups")
}

/// Copies to a file named after the current second, or the next free number if it exists.
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
        // Only a regular file is ever replaced, never a folder, link or device.
        if !found.is_file() {
            let source = io::Error::other("not a regular file");
            return Err(LedgerError::Io { path: to.to_path_buf(), source }.into());
        }
        if !replaces {
            return Err(LedgerError::Exists(to.to_path_buf()).into());
        }
    }
    let draft = Draft::new(to)?;
    let rows = copy_rows(db, &draft.path)?;
    // A database that has lost its tables is no backup of anything.
    let copied = look(&draft.path)?;
    // The counts were taken inside the copied transaction, so they must agree.
    if copied.rows != rows {
        let why = format!("it holds {:?}, the ledger {rows:?}", copied.rows);
        return Err(LedgerError::Unsound { path: to.to_path_buf(), why }.into());
    }
    draft.publish(to, replaces)?;
    Ok(Backup { path: to.to_path_buf(), ..copied })
}

/// Copies one commit and returns its number of rows by table.
fn copy_rows(db: &Connection, draft: &Path) -> Result<Rows, StoreError> {
    // One read transaction: what is counted is what is copied, whatever is written during the copy.
    let view = db.unchecked_transaction()?;
    let rows = count(&view)?;
    let mut copy = open::plain(draft).map_err(|why| open::open_error(draft, why))?;
    {
        let online = Online::new(&view, &mut copy)?;
        let mut attempts = 0;
        while online.step(-1)? != StepResult::Done {
            attempts += 1;
            if attempts == ATTEMPTS.0 {
                let why = "the ledger stayed busy".to_string();
                return Err(LedgerError::Unsound { path: draft.to_path_buf(), why }.into());
            }
            std::thread::sleep(ATTEMPTS.1);
        }
    }
    // The copy must be a single file; in WAL mode it would need a `-wal` beside it.
    copy.query_row("PRAGMA journal_mode = DELETE", [], |row| row.get::<_, String>(0))?;
    copy.close().map_err(|(_, error)| error)?;
    Ok(rows)
}

/// Reads from a copy of the ledger; `None` if the copy is damaged.
pub(crate) fn read_copy<T>(
    path: &Path,
    read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
) -> Option<T> {
    look(path).ok()?;
    open::plain_reader(path).and_then(|db| read(&db)).ok()
}

/// Returns whether a copy of the ledger can be read.
pub fn is_sound(copy: &Path) -> bool {
    read_copy(copy, |_| Ok(())).is_some()
}

/// Rewrites a copy of the ledger without what is to be forgotten, in the table version it has and without free pages.
/// Returns how much was removed. The copy can be restored at any time, even if this is interrupted.
///
/// # Errors
/// When it is damaged or cannot be written; then it is unchanged.
pub fn rewrite_copy(path: &Path, gone: &Gone, rewrite: &dyn Rewrite) -> Result<Counts, StoreError> {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    look(path)?;
    let source = open::plain_reader(path).map_err(|why| open::open_error(path, why))?;
    let draft = Draft::new(path)?;
    copy_rows(&source, &draft.path)?;
    drop(source);
    let db = open::plain(&draft.path).map_err(|why| open::open_error(path, why))?;
    let counts = erase(&db, gone, rewrite)?;
    // Deleted rows are still in free pages until then.
    db.execute_batch("VACUUM")?;
    db.close().map_err(|(_, error)| error)?;
    look(&draft.path)?;
    sys::fail::point("forget.copy");
    draft.publish(path, true)?;
    Ok(counts)
}

fn count(db: &Connection) -> rusqlite::Result<Rows> {
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

/// Returns what a file holds if it is an undamaged ledger of a known version. Writes nothing.
pub fn check(path: &Path) -> Result<Backup, StoreError> {
    let found = look(path)?;
    if found.version > VERSION {
        let (path, found) = (path.to_path_buf(), found.version);
        return Err(LedgerError::Newer { path, found, known: VERSION }.into());
    }
    Ok(found)
}

/// Returns what an undamaged ledger holds.
fn look(path: &Path) -> Result<Backup, StoreError> {
    let n_bytes = path.metadata().map_err(|error| not_a_ledger(path, error.to_string()))?.len();
    let read = open::plain_reader(path).and_then(|db| {
        let (version, verdict) = inspect(&db)?;
        Ok((version, if verdict == "ok" { Ok(count(&db)?) } else { Err(verdict) }))
    });
    match read {
        Ok((version, Ok(rows))) => Ok(Backup { path: path.to_path_buf(), n_bytes, version, rows }),
        Ok((_, Err(verdict))) => Err(not_a_ledger(path, verdict)),
        Err(error) if is_damage(&error) => Err(not_a_ledger(path, error.to_string())),
        Err(error) => Err(open::open_error(path, error)),
    }
}

fn not_a_ledger(path: &Path, why: String) -> StoreError {
    LedgerError::NotALedger { path: path.to_path_buf(), why }.into()
}

/// Verdict on a database whose file is missing.
const GONE: &str = "its file is gone";

/// The condition of the databases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkup {
    /// `ok`, or SQLite's first message about damage of the index.
    pub index: String,
    /// `ok`, or SQLite's first message about damage of the ledger.
    pub ledger: String,
    /// Version of the ledger's tables.
    pub ledger_version: u32,
    /// The backup to go back to, of those in the folder of backups.
    pub newest_backup: Option<PathBuf>,
}

/// Checks both databases in `state_dir` for damage, each through a connection of its own. Reads nearly all of the
/// index.
pub fn check_up(state_dir: &Path) -> Result<Checkup, StoreError> {
    let (index, ledger) = (state_dir.join("index.sqlite"), state_dir.join("ledger.sqlite"));
    let quick = |db: Connection| db.query_row("PRAGMA quick_check(1)", [], |row| row.get(0));
    let verdict = match open::reader(&index).and_then(|db| Ok(quick(db)?)) {
        // Existence is checked after opening, for either a clear verdict or the error itself.
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
    let newest_backup = best(&ledger);
    Ok(Checkup { index: verdict, ledger: ledger_verdict, ledger_version, newest_backup })
}

/// The outcome of a restore.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// The copy that was restored.
    pub backup: Backup,
    /// Path of the ledger that was replaced, if there was one.
    pub kept: Option<PathBuf>,
}

/// Replaces the ledger in `state_dir` by a copy. No daemon may run. The index is discarded: it has uids, tags and
/// decisions of the replaced ledger, and is rebuilt from the files.
pub fn restore(state_dir: &Path, from: &Path) -> Result<Restored, StoreError> {
    let checked = check(from)?;
    let ledger = state_dir.join("ledger.sqlite");
    let source = open::plain_reader(from).map_err(|why| open::open_error(from, why))?;
    let draft = Draft::new(&ledger)?;
    copy_rows(&source, &draft.path)?;
    drop(source);
    check(&draft.path)?;
    open::remove(&state_dir.join(open::STAND_IN))?;
    // The index that is being built beside it, too: both have uids of the replaced ledger.
    open::remove(&state_dir.join(open::NEXT))?;
    open::remove(&state_dir.join(open::LIVE))?;
    let kept = keep_aside(&ledger)?;
    draft.publish(&ledger, true)?;
    Ok(Restored { backup: checked, kept })
}

/// What is gone with a ledger that has no backup.
const LOST: &str = "what only the ledger kept (review decisions, versions of entries, tags of ingestion) is lost, \
                    files are not affected";

/// Restores a ledger that has lost some of its tables, all, or all of its rows, before anything opens it: from the
/// backup to go back to, if that holds more of what is lost. Returns what was done, for `status`; `None` if nothing was
/// lost or the project is new.
pub fn bring_back(state_dir: &Path) -> Option<String> {
    let ledger = state_dir.join(open::LEDGER_FILE);
    let lack = lacks(&ledger)?;
    let left = || open::plain_reader(&ledger).and_then(|db| of_its_own(&db, count(&db)?));
    let (how, left) = match &lack {
        Lack::All(how) => (*how, Rows::new()),
        Lack::Rows => ("had lost its rows", Rows::new()),
        Lack::Tables(how) => (how.as_str(), left().unwrap_or_default()),
    };
    let mut backups = readable(&folder_of(&ledger));
    while let Some(backup) = best_of(&backups).filter(|it| holds_more(&it.rows, &left)) {
        let (path, n) = (backup.path.clone(), holdings(&backup.rows));
        match restore(state_dir, &path) {
            Ok(done) => {
                let kept =
                    done.kept.map(|it| format!("; what was left of it is `{}`", it.display()));
                return Some(format!(
                    "it {how} at the start and was restored from `{}` ({} rows, {} documents){}; what only the ledger \
                     kept since that backup is lost, files are not affected",
                    path.display(),
                    n.0,
                    n.1,
                    kept.unwrap_or_default()
                ));
            }
            Err(error) => {
                tracing::warn!(backup = %path.display(), %error, "cannot restore a backup")
            }
        }
        backups.retain(|it| it.path != path);
    }
    if let Lack::Rows = lack {
        return None;
    }
    if let Lack::Tables(_) = lack {
        // What cannot be completed is refused when it is opened, with the reason.
        let done = complete_aside(&ledger);
        let kept = done.inspect_err(|error| tracing::warn!(%error, "the ledger")).ok()??;
        let kept = kept.display();
        return Some(format!(
            "it {how} at the start; no backup holds more of that, so it was made again (an index in full, a table \
             without rows); files are not affected; as it was, it is `{kept}`"
        ));
    }
    // A new project has none of these, also after a crash at its first start.
    let traces = [open::LIVE, open::NEXT, "kept", "backups"];
    let is_new = traces.iter().all(|it| !state_dir.join(it).exists());
    (!is_new).then(|| {
        format!("it {how} at the start and no backup holds anything: an empty one was made; {LOST}")
    })
}

/// Makes the lost tables of a ledger again; returns the path of the ledger as it was.
fn complete_aside(ledger: &Path) -> Result<Option<PathBuf>, StoreError> {
    let Some(kept) = keep_aside(ledger)? else { return Ok(None) };
    let draft = Draft::new(ledger)?;
    fs::copy(&kept, &draft.path).map_err(LedgerError::io(&draft.path))?;
    complete(&draft.path)?;
    check(&draft.path)?;
    draft.publish(ledger, true)?;
    Ok(Some(kept))
}

/// Gives the ledger a second name, and renames its log to match: a log must never be applied to another database.
fn keep_aside(ledger: &Path) -> Result<Option<PathBuf>, StoreError> {
    if ledger.symlink_metadata().is_err() {
        return Ok(None);
    }
    // Closing the log merges it into an undamaged ledger; of a damaged one both files are kept. SQLite would delete
    // the log of an empty file, which may be all that is left.
    if ledger.metadata().is_ok_and(|it| it.len() > 0)
        && let Ok(db) = open::plain(ledger)
    {
        let _ = db.query_row("PRAGMA journal_mode = DELETE", [], |row| row.get::<_, String>(0));
    }
    let kept = free_name(ledger);
    // A link, not a rename: the first name must exist until the copy replaces it.
    fs::hard_link(ledger, &kept)
        .or_else(|_| fs::copy(ledger, &kept).map(|_| ()))
        // A folder in its place can only be moved.
        .or_else(|why| if ledger.is_dir() { fs::rename(ledger, &kept) } else { Err(why) })
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

/// A file being written beside its final path; removed unless it is published.
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

    /// Renames it to its final path, once its bytes are on disk.
    fn publish(self, to: &Path, replaces: bool) -> Result<(), LedgerError> {
        let done = File::open(&self.path).and_then(|file| file.sync_all());
        done.map_err(LedgerError::io(&self.path))?;
        if replaces {
            fs::rename(&self.path, to).map_err(LedgerError::io(to))?;
        } else {
            // Unlike a rename, a link never replaces a file created in between.
            match fs::hard_link(&self.path, to) {
                Ok(()) => {}
                Err(_) if to.symlink_metadata().is_ok() => {
                    return Err(LedgerError::Exists(to.to_path_buf()));
                }
                // The file system has no hard links.
                Err(_) => fs::rename(&self.path, to).map_err(LedgerError::io(to))?,
            }
        }
        if let Some(folder) = to.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            // A new name is durable once its folder is synced; some file systems cannot do that.
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
