//! Run: when the backfill works.
//!
//! In: commits, and whether the daemon has something better to do. Out: rounds, on a thread of the lowest priority.
//! Invariants: nothing is looked at while nothing has changed; a round that finds the gate closed ends; nothing is
//! embedded on this machine while another daemon does so.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use config::settings::Background;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::{Again, Backfill, BackfillProgress, Pace, Step, Trouble};
use crate::health::Health;
use embed::EmbedError;
use index::vectors::Layer;
use model::terms::Tick;
use sys::crew;

/// How often a closed gate is looked at while something is left. (It costs the looking.)
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// How often it is looked whether another daemon has given the turn back.
const TURN_AGAIN: Duration = Duration::from_secs(1);

/// How long a commit that has been announced may take before it is looked for again.
const COMMITS_WITHIN: Duration = Duration::from_millis(10);

/// How long everything must have been there before vectors of texts that are gone are deleted: a file that is saved
/// anew, or a branch that is switched back, finds them.
const KEPT_FOR: Duration = Duration::from_secs(60);

/// How long a disk that cannot be read or written is left alone.
const TROUBLE: Duration = Duration::from_secs(30);

/// A backfill that runs until this is dropped.
pub struct Backfilling {
    task: JoinHandle<()>,
    is_stopping: Arc<AtomicBool>,
    is_wanted_again: Arc<Notify>,
    /// Of each model that is wanted.
    models: Vec<(Arc<Pace>, Arc<Layer>)>,
    refused: Arc<AtomicBool>,
}

impl Backfilling {
    /// How far it is, with what questions met.
    pub fn progress(&self) -> BackfillProgress {
        let mut all = self.models.iter().map(|(pace, layer)| {
            let progress = pace.progress();
            let trouble = progress.trouble.or_else(|| Self::trouble_of_questions(layer));
            BackfillProgress { trouble, ..progress }
        });
        let first = all.next().unwrap_or_default();
        BackfillProgress { others: all.collect(), ..first }
    }

    fn trouble_of_questions(layer: &Layer) -> Option<Trouble> {
        let recovers = layer.embedder().may_recover();
        let (why, again) = match layer.failure()? {
            EmbedError::Model { why } if recovers => (why, Again::WhenWanted),
            EmbedError::Model { why } => (why, Again::AtStart),
            EmbedError::Later { why, .. } | EmbedError::Text { why } => (why, Again::ByQuestion),
        };
        Some(Trouble { why: format!("the last question got no vector: {why}"), again })
    }

    /// The layer whose questions got no vector.
    pub fn unanswered(&self) -> Option<Arc<Layer>> {
        let layers = self.models.iter().map(|(_, layer)| layer);
        layers.clone().find(|layer| layer.failure().is_some()).cloned()
    }

    /// Asks a model now that could not be used, or is left alone for a while, or refused texts that another one, or
    /// the same one mended, may take. False where there is none such.
    pub fn try_again(&self) -> bool {
        let tried = self.models.iter().map(|(pace, layer)| self.try_one_again(pace, layer));
        tried.fold(false, |any, tried| any | tried)
    }

    fn try_one_again(&self, pace: &Pace, layer: &Layer) -> bool {
        let (progress, embedder) = (pace.progress(), layer.embedder());
        let refused = progress.n_refused > 0 && embedder.may_recover();
        let waits = progress.trouble.is_some();
        if refused {
            self.refused.store(true, Ordering::Relaxed);
            pace.begin_anew();
        }
        if waits || refused {
            embedder.ask_again();
            pace.fail(None);
            self.is_wanted_again.notify_one();
        }
        waits || refused || layer.failure().is_some()
    }
}

impl Drop for Backfilling {
    fn drop(&mut self) {
        self.is_stopping.store(true, Ordering::Relaxed);
        self.task.abort();
    }
}

/// When it works.
pub struct Gate {
    /// True when nothing else is to be done, or that does not matter.
    pub is_open: Arc<dyn Fn() -> bool + Send + Sync>,
    /// True when every document has come through the belt.
    pub is_settled: Arc<dyn Fn() -> bool + Send + Sync>,
    /// Whether anything is embedded at all.
    pub is_on: bool,
}

impl Gate {
    /// By `embed.background`. `is_quiet` says that no document is on its way.
    pub fn new(
        background: Background,
        is_quiet: Arc<dyn Fn() -> bool + Send + Sync>,
        health: Arc<Health>,
    ) -> Self {
        // Without a ripple the deep pass has nothing to do, either.
        let is_settled: Arc<dyn Fn() -> bool + Send + Sync> = {
            let health = health.clone();
            Arc::new(move || is_quiet() && !health.has_ripple())
        };
        let is_idle = {
            let is_settled = is_settled.clone();
            move || is_settled() && !health.is_answering() && sys::courtesy::rests().is_none()
        };
        Gate {
            is_open: match background {
                Background::On => Arc::new(|| true),
                Background::Idle | Background::Off => Arc::new(is_idle),
            },
            is_settled,
            is_on: background != Background::Off,
        }
    }
}

