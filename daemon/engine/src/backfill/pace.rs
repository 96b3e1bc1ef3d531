//! Pace: progress and speed of the backfill, for `status`.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Weight of the last text in the moving average of the time per text.
const LAST: f64 = 0.05;

/// The progress of one model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BackfillProgress {
    /// Value of `embed.model`.
    pub model: String,
    /// The embedder's name for the space.
    pub space: String,
    /// The space of the previous model, while that answers.
    pub before: Option<String>,
    /// Windows with a vector.
    pub n_done: u64,
    /// Windows that are searched.
    pub n_windows: u64,
    /// Windows whose text the model refused; they count as done.
    pub n_refused: u64,
    /// True when questions are answered by better vectors alone: every window had one at the last check.
    pub is_full: bool,
    /// True while another daemon on this machine computes vectors.
    pub waits_for_turn: bool,
    /// Recent time per text, seconds; 0 while unknown.
    pub seconds_a_text: f64,
    /// The last error of the model, if it has not recovered.
    pub trouble: Option<Trouble>,
    /// The models for languages that this one does not know.
    pub others: Vec<BackfillProgress>,
}

/// Why a model gives no vectors.
#[derive(Debug, Clone, PartialEq)]
pub struct Trouble {
    /// The message; may end in a line `hint: …`.
    pub why: String,
    /// When it is tried again.
    pub again: RetryWhen,
}

/// When a model that gave no vectors is tried again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RetryWhen {
    /// By itself, at this time.
    At(Instant),
    /// On request.
    WhenWanted,
    /// With the next question.
    ByQuestion,
    /// When the daemon restarts.
    AtStart,
}

impl BackfillProgress {
    /// Returns how long the rest of `n_windows` takes at this pace if nothing else is to be done; `None` if the pace
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
    /// Creates the progress of a model at the start.
    pub(super) fn new(model: &str, space: &str) -> Self {
        let (model, space) = (model.to_string(), space.to_string());
        Pace(Mutex::new(BackfillProgress { model, space, ..BackfillProgress::default() }))
    }

    /// Returns the current progress.
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

    /// Marks the model as incomplete until the next check, because something is to be computed again.
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

    /// Runs `embed` and updates the average time per text. The first call loads the model, so it does not count
    /// towards the average.
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
        let trouble = Some(Trouble { why: "401".into(), again: RetryWhen::WhenWanted });
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
