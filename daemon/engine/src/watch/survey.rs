//! Survey: what a walk of the folder would read, by extension, and what it would not, by reason.
//!
//! In: each path that a walk decides about, with its reason. Out: counts, and a few paths of each reason.
//! Invariants: its size is bounded, whatever the folder holds; a skipped folder counts as one path, and its contents
//! as none; of one cause the first paths by name are named, in whatever order a walk came to them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::rules::SkipReason;
use super::state::lock;
use model::terms::RelPath;

/// Paths named of each cause, unless more are asked for.
pub(super) const EXAMPLES: usize = 3;

/// Most causes told apart for one reason (extensions, ignore files); the rest are counted together.
const MOST_CAUSES: usize = 12;

/// Most causes of one reason while a walk goes on, which meets the rare ones and the frequent ones in any order.
const MOST_MET: usize = 1_000;

/// What is counted together beyond [`MOST_CAUSES`].
const OTHERS: &str = "others";

/// What would be read and what not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survey {
    /// Files that would be read, by extension.
    pub to_read: BTreeMap<String, u64>,
    /// What would not be.
    pub not_read: BTreeMap<Cause, Unread>,
    most_named: usize,
    /// Paths that may still be named, of all causes together.
    room: usize,
}

/// Why some paths are not read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cause {
    /// The reason.
    pub reason: SkipReason,
    /// What decided it: an ignore file, an extension, a folder's name, the system's error; may be empty.
    pub by: String,
}

/// Paths that are not read for one cause.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unread {
    /// How many.
    pub n: u64,
    /// The first of them by name; folders end in a slash.
    pub paths: BTreeSet<String>,
}

impl Default for Survey {
    fn default() -> Self {
        Survey::naming(EXAMPLES, usize::MAX)
    }
}

impl Survey {
    /// Creates an empty survey that names at most so many paths a cause, and so many of all causes.
    pub(super) fn naming(most_named: usize, room: usize) -> Self {
        Survey { to_read: BTreeMap::new(), not_read: BTreeMap::new(), most_named, room }
    }

    pub(super) fn read(&mut self, path: &RelPath) {
        *self.to_read.entry(config::kinds::extension_of(path.file_name())).or_default() += 1;
    }

    pub(super) fn skip(&mut self, path: &str, mut cause: Cause) {
        if !self.not_read.contains_key(&cause) {
            let n_causes = self.not_read.keys().filter(|it| it.reason == cause.reason).count();
            if n_causes >= MOST_MET {
                cause.by = OTHERS.to_string();
            }
        }
        let unread = self.not_read.entry(cause).or_default();
        unread.n += 1;
        if unread.paths.len() < self.most_named && self.room > 0 {
            self.room -= 1;
        } else if unread.paths.last().is_some_and(|last| path < last.as_str()) {
            unread.paths.pop_last();
        } else {
            return;
        }
        unread.paths.insert(path.to_string());
    }

    /// Counts together, for each reason, all but the most frequent causes. Ends a walk.
    pub(super) fn fold(&mut self) {
        let mut causes: Vec<(Cause, Unread)> =
            std::mem::take(&mut self.not_read).into_iter().collect();
        // Equally frequent ones stay in order.
        causes.sort_by_key(|(_, unread)| std::cmp::Reverse(unread.n));
        for (mut cause, mut unread) in causes {
            if self.not_read.keys().filter(|it| it.reason == cause.reason).count() >= MOST_CAUSES {
                cause.by = OTHERS.to_string();
            }
            let folded = self.not_read.entry(cause).or_default();
            folded.n += unread.n;
            folded.paths.append(&mut unread.paths);
            while folded.paths.len() > self.most_named {
                folded.paths.pop_last();
            }
        }
    }

    /// Returns the number of paths that are not read for each reason.
    pub fn by_reason(&self) -> BTreeMap<SkipReason, u64> {
        let mut n_of = BTreeMap::new();
        for (cause, unread) in &self.not_read {
            *n_of.entry(cause.reason).or_default() += unread.n;
        }
        n_of
    }
}

/// Longest wait for a new survey, before the last one must do.
const PATIENCE: Duration = Duration::from_millis(500);

/// After a survey the next one waits so many times as long as it took.
const RESTS: u32 = 10;

