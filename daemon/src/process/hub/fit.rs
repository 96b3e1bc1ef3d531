//! Fit: chooses the projects that can answer a call best; gateways ask for them over the control socket.
//!
//! In: the visible projects, their outlines from the hub. Out: names of projects, the best first.
//! Invariants: a project is not returned once a query has found that it is no longer visible. Outlines are fetched in
//! the background, in batches.

use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use embed::{StaticModel, WordPiece};
use hub::{Address, Asked, HubError, Outlines, Visible};
use proto::fit::{Fit, Fitting};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::sync::watch;
use tokio::task::spawn_blocking;

/// Outlines in one batch. Each takes 8 bytes a word: some hundred kilobytes for a large project.
const AT_ONCE: usize = 64;

/// Pause after the hub could not be reached.
const PAUSE: Duration = Duration::from_secs(2);

/// Longest wait for missing outlines.
const PATIENCE: Duration = Duration::from_secs(5);
const SILENCE: Duration = Duration::from_secs(2);

/// Longest request, in bytes.
const MAX_LINE_BYTES: u64 = 64 << 10;

/// The outlines of all visible projects, kept up to date by a background task. Clones share them.
#[derive(Clone)]
pub(super) struct Fits {
    outlines: Arc<RwLock<Outlines>>,
    /// Changes when there is something to fetch, and when something was fetched.
    news: watch::Sender<u64>,
    /// Loaded when the first question arrives.
    model: Arc<OnceLock<StaticModel>>,
}

fn static_model() -> StaticModel {
    StaticModel::builtin(WordPiece::builtin())
}

impl Fits {
    /// Starts the task that keeps the outlines of this hub.
    pub(super) fn begin(address: Address) -> Self {
        let it =
            Fits { outlines: Arc::default(), news: watch::Sender::new(0), model: Arc::default() };
        let (kept, news) = (it.clone(), it.news.subscribe());
        tokio::spawn(async move { kept.keep(&address, news).await });
        it
    }

    /// Locks the outlines for reading; several questions may read at the same time.
    fn outlines(&self) -> RwLockReadGuard<'_, Outlines> {
        self.outlines.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn outlines_mut(&self) -> RwLockWriteGuard<'_, Outlines> {
        self.outlines.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the projects that are visible now.
    pub(super) fn see(&self, visible: &[Visible]) {
        let is_stale = {
            let mut outlines = self.outlines_mut();
            outlines.see(visible);
            !outlines.stale().is_empty()
        };
        if is_stale {
            self.news.send_modify(|n| *n += 1);
        }
    }

    /// Fetches stale outlines until the process ends.
    async fn keep(self, address: &Address, mut news: watch::Receiver<u64>) {
        let mut hub = None;
        // The sender still exists: `self` holds it.
        while news.changed().await.is_ok() {
            if let Err(error) = self.fetch(address, &mut hub).await {
                tracing::debug!(%error, "outlines are fetched later");
                hub = None;
                tokio::time::sleep(PAUSE).await;
                news.mark_changed();
            }
        }
    }

    async fn fetch(&self, address: &Address, hub: &mut Option<hub::Hub>) -> Result<(), HubError> {
        let stale = self.outlines().stale();
        for some in stale.chunks(AT_ONCE) {
            let kept = hub.take();
            let hub = hub.insert(address.connect_unless(kept).await?);
            let found = hub::outlines(hub, some).await?;
            let mut outlines = self.outlines_mut();
            found.into_iter().for_each(|(id, place, outline)| outlines.put(id, place, outline));
            drop(outlines);
            self.news.send_modify(|_| {});
        }
        if stale.len() >= AT_ONCE {
            // The replies took more memory than the outlines do.
            let _ = spawn_blocking(sys::release_free_memory).await;
        }
        Ok(())
    }

    fn best(&self, fit: Fit) -> Vec<String> {
        let vector = match fit.question.trim() {
            "" => Vec::new(),
            question => self.model.get_or_init(static_model).unrounded(question),
        };
        let asked = Asked { terms: query::text_terms(&fit.question), names: fit.names, vector };
        self.outlines().best(&asked, fit.most)
    }

    /// Answers one client. A client that sends nothing only checks that the front end is running.
    pub(super) async fn answer(self, mut stream: UnixStream) {
        let mut line = String::new();
        let (reading, mut writing) = stream.split();
        let mut reading = BufReader::new(reading.take(MAX_LINE_BYTES));
        let read = tokio::time::timeout(SILENCE, reading.read_line(&mut line)).await;
        let (Ok(Ok(_)), Ok(fit)) = (read, serde_json::from_str::<Fit>(&line)) else { return };
        let mut news = self.news.subscribe();
        let whole = news.wait_for(|_| self.outlines().is_whole());
        // On a timeout, choose among the outlines that have arrived.
        let _ = tokio::time::timeout(PATIENCE, whole).await;
        // Takes some milliseconds for a thousand projects.
        let Ok(projects) = spawn_blocking(move || self.best(fit)).await else { return };
        let Ok(mut answer) = serde_json::to_vec(&Fitting { projects }) else { return };
        answer.push(b'\n');
        let _ = tokio::time::timeout(SILENCE, writing.write_all(&answer)).await;
    }
}
