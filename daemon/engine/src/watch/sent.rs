//! Sent: what the index will hold of a file once everything on the belt is committed.
//!
//! In: what was put on the belt for a path. Out: what a new check must be compared with.
//! A file that changes from one content to another and back while the first change is still on the belt equals the
//! index, and yet must be sent again; so the last thing sent takes precedence over the index, until both agree.
//! Invariants: an entry is dropped only when the index equals it and nothing else can have made it equal: while
//! several items of one path are on the belt, an older one may look the same, so such an entry stays for
//! [`RESEND_AFTER`]; entries of files that were read so soon after a change that a second change may have the same
//! time (`is_racy`) stay until a later crawl has read them again.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::crawl::Found;
use super::path_state::PathState;
use super::read::Stat;
use super::state::lock;
use model::document::{Pass, Reading};
use model::terms::{ContentHash, FileVersion, RelPath};

/// How long a crawl skips a path that was put on the belt and did not arrive. A full belt takes minutes at most;
/// after that the item must have been lost or quarantined, and is sent again.
const RESEND_AFTER: Duration = Duration::from_secs(600);

/// Time after which a crawl retries a file that could not be read, though nothing about it has changed.
const RETRY_AFTER: Duration = Duration::from_secs(60);

/// Old entries checked for every new one; two keep the number of entries near that of files in flight.
const SWEEP: usize = 2;

/// Most files of equal content considered as a file's origin. If there are more, they are copies of one template.
pub const MOST_EQUAL: usize = 64;

/// What is known of a file since it was last read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownFile {
    /// Hash of its bytes.
    pub hash: ContentHash,
    /// Modification time, milliseconds since 1970.
    pub mtime_ms: i64,
    /// Size in bytes.
    pub n_bytes: u64,
}

/// The files that the index holds or has quarantined: the watcher's view of the store.
///
/// Called from many threads, at least once for every change: calls should cost microseconds (a sorted map or an
/// index, not a scan), also for a path that is a file and has nothing below.
pub trait KnownFiles: Send + Sync {
    /// Returns the file as it was last committed or quarantined; `None` if it is unknown or was removed.
    fn get(&self, path: &RelPath) -> Option<KnownFile>;
    /// Returns every known file anywhere below a folder, given without a trailing slash; all files for the empty
    /// folder.
    fn paths_under(&self, folder: &str) -> Vec<RelPath>;
    /// The same, each with the result of [`KnownFiles::get`].
    fn files_under(&self, folder: &str) -> Vec<(RelPath, KnownFile)> {
        let paths = self.paths_under(folder).into_iter();
        paths.filter_map(|path| self.get(&path).map(|file| (path, file))).collect()
    }
    /// Returns whether more than `most` files were committed anywhere below a folder.
    fn are_more_under(&self, folder: &str, most: usize) -> bool {
        self.paths_under(folder).len() > most
    }
    /// Returns the known files of this content, sorted, at most [`MOST_EQUAL`].
    fn paths_with(&self, hash: ContentHash) -> Vec<RelPath>;
    /// Returns the text that was extracted from the file when it was committed.
    fn text_of(&self, path: &RelPath) -> Option<String>;
    /// Returns how closely the file is to be read, as decided for the document that is there.
    fn pass_of(&self, _: &RelPath) -> Pass {
        Pass::Swift
    }
    /// Returns how much of a file with this content must be read to update its names alone.
    fn reading_of(&self, _: &RelPath, _: ContentHash) -> Reading {
        Reading::Whole
    }
    /// Returns whether this version of the file failed so often that crawls skip it until it changes.
    fn is_given_up(&self, _: &RelPath, _: &FileVersion) -> bool {
        false
    }
}

#[derive(Debug, Clone, Copy)]
struct SentEntry {
    state: PathState,
    at: Instant,
    is_racy: bool,
    /// True when another item of the path may still be on the belt.
    is_layered: bool,
}

/// What was sent and is not in the index yet.
#[derive(Debug, Default)]
pub(super) struct Sent {
    entries: Mutex<BTreeMap<RelPath, SentEntry>>,
    hand: Mutex<Option<RelPath>>,
}

impl Sent {
    /// Drops every entry.
    pub(super) fn forget(&self) {
        lock(&self.entries).clear();
    }

