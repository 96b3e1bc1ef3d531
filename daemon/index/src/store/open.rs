//! Open: opens the databases, with pragmas and schema, and decides what to do with an index that another version or
//! other settings made.
//!
//! Invariant: at any instant, also between two renames, the next start finds either the old index or the new one.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::functions::FunctionFlags;
use rusqlite::{Connection, MAIN_DB, OpenFlags};

use super::StoreError;
use super::schema::{INDEX, SCHEMA_VERSION};
use super::trouble::{self, Trouble};
use model::terms::Tick;

/// The index that answers questions.
pub(super) const LIVE: &str = "index.sqlite";

/// The index that is built while the other one answers.
pub(super) const NEXT: &str = "index.next.sqlite";

/// The ledger, which keeps what files cannot hold.
pub(super) const LEDGER_FILE: &str = "ledger.sqlite";

/// Replaces a ledger that was lost while the daemon ran; deleted at the next start.
pub(super) const STAND_IN: &str = "ledger.lost.sqlite";

/// Returns the ledger to read: the project's own, or its stand-in.
pub(super) fn ledger_to_read(state_dir: &Path) -> PathBuf {
    let stand_in = state_dir.join(STAND_IN);
    if stand_in.exists() { stand_in } else { state_dir.join(LEDGER_FILE) }
}

/// How long a statement waits for a lock, milliseconds (S4 §10).
const BUSY_TIMEOUT_MS: u64 = 3_000;

/// Prepared statements cached per connection.
const STATEMENT_CACHE: usize = 128;

/// An index that is open for writing.
pub(super) struct Opened {
    pub(super) db: Connection,
    /// Its file.
    pub path: PathBuf,
    /// The file that answers questions until this one is complete: the same, or an older index.
    pub answers: PathBuf,
}

/// What a file of an index turns out to be.
pub(super) enum Found {
    Nothing,
    /// Made by this version with these settings.
    Ours(Connection),
    /// Made by another version or with other settings, with the same tables.
    Readable(Connection),
    /// Unusable; the text says why.
    Useless(String),
}

/// Opens the index in `folder` for writing. An index with the same tables that was made by other extractors or
/// settings continues to answer while a new one is built beside it, in `index.next.sqlite`; an unusable one is moved
/// aside to `index.sqlite.old`, because it is derived from the files. Ticks of a new index continue from `floor`.
pub(super) fn index(folder: &Path, fingerprint: &str, floor: Tick) -> Result<Opened, StoreError> {
    sys::register_sqlite_vec();
    let made_by = made_by(fingerprint);
    let (live, next) = (folder.join(LIVE), folder.join(NEXT));
    match look(&live, &made_by)? {
        Found::Ours(db) => {
            remove(&next)?;
            Ok(Opened { db, answers: live.clone(), path: live })
        }
        // A new index continues from the old one's tick: replies must never go back.
        Found::Readable(old) => {
            let tick: i64 =
                old.query_row("SELECT value FROM meta WHERE key = 'tick'", [], |row| row.get(0))?;
            drop(old);
            tracing::info!(path = %next.display(), "building a new index; the old one answers until it is complete");
            let db = match look(&next, &made_by)? {
                Found::Ours(db) => db,
                _ => {
                    remove(&next)?;
                    create(&next, &made_by, tick as u64)?
                }
            };
            Ok(Opened { db, path: next, answers: live })
        }
        Found::Nothing => {
            // A crash may have happened between the two renames of a replacement.
            if let Found::Ours(db) = look(&next, &made_by)? {
                drop(db);
                rename(&next, &live)?;
            }
            fresh(live, &made_by, floor)
        }
        Found::Useless(why) => {
            tracing::warn!(path = %live.display(), why, "the index is rebuilt from the files");
            set_aside(&live)?;
            remove(&next)?;
            fresh(live, &made_by, floor)
        }
    }
}

fn fresh(live: PathBuf, made_by: &str, floor: Tick) -> Result<Opened, StoreError> {
    let db = match look(&live, made_by)? {
        Found::Ours(db) => db,
        _ => create(&live, made_by, floor.0)?,
    };
    Ok(Opened { db, answers: live.clone(), path: live })
}

