//! Layer: the vectors of a better model in memory, as far as they are made.
//!
//! In: rows as they are made, and which rows a commit takes away. Out: a view, as of the asker's commit, that may
//! lack rows.
//! Invariants: a row is in it only while its window is searched; who adds rows names the commit they were looked up at,
//! and is refused when another one has come since; a view that missed a commit is dropped and made again. A model that
//! cannot be used for questions is asked again when somebody wants that, not by each of them.
//! Not here: making vectors (`engine/backfill.rs`).

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwapOption;
use rustc_hash::FxHashSet;

use super::{Form, VectorChange, View};
use embed::{EmbedError, Embedder};
use model::parcel::UnitVector;
use model::terms::Tick;

/// No commit at which all rows were there.
const NEVER: u64 = u64::MAX;

/// Questions whose vectors are remembered: those that are asked again for the next page, or by another client.
const REMEMBERED: usize = 32;

/// Windows remembered that questions have met.
const MOST_MET: usize = 200;

/// A question that any model can embed.
const PROBE: &str = "a";

/// One space, and who embeds questions for it.
pub struct Layer {
    embedder: Arc<dyn Embedder>,
    form: Form,
    view: ArcSwapOption<View>,
    changing: Mutex<()>,
    /// The last questions, the oldest first.
    asked: Mutex<VecDeque<(String, UnitVector)>>,
    /// Why the last question that was put to the model got no vector, where that says something of the model.
    failure: Mutex<Option<EmbedError>>,
    /// The last commit at which it lacked nothing.
    full_at: AtomicU64,
    /// Windows without a row that questions have met lately, the last ones first.
    met: Mutex<VecDeque<i64>>,
}

impl Layer {
    /// Without rows.
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

    /// Notes windows that a question has met, best first, and that have no row yet: their rows are wanted soonest.
    pub fn note_met(&self, windows: impl DoubleEndedIterator<Item = i64>) {
        let mut met = self.met.lock().unwrap_or_else(PoisonError::into_inner);
        windows.rev().for_each(|window| met.push_front(window));
        met.truncate(MOST_MET);
    }

    /// Takes the windows noted so far.
    pub fn take_met(&self) -> Vec<i64> {
        self.met.lock().unwrap_or_else(PoisonError::into_inner).drain(..).collect()
    }

    /// The model.
    pub fn embedder(&self) -> &Arc<dyn Embedder> {
        &self.embedder
    }

    /// The vector of a question.
    pub fn question(&self, text: &str) -> Result<UnitVector, EmbedError> {
        let asked = || self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = asked().iter().find(|(known, _)| known == text) {
            return Ok(known.clone());
        }
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

    /// Puts a question to the model.
    fn ask(&self, text: &str) -> Result<UnitVector, EmbedError> {
        let asked = self.embedder.try_question(text);
        // The refusal of one text says nothing about the next.
        let failure = asked.as_ref().err().filter(|it| !matches!(it, EmbedError::Text { .. }));
        let before = std::mem::replace(&mut *self.failure_lock(), failure.cloned());
        if let (None, Some(error)) = (before, failure) {
            tracing::warn!(%error, "questions are answered by static vectors");
        }
        asked
    }

    /// Why the last question got no vector, if that may be so for the next one.
    pub fn failure(&self) -> Option<EmbedError> {
        self.failure_lock().clone()
    }

    /// The model has made vectors of documents: what failed for a while has passed.
    pub fn note_success(&self) {
        let mut failure = self.failure_lock();
        if matches!(*failure, Some(EmbedError::Later { .. })) {
            *failure = None;
        }
    }

    /// Asks the model a question now, although it failed.
    pub fn try_again(&self) {
        self.embedder.ask_again();
        // What comes of it is noted.
        let _ = self.ask(PROBE);
    }

    fn is_given_up(&self, error: &EmbedError) -> bool {
        matches!(error, EmbedError::Model { .. }) && self.embedder.may_recover()
    }

    fn failure_lock(&self) -> MutexGuard<'_, Option<EmbedError>> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What there is for whoever sees this commit; none when nothing is.
    pub fn at(&self, tick: Tick) -> Option<Arc<View>> {
        self.view.load_full().filter(|view| view.knows(tick) && view.n_rows() > 0)
    }

    /// What there is now.
    pub fn view(&self) -> Option<Arc<View>> {
        self.view.load_full()
    }

    /// Whether all windows of this commit have their rows.
    pub fn is_full_at(&self, tick: Tick) -> bool {
        self.full_at.load(Ordering::Acquire) == tick.0
    }

    /// Returns the rows that are there at this commit, which is the one that the caller sees; `None` when a later one
    /// is on its way. The caller may [`Layer::add`] the others.
    pub fn begin(&self, tick: Tick) -> Option<FxHashSet<i64>> {
        let _alone = self.lock();
        match self.view.load_full() {
            Some(view) if view.newest() > tick => None,
            Some(view) if view.newest() == tick => Some(view.ids_at(tick)),
            _ => {
                self.view.store(Some(Arc::new(View::empty(tick, self.form.clone()))));
                Some(FxHashSet::default())
            }
        }
    }

    /// Adds rows whose windows are there at `tick`; false when that is not the last commit any more.
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

    /// Drops all rows, since no window is for this model any more; false when `tick` is not the last commit any more.
    pub fn clear(&self, tick: Tick) -> bool {
        let _alone = self.lock();
        let is_last = self.view.load().as_ref().is_some_and(|view| view.newest() == tick);
        if is_last {
            self.view.store(Some(Arc::new(View::empty(tick, self.form.clone()))));
        }
        is_last
    }

    /// Records that nothing is missing at `tick`; false when that is not the last commit any more.
    pub fn note_full(&self, tick: Tick) -> bool {
        let _alone = self.lock();
        let is_last = self.view.load().as_ref().is_some_and(|view| view.newest() == tick);
        if is_last {
            self.full_at.store(tick.0, Ordering::Release);
        }
        is_last
    }

    /// Announces a commit.
    pub(super) fn publish(&self, tick: Tick, change: &VectorChange) {
        let _alone = self.lock();
        let Some(view) = self.view.load_full() else { return };
        let gone = VectorChange { gone: change.gone.clone(), ..VectorChange::default() };
        self.view.store(view.with(tick, gone).map(Arc::new));
        let brings_none = change.born.is_empty() && change.n_bare == 0;
        if brings_none && self.full_at.load(Ordering::Acquire).wrapping_add(1) == tick.0 {
            self.full_at.store(tick.0, Ordering::Release);
        }
    }

    /// The commit failed, or the index is another one.
    pub(super) fn forget(&self) {
        let _alone = self.lock();
        self.view.store(None);
        self.full_at.store(NEVER, Ordering::Release);
    }

    fn lock(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
