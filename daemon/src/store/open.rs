//! Opening the databases: pragmas, schema, and what to do with an index of another make.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::StoreError;
use super::schema::{INDEX, LEDGER, SCHEMA_VERSION};

/// How long a statement waits for a lock, milliseconds (S4 §10).
const BUSY_TIMEOUT_MS: u64 = 3_000;

/// Prepared statements kept per connection.
const STATEMENT_CACHE: usize = 128;

/// Opens the index for writing. An index made by another schema or other settings, or one that SQLite cannot
/// read, is derived data: it is moved aside to `index.sqlite.old` and a new one is begun.
pub(super) fn index(path: &Path, fingerprint: &str) -> Result<Connection, StoreError> {
    crate::sys::register_sqlite_vec();
    let first = open_index(path, fingerprint);
    match first {
        Ok(db) => Ok(db),
        Err(why) => {
            tracing::warn!(path = %path.display(), %why, "the index is rebuilt from the files");
            set_aside(path)?;
            open_index(path, fingerprint).map_err(|why| open_error(path, why))
        }
    }
}

fn open_index(path: &Path, fingerprint: &str) -> Result<Connection, String> {
    let db = connect(path).map_err(|e| e.to_string())?;
    let made_by = format!("{SCHEMA_VERSION}/{fingerprint}");
    let tables: i64 = db
        .query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))
        .map_err(|e| e.to_string())?;
    if tables == 0 {
        create(&db, &made_by).map_err(|e| e.to_string())?;
        return Ok(db);
    }
    let found: String = db
        .query_row("SELECT value FROM meta WHERE key = 'made_by'", [], |row| row.get(0))
        .map_err(|e| e.to_string())?;
    if found != made_by {
        return Err(format!("made by {found}, now {made_by}"));
    }
    Ok(db)
}

fn create(db: &Connection, made_by: &str) -> rusqlite::Result<()> {
    db.execute_batch(&format!("BEGIN;{INDEX}COMMIT;"))?;
    db.execute("INSERT INTO meta VALUES('made_by', ?1), ('tick', 0), ('gazetteer', 0)", [made_by])?;
    Ok(())
}

/// Opens the ledger for writing, creating what is missing.
pub(super) fn ledger(path: &Path) -> Result<Connection, StoreError> {
    let db = connect(path).map_err(|why| open_error(path, why))?;
    db.execute_batch(LEDGER)?;
    // It is read and written one row a document: a large cache would only be held.
    db.execute_batch("PRAGMA cache_size = -2000;")?;
    Ok(db)
}

/// Opens the index for reading only.
pub(super) fn reader(path: &Path) -> Result<Connection, StoreError> {
    crate::sys::register_sqlite_vec();
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags).map_err(|why| open_error(path, why))?;
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
            Ok(()) => {}
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            Err(e) => return Err(open_error(&from, e)),
        }
    }
    Ok(())
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn open_error(path: &Path, why: impl ToString) -> StoreError {
    StoreError::Open { path: path.to_path_buf(), why: why.to_string() }
}
