//! Write: the last station. One actor owns the one [`IndexWriter`].
//!
//! In: finished documents, deletions, faults; commands of tools that write. Out: commits, each with its tick.
//! Invariants: an interactive item is committed by itself, or with those that were submitted together with it,
//! resolved, before any bulk batch; one that arrives while a bulk batch or a ripple is being written interrupts it,
//! and the interrupted work is rolled back and repeated afterwards. Bulk commits and ripples run on the crew's
//! thread, interactive ones on a thread of normal priority. Ripples run only while nothing waits; the writer waits
//! for a disk that is full or locked (`stall.rs`); a database that fails otherwise stops the daemon, and never costs
//! a document.

mod command;
mod gather;
mod stall;

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef};
use tokio::sync::{Mutex, mpsc};
use tracing::field::Empty;

pub use self::command::{Command, Order, Replacement};

use crate::belt::{Inlet, Starting};
use crate::health::Health;
use crate::reread::Reread;
use crate::traffic::Traffic;
use crate::watch::WatcherHandle;
use config::limits::SPANS;
use index::store::{
    Held, IndexWriter, OBSERVED_EVERY, Part, Readers, RippleStep, Seen, StoreError, Trouble,
};
use model::Item;
use model::document::Document;
use model::terms::Lane;
use sys::crew;

/// How long the writer must have been idle before it runs a ripple.
const QUIET: Duration = Duration::from_millis(5);

/// Commits after which a ripple step runs although the belt is busy, so that names are linked during a long first
/// index.
const COMMITS_A_RIPPLE: u32 = 400;

/// How often to check whether the deep pass may continue.
const REST: Duration = Duration::from_secs(1);

/// How often one piece of bulk work yields to interactive items; after that it is finished, or it never would be.
const MOST_YIELDS: u32 = 3;

/// Documents after which free memory is returned to the system while more are to come, and once everything is
/// settled: that takes some milliseconds, and ongoing work soon takes again what it frees (20 MiB, mostly pages of
/// the index, after 400 files).
const DOCUMENTS_A_REST: usize = 1_000;
const DOCUMENTS_AT_THE_END: usize = 100;

/// If an index is damaged again within this time, it was no accident: the disk is unreliable.
const SOUND_FOR: Duration = Duration::from_secs(60);

/// The arguments of the writing actor; the supervisor keeps a copy to restart it.
#[derive(Clone)]
pub struct WriterArgs {
    /// The writer itself; taken out while it works.
    pub writer: Arc<Mutex<Option<IndexWriter>>>,
    /// Where finished documents come from.
    pub inlet: Arc<Inlet<Document>>,
    /// Where commands come from.
    pub commands: Arc<Mutex<mpsc::Receiver<Order>>>,
    /// Receives the numbers for `status`.
    pub health: Arc<Health>,
    /// What is on its way to the writer; ripples run only when nothing is.
    pub traffic: Traffic,
    /// Reads files again when the index starts over, or a row does not hold what was read.
    pub watcher: WatcherHandle,
    /// Reads documents again for the deep pass and for ripples.
    pub reread: Arc<Reread>,
    /// Checks whether the databases' files are still those that were opened.
    pub held: Held,
    /// The readers of the index that is written.
    pub readers: Arc<Readers>,
    /// Returns milliseconds since 1970.
    pub now_ms: fn() -> i64,
}

/// The writing actor.
struct WriteStation;

/// Starts the writing actor under its supervisor.
pub(crate) fn start(args: WriterArgs, supervisor: ActorCell) -> Starting {
    Box::pin(async move {
        let (actor, _) = Actor::spawn_linked(None, WriteStation, args, supervisor).await?;
        Ok(actor.get_id())
    })
}

/// The writer's state between items.
pub struct WriteState {
    args: WriterArgs,
    /// An interactive item that arrived while bulk was being written.
    held: Option<Item<Document>>,
    /// The bulk batch that it interrupted.
    interrupted: Option<Batch>,
    commits_since_ripple: u32,
    n_ripple_yields: u32,
    documents_since_rest: usize,
    /// The tracing span from the first commit until everything is settled, and the documents committed in it.
    pass: Option<(tracing::Span, u64)>,
    /// When the index was last rebuilt because of damage.
    began_again: Option<Instant>,
    /// Set while only the deep pass is left and it is resting: the end of the rest.
    rests_until: Option<Instant>,
    /// When the ledger next counts the time that the daemon has run.
    observes_at: Instant,
}

/// Documents that are committed together, and how often they have yielded.
struct Batch {
    items: Arc<Vec<Item<Document>>>,
    lane: Lane,
    n_yields: u32,
}

/// Makes the writer continue; the writer sends it to itself.
pub struct GoOn;

