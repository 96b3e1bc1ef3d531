//! Digest: turns raw events into notices.
//!
//! In: raw events, in order. Out: notices: paths to check, renames, folders to walk.
//! Invariants: there is a notice whenever the path is, was or contains something that is read; what it is now is
//! checked later. The halves of a rename are joined by their number, whether or not the system joins them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Instant;

use super::Shared;
use super::crawl::{Found, crawl};
use super::events::RawEvent;
use super::intake::Intake;
use super::links::follow_all;
use super::pending::{Check, Notice};
use super::read::Stat;
use super::rules::{Rules, Verdict, is_ignore_file, parent};
use super::sent::KnownFile;
use super::state::lock;
use model::terms::{Lane, RelPath};

/// Renames kept whose second half may still come; the halves follow each other closely.
const MAX_HALVES: usize = 64;

/// First halves of renames, oldest first: number and old path.
#[derive(Debug, Default)]
pub(super) struct Halves(VecDeque<(usize, RelPath)>);

impl Halves {
    fn keep(&mut self, tracker: Option<usize>, from: &RelPath) {
        let Some(tracker) = tracker else { return };
        if self.0.len() >= MAX_HALVES {
            self.0.pop_front();
        }
        self.0.push_back((tracker, from.clone()));
    }

    fn from(&self, tracker: Option<usize>) -> Option<RelPath> {
        let half = self.0.iter().rev().find(|half| Some(half.0) == tracker)?;
        Some(half.1.clone())
    }
}

impl Shared {
    /// Notes what an event asks for. Inspects the kind of its path, reads nothing.
    pub(super) fn digest(&self, raw: RawEvent) {
        let is_settling = |path| self.state.backlog.with(|pending| pending.is_settling(path));
        let notice = match raw {
            // A large write causes one event per block; its path is known to be of interest.
            RawEvent::Written(path) | RawEvent::Touched(path) if is_settling(&path) => {
                Some(Notice::Changed(path))
            }
            RawEvent::Root => {
                self.state.want_crawl();
                None
            }
            RawEvent::Changed(path) | RawEvent::Written(path) => self.appeared(path, None),
            // Copying tools touch every folder, so a folder is walked only if it was unreadable before.
            RawEvent::Touched(path) => self.appeared(path, None).filter(|notice| match notice {
                Notice::Folder { path, .. } => self.state.is_unreadable(path.as_str()),
                _ => true,
            }),
            RawEvent::Gone(path) => self.gone(path),
            RawEvent::MovedFrom(path, tracker) => {
                lock(&self.halves).keep(tracker, &path);
                // The old path is checked by itself: the other half never comes if the new path is outside the root.
                self.gone(path)
            }
            RawEvent::MovedTo(path, tracker) => {
                let from = lock(&self.halves).from(tracker);
                self.appeared(path, from)
            }
            // Its halves were reported one by one: a second report must not undo what has happened since.
            RawEvent::Moved(_, _, tracker) if lock(&self.halves).from(tracker).is_some() => None,
            RawEvent::Moved(from, to, _) => self.appeared(to, Some(from)),
        };
        match notice {
            Some(notice) => self.notice(vec![notice]),
            // Files that are skipped are counted, too.
            None => self.state.surveys.changed(),
        }
    }

    fn notice(&self, notices: Vec<Notice>) {
        for notice in &notices {
            if let Notice::Renamed { from, to } = notice {
                // At once: a tool may name the file before it has settled.
                self.intake.claims.assign(from, to);
            }
        }
        self.state.notice(notices);
    }

    /// Handles a path where something appeared or changed.
    fn appeared(&self, path: RelPath, moved_from: Option<RelPath>) -> Option<Notice> {
        let intake = &self.intake;
        if changes_rules(intake, &path) {
            return Some(Notice::Changed(path));
        }
        let is_dir = intake.project_folder.meta(&path).map(|meta| meta.is_folder());
        let could_be_read = |path: &RelPath| match is_dir {
            Ok(is_dir) => is_read(intake, path, is_dir),
            // It has disappeared already, so it may have been either.
            Err(_) => is_read(intake, path, true) || is_read(intake, path, false),
        };
        let is_wanted = could_be_read(&path);
        let moved_from = moved_from.filter(could_be_read);
        match (is_wanted, is_dir, moved_from) {
            // A file that is read has moved to a place that is not read.
            (false, _, Some(from)) => Some(Notice::Changed(from)),
            (false, _, None) => None,
            (true, Ok(true), moved_from) => Some(Notice::Folder { path, moved_from }),
            (true, _, Some(from)) => Some(Notice::Renamed { from, to: path }),
            (true, _, None) => Some(Notice::Changed(path)),
        }
    }

    /// Handles a path that was deleted. It may have been a folder, and another one may be in its place. That one must
    /// be walked, because with the old folder the system drops the watch of the path.
    fn gone(&self, path: RelPath) -> Option<Notice> {
        let intake = &self.intake;
        let could_be_folder = is_read(intake, &path, true);
        if could_be_folder && intake.project_folder.meta(&path).is_ok_and(|meta| meta.is_folder()) {
            return Some(Notice::Folder { path, moved_from: None });
        }
        let is_wanted =
            could_be_folder || is_read(intake, &path, false) || changes_rules(intake, &path);
        is_wanted.then_some(Notice::Changed(path))
    }

