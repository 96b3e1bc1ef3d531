//! Pace: how far the backfill is and how fast it goes, for `status`.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Weight of the last text in the time a text takes.
const LAST: f64 = 0.05;

/// How far it is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BackfillProgress {
    /// As `embed.model` has it.
    pub model: String,
    /// As the embedder names it.
    pub space: String,
    /// The space of a model before, while it answers.
    pub before: Option<String>,
    /// Windows with a vector.
    pub n_done: u64,
    /// Windows that are searched.
    pub n_windows: u64,
    /// Windows, which count as done, whose text the model refused.
    pub n_refused: u64,
    /// True when questions are answered by better vectors alone: every window had one when that was last looked at.
    pub is_full: bool,
    /// True while another daemon of this machine makes vectors.
    pub waits_for_turn: bool,
    /// Seconds that a text took lately; 0 while that is not known.
    pub seconds_a_text: f64,
    /// The last error of the model, if it has not recovered.
    pub trouble: Option<Trouble>,
    /// The models for languages that this one does not know.
    pub others: Vec<BackfillProgress>,
}

/// Why a model gives no vectors.
#[derive(Debug, Clone, PartialEq)]
pub struct Trouble {
    /// In words; may end in a line `hint: …`.
    pub why: String,
    /// When it is asked again.
    pub again: Again,
}

/// When a model that gave no vectors is asked again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Again {
    /// By itself, then.
    At(Instant),
    /// When somebody wants it.
    WhenWanted,
    /// By the next question.
    ByQuestion,
    /// When the daemon starts anew.
    AtStart,
}

impl BackfillProgress {
    /// Returns how long the rest of `n_windows` takes at this pace if nothing else is to be done; `None` when the pace
    /// is unknown or the model gives no vectors.
    pub fn eta(&self, n_windows: u64) -> Option<Duration> {
        let n_left = n_windows.saturating_sub(self.n_done);
        let is_known = self.seconds_a_text > 0.0 && n_left > 0 && self.trouble.is_none();
        is_known.then(|| Duration::from_secs_f64(self.seconds_a_text * n_left as f64))
    }
}

/// Written by the backfill, read by `status`.
#[derive(Debug, Default)]
pub struct Pace(Mutex<BackfillProgress>);

impl Pace {
    /// At the start.
    pub(super) fn new(model: &str, space: &str) -> Self {
        let (model, space) = (model.to_string(), space.to_string());
        Pace(Mutex::new(BackfillProgress { model, space, ..BackfillProgress::default() }))
    }

    /// How far it is now.
    pub fn progress(&self) -> BackfillProgress {
        self.lock().clone()
    }

    pub(super) fn set(&self, n_done: usize, n_windows: usize) {
        let mut progress = self.lock();
        (progress.n_done, progress.n_windows) = (n_done as u64, n_windows as u64);
        progress.is_full &= n_done == n_windows;
    }

    pub(super) fn set_refused(&self, n_refused: usize) {
        self.lock().n_refused = n_refused as u64;
    }

    pub(super) fn add_refused(&self, n_refused: usize) {
        self.lock().n_refused += n_refused as u64;
    }

    /// Something is to be made again: nothing is known to be full until that was looked at.
    pub(super) fn begin_anew(&self) {
        self.lock().is_full = false;
    }

    pub(super) fn wait_for_turn(&self, waits: bool) {
        self.lock().waits_for_turn = waits;
    }

    pub(super) fn fill(&self) {
        self.lock().is_full = true;
    }

    pub(super) fn answers(&self, before: Option<String>) {
        self.lock().before = before;
    }

    pub(super) fn add(&self, n_done: usize) {
        self.lock().n_done += n_done as u64;
    }

    pub(super) fn fail(&self, trouble: Option<Trouble>) {
        self.lock().trouble = trouble;
    }

    /// Embeds texts, and counts the time that each took. The first one loads the model, which says nothing about the
    /// others.
    pub(super) fn timed<T>(&self, n_texts: usize, embed: impl FnOnce() -> T) -> T {
        let started = Instant::now();
        let done = embed();
        let seconds = started.elapsed().as_secs_f64() / n_texts.max(1) as f64;
        let mut progress = self.lock();
        progress.seconds_a_text = match progress.seconds_a_text {
            known if known > 0.0 && progress.n_done > 1 => known + LAST * (seconds - known),
            _ => seconds,
        };
        done
    }

    fn lock(&self) -> MutexGuard<'_, BackfillProgress> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_times_what_a_text_takes() {
        let progress =
            BackfillProgress { n_done: 10, seconds_a_text: 0.5, ..BackfillProgress::default() };
        assert_eq!(progress.eta(110), Some(Duration::from_secs(50)));
        assert_eq!(progress.eta(10), None, "nothing is left");
        let trouble = Some(Trouble { why: "401".into(), again: Again::WhenWanted });
        assert_eq!(
            BackfillProgress { trouble, ..progress.clone() }.eta(110),
            None,
            "nobody works on it"
        );
        assert_eq!(
            BackfillProgress { seconds_a_text: 0.0, ..progress }.eta(110),
            None,
            "nothing is known"
        );
    }
}
