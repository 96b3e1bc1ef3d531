//! Crawl: cost of comparing a folder of many unchanged files with the known state, against a plain
//! walk.
//!
//! `cargo bench -p tests --bench crawl -- [N]`; N is the number of files, 200,000 by default. The
//! watcher is the daemon's own; the known state is in an SQLite file with the columns and indexes
//! that it queries.

#![allow(clippy::print_stdout, reason = "a bench prints its table")]

mod support;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use config::settings::Watch;
use engine::belt::{Budget, Queue};
use engine::watch::{KnownFile, KnownFiles, WatchOptions, Watcher, WatcherHandle};
use model::terms::{ContentHash, RelPath};
use rusqlite::{Connection, OptionalExtension, params};
use support::{cpu_of_process, memory_mib, spread};

/// Files per folder; each folder costs a watch.
const FILES_A_FOLDER: usize = 200;

/// How often each measurement is repeated.
const RUNS: usize = 5;

fn main() -> Result<()> {
    let arguments = support::arguments();
    let n = arguments.first().map_or(Ok(200_000), |n| n.parse::<usize>())?;
    let folder = tempfile::tempdir()?;
    let (root, index) = (folder.path().join("kb"), folder.path().join("known.sqlite"));
    make(&root, n)?;
    let known = Arc::new(Known::create(&index)?);
    walk(&root, &mut |_, _| Ok(()))?;
    known.fill(&root)?;
    let mut floor = Vec::new();
    for _ in 0..RUNS {
        let (begin, mut n_found) = (Instant::now(), 0);
        walk(&root, &mut |_, _| {
            n_found += 1;
            Ok(())
        })?;
        ensure!(n_found == n, "{n_found} files are there");
        floor.push(begin.elapsed().as_secs_f64() * 1e3);
    }
    println!("{n} unchanged files in {} folders", n.div_ceil(FILES_A_FOLDER));
    println!("plain walk (readdir and stat), ms: {}", spread(&floor));
    support::runtime()?.block_on(measure(&root, n, known))
}

async fn measure(root: &Path, n: usize, known: Arc<Known>) -> Result<()> {
    let pid = std::process::id();
    let before = memory_mib(pid, "VmRSS")?;
    let source = Queue::named("source", (64, 16));
    let options = WatchOptions {
        privacy: Default::default(),
        budget: Budget::new(config::Settings::default().belt.max_bytes_in_flight),
        root: root.to_path_buf(),
        settings: Watch { reconcile_seconds: 0, ..Watch::default() },
        parsing: Default::default(),
        now_ms: || i64::MAX / 2,
    };
    let watcher = Watcher::spawn(options, known, source.lanes.clone(), Arc::default());
    ensure!(watcher.rescan().await, "the watcher has stopped");
    let (cheap, cpu) = crawls(&watcher, false).await?;
    println!("crawl by size and time, ms: {}  (CPU {cpu:.0} ms a crawl)", spread(&cheap));
    let resting = memory_mib(pid, "VmRSS")?;
    let peak = memory_mib(pid, "VmHWM")?;
    let (full, cpu) = crawls(&watcher, true).await?;
    println!("crawl by content, ms: {}  (CPU {cpu:.0} ms a crawl)", spread(&full));
    let view = watcher.state().view();
    ensure!(view.n_known_files == n as u64, "{} files are known", view.n_known_files);
    ensure!(source.gauge.depth().total() == 0, "a file was sent although unchanged");
    println!(
        "memory, MiB: {before:.1} before the watcher, {resting:.1} after its crawls, {peak:.1} at the peak; \
         {:.0} bytes a file at rest",
        (resting - before) * 1024.0 * 1024.0 / n as f64
    );
    watcher.stop().await;
    Ok(())
}

async fn crawls(watcher: &WatcherHandle, is_full: bool) -> Result<(Vec<f64>, f64)> {
    let mut times = Vec::new();
    let cpu = cpu_of_process(std::process::id())?;
    for _ in 0..RUNS {
        let begin = Instant::now();
        ensure!(watcher.request(is_full).await, "the watcher has stopped");
        times.push(begin.elapsed().as_secs_f64() * 1e3);
    }
    let cpu = cpu_of_process(std::process::id())? - cpu;
    Ok((times, cpu * 1e3 / RUNS as f64))
}