/// Returns the mark of how an index was made: the version of its tables, and what filled them.
pub(super) fn made_by(fingerprint: &str) -> String {
    format!("{SCHEMA_VERSION}/{fingerprint}")
}

pub(super) fn look(path: &Path, made_by: &str) -> Result<Found, StoreError> {
    if !path.exists() {
        return Ok(Found::Nothing);
    }
    match look_inside(path, made_by) {
        Ok(found) => Ok(found),
        Err(error) if is_damage(&error) => Ok(Found::Useless(error.to_string())),
        Err(error) => Err(open_error(path, error)),
    }
}

fn look_inside(path: &Path, made_by: &str) -> rusqlite::Result<Found> {
    let db = connect(path)?;
    let tables: i64 = db.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))?;
    if tables == 0 {
        // A crash during creation.
        return Ok(Found::Nothing);
    }
    let found: String =
        db.query_row("SELECT value FROM meta WHERE key = 'made_by'", [], |row| row.get(0))?;
    // The part before `/` is the version of the tables.
    let shape = |made_by: &str| made_by.split('/').next().map(String::from);
    Ok(match found {
        found if found == made_by => Found::Ours(db),
        found if shape(&found) == shape(made_by) => Found::Readable(db),
        found => Found::Useless(format!("made by {found}, now {made_by}")),
    })
}

/// Returns whether the file is unusable: damaged, or not an index. A full disk, a lock or missing rights say nothing
/// about its content.
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    !matches!(trouble::of_sqlite(error), Trouble::Passing(_))
}

/// Creates an empty index whose ticks continue from `tick`.
pub(super) fn create(path: &Path, made_by: &str, tick: u64) -> Result<Connection, StoreError> {
    let db = connect(path).map_err(|why| open_error(path, why))?;
    sys::fail::point("create.before");
    db.execute_batch("BEGIN IMMEDIATE")?;
    db.execute_batch(INDEX)?;
    sys::fail::point("create.tables");
    db.execute(
        "INSERT INTO meta VALUES('made_by', ?1), ('tick', ?2), ('gazetteer', 0)",
        rusqlite::params![made_by, tick as i64],
    )?;
    db.execute_batch("COMMIT")?;
    sys::fail::point("create.after");
    Ok(db)
}

/// Opens the ledger for writing, created empty if it is missing; `ledger/migrate.rs` makes its tables.
pub(super) fn ledger(path: &Path) -> Result<Connection, StoreError> {
    let db = connect(path).map_err(|why| open_error(path, why))?;
    // It is read and written one row per document, so a large cache would only take memory.
    db.execute_batch("PRAGMA cache_size = -2000; PRAGMA secure_delete = ON;")?;
    Ok(db)
}

/// Attempts to truncate a log while somebody reads, and the pause between two.
const ATTEMPTS: (u32, Duration) = (60, Duration::from_millis(50));

/// Rewrites a database without its free pages, in place, and truncates its log.
///
/// # Errors
/// [`StoreError::Busy`] when a reader keeps the log in use for the whole time.
pub(super) fn vacuum(db: &Connection) -> Result<(), StoreError> {
    db.execute_batch("VACUUM")?;
    for _ in 0..ATTEMPTS.0 {
        let is_busy: i64 = db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
        if is_busy == 0 {
            return Ok(());
        }
        std::thread::sleep(ATTEMPTS.1);
    }
    Err(StoreError::Busy { n_readers: 1 })
}

/// Opens a database without pragmas, such as a copy of the ledger.
pub(super) fn plain(path: &Path) -> rusqlite::Result<Connection> {
    let db = Connection::open(path)?;
    db.busy_timeout(Duration::from_millis(BUSY_TIMEOUT_MS))?;
    Ok(db)
}

/// As [`plain`], read-only: nothing is written, not even to recover a log that a crash left.
pub(super) fn plain_reader(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags)?;
    db.busy_timeout(Duration::from_millis(BUSY_TIMEOUT_MS))?;
    Ok(db)
}

/// How many pages a reader keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CacheSize {
    /// 4 MB: a question reads some hundred pages of the graph; with the default of 2 MB, the next one would read most
    /// of them again.
    Large,
    /// .5 MB: the inner pages of the trees that a query walks.
    Small,
}

