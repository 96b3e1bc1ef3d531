//! Read-only views of the index: a pool of connections, each holding one read transaction at a time.
//!
//! Invariant: everything read through one snapshot is of one commit, the one its tick names.

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;

use super::StoreError;
use crate::terms::Tick;

/// Connections kept open for the next reader; more are opened when needed and closed afterwards.
const IDLE_CONNECTIONS: usize = 4;

/// Where snapshots come from.
pub struct Readers {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
}

impl Readers {
    /// Readers of the index at `path`, which exists.
    pub fn new(path: PathBuf) -> Arc<Self> {
        Arc::new(Readers { path, idle: Mutex::default() })
    }

    /// A connection of one's own, outside any transaction: each query sees the last commit.
    pub fn connection(&self) -> Result<Connection, StoreError> {
        super::open::reader(&self.path)
    }

    /// Opens a read transaction. Blocks for the time of a page read or two.
    pub fn snapshot(self: &Arc<Self>) -> Result<Snapshot, StoreError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let db = match idle {
            Some(db) => db,
            None => super::open::reader(&self.path)?,
        };
        db.execute_batch("BEGIN")?;
        let tick: i64 = db
            .prepare_cached("SELECT value FROM meta WHERE key = 'tick'")?
            .query_row([], |row| row.get(0))?;
        Ok(Snapshot { db: Some(db), tick: Tick(tick as u64), readers: self.clone() })
    }
}

/// One consistent view of the index.
pub struct Snapshot {
    db: Option<Connection>,
    tick: Tick,
    readers: Arc<Readers>,
}

impl Snapshot {
    /// The commit this view shows.
    pub fn tick(&self) -> Tick {
        self.tick
    }
}

impl Deref for Snapshot {
    type Target = Connection;
    fn deref(&self) -> &Connection {
        self.db.as_ref().expect("the connection is only taken on drop")
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        let Some(db) = self.db.take() else { return };
        if db.execute_batch("COMMIT").is_ok() {
            let mut idle = self.readers.idle.lock().unwrap_or_else(PoisonError::into_inner);
            if idle.len() < IDLE_CONNECTIONS {
                idle.push(db);
            }
        }
    }
}