/// Starts it.
pub fn start(backfill: Backfill, health: Arc<Health>, gate: Gate) -> Backfilling {
    let is_stopping = Arc::new(AtomicBool::new(false));
    let is_wanted_again = Arc::new(Notify::new());
    let models =
        backfill.wanted.iter().map(|tier| (tier.pace.clone(), tier.layer.clone())).collect();
    let refused = backfill.tries_refused.clone();
    let run = run(backfill, health, gate, is_stopping.clone(), is_wanted_again.clone());
    Backfilling { task: tokio::spawn(run), is_stopping, is_wanted_again, models, refused }
}

async fn run(
    mut backfill: Backfill,
    health: Arc<Health>,
    gate: Gate,
    is_stopping: Arc<AtomicBool>,
    is_wanted_again: Arc<Notify>,
) {
    // First what there is, however busy the daemon is: questions are asked already.
    let mut is_first = true;
    let turns = backfill.turns.clone();
    let mut turn = None;
    loop {
        let (is_open, stopping) = (gate.is_open.clone(), is_stopping.clone());
        let may_embed = gate.is_on && !is_first && turn.is_some();
        let tick = health.tick();
        let round = move || {
            let may_embed = || may_embed && is_open() && !stopping.load(Ordering::Relaxed);
            let step = backfill.round(&may_embed);
            (backfill, step)
        };
        let Ok((back, step)) = crew::embedding().run(round).await else { return };
        backfill = back;
        drop(turn.take());
        health.changed();
        let pause = match step {
            Ok(Step::Full(tick)) => {
                let Some(back) =
                    until_commit(backfill, &health, &gate, &is_wanted_again, tick, true).await
                else {
                    return;
                };
                backfill = back;
                Duration::ZERO
            }
            Ok(Step::Waits(tick)) if !gate.is_on => {
                let Some(back) =
                    until_commit(backfill, &health, &gate, &is_wanted_again, tick, false).await
                else {
                    return;
                };
                backfill = back;
                Duration::ZERO
            }
            Ok(Step::Waits(_)) if is_first => Duration::ZERO,
            Ok(Step::Waits(_)) => LOOK_AGAIN,
            Ok(Step::Moved) => COMMITS_WITHIN,
            Ok(Step::Later(after)) => {
                tokio::select! {
                    () = tokio::time::sleep(after) => {}
                    () = is_wanted_again.notified() => {}
                }
                Duration::ZERO
            }
            Ok(Step::Broken) if backfill.may_recover() => {
                is_wanted_again.notified().await;
                Duration::ZERO
            }
            Ok(Step::Broken) => return,
            Err(error) => {
                tracing::warn!(%error, "better vectors could not be made");
                TROUBLE
            }
        };
        is_first = false;
        tokio::time::sleep(pause).await;
        loop {
            while !(gate.is_open)() {
                tokio::time::sleep(LOOK_AGAIN).await;
            }
            turn = turns.try_take();
            let waits = gate.is_on && turn.is_none();
            backfill.paces().iter().for_each(|pace| pace.wait_for_turn(waits));
            // Without a turn, only what a commit has changed is worth a look.
            if turn.is_some() || health.tick() != tick {
                break;
            }
            tokio::time::sleep(TURN_AGAIN).await;
        }
    }
}

/// Waits for the commit after `tick`, or until somebody wants another look. Meanwhile, if everything is there: lets go
/// of the space before, and after a while of the vectors that nobody needs. None when the process is ending.
async fn until_commit(
    mut backfill: Backfill,
    health: &Health,
    gate: &Gate,
    is_wanted_again: &Notify,
    tick: Tick,
    is_full: bool,
) -> Option<Backfill> {
    let mut changes = health.changes();
    let mut is_tidy = !gate.is_on;
    while health.tick() <= tick {
        let is_settled = (gate.is_on || is_full) && (gate.is_settled)();
        if is_settled {
            backfill.retire();
        }
        tokio::select! {
            changed = changes.changed() => changed.ok()?,
            () = is_wanted_again.notified() => break,
            () = tokio::time::sleep(KEPT_FOR), if is_settled && !is_tidy => {
                let tidy = move || {
                    let done = backfill.tidy(tick);
                    (backfill, done)
                };
                let (back, done) = crew::embedding().run(tidy).await.ok()?;
                backfill = back;
                if let Err(error) = done {
                    tracing::warn!(%error, "old vectors could not be deleted");
                }
                is_tidy = true;
            }
        }
    }
    Some(backfill)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gate_is_open_while_nothing_else_is_to_be_done() {
        let is_quiet = Arc::new(AtomicBool::new(true));
        let health = Arc::new(Health::new(Tick(0)));
        let gate = |background| {
            let is_quiet = is_quiet.clone();
            let is_quiet = Arc::new(move || is_quiet.load(Ordering::Relaxed));
            Gate::new(background, is_quiet, health.clone())
        };
        let (idle, on, off) = (gate(Background::Idle), gate(Background::On), gate(Background::Off));
        let open = || [&idle, &on, &off].map(|gate| (gate.is_open)());
        assert_eq!([idle.is_on, on.is_on, off.is_on], [true, true, false]);
        assert_eq!(open(), [false, true, false], "names are left to resolve");
        health.set_ripple(false);
        assert_eq!(open(), [true, true, true]);
        let answering = health.answering();
        assert_eq!(open(), [false, true, false], "somebody is being answered");
        drop(answering);
        is_quiet.store(false, Ordering::Relaxed);
        assert_eq!(open(), [false, true, false], "documents are on their way");
        assert!(!(on.is_settled)());
    }
}
