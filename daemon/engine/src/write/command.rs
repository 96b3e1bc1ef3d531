//! Command: requests of tools and of the upkeep to the writer.
//!
//! In: a command with a place for its answer. Out: the answer, once it is durable.
//! Invariants: an order whose caller has given up is not carried out, and nobody gives up one that is; where the ledger
//! is lost, nothing is recorded.
//! Not here: the transactions (`store/`).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::oneshot;

use super::WriteState;
use index::store::{
    IndexWriter, IngestRecord, KbRecord, MemoryEvent, Part, Seen, StoreError, Verdict,
};
use model::terms::{Lane, RelPath, Tick};

/// A request to the writer.
pub enum Command {
    /// Write or take back review decisions; answers with the tick that shows them.
    Decide(Vec<(String, Option<Verdict>)>, oneshot::Sender<Result<Tick, String>>),
    /// Put another file in the place of the index; answers with the tick that is read from then on.
    Replace(Replacement, oneshot::Sender<Result<Tick, String>>),
    /// The index is damaged, and how: begin again with an empty one.
    BeginAgain(String, oneshot::Sender<Result<Tick, String>>),
    /// Remember what a caller said about documents.
    RecordIngest(Vec<RelPath>, IngestRecord, oneshot::Sender<Result<(), String>>),
    /// Remember what tools did to entities.
    RecordMemory(Vec<MemoryEvent>, oneshot::Sender<Result<(), String>>),
    /// Remember that a client has seen all changes up to a tick.
    KeepMark(String, Tick, oneshot::Sender<Result<(), String>>),
    /// Give a number for a new entry that is greater than this one.
    NextEntry(u64, oneshot::Sender<Result<u64, String>>),
    /// Remember what tools did to entries; answers with the number of each version.
    RecordKb(Vec<KbRecord>, oneshot::Sender<Result<Vec<u64>, String>>),
    /// Stop the deep pass, or let it go on.
    PauseDeep(bool, oneshot::Sender<Result<(), String>>),
    /// Look whether the ledger is still the file that was opened; where it is not, another one stands in for it.
    HeedLedger(oneshot::Sender<Result<(), String>>),
    /// The ledger may be damaged: the daemon ends if it is.
    CheckLedger(oneshot::Sender<Result<(), String>>),
    /// What is stored of these documents is not what was: write them anew from their files.
    Distrust(Vec<(i64, RelPath)>, oneshot::Sender<Result<(), String>>),
    /// Count failures of these files anew, so that they are tried again.
    CloseBreakers(Vec<RelPath>, oneshot::Sender<Result<(), String>>),
}

/// Replaces the writer's file while nobody reads it.
pub type Replacement = Box<dyn FnOnce(&mut IndexWriter) -> Result<(), StoreError> + Send>;

/// A command on its way to the writer.
pub struct Order {
    command: Command,
    is_taken: Arc<AtomicBool>,
}

impl Order {
    /// Makes an order and the flag with which its caller withdraws it: the first to set the flag wins.
    pub fn new(command: Command) -> (Self, Arc<AtomicBool>) {
        let is_taken = Arc::new(AtomicBool::new(false));
        (Order { command, is_taken: is_taken.clone() }, is_taken)
    }

    fn take(&self) -> bool {
        !self.is_taken.swap(true, Ordering::SeqCst)
    }
}

impl WriteState {
    /// Carries out an order unless its caller has given up.
    pub(super) async fn obey(&mut self, order: Order) -> Result<(), StoreError> {
        if !order.take() {
            return Ok(());
        }
        let Err(lost) = self.args.held.check_ledger() else { return self.run(order.command).await };
        let refusal = lost.to_string();
        match order.command {
            Command::Decide(_, reply) => drop(reply.send(Err(refusal))),
            Command::RecordIngest(_, _, reply) => drop(reply.send(Err(refusal))),
            Command::RecordMemory(_, reply) => drop(reply.send(Err(refusal))),
            Command::KeepMark(_, _, reply) => drop(reply.send(Err(refusal))),
            Command::NextEntry(_, reply) => drop(reply.send(Err(refusal))),
            Command::RecordKb(_, reply) => drop(reply.send(Err(refusal))),
            other => return self.run(other).await,
        }
        self.heed_ledger().await
    }

