//! The crawl side: compares all files with what is known, at the start, on request, and periodically.
//!
//! In: a requested crawl, or the time for one. Out: paths to check, queued for the bulk lane (or for the interactive
//! one, if a poll found only a few: a person has saved them).
//! Invariants: a crawl always reloads the rules and sets every watch again, so it makes up for anything missed; a
//! root that is missing, unreadable or suddenly empty, and a folder that cannot be read, remove nothing; crawls wait
//! for no other task, so a full belt does not keep them from noticing changes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustc_hash::{FxHashMap, FxHashSet};
use tokio::sync::watch;
use tokio::task::spawn_blocking;

use super::Shared;
use super::backlog::Job;
use super::crawl::{Crawl, Found, crawl};
use super::events::Listener;
use super::filesystem::polled_below;
use super::mode::ModeEvent;
use super::pair::pair;
use super::pending::Check;
use super::state::stopped;
use config::limits::SPANS;
use config::settings::Poll;
use model::terms::{Lane, RelPath};

/// Most changes of one poll that count as saves by a person.
const MOST_SAVED_AT_ONCE: usize = 200;

/// Changes in one crawl above which a folder is part of a flood.
const MOST_IN_A_QUIET_FOLDER: usize = 5;

/// Most changes of quiet folders that one crawl hands to the interactive lane.
const MOST_QUIET: usize = 50;

/// Shortest time between two polls, milliseconds.
const LEAST_POLL_MS: u64 = 100;

/// Polling pauses at least this many times as long as it works: it uses at most a tenth of one core.
const RESTS: u32 = 10;

/// When the next periodic crawl is due, of everything and of the parts without watches.
#[derive(Default)]
struct Rhythm {
    next: Option<Instant>,
    next_of_parts: Option<Instant>,
}

impl Rhythm {
    /// Returns the time of the next one.
    fn wake_at(&self) -> Option<Instant> {
        self.next.into_iter().chain(self.next_of_parts).min()
    }
}

/// How a crawl is compared with what is known.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Comparison {
    /// True to read every file, whatever its size and time.
    pub is_full: bool,
    /// True to hand everything to the bulk lane; otherwise a few changes count as saves.
    pub is_bulk: bool,
    /// True for the first crawl, in which no change can be a save.
    pub is_opening: bool,
}

/// Runs until it is stopped.
pub(super) async fn run(shared: Arc<Shared>, mut stop: watch::Receiver<bool>) {
    let mut rhythm = Rhythm::default();
    let mut is_opening = true;
    loop {
        let wanted = shared.state.begin_wanted();
        let is_time = rhythm.next.is_some_and(|next| next <= Instant::now());
        if wanted.is_none() && !is_time {
            let survey = shared.state.surveys.due();
            if survey.is_some_and(|due| due <= Instant::now()) {
                let worker = shared.clone();
                if let Err(error) = spawn_blocking(move || worker.survey_again()).await {
                    shared.state.report(format!("a survey was stopped: {error}"));
                }
                continue;
            }
            if shared.poll_parts_if_due(&mut rhythm).await {
                continue;
            }
            let wake_at = rhythm.wake_at().into_iter().chain(survey).min();
            let at = tokio::time::Instant::from_std(wake_at.unwrap_or_else(Instant::now));
            tokio::select! {
                () = stopped(&mut stop) => return,
                () = shared.state.backlog.woken(Job::Crawl) => {}
                () = tokio::time::sleep_until(at), if wake_at.is_some() => {}
            }
            continue;
        }
        if is_opening && let Some(ms) = sys::fail::number("watch.opening_ms") {
            tokio::time::sleep(Duration::from_millis(ms)).await;
        }
        // Measured from here: the pause afterwards is in proportion to the work.
        let begin = Instant::now();
        let worker = shared.clone();
        let is_full = wanted.is_some_and(|wanted| wanted.is_full);
        let span = tracing::info_span!(target: SPANS, "crawl", is_full, is_opening, files = tracing::field::Empty);
        let result = spawn_blocking(move || worker.crawl_all(is_opening, is_full)).await;
        let is_polling = result.unwrap_or_else(|error| {
            shared.state.report(format!("a crawl was stopped: {error}"));
            true
        });
        span.record("files", shared.state.n_known_files());
        drop(span);
        // Also after a failure: callers that wait for this crawl must not wait forever.
        if let Some(wanted) = wanted {
            shared.state.crawl_done(wanted.number);
        }
        if !is_opening {
            shared.state.count_rescan();
        }
        is_opening = false;
        // A crawl of everything covers the parts, so their pauses restart.
        rhythm.next = shared.rest(is_polling, begin.elapsed()).map(|rest| Instant::now() + rest);
        rhythm.next_of_parts = None;
        if *stop.borrow() {
            return;
        }
    }
}

