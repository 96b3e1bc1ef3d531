//! The event side: from raw events to items in the interactive lane.
//!
//! In: raw events, folders walked, changes that a poll found. Out: items; and, for the inbox of the bulk side,
//! changes that are too many at once.
//! Invariants: this task never waits for bulk work: while the interactive lane is full it still accepts events;
//! folders are walked on another thread; everything it holds is counted as pending.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustc_hash::FxHashSet;
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinHandle, spawn_blocking};

use super::Shared;
use super::burst::{Burst, Kind, Settled};
use super::crawl::Crawl;
use super::digest::{Halves, Hint, digest, expand, walk};
use super::events::RawEvent;
use super::intake::{Again, Ask, Look};
use super::pair::join_settled;
use super::settle::{SettledChange, Settler};
use super::state::stopped;
use model::Item;
use model::document::SourceDoc;
use model::terms::{Lane, RelPath};

/// A change may settle early, together with another, by this part of the quiet time.
const TOGETHER: u64 = 10;

/// Raw events digested at once.
const MAX_BATCH: usize = 512;

type Walked = Vec<(RelPath, Vec<Hint>, Crawl)>;

/// The inputs of the event side.
pub(super) struct Inward {
    /// Events of the system.
    pub raw: mpsc::Receiver<RawEvent>,
    /// Changes from a poll: few, and already quiet; each is counted as pending.
    pub polled: mpsc::UnboundedReceiver<Vec<SettledChange>>,
    /// Becomes true when the task must stop.
    pub stop: watch::Receiver<bool>,
}

/// Runs until it is stopped, or until the receiver of the items is gone.
pub(super) async fn run(
    shared: Arc<Shared>,
    lane: mpsc::Sender<Item<SourceDoc>>,
    mut inward: Inward,
) {
    let mut side = EventSide::new(shared.clone());
    let mut batch = Vec::with_capacity(MAX_BATCH);
    loop {
        side.start_walk();
        let due = side.settler.next_due();
        let wake_at = tokio::time::Instant::from_std(due.unwrap_or_else(Instant::now));
        tokio::select! {
            () = stopped(&mut inward.stop) => break,
            n_raw = inward.raw.recv_many(&mut batch, MAX_BATCH) => {
                if n_raw == 0 {
                    break;
                }
                side.take_raw(std::mem::take(&mut batch)).await;
            }
            Some(changes) = inward.polled.recv() => side.take_polled(changes),
            walked = joined(&mut side.walking), if side.walking.is_some() => side.take_walked(walked),
            () = tokio::time::sleep_until(wake_at), if due.is_some() => side.take_due().await,
            permit = room(&shared, &lane), if !side.outbox.is_empty() => match permit {
                Ok(permit) => side.send_one(permit).await,
                Err(_) => break,
            },
        }
    }
}

/// Adds to a change its kind and the size of its file, bytes.
fn weighed(shared: &Shared, change: SettledChange) -> (SettledChange, Kind, u64) {
    let stat = shared.intake.stat(&change.path);
    let was = shared.intake.path_state(change.moved_from.as_ref().unwrap_or(&change.path));
    let kind = match change.moved_from {
        None if was.looks_like(stat) => Kind::Echo,
        _ if was.is_held() => Kind::Known,
        _ => Kind::New,
    };
    (change, kind, stat.unwrap_or_default().n_bytes)
}

/// Waits until the next file may be read and its item has a place in the lane.
async fn room(
    shared: &Shared,
    lane: &mpsc::Sender<Item<SourceDoc>>,
) -> Result<mpsc::OwnedPermit<Item<SourceDoc>>, mpsc::error::SendError<()>> {
    shared.intake.budget.room(Lane::Interactive).await;
    lane.clone().reserve_owned().await
}

/// Waits for the running walk; never returns without one.
async fn joined(walking: &mut Option<JoinHandle<Walked>>) -> Option<Walked> {
    match walking {
        Some(handle) => handle.await.ok(),
        None => std::future::pending().await,
    }
}

struct EventSide {
    shared: Arc<Shared>,
    settler: Settler,
    burst: Burst,
    halves: Halves,
    /// Changes to check, in order; each path is in it once.
    outbox: VecDeque<SettledChange>,
    queued: FxHashSet<RelPath>,
    /// Folders to walk next, each with its previous path.
    to_walk: BTreeMap<RelPath, Option<RelPath>>,
    walking: Option<JoinHandle<Walked>>,
    /// Number of items counted as pending for all of the above.
    n_counted: usize,
}

