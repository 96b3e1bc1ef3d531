//! Command: requests of tools and of the upkeep to the writer.
//!
//! In: a command with a channel for its answer. Out: the answer, once the result is durable.
//! Invariants: an order that its caller has withdrawn is not carried out, and no caller withdraws one that is being
//! carried out; if the ledger is lost, nothing is recorded.

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
    /// Writes or revokes review decisions; answers with the tick that shows them.
    Decide(Vec<(String, Option<Verdict>)>, oneshot::Sender<Result<Tick, String>>),
    /// Replaces the index by another file; answers with the tick that is read from then on.
    Replace(Replacement, oneshot::Sender<Result<Tick, String>>),
    /// Starts over with an empty index, because the current one is damaged; the text says how.
    BeginAgain(String, oneshot::Sender<Result<Tick, String>>),
    /// Records what a caller said about documents.
    RecordIngest(Vec<RelPath>, IngestRecord, oneshot::Sender<Result<(), String>>),
    /// Records what tools did to entities.
    RecordMemory(Vec<MemoryEvent>, oneshot::Sender<Result<(), String>>),
    /// Records that a client has seen all changes up to a tick.
    KeepMark(String, Tick, oneshot::Sender<Result<(), String>>),
    /// Answers with a number for a new entry that is greater than this one.
    NextEntry(u64, oneshot::Sender<Result<u64, String>>),
    /// Records what tools did to entries; answers with the number of each version.
    RecordKb(Vec<KbRecord>, oneshot::Sender<Result<Vec<u64>, String>>),
    /// Pauses or resumes the deep pass.
    PauseDeep(bool, oneshot::Sender<Result<(), String>>),
    /// Checks whether the ledger is still the file that was opened; if not, a stand-in replaces it.
    HeedLedger(oneshot::Sender<Result<(), String>>),
    /// Checks the ledger for damage; the daemon ends if it is damaged.
    CheckLedger(oneshot::Sender<Result<(), String>>),
    /// Rewrites these documents from their files, because their stored bytes have changed.
    Distrust(Vec<(i64, RelPath)>, oneshot::Sender<Result<(), String>>),
    /// Resets the failure counts of these files, so that they are retried.
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
    /// Creates an order and the flag with which its caller withdraws it: the first to set the flag wins.
    pub fn new(command: Command) -> (Self, Arc<AtomicBool>) {
        let is_taken = Arc::new(AtomicBool::new(false));
        (Order { command, is_taken: is_taken.clone() }, is_taken)
    }

    fn take(&self) -> bool {
        !self.is_taken.swap(true, Ordering::SeqCst)
    }
}

impl WriteState {
    /// Carries out an order unless its caller has withdrawn it.
    pub(super) async fn obey(&mut self, order: Order) -> Result<(), StoreError> {
        if !order.take() {
            return Ok(());
        }
        let Err(lost) = self.args.held.check_ledger() else { return self.run(order.command).await };
        let refusal = lost.to_string();
        // With a lost ledger, everything that would be recorded is refused; commands about files and reading still
        // work.
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

    /// Replaces a lost ledger by a stand-in.
    pub(super) async fn heed_ledger(&mut self) -> Result<(), StoreError> {
        let Seen::Lost(why) = self.args.held.look(Part::Ledger) else { return Ok(()) };
        let noted = why.clone();
        let stand_in = move |writer: &mut IndexWriter| writer.stand_in(&why);
        if self.with_writer(Lane::Interactive, false, stand_in).await? == Some(true) {
            tracing::error!(
                why = noted,
                "the ledger is missing; writes are refused, queries still work"
            );
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
                // If the replacement left the writer without a file, this fails and stops it.
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
                // The rest of the deep pass is considered when nothing else is due.
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
                    // Their files are unchanged, so only a request makes the watcher read them.
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