impl Shared {
    /// Polls the parts without watches if it is time; returns false if there is nothing to do now.
    async fn poll_parts_if_due(self: &Arc<Self>, rhythm: &mut Rhythm) -> bool {
        if self.parts.is_empty() {
            rhythm.next_of_parts = None;
            return false;
        }
        let begin = Instant::now();
        if rhythm.next_of_parts.is_some_and(|next| next <= begin) {
            let worker = self.clone();
            if let Err(error) = spawn_blocking(move || worker.poll_parts()).await {
                self.state.report(format!("a crawl was stopped: {error}"));
            }
            rhythm.next_of_parts = None;
        }
        let is_new = rhythm.next_of_parts.is_none();
        let rest = self.rest(true, begin.elapsed()).unwrap_or_default();
        rhythm.next_of_parts.get_or_insert(Instant::now() + rest);
        is_new
    }

    /// Returns the pause until the next periodic crawl; `None` without periodic crawls.
    fn rest(&self, is_polling: bool, took: Duration) -> Option<Duration> {
        if is_polling {
            let interval = self.intake.settings.poll_interval_ms.max(LEAST_POLL_MS);
            return Some(Duration::from_millis(interval).max(took * RESTS));
        }
        let seconds = self.intake.settings.reconcile_seconds;
        (seconds > 0).then(|| Duration::from_secs(seconds).max(took * RESTS))
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
            self.intake.expected_under(path).into_iter().chain([itself])
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
        if crawl.n_entries == 0 && !is_same && !self.intake.expected_under("").is_empty() {
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
                self.intake.differs(found) || is_full && self.intake.differs_in_content(found)
            })
            .collect();
        let seen: FxHashSet<&RelPath> = crawl.found.iter().map(|found| &found.path).collect();
        let mut gone = self.intake.expected_under(start);
        // A file below an unreadable folder is not known to be gone.
        gone.retain(|path| !seen.contains(path) && !crawl.hides(path.as_str()));
        let mut checks = checks_of(&changed, &gone, &pair(&self.intake, &changed, &gone));
        let is_flood = checks.len() > MOST_SAVED_AT_ONCE;
        for check in &mut checks {
            check.trusts_stat = !is_full;
            check.lane = if is_bulk || is_flood { Lane::Bulk } else { Lane::Interactive };
        }
        if !is_opening && is_flood {
            // A flood may have swallowed the event of a save elsewhere; such a change is not part of the flood.
            promote_quiet(&mut checks);
        }
        self.state.backlog.with(|pending| checks.into_iter().for_each(|it| pending.queue(it)));
    }
}

/// Makes some of the changes in folders with few changes interactive: those may be saves by a person.
fn promote_quiet(checks: &mut [Check]) {
    let mut n_changes: FxHashMap<String, usize> = FxHashMap::default();
    for check in checks.iter() {
        *n_changes.entry(check.path.folder().to_string()).or_default() += 1;
    }
    let is_quiet = |check: &&mut Check| {
        n_changes.get(check.path.folder()).is_none_or(|n| *n <= MOST_IN_A_QUIET_FOLDER)
    };
    for check in checks.iter_mut().filter(is_quiet).take(MOST_QUIET) {
        check.lane = Lane::Interactive;
    }
}

/// Returns what is to be checked, in order: moves first, each with its old name; missing files last.
fn checks_of(
    changed: &[&Found],
    gone: &[RelPath],
    pairs: &BTreeMap<RelPath, RelPath>,
) -> Vec<Check> {
    let moved: FxHashMap<&RelPath, &RelPath> = pairs.iter().map(|(old, new)| (new, old)).collect();
    let changed = changed.iter().map(|found| &found.path);
    let gone = gone.iter().filter(|path| !pairs.contains_key(*path));
    let mut checks: Vec<Check> = changed
        .chain(gone)
        .map(|path| Check {
            moved_from: moved.get(path).map(|old| (*old).clone()),
            ..Check::new(path.clone(), Lane::Bulk)
        })
        .collect();
    checks.sort_by_key(|check| check.moved_from.is_none());
    checks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_save_beside_a_flood_is_not_of_the_flood() {
        let check = |path: String| Check::new(RelPath::new(path), Lane::Bulk);
        let mut checks: Vec<_> = (0..300).map(|n| check(format!("flood/{n}.md"))).collect();
        checks.insert(100, check("notes/saved.md".into()));
        checks.extend((0..60).map(|n| check(format!("quiet-{n}/a.md"))));
        promote_quiet(&mut checks);
        checks.retain(|check| check.lane == Lane::Interactive);
        assert_eq!(checks.len(), MOST_QUIET);
        assert_eq!(checks[0].path.as_str(), "notes/saved.md");
        assert!(checks.iter().all(|check| !check.path.as_str().starts_with("flood/")));
    }
}
