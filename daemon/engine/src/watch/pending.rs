//! Pending: every path that was noticed and is not on the belt yet, and the requested crawls.
//!
//! In: notices and requests, with the time. Out: what is to be done next: paths to sort out, folders to walk, checks
//! for a lane. No clock is read here, and no file.
//!
//! | stage    | a path is there                                | until                                         |
//! |----------|------------------------------------------------|-----------------------------------------------|
//! | folder   | when it appeared, to be walked at once         | the walk has noticed the files in it          |
//! | settling | after each notice                              | quiet for `debounce`; [`Pending::hold`] waits |
//! | sorting  | while another thread finds out what settled    | [`Pending::route`] has chosen its lane        |
//! | queued   | from then on; from a crawl or a request        | the lane and the budget have room             |
//! | busy     | while it is checked (`intake.rs`)              | its item is on the belt, or there is none     |
//!
//! Invariants: a path settles or is queued, never both, so what is waiting is never waiting twice; it settles at most
//! [`MOST_DEBOUNCES`] quiet times after its first notice, so a file that is written continuously is still indexed;
//! one check of a path at a time, and its item is sent within it, so a higher generation never carries older content;
//! every stage counts as pending, and a path changes its stage in one step. A notice is only a reason to check: a file
//! that was created and deleted in between costs one check and causes nothing.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use rustc_hash::{FxHashMap, FxHashSet};

use super::burst::{Burst, Kind, Settled};
use super::state::is_below;
use model::terms::{Lane, RelPath};

/// A path settles at most this many quiet times after its first notice.
const MOST_DEBOUNCES: u32 = 5;

/// A request to check a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Check {
    /// The path.
    pub path: RelPath,
    /// Its previous path, if both halves of a rename were seen; checked right after `path`.
    pub moved_from: Option<RelPath>,
    /// The lane of its item.
    pub lane: Lane,
    /// True to read it again although the content is unchanged.
    pub is_forced: bool,
    /// True if equal size and time are enough to call a file unchanged; for events they are not.
    pub trusts_stat: bool,
}

impl Check {
    pub(super) fn new(path: RelPath, lane: Lane) -> Self {
        Check { path, moved_from: None, lane, is_forced: false, trusts_stat: false }
    }

    /// Merges an older request for the same path into one that satisfies both. Returns an old name that no rename
    /// covers any more.
    fn absorb(&mut self, old: Check) -> Option<RelPath> {
        self.is_forced |= old.is_forced;
        self.trusts_stat &= old.trusts_stat;
        if old.lane == Lane::Interactive {
            self.lane = Lane::Interactive;
        }
        if self.moved_from.is_none() {
            self.moved_from = old.moved_from;
            return None;
        }
        old.moved_from.filter(|lost| Some(lost) != self.moved_from.as_ref())
    }
}

/// What an event or a walk asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Notice {
    /// Check this path when it is quiet.
    Changed(RelPath),
    /// The same, and it had another path before.
    Renamed { from: RelPath, to: RelPath },
    /// Walk this folder now: it has just appeared, or had another path before.
    Folder { path: RelPath, moved_from: Option<RelPath> },
}

/// Requested crawls, by number. Requests before the crawl has begun are for the same crawl.
#[derive(Debug, Default)]
struct Crawls {
    wanted: u64,
    begun: u64,
    done: u64,
    /// True if the next one must read every file.
    is_full: bool,
}

/// A requested crawl that begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wanted {
    pub number: u64,
    /// True if it must read every file, whatever its size and time.
    pub is_full: bool,
}

#[derive(Debug)]
struct Entry {
    stage: Stage,
    check: Check,
}

#[derive(Debug, Clone, Copy)]
enum Stage {
    /// Its lane is not chosen yet, so that of the check means nothing.
    Settling { first: Instant, due: Instant },
    /// At this place in the queue of its lane.
    Queued(u64),
}

/// What waits, by path.
#[derive(Debug, Default)]
pub(super) struct Pending {
    debounce: Duration,
    entries: FxHashMap<RelPath, Entry>,
    /// The settling ones, by the time when they are due.
    settling: BTreeSet<(Instant, RelPath)>,
    /// The queued ones, by lane, first in, first out.
    queues: [BTreeMap<u64, RelPath>; 2],
    n_places: u64,
    /// Old names of files that were just sent, by lane: they are checked before anything else.
    old_names: [VecDeque<RelPath>; 2],
    /// Folders to walk, each with its previous path.
    folders: BTreeMap<RelPath, Option<RelPath>>,
    busy: FxHashSet<RelPath>,
    n_in_progress: usize,
    held: FxHashMap<RelPath, usize>,
    crawls: Crawls,
    burst: Burst,
    n_news: u64,
}

