//! State: the watcher's view for `status`, and the count that `settled` relies on.
//!
//! Invariant: a change is pending from the instant it is noticed until it is on the belt, and a requested crawl until
//! it has compared everything; so a reader that finds 0 here and then an empty belt has missed no change.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use rustc_hash::FxHashSet;
use tokio::sync::watch;

use super::backlog::{Backlog, Job};
use super::crawl::Crawl;
use super::mode::{ModeEvent, WatchMode};
use super::pending::{Notice, Pending, Wanted};
use super::rules::{SkipReason, parent};
use super::survey::{Survey, Surveys};
use model::terms::RelPath;

/// Most recent changes kept for `status`; the number is S0's.
const MAX_EVENTS: usize = 100;

/// Most recent errors kept for `status`.
const MAX_ERRORS: usize = 20;

/// Locks a mutex. The data of a thread that panicked is still consistent: every change under these locks is one step.
pub(super) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for the signal to stop, or until its sender is gone.
pub(super) async fn stopped(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|is_stopped| *is_stopped).await;
}

/// The watcher as others see it. Each number is consistent by itself, but they are not from the same instant.
#[derive(Debug, Default)]
pub struct WatchState {
    pub(super) backlog: Backlog,
    crawls_done: watch::Sender<u64>,
    roster: Mutex<Roster>,
    /// What crawls found, kept current by later changes; without the counts of files and of what is pending.
    view: Mutex<WatchView>,
    events: Mutex<VecDeque<FileEvent>>,
    pub(super) surveys: Surveys,
}

/// A change of a file that was noticed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEvent {
    /// Time, milliseconds since 1970.
    pub at_ms: i64,
    /// The kind of change.
    pub kind: FileEventKind,
    /// The file.
    pub path: RelPath,
}

/// The kind of a file's change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileEventKind {
    /// It did not exist before.
    Created,
    /// Its content changed.
    Modified,
    /// It had another path before.
    Moved,
    /// It was deleted, or is not to be indexed any more.
    Deleted,
}

impl FileEventKind {
    /// Returns the name that `status` shows.
    pub fn as_str(self) -> &'static str {
        match self {
            FileEventKind::Created => "created",
            FileEventKind::Modified => "modified",
            FileEventKind::Moved => "moved",
            FileEventKind::Deleted => "deleted",
        }
    }
}

/// The number of the crawl that is requested at the start.
pub(super) const FIRST_CRAWL: u64 = 1;

/// Which files should be indexed, by hashes of their paths: only their number is shown, and paths would cost a
/// hundred bytes a file.
#[derive(Debug, Default)]
struct Roster {
    paths: FxHashSet<u64>,
    /// Changes since a crawl began; the crawl may have passed there before.
    since_crawl: Option<Vec<(u64, bool)>>,
}

fn key_of(path: &RelPath) -> u64 {
    xxhash_rust::xxh3::xxh3_64(path.as_str().as_bytes())
}

/// A copy of the state for `status`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WatchView {
    /// How changes are noticed.
    pub mode: WatchMode,
    /// True while a requested crawl (the opening one, a rescan) has not compared everything yet.
    pub is_crawling: bool,
    /// Changes that were noticed and are not on the belt yet; a requested crawl counts as one.
    pub n_pending: u64,
    /// Files that should be indexed.
    pub n_known_files: u64,
    /// Folders and files that exist but cannot be inspected, and why. Nothing below them is removed.
    pub unreadable: BTreeMap<String, String>,
    /// Why nothing is removed at the moment: the root is missing, unreadable or suddenly empty.
    pub root_trouble: Option<String>,
    /// Problems of patterns and ignore files.
    pub warnings: Vec<String>,
    /// The most recent errors, newest last, at most 20.
    pub errors: Vec<String>,
    /// Errors since the start.
    pub n_errors: u64,
    /// How often events came faster than they could be handled.
    pub n_overflows: u64,
    /// Crawls after the opening one.
    pub n_rescans: u64,
}

impl WatchState {
    /// Returns whether every noticed change is on the belt. Read this before the belt's gauges.
    pub fn is_settled(&self) -> bool {
        self.n_pending() == 0
    }

    /// Returns the changes that were noticed and are not on the belt yet; a requested crawl counts as one.
    pub fn n_pending(&self) -> u64 {
        self.backlog.with(|pending| pending.n_pending())
    }

    /// Returns whether a requested crawl has not compared everything yet.
    pub fn is_crawling(&self) -> bool {
        self.backlog.with(|pending| pending.is_crawling())
    }

    /// Returns the number of files that should be indexed.
    pub fn n_known_files(&self) -> u64 {
        lock(&self.roster).paths.len() as u64
    }

    /// Returns a copy of everything.
    pub fn view(&self) -> WatchView {
        let view = lock(&self.view).clone();
        let (is_crawling, n_pending) = (self.is_crawling(), self.n_pending());
        WatchView { is_crawling, n_pending, n_known_files: self.n_known_files(), ..view }
    }

    /// Returns what is read and what is not; `None` before the first crawl. May wait a moment for a walk, so that a
    /// file that has just been saved is counted.
    pub fn survey(&self) -> Option<Survey> {
        self.surveys.latest(|| self.backlog.wake(Job::Crawl))
    }

    /// Returns the number of changes noticed since the start. Requests of the index itself to read more closely do
    /// not count: while this stays the same, everything on the belt can be found by its text already.
    pub fn n_news(&self) -> u64 {
        self.backlog.with(|pending| pending.n_news())
    }