enum Work {
    Items(Box<Item<Document>>),
    Again(Batch),
    Order(Order),
    Observe,
    Idle,
    Drained,
}

impl Actor for WriteStation {
    type Msg = GoOn;
    type State = WriteState;
    type Arguments = WriterArgs;

    async fn pre_start(
        &self,
        myself: ActorRef<GoOn>,
        args: WriterArgs,
    ) -> Result<WriteState, ActorProcessingErr> {
        myself.cast(GoOn)?;
        let (held, interrupted) = (None, None);
        let (commits_since_ripple, n_ripple_yields, documents_since_rest) = (0, 0, 0);
        Ok(WriteState {
            args,
            held,
            interrupted,
            commits_since_ripple,
            n_ripple_yields,
            documents_since_rest,
            pass: None,
            began_again: None,
            rests_until: None,
            observes_at: Instant::now(),
        })
    }

    async fn handle(
        &self,
        myself: ActorRef<GoOn>,
        _: GoOn,
        state: &mut WriteState,
    ) -> Result<(), ActorProcessingErr> {
        let outcome = match state.next().await {
            Work::Items(first) => state.gather_and_commit(*first).await,
            Work::Again(batch) => state.commit(batch).await,
            Work::Order(order) => state.obey(order).await,
            Work::Observe => state.observe().await,
            Work::Idle => state.ripple().await,
            Work::Drained => {
                myself.stop(Some("drained".into()));
                return Ok(());
            }
        };
        let outcome = match outcome {
            Err(error) if error.trouble() == Trouble::Corrupt => {
                state.begin_again(error.to_string()).await
            }
            other => other,
        };
        if let Err(error) = outcome {
            // The store is unsound: refuse further writes and end the process.
            state.args.health.poison(error.to_string());
            myself.stop(Some("poisoned".into()));
            return Ok(());
        }
        myself.cast(GoOn)?;
        Ok(())
    }
}

impl WriteState {
    async fn next(&mut self) -> Work {
        // In order: the item that interrupted, other interactive items, the batch that was interrupted, then the
        // queues.
        if let Some(item) = self.held.take() {
            return Work::Items(Box::new(item));
        }
        if self.interrupted.is_some()
            && let Some(item) = self.args.inlet.try_next(Lane::Interactive)
        {
            return Work::Items(Box::new(item));
        }
        if let Some(batch) = self.interrupted.take() {
            return Work::Again(batch);
        }
        let args = self.args.clone();
        let mut commands = args.commands.lock().await;
        loop {
            let may_ripple = args.health.has_ripple();
            let rest = self.rests_until.map(|it| it.saturating_duration_since(Instant::now()));
            let pause = rest.unwrap_or_default().max(QUIET);
            tokio::select! {
                biased;
                Some(order) = commands.recv() => {
                    self.rests_until = None;
                    return Work::Order(order);
                }
                () = tokio::time::sleep_until(self.observes_at.into()) => return Work::Observe,
                item = args.inlet.next() => {
                    return item.map_or(Work::Drained, |item| Work::Items(Box::new(item)));
                }
                () = tokio::time::sleep(pause), if may_ripple => {
                    // Checking the machine's load is cheap; a ripple's queries grow with the folder.
                    if rest.is_none() || sys::courtesy::rests().is_none() {
                        return Work::Idle;
                    }
                    self.rests_until = Some(Instant::now() + REST);
                }
                () = sys::courtesy::wanted(), if may_ripple && rest.is_some() => return Work::Idle,
            }
        }
    }

    /// Has the ledger count the time that the daemon has run.
    async fn observe(&mut self) -> Result<(), StoreError> {
        self.observes_at = Instant::now() + OBSERVED_EVERY;
        let now_ms = (self.args.now_ms)();
        // What a full disk refuses is counted an hour later.
        self.try_once(move |writer| writer.observe(now_ms)).await.map(drop)
    }

    /// Commits the first item together with what waits behind it.
    async fn gather_and_commit(&mut self, first: Item<Document>) -> Result<(), StoreError> {
        let lane = first.ticket().lane;
        let items = gather::gather(first, &self.args).await;
        self.commit(Batch { items: Arc::new(items), lane, n_yields: 0 }).await
    }

