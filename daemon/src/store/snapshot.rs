//! Read-only views of the index: a pool of connections, each holding one read transaction at a time.
//!
//! Invariant: everything read through one snapshot is of one commit, the one its tick names.

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;

use super::StoreError;
use crate::terms::Tick;

/// Connections kept open for the next reader; more are opened when needed and closed afterwards.
const IDLE_CONNECTIONS: usize = 4;

/// Steps of SQLite's machine between two looks at a [`CallOff`]: some microseconds.
const STEPS_A_LOOK: i32 = 1_000;

/// Says that nobody waits for an answer any more. Clones share one state; it is said once and for all.
#[derive(Debug, Clone, Default)]
pub struct CallOff(Arc<AtomicBool>);

impl CallOff {
    /// Says it.
    pub fn call_off(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it was said.
    pub fn is_called_off(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

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

    /// From now on every query through this view fails soon after `call_off` says that nobody waits for it, also
    /// one that runs. (SQLite's own interrupt would miss a call that is between two queries.)
    ///
    /// # Errors
    /// When SQLite refuses, which it does not.
    pub fn heed(&mut self, call_off: CallOff) -> Result<(), StoreError> {
        let Some(db) = &mut self.db else { return Ok(()) };
        Ok(db.progress_handler(STEPS_A_LOOK, Some(move || call_off.is_called_off()))?)
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
        let Some(mut db) = self.db.take() else { return };
        // The next reader must not be stopped by this one's caller.
        let is_free = db.progress_handler(0, None::<fn() -> bool>).is_ok();
        if is_free && db.execute_batch("COMMIT").is_ok() {
            let mut idle = self.readers.idle.lock().unwrap_or_else(PoisonError::into_inner);
            if idle.len() < IDLE_CONNECTIONS {
                idle.push(db);
            }
        }
    }
}
