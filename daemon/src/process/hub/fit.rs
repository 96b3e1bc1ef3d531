//! Fit: which projects can answer a call best, as gateways ask over the control socket.
//!
//! In: the projects that are visible, their outlines from the hub. Out: names, the fittest first.
//! Invariants: a project that is no longer visible is not named, from the look on that found so; outlines are fetched
//! beside everything else, some at a time.
//! Not here: what fits (`hub`), asking the projects (`client`).

use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use embed::{StaticModel, WordPiece};
use hub::{Address, Asked, HubError, Outlines, Visible};
use proto::fit::{Fit, Fitting};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::sync::watch;
use tokio::task::spawn_blocking;

/// Outlines fetched at once: 8 bytes a word, some hundred kilobytes of a large project.
const AT_ONCE: usize = 64;

/// Pause after the hub could not be asked.
const PAUSE: Duration = Duration::from_secs(2);

/// Longest wait for outlines that were not fetched yet, and for a client's line or its end.
const PATIENCE: Duration = Duration::from_secs(5);
const SILENCE: Duration = Duration::from_secs(2);

/// Longest line.
const MAX_LINE_BYTES: u64 = 64 << 10;

/// The outlines of all visible projects, kept up to date by a task of its own. Clones share them.
#[derive(Clone)]
pub(super) struct Fits {
    outlines: Arc<RwLock<Outlines>>,
    /// Told when there is something to fetch, and when something was fetched.
    news: watch::Sender<u64>,
    /// Loaded for the first question.
    model: Arc<OnceLock<StaticModel>>,
}

fn static_model() -> StaticModel {
    StaticModel::builtin(WordPiece::builtin())
}

impl Fits {
    /// Begins to keep outlines of the hub at this address.
    pub(super) fn begin(address: Address) -> Self {
        let it =
            Fits { outlines: Arc::default(), news: watch::Sender::new(0), model: Arc::default() };
        let (kept, news) = (it.clone(), it.news.subscribe());
        tokio::spawn(async move { kept.keep(&address, news).await });
        it
    }

    /// Questions are chosen for at the same time.
    fn outlines(&self) -> RwLockReadGuard<'_, Outlines> {
        self.outlines.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn outlines_mut(&self) -> RwLockWriteGuard<'_, Outlines> {
        self.outlines.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the projects that are visible now.
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

    /// Fetches what is stale, again and again.
    async fn keep(self, address: &Address, mut news: watch::Receiver<u64>) {
        let mut hub = None;
        // The sender cannot be gone: this very value holds it.
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
            let hub = match hub {
                Some(hub) => hub,
                None => hub.insert(address.connect().await?),
            };
            let found = hub::outlines(hub, some).await?;
            let mut outlines = self.outlines_mut();
            found.into_iter().for_each(|(id, place, outline)| outlines.put(id, place, outline));
            drop(outlines);
            self.news.send_modify(|_| {});
        }
        if stale.len() >= AT_ONCE {
            // What they came in is larger than they are.
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

    /// Answers one client, which may only look whether somebody is here.
    pub(super) async fn answer(self, mut stream: UnixStream) {
        let mut line = String::new();
        let (reading, mut writing) = stream.split();
        let mut reading = BufReader::new(reading.take(MAX_LINE_BYTES));
        let read = tokio::time::timeout(SILENCE, reading.read_line(&mut line)).await;
        let (Ok(Ok(_)), Ok(fit)) = (read, serde_json::from_str::<Fit>(&line)) else { return };
        let mut news = self.news.subscribe();
        let whole = news.wait_for(|_| self.outlines().is_whole());
        // Those that are there are chosen from.
        let _ = tokio::time::timeout(PATIENCE, whole).await;
        // Some milliseconds of computing for a thousand projects.
        let Ok(projects) = spawn_blocking(move || self.best(fit)).await else { return };
        let Ok(mut answer) = serde_json::to_vec(&Fitting { projects }) else { return };
        answer.push(b'\n');
        let _ = tokio::time::timeout(SILENCE, writing.write_all(&answer)).await;
    }
}
