//! Build: one index and everything that keeps it current: writer, belt, watcher and backfill.
//!
//! A project has one for the life of the daemon; `verify` starts a second one beside it, from nothing.
//! Invariant: "settled" is read in the order in which work flows (watcher, belt, ripples), so that nothing is missed.

use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use config::settings::Embed;
use proto::tool::core::SettledView;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::backfill::{self, Backfill, Backfilling, Gate};
use crate::belt::Budget;
use crate::health::Health;
use crate::known::KnownInIndex;
use crate::traffic::Traffic;
use crate::watch::{WatchOptions, WatchState, Watcher, WatcherHandle};
use crate::write::{Command, Order};
use crate::{Recipe, WritePath};
use embed::Embedder;
use index::store::{
    Breakers, Decisions, Held, IndexWriter, Part, Readers, Spaces, StoreError, bring_back,
};
use index::vectors::Layer;
use model::terms::Tick;

/// How long a command waits for a writer that cannot write; shorter trouble is not worth an error.
const STALL_PATIENCE: Duration = Duration::from_secs(1);

/// How often a waiting call checks again, besides being woken by commits.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

impl Recipe {
    /// Returns what determines the rows besides the settings: models, detectors, relations, given names.
    fn made_with(&self) -> String {
        let detectors = redact::DETECTORS;
        let relations = self.vocabulary.fingerprint();
        let mut made =
            format!("{}, detectors {detectors}, relations {relations}", self.embedder.space());
        if let Some(model) = &self.model {
            made.push_str(&format!(", names {}", model.digest()));
        }
        if let Some(given) = &self.given {
            made.push_str(&format!(", given {}", given.digest()));
        }
        made
    }
}

/// An index that another process makes.
pub struct Still {
    /// Its readers.
    pub readers: Arc<Readers>,
    /// Review decisions.
    pub decisions: Decisions,
    /// Its last commit.
    pub tick: Tick,
}

/// An index that is kept in step with the folder.
pub struct Build {
    /// Snapshots of this build's index.
    pub readers: Arc<Readers>,
    /// The index that answers until this one is complete, if that is another.
    pub answers: Option<PathBuf>,
    /// Review decisions.
    pub decisions: Decisions,
    /// Files whose last reading failed.
    pub breakers: Breakers,
    /// Numbers kept by the writer.
    pub health: Arc<Health>,
    /// What is on its way to the next commit.
    pub traffic: Traffic,
    /// The bytes of source files that may be on the belt.
    pub budget: Arc<Budget>,
    /// Commands to the watcher.
    pub watcher: WatcherHandle,
    /// Checks whether the databases' files are still those that were opened.
    pub held: Held,
    commands: mpsc::Sender<Order>,
    belt: Mutex<Option<JoinHandle<()>>>,
    backfilling: Mutex<Option<Backfilling>>,
}

impl Build {
    /// Opens the databases, starts the belt and the watcher; the opening crawl continues in the background.
    ///
    /// # Errors
    /// When a database cannot be opened or an actor cannot be started.
    pub async fn start(recipe: Recipe) -> anyhow::Result<Build> {
        let fingerprint = config::fingerprint::rows(&recipe.settings, &recipe.made_with());
        // Before the databases are opened: opening would create an empty ledger in the place of a lost one.
        let replaced = bring_back(&recipe.state_dir);
        let mut writer = IndexWriter::open(
            &recipe.state_dir,
            &fingerprint,
            &recipe.settings,
            recipe.embedder.clone(),
        )?;
        let readers = writer.readers();
        let answers = (writer.answers() != writer.path()).then(|| writer.answers().to_path_buf());
        let health = Arc::new(Health::new(writer.tick()));
        if let Some(what) = replaced {
            tracing::warn!("the ledger: {what}");
            health.mended("ledger", what);
        }
        let decisions = writer.ledger().decisions().clone();
        let breakers = writer.ledger().breakers().clone();
        let held = writer.held().clone();
        let unread = writer.take_unread();

        let better = recipe.better.clone();
        let (embed, state_dir) = (recipe.settings.embed.clone(), recipe.state_dir.clone());
        let WritePath { watcher, traffic, budget, commands, belt } =
            crate::start(recipe, writer, readers.clone(), health.clone()).await?;
        watcher.requeue(unread);
        let build = Build {
            readers,
            answers,
            decisions,
            breakers,
            health,
            traffic,
            budget,
            watcher,
            held,
            commands,
            belt: Mutex::new(Some(belt)),
            backfilling: Mutex::default(),
        };
        build.backfill(better, &embed, &state_dir)?;
        Ok(build)
    }