fn make(root: &Path, n: usize) -> Result<()> {
    for i in 0..n {
        let folder = root.join(format!("section-{:04}", i / FILES_A_FOLDER));
        if i.is_multiple_of(FILES_A_FOLDER) {
            fs::create_dir_all(&folder)?;
        }
        fs::write(folder.join(format!("note-{i:06}.md")), format!("# Note {i}\n\nof the bench\n"))?;
    }
    Ok(())
}

/// The minimum for any program: list every folder and `stat` every file.
fn walk(folder: &Path, each: &mut dyn FnMut(&Path, &fs::Metadata) -> Result<()>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            walk(&path, each)?;
        } else {
            each(&path, &fs::metadata(&path)?)?;
        }
    }
    Ok(())
}

/// The known state, queried in the same way as in the daemon (`daemon/server/src/project.rs`).
struct Known(Mutex<Connection>);

impl Known {
    fn create(path: &Path) -> Result<Self> {
        let db = Connection::open(path)?;
        db.execute_batch(
            "PRAGMA journal_mode = WAL;
             CREATE TABLE docs(id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, hash BLOB NOT NULL,
               mtime_ms INTEGER NOT NULL, n_bytes INTEGER NOT NULL);
             CREATE INDEX docs_hash ON docs(hash);",
        )?;
        Ok(Known(Mutex::new(db)))
    }

    fn fill(&self, root: &Path) -> Result<()> {
        let db = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        db.execute_batch("BEGIN")?;
        walk(root, &mut |path, metadata| {
            let hash = ContentHash::of(&fs::read(path)?).0.to_le_bytes();
            let mtime_ms = metadata.mtime() * 1_000 + metadata.mtime_nsec() / 1_000_000;
            let path = path.strip_prefix(root)?.to_str().context("a name")?;
            db.prepare_cached(
                "INSERT INTO docs(path, hash, mtime_ms, n_bytes) VALUES(?1, ?2, ?3, ?4)",
            )?
            .execute(params![path, hash, mtime_ms, metadata.len() as i64])?;
            Ok(())
        })?;
        Ok(db.execute_batch("COMMIT")?)
    }

    fn paths(&self, sql: &str, key: impl rusqlite::Params) -> rusqlite::Result<Vec<RelPath>> {
        let db = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut statement = db.prepare_cached(sql)?;
        let rows = statement.query_map(key, |row| row.get::<_, String>(0))?;
        rows.map(|path| path.map(RelPath::new)).collect()
    }
}

impl KnownFiles for Known {
    fn get(&self, path: &RelPath) -> Option<KnownFile> {
        let db = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut statement =
            db.prepare_cached("SELECT hash, mtime_ms, n_bytes FROM docs WHERE path = ?1").ok()?;
        let read = |row: &rusqlite::Row<'_>| {
            let hash = ContentHash(u128::from_le_bytes(row.get(0)?));
            Ok(KnownFile { hash, mtime_ms: row.get(1)?, n_bytes: row.get::<_, i64>(2)? as u64 })
        };
        statement.query_row([path.as_str()], read).optional().ok().flatten()
    }

    fn paths_under(&self, folder: &str) -> Vec<RelPath> {
        let (low, high) = match folder {
            "" => (String::new(), "\u{10ffff}".to_string()),
            folder => (format!("{folder}/"), format!("{folder}0")),
        };
        let sql = "SELECT path FROM docs WHERE path >= ?1 AND path < ?2";
        self.paths(sql, [low, high]).unwrap_or_default()
    }

    fn paths_with(&self, hash: ContentHash) -> Vec<RelPath> {
        let sql = "SELECT path FROM docs WHERE hash = ?1 ORDER BY path LIMIT 64";
        self.paths(sql, [hash.0.to_le_bytes()]).unwrap_or_default()
    }

    fn text_of(&self, _: &RelPath) -> Option<String> {
        None
    }
}
