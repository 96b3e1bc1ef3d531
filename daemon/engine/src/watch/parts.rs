//! Parts: folders without a watch, which are polled while events report changes in the others.
//!
//! In: folders whose watch could not be set, mostly because the system's limit is reached. Out: what a crawl reports,
//! for these folders and everything below them; and another attempt to watch them.
//! Invariants: a part is polled with everything in it, watched or not, because its contents were unknown; a folder
//! that gets its watch is removed from the parts.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Mutex;

use super::Shared;
use super::backlog::Job;
use super::crawl::{Crawl, crawl};
use super::crawler::Comparison;
use super::digest::is_followed;
use super::mode::ModeEvent;
use super::rules::{Rules, Verdict};
use super::state::{folders_above, is_below, lock};

/// Folders without events.
#[derive(Debug, Default)]
pub(super) struct Parts(Mutex<Missed>);

/// Folders that a walk could not watch.
#[derive(Debug, Default)]
pub(super) struct Missed {
    folders: BTreeSet<String>,
    why: String,
}

impl Missed {
    fn note(&mut self, folder: String, why: String) {
        self.folders.insert(folder);
        self.why = why;
    }
}

impl Parts {
    pub(super) fn is_empty(&self) -> bool {
        lock(&self.0).folders.is_empty()
    }

    /// Returns the folders without a watch that are not below another such folder.
    pub(super) fn tops(&self) -> Vec<String> {
        let parts = lock(&self.0);
        let is_top = |folder: &&String| !folders_above(folder).any(|it| parts.folders.contains(it));
        parts.folders.iter().filter(is_top).cloned().collect()
    }

    /// Replaces the parts below `start` by the folders that a walk of it missed.
    pub(super) fn renew(&self, start: &str, missed: Missed) {
        let mut parts = lock(&self.0);
        parts.folders.retain(|folder| !is_below(folder, start));
        parts.folders.extend(missed.folders);
        if !missed.why.is_empty() {
            parts.why = missed.why;
        }
    }

    /// Returns the event for the watcher's mode; `n_watched` paths have a watch.
    pub(super) fn mode(&self, n_watched: usize) -> ModeEvent {
        let parts = lock(&self.0);
        match parts.folders.len() {
            0 => ModeEvent::AllWatched,
            n_polled => ModeEvent::SomeUnwatched { n_watched, n_polled, why: parts.why.clone() },
        }
    }
}

impl Shared {
    /// Compares every part once, and tries again to watch it.
    pub(super) fn poll_parts(&self) {
        for top in self.parts.tops() {
            let rules = self.intake.renew_rules();
            let is_read = top.is_empty() || rules.verdict(&top, true) == Verdict::Descend;
            let (crawl, missed) = match is_read {
                true => self.crawl_and_watch(&rules, &top),
                false => Default::default(),
            };
            self.parts.renew(&top, missed);
            self.state.add_unreadable(&top, &crawl.unreadable);
            self.compare(&crawl, &top, Comparison::default());
        }
        self.set_mode(None);
    }

    /// Polls the folders from now on that a walk of a new folder could not watch.
    pub(super) fn poll_instead(&self, start: &str, missed: Missed) {
        let is_deaf = !missed.folders.is_empty();
        if is_deaf || !self.parts.is_empty() {
            self.parts.renew(start, missed);
            self.set_mode(None);
        }
        if is_deaf {
            self.state.backlog.wake(Job::Crawl);
        }
    }

    /// Walks a folder unless a link on the way to it leads elsewhere, and watches every folder in it. Returns also
    /// those that could not be watched.
    pub(super) fn crawl_and_watch(&self, rules: &Rules, start: &str) -> (Crawl, Missed) {
        let (mut missed, listener) = (Missed::default(), self.listener());
        if !start.is_empty() && !is_followed(&self.intake, rules, start) {
            return Default::default();
        }
        let found = crawl(&self.intake.project_folder, rules, start, &mut |folder| {
            if let Some(Err(why)) = listener.as_ref().map(|listener| listener.watch(folder)) {
                missed.note(self.relative(folder), why);
            }
        });
        (found, missed)
    }

    /// Returns a folder below the root as a path of the project.
    pub(super) fn relative(&self, folder: &Path) -> String {
        let inside = folder.strip_prefix(&self.intake.project_folder.root).unwrap_or(folder);
        inside.to_string_lossy().into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missed(folders: &[&str]) -> Missed {
        let mut missed = Missed::default();
        folders.iter().for_each(|folder| missed.note(folder.to_string(), "a limit".into()));
        missed
    }

    #[test]
    fn only_the_topmost_folders_are_listed_and_only_while_they_have_no_watch() {
        let rows: [(&str, &[&str], &[&str]); 8] = [
            // Where the walk began, what it could not watch, the expected parts.
            ("", &["b", "b/c", "b/c/d", "e"], &["b", "e"]),
            ("b", &["b/c", "b/c/d"], &["b/c", "e"]),
            ("b/c", &[], &["e"]),
            ("f", &["f/g"], &["e", "f/g"]),
            ("f", &["f"], &["e", "f"]),
            ("", &["", "e"], &[""]),
            ("e", &["e"], &[""]),
            ("", &[], &[]),
        ];
        let parts = Parts::default();
        for (start, folders, expected) in rows {
            parts.renew(start, missed(folders));
            assert_eq!(parts.tops(), expected, "after a walk of `{start}`");
        }
        assert_eq!(parts.mode(3), ModeEvent::AllWatched);
    }
}