impl Pending {
    /// Changes how long a path must be quiet, for notices from now on.
    pub(super) fn set_debounce(&mut self, debounce: Duration) {
        self.debounce = debounce;
    }

    /// Notes an event. The quiet time of its path restarts.
    pub(super) fn notice(&mut self, notice: Notice, now: Instant) {
        self.n_news += 1;
        match notice {
            Notice::Changed(path) => self.notice_change(&path, now),
            Notice::Renamed { from, to } => self.notice_rename(&from, &to, now),
            Notice::Folder { path, moved_from } => {
                let old = self.folders.entry(path).or_default();
                *old = moved_from.or_else(|| old.take());
            }
        }
    }

    fn notice_change(&mut self, path: &RelPath, now: Instant) {
        let (first, check) = match self.remove(path) {
            Some(Entry { stage: Stage::Settling { first, .. }, check }) => (first, check),
            // It will be read as it is then.
            Some(entry) if entry.check.lane == Lane::Interactive => {
                return self.put(entry.stage, entry.check);
            }
            // A file of a backlog was saved.
            Some(entry) => (now, Check { trusts_stat: false, ..entry.check }),
            None => (now, Check::new(path.clone(), Lane::Bulk)),
        };
        self.settle(check, first, now);
    }

    /// Notes that a path was renamed. A chain of renames leads back to its first name.
    fn notice_rename(&mut self, from: &RelPath, to: &RelPath, now: Instant) {
        if from == to {
            return self.notice_change(to, now);
        }
        let old = self.remove(from);
        let replaced = self.remove(to);
        let first_of = |entry: &Entry| match entry.stage {
            Stage::Settling { first, .. } => Some(first),
            Stage::Queued(_) => None,
        };
        let first = [&old, &replaced].into_iter().flatten().filter_map(first_of).min();
        let mut check = Check::new(to.clone(), Lane::Bulk);
        let was = [old, replaced].map(|entry| {
            let check_before = entry?.check;
            check.is_forced |= check_before.is_forced;
            check_before.moved_from
        });
        let is_chain = was[0].is_some();
        let [origin, lost] = was;
        let origin = origin.unwrap_or_else(|| from.clone());
        // Every name that is no longer an origin must still be checked: the one in the middle of a chain, and the
        // origin of a file that was renamed to here and has now been replaced.
        if is_chain {
            self.notice_change(from, now);
        }
        if let Some(lost) = lost.filter(|lost| *lost != origin) {
            self.notice_change(&lost, now);
        }
        // Renamed back to its first name.
        check.moved_from = (origin != *to).then_some(origin);
        self.settle(check, first.unwrap_or(now), now);
    }

    /// Returns whether a path has been noticed and is not quiet yet.
    pub(super) fn is_settling(&self, path: &RelPath) -> bool {
        self.entries.get(path).is_some_and(|entry| matches!(entry.stage, Stage::Settling { .. }))
    }

    /// Returns the number of paths that are not quiet yet.
    pub(super) fn n_settling(&self) -> usize {
        self.settling.len()
    }

