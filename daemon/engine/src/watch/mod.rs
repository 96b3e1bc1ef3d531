//! Watch: everything from the file system to [`SourceDoc`]s on the belt.
//!
//! In: a folder, and what is known of its files. Out: each file that should be indexed and is new or different, as a
//! document; each that no longer should be, as a removal; each that cannot be read, as a fault.
//!
//! ```text
//! notify ► events ► digest ─► pending ─► intake ─► interactive lane
//!          new folder ► walk ─┤ (backlog)      └──► bulk lane
//!                crawler ► crawl
//! ```
//!
//! One map holds every path that is noticed and not on the belt (`pending.rs`, whose table lists the stages of an
//! entry); `tasks.rs` takes out of it. How changes are noticed is a state machine (`mode.rs`), and so is what a check
//! concludes (`path_state.rs`). Two things are kept of paths that are not pending: what was sent and is not committed
//! (`sent.rs`), and which file took over which vanished document (`origin.rs`).
//! Invariants: events and crawls are only reasons to check, so a missed or repeated event costs time, never a wrong
//! index; generations ascend with the time of reading; a noticed change is pending or on the belt; nothing is removed
//! that merely cannot be seen; no file is changed.

mod backlog;
mod burst;
mod crawl;
mod crawler;
mod deny;
mod digest;
mod events;
mod filesystem;
mod intake;
mod links;
mod mode;
mod origin;
mod pair;
mod parts;
mod path_state;
mod pending;
mod read;
mod rules;
mod sent;
mod state;
mod survey;
mod tasks;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::{JoinHandle, spawn_blocking};

use self::backlog::Job;
use self::digest::Halves;
use self::events::{Listener, MOST_SETTLING};
use self::intake::{Checked, Intake};
use self::mode::ModeEvent;
pub use self::mode::WatchMode;
use self::parts::Parts;
use self::pending::Check;
pub use self::rules::{Rules, SkipReason, Verdict};
pub use self::sent::{KnownFile, KnownFiles, MOST_EQUAL};
use self::state::{FIRST_CRAWL, lock};
pub use self::state::{FileEvent, FileEventKind, WatchState, WatchView};
pub use self::survey::{Cause, Survey, Unread};
use self::tasks::Place;
use crate::belt::{Budget, Lanes};
use config::settings::{Privacy, Watch};
use formats::Parsing;
use model::document::SourceDoc;
use model::terms::{Generation, Lane, RelPath};
use model::{DocFault, Item};

/// The options of a watcher.
#[derive(Debug, Clone)]
pub struct WatchOptions {
    /// The project's folder.
    pub root: PathBuf,
    /// Which files are read, and when.
    pub settings: Watch,
    /// Which files are read although their names are on the deny list.
    pub privacy: Privacy,
    /// Returns the time, milliseconds since 1970.
    pub now_ms: fn() -> i64,
    /// The bytes that may be on the belt.
    pub budget: Arc<Budget>,
    /// Where documents are parsed that may have moved.
    pub parsing: Parsing,
}

/// Starts watching; everything else is done through the [`WatcherHandle`].
pub struct Watcher;

impl Watcher {
    /// Starts the tasks; must be called within a tokio runtime. The opening crawl counts as pending at once. `state`
    /// must be new: what an earlier watcher left pending in it would never settle.
    pub fn spawn(
        options: WatchOptions,
        known: Arc<dyn KnownFiles>,
        belt: Lanes<SourceDoc>,
        state: Arc<WatchState>,
    ) -> WatcherHandle {
        let (stop, stopped) = watch::channel(false);
        let shared = Shared::new(options, known, Some(belt), state);
        shared.state.want_crawl();
        let lanes = [Lane::Interactive, Lane::Bulk].map(Job::Check);
        let jobs = lanes.into_iter().chain([Job::Settle, Job::Walk]);
        let run = |job| tokio::spawn(tasks::run(shared.clone(), job, stopped.clone()));
        let mut tasks: Vec<JoinHandle<()>> = jobs.map(run).collect();
        tasks.push(tokio::spawn(crawler::run(shared.clone(), stopped)));
        WatcherHandle { life: Arc::new(Life { shared, stop, tasks: Mutex::new(tasks) }) }
    }

    /// Returns a watcher that watches nothing, for an index that is not made from the folder.
    pub fn none(
        options: WatchOptions,
        known: Arc<dyn KnownFiles>,
        state: Arc<WatchState>,
    ) -> WatcherHandle {
        let shared = Shared::new(options, known, None, state);
        let (stop, tasks) = (watch::Sender::new(true), Mutex::default());
        WatcherHandle { life: Arc::new(Life { shared, stop, tasks }) }
    }
}

