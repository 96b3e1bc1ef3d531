//! Opening the databases: pragmas, schema, and what to do with an index of another make.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, MAIN_DB, OpenFlags};

use super::trouble::{self, Trouble};
use super::StoreError;
use super::schema::{INDEX, LEDGER, SCHEMA_VERSION};

/// How long a statement waits for a lock, milliseconds (S4 §10).
const BUSY_TIMEOUT_MS: u64 = 3_000;

/// Prepared statements kept per connection.
const STATEMENT_CACHE: usize = 128;

/// Why an index cannot be used.
enum Unfit {
    /// It is of another make, or not what was written to it: derived data, which can be made anew.
    Derived(String),
    /// The system is in the way; the index itself may be as good as ever.
    Ground(rusqlite::Error),
}

impl From<rusqlite::Error> for Unfit {
    fn from(error: rusqlite::Error) -> Self {
        match trouble::of_sqlite(&error) {
            Trouble::Passing(_) => Unfit::Ground(error),
            Trouble::Corrupt | Trouble::Lasting => Unfit::Derived(error.to_string()),
        }
    }
}

/// Opens the index for writing. An index made by another schema or other settings, or one that SQLite cannot
/// read, is derived data: it is moved aside to `index.sqlite.old` and a new one is begun. A full disk, a lock or
/// missing rights are no reason for that.
pub(super) fn index(path: &Path, fingerprint: &str) -> Result<Connection, StoreError> {
    crate::sys::register_sqlite_vec();
    match open_index(path, fingerprint) {
        Ok(db) => Ok(db),
        Err(Unfit::Ground(why)) => Err(open_error(path, &why)),
        Err(Unfit::Derived(why)) => {
            tracing::warn!(path = %path.display(), %why, "the index is rebuilt from the files");
            set_aside(path)?;
            open_index(path, fingerprint).map_err(|why| match why {
                Unfit::Ground(why) => open_error(path, &why),
                Unfit::Derived(why) => StoreError::Open { path: path.to_path_buf(), why },
            })
        }
    }
}

fn open_index(path: &Path, fingerprint: &str) -> Result<Connection, Unfit> {
    let db = connect(path)?;
    let made_by = format!("{SCHEMA_VERSION}/{fingerprint}");
    let tables: i64 =
        db.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))?;
    if tables == 0 {
        create(&db, &made_by)?;
        return Ok(db);
    }
    let found: String =
        db.query_row("SELECT value FROM meta WHERE key = 'made_by'", [], |row| row.get(0))?;
    if found != made_by {
        return Err(Unfit::Derived(format!("made by {found}, now {made_by}")));
    }
    Ok(db)
}

fn create(db: &Connection, made_by: &str) -> rusqlite::Result<()> {
    crate::fail::point("create.before");
    let tx = db.unchecked_transaction()?;
    tx.execute_batch(INDEX)?;
    crate::fail::point("create.tables");
    tx.execute("INSERT INTO meta VALUES('made_by', ?1), ('tick', 0), ('gazetteer', 0)", [made_by])?;
    tx.commit()?;
    crate::fail::point("create.after");
    Ok(())
}

/// Opens the ledger for writing, creating what is missing.
pub(super) fn ledger(path: &Path) -> Result<Connection, StoreError> {
    let db = connect(path).map_err(|why| open_error(path, &why))?;
    db.execute_batch(LEDGER).map_err(|why| open_error(path, &why))?;
    Ok(db)
}

/// Opens the index for reading only.
pub(super) fn reader(path: &Path) -> Result<Connection, StoreError> {
    crate::sys::register_sqlite_vec();
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags).map_err(|why| open_error(path, &why))?;
    tune(&db)?;
    Ok(db)
}

/// What every connection has. Without the planner's stability guarantee, SQLite looks at bound values and prepares
/// some statements anew whenever one changes (measured: 6 % of an ingest).
fn tune(db: &Connection) -> rusqlite::Result<()> {
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    db.busy_timeout(Duration::from_millis(BUSY_TIMEOUT_MS))?;
    db.set_prepared_statement_cache_capacity(STATEMENT_CACHE);
    Ok(())
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let db = Connection::open(path)?;
    if db.is_readonly(MAIN_DB)? {
        // SQLite opens what it may not write for reading only, and says so at the first commit.
        let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_READONLY);
        return Err(rusqlite::Error::SqliteFailure(code, None));
    }
    tune(&db)?;
    db.execute_batch(
        "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
         PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16000; PRAGMA wal_autocheckpoint = 4000;",
    )?;
    Ok(db)
}

fn set_aside(path: &Path) -> Result<(), StoreError> {
    for suffix in ["", "-wal", "-shm"] {
        let from = path.with_file_name(format!("{}{suffix}", file_name(path)));
        let to = path.with_file_name(format!("{}.old{suffix}", file_name(path)));
        match std::fs::rename(&from, &to) {
            Ok(()) => crate::fail::point("open.aside"),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            Err(e) => return Err(StoreError::Open { path: from, why: e.to_string() }),
        }
    }
    Ok(())
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn open_error(path: &Path, error: &rusqlite::Error) -> StoreError {
    let why = match trouble::of_sqlite(error) {
        Trouble::Passing(stall) => format!("{}\nhint: {}", stall.why, stall.remedy),
        Trouble::Corrupt | Trouble::Lasting => error.to_string(),
    };
    StoreError::Open { path: path.to_path_buf(), why }
}