    /// Returns when the next path is due.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.settling.first().map(|(due, _)| *due)
    }

    /// Begins to sort out the paths that are due by `now` or shortly afterwards (changes made `together` settle
    /// together): renames first, so that no old name is removed before the new one is added. Held paths start over.
    pub(super) fn due(&mut self, now: Instant, together: Duration) -> Vec<Check> {
        let (mut due, mut held) = (Vec::new(), Vec::new());
        while let Some((at, _)) = self.settling.first()
            && *at <= now + together
            && let Some((_, path)) = self.settling.pop_first()
        {
            let Some(Entry { check, .. }) = self.entries.remove(&path) else { continue };
            let is_held = check.moved_from.is_none() && self.held.contains_key(&path);
            if is_held { held.push(check) } else { due.push(check) }
        }
        held.into_iter().for_each(|check| self.settle(check, now, now));
        forget_swaps(&mut due);
        due.sort_by(|a, b| {
            (a.moved_from.is_none(), &a.path).cmp(&(b.moved_from.is_none(), &b.path))
        });
        self.n_in_progress += due.len();
        due
    }

    /// Queues paths, each in the lane of a save or of a flood. Those that have settled are queued even if they were
    /// noticed again meanwhile.
    pub(super) fn route(
        &mut self,
        settled: Vec<(Check, Kind, u64)>,
        is_settled: bool,
        now: Instant,
    ) {
        let changes: Vec<Settled<'_>> = settled
            .iter()
            .map(|(Check { path, .. }, kind, n_bytes)| Settled {
                path,
                kind: *kind,
                n_bytes: *n_bytes,
            })
            .collect();
        let go_first = self.burst.choose(&changes, self.settling.len(), now);
        for ((check, ..), goes_first) in settled.into_iter().zip(go_first) {
            let lane = if goes_first { Lane::Interactive } else { Lane::Bulk };
            self.n_news += 1;
            self.enqueue(Check { lane, ..check }, is_settled);
        }
    }

    /// Queues a check that a crawl or a caller asks for; a path that settles goes on settling.
    pub(super) fn queue(&mut self, check: Check) {
        self.n_news += 1;
        self.enqueue(check, false);
    }

    /// Queues the old name of a file that was just sent, before everything else in the lane, unless it is there: it is
    /// removed after the new one was added. If it settles, too, it is checked twice.
    pub(super) fn queue_old_name(&mut self, path: RelPath, lane: Lane) {
        let is_queued =
            |entry: &Entry| matches!(entry.stage, Stage::Queued(_)) && entry.check.lane == lane;
        if !self.entries.get(&path).is_some_and(is_queued) {
            self.old_names[lane as usize].push_back(path);
        }
    }

    fn enqueue(&mut self, check: Check, is_settled: bool) {
        let mut next = Some(check);
        while let Some(mut check) = next.take() {
            let mut stage = None;
            if let Some(old) = self.remove(&check.path) {
                let is_same = match old.stage {
                    Stage::Settling { .. } => !is_settled,
                    Stage::Queued(_) => {
                        old.check.lane == Lane::Interactive || check.lane == old.check.lane
                    }
                };
                stage = is_same.then_some(old.stage);
                next = check.absorb(old.check).map(|path| Check::new(path, check.lane));
            }
            let stage = stage.unwrap_or_else(|| {
                self.n_places += 1;
                Stage::Queued(self.n_places)
            });
            self.put(stage, check);
        }
    }

    /// Begins the next check of a lane whose path is not being checked already. Ends with [`Pending::done`].
    pub(super) fn take(&mut self, lane: Lane) -> Option<Check> {
        let check = match self.next_old_name(lane) {
            Some(idx) => Check::new(self.old_names[lane as usize].remove(idx)?, lane),
            None => {
                let path = self.next_queued(lane)?.clone();
                self.remove(&path)?.check
            }
        };
        self.busy.insert(check.path.clone());
        Some(check)
    }

    fn next_old_name(&self, lane: Lane) -> Option<usize> {
        self.old_names[lane as usize].iter().position(|path| !self.busy.contains(path))
    }

    fn next_queued(&self, lane: Lane) -> Option<&RelPath> {
        self.queues[lane as usize].values().find(|path| !self.busy.contains(*path))
    }

    /// Begins a check of a path by name, whether it waits or not; returns false while another one is going on.
    pub(super) fn begin(&mut self, path: &RelPath) -> bool {
        self.busy.insert(path.clone())
    }

    /// Ends a check.
    pub(super) fn done(&mut self, path: &RelPath) {
        self.busy.remove(path);
    }

    /// Begins to walk all folders that wait, which counts as one path until it is finished.
    pub(super) fn take_folders(&mut self) -> Vec<(RelPath, Option<RelPath>)> {
        let mut folders: Vec<(RelPath, Option<RelPath>)> = Vec::new();
        for (folder, moved_from) in std::mem::take(&mut self.folders) {
            // A folder below the previous one is walked with it, unless it had another path before.
            let is_covered = folders.last().is_some_and(|(above, _)| {
                moved_from.is_none() && is_below(folder.as_str(), above.as_str())
            });
            if !is_covered {
                folders.push((folder, moved_from));
            }
        }
        self.n_in_progress += 1;
        folders
    }

    /// Counts paths in that a caller checks by name, one by one.
    pub(super) fn begin_by_name(&mut self, n: usize) {
        self.n_news += n as u64;
        self.n_in_progress += n;
    }

    /// Counts off what was begun: it is queued now, or nothing follows.
    pub(super) fn finish(&mut self, n: usize) {
        self.n_in_progress -= n;
    }

    /// Postpones events of paths, which this daemon is writing, many at once, until each was released as often.
    pub(super) fn hold(&mut self, paths: &[RelPath]) {
        paths.iter().for_each(|path| *self.held.entry(path.clone()).or_default() += 1);
    }

    /// The opposite.
    pub(super) fn release(&mut self, paths: &[RelPath]) {
        for path in paths {
            let n_holds = self.held.remove(path).unwrap_or_default();
            if n_holds > 1 {
                self.held.insert(path.clone(), n_holds - 1);
            }
        }
    }

    /// Requests a crawl that begins after this call; with `is_full` it reads every file. Returns its number.
    pub(super) fn want_crawl(&mut self, is_full: bool) -> u64 {
        self.crawls.is_full |= is_full;
        // A crawl that has begun may have passed the change already, so a new one is needed.
        if self.crawls.wanted == self.crawls.begun {
            self.n_news += 1;
            self.crawls.wanted += 1;
        }
        self.crawls.wanted
    }

    /// Begins the requested crawl, if there is one.
    pub(super) fn begin_crawl(&mut self) -> Option<Wanted> {
        let crawls = &mut self.crawls;
        let is_wanted = crawls.begun < crawls.wanted;
        crawls.begun = crawls.wanted;
        let is_full = std::mem::take(&mut crawls.is_full);
        is_wanted.then_some(Wanted { number: crawls.wanted, is_full })
    }

    /// Records that the crawl of this number has compared everything; its changes are queued now.
    pub(super) fn crawl_done(&mut self, number: u64) {
        self.crawls.done = number;
    }

    /// Returns whether a requested crawl has not compared everything yet.
    pub(super) fn is_crawling(&self) -> bool {
        self.crawls.done < self.crawls.wanted
    }

    /// Returns the number of everything that waits.
    pub(super) fn n_pending(&self) -> u64 {
        let n_old_names: usize = self.old_names.iter().map(VecDeque::len).sum();
        let n_paths = self.entries.len() + n_old_names + self.folders.len() + self.busy.len();
        (n_paths + self.n_in_progress) as u64 + (self.crawls.wanted - self.crawls.done)
    }

    /// Returns the number of changes noticed since the start, without requests for paths that have no news.
    pub(super) fn n_news(&self) -> u64 {
        self.n_news
    }

    /// Returns for each [`Job`](super::backlog::Job), in order, whether there is something to do.
    pub(super) fn has_work(&self) -> [bool; 5] {
        let of_lane = |lane| self.next_old_name(lane).is_some() || self.next_queued(lane).is_some();
        [
            of_lane(Lane::Interactive),
            of_lane(Lane::Bulk),
            !self.settling.is_empty(),
            !self.folders.is_empty(),
            self.crawls.begun < self.crawls.wanted,
        ]
    }

    fn settle(&mut self, check: Check, first: Instant, now: Instant) {
        let due = (now + self.debounce).min(first + self.debounce * MOST_DEBOUNCES);
        self.put(Stage::Settling { first, due }, check);
    }

    fn put(&mut self, stage: Stage, check: Check) {
        let path = check.path.clone();
        match stage {
            Stage::Settling { due, .. } => drop(self.settling.insert((due, path.clone()))),
            Stage::Queued(place) => {
                drop(self.queues[check.lane as usize].insert(place, path.clone()));
            }
        }
        self.entries.insert(path, Entry { stage, check });
    }

    fn remove(&mut self, path: &RelPath) -> Option<Entry> {
        let entry = self.entries.remove(path)?;
        match entry.stage {
            Stage::Settling { due, .. } => drop(self.settling.remove(&(due, path.clone()))),
            Stage::Queued(place) => {
                drop(self.queues[entry.check.lane as usize].remove(&place));
            }
        }
        Some(entry)
    }
}

/// Turns two files that exchanged names into two changes: neither has left its old name free.
fn forget_swaps(changes: &mut [Check]) {
    let taken: FxHashSet<RelPath> = changes
        .iter()
        .filter(|change| change.moved_from.is_some())
        .map(|change| change.path.clone())
        .collect();
    for change in changes {
        if change.moved_from.as_ref().is_some_and(|from| taken.contains(from)) {
            change.moved_from = None;
        }
    }
}

#[cfg(test)]
mod tests;
