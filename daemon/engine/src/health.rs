//! Health: the numbers that `status` shows and that waiting callers use.
//!
//! Invariant: `has_ripple` is set before a commit's items leave the belt, and cleared only by a ripple that found
//! nothing left; so "belt empty, then no ripple" means that everything is resolved.

use std::collections::VecDeque;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use rustc_hash::FxHashMap;
use tokio::sync::watch;

use index::store::{Committed, Stall};
use model::terms::{Generation, RelPath, Tick};

/// Period over which the ingest rate is averaged.
const RATE_WINDOW: Duration = Duration::from_secs(60);

/// The numbers of one daemon, kept current by the writer.
pub struct Health {
    tick: watch::Sender<u64>,
    has_ripple: AtomicBool,
    deep: Mutex<Deep>,
    n_written: AtomicU64,
    n_transactions: AtomicU64,
    transaction_micros: AtomicU64,
    recent: Mutex<Recent>,
    poisoned: watch::Sender<Option<String>>,
    stalled: watch::Sender<Option<(Stall, Instant)>>,
    changes: watch::Sender<u64>,
    n_answering: AtomicUsize,
}

/// Counts a caller as being answered until it is dropped.
pub struct Answering<'a>(&'a AtomicUsize);

impl Drop for Answering<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[derive(Default)]
struct Recent {
    commits: VecDeque<(Instant, usize)>,
    last_file: Option<RelPath>,
    last_error: Option<String>,
    mended: VecDeque<Mended>,
    interactive: FxHashMap<RelPath, Outcome>,
}

/// A loss or damage of the daemon's own files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mended {
    /// Time it was noticed.
    pub at: Timestamp,
    /// Which part: `index`, `ledger`, `lock`, `socket`, `state folder`, `text`, `vectors`.
    pub part: &'static str,
    /// What was wrong, and what was done.
    pub what: String,
}

/// Losses and damages kept for `status`.
const MAX_MENDED: usize = 20;

/// The outcome of an interactive item: its generation, and its fault if it had one.
pub type Outcome = (Generation, Option<String>);

/// Interactive outcomes kept for waiting callers; older ones are read from the index.
const MAX_OUTCOMES: usize = 10_000;

/// Progress of the deep pass.
#[derive(Debug, Clone, Default)]
pub struct Deep {
    /// Documents that wait to be read deeply, and the bytes of their files; as of the last time that nothing else was
    /// due.
    pub left: (u64, u64),
    /// Documents that could not be read deeply since the daemon started; they wait for a change.
    pub n_stuck: u64,
    /// True when a person has paused it.
    pub is_paused: bool,
    /// Why it is resting, in words.
    pub rests_for: Option<&'static str>,
    /// The watcher's count of news when documents were handed out, while these are on the belt.
    handed_out: Option<u64>,
    /// Bytes of files read deeply since the daemon started, and the time it took.
    done: (u64, Duration),
    last: Option<(Instant, u64)>,
}

impl Deep {
    /// Returns how long the rest takes at the pace so far; `None` while that is unknown.
    pub fn eta(&self) -> Option<Duration> {
        let (bytes, took) = self.done;
        let is_known = bytes > 0 && self.left.1 > 0;
        is_known.then(|| took.mul_f64(self.left.1 as f64 / bytes as f64))
    }
}

impl Health {
    /// Creates the numbers at the tick with which the index was opened. A ripple is due: the last run may have left
    /// work.
    pub fn new(tick: Tick) -> Self {
        Health {
            tick: watch::Sender::new(tick.0),
            has_ripple: AtomicBool::new(true),
            deep: Mutex::default(),
            n_written: AtomicU64::new(0),
            n_transactions: AtomicU64::new(0),
            transaction_micros: AtomicU64::new(0),
            recent: Mutex::default(),
            poisoned: watch::Sender::new(None),
            stalled: watch::Sender::new(None),
            changes: watch::Sender::new(0),
            n_answering: AtomicUsize::new(0),
        }
    }

