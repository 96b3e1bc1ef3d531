//! A build: one index and all that keeps it equal to the folder: writer, belt and watcher.
//!
//! A project has one that lives as long as the daemon; `verify` starts a second one beside it, from nothing.
//! Invariant: "settled" is read in the order work flows (watcher, belt, ripples), so that nothing slips by.
//! Not here: answering (`project.rs`).

mod known;

use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context;
use config::Settings;
use config::settings::Embed;
use proto::tool::core::SettledView;
use ractor::Actor;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use self::known::KnownInIndex;
use crate::backfill;
use crate::backfill::{Backfill, Backfilling, Gate};
use crate::belt::{Budget, Depth, Gauge, Plan, Supervisor};
use crate::health::Health;
use crate::watch::{WatchOptions, WatchState, Watcher, WatcherHandle};
use crate::write::{Command, Order, WriteStation, WriterArgs};
use crate::{Queues, Stations, Tools};
use embed::{Embedder, WordPiece};
use extract::recognize::tagger::TaggerRecognizer;
use extract::relate::Vocabulary;
use formats::GivenNames;
use formats::Parsing;
use index::store::{
    Breakers, Decisions, Held, IndexWriter, Part, Readers, Spaces, StoreError, replace_missing,
};
use index::vectors::Layer;
use model::terms::{Generation, RelPath};

/// Commands that may wait for the writer.
const COMMAND_QUEUE: usize = 32;

/// How long a command waits for a writer that can write nothing: what passes at once is not worth an error.
const STALL_PATIENCE: Duration = Duration::from_secs(1);

/// How often a waiting call looks again, beside being woken by commits.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// What a build is made from.
#[derive(Clone)]
pub struct Recipe {
    /// The folder that is read.
    pub root: PathBuf,
    /// Where index and ledger lie; exists.
    pub state_dir: PathBuf,
    /// What decides about the rows.
    pub settings: Settings,
    /// The relations that are found.
    pub vocabulary: Arc<Vocabulary>,
    /// The tokenizer.
    pub tokens: Arc<WordPiece>,
    /// The model.
    pub embedder: Arc<dyn Embedder>,
    /// The better model, whose vectors come later.
    pub better: Option<Arc<dyn Embedder>>,
    /// The user's own model that finds names.
    pub model: Option<Arc<TaggerRecognizer>>,
    /// The names that the user states for documents.
    pub given: Option<Arc<GivenNames>>,
    /// Where documents are parsed.
    pub parsing: Parsing,
}

