//! The receiving end of a station's two lanes, owned by the supervisor and lent to the running station.
//!
//! Invariant: an item is counted by [`Gauge`] from before it leaves the queue until the station reports it done,
//! which it does after sending it on. So reading the gauges from first to last misses nothing.

use std::future::poll_fn;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex as StdMutex, PoisonError};
use std::task::{Context, Poll};

use tokio::sync::{Mutex, mpsc};

use super::Lanes;
use model::terms::Lane;
use model::{Item, Stage};

/// Where a station takes its items from. Shared, so that items survive a restart of the station.
pub struct Inlet<T> {
    receivers: Mutex<Receivers<T>>,
    in_work: Arc<InWork>,
}

/// Items that a station has taken and not yet reported done. The lock makes taking and counting one step.
#[derive(Default)]
struct InWork {
    taking: StdMutex<()>,
    n: AtomicUsize,
}

struct Receivers<T> {
    interactive: mpsc::Receiver<Item<T>>,
    bulk: mpsc::Receiver<Item<T>>,
}

impl<T> Receivers<T> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Item<T>>> {
        // Both lanes are polled unless an interactive item is ready, so that either can wake the task.
        let interactive = self.interactive.poll_recv(cx);
        if let Poll::Ready(Some(item)) = interactive {
            return Poll::Ready(Some(item));
        }
        match (interactive, self.bulk.poll_recv(cx)) {
            (_, Poll::Ready(Some(item))) => Poll::Ready(Some(item)),
            (Poll::Ready(None), Poll::Ready(None)) => Poll::Ready(None),
            _ => Poll::Pending,
        }
    }
}

/// The two lanes in front of one station: senders, receivers and the number of items.
pub struct Queue<T> {
    /// Senders; dropped to drain.
    pub lanes: Lanes<T>,
    /// Receivers, lent to the running station.
    pub inlet: Arc<Inlet<T>>,
    /// Reads how many items are waiting or in work.
    pub gauge: Gauge,
}

impl<T: Send + 'static> Queue<T> {
    /// Creates the queue in front of a stage. `capacity` is that of the interactive and of the bulk lane.
    pub fn new<S: Stage<In = T>>(capacity: (usize, usize)) -> Self {
        Queue::named(S::NAME, capacity)
    }

    /// Creates the queue in front of the station with this name.
    pub fn named(station: &'static str, capacity: (usize, usize)) -> Self {
        let (interactive, interactive_receiver) = mpsc::channel(capacity.0);
        let (bulk, bulk_receiver) = mpsc::channel(capacity.1);
        let lanes = Lanes { interactive, bulk };
        let in_work = Arc::new(InWork::default());
        let gauge = Gauge::new(station, &lanes, in_work.clone());
        let receivers = Receivers { interactive: interactive_receiver, bulk: bulk_receiver };
        let inlet = Inlet { receivers: Mutex::new(receivers), in_work };
        Queue { lanes, inlet: Arc::new(inlet), gauge }
    }
}

impl<T> Inlet<T> {
    /// Returns the next item, interactive before bulk; `None` when every sender is gone and both lanes are empty.
    /// Call [`Inlet::done`] once for each item, after it was sent on. Cancel-safe.
    pub async fn next(&self) -> Option<Item<T>> {
        let mut receivers = self.receivers.lock().await;
        poll_fn(|cx| self.take(|| receivers.poll(cx))).await
    }

    /// Returns the next interactive item; waits for ever when no more can come. Cancel-safe.
    pub async fn next_interactive(&self) -> Item<T> {
        let mut receivers = self.receivers.lock().await;
        match poll_fn(|cx| self.take(|| receivers.interactive.poll_recv(cx))).await {
            Some(item) => item,
            None => std::future::pending().await,
        }
    }

    /// Returns an item of one lane that is waiting already, if any.
    pub fn try_next(&self, lane: Lane) -> Option<Item<T>> {
        let mut receivers = self.receivers.try_lock().ok()?;
        let taken = self.take(|| {
            let item = match lane {
                Lane::Interactive => receivers.interactive.try_recv(),
                Lane::Bulk => receivers.bulk.try_recv(),
            };
            item.map_or(Poll::Pending, |item| Poll::Ready(Some(item)))
        });
        match taken {
            Poll::Ready(item) => item,
            Poll::Pending => None,
        }
    }

    /// Returns whether an interactive item is waiting.
    pub fn has_interactive(&self) -> bool {
        self.receivers.try_lock().is_ok_and(|receivers| !receivers.interactive.is_empty())
    }

    /// Takes an item and counts it in one step, so that a gauge never misses it.
    fn take(&self, receive: impl FnOnce() -> Poll<Option<Item<T>>>) -> Poll<Option<Item<T>>> {
        let _one_step = self.in_work.taking.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = receive();
        if let Poll::Ready(Some(_)) = taken {
            self.in_work.n.fetch_add(1, Ordering::SeqCst);
        }
        taken
    }

    /// Reports `n` taken items as done.
    pub fn done(&self, n: usize) {
        self.in_work.n.fetch_sub(n, Ordering::SeqCst);
    }
}

/// Items in front of a stage and inside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Depth {
    /// Waiting in the interactive lane.
    pub interactive: usize,
    /// Waiting in the bulk lane.
    pub bulk: usize,
    /// Taken by the station and not sent on yet.
    pub in_work: usize,
}

impl Depth {
    /// Adds up the readings of several gauges, read in their order.
    pub fn sum(gauges: &[Gauge]) -> Depth {
        gauges.iter().map(Gauge::depth).fold(Depth::default(), |a, b| Depth {
            interactive: a.interactive + b.interactive,
            bulk: a.bulk + b.bulk,
            in_work: a.in_work + b.in_work,
        })
    }

    /// Returns the sum of all three.
    pub fn total(self) -> usize {
        self.interactive + self.bulk + self.in_work
    }
}

/// Reads how many items are in front of a stage and inside it.
pub struct Gauge {
    stage: &'static str,
    read: Box<dyn Fn() -> Depth + Send + Sync>,
}

impl Gauge {
    fn new<T: Send + 'static>(stage: &'static str, lanes: &Lanes<T>, in_work: Arc<InWork>) -> Self {
        // Weak, so that a gauge does not keep a drained lane open.
        let (interactive, bulk) = (lanes.interactive.downgrade(), lanes.bulk.downgrade());
        let waiting = |lane: &mpsc::WeakSender<Item<T>>| {
            lane.upgrade().map_or(0, |sender| sender.max_capacity() - sender.capacity())
        };
        let read = move || {
            let _one_step = in_work.taking.lock().unwrap_or_else(PoisonError::into_inner);
            Depth {
                interactive: waiting(&interactive),
                bulk: waiting(&bulk),
                in_work: in_work.n.load(Ordering::SeqCst),
            }
        };
        Gauge { stage, read: Box::new(read) }
    }

    /// Returns the name of the stage.
    pub fn stage(&self) -> &'static str {
        self.stage
    }

    /// Returns the current numbers.
    pub fn depth(&self) -> Depth {
        (self.read)()
    }
}