    /// Walks a new folder, watches what is in it, and notes renames and changes, which settle like any others.
    pub(super) fn walk(&self, folder: &RelPath, moved_from: Option<&RelPath>) {
        let intake = &self.intake;
        // The folder may contain ignore files of its own.
        let rules = intake.renew_rules();
        let (found, missed) = self.crawl_and_watch(&rules, folder.as_str());
        self.poll_instead(folder.as_str(), missed);
        let mut notices = Vec::new();
        for file in &found.found {
            // A moved folder has moved its files: each old path that is known becomes a rename.
            let rest = file.path.as_str().get(folder.as_str().len()..).unwrap_or_default();
            let from = moved_from.map(|old| RelPath::new(format!("{old}{rest}")));
            match from.filter(|from| intake.sent.expects(from)) {
                Some(from) => notices.push(Notice::Renamed { from, to: file.path.clone() }),
                None if intake.sent.differs(file) => {
                    notices.push(Notice::Changed(file.path.clone()))
                }
                None => {}
            }
        }
        if intake.sent.expects(folder) {
            notices.push(Notice::Changed(folder.clone()));
        }
        // Last, so that it settles together with the files that came from it, never before.
        notices.extend(moved_from.map(|old| Notice::Changed(old.clone())));
        self.state.add_unreadable(folder.as_str(), &found.unreadable);
        self.notice(notices);
    }

    /// Adds to settled paths that were folders the files that were below them, and turns ignore files into a requested
    /// crawl.
    pub(super) fn expand(&self, changes: Vec<Check>) -> Vec<Check> {
        let (intake, listener) = (&self.intake, self.listener());
        let mut out = Vec::with_capacity(changes.len());
        for change in changes {
            let path = change.path.as_str();
            if is_ignore_file(path) {
                self.state.want_crawl();
                continue;
            }
            if !intake.project_folder.meta(&change.path).is_ok_and(|meta| meta.is_folder()) {
                let below = intake.sent.expected_under(path).into_iter();
                out.extend(below.map(|path| Check::new(path, Lane::Bulk)));
            }
            if let Some(listener) = &listener
                && intake.project_folder.is_link(&change.path)
            {
                // The system reports changes of a link's target only to watches on the target.
                let _ = listener.watch(&intake.project_folder.absolute(path));
            }
            out.push(change);
        }
        // Deleted paths go last, so that a document which was copied away and deleted is recognized as moved.
        out.sort_by_cached_key(|change| {
            (change.moved_from.is_none(), intake.project_folder.is_gone(&change.path))
        });
        out
    }
}

fn is_read(intake: &Intake, path: &RelPath, is_dir: bool) -> bool {
    !matches!(intake.rules().verdict(path.as_str(), is_dir), Verdict::Skip(_))
}

fn changes_rules(intake: &Intake, path: &RelPath) -> bool {
    let folder = parent(path.as_str());
    is_ignore_file(path.as_str())
        && (folder.is_empty() || is_read(intake, &RelPath::new(folder), true))
}

/// Returns whether a walk may enter a folder: no link on the way to it leads elsewhere.
pub(super) fn is_followed(intake: &Intake, rules: &Rules, folder: &str) -> bool {
    intake.project_folder.open().is_ok_and(|root| follow_all(&root, rules, folder).is_ok())
}

/// Returns the files below a folder, and of `others`, that differ from the index; if more than `most` are known
/// there, only those of `named`.
pub(super) fn changed(
    intake: &Intake,
    folder: &str,
    others: &[RelPath],
    named: &[RelPath],
    most: usize,
) -> Vec<RelPath> {
    let rules = intake.rules();
    let is_read = folder.is_empty() || rules.verdict(folder, true) == Verdict::Descend;
    let lies_otherwise = |path: &RelPath| match intake.project_folder.meta(path) {
        Ok(it) => intake.sent.differs(&Found { path: path.clone(), stat: Stat::of(&it) }),
        // A file whose removal is on its way is still in the index.
        Err(error) => {
            error.is_absent() && (intake.sent.expects(path) || intake.sent.is_on_its_way(path))
        }
    };
    let are_many = others.len() > most || intake.sent.known.are_more_under(folder, most);
    // One query instead of one per file.
    let known: BTreeMap<RelPath, KnownFile> = match are_many {
        true => BTreeMap::new(),
        false => intake.sent.known.files_under(folder).into_iter().collect(),
    };
    let mut expected: BTreeSet<RelPath> = known.keys().cloned().collect();
    expected.extend(intake.sent.sent_under(folder).into_iter().chain(others.iter().cloned()));
    if are_many || expected.len() > most {
        return named.iter().filter(|path| lies_otherwise(path)).cloned().collect();
    }
    if !is_read || !is_followed(intake, &rules, folder) {
        return Vec::new();
    }
    let crawl = crawl(&intake.project_folder, &rules, folder, &mut |_| {});
    let found: BTreeSet<&RelPath> = crawl.found.iter().map(|file| &file.path).collect();
    let differs = |file: &&Found| {
        intake.sent.differs_from(file, || known.get(&file.path).copied(), Instant::now())
    };
    let below = crawl.found.iter().filter(differs).map(|file| &file.path);
    let beside = expected.iter().filter(|path| match found.contains(path) {
        true => intake.sent.is_on_its_way(path),
        false => lies_otherwise(path),
    });
    let changed: BTreeSet<&RelPath> = below.chain(beside).collect();
    changed.into_iter().cloned().collect()
}
