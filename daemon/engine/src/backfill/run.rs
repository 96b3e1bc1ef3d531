//! Run: decides when the backfill works.
//!
//! In: commits, and whether the daemon has something better to do. Out: rounds, on a thread of the lowest priority.
//! Invariants: no round starts unless something changed; a round that finds the gate closed ends; nothing is embedded
//! on this machine while another daemon embeds.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use config::settings::Background;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::{Backfill, BackfillProgress, Pace, RetryWhen, Step, Trouble};
use crate::health::Health;
use embed::EmbedError;
use index::vectors::Layer;
use model::terms::Tick;
use sys::crew;

/// How often a closed gate is checked while something is left. (Only the check costs anything.)
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// How often to check whether another daemon has released the turn.
const TURN_AGAIN: Duration = Duration::from_secs(1);

/// How long an announced commit may take before it is looked for again.
const COMMITS_WITHIN: Duration = Duration::from_millis(10);

/// How long everything must have been complete before vectors of deleted texts are removed: a file that is saved
/// again, or a branch that is switched back, finds them.
const KEPT_FOR: Duration = Duration::from_secs(60);

/// Pause after an error of the disk.
const TROUBLE: Duration = Duration::from_secs(30);

/// A running backfill, which stops when this is dropped.
pub struct Backfilling {
    task: JoinHandle<()>,
    is_stopping: Arc<AtomicBool>,
    is_wanted_again: Arc<Notify>,
    /// For each wanted model.
    models: Vec<(Arc<Pace>, Arc<Layer>)>,
    refused: Arc<AtomicBool>,
}

impl Backfilling {
    /// Returns the progress, including failures that questions have met.
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
            EmbedError::Model { why } if recovers => (why, RetryWhen::WhenWanted),
            EmbedError::Model { why } => (why, RetryWhen::AtStart),
            EmbedError::Later { why, .. } | EmbedError::Text { why } => {
                (why, RetryWhen::ByQuestion)
            }
        };
        Some(Trouble { why: format!("the last question got no vector: {why}"), again })
    }

    /// Returns the layer that gave no vector for the last question.
    pub fn unanswered(&self) -> Option<Arc<Layer>> {
        let layers = self.models.iter().map(|(_, layer)| layer);
        layers.clone().find(|layer| layer.failure().is_some()).cloned()
    }

    /// Retries the models that could not be used, that are pausing, or that refused texts which they may accept now.
    /// Returns false if there are none.
    pub fn try_again(&self) -> bool {
        let tried = self.models.iter().map(|(pace, layer)| self.try_one_again(pace, layer));
        // `fold` and `|`, not `any`: every model is retried.
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

/// Conditions under which the backfill works.
pub struct Gate {
    /// True when nothing else is to be done, or that is ignored.
    pub is_open: Arc<dyn Fn() -> bool + Send + Sync>,
    /// True when every document has left the belt.
    pub is_settled: Arc<dyn Fn() -> bool + Send + Sync>,
    /// Whether anything is embedded at all.
    pub is_on: bool,
}

impl Gate {
    /// Builds the gate that `embed.background` asks for. `is_quiet` returns whether no document is on the belt.
    pub fn new(
        background: Background,
        is_quiet: Arc<dyn Fn() -> bool + Send + Sync>,
        health: Arc<Health>,
    ) -> Self {
        // Without a ripple the deep pass has nothing to do either.
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

/// Starts the backfill.
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
    // The first round only loads what the file has, however busy the daemon is: questions come already.
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
        // The turn is released after every round, so that other daemons make progress, too.
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
            // `embed.background` is off: nothing is embedded, but vectors of known texts are loaded after each
            // commit.
            Ok(Step::Waits(tick)) if !gate.is_on => {
                let Some(back) =
                    until_commit(backfill, &health, &gate, &is_wanted_again, tick, false).await
                else {
                    return;
                };
                backfill = back;
                Duration::ZERO
            }
            // The first round may not embed, so the second starts at once.
            Ok(Step::Waits(_)) if is_first => Duration::ZERO,
            Ok(Step::Waits(_)) => LOOK_AGAIN,
            // Commits are announced before they are made; this one is about to be.
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
            // Without a turn, a round is of use only if a commit has changed something.
            if turn.is_some() || health.tick() != tick {
                break;
            }
            tokio::time::sleep(TURN_AGAIN).await;
        }
    }
}

/// Waits for the commit after `tick`, or for a request to try again. If everything becomes complete first, retires the
/// previous space, and later deletes unused vectors. `None` when the process is ending.
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
    use index::store::testing::Bench;
    use index::store::{Held, Part, Seen, Spaces};

    use super::*;
    use crate::backfill::tests::rounds::{BETA, Backfilled, Letters};

    #[tokio::test]
    async fn the_file_of_a_backfill_that_ended_is_not_taken_for_lost() {
        let mut bench = Bench::new();
        bench.write(&[("beta.md", BETA)]);
        let letters = Letters::failing(EmbedError::Model { why: "broken".into() });
        let mut backfill = bench.backfill(&bench.writer.readers(), &letters);
        let held = Held::default();
        backfill.hold_in(&held, bench.folder.path());
        let health = Arc::new(Health::new(bench.writer.tick()));
        let gate = Gate::new(Background::On, Arc::new(|| true), health.clone());
        let mut backfilling = start(backfill, health, gate);
        (&mut backfilling.task).await.expect("it ends");
        let log = Spaces::path(bench.folder.path()).with_extension("sqlite-wal");
        assert!(!log.exists(), "closing the file deletes its log");
        assert_eq!(held.look(Part::Vectors), Seen::Same);
    }

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