    /// Records a commit.
    pub fn committed(&self, done: &Committed, took: Duration) {
        self.n_written.fetch_add(done.n_written as u64, Ordering::Relaxed);
        self.n_transactions.fetch_add(1, Ordering::Relaxed);
        self.transaction_micros.fetch_add(took.as_micros() as u64, Ordering::Relaxed);
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        recent.commits.push_back((now, done.n_documents));
        while recent.commits.front().is_some_and(|(at, _)| now.duration_since(*at) > RATE_WINDOW) {
            recent.commits.pop_front();
        }
        // Waiting callers then read the index; dropping all is simpler than tracking age.
        if recent.interactive.len() + done.interactive.len() > MAX_OUTCOMES {
            recent.interactive.clear();
        }
        for (path, outcome) in &done.interactive {
            // An item that was overtaken may come last; a caller that waits for the newer one must still find it.
            match recent.interactive.entry(path.clone()) {
                Entry::Occupied(known) if known.get().0 > outcome.0 => {}
                place => drop(place.insert_entry(outcome.clone())),
            }
        }
        if done.last_path.is_some() {
            recent.last_file.clone_from(&done.last_path);
        }
        if done.last_fault.is_some() {
            recent.last_error.clone_from(&done.last_fault);
        }
        drop(recent);
        self.set_tick(done.tick);
    }

    /// Returns the outcome of the newest interactive item of a path, if it is still known.
    pub fn outcome(&self, path: &RelPath) -> Option<Outcome> {
        let recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        recent.interactive.get(path).cloned()
    }

    pub(crate) fn set_tick(&self, tick: Tick) {
        self.tick.send_if_modified(|now| {
            let grows = tick.0 > *now;
            *now = tick.0.max(*now);
            grows
        });
        self.changed();
    }

    /// Wakes those that wait for the belt to settle.
    pub fn changed(&self) {
        self.changes.send_modify(|n| *n = n.wrapping_add(1));
    }

