//! Sent: what the index will hold of a file once everything on the belt is committed. Its paths are not pending: they
//! have been checked, and are here only to be compared with when they are checked again.
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
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::crawl::Found;
use super::path_state::PathState;
use super::read::Stat;
use super::state::lock;
use model::document::Pass;
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

/// What the index holds, and what was sent and is not in it yet.
pub(super) struct Sent {
    /// The index.
    pub known: Arc<dyn KnownFiles>,
    entries: Mutex<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    by_path: BTreeMap<RelPath, SentEntry>,
    /// The last one that was swept.
    hand: Option<RelPath>,
}

impl Sent {
    pub(super) fn new(known: Arc<dyn KnownFiles>) -> Self {
        Sent { known, entries: Mutex::default() }
    }

    /// Drops every entry: what was sent will not arrive.
    pub(super) fn forget(&self) {
        lock(&self.entries).by_path.clear();
    }

    fn entry(&self, path: &RelPath) -> Option<SentEntry> {
        lock(&self.entries).by_path.get(path).copied()
    }

    /// Returns what the index will hold of the path, with which a new check must be compared.
    pub(super) fn state_of(&self, path: &RelPath) -> PathState {
        let known = || self.known.get(path).map_or(PathState::Unknown, PathState::Present);
        self.entry(path).map_or_else(known, |entry| entry.state)
    }

    /// Returns whether the path was sent or is known, and not removed since.
    pub(super) fn expects(&self, path: &RelPath) -> bool {
        self.state_of(path).is_held()
    }

    /// Returns whether a file, as a crawl found it, must be checked more closely.
    pub(super) fn differs(&self, found: &Found) -> bool {
        self.differs_from(found, || self.known.get(&found.path), Instant::now())
    }

