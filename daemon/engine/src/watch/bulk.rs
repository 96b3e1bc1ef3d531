//! The bulk side: reads the paths in its inbox and sends the items in the bulk lane.
//!
//! In: paths to check, with the reason. Out: items, in circular order of path.
//! Invariants: the inbox holds a path once; reading ahead is bounded by [`MAX_AHEAD`] items and [`MAX_AHEAD_BYTES`];
//! a full lane slows this task and no other.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Arc, Mutex};

use tokio::sync::{Notify, mpsc, watch};

use super::Shared;
use super::intake::{Again, Ask, Look};
use super::settle::SettledChange;
use super::state::{WatchState, lock, stopped};
use model::Item;
use model::document::SourceDoc;
use model::terms::{Lane, RelPath};
use sys::crew;

/// Most items read before the first of them is sent; reading one by one would cost a thread switch each.
const MAX_AHEAD: usize = 32;

/// Bytes after which no further file is read before the first item is sent.
const MAX_AHEAD_BYTES: usize = 1 << 20;

/// Paths that wait for the bulk lane.
pub(super) struct Inbox {
    waiting: Mutex<Waiting>,
    filled: Notify,
    state: Arc<WatchState>,
}

#[derive(Default)]
struct Waiting {
    asks: BTreeMap<RelPath, Ask>,
    /// The last path taken. Continuing from it gives the end of the alphabet its turn.
    last: Option<RelPath>,
}

impl Inbox {
    pub(super) fn new(state: Arc<WatchState>) -> Self {
        Inbox { waiting: Mutex::default(), filled: Notify::new(), state }
    }

    /// Adds a path to check; two requests for one path are merged into one that satisfies both.
    pub(super) fn push(&self, ask: Ask) {
        self.put(ask, WatchState::noticed);
    }

    /// The same for a path that has no news.
    pub(super) fn push_known(&self, ask: Ask) {
        self.put(ask, WatchState::asked);
    }

    fn put(&self, ask: Ask, count: fn(&WatchState, usize)) {
        let mut next = Some(ask);
        let mut waiting = lock(&self.waiting);
        while let Some(ask) = next.take() {
            let Some(old) = waiting.asks.get_mut(&ask.path) else {
                count(&self.state, 1);
                waiting.asks.insert(ask.path.clone(), ask);
                break;
            };
            // Merged: the stronger request wins.
            old.again = old.again.max(ask.again);
            old.trusts_stat &= ask.trusts_stat;
            if let Some(from) = ask.moved_from
                && let Some(path) = old.moved_from.replace(from)
            {
                // No rename covers this old name any more, so it must be checked by itself.
                next = Some(Ask { path, moved_from: None, again: Again::Nothing, ..*old });
            }
        }
        self.filled.notify_one();
    }

    /// Returns whether the path is waiting already.
    pub(super) fn holds(&self, path: &RelPath) -> bool {
        lock(&self.waiting).asks.contains_key(path)
    }

    fn pop(&self) -> Option<Ask> {
        let mut waiting = lock(&self.waiting);
        // The next path after the last one, or the first when the end is reached.
        let after = waiting.last.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
        let mut following = waiting.asks.range((after, Bound::Unbounded));
        let next = following.next().or_else(|| waiting.asks.first_key_value());
        let path = next.map(|(path, _)| path.clone());
        waiting.last = path.clone();
        path.and_then(|path| waiting.asks.remove(&path))
    }

    /// Takes and checks paths until enough has been read. Returns the items and the number of paths checked.
    fn read_ahead(&self, shared: &Shared) -> (Vec<Item<SourceDoc>>, usize) {
        let (mut items, mut n_looks, mut n_bytes) = (Vec::new(), 0, 0);
        let has_room = || shared.intake.budget.has_room(Lane::Bulk);
        while items.len() < MAX_AHEAD && n_bytes < MAX_AHEAD_BYTES && has_room() {
            let Some(ask) = self.pop() else { break };
            n_looks += 1;
            let mut old_names = [ask.moved_from.clone(), None];
            if let Look::Item(item) = shared.intake.look(&ask) {
                if let Item::Document(_, doc) = &item {
                    n_bytes += doc.bytes.len();
                }
                old_names[1] = item.ticket().moved_from.clone();
                items.push(item);
            }
            if old_names[0] == old_names[1] {
                old_names[1] = None;
            }
            for from in old_names.into_iter().flatten() {
                // The old name is removed right after the new one was added.
                let again = Again::Nothing;
                let ask = Ask { path: from, moved_from: None, again, trusts_stat: false, ..ask };
                if let Look::Item(item) = shared.intake.look(&ask) {
                    items.push(item);
                }
            }
        }
        (items, n_looks)
    }
}

/// Runs until it is stopped, or until the receiver of the items is gone.
pub(super) async fn run(
    shared: Arc<Shared>,
    lane: mpsc::Sender<Item<SourceDoc>>,
    mut stop: watch::Receiver<bool>,
) {
    loop {
        tokio::select! {
            () = stopped(&mut stop) => return,
            () = shared.intake.budget.room(Lane::Bulk) => {}
        }
        let worker = shared.clone();
        let reading = crew::reading().run(move || worker.inbox.read_ahead(&worker));
        let (items, n_looks) = match reading.await {
            Ok(read) => read,
            Err(error) => {
                // The paths of this round stay counted as pending, since their outcome is unknown; a crawl will find
                // them.
                shared.state.report(format!("reading failed: {error}"));
                shared.state.want_crawl();
                continue;
            }
        };
        // Nothing was waiting. `filled` stores a permit, so a path added since is not missed.
        if n_looks == 0 {
            tokio::select! {
                () = stopped(&mut stop) => return,
                () = shared.inbox.filled.notified() => continue,
            }
        }
        for item in items {
            sys::fail::point("watch.bulk");
            tokio::select! {
                () = stopped(&mut stop) => return,
                sent = lane.send(item) => if sent.is_err() { return },
            }
        }
        shared.state.handed_on(n_looks);
    }
}

/// Returns the request for a path that a crawl found changed or missing.
pub(super) fn crawled(change: SettledChange) -> Ask {
    let SettledChange { path, moved_from } = change;
    Ask { path, moved_from, lane: Lane::Bulk, again: Again::Nothing, trusts_stat: true }
}
