//! Reread: sends documents of the index through the stages that find names, again.
//!
//! In: rows, from the writer. Out: their documents, on the bulk lane of the stage `recognize`.
//! Invariants: a document is counted as waiting until it is in that lane; its bytes count against the budget of bulk;
//! the writer never waits. A document that cannot be loaded is left out: it stays marked, and the writer asks again.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{Notify, mpsc};
use tokio::task::spawn_blocking;

use crate::belt::Budget;
use index::store::{Readers, stored};
use model::document::Document;
use model::terms::{FileVersion, Generation, Lane};
use model::{Item, Ticket};

/// The documents that wait to be read again.
#[derive(Default)]
pub(crate) struct Waiting {
    rows: Mutex<Rows>,
    changed: Notify,
}

#[derive(Default)]
struct Rows {
    waiting: VecDeque<i64>,
    /// Taken, but not in the lane yet.
    n_taken: usize,
    is_closed: bool,
}

impl Waiting {
    fn rows(&self) -> std::sync::MutexGuard<'_, Rows> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of documents.
    pub(crate) fn n(&self) -> usize {
        let rows = self.rows();
        rows.waiting.len() + rows.n_taken
    }

    /// Waits for a row; `None` when no more can come.
    async fn next(&self) -> Option<i64> {
        loop {
            {
                let mut rows = self.rows();
                if rows.is_closed {
                    return None;
                }
                if let Some(row) = rows.waiting.pop_front() {
                    rows.n_taken = 1;
                    return Some(row);
                }
            }
            self.changed.notified().await;
        }
    }
}

/// Where the writer hands rows in; when it is dropped, those that wait are, too.
pub struct Reread(Arc<Waiting>);

impl Reread {
    /// Starts the task that loads documents, with the lane that they are sent to; it ends with the returned value, and
    /// keeps neither the lane nor the index open.
    pub(crate) fn spawn(
        readers: &Arc<Readers>,
        budget: Arc<Budget>,
        lane: &mpsc::Sender<Item<Document>>,
    ) -> (Reread, Arc<Waiting>) {
        let waiting = Arc::new(Waiting::default());
        tokio::spawn(run(waiting.clone(), Arc::downgrade(readers), budget, lane.downgrade()));
        (Reread(waiting.clone()), waiting)
    }

    /// Has documents read again, in this order.
    pub(crate) fn send(&self, rows: Vec<i64>) {
        self.0.rows().waiting.extend(rows);
        self.0.changed.notify_one();
    }

    /// Forgets those that wait: their index starts over.
    pub(crate) fn forget(&self) {
        self.0.rows().waiting.clear();
    }
}

impl Drop for Reread {
    fn drop(&mut self) {
        self.0.rows().is_closed = true;
        self.0.changed.notify_one();
    }
}

async fn run(
    waiting: Arc<Waiting>,
    readers: Weak<Readers>,
    budget: Arc<Budget>,
    lane: mpsc::WeakSender<Item<Document>>,
) {
    while let Some(row) = waiting.next().await {
        budget.room(Lane::Bulk).await;
        // As the lane: what is kept would keep the index open.
        let Some(readers) = readers.upgrade() else { return };
        let loaded = spawn_blocking(move || readers.look(|index| stored(index, row))).await;
        let doc = match loaded {
            Ok(Ok(doc)) => doc,
            Ok(Err(error)) => {
                tracing::warn!(%error, "a document of the index cannot be read again");
                None
            }
            // The runtime is shutting down, or the record made the decoder panic, which costs this document only.
            Err(error) if error.is_panic() => None,
            Err(_) => return,
        };
        if let Some(doc) = doc {
            // Taken anew each time: a sender that is kept would keep the belt from draining.
            let Some(lane) = lane.upgrade() else { return };
            let _ = lane.send(Item::Document(ticket_of(&doc, &budget), doc)).await;
        }
        waiting.rows().n_taken = 0;
    }
}

fn ticket_of(doc: &Document, budget: &Budget) -> Ticket {
    let head = &doc.head;
    Ticket {
        path: head.path.clone(),
        generation: Generation::default(),
        lane: Lane::Bulk,
        moved_from: None,
        is_exchange: false,
        is_forced: true,
        version: FileVersion {
            hash: Some(head.hash),
            mode: 0,
            mtime_ms: head.mtime_ms,
            n_bytes: head.n_bytes,
        },
        n_behind: 0,
        weight: budget.take(Lane::Bulk, doc.text.len()),
    }
}
