//! Snapshot: read-only views of the index from a pool of connections, each with one read transaction at a time.
//!
//! Invariants: everything read through one snapshot is from one commit, the one its tick names; while
//! [`Readers::alone`] runs, no connection of the pool is open, so the file may be replaced.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use config::limits::{max_readers, max_reads_of_one};
use rusqlite::Connection;
use rustc_hash::{FxHashMap, FxHashSet};

use super::changes::Changes;
use super::open::CacheSize;
use super::{IndexWriter, StoreError};
use crate::vectors::{self, Layer, Nearest, Vectors, View};
use model::document::UnitVector;
use model::terms::Tick;

/// How long a replacement of the file waits for readers to finish. New ones wait meanwhile.
const READERS_END_WITHIN: Duration = Duration::from_secs(5);
/// Virtual machine instructions of SQLite between two checks of a [`Cancellation`]: some microseconds.
const STEPS_A_LOOK: i32 = 1_000;

/// Cancels a query that nobody waits for any more. Clones share one state, which is set once.
#[derive(Debug, Clone, Default)]
pub struct Cancellation(Arc<AtomicBool>);

impl Cancellation {
    /// Cancels it.
    pub fn cancellation(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns whether it was cancelled.
    pub fn is_called_off(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The pool of read connections.
pub struct Readers {
    pool: Mutex<Pool>,
    changed: Condvar,
    vectors: Arc<Vectors>,
    changes: Arc<Changes>,
}

struct Pool {
    path: PathBuf,
    /// Those that nobody uses; the last one was used last.
    idle: Vec<Reader>,
    /// Connections in use.
    n_out: usize,
    /// True while the file is being replaced.
    is_closed: bool,
}

/// A connection of the pool.
struct Reader {
    db: Connection,
    size: CacheSize,
}

impl Readers {
    /// Creates readers of the index at `path`, which exists and does not change. (Readers of an index that is being
    /// written learn of its commits: [`IndexWriter::readers`].)
    pub fn new(path: PathBuf) -> Arc<Self> {
        Self::following(path, Arc::default(), Arc::default())
    }

    pub(super) fn following(
        path: PathBuf,
        vectors: Arc<Vectors>,
        changes: Arc<Changes>,
    ) -> Arc<Self> {
        let pool = Pool { path, idle: Vec::new(), n_out: 0, is_closed: false };
        Arc::new(Readers { pool: Mutex::new(pool), changed: Condvar::new(), vectors, changes })
    }

    /// Opens a read transaction. Blocks for a page read or two, and while the file is being replaced.
    pub fn snapshot(self: &Arc<Self>) -> Result<Snapshot, StoreError> {
        let mut snapshot = self.take()?;
        let db = snapshot.db();
        // `BEGIN` is deferred: reading the tick starts the transaction, and fixes the commit.
        db.execute_batch("BEGIN")?;
        let tick: i64 = db
            .prepare_cached("SELECT value FROM meta WHERE key = 'tick'")?
            .query_row([], |row| row.get(0))?;
        snapshot.tick = Tick(tick as u64);
        Ok(snapshot)
    }

    /// Reads outside any transaction: each statement sees the last commit.
    pub fn look<T>(
        self: &Arc<Self>,
        read: impl FnOnce(&Snapshot) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        read(&self.take()?)
    }

    /// Returns the vectors in memory.
    pub fn vectors(&self) -> &Arc<Vectors> {
        &self.vectors
    }

    fn take(self: &Arc<Self>) -> Result<Snapshot, StoreError> {
        let mut pool = self.lock();
        while pool.is_closed {
            pool = self.changed.wait(pool).unwrap_or_else(PoisonError::into_inner);
        }
        // One client's reads keep what they read. Of more, each keeps less, so that a crowd does not take several times
        // the memory: commits that come meanwhile empty the caches anyway.
        let size =
            if pool.n_out < max_reads_of_one() { CacheSize::Large } else { CacheSize::Small };
        pool.n_out += 1;
        // A connection is counted before it is opened, so that `alone` waits for it.
        let (idle, path) = (pool.idle.pop(), pool.path.clone());
        drop(pool);
        // From here on the count is decremented whatever happens: dropping the snapshot does it.
        let mut snapshot = Snapshot { reader: None, tick: Tick::default(), readers: self.clone() };
        let mut reader = match idle {
            Some(reader) => reader,
            None => Reader { db: super::open::reader(&path)?, size: CacheSize::Large },
        };
        if reader.size != size {
            super::open::set_cache_size(&reader.db, size)?;
            reader.size = size;
        }
        snapshot.reader = Some(reader);
        Ok(snapshot)
    }

    /// Waits for every reader to finish, closes all connections, and runs `replace` while new readers wait. `replace`
    /// returns the path to read from then on.
    ///
    /// # Errors
    /// That of `replace`, and [`StoreError::Busy`] when a reader did not finish in time; nothing is replaced then.
    pub fn alone<T>(
        &self,
        replace: impl FnOnce() -> Result<(PathBuf, T), StoreError>,
    ) -> Result<T, StoreError> {
        let mut pool = self.lock();
        while pool.is_closed {
            pool = self.changed.wait(pool).unwrap_or_else(PoisonError::into_inner);
        }
        pool.is_closed = true;
        let deadline = Instant::now() + READERS_END_WITHIN;
        while pool.n_out > 0 {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                // Readers may open connections again.
                pool.is_closed = false;
                self.changed.notify_all();
                return Err(StoreError::Busy { n_readers: pool.n_out });
            }
            let waited = self.changed.wait_timeout(pool, left);
            pool = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        pool.idle.clear();
        drop(pool);
        // Without the lock, which `replace` may take a long time without needing.
        let replaced = replace();
        self.vectors.forget();
        let mut pool = self.lock();
        pool.is_closed = false;
        self.changed.notify_all();
        let (path, value) = replaced?;
        pool.path = path;
        Ok(value)
    }

    /// Returns the path of the file being read.
    pub fn path(&self) -> PathBuf {
        self.lock().path.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Copies the vectors into memory, on a thread of its own, unless that is done or under way.
    fn copy_vectors(self: &Arc<Self>) {
        let Some(number) = self.vectors.begin() else { return };
        let readers = self.clone();
        let copy = move || {
            let copy = readers.snapshot().and_then(|snapshot| {
                // A replacement of the file waits for this snapshot, so the copy is abandoned then.
                let is_in_the_way = || readers.lock().is_closed;
                let form = readers.vectors.form();
                Ok(vectors::load(snapshot.db(), snapshot.tick(), form, is_in_the_way)?)
            });
            let copy = copy.inspect_err(
                |error| tracing::warn!(%error, "the vectors could not be copied into memory"),
            );
            readers.vectors.finish(number, copy.ok().flatten());
        };
        if let Err(error) = std::thread::Builder::new().name("vectors".into()).spawn(copy) {
            tracing::warn!(%error, "no thread to copy the vectors into memory");
            self.vectors.finish(number, None);
        }
    }
}

impl IndexWriter {
    /// Returns a new pool of readers of the index that it writes. Replacing the file closes one pool: make one and
    /// share it.
    pub fn readers(&self) -> Arc<Readers> {
        Readers::following(self.path().to_path_buf(), self.vectors.clone(), self.changes.clone())
    }
}

/// One consistent view of the index.
pub struct Snapshot {
    reader: Option<Reader>,
    tick: Tick,
    readers: Arc<Readers>,
}

impl Snapshot {
    /// Returns the commit that this view shows.
    pub fn tick(&self) -> Tick {
        self.tick
    }

    /// Returns what made the index: its folder, the program and the settings, as one string.
    pub fn made_by(&self) -> Result<String, StoreError> {
        let sql = "SELECT value FROM meta WHERE key = 'made_by'";
        Ok(self.db().query_row(sql, [], |row| row.get(0))?)
    }

    /// Returns the size that the file has with all its pages, in bytes.
    pub fn n_bytes(&self) -> Result<i64, StoreError> {
        let number = |sql: &str| self.db().query_row(sql, [], |row| row.get::<_, i64>(0));
        Ok(number("PRAGMA page_count")? * number("PRAGMA page_size")?)
    }

    /// Returns the documents that may differ between an older commit and this one, ascending; `None` if that is
    /// unknown.
    pub fn changed_since(&self, older: Tick) -> Option<Vec<i64>> {
        self.readers.changes.between(older, self.tick)
    }

    /// Returns the vectors in memory, if they are valid for this commit.
    pub fn vectors_in_memory(&self) -> Option<Arc<View>> {
        self.readers.vectors.view().filter(|view| view.knows(self.tick))
    }

    /// Returns the `wanted` windows nearest to a question, nearest first; with `among`, of these rows only. Reads
    /// from memory if the vectors of this commit are there; else from the table, and copies them for the next
    /// question.
    pub fn nearest(
        &self,
        question: &UnitVector,
        wanted: usize,
        among: Option<&FxHashSet<i64>>,
    ) -> Result<Vec<Nearest>, StoreError> {
        match self.readers.vectors.view() {
            Some(view) if view.knows(self.tick) => {
                return Ok(view.nearest(&question.0, self.tick, wanted, among));
            }
            // This copy has missed a commit, so a new one is made.
            Some(view) if view.newest() < self.tick => self.readers.vectors.forget(),
            _ => {}
        }
        self.readers.copy_vectors();
        Ok(vectors::nearest_in_table(self.db(), &question.0, wanted, among)?)
    }

    /// Returns the cosines of these rows with a question, from memory if the vectors are there.
    pub fn cosines_of(
        &self,
        ids: &FxHashSet<i64>,
        question: &UnitVector,
    ) -> Result<FxHashMap<i64, f32>, StoreError> {
        match self.vectors_in_memory() {
            Some(view) => Ok(view.cosines_of(ids, &question.0, self.tick)),
            None => Ok(vectors::cosines_in_table(self.db(), ids, question)?),
        }
    }

    /// Returns the mean of the vectors of these rows, in ascending order, and how many have one.
    pub fn mean_of(&self, ids: &[i64]) -> Result<(UnitVector, usize), StoreError> {
        match self.vectors_in_memory() {
            Some(view) => Ok(view.mean_of(ids, self.tick)),
            None => Ok(vectors::mean_in_table(self.db(), ids)?),
        }
    }

    /// Passes the vector of every window to `see`, by row, until it returns false; reads the table.
    pub fn each_vector(&self, see: impl FnMut(i64, &[u8]) -> bool) -> Result<(), StoreError> {
        Ok(vectors::each_in_table(self.db(), see)?)
    }

    /// Returns the better models' vectors that are valid for this commit, as far as there are any: of the first
    /// model, or the one before it, and of the one for other languages.
    pub fn layers(&self) -> Vec<(Arc<Layer>, Arc<View>)> {
        let layers = self.readers.vectors.layers();
        let at = |layer: &Arc<Layer>| Some((layer.clone(), layer.at(self.tick)?));
        // The model before answers only until the wanted one has its vectors.
        let first = layers.before.iter().chain(layers.wanted.first()).find_map(at);
        first.into_iter().chain(layers.wanted.iter().skip(1).filter_map(at)).collect()
    }

    /// Returns whether every searched window has a vector of the model that is wanted for it.
    pub fn has_all_better_vectors(&self) -> bool {
        let layers = self.readers.vectors.layers();
        !layers.wanted.is_empty() && layers.wanted.iter().all(|it| it.is_full_at(self.tick))
    }

    /// Makes every query through this view fail soon after `cancellation` was cancelled, a running one included.
    /// (SQLite's own interrupt would miss a call that is between two queries.)
    pub fn heed(&mut self, cancellation: Cancellation) -> Result<(), StoreError> {
        let Some(Reader { db, .. }) = &mut self.reader else { return Ok(()) };
        Ok(db.progress_handler(STEPS_A_LOOK, Some(move || cancellation.is_called_off()))?)
    }
}

impl Snapshot {
    /// Returns the connection, for the readers of this crate.
    pub(crate) fn db(&self) -> &Connection {
        &self.reader.as_ref().expect("the connection is only taken on drop").db
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        let mut reader = self.reader.take();
        let is_sound = reader.as_mut().is_some_and(|Reader { db, .. }| {
            // The next reader must not be stopped by this one's caller.
            let is_free = db.progress_handler(0, None::<fn() -> bool>).is_ok();
            is_free && (db.is_autocommit() || db.execute_batch("COMMIT").is_ok())
        });
        let mut pool = self.readers.lock();
        // As many as may read at once: a new connection has no page and no statement cached.
        let is_wanted = pool.idle.len() < max_readers() && !pool.is_closed;
        match reader {
            Some(reader) if is_sound && is_wanted => pool.idle.push(reader),
            // Closed before it is counted: the thread that waits for the last reader may then rename the file.
            other => drop(other),
        }
        pool.n_out -= 1;
        drop(pool);
        self.readers.changed.notify_all();
    }
}

/// Opens a read-only connection to any file of an index, for tests and benches alone.
pub fn open_for_reading(path: &Path) -> Result<Connection, StoreError> {
    super::open::reader(path)
}

/// Returns what is wrong with an index file, if anything; stops at the first problem.
pub fn damage_of(path: &Path) -> Result<Option<String>, StoreError> {
    let db = open_for_reading(path)?;
    let finding: String = db.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    Ok((finding != "ok").then_some(finding))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(folder: &Path, name: &str, tick: i64) -> PathBuf {
        let path = folder.join(name);
        let db = Connection::open(&path).expect("opens");
        db.execute_batch(&format!(
            "PRAGMA journal_mode = WAL; CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;
             INSERT INTO meta VALUES('tick', {tick});"
        ))
        .expect("written");
        path
    }

    #[test]
    fn a_crowd_of_readers_keeps_fewer_pages_each_than_a_single_one() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let readers = Readers::new(file(folder.path(), "one", 1));
        let kept = |snapshot: &Snapshot| -> i64 {
            snapshot.db().query_row("PRAGMA cache_size", [], |row| row.get(0)).expect("it is set")
        };
        for _ in 0..2 {
            let n_large = max_reads_of_one();
            let crowd = Vec::from_iter((0..n_large + 6).map(|_| readers.snapshot().expect("read")));
            let (large, small) = crowd.split_at(n_large);
            assert!(large.iter().all(|it| kept(it) == -4000));
            assert!(small.iter().all(|it| kept(it) == -500));
            drop(crowd);
            let alone = readers.snapshot().expect("read");
            assert_eq!(kept(&alone), -4000);
        }
    }

    #[test]
    fn a_file_is_replaced_only_when_no_reader_has_it_open() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let (one, two) = (file(folder.path(), "one", 1), file(folder.path(), "two", 2));
        let readers = Readers::new(one);
        let snapshot = readers.snapshot().expect("a snapshot");
        let (other, path) = (readers.clone(), two.clone());
        let replacing = std::thread::spawn(move || other.alone(|| Ok((path, ()))));
        assert_eq!(snapshot.tick(), Tick(1));
        drop(snapshot);
        replacing.join().expect("no panic").expect("replaced");
        assert_eq!(readers.snapshot().expect("a snapshot").tick(), Tick(2));
        assert_eq!(readers.path(), two);
    }

    #[test]
    fn a_failed_replacement_leaves_the_readers_as_they_were() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let readers = Readers::new(file(folder.path(), "one", 1));
        let failed = readers.alone(|| -> Result<(PathBuf, ()), StoreError> {
            Err(StoreError::Busy { n_readers: 0 })
        });
        failed.expect_err("it failed");
        assert_eq!(readers.snapshot().expect("a snapshot").tick(), Tick(1));
    }
}