/// State that the tasks share.
struct Shared {
    intake: Intake,
    parts: Parts,
    listener: Mutex<Option<Arc<Listener>>>,
    halves: Mutex<Halves>,
    /// Paths that may be settling when an event is accepted.
    most_settling: usize,
    is_overflowing: AtomicBool,
    belt: Mutex<Option<Lanes<SourceDoc>>>,
    state: Arc<WatchState>,
}

impl Shared {
    fn new(
        options: WatchOptions,
        known: Arc<dyn KnownFiles>,
        belt: Option<Lanes<SourceDoc>>,
        state: Arc<WatchState>,
    ) -> Arc<Self> {
        let real = options.root.canonicalize();
        let root = real.or_else(|_| std::path::absolute(&options.root)).unwrap_or(options.root);
        let options = WatchOptions { root, ..options };
        let most_settling = sys::fail::number("watch.queue").map(|n| n.max(1) as usize);
        let shared = Shared {
            intake: Intake::new(options, known, state.clone()),
            parts: Parts::default(),
            listener: Mutex::new(None),
            halves: Mutex::default(),
            most_settling: most_settling.unwrap_or(MOST_SETTLING),
            is_overflowing: AtomicBool::new(false),
            belt: Mutex::new(belt),
            state,
        };
        shared.renew_debounce();
        Arc::new(shared)
    }

    fn renew_debounce(&self) {
        let debounce = Duration::from_millis(self.intake.settings.debounce_ms);
        self.state.backlog.with(|pending| pending.set_debounce(debounce));
    }

    fn listener(&self) -> Option<Arc<Listener>> {
        lock(&self.listener).clone()
    }

    fn set_listener(&self, listener: Option<Arc<Listener>>) {
        *lock(&self.listener) = listener;
    }
}

/// The outcome of one submitted path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Submitted {
    /// On the belt with this generation, as a document or, if the file was deleted, as a removal.
    Sent(Generation),
    /// The content is what was sent or committed last.
    Unchanged,
    /// It is missing, but so is the project's folder, or another one is in its place: nothing follows.
    Held,
    /// Not a file that is indexed.
    Skipped(SkipReason),
    /// It could not be read; the fault is on the belt with this generation.
    Faulted(Generation, DocFault),
    /// The watcher has stopped.
    Stopped,
}

/// Commands to a running watcher. It stops when the last handle is dropped.
#[derive(Clone)]
pub struct WatcherHandle {
    life: Arc<Life>,
}

struct Life {
    shared: Arc<Shared>,
    stop: watch::Sender<bool>,
    tasks: Mutex<Vec<JoinHandle<()>>>,
}

impl WatcherHandle {
    /// Returns the state that `status` shows.
    pub fn state(&self) -> &Arc<WatchState> {
        &self.life.shared.state
    }

    /// Returns whether a path would be read, by its name and the current ignore files.
    pub fn verdict(&self, path: &Path, is_dir: bool) -> Verdict {
        match path.to_str() {
            Some(path) => self.life.shared.intake.rules().verdict(path, is_dir),
            None => Verdict::Skip(SkipReason::NotUtf8),
        }
    }

    /// Walks the folder and returns what is read and what is not, with at most so many paths by name.
    pub fn survey(&self, most_named: usize) -> Survey {
        let intake = &self.life.shared.intake;
        crawl::survey(
            &intake.project_folder,
            &intake.rules(),
            Survey::naming(most_named, most_named),
        )
    }

    /// Continues with other settings, and compares all files under them; returns at once.
    pub fn set_settings(&self, settings: Watch) {
        self.life.shared.intake.settings.replace(settings);
        self.life.shared.renew_debounce();
        self.request_rescan();
    }

    /// Requests a comparison of all files with what is known; returns at once.
    pub fn request_rescan(&self) {
        self.life.shared.state.want_crawl();
    }

    /// Compares all files with what is known by size and time; with `is_full` by content, which reads them all.
    /// Returns as [`WatcherHandle::rescan`] does.
    pub async fn request(&self, is_full: bool) -> bool {
        let number = self.state().backlog.with(|pending| pending.want_crawl(is_full));
        self.life.shared.state.crawled(number, self.life.stop.subscribe()).await
    }

    /// Compares all files with what is known. When it returns true, every change made before the call is pending or
    /// on the belt; returns false if the watcher stops first.
    pub async fn rescan(&self) -> bool {
        self.request(false).await
    }

    /// Waits until the first crawl has compared everything: before that, no file can be known to be deleted. Returns
    /// false if the watcher stops first.
    pub async fn opened(&self) -> bool {
        self.life.shared.state.crawled(FIRST_CRAWL, self.life.stop.subscribe()).await
    }