impl EventSide {
    fn new(shared: Arc<Shared>) -> Self {
        let debounce = Duration::from_millis(shared.intake.settings.debounce_ms);
        EventSide {
            shared,
            settler: Settler::new(debounce),
            burst: Burst::default(),
            halves: Halves::default(),
            outbox: VecDeque::new(),
            queued: FxHashSet::default(),
            to_walk: BTreeMap::new(),
            walking: None,
            n_counted: 0,
        }
    }

    async fn take_raw(&mut self, batch: Vec<RawEvent>) {
        let n_raw = batch.len();
        // Before the batch is digested: the channel is empty now, so a new overflow is a new one.
        self.shared.receiver.drained();
        let shared = self.shared.clone();
        let mut halves = std::mem::take(&mut self.halves);
        let work = spawn_blocking(move || {
            let hints = digest(batch, &mut halves, &shared.intake, &shared.state);
            (hints, halves)
        });
        match work.await {
            Ok((hints, halves)) => {
                self.halves = halves;
                self.take_hints(hints);
            }
            Err(error) => self.lost_track(&error.to_string()),
        }
        // Counted in the next place before the events are counted off.
        self.recount();
        self.shared.state.handed_on(n_raw);
    }

    fn take_hints(&mut self, hints: Vec<Hint>) {
        let now = Instant::now();
        let debounce = self.shared.intake.settings.debounce_ms;
        self.settler.set_debounce(Duration::from_millis(debounce));
        for hint in hints {
            match hint {
                Hint::Changed(path) => self.settler.note(&path, now),
                Hint::Renamed { from, to } => {
                    // At once: a tool may name the file before it has settled.
                    self.shared.intake.claims.assign(&from, &to);
                    self.settler.note_rename(&from, &to, now);
                }
                Hint::Walk { folder, moved_from } => {
                    let old = self.to_walk.entry(folder).or_default();
                    *old = moved_from.or_else(|| old.take());
                }
            }
        }
    }

    fn start_walk(&mut self) {
        if self.walking.is_some() || self.to_walk.is_empty() {
            return;
        }
        let mut folders: Vec<(RelPath, Option<RelPath>)> = Vec::new();
        for (folder, moved_from) in std::mem::take(&mut self.to_walk) {
            // A folder below the previous one is walked with it, unless it had another path before.
            let is_covered = folders.last().is_some_and(|(above, _)| {
                let rest = folder.as_str().strip_prefix(above.as_str());
                moved_from.is_none() && rest.is_some_and(|rest| rest.starts_with('/'))
            });
            if !is_covered {
                folders.push((folder, moved_from));
            }
        }
        let shared = self.shared.clone();
        self.walking = Some(spawn_blocking(move || {
            let listener = shared.listener();
            let walk_one = |(folder, moved_from): (RelPath, Option<RelPath>)| {
                let (listener, mut missed) = (listener.as_deref(), Vec::new());
                let moved_from = moved_from.as_ref();
                let (hints, found) =
                    walk(&shared.intake, listener, &folder, moved_from, &mut missed);
                shared.poll_instead(&folder, missed);
                (folder, hints, found)
            };
            folders.into_iter().map(walk_one).collect()
        }));
        // One walk at a time: folders that appear meanwhile wait in `to_walk`.
        self.recount();
    }

    fn take_walked(&mut self, walked: Option<Walked>) {
        self.walking = None;
        match walked {
            Some(walked) => {
                for (folder, hints, found) in walked {
                    self.shared.state.add_unreadable(folder.as_str(), &found.unreadable);
                    self.take_hints(hints);
                }
            }
            None => self.lost_track("a walk was stopped"),
        }
        self.recount();
    }

    fn take_polled(&mut self, changes: Vec<SettledChange>) {
        let n_polled = changes.len();
        changes.into_iter().for_each(|change| self.enqueue(change));
        self.recount();
        self.shared.state.handed_on(n_polled);
    }