    /// Where the ledger is lost, another one stands in for it from now on.
    pub(super) async fn heed_ledger(&mut self) -> Result<(), StoreError> {
        let Seen::Lost(why) = self.args.held.look(Part::Ledger) else { return Ok(()) };
        let noted = why.clone();
        let stand_in = move |writer: &mut IndexWriter| writer.stand_in(&why);
        if self.with_writer(Lane::Interactive, false, stand_in).await? == Some(true) {
            tracing::error!(why = noted, "the ledger is lost; nothing is written, reading goes on");
            self.args.health.mended("ledger", format!("{noted}; tools that write are refused"));
        }
        Ok(())
    }

    async fn run(&mut self, command: Command) -> Result<(), StoreError> {
        let now_ms = (self.args.now_ms)();
        match command {
            Command::Decide(decisions, reply) => {
                let done = self.try_once(move |writer| writer.decide(&decisions, now_ms)).await?;
                if let Ok(tick) = &done {
                    self.args.health.set_tick(*tick);
                }
                let _ = reply.send(done);
            }
            Command::Replace(replacement, reply) => {
                let done = self
                    .with_writer(Lane::Interactive, false, move |w| {
                        Ok(replacement(w).map(|()| w.tick()))
                    })
                    .await?;
                let done = done.unwrap_or_else(|| Err(StoreError::Gone));
                if let Ok(tick) = &done {
                    self.args.health.set_tick(*tick);
                    // The new file may have work left.
                    self.args.health.set_ripple(true);
                }
                let _ = reply.send(done.map_err(|error| error.to_string()));
                // A writer that was left without a file must not go on.
                self.with_writer(Lane::Interactive, false, |writer| writer.check()).await?;
            }
            Command::BeginAgain(why, reply) => {
                let done = self.begin_again(why).await;
                let tick = self.args.health.tick();
                let _ = reply.send(done.as_ref().map(|()| tick).map_err(ToString::to_string));
                done?;
            }
            Command::RecordIngest(paths, record, reply) => {
                let _ = reply.send(self.try_once(move |w| w.record_ingest(&paths, &record)).await?);
            }
            Command::RecordMemory(events, reply) => {
                let record = move |w: &mut IndexWriter| w.record_memory(&events, now_ms);
                let _ = reply.send(self.try_once(record).await?);
            }
            Command::KeepMark(client, tick, reply) => {
                let keep = move |w: &mut IndexWriter| w.keep_mark(&client, tick, now_ms);
                let _ = reply.send(self.try_once(keep).await?);
            }
            Command::NextEntry(floor, reply) => {
                let _ = reply.send(self.try_once(move |w| w.next_entry(floor)).await?);
            }
            Command::RecordKb(records, reply) => {
                let record = move |w: &mut IndexWriter| w.record_kb(&records, now_ms);
                let _ = reply.send(self.try_once(record).await?);
            }
            Command::PauseDeep(is_paused, reply) => {
                self.args.health.pause_deep(is_paused);
                // What is left is looked at when nothing else is due.
                self.args.health.set_ripple(true);
                let _ = reply.send(Ok(()));
            }
            Command::HeedLedger(reply) => {
                let _ = reply.send(self.heed_ledger().await.map_err(|error| error.to_string()));
            }
            Command::CheckLedger(reply) => {
                let check = |writer: &mut IndexWriter| writer.check_ledger();
                let done = self.with_writer(Lane::Interactive, false, check).await;
                let _ = reply.send(done.as_ref().map(drop).map_err(ToString::to_string));
                done?;
            }
            Command::Distrust(docs, reply) => {
                let (ids, paths): (Vec<i64>, Vec<RelPath>) = docs.into_iter().unzip();
                let done = self.try_once(move |writer| writer.distrust(&ids)).await?;
                if done.is_ok() {
                    self.args.watcher.requeue(paths);
                }
                let _ = reply.send(done);
            }
            Command::CloseBreakers(paths, reply) => {
                let _ = reply.send(self.try_once(move |w| w.close_breakers(&paths)).await?);
            }
        }
        Ok(())
    }
}