    /// Returns what a new check of the path must be compared with.
    pub(super) fn state_of(&self, path: &RelPath, known: &dyn KnownFiles) -> PathState {
        let entry = lock(&self.entries).get(path).copied();
        let known = || known.get(path).map_or(PathState::Unknown, PathState::Present);
        entry.map_or_else(known, |entry| entry.state)
    }

    /// Returns whether a file, as a crawl found it, must be checked more closely; `known` returns what the index has.
    pub(super) fn differs(
        &self,
        found: &Found,
        known: impl FnOnce() -> Option<KnownFile>,
        now: Instant,
    ) -> bool {
        let entry = lock(&self.entries).get(&found.path).copied();
        let Some(entry) = entry else {
            return known().is_none_or(|file| found.stat != stat_of(&file));
        };
        let age = now.saturating_duration_since(entry.at);
        match entry.state {
            PathState::Unknown | PathState::Absent => true,
            PathState::Faulted(stat) => stat != found.stat || age >= RETRY_AFTER,
            PathState::Present(file) if entry.is_racy || stat_of(&file) != found.stat => true,
            // Known by its hash, since the same content may have another time, and only checked once the entry is
            // old.
            PathState::Present(file) => {
                age >= RESEND_AFTER && known().is_none_or(|known| known.hash != file.hash)
            }
        }
    }

    /// Returns whether what was sent last is not in the index yet.
    pub(super) fn is_on_its_way(&self, path: &RelPath, known: &dyn KnownFiles) -> bool {
        let entry = lock(&self.entries).get(path).copied();
        let hash = || known.get(path).map(|file| file.hash);
        match entry.map(|entry| entry.state) {
            Some(PathState::Present(file)) => hash() != Some(file.hash),
            Some(PathState::Absent) => hash().is_some(),
            Some(PathState::Faulted(_) | PathState::Unknown) | None => false,
        }
    }

    /// Records what was just sent, or found unchanged except for its time.
    pub(super) fn put(
        &self,
        path: &RelPath,
        state: PathState,
        is_racy: bool,
        known: &dyn KnownFiles,
    ) {
        let mut entries = lock(&self.entries);
        let is_layered = entries.contains_key(path);
        let entry = SentEntry { state, at: Instant::now(), is_racy, is_layered };
        entries.insert(path.clone(), entry);
        drop(entries);
        self.sweep(known);
    }

    /// Returns whether the path's time may hide a second change.
    pub(super) fn is_racy(&self, path: &RelPath) -> bool {
        lock(&self.entries).get(path).is_some_and(|entry| entry.is_racy)
    }

    /// Returns the paths below a folder that were sent and not removed since.
    pub(super) fn paths_under(&self, folder: &str) -> Vec<RelPath> {
        let entries = lock(&self.entries);
        let is_left = |entry: &SentEntry| entry.state != PathState::Absent;
        if folder.is_empty() {
            return entries.iter().filter(|(_, e)| is_left(e)).map(|(p, _)| p.clone()).collect();
        }
        let prefix = format!("{folder}/");
        entries
            .range(RelPath::new(prefix.as_str())..)
            .take_while(|(path, _)| path.as_str().starts_with(&prefix))
            .filter(|(_, entry)| is_left(entry))
            .map(|(path, _)| path.clone())
            .collect()
    }

    /// Drops a few entries that agree with the index, going round like the hand of a clock.
    fn sweep(&self, known: &dyn KnownFiles) {
        let mut hand = lock(&self.hand);
        for _ in 0..SWEEP {
            let next = {
                let entries = lock(&self.entries);
                let from = hand.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
                entries.range((from, Bound::Unbounded)).next().map(|(p, e)| (p.clone(), *e))
            };
            *hand = next.as_ref().map(|(path, _)| path.clone());
            // The store is queried without the lock, so that a slow answer blocks nobody.
            let Some((path, entry)) = next.filter(|(path, entry)| agrees(path, entry, known))
            else {
                continue;
            };
            let mut entries = lock(&self.entries);
            // The entry may have been replaced meanwhile.
            if entries.get(&path).is_some_and(|now| now.at == entry.at) {
                entries.remove(&path);
            }
        }
    }

    #[cfg(test)]
    fn n_entries(&self) -> usize {
        lock(&self.entries).len()
    }
}

