//! Known: the watcher's view of the index.
//!
//! In: paths, hashes, folders. Out: what the last commit and the breakers know of them.
//! Not here: what the watcher concludes (`watch/path_state.rs`).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::watch::{KnownFile, KnownFiles, MOST_EQUAL};
use index::store::schema::PASS_SWIFT;
use index::store::{Breakers, Readers};
use model::parcel::{Pass, Reading};
use model::terms::{ContentHash, FileVersion, RelPath};

/// The watcher's view of the index, outside any transaction, so that it always reads the last commit.
pub(crate) struct KnownInIndex {
    pub(crate) readers: Arc<Readers>,
    pub(crate) breakers: Breakers,
    /// Documents of an index that was lost, by hash, whose files were gone at the start: they may have moved.
    pub(crate) lost: HashMap<u128, Vec<RelPath>>,
    /// Returns the time, milliseconds since 1970.
    pub(crate) now_ms: fn() -> i64,
}

impl KnownInIndex {
    fn read<T>(&self, query: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Option<T> {
        match self.readers.look(query) {
            Ok(value) => Some(value),
            Err(error) => {
                tracing::warn!(%error, "cannot look a file up in the index");
                None
            }
        }
    }
}

/// The file in the columns from `at`: hash, time and size.
fn file_of(row: &Row<'_>, at: usize) -> rusqlite::Result<KnownFile> {
    let hash: [u8; 16] = row.get(at)?;
    let n_bytes: i64 = row.get(at + 2)?;
    Ok(KnownFile {
        hash: ContentHash(u128::from_le_bytes(hash)),
        mtime_ms: row.get(at + 1)?,
        n_bytes: n_bytes as u64,
    })
}

/// Returns the bounds of the paths below a folder: the first possible one, and the first after them.
fn range_of(folder: &str) -> (String, String) {
    // `/` is followed by `0` in byte order.
    match folder {
        "" => (String::new(), "\u{10ffff}".to_string()),
        folder => (format!("{folder}/"), format!("{folder}0")),
    }
}

impl KnownFiles for KnownInIndex {
    fn get(&self, path: &RelPath) -> Option<KnownFile> {
        self.read(|db| {
            db.prepare_cached("SELECT hash, mtime_ms, n_bytes FROM docs WHERE path = ?1")?
                .query_row([path.as_str()], |row| file_of(row, 0))
                .optional()
        })
        .flatten()
        // A failed file is known, so that its removal is noticed, but its values never match those of a file.
        .or_else(|| {
            self.breakers.get(path)?;
            Some(KnownFile { hash: ContentHash(0), mtime_ms: i64::MIN, n_bytes: 0 })
        })
    }

    fn is_given_up(&self, path: &RelPath, now: &FileVersion) -> bool {
        self.breakers.is_given_up(path, now, (self.now_ms)())
    }

    fn files_under(&self, folder: &str) -> Vec<(RelPath, KnownFile)> {
        let (low, high) = range_of(folder);
        let rows = self.read(|db| {
            let mut statement = db.prepare_cached(
                "SELECT path, hash, mtime_ms, n_bytes FROM docs WHERE path >= ?1 AND path < ?2",
            )?;
            let rows = statement.query_map([&low, &high], |row| {
                Ok((RelPath::new(row.get::<_, String>(0)?), file_of(row, 1)?))
            })?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        });
        let mut found = rows.unwrap_or_default();
        let indexed: HashSet<RelPath> = found.iter().map(|it| it.0.clone()).collect();
        // Failed files are few.
        let failed = self.paths_under(folder).into_iter().filter(|path| !indexed.contains(path));
        found.extend(failed.filter_map(|path| self.get(&path).map(|file| (path, file))));
        found
    }

    fn are_more_under(&self, folder: &str, most: usize) -> bool {
        let (low, high) = range_of(folder);
        let sql =
            "SELECT EXISTS (SELECT 1 FROM docs WHERE path >= ?1 AND path < ?2 LIMIT 1 OFFSET ?3)";
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let are_more = self.read(|db| {
            db.prepare_cached(sql)?.query_row(params![low, high, most], |row| row.get(0))
        });
        are_more.unwrap_or(false)
    }

    fn paths_under(&self, folder: &str) -> Vec<RelPath> {
        let (low, high) = range_of(folder);
        let rows = self.read(|db| {
            let mut statement = db.prepare_cached(
                "SELECT path FROM docs WHERE path >= ?1 AND path < ?2
                 UNION SELECT path FROM quarantine WHERE path >= ?1 AND path < ?2",
            )?;
            let rows = statement.query_map([&low, &high], |row| row.get::<_, String>(0))?;
            rows.map(|path| path.map(RelPath::new)).collect::<rusqlite::Result<Vec<_>>>()
        });
        let mut found = rows.unwrap_or_default();
        let is_below = |path: &str| path >= low.as_str() && path < high.as_str();
        // A transient failure is in the ledger alone, which the breakers know.
        let failed = self.breakers.list().into_iter().map(|(path, _)| path);
        found.extend(failed.filter(|path| is_below(path.as_str())));
        found
    }

    fn paths_with(&self, hash: ContentHash) -> Vec<RelPath> {
        let found = self.read(|db| {
            let mut statement =
                db.prepare_cached("SELECT path FROM docs WHERE hash = ?1 ORDER BY path LIMIT ?2")?;
            let key = rusqlite::params![hash.0.to_le_bytes(), MOST_EQUAL as i64];
            let rows = statement.query_map(key, |row| row.get::<_, String>(0))?;
            rows.map(|path| path.map(RelPath::new)).collect::<rusqlite::Result<Vec<_>>>()
        });
        let lost = self.lost.get(&hash.0).into_iter().flatten().take(MOST_EQUAL).cloned();
        found.unwrap_or_default().into_iter().chain(lost).collect()
    }

    fn pass_of(&self, path: &RelPath) -> Pass {
        let pass = self.read(|db| {
            db.prepare_cached("SELECT pass FROM docs WHERE path = ?1")?
                .query_row([path.as_str()], |row| row.get::<_, i64>(0))
                .optional()
        });
        if pass.flatten().is_some_and(|pass| pass != PASS_SWIFT) { Pass::Deep } else { Pass::Swift }
    }

    fn reading_of(&self, path: &RelPath, hash: ContentHash) -> Reading {
        let has_findings = self.read(|db| {
            db.prepare_cached(
                "SELECT redactions IS NOT NULL FROM docs WHERE path = ?1 AND hash = ?2",
            )?
            .query_row(params![path.as_str(), hash.0.to_le_bytes()], |row| row.get(0))
            .optional()
        });
        let has_findings = has_findings.flatten();
        has_findings.map_or(Reading::Whole, |has_findings| Reading::Names { has_findings })
    }

    fn text_of(&self, path: &RelPath) -> Option<String> {
        self.read(|db| {
            db.prepare_cached("SELECT text FROM docs WHERE path = ?1")?
                .query_row([path.as_str()], |row| row.get(0))
                .optional()
        })
        .flatten()
    }
}
