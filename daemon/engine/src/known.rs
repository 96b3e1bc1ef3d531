//! Known: the watcher's view of the index.
//!
//! In: paths, hashes, folders. Out: what the last commit and the breakers know of them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::watch::{KnownFile, KnownFiles, MOST_EQUAL};
use index::read::{File, Read};
use index::store::schema::PASS_SWIFT;
use index::store::{Breakers, Readers, Snapshot};
use model::document::Pass;
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
    fn read<T>(&self, read: impl FnOnce(&Snapshot) -> Read<T>) -> Option<T> {
        match self.readers.look(read) {
            Ok(value) => Some(value),
            Err(error) => {
                tracing::warn!(%error, "cannot look a file up in the index");
                None
            }
        }
    }
}

fn known(file: &File) -> KnownFile {
    KnownFile { hash: file.hash, mtime_ms: file.mtime_ms, n_bytes: file.n_bytes }
}

impl KnownFiles for KnownInIndex {
    fn get(&self, path: &RelPath) -> Option<KnownFile> {
        let file = self.read(|index| index.files().at(path.as_str())).flatten();
        // A failed file is known, so that its removal is noticed, but its values never match those of a file.
        file.map(|file| known(&file)).or_else(|| {
            self.breakers.get(path)?;
            Some(KnownFile { hash: ContentHash(0), mtime_ms: i64::MIN, n_bytes: 0 })
        })
    }

    fn is_given_up(&self, path: &RelPath, now: &FileVersion) -> bool {
        self.breakers.is_given_up(path, now, (self.now_ms)())
    }

    fn files_under(&self, folder: &str) -> Vec<(RelPath, KnownFile)> {
        let files = self.read(|index| index.files().under(folder)).unwrap_or_default();
        let files = files.iter().map(|file| (RelPath::new(file.path.clone()), known(file)));
        let mut found: Vec<(RelPath, KnownFile)> = files.collect();
        let indexed: HashSet<RelPath> = found.iter().map(|it| it.0.clone()).collect();
        // Failed files are few.
        let failed = self.paths_under(folder).into_iter().filter(|path| !indexed.contains(path));
        found.extend(failed.filter_map(|path| self.get(&path).map(|file| (path, file))));
        found
    }

    fn are_more_under(&self, folder: &str, most: usize) -> bool {
        self.read(|index| index.files().are_more_under(folder, most)).unwrap_or(false)
    }

    fn paths_under(&self, folder: &str) -> Vec<RelPath> {
        let paths = self.read(|index| index.files().paths_under(folder)).unwrap_or_default();
        let mut found: Vec<RelPath> = paths.into_iter().map(RelPath::new).collect();
        // A transient failure is in the ledger alone, which the breakers know.
        let failed = self.breakers.list().into_iter().map(|(path, _)| path);
        let below = format!("{folder}/");
        found.extend(failed.filter(|it| folder.is_empty() || it.as_str().starts_with(&below)));
        found
    }

    fn paths_with(&self, hash: ContentHash) -> Vec<RelPath> {
        let found = self.read(|index| index.files().with_hash(hash, MOST_EQUAL));
        let found = found.unwrap_or_default().into_iter().map(RelPath::new);
        let lost = self.lost.get(&hash.0).into_iter().flatten().take(MOST_EQUAL).cloned();
        found.chain(lost).collect()
    }

    fn pass_of(&self, path: &RelPath) -> Pass {
        let pass = self.read(|index| index.files().pass(path.as_str())).flatten();
        if pass.is_some_and(|pass| pass != PASS_SWIFT) { Pass::Deep } else { Pass::Swift }
    }

    fn text_of(&self, path: &RelPath) -> Option<String> {
        self.read(|index| index.files().text(path.as_str())).flatten()
    }
}