    /// Creates a build for an index that another process makes: nothing is watched, and writes are refused. Must be
    /// called within a runtime.
    ///
    /// # Errors
    /// When the file of better vectors can be neither used nor created.
    pub fn still(recipe: &Recipe, index: Still) -> Result<Build, StoreError> {
        let Still { readers, decisions, tick } = index;
        let health = Arc::new(Health::new(tick));
        // Nothing here resolves names, so nothing is ever due.
        health.set_ripple(false);
        let (budget, breakers) =
            (Budget::new(recipe.settings.belt.max_bytes_in_flight), Breakers::default());
        let state = Arc::new(WatchState::default());
        let known = KnownInIndex {
            readers: readers.clone(),
            breakers: breakers.clone(),
            lost: Default::default(),
            now_ms: crate::now_ms,
        };
        let options = WatchOptions {
            root: recipe.root.clone(),
            settings: recipe.settings.watch.clone(),
            privacy: recipe.settings.privacy.clone(),
            now_ms: crate::now_ms,
            budget: budget.clone(),
            parsing: recipe.parsing.clone(),
        };
        let build = Build {
            readers,
            answers: None,
            decisions,
            breakers,
            health,
            // A channel without receiver: commands fail at once.
            traffic: Traffic::new(state.clone(), Arc::default(), Vec::new()),
            budget,
            watcher: Watcher::none(options, Arc::new(known), state),
            held: Held::default(),
            commands: mpsc::channel(1).0,
            belt: Mutex::default(),
            backfilling: Mutex::default(),
        };
        build.backfill(recipe.better.clone(), &recipe.settings.embed, &recipe.state_dir)?;
        Ok(build)
    }

    /// Starts to compute the better models' vectors, if there are any.
    fn backfill(
        &self,
        better: Vec<Arc<dyn Embedder>>,
        settings: &Embed,
        state_dir: &Path,
    ) -> Result<(), StoreError> {
        let backfill = Backfill::new(state_dir, better, settings, &self.readers)?;
        let Some(mut backfill) = backfill else { return Ok(()) };
        backfill.hold_in(&self.held, state_dir);
        let traffic = self.traffic.clone();
        let is_quiet = Arc::new(move || traffic.is_quiet());
        let gate = Gate::new(settings.background, is_quiet, self.health.clone());
        let started = backfill::start(backfill, self.health.clone(), gate);
        *self.backfilling.lock().unwrap_or_else(PoisonError::into_inner) = Some(started);
        Ok(())
    }

    /// Starts over with the better models' vectors, in a new file.
    pub fn backfill_again(&self, recipe: &Recipe) -> Result<(), StoreError> {
        drop(self.backfilling.lock().unwrap_or_else(PoisonError::into_inner).take());
        self.held.release(Part::Vectors);
        Spaces::give_up(&recipe.state_dir)?;
        self.backfill(recipe.better.clone(), &recipe.settings.embed, &recipe.state_dir)
    }

    /// Returns the progress of the better model's vectors, if there is such a model.
    pub fn backfilled(&self) -> Option<backfill::BackfillProgress> {
        let backfilling = self.backfilling.lock().unwrap_or_else(PoisonError::into_inner);
        backfilling.as_ref().map(Backfilling::progress)
    }

