//! The crawl side: compares all files with what is known, at the start, on request, and periodically.
//!
//! In: a requested crawl, or the time for one. Out: paths to check, queued for the bulk lane (or for the interactive
//! one, if a poll found only a few: a person has saved them).
//! Invariants: a crawl always reloads the rules and sets every watch again, so it makes up for anything missed; a
//! root that is missing, unreadable or suddenly empty, and a folder that cannot be read, remove nothing; crawls wait
//! for no other task, so a full belt does not keep them from noticing changes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rustc_hash::FxHashSet;
use tokio::sync::watch;
use tokio::task::spawn_blocking;

use super::Shared;
use super::backlog::Job;
use super::burst::MOST_AT_ONCE;
use super::crawl::{Crawl, Found, crawl};
use super::events::Listener;
use super::filesystem::polled_below;
use super::mode::ModeEvent;
use super::pair::join;
use super::pending::Check;
use super::state::stopped;
use config::limits::SPANS;
use config::settings::Poll;
use model::terms::{Lane, RelPath};

/// Shortest time between two polls, milliseconds.
const LEAST_POLL_MS: u64 = 100;

/// Polling pauses at least this many times as long as it works: it uses at most a tenth of one core.
const RESTS: u32 = 10;

/// When the next periodic crawl is due, of everything and of the parts without watches.
#[derive(Default)]
struct Rhythm {
    everything: Option<Instant>,
    parts: Option<Instant>,
}

/// How a crawl is compared with what is known.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Comparison {
    /// True to read every file, whatever its size and time.
    pub is_full: bool,
    /// True to queue everything for the bulk lane, unless it is a flood; otherwise a few changes count as saves.
    pub is_bulk: bool,
    /// True for the first crawl, in which no change can be a save.
    pub is_opening: bool,
}

/// Runs until it is stopped.
pub(super) async fn run(shared: Arc<Shared>, mut stop: watch::Receiver<bool>) {
    let mut rhythm = Rhythm::default();
    let mut is_opening = true;
    while !*stop.borrow() {
        let wanted = shared.state.begin_wanted();
        // Measured from here: the pause afterwards is in proportion to the work.
        let begin = Instant::now();
        if shared.parts.is_empty() {
            rhythm.parts = None;
        } else if rhythm.parts.is_none() {
            rhythm.parts = shared.next_after(true, begin);
        }
        let survey = shared.state.surveys.due();
        let is_due = |at: Option<Instant>| at.is_some_and(|at| at <= begin);
        if wanted.is_some() || is_due(rhythm.everything) {
            let is_full = wanted.is_some_and(|wanted| wanted.is_full);
            let is_polling = shared.crawl(is_opening, is_full).await;
            // Also after a failure: callers that wait for this crawl must not wait forever.
            if let Some(wanted) = wanted {
                shared.state.crawl_done(wanted.number);
            }
            is_opening = false;
            // A crawl of everything covers the parts, so their pauses restart.
            let everything = shared.next_after(is_polling, begin);
            rhythm = Rhythm { everything, parts: None };
        } else if is_due(survey) {
            shared.on_thread(|shared| shared.survey_again()).await;
        } else if is_due(rhythm.parts) {
            shared.on_thread(|shared| shared.poll_parts()).await;
            rhythm.parts = shared.next_after(true, begin);
        } else {
            let wake_at = [rhythm.everything, rhythm.parts, survey].into_iter().flatten().min();
            let sleep = tokio::time::sleep_until(wake_at.unwrap_or(begin).into());
            tokio::select! {
                () = stopped(&mut stop) => return,
                () = shared.state.backlog.woken(Job::Crawl) => {}
                () = sleep, if wake_at.is_some() => {}
            }
        }
    }
}

