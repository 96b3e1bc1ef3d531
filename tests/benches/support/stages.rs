//! Stages: the duration of each stage of a question, from the tracing spans that the read path
//! opens.
//!
//! A stage's time excludes that of the stages inside it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// The target of the spans that count.
const TARGET: &str = "kgd::ask";

/// Milliseconds by stage, since they were last taken.
#[derive(Clone, Default)]
pub(crate) struct Stages {
    spent: Arc<Mutex<BTreeMap<&'static str, f64>>>,
    names: Arc<Mutex<BTreeMap<u64, &'static str>>>,
    next: Arc<AtomicU64>,
}

thread_local! {
    /// Open spans: name, time of entry, milliseconds of inner spans.
    static OPEN: RefCell<Vec<(&'static str, Instant, f64)>> = const { RefCell::new(Vec::new()) };
}

impl Stages {
    /// Starts counting, in the whole process.
    pub(crate) fn watch() -> Self {
        let stages = Stages::default();
        let _ = tracing::subscriber::set_global_default(stages.clone());
        stages
    }

    /// Returns the time spent since the last call.
    pub(crate) fn take(&self) -> BTreeMap<&'static str, f64> {
        std::mem::take(&mut *self.spent.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Subscriber for Stages {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_span() && metadata.target() == TARGET
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let id = self.next.fetch_add(1, Ordering::Relaxed) + 1;
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        names.insert(id, span.metadata().name());
        Id::from_u64(id)
    }

    fn enter(&self, span: &Id) {
        let names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let name = names.get(&span.into_u64()).copied().unwrap_or_default();
        OPEN.with_borrow_mut(|open| open.push((name, Instant::now(), 0.0)));
    }

    fn exit(&self, span: &Id) {
        let Some((name, entered, inside)) = OPEN.with_borrow_mut(Vec::pop) else { return };
        let took = entered.elapsed().as_secs_f64() * 1e3;
        OPEN.with_borrow_mut(|open| {
            if let Some((_, _, outer)) = open.last_mut() {
                *outer += took;
            }
        });
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        *spent.entry(name).or_default() += took - inside;
        self.names.lock().unwrap_or_else(PoisonError::into_inner).remove(&span.into_u64());
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}
}