    /// Reads files now and puts them in the interactive lane, without waiting for events or for quiet. Returns the
    /// outcome of each path, in order. Continues to the end even if the caller stops waiting: what was read must
    /// reach the belt.
    pub async fn submit(&self, paths: Vec<RelPath>, is_forced: bool) -> Vec<Submitted> {
        let n_paths = paths.len();
        let shared = self.life.shared.clone();
        shared.state.backlog.with(|pending| pending.begin_by_name(n_paths));
        let work = tokio::spawn(async move {
            let mut outcomes = Vec::with_capacity(paths.len());
            for (idx, path) in paths.into_iter().enumerate() {
                let n_behind = n_paths - idx - 1;
                outcomes.push(submit_one(&shared, path, n_behind, is_forced).await);
                shared.state.backlog.with(|pending| pending.finish(1));
            }
            outcomes
        });
        work.await.unwrap_or_else(|_| vec![Submitted::Stopped; n_paths])
    }

    /// Returns the files below a folder, and of `others`, that differ from the index: changed, new, deleted, or on
    /// their way; if more than `most` are known there, only those of `named`.
    pub fn changed(
        &self,
        folder: &str,
        others: &[RelPath],
        named: &[RelPath],
        most: usize,
    ) -> Vec<RelPath> {
        let intake = &self.life.shared.intake;
        digest::changed(intake, folder, others, named, most)
    }

    /// Postpones events of paths while the returned guard lives, for callers that write many files and then submit
    /// them all: each is read once, together with the others.
    pub fn hold(&self, paths: Vec<RelPath>) -> Hold {
        self.state().backlog.with(|pending| pending.hold(&paths));
        Hold { state: self.state().clone(), paths }
    }

    /// Forgets what was sent and compares everything with what is known, because the index starts over.
    pub fn read_all_again(&self) {
        self.life.shared.intake.sent.forget();
        self.request_rescan();
    }

    /// Puts unchanged files into the bulk lane again. Their content is read again, once for each path however often it
    /// is named.
    pub fn requeue(&self, paths: impl IntoIterator<Item = RelPath>) {
        let checks =
            paths.into_iter().map(|it| Check { is_forced: true, ..Check::new(it, Lane::Bulk) });
        self.state().backlog.with(|pending| checks.for_each(|check| pending.queue(check)));
    }

    /// Stops watching and closes the sending end of the belt. What is pending is found again at the next start.
    pub async fn stop(&self) {
        self.life.end();
        let tasks = std::mem::take(&mut *lock(&self.life.tasks));
        for task in tasks {
            // A task that panicked has stopped, too.
            let _ = task.await;
        }
        // A crawl that was running may have opened the event queue again.
        self.life.shared.set_listener(None);
        self.life.shared.state.set_mode(ModeEvent::Stop);
    }
}

impl Life {
    fn end(&self) {
        self.stop.send_replace(true);
        self.shared.set_listener(None);
        *lock(&self.shared.belt) = None;
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        self.end();
    }
}

/// Holds paths until it is dropped.
#[derive(Debug)]
pub struct Hold {
    state: Arc<WatchState>,
    paths: Vec<RelPath>,
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.state.backlog.with(|pending| pending.release(&self.paths));
    }
}

async fn submit_one(
    shared: &Arc<Shared>,
    path: RelPath,
    n_behind: usize,
    is_forced: bool,
) -> Submitted {
    let Some(belt) = lock(&shared.belt).clone() else { return Submitted::Stopped };
    let check = Check { is_forced, ..Check::new(path, Lane::Interactive) };
    // Room and place first: what was read must not wait in memory.
    shared.intake.budget.room(check.lane).await;
    let Ok(place) = belt.interactive.reserve_owned().await else { return Submitted::Stopped };
    let worker = shared.clone();
    let work = move || {
        let _in_progress = worker.state.backlog.begin(&check.path);
        let send = |checked| send_submitted(checked, place, n_behind);
        worker.check_then(&check, send)
    };
    spawn_blocking(work).await.unwrap_or(Submitted::Stopped)
}

fn send_submitted(checked: Checked, place: Place, n_behind: usize) -> Submitted {
    let mut item = match checked {
        Checked::Item(item) => item,
        Checked::Unchanged => return Submitted::Unchanged,
        Checked::Skipped(reason) => return Submitted::Skipped(reason),
        Checked::Held => return Submitted::Held,
    };
    item.ticket_mut().n_behind = n_behind;
    let generation = item.ticket().generation;
    let outcome = match &item {
        Item::Faulted(_, fault) => Submitted::Faulted(generation, fault.clone()),
        Item::Document(..) | Item::Removed(_) => Submitted::Sent(generation),
    };
    sys::fail::point("watch.submit");
    place.send(item);
    outcome
}