impl Shared {
    /// Runs work of a crawl on another thread; `None` if it was stopped by a panic, which is reported.
    async fn on_thread<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Arc<Self>) -> T + Send + 'static,
    ) -> Option<T> {
        let worker = self.clone();
        let done = spawn_blocking(move || work(&worker)).await;
        done.map_err(|error| self.state.report(format!("a crawl was stopped: {error}"))).ok()
    }

    /// Crawls everything; returns as [`Shared::crawl_all`] does.
    async fn crawl(self: &Arc<Self>, is_opening: bool, is_full: bool) -> bool {
        if is_opening && let Some(ms) = sys::fail::number("watch.opening_ms") {
            tokio::time::sleep(Duration::from_millis(ms)).await;
        }
        let span = tracing::info_span!(target: SPANS, "crawl", is_full, is_opening, files = tracing::field::Empty);
        let is_polling = self.on_thread(move |shared| shared.crawl_all(is_opening, is_full)).await;
        span.record("files", self.state.n_known_files());
        if !is_opening {
            self.state.count_rescan();
        }
        is_polling.unwrap_or(true)
    }

    /// Returns when the next periodic crawl is due; `None` without periodic crawls.
    fn next_after(&self, is_polling: bool, begin: Instant) -> Option<Instant> {
        let settings = &self.intake.settings;
        let pause = match settings.reconcile_seconds {
            _ if is_polling => Duration::from_millis(settings.poll_interval_ms.max(LEAST_POLL_MS)),
            0 => return None,
            seconds => Duration::from_secs(seconds),
        };
        Some(Instant::now() + pause.max(begin.elapsed() * RESTS))
    }

    /// Counts anew what is read and what is not.
    fn survey_again(&self) {
        let rules = self.intake.rules();
        self.state.surveys.renew(|| {
            let crawl = crawl(&self.intake.project_folder, &rules, "", &mut |_| {});
            (crawl.identity.map(|_| crawl.survey), ())
        });
    }

    /// Compares everything once. Returns true if the next crawl should come soon, because nothing else will notice a
    /// change.
    fn crawl_all(self: &Arc<Self>, is_opening: bool, is_full: bool) -> bool {
        let rules = self.intake.renew_rules();
        self.state.crawl_begins();
        let poll = self.poll_reason();
        // Listening comes before listing: a change in between is reported.
        let deaf = if poll.is_none() { self.listen().err() } else { None };
        let listener = self.listener();
        let (crawl, missed, trouble) = self.state.surveys.renew(|| {
            let (crawl, missed) = self.crawl_and_watch(&rules, "");
            let trouble = self.judge_root(&crawl);
            (trouble.is_none().then(|| crawl.survey.clone()), (crawl, missed, trouble))
        });
        let hidden = self.hidden(&crawl);
        self.state.crawl_listed(&crawl, &hidden, rules.warnings(), trouble.clone());
        self.watch_links(&crawl);
        if let Some(listener) = &listener {
            listener.forget_gone();
        }
        self.parts.renew("", missed);
        let is_polling = deaf.is_some() || poll.is_some();
        self.set_mode(deaf.map(Some).or(poll));
        if trouble.is_none() {
            let is_bulk = is_opening || !is_polling;
            self.compare(&crawl, "", Comparison { is_full, is_bulk, is_opening });
            sys::fail::point("watch.crawled");
        }
        trouble.is_some() || is_polling
    }

    /// Returns the known files that the crawl could not see, though they may exist.
    fn hidden(&self, crawl: &Crawl) -> Vec<RelPath> {
        let unreadable = crawl.unreadable.keys();
        let below = unreadable.flat_map(|path| {
            let itself = RelPath::new(path.as_str());
            self.intake.sent.expected_under(path).into_iter().chain([itself])
        });
        below.collect()
    }

    /// Returns why everything is polled: because of the setting (`Some(None)`), or the file system; `None` if it is
    /// not.
    fn poll_reason(&self) -> Option<Option<String>> {
        match self.intake.settings.poll {
            Poll::Always => Some(None),
            Poll::Never => None,
            Poll::Auto => polled_below(&self.intake.project_folder.root).map(|kind| {
                Some(format!(
                    "{kind} does not report what other machines write; \
                     hint: `watch.poll: false` if only this one does"
                ))
            }),
        }
    }

    /// Opens the event queue unless it is open. The error is a message for a person.
    fn listen(self: &Arc<Self>) -> Result<(), String> {
        if self.listener().is_none() {
            let listener = Listener::start(Arc::downgrade(self))?;
            self.set_listener(Some(Arc::new(listener)));
        }
        Ok(())
    }

    /// Sets how changes are noticed; `poll` says that everything is polled, and why.
    pub(super) fn set_mode(&self, poll: Option<Option<String>>) {
        let n_watched = self.listener().map_or(0, |listener| listener.n_watched());
        self.state.set_mode(match poll {
            Some(Some(why)) => ModeEvent::NoneWatched(why),
            Some(None) => ModeEvent::PollWanted,
            None => self.parts.mode(n_watched),
        });
    }

    /// Returns why a crawl cannot be trusted, if so.
    fn judge_root(&self, crawl: &Crawl) -> Option<String> {
        let root = self.intake.project_folder.root.display();
        if let Some(why) = crawl.unreadable.get("") {
            return Some(format!(
                "the root `{root}` cannot be read: {why}; nothing is removed; hint: restore or mount it"
            ));
        }
        // An empty root is believed if it is the same folder as before: somebody has emptied it.
        let is_same = crawl.identity.is_some() && crawl.identity == self.intake.root_identity();
        if crawl.n_entries == 0 && !is_same && !self.intake.sent.expected_under("").is_empty() {
            return Some(format!(
                "the root `{root}` is empty, but files of it are known; nothing is removed; \
                 hint: is it mounted?"
            ));
        }
        self.intake.set_root_identity(crawl.identity);
        None
    }

    /// Watches symlinked files: changes of a target are reported only to watches on the target.
    fn watch_links(&self, crawl: &Crawl) {
        let Some(listener) = self.listener() else { return };
        for path in &crawl.links {
            // Without this watch, the next reconcile finds the change.
            let _ = listener.watch(&self.intake.project_folder.absolute(path.as_str()));
        }
    }

    /// Hands on what differs below `start` from what is known.
    pub(super) fn compare(&self, crawl: &Crawl, start: &str, how: Comparison) {
        let Comparison { is_full, is_bulk, is_opening } = how;
        let changed: Vec<&Found> = crawl
            .found
            .iter()
            .filter(|found| {
                self.intake.sent.differs(found) || is_full && self.intake.differs_in_content(found)
            })
            .collect();
        let seen: FxHashSet<&RelPath> = crawl.found.iter().map(|found| &found.path).collect();
        let mut gone = self.intake.sent.expected_under(start);
        // A file below an unreadable folder is not known to be gone.
        gone.retain(|path| !seen.contains(path) && !crawl.hides(path.as_str()));
        let paths = changed.iter().map(|found| &found.path).chain(&gone);
        let check = |path: &RelPath| Check {
            trusts_stat: !is_full,
            ..Check::new(path.clone(), Lane::Bulk)
        };
        let mut checks = join(&self.intake, paths.map(check).collect(), &changed, &gone);
        // Moves first, each with its old name; missing files last.
        checks.sort_by_key(|check| check.moved_from.is_none());
        // A poll finds saves among what changed; so does a crawl in a flood, which may have swallowed their events.
        if !is_opening && (!is_bulk || checks.len() as u64 > MOST_AT_ONCE) {
            self.route(checks, false);
        } else {
            self.state.backlog.with(|pending| checks.into_iter().for_each(|it| pending.queue(it)));
        }
    }
}