/// The last survey, and whether something has changed since.
#[derive(Debug, Default)]
pub(super) struct Surveys {
    latest: Mutex<Latest>,
    renewed: Condvar,
}

#[derive(Debug, Default)]
struct Latest {
    survey: Option<Survey>,
    n_changes: u64,
    /// Changes that the last survey has seen.
    n_seen: u64,
    is_wanted: bool,
    rests_until: Option<Instant>,
}

impl Surveys {
    /// Records that something may be read now that was not, or the reverse.
    pub(super) fn changed(&self) {
        lock(&self.latest).n_changes += 1;
    }

    /// Returns when a new survey is to be made, if one is wanted.
    pub(super) fn due(&self) -> Option<Instant> {
        let latest = lock(&self.latest);
        latest.rests_until.filter(|_| latest.is_wanted)
    }

    /// Makes a survey; `None` from `walk`, for a folder that is not there, keeps the last one.
    pub(super) fn renew<T>(&self, walk: impl FnOnce() -> (Option<Survey>, T)) -> T {
        let begin = Instant::now();
        let mut latest = lock(&self.latest);
        latest.is_wanted = false;
        // What changes during the walk may be missed by it.
        let n_seen = latest.n_changes;
        drop(latest);
        let (survey, result) = walk();
        let mut latest = lock(&self.latest);
        latest.survey = survey.or_else(|| latest.survey.take());
        latest.n_seen = n_seen;
        latest.rests_until = Some(Instant::now() + begin.elapsed() * RESTS);
        self.renewed.notify_all();
        result
    }

    /// Returns the last survey, or if something has changed since, a new one, for which `wake` wakes who makes it.
    pub(super) fn latest(&self, wake: impl FnOnce()) -> Option<Survey> {
        let mut latest = lock(&self.latest);
        let n_changes = latest.n_changes;
        let is_old = |latest: &mut Latest| latest.n_seen < n_changes;
        // Without a first crawl there is nothing to wait for: it may take long.
        if let Some(due) = latest.rests_until.filter(|_| latest.n_seen < n_changes) {
            latest.is_wanted = true;
            wake();
            if due.saturating_duration_since(Instant::now()) < PATIENCE {
                let waited = self.renewed.wait_timeout_while(latest, PATIENCE, is_old);
                latest = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
        }
        latest.survey.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_survey_is_bounded_and_does_not_depend_on_the_order_of_the_walk() {
        let of = |order: &mut dyn Iterator<Item = usize>| {
            let mut survey = Survey::default();
            for at in order {
                let by = format!("{}", at % 3);
                survey.skip(&format!("{at:03}"), Cause { reason: SkipReason::Extension, by });
            }
            survey
        };
        let survey = of(&mut (0..100));
        assert_eq!(survey, of(&mut (0..100).rev()));
        let first = survey.not_read.values().next().expect("a cause");
        assert_eq!((first.n, first.paths.len()), (34, EXAMPLES));
        let mut survey = Survey::naming(40, 50);
        for at in 0..1_000 {
            let cause = Cause { reason: SkipReason::Extension, by: format!("{}", at % 100) };
            survey.skip(&format!("{at:03}"), cause);
        }
        survey.fold();
        assert_eq!(survey.not_read.len(), MOST_CAUSES + 1);
        assert_eq!(survey.not_read.values().map(|it| it.paths.len()).sum::<usize>(), 50);
        assert_eq!(survey.by_reason(), BTreeMap::from([(SkipReason::Extension, 1_000)]));
    }

    #[test]
    fn the_most_frequent_causes_are_named_whenever_they_were_met() {
        let mut survey = Survey::default();
        for at in 0..1_000 {
            // Each of fifty rare ones comes before the frequent one.
            let by = if at < 50 { format!("rare{at}") } else { "wav".to_string() };
            survey.skip(&format!("{at:04}"), Cause { reason: SkipReason::Extension, by });
        }
        survey.fold();
        let n_of = |by: &str| {
            let cause = Cause { reason: SkipReason::Extension, by: by.to_string() };
            survey.not_read.get(&cause).map(|it| it.n)
        };
        assert_eq!((n_of("wav"), n_of("rare0"), n_of(OTHERS)), (Some(950), Some(1), Some(39)));
    }
}
