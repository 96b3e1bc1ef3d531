//! Tasks: what takes paths out of the backlog: one task for what has settled, one for new folders, one for each lane.
//!
//! In: the backlog. Out: items in the lanes; and paths that move on in the backlog.
//! Invariants: no task waits for another, so a full bulk lane or a long walk delays no save; a file is read only when
//! its item has a place in the lane and the budget has room, and is sent at once.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};
use tokio::task::spawn_blocking;

use super::Shared;
use super::backlog::Job;
use super::burst::Kind;
use super::intake::Checked;
use super::pair::join_settled;
use super::pending::Check;
use super::read::Stat;
use super::state::{lock, stopped};
use model::Item;
use model::document::SourceDoc;
use model::terms::Lane;
use sys::crew;

/// A change may settle early, together with another, by this part of the quiet time.
const TOGETHER: u32 = 10;

/// Most paths checked in a row; checking one by one would cost a thread switch each.
const MOST_IN_A_ROW: usize = 32;

/// The place of one item in a lane.
pub(super) type Place = mpsc::OwnedPermit<Item<SourceDoc>>;

/// What a task does on another thread.
enum Work {
    Check(Lane, Place),
    Sort,
    Walk,
}

/// Does the work of one job, until it is stopped or the receiver of the items is gone.
pub(super) async fn run(shared: Arc<Shared>, job: Job, mut stop: watch::Receiver<bool>) {
    loop {
        let work = tokio::select! {
            () = stopped(&mut stop) => return,
            work = shared.next_work(job) => work,
        };
        let Some(work) = work else { return };
        let worker = shared.clone();
        let work = move || worker.perform(work);
        let done = match job {
            Job::Check(Lane::Bulk) => crew::reading().run(work).await.map_err(|it| it.to_string()),
            _ => spawn_blocking(work).await.map_err(|error| error.to_string()),
        };
        if let Err(error) = done {
            // A crawl makes up for it, which was requested when the work was dropped.
            shared.state.report(format!("events were lost: {error}"));
        }
    }
}

impl Shared {
    /// Waits until there is something to do; `None` if nothing can be sent any more.
    async fn next_work(&self, job: Job) -> Option<Work> {
        let backlog = &self.state.backlog;
        backlog.work(job).await;
        match job {
            Job::Check(lane) => {
                self.intake.budget.room(lane).await;
                let sender = lock(&self.belt).as_ref()?.of(lane).clone();
                Some(Work::Check(lane, sender.reserve_owned().await.ok()?))
            }
            Job::Settle => {
                // What is noticed meanwhile is due later.
                while let Some(due) = backlog.with(|pending| pending.next_due())
                    && due > Instant::now()
                {
                    tokio::time::sleep_until(due.into()).await;
                }
                Some(Work::Sort)
            }
            Job::Walk => Some(Work::Walk),
            Job::Crawl => None,
        }
    }

    fn perform(&self, work: Work) {
        match work {
            Work::Check(lane, place) => self.check_some(lane, place),
            Work::Sort => self.sort_due(),
            Work::Walk => {
                let (folders, _in_progress) = self.state.backlog.folders();
                for (folder, moved_from) in folders {
                    self.walk(&folder, moved_from.as_ref());
                }
            }
        }
    }

    /// Finds out about the paths that have settled, and queues them.
    fn sort_due(&self) {
        let debounce = Duration::from_millis(self.intake.settings.debounce_ms);
        // Changes made together settle together: a tool that moves a file by rewriting it takes a moment.
        let (due, _in_progress) = self.state.backlog.due(Instant::now(), debounce / TOGETHER);
        let checks = join_settled(self.expand(due), &self.intake);
        self.route(checks, true);
    }

    /// Queues checks in the lane of a save or of a flood.
    pub(super) fn route(&self, checks: Vec<Check>, is_settled: bool) {
        let weighed = checks.into_iter().map(|check| self.weighed(check)).collect();
        self.state.backlog.with(|pending| pending.route(weighed, is_settled, Instant::now()));
    }

    /// Adds to a check the kind of its change and the size of its file, bytes.
    fn weighed(&self, check: Check) -> (Check, Kind, u64) {
        let stat = self.intake.project_folder.meta(&check.path).ok().map(|meta| Stat::of(&meta));
        let was = self.intake.sent.state_of(check.moved_from.as_ref().unwrap_or(&check.path));
        let kind = match check.moved_from {
            None if was.looks_like(stat) => Kind::Echo,
            _ if was.is_held() => Kind::Known,
            _ => Kind::New,
        };
        (check, kind, stat.unwrap_or_default().n_bytes)
    }

    /// Checks paths and sends their items while there are places and room.
    fn check_some(&self, lane: Lane, mut place: Place) {
        for _ in 0..MOST_IN_A_ROW {
            let Some((check, _in_progress)) = self.state.backlog.take(lane) else { return };
            let next = self.check_then(&check, |checked| {
                let Checked::Item(item) = checked else { return Ok(place) };
                match lane {
                    Lane::Interactive => sys::fail::point("watch.interactive"),
                    Lane::Bulk => sys::fail::point("watch.bulk"),
                }
                place.send(item).try_reserve_owned()
            });
            match next {
                Ok(next) if self.intake.budget.has_room(lane) => place = next,
                _ => return,
            }
        }
    }

    /// Checks a path and passes the outcome to `send`. Its old names are checked next: each is removed right after the
    /// new one was added.
    pub(super) fn check_then<T>(&self, check: &Check, send: impl FnOnce(Checked) -> T) -> T {
        let checked = self.intake.check(check);
        let mut old_names: BTreeSet<_> = check.moved_from.iter().cloned().collect();
        if let Checked::Item(item) = &checked {
            old_names.extend(item.ticket().moved_from.clone());
        }
        let sent = send(checked);
        self.state.backlog.with(|pending| {
            old_names.into_iter().for_each(|path| pending.queue_old_name(path, check.lane));
        });
        sent
    }
}