    /// Returns a receiver that wakes at every change that may have settled something.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Counts a caller as being answered.
    pub fn answering(&self) -> Answering<'_> {
        self.n_answering.fetch_add(1, Ordering::Relaxed);
        Answering(&self.n_answering)
    }

    /// Returns whether any caller is being answered.
    pub(crate) fn is_answering(&self) -> bool {
        self.n_answering.load(Ordering::Relaxed) > 0
    }

    /// Returns the last commit.
    pub fn tick(&self) -> Tick {
        Tick(*self.tick.borrow())
    }

    /// Returns the progress of the deep pass.
    pub fn deep(&self) -> Deep {
        self.lock_deep().clone()
    }

    /// Records that nothing else is due, what is left of the deep pass, and which documents were handed out:
    /// `handed_out` is the watcher's count of news, taken before it was seen to be quiet, and the bytes of their
    /// files.
    pub(crate) fn deepens(&self, left: (u64, u64), n_stuck: u64, handed_out: Option<(u64, u64)>) {
        let mut deep = self.lock_deep();
        let now = Instant::now();
        // The call for the next batch means that the last one is done.
        if let Some((since, n_bytes)) = deep.last.take() {
            deep.done.0 += n_bytes;
            deep.done.1 += now.duration_since(since);
        }
        (deep.left, deep.n_stuck, deep.rests_for) = (left, n_stuck, None);
        deep.last = handed_out.map(|(_, n_bytes)| (now, n_bytes));
        deep.handed_out = handed_out.map(|(n_news, _)| n_news);
    }

    /// Records that only work of the deep pass is left while the watcher's count of news stays the same: it is
    /// resting, or the names that it changed are being resolved.
    pub(crate) fn has_only_deep(&self, n_news: u64, rests_for: Option<&'static str>) {
        let mut deep = self.lock_deep();
        deep.handed_out = Some(n_news);
        deep.rests_for = rests_for;
    }

    /// Pauses or resumes the deep pass.
    pub(crate) fn pause_deep(&self, is_paused: bool) {
        self.lock_deep().is_paused = is_paused;
        self.changed();
    }

    /// Returns whether everything on the belt, or left to resolve, comes from the deep pass.
    pub fn only_deepens(&self, n_news: u64) -> bool {
        self.lock_deep().handed_out == Some(n_news)
    }

    fn lock_deep(&self) -> std::sync::MutexGuard<'_, Deep> {
        self.deep.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set_ripple(&self, due: bool) {
        self.has_ripple.store(due, Ordering::SeqCst);
    }

    /// Returns whether names or terms may be left to resolve.
    pub fn has_ripple(&self) -> bool {
        self.has_ripple.load(Ordering::SeqCst)
    }

    /// Returns the documents per second over the last minute (or since the first commit, if that is less).
    pub fn ingest_rate(&self) -> f32 {
        let recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((first, _)) = recent.commits.front() else { return 0.0 };
        // A first commit a moment ago must not give an enormous rate.
        let window = first.elapsed().min(RATE_WINDOW).as_secs_f32().max(0.1);
        let documents: usize = recent
            .commits
            .iter()
            .filter(|(at, _)| at.elapsed() <= RATE_WINDOW)
            .map(|(_, n)| n)
            .sum();
        documents as f32 / window
    }

    /// Returns the number of changed files written since the start.
    pub fn n_written(&self) -> u64 {
        self.n_written.load(Ordering::Relaxed)
    }

    /// Returns the average time of a commit, milliseconds.
    pub fn average_transaction_ms(&self) -> f32 {
        let n = self.n_transactions.load(Ordering::Relaxed).max(1);
        self.transaction_micros.load(Ordering::Relaxed) as f32 / n as f32 / 1000.0
    }

    /// Returns the file committed last.
    pub fn last_file(&self) -> Option<RelPath> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner).last_file.clone()
    }

    /// Returns the last error.
    pub fn last_error(&self) -> Option<String> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner).last_error.clone()
    }

    /// Records a loss or damage of the daemon's own files: the part, and what was done.
    pub fn mended(&self, part: &'static str, what: String) {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        recent.last_error = Some(format!("{part}: {what}"));
        if recent.mended.len() >= MAX_MENDED {
            recent.mended.pop_front();
        }
        recent.mended.push_back(Mended { at: Timestamp::now(), part, what });
        drop(recent);
        self.changed();
    }

    /// Returns the last losses and damages since the start, oldest first.
    pub fn all_mended(&self) -> Vec<Mended> {
        let recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        recent.mended.iter().cloned().collect()
    }

    /// Records that the store is unsound: nothing is written any more, and the process must end.
    pub(crate) fn poison(&self, why: String) {
        tracing::error!(why, "the writer stops");
        self.poisoned.send_replace(Some(why));
        self.changed();
    }

    /// Records why the writer waits, or with `None` that it continues. Logs changes.
    pub fn stall(&self, why: Option<Stall>) {
        let has_changed = self.stalled.send_if_modified(|known| {
            if known.as_ref().map(|(known, _)| known) == why.as_ref() {
                return false;
            }
            // Another reason continues the same wait: callers count its whole length.
            let since = known.as_ref().map_or_else(Instant::now, |(_, since)| *since);
            *known = why.clone().map(|why| (why, since));
            true
        });
        match why {
            _ if !has_changed => return,
            Some(stall) => {
                let hint = stall.hint();
                tracing::error!(stall.why, hint, "writes are paused");
            }
            None => tracing::info!("writing goes on"),
        }
        self.changed();
    }

    /// Returns why the writer waits and since when, if it does.
    pub fn stalled(&self) -> Option<(Stall, Instant)> {
        self.stalled.borrow().clone()
    }

    /// Waits until the writer has been waiting for `patience`, and returns why. Cancel-safe.
    pub(crate) async fn stalled_for(&self, patience: Duration) -> Stall {
        loop {
            self.until_stalled().await;
            let Some((stall, since)) = self.stalled() else { continue };
            let left = patience.saturating_sub(since.elapsed());
            if left.is_zero() {
                return stall;
            }
            tokio::time::sleep(left).await;
        }
    }

    /// Waits until the writer waits. Cancel-safe.
    pub(crate) async fn until_stalled(&self) {
        let mut stalled = self.stalled.subscribe();
        if stalled.wait_for(Option::is_some).await.is_err() {
            // The sender is a field of ours, so this cannot happen.
            std::future::pending::<()>().await;
        }
    }

    /// Returns why the writer stopped, if it did.
    pub fn poisoned(&self) -> Option<String> {
        self.poisoned.borrow().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_overtaken_item_does_not_replace_the_outcome_of_the_newer_one() {
        let health = Health::new(Tick(0));
        let path = RelPath::new("a.md");
        let done = |generations: &[u64]| {
            let outcomes = generations.iter().map(|n| (path.clone(), (Generation(*n), None)));
            Committed { interactive: outcomes.collect(), ..Committed::default() }
        };
        for generations in [&[2, 1][..], &[1], &[3], &[2]] {
            health.committed(&done(generations), Duration::ZERO);
        }
        assert_eq!(health.outcome(&path), Some((Generation(3), None)));
    }
}
