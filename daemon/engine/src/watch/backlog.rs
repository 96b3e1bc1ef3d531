//! Backlog: the pending paths behind a lock, and the signals that wake the task which has work.
//!
//! Invariants: a job that finds nothing to do is woken by the change after which there is something; what a thread
//! holds that panics is counted off, and found again by a crawl.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::pending::{Check, Pending};
use super::state::lock;
use model::terms::{Lane, RelPath};

/// Who takes something out of the backlog: one task each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Job {
    /// Checks paths and sends their items in a lane.
    Check(Lane),
    /// Sorts out what has settled.
    Settle,
    /// Walks new folders.
    Walk,
    /// Compares everything.
    Crawl,
}

impl Job {
    /// Its place in [`Pending::has_work`].
    fn idx(self) -> usize {
        match self {
            Job::Check(lane) => lane as usize,
            Job::Settle => 2,
            Job::Walk => 3,
            Job::Crawl => 4,
        }
    }
}

/// The pending paths of one watcher.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    pending: Mutex<Pending>,
    wake: [Notify; 5],
    freed: Condvar,
}

impl Backlog {
    /// Reads or changes what is pending, in one step.
    pub(super) fn with<T>(&self, change: impl FnOnce(&mut Pending) -> T) -> T {
        let mut pending = lock(&self.pending);
        let before = pending.has_work();
        let result = change(&mut pending);
        let after = pending.has_work();
        drop(pending);
        let is_new = before.into_iter().zip(after).map(|(was, is)| is && !was);
        let woken = self.wake.iter().zip(is_new).filter(|(_, is_new)| *is_new);
        woken.for_each(|(wake, _)| wake.notify_one());
        result
    }

    /// Wakes a task although nothing is pending for it.
    pub(super) fn wake(&self, job: Job) {
        self.wake[job.idx()].notify_one();
    }

    /// Waits until there may be work since the last call.
    pub(super) async fn woken(&self, job: Job) {
        self.wake[job.idx()].notified().await;
    }

    /// Waits until there is work.
    pub(super) async fn work(&self, job: Job) {
        while !self.with(|pending| pending.has_work()[job.idx()]) {
            self.woken(job).await;
        }
    }

    /// Takes what has settled; see [`Pending::due`].
    pub(super) fn due(&self, now: Instant, together: Duration) -> (Vec<Check>, InProgress<'_>) {
        let due = self.with(|pending| pending.due(now, together));
        let in_progress = InProgress { backlog: self, held: Held::Paths(due.len()) };
        (due, in_progress)
    }

    /// Takes the folders to walk.
    pub(super) fn folders(&self) -> (Vec<(RelPath, Option<RelPath>)>, InProgress<'_>) {
        let folders = self.with(Pending::take_folders);
        (folders, InProgress { backlog: self, held: Held::Paths(1) })
    }

    /// Begins the next check of a lane; the path is busy while the second value lives.
    pub(super) fn take(&self, lane: Lane) -> Option<(Check, InProgress<'_>)> {
        let check = self.with(|pending| pending.take(lane))?;
        let in_progress = InProgress { backlog: self, held: Held::Busy(check.path.clone()) };
        Some((check, in_progress))
    }

    /// Waits for other checks of a path and begins one.
    pub(super) fn begin(&self, path: &RelPath) -> InProgress<'_> {
        let mut pending = lock(&self.pending);
        while !pending.begin(path) {
            pending = self.freed.wait(pending).unwrap_or_else(PoisonError::into_inner);
        }
        InProgress { backlog: self, held: Held::Busy(path.clone()) }
    }
}

/// What a thread has taken; counted as pending until it is dropped.
pub(super) struct InProgress<'a> {
    backlog: &'a Backlog,
    held: Held,
}

enum Held {
    Paths(usize),
    Busy(RelPath),
}

impl Drop for InProgress<'_> {
    fn drop(&mut self) {
        self.backlog.with(|pending| {
            if std::thread::panicking() {
                pending.want_crawl(false);
            }
            match &self.held {
                Held::Paths(n) => pending.finish(*n),
                Held::Busy(path) => pending.done(path),
            }
        });
        self.backlog.freed.notify_all();
    }
}