    /// The same; `known` returns what the index has.
    pub(super) fn differs_from(
        &self,
        found: &Found,
        known: impl FnOnce() -> Option<KnownFile>,
        now: Instant,
    ) -> bool {
        let Some(entry) = self.entry(&found.path) else {
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

    /// Returns whether what was sent last for a path is not in the index yet.
    pub(super) fn is_on_its_way(&self, path: &RelPath) -> bool {
        let hash = || self.known.get(path).map(|file| file.hash);
        match self.entry(path).map(|entry| entry.state) {
            Some(PathState::Present(file)) => hash() != Some(file.hash),
            Some(PathState::Absent) => hash().is_some(),
            Some(PathState::Faulted(_) | PathState::Unknown) | None => false,
        }
    }

    /// Records what was just sent, or found unchanged except for its time.
    pub(super) fn put(&self, path: &RelPath, state: PathState, is_racy: bool) {
        let mut entries = lock(&self.entries);
        let is_layered = entries.by_path.contains_key(path);
        let entry = SentEntry { state, at: Instant::now(), is_racy, is_layered };
        entries.by_path.insert(path.clone(), entry);
        drop(entries);
        (0..SWEEP).for_each(|_| self.sweep());
    }

    /// Returns whether the path's time may hide a second change.
    pub(super) fn is_racy(&self, path: &RelPath) -> bool {
        self.entry(path).is_some_and(|entry| entry.is_racy)
    }

    /// Returns the paths below a folder that were sent and not removed since.
    pub(super) fn sent_under(&self, folder: &str) -> Vec<RelPath> {
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        lock(&self.entries)
            .by_path
            .range(RelPath::new(prefix.as_str())..)
            .take_while(|(path, _)| path.as_str().starts_with(&prefix))
            .filter(|(_, entry)| entry.state != PathState::Absent)
            .map(|(path, _)| path.clone())
            .collect()
    }

    /// Returns every path below a folder that was sent or is known, sorted.
    pub(super) fn expected_under(&self, folder: &str) -> Vec<RelPath> {
        let mut paths = self.known.paths_under(folder);
        paths.extend(self.sent_under(folder));
        paths.sort_unstable();
        paths.dedup();
        paths
    }

    /// Drops the next entry, going round like the hand of a clock, if it agrees with the index.
    fn sweep(&self) {
        let mut entries = lock(&self.entries);
        let from = entries.hand.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
        let next = entries.by_path.range((from, Bound::Unbounded)).next();
        let next = next.map(|(path, entry)| (path.clone(), *entry));
        entries.hand = next.as_ref().map(|(path, _)| path.clone());
        // The store is queried without the lock, so that a slow answer blocks nobody.
        drop(entries);
        let Some((path, entry)) = next.filter(|(path, entry)| self.agrees(path, entry)) else {
            return;
        };
        let by_path = &mut lock(&self.entries).by_path;
        // The entry may have been replaced meanwhile.
        if by_path.get(&path).is_some_and(|now| now.at == entry.at) {
            by_path.remove(&path);
        }
    }

    fn agrees(&self, path: &RelPath, entry: &SentEntry) -> bool {
        match entry.state {
            _ if entry.is_racy || (entry.is_layered && entry.at.elapsed() < RESEND_AFTER) => false,
            PathState::Present(file) => self.known.get(path) == Some(file),
            PathState::Absent => self.known.get(path).is_none(),
            // The version known before the fault has the same size and time; only reading it again ends this.
            PathState::Faulted(_) | PathState::Unknown => false,
        }
    }
}

/// Returns the values of a known file that a crawl compares.
pub(super) fn stat_of(file: &KnownFile) -> Stat {
    Stat { n_bytes: file.n_bytes, mtime_ms: file.mtime_ms }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Known(Mutex<BTreeMap<RelPath, KnownFile>>);

    impl KnownFiles for Known {
        fn get(&self, path: &RelPath) -> Option<KnownFile> {
            lock(&self.0).get(path).copied()
        }
        fn paths_under(&self, _: &str) -> Vec<RelPath> {
            Vec::new()
        }
        fn paths_with(&self, _: ContentHash) -> Vec<RelPath> {
            Vec::new()
        }
        fn text_of(&self, _: &RelPath) -> Option<String> {
            None
        }
    }

    fn knowing(path: &RelPath, file: KnownFile) -> Sent {
        Sent::new(Arc::new(Known(Mutex::new(BTreeMap::from([(path.clone(), file)])))))
    }

    fn file(text: &str, mtime_ms: i64) -> KnownFile {
        let hash = ContentHash::of(text.as_bytes());
        KnownFile { hash, mtime_ms, n_bytes: text.len() as u64 }
    }

    #[test]
    fn a_crawl_looks_closer_only_where_something_may_have_changed() {
        let path = RelPath::new("a.md");
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
            let sent = knowing(&path, file("old", 10));
            if let Some(was) = was {
                sent.put(&path, was, is_racy);
            }
            let differs = sent.differs_from(&found(mtime_ms), || sent.known.get(&path), now);
            assert_eq!(differs, expected, "{was:?} racy {is_racy} found at {mtime_ms}");
        }
    }

    #[test]
    fn entries_go_when_they_are_known() {
        let known = Arc::new(Known::default());
        let sent = Sent::new(known.clone());
        for n in 0..1_000 {
            let path = RelPath::new(format!("{n}.md"));
            sent.put(&path, PathState::Present(file("x", n)), false);
            lock(&known.0).insert(path, file("x", n));
        }
        let n_entries = lock(&sent.entries).by_path.len();
        assert!(n_entries < 500, "{n_entries} entries are left");
    }

    #[test]
    fn what_was_sent_counts_before_what_is_known() {
        let path = RelPath::new("a/b.md");
        let sent = knowing(&path, file("old", 10));
        assert_eq!(sent.state_of(&path), PathState::Present(file("old", 10)));
        sent.put(&path, PathState::Absent, false);
        assert_eq!(sent.state_of(&path), PathState::Absent);
        assert_eq!(sent.sent_under("a"), []);
        sent.put(&path, PathState::Present(file("new", 11)), false);
        assert_eq!(sent.sent_under("a").len(), 1);
        assert_eq!(sent.sent_under(""), [path]);
        assert_eq!(sent.sent_under("a/b"), []);
    }
}