/// Sets how many pages a reader keeps; those over it are freed.
pub(super) fn set_cache_size(db: &Connection, size: CacheSize) -> Result<(), StoreError> {
    let sql = match size {
        CacheSize::Large => "PRAGMA cache_size = -4000",
        CacheSize::Small => "PRAGMA cache_size = -500",
    };
    Ok(db.execute_batch(sql)?)
}

/// Opens the index read-only, with large room.
pub(super) fn reader(path: &Path) -> Result<Connection, StoreError> {
    sys::register_sqlite_vec();
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags).map_err(|why| open_error(path, why))?;
    tune(&db)?;
    add_folded(&db)?;
    set_cache_size(&db, CacheSize::Large)?;
    Ok(db)
}

/// Adds the function `folded(text)` to a connection: [`names::fold`] for comparisons in SQL, where `lower` and `NOCASE`
/// know ASCII only.
///
/// # Errors
/// When SQLite refuses it.
pub(crate) fn add_folded(db: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8
        | FunctionFlags::SQLITE_DETERMINISTIC
        | FunctionFlags::SQLITE_INNOCUOUS;
    db.create_scalar_function("folded", 1, flags, |ctx| {
        Ok(ctx.get_raw(0).as_str_or_null()?.map(names::fold))
    })
}

/// Configures what every connection needs. Without the query planner stability guarantee (QPSG), SQLite inspects
/// bound values and re-prepares some statements whenever one changes (measured: 6 % of an ingest).
fn tune(db: &Connection) -> rusqlite::Result<()> {
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    db.busy_timeout(Duration::from_millis(BUSY_TIMEOUT_MS))?;
    db.set_prepared_statement_cache_capacity(STATEMENT_CACHE);
    Ok(())
}

pub(super) fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let db = Connection::open(path)?;
    if db.is_readonly(MAIN_DB)? {
        // SQLite opens a file without write permission read-only, and reports it only at the first commit.
        let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_READONLY);
        return Err(rusqlite::Error::SqliteFailure(code, None));
    }
    tune(&db)?;
    // `secure_delete = FAST` overwrites deleted content where that costs no further page; `Ledger` and `Spaces`
    // overwrite all of it, and `IndexWriter::compact` leaves no free page.
    db.execute_batch(
        "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
         PRAGMA temp_store = MEMORY; PRAGMA cache_size = -8000; PRAGMA wal_autocheckpoint = 4000;
         PRAGMA secure_delete = FAST;",
    )?;
    Ok(db)
}

/// The three files of a database, its main file last: until that one is moved, the others have no effect.
pub(super) fn files(path: &Path) -> [PathBuf; 3] {
    ["-wal", "-shm", ""].map(|suffix| path.with_file_name(format!("{}{suffix}", file_name(path))))
}

/// Moves a database that nobody has open over another one, which is deleted.
pub(super) fn rename(from: &Path, to: &Path) -> Result<(), StoreError> {
    remove(to)?;
    for (from, to) in files(from).iter().zip(&files(to)) {
        sys::fail::point("replace.rename");
        found_or_not(std::fs::rename(from, to), from)?;
    }
    Ok(())
}

/// Deletes a database that nobody has open, if it is there.
pub(super) fn remove(path: &Path) -> Result<(), StoreError> {
    files(path).iter().try_for_each(|file| found_or_not(std::fs::remove_file(file), file))
}

/// Moves a database to the same name with `.old`.
pub(super) fn set_aside(path: &Path) -> Result<(), StoreError> {
    rename(path, &path.with_file_name(format!("{}.old", file_name(path))))
}

fn found_or_not(result: std::io::Result<()>, path: &Path) -> Result<(), StoreError> {
    match result {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(StoreError::Open { path: path.to_path_buf(), why: error.to_string() })
        }
        _ => Ok(()),
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

pub(super) fn open_error(path: &Path, error: rusqlite::Error) -> StoreError {
    let why = match trouble::of_sqlite(&error) {
        Trouble::Passing(stall) => format!("{}\nhint: {}", stall.why, stall.remedy),
        Trouble::Corrupt | Trouble::Lasting => error.to_string(),
    };
    StoreError::Open { path: path.to_path_buf(), why }
}
