//! Layer: the vectors of a better model in memory, as far as they are computed.
//!
//! In: rows as they are computed, and which rows a commit removes. Out: a view, as of the reader's commit, that may
//! lack rows.
//! Invariants: a row is in it only while its window is searched; rows are added together with the commit at which
//! they were looked up, and refused if a newer one exists; a view that missed a commit is dropped and made again. A
//! model that cannot embed questions is tried again on request, not with every question.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwapOption;
use rustc_hash::FxHashSet;

use super::{Form, VectorChange, View};
use embed::{EmbedError, Embedder};
use model::document::UnitVector;
use model::terms::Tick;

/// Marks the absence of a commit.
const NEVER: u64 = u64::MAX;

/// Questions whose vectors are cached: they recur for the next page, or from another client.
const REMEMBERED: usize = 32;

/// Windows kept that questions have found without a row.
const MOST_MET: usize = 200;

/// A question that any model can embed.
const PROBE: &str = "a";

/// One vector space, and the model that embeds questions for it.
pub struct Layer {
    embedder: Arc<dyn Embedder>,
    form: Form,
    view: ArcSwapOption<View>,
    changing: Mutex<()>,
    /// The last questions, the oldest first.
    asked: Mutex<VecDeque<(String, UnitVector)>>,
    /// Why the last question got no vector, if the reason concerns the model.
    failure: Mutex<Option<EmbedError>>,
    /// The last commit at which no row was missing.
    full_at: AtomicU64,
    /// Windows without a row that questions found lately, newest first.
    met: Mutex<VecDeque<i64>>,
}

impl Layer {
    /// Creates a layer without rows.
    pub fn new(embedder: Arc<dyn Embedder>, form: Form) -> Self {
        Layer {
            embedder,
            form,
            view: ArcSwapOption::empty(),
            changing: Mutex::default(),
            asked: Mutex::default(),
            failure: Mutex::default(),
            full_at: AtomicU64::new(NEVER),
            met: Mutex::default(),
        }
    }

    /// Records windows without a row that a question has found, best first: their rows are the most urgent.
    pub fn note_met(&self, windows: impl DoubleEndedIterator<Item = i64>) {
        let mut met = self.met.lock().unwrap_or_else(PoisonError::into_inner);
        windows.rev().for_each(|window| met.push_front(window));
        met.truncate(MOST_MET);
    }

    /// Returns and clears the windows recorded so far.
    pub fn take_met(&self) -> Vec<i64> {
        self.met.lock().unwrap_or_else(PoisonError::into_inner).drain(..).collect()
    }

    /// Returns the model.
    pub fn embedder(&self) -> &Arc<dyn Embedder> {
        &self.embedder
    }

    /// Returns the vector of a question, cached or from the model.
    pub fn question(&self, text: &str) -> Result<UnitVector, EmbedError> {
        let asked = || self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = asked().iter().find(|(known, _)| known == text) {
            return Ok(known.clone());
        }
        // A model that has failed for good is not tried with every question; `try_again` does it.
        if let Some(error) = self.failure().filter(|it| self.is_given_up(it)) {
            return Err(error);
        }
        let vector = self.ask(text)?;
        let mut asked = asked();
        if asked.len() == REMEMBERED {
            asked.pop_front();
        }
        asked.push_back((text.to_string(), vector.clone()));
        Ok(vector)
    }

    /// Embeds a question, and records whether the model failed.
    fn ask(&self, text: &str) -> Result<UnitVector, EmbedError> {
        let asked = self.embedder.try_question(text);
        // One text that was refused says nothing about the next.
        let failure = asked.as_ref().err().filter(|it| !matches!(it, EmbedError::Text { .. }));
        let before = std::mem::replace(&mut *self.failure_lock(), failure.cloned());
        // Logged at the first failure only.
        if let (None, Some(error)) = (before, failure) {
            tracing::warn!(%error, "questions are answered by static vectors");
        }
        asked
    }

    /// Returns why the last question got no vector, if that may hold for the next one.
    pub fn failure(&self) -> Option<EmbedError> {
        self.failure_lock().clone()
    }