fn agrees(path: &RelPath, entry: &SentEntry, known: &dyn KnownFiles) -> bool {
    match entry.state {
        _ if entry.is_racy || (entry.is_layered && entry.at.elapsed() < RESEND_AFTER) => false,
        PathState::Present(file) => known.get(path) == Some(file),
        PathState::Absent => known.get(path).is_none(),
        // The version known before the fault has the same size and time; only reading it again ends this.
        PathState::Faulted(_) | PathState::Unknown => false,
    }
}

/// Returns the values of a known file that a crawl compares.
pub(super) fn stat_of(file: &KnownFile) -> Stat {
    Stat { n_bytes: file.n_bytes, mtime_ms: file.mtime_ms }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    impl KnownFiles for BTreeMap<RelPath, KnownFile> {
        fn get(&self, path: &RelPath) -> Option<KnownFile> {
            BTreeMap::get(self, path).copied()
        }
        fn paths_under(&self, _: &str) -> Vec<RelPath> {
            self.keys().cloned().collect()
        }
        fn paths_with(&self, hash: ContentHash) -> Vec<RelPath> {
            let equal = self.iter().filter(|(_, file)| file.hash == hash);
            equal.map(|(path, _)| path.clone()).collect()
        }
        fn text_of(&self, _: &RelPath) -> Option<String> {
            None
        }
    }

    fn file(text: &str, mtime_ms: i64) -> KnownFile {
        let hash = ContentHash::of(text.as_bytes());
        KnownFile { hash, mtime_ms, n_bytes: text.len() as u64 }
    }

    #[test]
    fn a_crawl_looks_closer_only_where_something_may_have_changed() {
        let path = RelPath::new("a.md");
        let known = BTreeMap::from([(path.clone(), file("old", 10))]);
        let found = |mtime_ms| Found { path: path.clone(), stat: Stat { n_bytes: 3, mtime_ms } };
        let soon = Instant::now();
        let late = soon + RESEND_AFTER + Duration::from_secs(1);
        let rows = [
            // Sent before, racy, time found, when, differs
            (None, false, 10, soon, false),
            (None, false, 11, soon, true),
            (Some(PathState::Present(file("new", 20))), false, 20, soon, false),
            (Some(PathState::Present(file("new", 20))), false, 20, late, true), // Lost on the belt.
            (Some(PathState::Present(file("new", 20))), true, 20, soon, true),
            (Some(PathState::Present(file("new", 20))), false, 10, soon, true), // Back again.
            (Some(PathState::Present(file("old", 30))), false, 30, late, false), // Only touched.
            (Some(PathState::Absent), false, 10, soon, true),
            (Some(PathState::Faulted(Stat { n_bytes: 3, mtime_ms: 10 })), false, 10, soon, false),
            (Some(PathState::Faulted(Stat { n_bytes: 3, mtime_ms: 10 })), false, 10, late, true),
            (Some(PathState::Faulted(Stat { n_bytes: 3, mtime_ms: 10 })), false, 11, soon, true),
        ];
        for (was, is_racy, mtime_ms, now, expected) in rows {
            let sent = Sent::default();
            if let Some(was) = was {
                sent.put(&path, was, is_racy, &known);
            }
            let differs = sent.differs(&found(mtime_ms), || KnownFiles::get(&known, &path), now);
            assert_eq!(differs, expected, "{was:?} racy {is_racy} found at {mtime_ms}");
        }
    }

    #[test]
    fn entries_go_when_they_are_known() {
        let sent = Sent::default();
        let mut known = BTreeMap::new();
        for n in 0..1_000 {
            let path = RelPath::new(format!("{n}.md"));
            sent.put(&path, PathState::Present(file("x", n)), false, &known);
            known.insert(path, file("x", n));
        }
        assert!(sent.n_entries() < 500, "{} entries are left", sent.n_entries());
    }

    #[test]
    fn what_was_sent_counts_before_what_is_known() {
        let path = RelPath::new("a/b.md");
        let known = BTreeMap::from([(path.clone(), file("old", 10))]);
        let sent = Sent::default();
        assert_eq!(sent.state_of(&path, &known), PathState::Present(file("old", 10)));
        sent.put(&path, PathState::Absent, false, &known);
        assert_eq!(sent.state_of(&path, &known), PathState::Absent);
        assert_eq!(sent.paths_under("a"), []);
        sent.put(&path, PathState::Present(file("new", 11)), false, &known);
        assert_eq!(sent.paths_under("a").len(), 1);
        assert_eq!(sent.paths_under(""), [path]);
        assert_eq!(sent.paths_under("a/b"), []);
    }
}