impl Recipe {
    /// What decides about the rows beside the settings: the models, the detectors, the relations, given names.
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

/// One index that is kept equal to the folder.
pub struct Build {
    /// Snapshots of this build's index.
    pub readers: Arc<Readers>,
    /// The index that answers until this one is whole, if that is another.
    pub answers: Option<PathBuf>,
    /// Review decisions.
    pub decisions: Decisions,
    /// Files that failed last.
    pub breakers: Breakers,
    /// Numbers kept by the writer.
    pub health: Arc<Health>,
    /// The queues, first to last.
    pub gauges: Arc<Vec<Gauge>>,
    /// The bytes of source files that may be on the belt.
    pub budget: Arc<Budget>,
    /// Commands to the watcher.
    pub watcher: WatcherHandle,
    /// Whether the databases' files are the ones that were opened.
    pub held: Held,
    commands: mpsc::Sender<Order>,
    belt: Mutex<Option<JoinHandle<()>>>,
    backfilling: Mutex<Option<Backfilling>>,
}

impl Build {
    /// Opens the databases, starts the belt and the watcher; the opening crawl runs on by itself.
    ///
    /// # Errors
    /// When a database cannot be opened or an actor cannot be started.
    pub async fn start(recipe: Recipe) -> anyhow::Result<Build> {
        let fingerprint = config::fingerprint::rows(&recipe.settings, &recipe.made_with());
        let Recipe {
            root,
            state_dir,
            settings,
            vocabulary,
            tokens,
            embedder,
            better,
            model,
            given,
            parsing,
        } = recipe;
        let replaced = replace_missing(&state_dir);
        let mut writer = IndexWriter::open(&state_dir, &fingerprint, &settings, embedder.clone())?;
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

        let queues = Queues::new();
        let tools = Tools {
            settings: settings.clone(),
            vocabulary,
            tokens,
            embedder,
            model,
            given,
            parsing: parsing.clone(),
            gazetteer: writer.gazetteer(),
        };
        let stations = Stations::new(&queues, &tools);
        let Queues { source, normal, chunked, mentioned, linked, related, embedded } = queues;
        let gauges = Arc::new(vec![
            source.gauge,
            normal.gauge,
            chunked.gauge,
            mentioned.gauge,
            linked.gauge,
            related.gauge,
            embedded.gauge,
        ]);

        let state = Arc::new(WatchState::default());
        let (commands, command_receiver) = mpsc::channel(COMMAND_QUEUE);
        let late_watcher: Arc<OnceLock<WatcherHandle>> = Arc::default();
        let writer_args = WriterArgs {
            writer: Arc::new(tokio::sync::Mutex::new(Some(writer))),
            inlet: embedded.inlet,
            commands: Arc::new(tokio::sync::Mutex::new(command_receiver)),
            health: health.clone(),
            is_quiet: is_quiet(state.clone(), gauges.clone()),
            is_more_coming: is_more_coming(state.clone(), gauges.clone()),
            n_news: n_news(state.clone()),
            requeue: requeue(late_watcher.clone()),
            deepen: deepen(late_watcher.clone()),
            read_all: read_all(late_watcher.clone()),
            held: held.clone(),
            readers: readers.clone(),
            now_ms,
        };
        let plan = Plan::default()
            .station(stations.normalize)
            .station(stations.chunk)
            .station(stations.recognize)
            .station(stations.link)
            .station(stations.relate)
            .station(stations.embed)
            .actor("write", move |supervisor| {
                let args = writer_args.clone();
                Box::pin(async move {
                    let (actor, _) =
                        Actor::spawn_linked(None, WriteStation, args, supervisor).await?;
                    Ok(actor.get_id())
                })
            });
        let (_, belt) =
            Actor::spawn(None, Supervisor, plan).await.context("the belt does not start")?;

        let budget = Budget::new(settings.belt.max_bytes_in_flight);
        let options = WatchOptions {
            root: root.clone(),
            settings: settings.watch.clone(),
            privacy: settings.privacy.clone(),
            first_generation: Generation(1),
            now_ms,
            budget: budget.clone(),
            parsing,
        };
        let known = Arc::new(KnownInIndex { readers: readers.clone(), breakers: breakers.clone() });
        let watcher = Watcher::spawn(options, known, source.lanes, state);
        let _ = late_watcher.set(watcher.clone());
        watcher.requeue(unread);
        let build = Build {
            readers,
            answers,
            decisions,
            breakers,
            health,
            gauges,
            budget,
            watcher,
            held,
            commands,
            belt: Mutex::new(Some(belt)),
            backfilling: Mutex::default(),
        };
        build.backfill(better, (&settings.embed, &state_dir))?;
        Ok(build)
    }

    /// Starts to make the better model's vectors, where there is such a model.
    fn backfill(
        &self,
        better: Option<Arc<dyn Embedder>>,
        (settings, state_dir): (&Embed, &Path),
    ) -> Result<(), StoreError> {
        let Some(better) = better else { return Ok(()) };
        let is_quiet = is_quiet(self.watcher.state().clone(), self.gauges.clone());
        let backfill = Backfill::new(state_dir, (better, settings), &self.readers)?;
        self.held.hold(Part::Vectors, &Spaces::path(state_dir));
        let gate = Gate::new(settings.background, is_quiet, self.health.clone());
        let started = backfill::start(backfill, self.health.clone(), gate);
        *self.backfilling.lock().unwrap_or_else(PoisonError::into_inner) = Some(started);
        Ok(())
    }

    /// Makes them again in a new file.
    ///
    /// # Errors
    /// When that cannot be made.
    pub fn backfill_again(&self, recipe: &Recipe) -> Result<(), StoreError> {
        drop(self.backfilling.lock().unwrap_or_else(PoisonError::into_inner).take());
        self.held.release(Part::Vectors);
        Spaces::give_up(&recipe.state_dir)?;
        self.backfill(recipe.better.clone(), (&recipe.settings.embed, &recipe.state_dir))
    }

    /// How far the better model's vectors are, where there is such a model.
    pub fn backfilled(&self) -> Option<backfill::Stand> {
        let backfilling = self.backfilling.lock().unwrap_or_else(PoisonError::into_inner);
        backfilling.as_ref().map(Backfilling::stand)
    }

    /// Asks a better model again that could not be used; false where there is none that waits for that.
    pub fn try_embedding_again(&self) -> bool {
        let backfilling = self.backfilling.lock().unwrap_or_else(PoisonError::into_inner);
        backfilling.as_ref().is_some_and(Backfilling::try_again)
    }