    async fn commit(&mut self, batch: Batch) -> Result<(), StoreError> {
        let Batch { items, lane, n_yields } = batch;
        sys::fail::point("write.taken");
        let (n, now_ms, is_interactive) =
            (items.len(), (self.args.now_ms)(), lane == Lane::Interactive);
        let started = Instant::now();
        self.args.health.set_ripple(true);
        self.rests_until = None;
        let work = items.clone();
        let may_yield = n_yields < MOST_YIELDS;
        let done =
            self.insist(lane, may_yield, move |w| w.commit(&work, now_ms, is_interactive)).await;
        if done.as_ref().is_err_and(StoreError::is_interruption) {
            self.interrupted = Some(Batch { items, lane, n_yields: n_yields + 1 });
            return Ok(());
        }
        if let Ok(Some(done)) = &done {
            self.args.health.committed(done, started.elapsed());
            sys::fail::point("write.told");
            if !done.look_again.is_empty() {
                self.args.watcher.requeue(done.look_again.clone());
            }
            self.documents_since_rest += done.n_documents;
            let begin = || tracing::info_span!(target: SPANS, "index", documents = Empty);
            let (_, n_documents) = self.pass.get_or_insert_with(|| (begin(), 0));
            *n_documents += done.n_documents as u64;
        }
        // Release their share of the budget before they are counted as done.
        drop(items);
        self.args.inlet.done(n);
        self.commits_since_ripple += 1;
        if self.commits_since_ripple >= COMMITS_A_RIPPLE {
            self.ripple_step(None).await?;
        }
        done.map(|_| ())
    }

    async fn ripple(&mut self) -> Result<(), StoreError> {
        let n_news = self.args.traffic.n_news();
        if !self.args.traffic.is_quiet() {
            // Documents on their way would make this work necessary again.
            return Ok(());
        }
        self.ripple_step(Some(n_news)).await
    }

    /// Does one step of the work that commits left behind. `quiet`: nothing is on its way; the value is the count of
    /// news from before that was checked.
    async fn ripple_step(&mut self, quiet: Option<u64>) -> Result<(), StoreError> {
        let when_quiet = quiet.is_some();
        self.commits_since_ripple = 0;
        let may_yield = self.n_ripple_yields < MOST_YIELDS;
        let step = self.insist(Lane::Bulk, may_yield, move |w| w.ripple(when_quiet)).await;
        if step.as_ref().is_err_and(StoreError::is_interruption) {
            self.n_ripple_yields += 1;
            return Ok(());
        }
        let step = step?;
        if matches!(step, Some(RippleStep::Progress | RippleStep::Settled)) {
            self.n_ripple_yields = 0;
        }
        let tick = self.with_writer(Lane::Bulk, false, |writer| Ok(writer.tick())).await?;
        self.args.health.set_tick(tick.unwrap_or_default());
        match step {
            Some(RippleStep::Requeue(documents)) => self.args.reread.send(documents),
            Some(RippleStep::Settled) if when_quiet => {
                let now_ms = (self.args.now_ms)();
                let mark = move |writer: &mut IndexWriter| {
                    writer.mark_vanished(now_ms).map(|()| writer.tick())
                };
                // Everything is settled: the ledger can learn which documents have vanished.
                let tick = self.insist(Lane::Bulk, false, mark).await?;
                self.args.health.set_tick(tick.unwrap_or_default());
                let n_news = quiet.unwrap_or_default();
                if !self.deepen(n_news).await? && !self.end_deep_pass(n_news).await? {
                    self.args.health.set_ripple(false);
                    if let Some((span, n_documents)) = self.pass.take() {
                        span.record("documents", n_documents);
                    }
                    self.insist(Lane::Bulk, false, |writer| writer.vacuum()).await?;
                    language::Pipeline::rest_shared();
                    if self.documents_since_rest >= DOCUMENTS_AT_THE_END {
                        self.rest().await?;
                        self.documents_since_rest = 0;
                    }
                } else if self.documents_since_rest >= DOCUMENTS_A_REST {
                    self.rest().await?;
                    // Due again when everything is settled, however few documents are left.
                    self.documents_since_rest = DOCUMENTS_AT_THE_END;
                }
            }
            _ => {}
        }
        self.args.health.changed();
        Ok(())
    }

    /// Hands out the next documents of the deep pass, or lets it rest; returns false if there are none. While they
    /// are on their way, a ripple stays due.
    async fn deepen(&mut self, n_news: u64) -> Result<bool, StoreError> {
        let is_paused = self.args.health.deep().is_paused;
        let rests_for = sys::courtesy::rests().filter(|_| !is_paused);
        let hands_out_none = is_paused || rests_for.is_some();
        let next =
            self.insist(Lane::Bulk, false, move |writer| writer.next_deep(hands_out_none)).await?;
        let next = next.unwrap_or_default();
        if rests_for.is_some() && next.left.0 > 0 {
            if self.args.health.deep().rests_for.is_none() {
                tracing::info!(why = rests_for, "the deep pass is paused");
            }
            self.args.health.deepens(next.left, next.n_stuck, None);
            self.args.health.has_only_deep(n_news, rests_for);
            self.rests_until = Some(Instant::now() + REST);
            return Ok(true);
        }
        self.rests_until = None;
        let is_any = !next.documents.is_empty();
        let handed_out = is_any.then_some((n_news, next.n_bytes));
        self.args.health.deepens(next.left, next.n_stuck, handed_out);
        if is_any {
            sys::fail::point("deep.marked");
            self.args.reread.send(next.documents);
        }
        Ok(is_any)
    }