    /// Retries a better model that could not be used; returns false if there is none.
    pub fn try_embedding_again(&self) -> bool {
        let backfilling = self.backfilling.lock().unwrap_or_else(PoisonError::into_inner);
        backfilling.as_ref().is_some_and(Backfilling::try_again)
    }

    /// Returns the layer of a better model that gave no vector for the last question.
    pub fn unanswered(&self) -> Option<Arc<Layer>> {
        let backfilling = self.backfilling.lock().unwrap_or_else(PoisonError::into_inner);
        backfilling.as_ref().and_then(Backfilling::unanswered)
    }

    /// Counts the documents in this build's index.
    pub fn n_documents(&self) -> Result<u64, StoreError> {
        self.readers.look(|index| index.documents().count())
    }

    /// Returns whether everything noticed so far is searchable, resolved and embedded.
    pub fn settled(&self) -> SettledView {
        // In the order in which work flows: an item that has left one place is counted in a later one.
        let state = self.watcher.state();
        // Documents that are on the belt only for the deep pass are searchable and linked already.
        if self.health.only_deepens(state.n_news()) {
            return SettledView { searchable: true, resolved: true, vectors: true, deep: false };
        }
        let searchable = self.traffic.is_quiet();
        let resolved = searchable && !self.health.has_ripple();
        let rest = self.health.deep();
        let deep = resolved && (rest.is_paused || rest.left.0 == 0);
        SettledView { searchable, resolved, vectors: searchable, deep }
    }

    /// Waits until `reached` returns true; returns false when the time is over or the writer has stopped.
    pub async fn wait_until(&self, limit: Duration, mut reached: impl FnMut() -> bool) -> bool {
        let deadline = Instant::now() + limit;
        let mut changes = self.health.changes();
        loop {
            if reached() {
                return true;
            }
            if Instant::now() >= deadline || self.health.poisoned().is_some() {
                return false;
            }
            tokio::select! {
                _ = changes.changed() => {}
                () = tokio::time::sleep(LOOK_AGAIN) => {}
            }
        }
    }

    /// Sends a command to the writer and waits for its answer, unless nothing can be written.
    ///
    /// # Errors
    /// The writer's message, that it has stopped, or why it cannot write; in the last case the command is not carried
    /// out.
    pub async fn command<T>(
        &self,
        make: impl FnOnce(oneshot::Sender<Result<T, String>>) -> Command,
    ) -> Result<T, String> {
        let (reply, answer) = oneshot::channel();
        let stopped = || "the writer has stopped".to_string();
        let (order, is_taken) = Order::new(make(reply));
        let answered = async {
            self.commands.send(order).await.map_err(|_| stopped())?;
            answer.await.map_err(|_| stopped())?
        };
        let mut answered = pin!(answered);
        tokio::select! {
            answer = &mut answered => return answer,
            stall = self.health.stalled_for(STALL_PATIENCE) => {
                // The first to set the flag decides: set here, the command is withdrawn; set in the writer, it starts.
                if !is_taken.swap(true, Ordering::SeqCst) {
                    return Err(stall.refusal());
                }
            }
        }
        // The writer has started it, and will answer even if it fails.
        answered.await
    }

    /// Stops watching, lets the belt drain, and closes. What is left when the limit is over is found at the next
    /// start.
    pub async fn drain(&self, limit: Duration) {
        sys::fail::point("drain.begun");
        drop(self.backfilling.lock().unwrap_or_else(PoisonError::into_inner).take());
        self.watcher.stop().await;
        sys::fail::point("drain.watched");
        let belt = self.belt.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(belt) = belt else { return };
        tokio::select! {
            _ = belt => {}
            () = tokio::time::sleep(limit) => {
                tracing::warn!(left = self.traffic.depth().total(), "the belt did not drain in time");
            }
            // What cannot be written is found at the next start, so there is no point in waiting.
            () = self.health.until_stalled() => {
                tracing::warn!(left = self.traffic.depth().total(), "cannot drain the belt");
            }
        }
        sys::fail::point("drain.done");
    }
}