    /// Clears a temporary failure, because the model has embedded documents since.
    pub fn note_success(&self) {
        let mut failure = self.failure_lock();
        if matches!(*failure, Some(EmbedError::Later { .. })) {
            *failure = None;
        }
    }

    /// Tries the model now, although it failed.
    pub fn try_again(&self) {
        self.embedder.ask_again();
        // `ask` records the outcome.
        let _ = self.ask(PROBE);
    }

    fn is_given_up(&self, error: &EmbedError) -> bool {
        matches!(error, EmbedError::Model { .. }) && self.embedder.may_recover()
    }

    fn failure_lock(&self) -> MutexGuard<'_, Option<EmbedError>> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the view for readers of this commit; `None` if it has no rows.
    pub fn at(&self, tick: Tick) -> Option<Arc<View>> {
        self.view.load_full().filter(|view| view.knows(tick) && view.n_rows() > 0)
    }

    /// Returns the current view.
    pub fn view(&self) -> Option<Arc<View>> {
        self.view.load_full()
    }

    /// Returns whether all windows of this commit have their rows.
    pub fn is_full_at(&self, tick: Tick) -> bool {
        self.full_at.load(Ordering::Acquire) == tick.0
    }

    /// Returns the rows present at this commit, which is the one that the caller reads; `None` if a newer one has
    /// been announced. The caller may [`Layer::add`] the missing ones.
    pub fn begin(&self, tick: Tick) -> Option<FxHashSet<i64>> {
        let _alone = self.lock();
        match self.view.load_full() {
            Some(view) if view.newest() > tick => None,
            Some(view) if view.newest() == tick => Some(view.ids_at(tick)),
            // No view, or one that missed a commit: it starts empty.
            _ => {
                self.view.store(Some(Arc::new(View::empty(tick, self.form.clone()))));
                Some(FxHashSet::default())
            }
        }
    }

    /// Adds rows whose windows exist at `tick`; returns false if that is not the last commit any more.
    pub fn add(&self, tick: Tick, rows: &[(i64, Vec<u8>)]) -> bool {
        let _alone = self.lock();
        let Some(view) = self.view.load_full().filter(|view| view.newest() == tick) else {
            return false;
        };
        if !rows.is_empty() {
            self.view.store(Some(Arc::new(view.with_more(rows))));
        }
        true
    }

    /// Drops all rows, since no window is left for this model; returns false if `tick` is not the last commit any
    /// more.
    pub fn clear(&self, tick: Tick) -> bool {
        let _alone = self.lock();
        let is_last = self.view.load().as_ref().is_some_and(|view| view.newest() == tick);
        if is_last {
            self.view.store(Some(Arc::new(View::empty(tick, self.form.clone()))));
        }
        is_last
    }

    /// Records that no row is missing at `tick`; returns false if that is not the last commit any more.
    pub fn note_full(&self, tick: Tick) -> bool {
        let _alone = self.lock();
        let is_last = self.view.load().as_ref().is_some_and(|view| view.newest() == tick);
        if is_last {
            self.full_at.store(tick.0, Ordering::Release);
        }
        is_last
    }

    /// Applies the removals of a commit that is about to be made.
    pub(super) fn publish(&self, tick: Tick, change: &VectorChange) {
        let _alone = self.lock();
        let Some(view) = self.view.load_full() else { return };
        let gone = VectorChange { gone: change.gone.clone(), ..VectorChange::default() };
        self.view.store(view.with(tick, gone).map(Arc::new));
        // A commit that adds no window leaves a complete layer complete.
        let brings_none = change.born.is_empty() && change.n_bare == 0;
        if brings_none && self.full_at.load(Ordering::Acquire).wrapping_add(1) == tick.0 {
            self.full_at.store(tick.0, Ordering::Release);
        }
    }

    /// Drops the view, because a commit failed or the index is another one.
    pub(super) fn forget(&self) {
        let _alone = self.lock();
        self.view.store(None);
        self.full_at.store(NEVER, Ordering::Release);
    }

    fn lock(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