    async fn take_due(&mut self) {
        // Changes made together settle together: a tool that moves a file by rewriting it takes a moment.
        let together = Duration::from_millis(self.shared.intake.settings.debounce_ms / TOGETHER);
        let now = Instant::now();
        let (held, changes): (Vec<_>, Vec<_>) = self
            .settler
            .due(now + together)
            .into_iter()
            .partition(|it| it.moved_from.is_none() && self.shared.held.holds(&it.path));
        // Events of held paths restart their quiet time.
        held.iter().for_each(|it| self.settler.note(&it.path, now));
        let shared = self.shared.clone();
        let work = spawn_blocking(move || {
            let listener = shared.listener();
            let changes = expand(changes, &shared.intake, &shared.state, listener.as_deref());
            let changes = join_settled(changes, &shared.intake);
            changes.into_iter().map(|it| weighed(&shared, it)).collect()
        });
        match work.await {
            Ok(changes) => self.take_settled(changes),
            Err(error) => self.lost_track(&error.to_string()),
        }
        self.recount();
    }

    /// Hands settled changes to the outbox or the inbox.
    fn take_settled(&mut self, changes: Vec<(SettledChange, Kind, u64)>) {
        let settled: Vec<Settled<'_>> = changes
            .iter()
            .map(|(change, kind, n_bytes)| Settled {
                path: &change.path,
                kind: *kind,
                n_bytes: *n_bytes,
            })
            .collect();
        let n_unsettled = self.settler.n_unsettled();
        let go_first = self.burst.choose(&settled, n_unsettled, Instant::now());
        for ((change, ..), goes_first) in changes.into_iter().zip(go_first) {
            if goes_first {
                self.enqueue(change);
                continue;
            }
            self.shared.inbox.push(Ask {
                path: change.path,
                moved_from: change.moved_from,
                lane: Lane::Bulk,
                again: Again::Nothing,
                trusts_stat: false,
            });
        }
    }

    fn enqueue(&mut self, change: SettledChange) {
        if self.queued.insert(change.path.clone()) {
            return self.outbox.push_back(change);
        }
        let Some(from) = change.moved_from else { return };
        let queued = self.outbox.iter_mut().find(|queued| queued.path == change.path);
        let replaced = queued.and_then(|queued| queued.moved_from.replace(from));
        if let Some(path) = replaced {
            // No rename covers this old name any more, so it must be checked by itself.
            self.enqueue(SettledChange { path, moved_from: None });
        }
    }

    /// Checks the next path and sends its item.
    async fn send_one(&mut self, permit: mpsc::OwnedPermit<Item<SourceDoc>>) {
        let Some(change) = self.outbox.pop_front() else { return };
        self.queued.remove(&change.path);
        let ask = Ask {
            path: change.path,
            moved_from: change.moved_from.clone(),
            lane: Lane::Interactive,
            again: Again::Nothing,
            trusts_stat: false,
        };
        let shared = self.shared.clone();
        let mut old_names = vec![change.moved_from];
        // The permit was reserved before, so sending within the turn cannot block.
        let send = move |look| {
            let Look::Item(item) = look else { return None };
            let old_name = item.ticket().moved_from.clone();
            sys::fail::point("watch.interactive");
            permit.send(item);
            old_name
        };
        match spawn_blocking(move || shared.intake.look_then(&ask, send)).await {
            Ok(old_name) => old_names.push(old_name),
            Err(error) => self.lost_track(&error.to_string()),
        }
        for path in old_names.into_iter().flatten() {
            if self.queued.insert(path.clone()) {
                // The old name is removed right after the new one was added.
                self.outbox.push_front(SettledChange { path, moved_from: None });
            }
        }
        self.recount();
    }

    /// Requests a crawl to make up for work that cannot be finished.
    fn lost_track(&self, why: &str) {
        self.shared.state.report(format!("events were lost: {why}"));
        self.shared.state.want_crawl();
    }

    /// Updates the count of pending items. Called before their source is counted off.
    fn recount(&mut self) {
        let n_held = self.settler.n_unsettled()
            + self.outbox.len()
            + self.to_walk.len()
            + usize::from(self.walking.is_some());
        if n_held > self.n_counted {
            self.shared.state.noticed(n_held - self.n_counted);
        } else {
            self.shared.state.handed_on(self.n_counted - n_held);
        }
        self.n_counted = n_held;
    }
}