    /// Notes events.
    pub(super) fn notice(&self, notices: impl IntoIterator<Item = Notice>) {
        let now = Instant::now();
        self.backlog.with(|pending| notices.into_iter().for_each(|it| pending.notice(it, now)));
    }

    /// Requests a crawl that begins after this call.
    pub(super) fn want_crawl(&self) {
        self.backlog.with(|pending| pending.want_crawl(false));
    }

    /// Begins the requested crawl, if there is one.
    pub(super) fn begin_wanted(&self) -> Option<Wanted> {
        self.backlog.with(Pending::begin_crawl)
    }

    /// Records that the crawl of this number has compared everything; its changes are pending now.
    pub(super) fn crawl_done(&self, number: u64) {
        self.backlog.with(|pending| pending.crawl_done(number));
        self.crawls_done.send_replace(number);
    }

    /// Waits for a crawl; returns false if the watcher stops first.
    pub(super) async fn crawled(&self, number: u64, mut stop: watch::Receiver<bool>) -> bool {
        let mut done = self.crawls_done.subscribe();
        tokio::select! {
            result = done.wait_for(|done| *done >= number) => result.is_ok(),
            () = stopped(&mut stop) => false,
        }
    }

    pub(super) fn set_mode(&self, event: ModeEvent) {
        let mut view = lock(&self.view);
        let (next, message) = view.mode.after(event);
        view.mode = next;
        drop(view);
        if let Some(message) = message {
            self.report(message);
        }
    }

    pub(super) fn count_overflow(&self) {
        lock(&self.view).n_overflows += 1;
    }

    pub(super) fn count_rescan(&self) {
        lock(&self.view).n_rescans += 1;
    }

    pub(super) fn happened(&self, at_ms: i64, kind: FileEventKind, path: &RelPath) {
        let mut events = lock(&self.events);
        if events.len() >= MAX_EVENTS {
            events.pop_front();
        }
        events.push_back(FileEvent { at_ms, kind, path: path.clone() });
    }

    /// Returns the last changes of files, newest first.
    pub fn events(&self) -> Vec<FileEvent> {
        lock(&self.events).iter().rev().cloned().collect()
    }

    pub(super) fn report(&self, error: String) {
        tracing::warn!(error, "watch");
        let mut view = lock(&self.view);
        view.n_errors += 1;
        view.errors.push(error);
        if view.errors.len() > MAX_ERRORS {
            view.errors.remove(0);
        }
    }

    pub(super) fn is_unreadable(&self, path: &str) -> bool {
        lock(&self.view).unreadable.contains_key(path)
    }

    /// Records whether a checked file should be indexed, or why not.
    pub(super) fn judged(&self, path: &RelPath, skipped: Option<SkipReason>) {
        let is_read = skipped.is_none();
        let mut roster = lock(&self.roster);
        let key = key_of(path);
        let is_news = if is_read { roster.paths.insert(key) } else { roster.paths.remove(&key) };
        if let Some(since) = &mut roster.since_crawl {
            since.push((key, is_read));
        }
        drop(roster);
        if is_news || !is_read {
            self.surveys.changed();
        }
    }

    /// Replaces what could not be inspected below a folder by the findings of a new walk.
    pub(super) fn add_unreadable(&self, start: &str, unreadable: &BTreeMap<String, String>) {
        let mut view = lock(&self.view);
        view.unreadable.retain(|path, _| !is_below(path, start));
        view.unreadable.extend(unreadable.clone());
        drop(view);
        self.surveys.changed();
    }

    pub(super) fn crawl_begins(&self) {
        lock(&self.roster).since_crawl = Some(Vec::new());
    }

    /// Records the list of a crawl, complete except for `hidden` files it could not see. With `root_trouble` the list
    /// is not used.
    pub(super) fn crawl_listed(
        &self,
        crawl: &Crawl,
        hidden: &[RelPath],
        warnings: Vec<String>,
        root_trouble: Option<String>,
    ) {
        self.renew_roster(crawl, hidden, root_trouble.is_some());
        // Polling repeats the same trouble in each round; only the first is news.
        let is_news = root_trouble != lock(&self.view).root_trouble;
        if let Some(trouble) = root_trouble.as_ref().filter(|_| is_news) {
            self.report(trouble.clone());
        }
        let mut view = lock(&self.view);
        view.unreadable = crawl.unreadable.clone();
        view.warnings = warnings;
        view.root_trouble = root_trouble;
    }

    fn renew_roster(&self, crawl: &Crawl, hidden: &[RelPath], keeps_old: bool) {
        let mut roster = lock(&self.roster);
        let since = roster.since_crawl.take().unwrap_or_default();
        if keeps_old {
            return;
        }
        let mut paths: FxHashSet<u64> =
            crawl.found.iter().map(|found| key_of(&found.path)).collect();
        // A hidden file stays if it was counted before.
        paths.extend(hidden.iter().map(key_of).filter(|key| roster.paths.contains(key)));
        for (path, is_read) in since {
            if is_read {
                paths.insert(path);
            } else {
                paths.remove(&path);
            }
        }
        roster.paths = paths;
    }
}

/// Returns whether `path` is `folder` or below it; everything is below the root.
pub(super) fn is_below(path: &str, folder: &str) -> bool {
    folder.is_empty()
        || path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns each folder above a path, up to the root.
pub(super) fn folders_above(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |it| (!it.is_empty()).then(|| parent(it))).skip(1)
}