    /// The layer of a better model that gave no vector for the last question.
    pub fn unanswered(&self) -> Option<Arc<Layer>> {
        let backfilling = self.backfilling.lock().unwrap_or_else(PoisonError::into_inner);
        backfilling.as_ref().and_then(Backfilling::unanswered)
    }

    /// Everything on the belt.
    pub fn depth(&self) -> Depth {
        sum(&self.gauges)
    }

    /// Documents in this build's index.
    pub fn n_documents(&self) -> Result<u64, StoreError> {
        let n: i64 = self
            .readers
            .look(|db| db.query_row("SELECT count(*) FROM docs", [], |row| row.get(0)))?;
        Ok(n as u64)
    }

    /// Whether everything that was noticed is searchable, resolved, and has its vectors.
    pub fn settled(&self) -> SettledView {
        // In the order work flows: what left one place is found in a later one.
        let state = self.watcher.state();
        // What is on its way only to be read more closely is searchable and linked already.
        if self.health.only_deepens(state.n_news()) {
            return SettledView { searchable: true, resolved: true, vectors: true, deep: false };
        }
        let searchable = state.is_settled() && self.depth().total() == 0;
        let resolved = searchable && !self.health.has_ripple();
        let rest = self.health.deep();
        let deep = resolved && (rest.is_paused || rest.left.0 == 0);
        SettledView { searchable, resolved, vectors: searchable, deep }
    }

    /// Waits until `reached` says so, or until the time is over or the writer has stopped; false then.
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

    /// Sends a command to the writer and waits for its answer; not while nothing can be written.
    ///
    /// # Errors
    /// The writer's words, that it has stopped, or why it can write nothing; then the command is not carried out.
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
                if !is_taken.swap(true, Ordering::SeqCst) {
                    return Err(stall.refusal());
                }
            }
        }
        // It is being carried out, and trouble ends that, too.
        answered.await
    }

    /// Stops watching, lets the belt run empty, and closes. What is left when the limit is over is found again at
    /// the next start.
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
                tracing::warn!(left = self.depth().total(), "the belt did not run empty in time");
            }
            // What cannot be written is found again at the next start; nobody should wait for it.
            () = self.health.until_stalled() => {
                tracing::warn!(left = self.depth().total(), "the belt cannot run empty");
            }
        }
        sys::fail::point("drain.done");
    }
}

fn sum(gauges: &[Gauge]) -> Depth {
    gauges.iter().map(Gauge::depth).fold(Depth::default(), |a, b| Depth {
        interactive: a.interactive + b.interactive,
        bulk: a.bulk + b.bulk,
        in_work: a.in_work + b.in_work,
    })
}

fn is_quiet(
    state: Arc<WatchState>,
    gauges: Arc<Vec<Gauge>>,
) -> Arc<dyn Fn() -> bool + Send + Sync> {
    Arc::new(move || state.is_settled() && sum(&gauges).total() == 0)
}

/// True while a document is on its way to the writer, whose own gauge is the last.
fn is_more_coming(
    state: Arc<WatchState>,
    gauges: Arc<Vec<Gauge>>,
) -> Arc<dyn Fn() -> bool + Send + Sync> {
    Arc::new(move || {
        let before = gauges.split_last().map_or(&[][..], |(_, before)| before);
        !state.is_settled() || sum(before).total() > 0
    })
}

fn requeue(watcher: Arc<OnceLock<WatcherHandle>>) -> Arc<dyn Fn(Vec<RelPath>) + Send + Sync> {
    Arc::new(move |paths| {
        if let Some(watcher) = watcher.get() {
            watcher.requeue(paths);
        }
    })
}

fn n_news(state: Arc<WatchState>) -> Arc<dyn Fn() -> u64 + Send + Sync> {
    Arc::new(move || state.n_news())
}

fn deepen(watcher: Arc<OnceLock<WatcherHandle>>) -> Arc<dyn Fn(Vec<RelPath>) + Send + Sync> {
    Arc::new(move |paths| {
        if let Some(watcher) = watcher.get() {
            watcher.deepen(paths);
        }
    })
}

fn read_all(watcher: Arc<OnceLock<WatcherHandle>>) -> Arc<dyn Fn() + Send + Sync> {
    Arc::new(move || {
        if let Some(watcher) = watcher.get() {
            watcher.read_all_again();
        }
    })
}

/// Milliseconds since 1970, by the system's clock; a test may set it wrong.
fn now_ms() -> i64 {
    let off = |name| sys::fail::number(name).map_or(0, |ms| ms as i64);
    jiff::Timestamp::now().as_millisecond() + off("clock.ahead_ms") - off("clock.behind_ms")
}