    /// Makes the names due that the deep pass changed; returns false if there are none.
    async fn end_deep_pass(&mut self, n_news: u64) -> Result<bool, StoreError> {
        let end = |writer: &mut IndexWriter| writer.end_deep_pass();
        let has_names = self.insist(Lane::Bulk, false, end).await?.unwrap_or_default();
        if has_names {
            self.args.health.has_only_deep(n_news, None);
        }
        Ok(has_names)
    }

    /// Returns memory that the work needed to the system.
    async fn rest(&mut self) -> Result<(), StoreError> {
        let release = |writer: &mut IndexWriter| {
            writer.release_memory()?;
            sys::release_free_memory();
            Ok(())
        };
        self.with_writer(Lane::Bulk, false, release).await.map(|_| ())
    }

    /// Starts over with an empty index, because the file is damaged or missing; everything in it can be derived again
    /// from the folder and the ledger.
    ///
    /// # Errors
    /// That it is the ledger that is damaged, or that the index was damaged again at once.
    async fn begin_again(&mut self, why: String) -> Result<(), StoreError> {
        self.heed_ledger().await?;
        self.with_writer(Lane::Interactive, false, |writer| writer.check_ledger()).await?;
        // A file that somebody deletes repeatedly says nothing about the disk. It also explains the error of a
        // reader that met the loss first, which says only `disk I/O error`.
        let (is_damage, why) = match self.args.held.look(Part::Index) {
            Seen::Lost(what) => (false, what),
            Seen::Same | Seen::Shorter => (true, why),
        };
        if is_damage && self.began_again.is_some_and(|at| at.elapsed() < SOUND_FOR) {
            return Err(StoreError::Hopeless { why });
        }
        if is_damage {
            self.began_again = Some(Instant::now());
        }
        tracing::error!(why, "the index is damaged or missing; rebuilding it from the files");
        // Items in hand are dropped: the watcher reads everything again.
        if self.held.take().is_some() {
            self.args.inlet.done(1);
        }
        if let Some(batch) = self.interrupted.take() {
            self.args.inlet.done(batch.items.len());
        }
        let readers = self.args.readers.clone();
        let begin = move |writer: &mut IndexWriter| {
            readers.alone(|| Ok((writer.begin_again()?, ())))?;
            Ok(writer.tick())
        };
        let tick = self.insist(Lane::Interactive, false, begin).await?;
        self.args.health.set_ripple(true);
        self.args.reread.forget();
        self.args.watcher.read_all_again();
        self.args.health.mended("index", format!("{why}; it is built again from the files"));
        // Last: a caller who waits for this tick must find work to do, not an empty index that looks settled.
        self.args.health.set_tick(tick.unwrap_or_default());
        Ok(())
    }

    /// Runs `work` on another thread, one of the crew for the bulk lane. With `may_yield`, an interactive item that
    /// arrives meanwhile is held and interrupts the work. `None` if an earlier panic took the writer with it.
    async fn with_writer<T: Send + 'static>(
        &mut self,
        lane: Lane,
        may_yield: bool,
        work: impl FnOnce(&mut IndexWriter) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<Option<T>, StoreError> {
        // The lock is held until the writer is back in its slot. A panic leaves the slot empty.
        let mut slot = self.args.writer.clone().lock_owned().await;
        let Some(mut writer) = slot.take() else { return Ok(None) };
        let interruption = writer.interruption();
        let work = move || {
            let result = work(&mut writer);
            (writer, result)
        };
        let joined = match lane {
            Lane::Interactive => {
                tokio::task::spawn_blocking(work).await.map_err(|panic| panic.to_string())
            }
            Lane::Bulk => {
                let mut done = pin!(crew::writing().run(work));
                let done = tokio::select! {
                    // Finished work takes precedence over an item that would interrupt it.
                    biased;
                    done = &mut done => done,
                    item = self.args.inlet.next_interactive(), if may_yield && self.held.is_none() => {
                        self.held = Some(item);
                        interruption.store(true, Ordering::SeqCst);
                        done.await
                    }
                };
                // Otherwise the next work would stop at once.
                interruption.store(false, Ordering::SeqCst);
                done.map_err(|lost| lost.to_string())
            }
        };
        match joined {
            Ok((writer, result)) => {
                *slot = Some(writer);
                result.map(Some)
            }
            Err(panic) => {
                self.args.health.poison(format!("the writer panicked: {panic}"));
                Ok(None)
            }
        }
    }
}
